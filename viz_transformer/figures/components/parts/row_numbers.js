import { notFinite, number, share, valued } from "./numbers.js"
import { maskedWords, readingWords, tokenWords } from "./sentences.js"

/** @import { Payload, RowHeader } from "./types.js" */

// One query against all keys: its numbers, and what is said of a key.

/** @typedef {Float32Array | Uint8Array} Values */
/**
 * K keys of E dimensions. `most` is the largest of each, without its sign, `top` the largest score that is not masked, and
 * `strange` says what numbers are that are not finite.
 * @typedef {{head: RowHeader, query: Values, keys: Values, scores: Values, weights: Values, mask: Values, K: number,
 *   E: number, most: {vectors: number, products: number, scores: number}, top: number, strange: string}} RowNumbers
 */

const largest = (/** @type {Values} */ values) => {
  let most = 0
  for (const value of values) if (Number.isFinite(value)) most = Math.max(most, Math.abs(value))
  return most
}

/** @type {(payload: Payload) => RowNumbers} */
export function rowNumbers({ header: head, arrays }) {
  const [query, keys, scores, weights, mask] = ["query", "keys", "scores", "weights", "mask"].map(
    (name) => arrays[name].values,
  )
  const [K, E] = arrays.keys.shape
  const products = Float32Array.from(keys, (value, i) => value * query[i % E])
  const open = scores.filter((_, k) => mask[k])
  const most = {
    vectors: Math.max(largest(keys), largest(query)),
    products: largest(products),
    scores: largest(open.length ? open : scores),
  }
  const top = [...open].reduce((most, value) => (value > most ? value : most), -Infinity)
  const strange = notFinite([...query, ...keys, ...open, ...weights])
  return { head, query, keys, scores, weights, mask, K, E, most, top, strange }
}

/**
 * What the tooltip says of a key, and of one of its dimensions.
 * @type {(row: RowNumbers, k: number, e: ?number) => string[]}
 */
export function keySentences({ head, query, keys, scores, weights, mask, E, top }, k, e) {
  const lines = [
    readingWords(`query ${head.position}`, head.token, head.writes),
    tokenWords({ ...head.keys, role: "key" }, k),
  ]
  if (e !== null) {
    const [one, other] = [query[e], keys[k * E + e]]
    lines.push(`dimension ${e}: ${number(one)} × ${number(other)} = ${number(one * other)}`)
  }
  const below =
    Number.isFinite(top - scores[k]) && mask[k] ? `, ${number(top - scores[k], 2)} below the row's largest` : ""
  const weight = valued("weight", weights[k], share(weights[k]))
  return [
    ...lines,
    valued("score", scores[k], number(scores[k])) + below,
    (mask[k] ? "" : maskedWords(head.fill)) + weight,
  ]
}
