/** @import { Numbers } from "./types.js" */

// Rows of weights of which only the strongest are there, as strongest_only.py sends them.

/**
 * The weights of one row that are there, by key, and the sum of all others.
 * @typedef {{keys: ArrayLike<number>, weights: ArrayLike<number>, rest: number}} Strongest
 */

/**
 * The weights of a query in a layer, or of a head, of what is called `name`: keys.NAME, weights.NAME, starts.NAME, which says
 * where each row begins, and rest.NAME [layers or heads, queries].
 * @param {Record<string, Numbers>} arrays
 * @param {string} name
 * @param {number} outer
 * @param {number} query
 * @returns {Strongest}
 */
export function strongestIn(arrays, name, outer, query) {
  const { values: rest, shape } = arrays[`rest.${name}`]
  const starts = arrays[`starts.${name}`].values
  const row = outer * shape[1] + query
  const [from, to] = [starts[row], starts[row + 1]]
  return {
    keys: arrays[`keys.${name}`].values.subarray(from, to),
    weights: arrays[`weights.${name}`].values.subarray(from, to),
    rest: rest[row],
  }
}

/**
 * Whether some weight of a row is not a number.
 * @param {Strongest} row
 */
export const isUnknown = ({ rest }) => Number.isNaN(rest)

/**
 * The key with most weight, and that weight; null where nothing has any.
 * @param {Strongest} row
 */
export function mostOf({ keys, weights }) {
  let most = -1
  for (let n = 0; n < weights.length; n++) if (most < 0 || weights[n] > weights[most]) most = n
  return most < 0 ? null : { key: keys[most], weight: weights[most] }
}

/**
 * The key with most weight in a row of a head, among those that it may read; the first where none has any.
 * @param {Record<string, Numbers>} arrays weights [Q, K], and mask where anything is masked
 * @param {number} row
 */
export function strongestKey({ weights: { values, shape }, mask }, row) {
  const start = row * shape[1]
  let [strongest, most] = [0, 0]
  for (let key = 0; key < shape[1]; key++) {
    if ((mask && !mask.values[start + key]) || !(values[start + key] > most)) continue
    strongest = key
    most = values[start + key]
  }
  return strongest
}

/**
 * The ribbons of one row, strongest last: how wide each is, in shares, and where it ends in the sum of all, which begins at
 * minus half of it. What is below `least` is folded into one: `rest` is its share.
 * @param {Strongest} row
 * @param {number} least
 */
export function ribbonsOf({ keys, weights, rest: others }, least) {
  /** @type {{key: number, weight: number, at: number}[]} */
  const ribbons = []
  let [sum, rest] = others >= 0 ? [others, others] : [0, 0] // what is not a number has no ribbon
  for (let n = 0; n < weights.length; n++) {
    sum += weights[n]
    if (weights[n] < least) rest += weights[n]
  }
  let at = -sum / 2
  for (let n = 0; n < weights.length; n++) {
    if (weights[n] < least) continue
    ribbons.push({ key: keys[n], weight: weights[n], at: at + weights[n] / 2 })
    at += weights[n]
  }
  ribbons.sort((a, b) => a.weight - b.weight)
  return { ribbons, rest, restAt: at + rest / 2 }
}
