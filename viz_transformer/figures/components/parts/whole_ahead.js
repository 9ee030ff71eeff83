import { headOf, headPlace, layerPlace, levelOf, siteOf, sitesOf } from "./whole_levels.js"

/** @import { HeadPlace, LayerPlace } from "./details.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Site } from "./whole_levels.js" */
/** @import { WholeHeader } from "./types.js" */

// Which details are asked for: what is looked at, at most twice, and what one may look at next, while nothing else happens.

/** What was asked for because it is looked at: how often, and when last. @typedef {{of: string, times: number, at: number}} Question */

/** So many bytes of a run are there at most without being asked for one by one. */
export const AHEAD_BYTES = 8_000_000
/** So long nobody has to do anything, in milliseconds. */
export const AT_REST = 600
/** So long after an answer the next question is asked. */
export const NEXT = 150
/** What somebody does: each of these puts off what is asked for ahead. */
export const INPUTS = ["pointermove", "pointerdown", "pointerup", "pointercancel", "wheel", "keydown"]
/** What is looked at and has not come by then, in milliseconds, is asked for once more. */
export const AGAIN = 2000
/** So often what is looked at is asked for, until something else is. */
export const MAX_QUESTIONS = 2
/** @type {Question} */
export const NO_QUESTION = { of: "", times: 0, at: 0 }

/**
 * Whether a detail that is looked at and is not there has to be asked for now, may still come, or was asked for in vain.
 * @param {Question} question the last one
 * @param {string} of the run and the place
 * @param {number} now in milliseconds
 * @returns {"ask" | "wait" | "vain"}
 */
export function isDue(question, of, now) {
  if (question.of !== of) return "ask"
  if (now - question.at <= AGAIN) return "wait"
  return question.times < MAX_QUESTIONS ? "ask" : "vain"
}

/**
 * The question that follows, of the same detail or of another one.
 * @param {Question} question the last one
 * @param {string} of
 * @param {number} now
 * @returns {Question}
 */
export const asking = (question, of, now) => ({ of, times: question.of === of ? question.times + 1 : 1, at: now })

/**
 * What is said where a detail is not there.
 * @param {string} what
 * @param {{alone: boolean, vain: boolean}} why whether nobody answers the picture, and whether it was asked for in vain
 */
export function lackSentence(what, { alone, vain }) {
  if (alone) return `This picture stands alone, with one layer and one head of the run: this ${what} is not in it.`
  if (!vain) return `This ${what} is being fetched …`
  return `The numbers of this ${what} have not come. If they are no longer kept, choose the text again.`
}

/**
 * The places of the details that one comes to by one movement from what is looked at, the nearest first: of the whole run its
 * layers, and the head that is chosen; of a layer its attentions, and the layers beside it; of an attention its heads, the
 * attentions beside it, and its layer.
 * @param {WholeHeader} head
 * @param {Fields} chosen
 * @returns {(LayerPlace | HeadPlace)[]}
 */
export function nearest(head, chosen) {
  const site = siteOf(head, chosen)
  const sites = sitesOf(head)
  const first = (/** @type {Site} */ each) => headPlace(each, headOf(chosen, each.part.heads))
  const by = (/** @type {number} */ from) => (/** @type {number} */ a, /** @type {number} */ b) =>
    Math.abs(a - from) - Math.abs(b - from)
  const layers = [...new Map(sites.map((each) => [JSON.stringify(layerPlace(each)), layerPlace(each)])).values()]
  const here = layers.findIndex(({ stack, layer }) => stack === site.stack.name && layer === site.part.layer)
  const around = [...layers.keys()].sort(by(here)).map((n) => layers[n])
  if (levelOf(chosen) === "run") return [...around, first(site)]
  if (levelOf(chosen) === "layer") {
    const mine = sites.filter(({ stack, part }) => stack === site.stack && part.layer === site.part.layer)
    return unlike([layerPlace(site), first(site), ...mine.map(first), ...around.slice(1, 3)])
  }
  const at = sites.findIndex(({ part }) => part === site.part)
  const beside = [at - 1, at + 1].flatMap((n) => (sites[n] ? [first(sites[n])] : []))
  const heads = [...Array(site.part.heads).keys()].sort(by(headOf(chosen, site.part.heads)))
  return unlike([
    first(site),
    ...heads.slice(0, 3).map((n) => headPlace(site, n)),
    layerPlace(site),
    ...beside,
    ...heads.map((n) => headPlace(site, n)),
  ])
}

/** Each place once. @param {(LayerPlace | HeadPlace)[]} places */
const unlike = (places) => [...new Map(places.map((place) => [JSON.stringify(place), place])).values()]

/**
 * What asks ahead, for one detail at a time, while nobody does anything: whoever clicks then waits for no more than that one.
 * @param {object} given
 * @param {(isVain: (place: LayerPlace | HeadPlace) => boolean) => ?(LayerPlace | HeadPlace)} given.next what is asked for
 *   next, but for what was asked for in vain
 * @param {(place: LayerPlace | HeadPlace) => void} given.ask
 * @param {() => boolean} given.isBusy whether something moves by itself
 * @param {() => number} [given.now] in milliseconds
 */
export function askingAhead({ next, ask, isBusy, now = () => performance.now() }) {
  let looked = ""
  let moved = -Infinity // when somebody did anything
  let held = false // whether a button of the pointer is down
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer
  /** @type {Map<string, number>} */
  const times = new Map() // how often each was asked for
  const wait = (/** @type {number} */ milliseconds) => {
    clearTimeout(timer)
    timer = setTimeout(look, milliseconds)
  }
  function look() {
    const left = held ? AT_REST : moved + AT_REST - now()
    if (left > 0) {
      wait(left)
      return
    }
    looked = isBusy() ? "" : looked // then the next picture begins anew
    if (!looked) return
    const place = next((each) => (times.get(JSON.stringify(each)) ?? 0) >= MAX_QUESTIONS)
    if (!place) return
    const name = JSON.stringify(place)
    times.set(name, (times.get(name) ?? 0) + 1)
    ask(place)
    wait(AGAIN) // it may not be there at all
  }
  return {
    /** What is looked at, in any words: when it changes, one may look into something else. @param {string} of */
    looksAt(of) {
      if (of === looked) return
      looked = of
      wait(AT_REST)
    },
    /** Somebody does something; of a pointer, with so many buttons down. @param {{buttons?: number}} [event] */
    moves({ buttons = 0 } = {}) {
      moved = now()
      held = buttons > 0
    },
    /** What was asked for has come. */
    came() {
      if (looked) wait(NEXT)
    },
    /** Of another run nothing was asked for yet. */
    anew() {
      looked = ""
      times.clear()
    },
    end() {
      looked = ""
      clearTimeout(timer)
    },
  }
}
