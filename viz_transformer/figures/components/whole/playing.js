import { isStill } from "../parts/motion.js"
import { selection } from "../parts/selection.js"
import { together } from "../parts/together.js"
import { READING } from "../parts/whole_flight.js"

/** @import { WholeView } from "./view.js" */

/** Milliseconds until Python hears of what is chosen by a key that is pressed again and again. */
export const SETTLE = 250
const UNHEARD = 1e4 // of a step that is played, Python hears only when it rests

/** Steps, one by one or played. */
export class Playing {
  #view
  #say
  #isThere

  /** @param {WholeView} view @param {{say: () => void, isThere: () => boolean}} picture say: what the level says now */
  constructor(view, { say, isThere }) {
    this.#view = view
    this.#say = say
    this.#isThere = isThere
  }
  /** @param {number} to */
  step(to) {
    const next = Math.min(Math.max(to, 0), this.#view.count - 1)
    together.stop()
    if (next !== this.#view.chosenStep) this.#pick(next, SETTLE)
    this.#say()
  }
  toggle() {
    const view = this.#view
    if (view.plays) {
      together.stop()
      this.#pick(view.chosenStep, SETTLE)
      return
    }
    if (!view.writes()) return
    view.walked = null
    const last = view.count - 1
    const first = view.chosenStep >= last ? 0 : view.chosenStep
    const reads = first === 0 && (view.head.along?.reads ?? view.head.stacks.length > 1) && !isStill()
    together.start({
      from: reads ? READING : first,
      last,
      isThere: this.#isThere,
      pick: (to, ends) => this.#pick(to, ends ? SETTLE : UNHEARD),
    })
  }
  /** @param {number} step @param {number} settle */
  #pick(step, settle) {
    selection.pick({ [this.#view.lastStack.field]: this.#view.firstRow + step }, settle)
  }
}
