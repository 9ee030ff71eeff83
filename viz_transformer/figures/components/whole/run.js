import { mono } from "../parts/text.js"
import { wholeAt } from "../parts/whole_places.js"
import {
  layerBox,
  lookedAt,
  placeRun,
  pointedAt,
  runSentence,
  runSentences,
  runState,
  siteNow,
  stripScales,
  throughLayer,
} from "../parts/whole_run.js"
import { largestIn } from "./draw.js"
import { paintRunNow } from "./run_step.js"
import { paintRunStill } from "./run_still.js"

/** @import { Context, Ruler, WholeStack } from "../parts/types.js" */
/** @import { Site } from "../parts/whole_levels.js" */
/** @import { Whole } from "../parts/whole_places.js" */
/** @import { RunLook } from "./run_rows.js" */
/** @import { WholeView } from "./view.js" */

/** The first level: the whole run, from the text to the answer. */
export class RunScene {
  /** @type {WholeView} */
  #view
  /** @type {Whole | undefined} */
  #place
  /** @type {Record<string, number[]>} */
  #most = {}
  #isShort = false // whether a feed-forward had no room for its name
  /** The width of the widest token of each stack, while a sign has this width. @type {{of: number, by: Map<string, number>}} */
  #widths = { of: 0, by: new Map() }

  /** @param {WholeView} view */
  constructor(view) {
    this.#view = view
  }
  /** @returns {RunLook} */
  get #look() {
    return { view: this.#view, place: this.#laid, paper: this.#view.paper(), most: this.#most }
  }
  get #laid() {
    return /** @type {Whole} */ (this.#place)
  }
  /** Another run. */
  update() {
    this.#most = stripScales(this.#view.arrays, largestIn)
    this.#widths.of = 0
  }
  /** @param {number} width @param {number} height @param {Ruler} ruler */
  lay(width, height, ruler) {
    this.#place = placeRun(this.#view, { width, height }, this.#widest(ruler))
  }
  /** @param {Ruler} ruler @returns {(stack: WholeStack) => number} */
  #widest(ruler) {
    const { z } = this.#view
    ruler.font = mono(14 * z, 600)
    const of = ruler.measureText("0").width // another one when its font has come
    if (this.#widths.of !== of) this.#widths = { of, by: new Map() }
    const { by } = this.#widths
    return ({ name, tokens }) => {
      const width =
        by.get(name) ?? tokens.reduce((most, { text }) => Math.max(most, ruler.measureText(text).width), 24 * z)
      by.set(name, width)
      return width
    }
  }
  /** @param {Context} context */
  paintStill(context) {
    this.#isShort = paintRunStill(context, this.#look)
  }
  /** @param {Context} context */
  paintNow(context) {
    if (paintRunNow(context, this.#look)) this.#isShort = true
  }
  get isShort() {
    return this.#isShort
  }
  size() {
    const { width, height } = this.#laid
    return { width, height }
  }
  state() {
    return runState(this.#view, this.#place)
  }
  boxOf() {
    return layerBox(this.#laid, siteNow(this.#view))
  }
  /** @param {Site} site */
  through(site) {
    return throughLayer(this.#view, this.#laid, site)
  }
  /** What is looked at, in figures. */
  facts() {
    return lookedAt(this.#view, this.#laid)?.facts ?? []
  }
  sentence() {
    return runSentence(this.#view, this.#laid)
  }
  sentences() {
    return runSentences(this.#view)
  }
  /** @param {number} x @param {number} y */
  at(x, y) {
    return pointedAt(this.#view, wholeAt(this.#laid, x, y))
  }
}
