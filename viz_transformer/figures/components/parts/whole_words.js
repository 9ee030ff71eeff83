import { exponential, number, percent } from "./numbers.js"
import { among, mention } from "./text.js"
import { isUnknown, mostOf, strongestIn } from "./whole_rows.js"

/** @import { Numbers, Token, WholeHeader, WholePart, WholeStack } from "./types.js" */
/** @import { Strongest } from "./whole_rows.js" */

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
  return `${name}, ${head !== null ? `head ${head}` : heads === 1 ? "its one head" : `mean of ${heads} heads`}`
}

/**
 * Where a row of weights looks most: "puts 55.4 % of its attention on 'b'", or that weights are not a number.
 * @param {Strongest} weights
 * @param {Token[]} keys
 */
export function taking(weights, keys) {
  const most = mostOf(weights)
  if (!most) return isUnknown(weights) ? "has weights that are not a number" : "attends to nothing"
  const others = isUnknown(weights) ? "; other weights of this row are not a number" : ""
  return `puts ${percent(most.weight)} of its attention on ${mention(keys[most.key])}${others}`
}

/**
 * What a sub-layer does at a token: where it looks most, and how much it adds.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {WholeStack} stack
 * @param {number} index
 * @param {number} row
 */
export function partSentence(head, arrays, stack, index, row) {
  const part = stack.parts[index]
  const [shares, name] = [arrays[`share.${stack.name}`], partName(stack, part, head.head)]
  const share = percent(shares.values[index * shares.shape[1] + row])
  const token = mention(stack.tokens[row])
  if (!part.kind) return `${name}: at ${token} adds ${share} (length of the addition relative to stream + addition).`
  const keys = /** @type {WholeStack} */ (
    part.kind === "cross" ? head.stacks.find(({ name }) => name === "encoder") : stack
  )
  const weights = strongestIn(arrays, part.kind, part.layer, row)
  const takes = `${name}: ${token} ${taking(weights, keys.tokens)}`
  return mostOf(weights) ? `${takes}; adds ${share}.` : `${takes}.`
}

/** What is said of an answer that is over while that of another run goes on, in front of what its last step does. */
export const OVER = "This answer is over."

/** A shape as the code says it: [14, 64]. @param {number[]} sizes */
const shaped = (...sizes) => `[${sizes.join(", ")}]`

/**
 * What a sub-layer hands on: the shapes, and how long the vector is that it adds at a token, and the one it adds it to.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {WholeStack} stack
 * @param {number} index
 * @param {number} row
 */
export function partFacts({ stacks }, arrays, stack, index, row) {
  const part = stack.parts[index]
  const count = stack.tokens.length
  const keys = part.part === "cross" ? stacks.find(({ name }) => name === "encoder") : stack
  const lengths = ["added", "came"].map((name) => arrays[`${name}.${stack.name}`].values[index * count + row])
  const [added, came] = lengths.map((each) => number(each, 2))
  return [
    ...(part.kind ? [`weights ${shaped(part.heads ?? 0, count, /** @type {WholeStack} */ (keys).tokens.length)}`] : []),
    `output ${shaped(count, stack.features)}`,
    `adds length ${added} to ${came}`,
  ]
}

/**
 * The stream at one of its points: its shape, and how long its vector is at a token.
 * @param {Record<string, Numbers>} arrays
 * @param {WholeStack} stack
 * @param {number} point
 * @param {number} row
 */
export function streamFacts(arrays, stack, point, row) {
  const count = stack.tokens.length
  return [
    `stream ${shaped(count, stack.features)}`,
    `length ${number(arrays[`length.${stack.name}`].values[point * count + row], 2)}`,
  ]
}

/**
 * Which point of the residual stream is shown.
 * @param {WholeStack} stack
 * @param {number} point
 * @param {number} row
 */
export function streamSentence(stack, point, row) {
  const where =
    point === 0 ? "before layer 0" : point <= stack.layers ? `after layer ${point - 1}` : "after the final norm"
  return `The ${stack.name}'s residual stream ${where}, at ${mention(stack.tokens[row])}.`
}

/**
 * How a token comes in.
 * @param {WholeStack} stack
 * @param {number} row
 * @param {boolean} positions
 */
export function inputSentence(stack, row, positions) {
  const becomes = `${mention(stack.tokens[row])} becomes a vector of ${stack.features} numbers`
  return positions ? `${becomes}; the vector of position ${row} is added to it.` : `${becomes}.`
}

/**
 * What a stack reads that writes nothing.
 * @param {WholeStack} stack
 */
export function readSentence({ tokens }) {
  const others = tokens.length - 1
  if (!others) return `${mention(tokens[0])} is read alone; nothing is written.`
  const more = others === 1 ? "one more token" : `${others} more tokens`
  return `${mention(tokens[0])} and ${more} are read, all at the same time; nothing is written.`
}

/**
 * What a step writes, and the probability that the model gave it.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {number} step
 */
export const writtenSentence = (head, arrays, step) => `Writes ${writtenWords(head, arrays, step)}.`

/**
 * Which step it is, what it reads and what it writes.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {number} step
 * @param {Token} read
 */
export const stepSentence = (head, arrays, step, read) =>
  `Step ${among(step, head.candidates.length)}: reads ${mention(read)}, writes ${writtenWords(head, arrays, step)}.`

/**
 * The token written with its probability, and where it stands among all others.
 * @param {WholeHeader} head
 * @param {Record<string, Numbers>} arrays
 * @param {number} step
 */
function writtenWords(head, arrays, step) {
  const { values, shape } = arrays.log_probs
  const [row, place] = [head.candidates[step], head.written[step]]
  const shareOf = (/** @type {number} */ i) => percent(exponential(values[step * shape[1] + i]))
  const [token, all] = [mention(head.tokens[row[place]]), `${head.vocabulary.toLocaleString("en")} tokens`]
  if (Number.isNaN(values[step * shape[1] + place]))
    return `${token} (its probability is not a number, so no token is the likeliest)`
  const equal = row.filter((_, i) => values[step * shape[1] + i] === values[step * shape[1]])
  const list = (/** @type {number[]} */ places) => {
    const names = places.slice(0, 2).map((other) => mention(head.tokens[other]))
    return places.length > 2 ? `${names.join(", ")} and others` : names.join(" and ")
  }
  if (equal.length > 1 && equal.includes(row[place]))
    return `${token} (${shareOf(place)}, as likely as ${list(equal.filter((other) => other !== row[place]))}; none of ${all} is likelier)`
  if (place === 0) return `${token} (${shareOf(0)}, the likeliest of ${all})`
  return `${token} (${shareOf(place)}; likeliest: ${list(equal)}, ${shareOf(0)}${equal.length > 1 ? " each" : ""})`
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

/**
 * What the sub-layers of a layer add at one token, in one sentence.
 * @param {WholeStack} stack
 * @param {WholePart[]} parts
 * @param {Record<string, Numbers>} arrays of the layer
 * @param {number} row
 */
export function layerSentence(stack, parts, arrays, row) {
  const added = parts.flatMap(({ part }) => {
    const share = arrays[`share.${part}`]
    return share ? [`${NAMES[part]} ${percent(share.values[row])}`] : []
  })
  const name = `${stack.name[0].toUpperCase()}${stack.name.slice(1)} layer ${parts[0].layer}`
  const token = mention(stack.tokens[row])
  if (!added.length) return `${name} at ${token}: this model does not report what its sub-layers add.`
  return `${name} at ${token} adds to the residual stream: ${added.join(", ")}.`
}

/**
 * What a sub-layer of a layer reads, does and adds, with its norm and lengths.
 * @param {WholeStack} stack
 * @param {WholePart & {units?: number}} part
 * @param {Record<string, Numbers>} arrays of the layer
 * @param {number} row
 * @param {{post: boolean, keys: ?Token[]}} given
 */
export function detailSentences(stack, part, arrays, row, { post, keys }) {
  const at = (/** @type {string} */ name) => arrays[`${name}.${part.part}`]?.values[row]
  const token = mention(stack.tokens[row])
  const said = []
  const normed = ["mean", "scale"].flatMap((name) => (at(name) === undefined ? [] : [`${name} ${number(at(name))}`]))
  const norm = normed.join(", ")
  const long = at("read") === undefined ? "" : `, of length ${number(at("read"), 2)}`
  if (norm && !post) said.push(`Its input is ${token} after a norm (${norm})${long}.`)
  if (part.kind && keys && `rest.${part.part}` in arrays)
    for (let head = 0; head < (part.heads ?? 0); head++)
      said.push(`Head ${head}: ${token} ${taking(strongestIn(arrays, part.part, head, row), keys)}.`)
  if (part.part === "ffn" && arrays["active.ffn"])
    said.push(`${percent(arrays["active.ffn"].values[row])} of its ${part.units} hidden units are above 0.`)
  if (at("share") !== undefined)
    said.push(
      `It adds a vector of length ${number(at("added"), 2)} to a stream of length ${number(at("came"), 2)}: ${percent(at("share"))} of both lengths together.`,
    )
  if (norm && post && at("left") !== undefined)
    said.push(`A norm after it (${norm}) rescales it to length ${number(at("left"), 2)}.`)
  if (!said.length) said.push("This model does not report what it does.")
  return said
}
