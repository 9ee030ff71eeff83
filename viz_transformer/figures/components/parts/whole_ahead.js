import { headOf, headPlace, layerPlace, siteOf, sitesOf } from "./whole_levels.js"

/** @import { HeadPlace, LayerPlace } from "./details.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Site } from "./whole_levels.js" */
/** @import { WholeHeader } from "./types.js" */

// Which details are asked for: what is looked at, at most twice, and what one may look at next, while nothing else happens.

/** What was asked for because it is looked at: how often, and when last. @typedef {{of: string, times: number, at: number}} Question */

/** So many bytes of a run are there at most without being asked for one by one. */
export const AHEAD_BYTES = 8_000_000
/** So long nothing has to be chosen, in milliseconds. */
export const AT_REST = 600
/** So long after an answer the next question is asked. */
export const NEXT = 150
/** So many details are asked for at once. */
export const AT_ONCE = 12
/** What is looked at and has not come by then, in milliseconds, is asked for once more. */
export const AGAIN = 2000
/** So often what is looked at is asked for, until something else is. */
export const MOST_QUESTIONS = 2
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
  return question.times < MOST_QUESTIONS ? "ask" : "vain"
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
 * The places of all details of a run, nearest to what is chosen first: its layer, its head and those beside it, then of each
 * layer that one comes to by fewer steps its own detail and the head that would be looked at there, and last all others.
 * @param {WholeHeader} head
 * @param {Fields} chosen
 * @returns {(LayerPlace | HeadPlace)[]}
 */
export function nearest(head, chosen) {
  const site = siteOf(head, chosen)
  const layers = head.stacks.flatMap((stack) => Array.from({ length: stack.layers }, (_, layer) => ({ stack, layer })))
  const at = layers.findIndex(({ stack, layer }) => stack === site.stack && layer === site.part.layer)
  const around = layers
    .map((each, n) => ({ ...each, far: Math.abs(n - at) }))
    .sort((a, b) => a.far - b.far)
    .map(({ stack, layer }) => sitesOf(head).filter((each) => each.stack === stack && each.part.layer === layer))
    .filter((sites) => sites.length)
  const all = (/** @type {Site} */ each) => Array.from({ length: each.part.heads }, (_, n) => headPlace(each, n))
  const first = (/** @type {Site} */ each) => headPlace(each, headOf(chosen, each.part.heads))
  const places = [
    layerPlace(site),
    first(site),
    ...all(site),
    ...around.flatMap((sites) => [layerPlace(sites[0]), ...sites.map(first)]),
    ...around.flat().flatMap(all),
  ]
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()]
}
