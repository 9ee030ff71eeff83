import {
  attentionDetail,
  attentionSentence,
  attentionSentences,
  attentionState,
  cellNow,
  gridLevels,
  gridSizes,
} from "../parts/whole_attention.js"
import { attentionAt, cellOf, placeAttention } from "../parts/whole_attention_places.js"
import { paintAttentionNow, paintAttentionStill } from "./attention_paint.js"
import { largestIn, signedLevels } from "./draw.js"

/** @import { Context } from "../parts/types.js" */
/** @import { AttentionDetail, Levels } from "../parts/whole_attention.js" */
/** @import { AttentionPlaces } from "../parts/whole_attention_places.js" */
/** @import { AttentionLook } from "./attention_paint.js" */
/** @import { WholeView } from "./view.js" */

/** The third level: one attention. Over it the maps of all heads; below, one head computed from the left to the right: queries,
 * keys, scores, mask, weights, values, and what it hands on. */
export class AttentionScene {
  /** @type {WholeView} */
  #view
  /** @type {AttentionPlaces | undefined} */
  #place
  /** Of the detail that was seen last. @type {Levels} */
  #levels = {}
  /** @type {?AttentionDetail} */
  #known = null

  /** @param {WholeView} view */
  constructor(view) {
    this.#view = view
  }
  get #laid() {
    return /** @type {AttentionPlaces} */ (this.#place)
  }
  /** @returns {AttentionLook} */
  get #look() {
    const view = this.#view
    return { view, place: this.#laid, paper: view.paper(), detail: attentionDetail(view), levels: this.#levels }
  }
  /** Another run. */
  update() {
    this.#known = null
  }
  /** @param {number} width @param {number} height */
  lay(width, height) {
    const view = this.#view
    const detail = attentionDetail(view)
    this.#place = placeAttention({ z: view.z, width, height, ...gridSizes(view, detail) })
    if (!detail || detail === this.#known) return
    this.#known = detail
    this.#levels = gridLevels(detail, (values) => signedLevels(values, 0, values.length, largestIn(values)))
  }
  /** @param {Context} context */
  paintStill(context) {
    paintAttentionStill(context, this.#look)
  }
  /** @param {Context} context */
  paintNow(context) {
    paintAttentionNow(context, this.#look)
  }
  size() {
    const { width, height } = this.#laid
    return { width, height }
  }
  state() {
    return attentionState(this.#view)
  }
  boxOf() {
    const { row, column } = cellNow(this.#view)
    return cellOf(this.#laid.weights, row, column ?? 0)
  }
  sentence() {
    return attentionSentence(this.#view)
  }
  sentences() {
    return attentionSentences(this.#view)
  }
  /** @param {number} x @param {number} y */
  at(x, y) {
    return attentionAt(this.#laid, x, y)
  }
}
