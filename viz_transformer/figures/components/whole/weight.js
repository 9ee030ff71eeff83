import { attentionDetail, keyStackNow } from "../parts/whole_attention.js"
import { weightSentence, weightSentences, weightSizes, weightState, workedWeight } from "../parts/whole_weight.js"
import { dimensionIn, keyIn, placeWeight } from "../parts/whole_weight_places.js"
import { paintWeightNow, paintWeightStill } from "./weight_paint.js"

/** @import { Context } from "../parts/types.js" */
/** @import { WeightPlaces } from "../parts/whole_weight_places.js" */
/** @import { WeightLook } from "./weight_paint.js" */
/** @import { WholeView } from "./view.js" */

/** The last level: one weight. The products of query and key by dimension, their sum, the divisor, and what the softmax makes of
 * the scores of the whole row. */
export class WeightScene {
  /** @type {WholeView} */
  #view
  /** @type {WeightPlaces | undefined} */
  #place

  /** @param {WholeView} view */
  constructor(view) {
    this.#view = view
  }
  get #laid() {
    return /** @type {WeightPlaces} */ (this.#place)
  }
  /** @returns {WeightLook} */
  get #look() {
    const view = this.#view
    const detail = attentionDetail(view)
    return { view, place: this.#laid, paper: view.paper(), detail, worked: workedWeight(view, detail) }
  }
  update() {}
  /** @param {number} width @param {number} height */
  lay(width, height) {
    const view = this.#view
    this.#place = placeWeight({ z: view.z, width, height, ...weightSizes(view, attentionDetail(view)) })
  }
  /** @param {Context} context */
  paintStill(context) {
    paintWeightStill(context, this.#look)
  }
  /** @param {Context} context */
  paintNow(context) {
    paintWeightNow(context, this.#look)
  }
  size() {
    const { width, height } = this.#laid
    return { width, height }
  }
  state() {
    return weightState(this.#view)
  }
  boxOf() {
    return null
  }
  sentence() {
    return weightSentence(this.#view)
  }
  sentences() {
    return weightSentences(this.#view)
  }
  /** @param {number} x @param {number} y */
  at(x, y) {
    const view = this.#view
    if (!workedWeight(view, attentionDetail(view))) return null
    const dimension = dimensionIn(this.#laid, x, y)
    if (dimension !== null) return { dimension }
    const key = keyIn(this.#laid, keyStackNow(view).tokens.length, x, y)
    return key === null ? null : { key }
  }
}
