import { number, share } from "./numbers.js"
import { mention } from "./text.js"
import { attentionDetail, chosenHead, keyStackNow } from "./whole_attention.js"
import { siteOf } from "./whole_levels.js"
import { workedOut } from "./whole_weight_places.js"

/** @import { WholeView } from "../whole/view.js" */
/** @import { Numbers } from "./types.js" */
/** @import { AttentionDetail } from "./whole_attention.js" */

// The last level, one weight: its numbers and what is said of them. Nothing is drawn here.

/** What becomes of a query and a key: the vectors, the scores and weights of the row, and which of them may be read.
 * @typedef {ReturnType<typeof workedOut> & {query: Numbers["values"], key: Numbers["values"], scores: Numbers["values"],
 *   open: ArrayLike<number>, at: number, weights: Numbers["values"], bias: number | undefined,
 *   divisor: ?number}} Worked */
/** Words, and whether they are a number, which is written larger. @typedef {[string, boolean][]} Line */

const ASSUMED = 16 // dimensions, until the detail says how many

/** @param {WholeView} view */
const rowNow = (view) => view.rowOf(siteOf(view.head, view.chosen).stack)
/** @param {WholeView} view */
export const keyNow = (view) => view.keyOf(keyStackNow(view)) ?? 0
/** @param {WholeView} view @param {?AttentionDetail} detail */
export const weightSizes = (view, detail) => ({
  dimensions: detail?.arrays.query?.shape[1] ?? ASSUMED,
  keys: keyStackNow(view).tokens.length,
})

/**
 * All numbers of the weight, or null where the model does not tell queries and keys.
 * @param {WholeView} view
 * @param {?AttentionDetail} detail
 * @returns {?Worked}
 */
export function workedWeight(view, detail) {
  const { query, key, scores, weights, mask, bias } = detail?.arrays ?? {}
  if (!detail || !query || !key || !scores || !weights) return null
  const [row, at] = [rowNow(view), keyNow(view)]
  const [E, K] = [query.shape[1], weights.shape[1]]
  const line = (/** @type {Numbers} */ { values }, /** @type {number} */ n, /** @type {number} */ count) =>
    values.subarray(n * count, (n + 1) * count)
  const open = mask ? line(mask, row, K) : Array.from({ length: K }, () => 1)
  const given = { query: line(query, row, E), key: line(key, at, E), scores: line(scores, row, K), open, at }
  return {
    ...given,
    ...workedOut(given),
    weights: line(weights, row, K),
    bias: bias?.values[row * K + at],
    divisor: detail.header.divisor,
  }
}

// ---- words

/** From the products to the score. @param {Worked} worked @returns {Line} */
export function scoreLine({ sum, score, divisor, bias }) {
  /** @type {Line} */
  const line = [
    ["the products add up to", false],
    [number(sum, 4), true],
  ]
  if (divisor) line.push([`divided by ${number(divisor, 4)}`, false])
  if (bias !== undefined) line.push([`plus the bias ${number(bias, 4)}`, false])
  return [...line, ["is the score", false], [number(score, 4), true]]
}

/** From the score to the weight. @param {Worked} worked @returns {Line} */
export function weightLine({ score, most, powers, total, at, weights }) {
  if (Number.isNaN(weights[at])) return [[whyNone(most), false]]
  if (!Number.isFinite(most)) return [["nothing may be read in this row: no key has a weight of its own", false]]
  return [
    [`e^(${number(score, 2)} − ${number(most, 2)}) =`, false],
    [number(powers[at], 4), true],
    ["divided by the sum over all keys", false],
    [number(total, 4), true],
    ["is the weight", false],
    [share(weights[at]), true],
  ]
}

/**
 * The numbers of all keys in as many digits as fit, the first of these that do; null where none do.
 * @param {number[]} digits
 * @param {number} count
 * @param {number} signs so many have room
 * @param {(key: number, digits: number) => string} written
 */
export function fittingNumbers(digits, count, signs, written) {
  for (const each of digits) {
    const said = Array.from({ length: count }, (_, key) => written(key, each))
    if (said.every(({ length }) => length <= signs)) return said
  }
  return null
}

/** A number in at most seven signs. @param {number} value */
export const written = (value) => number(value, Math.abs(value) >= 100 ? 2 : Math.abs(value) >= 10 ? 3 : 4)

/** Why a weight is not a number; most: the largest score that may be read. @param {number} most */
const whyNone = (most) =>
  Number.isFinite(most)
    ? "a score in this row is not a number, and so is the sum over all keys"
    : "each score in this row is −∞, so the softmax divides 0 by 0, which is not a number"

/** What is under the pointer, or the weight that is looked at. @param {WholeView} view */
export function weightSentence(view) {
  const detail = attentionDetail(view)
  if (!detail) return view.lack("weight")
  const all = workedWeight(view, detail)
  if (!all) return (detail.header.remarks ?? []).join(" ") || "This model does not tell queries and keys."
  const { hovered } = view
  if (hovered?.dimension !== undefined) {
    const e = hovered.dimension
    return `Dimension ${e}: ${number(all.query[e], 4)} × ${number(all.key[e], 4)} = ${number(all.products[e], 4)}.`
  }
  const k = hovered?.key ?? keyNow(view)
  const [query, key] = [
    mention(siteOf(view.head, view.chosen).stack.tokens[rowNow(view)]),
    mention(keyStackNow(view).tokens[k]),
  ]
  if (Number.isNaN(all.weights[k]))
    return `${query} has a weight that is not a number, for ${key}: ${whyNone(all.most)}.`
  if (!all.open[k]) return `${query} may not look at ${key}: it is masked, weight ${share(all.weights[k])}.`
  return `Head ${chosenHead(view)}: ${query} puts ${share(all.weights[k])} of its attention on ${key}, for a score of ${number(all.scores[k], 4)}.`
}

/** The products of each dimension, their sum, and what becomes of it. @param {WholeView} view */
export function weightSentences(view) {
  const detail = attentionDetail(view)
  const all = workedWeight(view, detail)
  if (!all) return detail ? [weightSentence(view)] : []
  const divided = all.divisor ? `divided by ${number(all.divisor, 4)} ` : ""
  return [
    ...all.products.map(
      (each, e) => `Dimension ${e}: ${number(all.query[e], 4)} times ${number(all.key[e], 4)} is ${number(each, 4)}.`,
    ),
    `The products add up to ${number(all.sum, 4)}; ${divided}the score is ${number(all.score, 4)}.`,
    weightSentence(view),
  ]
}

/** What the still picture of a weight depends on, beside its size and colours. @param {WholeView} view */
export function weightState(view) {
  const { part } = siteOf(view.head, view.chosen)
  return [rowNow(view), keyNow(view), attentionDetail(view) ? 1 : 0, part.kind, part.layer, chosenHead(view)].join()
}
