import { MASKED_LEVEL } from "./maps.js"
import { number, percent, share } from "./numbers.js"
import { mention } from "./text.js"
import { headOf, keyStackOf, siteOf } from "./whole_levels.js"

/** @import { WholeView } from "../whole/view.js" */
/** @import { Numbers, WholeAttention } from "./types.js" */
/** @import { GridName } from "./whole_attention_places.js" */
/** @import { GridFound } from "./whole_choices.js" */

// The third level, one attention: what of it is shown, pointed at and said. Nothing is drawn here.

/** A head as Python told it. @typedef {{header: WholeAttention, arrays: Record<string, Numbers>}} AttentionDetail */
/** Where the cells of each matrix are in its scale, row by row. @typedef {Partial<Record<GridName, Float32Array>>} Levels */

/** @type {Record<GridName, string>} */
export const GRID_NAMES = {
  query: "queries q",
  key: "keys k",
  scores: "scores",
  mask: "mask",
  weights: "weights",
  value: "values v",
  output: "output",
}
/** The arrays of the matrices; the mask has none where nothing is masked. */
const GRID_POINTS = {
  query: "query",
  key: "key",
  scores: "scores",
  weights: "weights",
  value: "value",
  output: "head_out",
}
/** The matrices from the left to the right. */
export const GRID_ORDER = /** @type {GridName[]} */ (Object.keys(GRID_NAMES))
const ASSUMED_DIMENSIONS = 16 // until the detail says how many

/** @param {WholeView} view @returns {?AttentionDetail} */
export const attentionDetail = (view) => view.detail("attention")
/** @param {WholeView} view */
export const keyStackNow = ({ head, chosen }) => keyStackOf(head, siteOf(head, chosen))
/** @param {WholeView} view */
export const cellNow = (view) => ({
  row: view.rowOf(siteOf(view.head, view.chosen).stack),
  column: view.keyOf(keyStackNow(view)),
})
/** @param {WholeView} view */
export const chosenHead = ({ head, chosen }) => headOf(chosen, siteOf(head, chosen).part.heads)
/** The array of a matrix. @param {AttentionDetail} detail @param {GridName} name @returns {Numbers | undefined} */
const arrayOf = ({ arrays }, name) => (name === "mask" ? undefined : arrays[GRID_POINTS[name]])

/**
 * How large the matrices are.
 * @param {WholeView} view
 * @param {?AttentionDetail} detail
 */
export function gridSizes(view, detail) {
  const { stack, part } = siteOf(view.head, view.chosen)
  const told = detail?.arrays.query ?? detail?.arrays.value
  const dimensions = told?.shape[1] ?? ASSUMED_DIMENSIONS
  return { queries: stack.tokens.length, keys: keyStackNow(view).tokens.length, dimensions, heads: part.heads }
}

/**
 * Whether a query may look at a key.
 * @param {AttentionDetail} detail
 * @param {number} row
 * @param {number} column
 */
export function isOpen({ arrays: { mask } }, row, column) {
  return !mask || mask.values[row * mask.shape[1] + column] === 1
}

/**
 * Where the cells of each matrix are in its scale, row by row; a masked one has none of its own, NaN is not a number.
 * @param {AttentionDetail} detail
 * @param {(values: Numbers["values"]) => Float32Array} signed the levels of numbers in a scale with 0 in its middle
 * @returns {Levels}
 */
export function gridLevels(detail, signed) {
  const mask = detail.arrays.mask?.values
  const masked = (/** @type {Float32Array} */ made, /** @type {?Numbers["values"]} */ values = null) => {
    if (mask)
      for (let n = 0; n < made.length; n++) if (mask[n] !== 1 && (values?.[n] ?? 0) === 0) made[n] = MASKED_LEVEL
    return made
  }
  /** @type {Levels} */
  const made = {}
  for (const name of GRID_ORDER) {
    const values = arrayOf(detail, name)?.values
    if (!values) continue
    made[name] = name === "weights" ? masked(Float32Array.from(values), values) : signed(values)
  }
  const shown = detail.arrays.scores ?? detail.arrays.weights
  if (made.scores) masked(made.scores)
  if (shown) made.mask = masked(new Float32Array(shown.values.length).fill(1))
  return made
}

// ---- words

/**
 * What is said of a matrix above it, as much of it as has room.
 * @param {?AttentionDetail} detail
 * @param {GridName} name
 */
export function formulasOf(detail, name) {
  const divisor = detail?.header.divisor
  const array = detail?.arrays[name]
  const size = array ? `${array.shape[0]} × ${array.shape[1]}` : ""
  return {
    query: [size],
    key: [size],
    scores: [divisor ? `q·k / ${rooted(divisor)}` : "q·k"],
    mask: ["may it look?", "may look"],
    weights: ["softmax of a row", "softmax"],
    value: [size],
    output: ["weights · v", "w · v"],
  }[name]
}

/** A divisor as one knows it: √16, where it is the root of a whole number. @param {number} divisor */
function rooted(divisor) {
  const square = Math.round(divisor * divisor)
  return Math.abs(Math.sqrt(square) - divisor) < 1e-6 ? `√${square}` : number(divisor, 2)
}

/**
 * What is below a matrix: the score, whether the query may look, and the weight of what is looked at.
 * @param {WholeView} view
 * @param {?AttentionDetail} detail
 * @param {GridName} name
 */
export function numberBelow(view, detail, name) {
  const { row, column } = cellNow(view)
  if (!detail || column === null) return ""
  if (name === "mask") return isOpen(detail, row, column) ? "yes" : "no"
  if (name !== "scores" && name !== "weights") return ""
  const array = arrayOf(detail, name)
  const value = array?.values[row * array.shape[1] + column]
  if (value === undefined) return ""
  return name === "scores" ? number(value, 2) : share(value)
}

/** What is under the pointer, or the weight that is looked at. @param {WholeView} view */
export function attentionSentence(view) {
  const detail = attentionDetail(view)
  if (!detail) return view.lack("attention")
  const { hovered } = view
  const { part } = siteOf(view.head, view.chosen)
  if (hovered?.head !== undefined) return `Head ${hovered.head} of ${part.heads}: a click looks at it.`
  if (hovered?.grid) return cellSentence(view, detail, hovered)
  return takenSentence(view, detail) || missing(detail)
}

/**
 * One cell of a matrix.
 * @param {WholeView} view
 * @param {AttentionDetail} detail
 * @param {GridFound} found
 */
function cellSentence(view, detail, { grid, row, column }) {
  const { stack } = siteOf(view.head, view.chosen)
  const keys = keyStackNow(view)
  const of = grid === "key" || grid === "value" ? keys : stack
  const token = mention(of.tokens[row])
  const array = arrayOf(detail, grid)
  if (grid === "mask")
    return `${token} ${isOpen(detail, row, column) ? "may" : "may not"} look at ${mention(keys.tokens[column])}.`
  if (!array) return missing(detail)
  const value = array.values[row * array.shape[1] + column]
  if (grid === "scores") return `Score of ${token} and ${mention(keys.tokens[column])}: ${number(value, 4)}.`
  if (grid === "weights") return `${weightOf(token, value, share)} ${mention(keys.tokens[column])}.`
  return `Dimension ${column} of the ${grid} of ${token}: ${number(value, 4)}.`
}

/**
 * The weight that is looked at, "" where there is none.
 * @param {WholeView} view
 * @param {AttentionDetail} detail
 */
function takenSentence(view, { arrays: { weights, scores } }) {
  const { row, column } = cellNow(view)
  if (!weights || column === null) return ""
  const at = row * weights.shape[1] + column
  const score = scores?.values[at]
  const scored = score === undefined ? "" : `, for a score of ${number(score, 2)}`
  const { stack } = siteOf(view.head, view.chosen)
  const takes = weightOf(mention(stack.tokens[row]), weights.values[at], percent)
  return `Head ${chosenHead(view)}: ${takes} ${mention(keyStackNow(view).tokens[column])}${scored}.`
}

/** @param {AttentionDetail} detail */
const missing = ({ header }) => (header.remarks ?? []).join(" ") || "This model does not tell that."

/**
 * "a puts 20 % of its attention on", or that this is not a number.
 * @param {string} token
 * @param {number} value
 * @param {(value: number) => string} text
 */
const weightOf = (token, value, text) =>
  Number.isNaN(value)
    ? `${token} has a weight that is not a number, for`
    : `${token} puts ${text(value)} of its attention on`

/** All weights of the row that is looked at. @param {WholeView} view */
export function attentionSentences(view) {
  const detail = attentionDetail(view)
  if (!detail) return []
  const { stack } = siteOf(view.head, view.chosen)
  const { row } = cellNow(view)
  const { weights } = detail.arrays
  if (!weights) return [missing(detail)]
  const query = mention(stack.tokens[row])
  const each = keyStackNow(view).tokens.map((token, key) =>
    isOpen(detail, row, key)
      ? `${weightOf(query, weights.values[row * weights.shape[1] + key], percent)} ${mention(token)}.`
      : `${query} may not look at ${mention(token)}.`,
  )
  return [...(detail.header.remarks ?? []), ...each]
}

/** What the still picture of an attention depends on, beside its size and colours. @param {WholeView} view */
export function attentionState(view) {
  const { row, column } = cellNow(view)
  const { part } = siteOf(view.head, view.chosen)
  return [row, column, attentionDetail(view) ? 1 : 0, part.kind, part.layer, chosenHead(view)].join()
}
