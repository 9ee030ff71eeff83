import { details } from "../parts/details.js"
import { AGAIN, AHEAD_BYTES, asking, askingAhead, INPUTS, isDue, NO_QUESTION, nearest } from "../parts/whole_ahead.js"
import { headPlace } from "../parts/whole_levels.js"

/** @import { WholeView } from "./view.js" */

/** Asks for the details that are not there yet: for what is looked at, and when nothing happens for a while, for what one may
 * look at next. */
export class Fetching {
  onwards = false // whether a layer was gone into: then the same key leads to its head
  #needed = NO_QUESTION // what was asked for last because it is looked at
  /** The timer of what has not come. @type {ReturnType<typeof setTimeout> | undefined} */
  #patience
  #view
  #draw
  #ahead
  #moves

  /**
   * @param {WholeView} view
   * @param {{draw: () => void, isBusy: () => boolean}} picture isBusy: whether something moves by itself, or nobody sees it
   */
  constructor(view, { draw, isBusy }) {
    this.#view = view
    this.#draw = draw
    this.#ahead = askingAhead({
      next: (isVain) => this.#next(isVain),
      ask: (place) => details.ask(view.head.of, [place]),
      isBusy: () => isBusy() || document.hidden || !details.connected,
    })
    this.#moves = (/** @type {any} */ event) => this.#ahead.moves(event)
    for (const each of INPUTS) addEventListener(each, this.#moves, { capture: true, passive: true })
  }
  /** @type {Parameters<typeof askingAhead>[0]["next"]} */
  #next(isVain) {
    const { head, chosen } = this.#view
    if (details.bytesOf(head.of) >= AHEAD_BYTES) return null
    return nearest(head, chosen).find((place) => !details.has(head.of, place) && !isVain(place)) ?? null
  }
  /** How what is looked at is told from others of this and other runs. */
  get #looked() {
    return JSON.stringify([this.#view.head.of, this.#view.detailPlace])
  }
  /** Whether what is looked at was asked for in vain. */
  get isVain() {
    return isDue(this.#needed, this.#looked, performance.now()) === "vain"
  }
  #forget() {
    clearTimeout(this.#patience)
    this.#needed = NO_QUESTION
  }
  /** Of another payload nothing was asked for yet. */
  anew() {
    this.#forget()
    this.#ahead.anew()
  }
  came() {
    this.#ahead.came()
  }
  /** Asks for what is looked at, and when nothing happens for a while, for what one may look at next. */
  ask() {
    if (!details.connected) return
    const { head, level, detailPlace: place, site, headNow } = this.#view
    if (level === "run" || details.has(head.of, place)) this.#forget()
    else if (isDue(this.#needed, this.#looked, performance.now()) === "ask") {
      this.#needed = asking(this.#needed, this.#looked, performance.now())
      details.ask(head.of, [place])
      clearTimeout(this.#patience)
      this.#patience = setTimeout(this.#draw, AGAIN + 50)
    }
    const next = headPlace(site, headNow)
    if (this.onwards && details.has(head.of, place)) {
      this.onwards = false
      if (!details.has(head.of, next) && details.bytesOf(head.of) < AHEAD_BYTES) details.ask(head.of, [next])
    }
    this.#ahead.looksAt(JSON.stringify([head.of, site.part, site.stack.name, headNow, level, this.#view.step()]))
  }
  end() {
    for (const each of INPUTS) removeEventListener(each, this.#moves, { capture: true })
    this.#ahead.end()
    this.#forget()
  }
}
