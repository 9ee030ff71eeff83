import { exponential, percent } from "./numbers.js"
import { quoted } from "./text.js"

/** @import { Numbers, WholeHeader, WholePart, WholeStack } from "./types.js" */

// A whole run in sentences: what each sub-layer does at one token. All of them together are the picture as a text.

/** Weights below this share are folded into one ribbon. */
export const LEAST = 0.02

const NAMES = /** @type {Record<string, string>} */ ({
  self: "self-attention",
  cross: "cross-attention",
  ffn: "feed-forward",
})

/**
 * Where a sub-layer is, in words: "Decoder layer 1, cross-attention, head 3".
 * @param {WholeStack} stack
 * @param {WholePart} part
 * @param {?number} head
 */
export function partName(stack, { layer, part, heads }, head) {
  const name = `${stack.name[0].toUpperCase()}${stack.name.slice(1)} layer ${layer}, ${NAMES[part]}`
  if (part === "ffn") return name
  return `${name}, ${head === null ? `mean of ${heads} heads` : `head ${head}`}`
}

/**
 * The weights of one query.
 * @param {Numbers} weights
 * @param {number} layer
 * @param {number} query
 */
export function rowOf({ values, shape: [, queries, keys] }, layer, query) {
  const from = (layer * queries + query) * keys
  return values.subarray(from, from + keys)
}

/**
 * What a sub-layer does at a token: what it takes most of, or how much it adds.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {WholeStack} stack
 * @param {number} index
 * @param {number} row
 */
export function partSentence(head, arrays, stack, index, row) {
  const part = stack.parts[index]
  const [shares, name] = [arrays[`share.${stack.name}`], partName(stack, part, head.head)]
  const added = `share added ${percent(shares.values[index * shares.shape[1] + row])}`
  const token = quoted(stack.tokens[row])
  if (!part.kind) return `${name}: at ${token}, ${added} of the lengths of stream and addition.`
  const keys = /** @type {WholeStack} */ (
    part.kind === "cross" ? head.stacks.find(({ name }) => name === "encoder") : stack
  )
  const weights = rowOf(arrays[`weights.${part.kind}`], part.layer, row)
  let most = -1
  weights.forEach((weight, key) => {
    if (weight > 0 && (most < 0 || weight > weights[most])) most = key
  })
  if (most < 0) return `${name}: ${token} takes nothing.`
  return `${name}: ${token} takes ${percent(weights[most])} from ${quoted(keys.tokens[most])}; ${added}.`
}

/**
 * How a token comes in.
 * @param {WholeStack} stack
 * @param {number} row
 * @param {boolean} positions
 */
export function inputSentence(stack, row, positions) {
  const becomes = `${quoted(stack.tokens[row])} becomes a vector of ${stack.features} numbers`
  return positions ? `${becomes}, to which that of position ${row} is added.` : `${becomes}.`
}

/**
 * What a step writes, and what the model gave it.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {number} step
 */
export function writtenSentence(head, arrays, step) {
  const { values, shape } = arrays.log_probs
  const [row, written] = [head.candidates[step], head.written[step]]
  const shareOf = (/** @type {number} */ i) => percent(exponential(values[step * shape[1] + i]))
  const token = quoted(head.tokens[row[written]])
  if (written === 0)
    return `Of ${head.vocabulary.toLocaleString("en")} tokens ${token} is the most probable, ${shareOf(0)}, and is written.`
  return `${token} is written, ${shareOf(written)}; the most probable was ${quoted(head.tokens[row[0]])}, ${shareOf(0)}.`
}

/**
 * All that happens at one token of a stack, in the order of the forward pass.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {WholeStack} stack
 * @param {number} row
 */
export const story = (head, arrays, stack, row) => [
  inputSentence(stack, row, `position.${stack.name}` in arrays),
  ...stack.parts.map((_, index) => partSentence(head, arrays, stack, index, row)),
]
