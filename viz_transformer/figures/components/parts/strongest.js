// The lines of a picture of weights, strongest first: how many a threshold leaves, and which is nearest to a place.

/**
 * order: the places of all weights above 0, the largest first, as indexes into the weights; rest: the weight of each and
 * of all that follow it, and 0 at the end. all: how many pairs may attend; masked: the weight of those that may not;
 * unknown: how many weights are not finite.
 * @typedef {{order: Uint32Array, rest: Float64Array, all: number, masked: number, unknown: number}} Lines
 */

const PLACES = 2 ** 20

/**
 * @param {Float32Array} weights [N, Q, K], fewer than a million
 * @param {number[]} shape
 * @param {(n: number, q: number, k: number) => boolean} may
 * @param {(q: number, k: number) => boolean} there
 * @returns {Lines}
 */
export function strongestFirst(weights, [N, Q, K], may, there) {
  const bits = new Uint32Array(weights.buffer)
  const found = new Float64Array(weights.length)
  let [size, all, masked, unknown] = [0, 0, 0, 0]
  for (let n = 0, i = 0; n < N; n++)
    for (let q = 0; q < Q; q++)
      for (let k = 0; k < K; k++, i++) {
        const weight = weights[i]
        if (!there(q, k)) continue
        if (!Number.isFinite(weight)) unknown++
        else if (!may(n, q, k)) masked += weight
        else {
          all++
          if (weight > 0) found[size++] = bits[i] * PLACES + i // for positive numbers the bits are in their order
        }
      }
  const sorted = found.subarray(0, size).sort()
  const order = new Uint32Array(size)
  for (let i = 0; i < size; i++) order[i] = sorted[size - 1 - i] - Math.floor(sorted[size - 1 - i] / PLACES) * PLACES
  const rest = new Float64Array(size + 1)
  for (let i = size - 1; i >= 0; i--) rest[i] = rest[i + 1] + weights[order[i]]
  return { order, rest, all, masked, unknown }
}

/**
 * How many lines are at least as strong as a threshold, which is rounded as the weights are.
 * @param {Float32Array} weights
 * @param {Uint32Array} order
 * @param {number} threshold
 */
export function countFrom(weights, order, threshold) {
  let [low, high] = [0, order.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (weights[order[middle]] >= Math.fround(threshold)) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The threshold to begin with: 0.05 or the share of an even row of K, and where that leaves more lines than one can tell
 * apart, the next that leaves no more, or the last that leaves any.
 * @param {number[]} thresholds
 * @param {number} K
 * @param {number} many
 * @param {(threshold: number) => number} leaves
 */
export function firstThreshold(thresholds, K, many, leaves) {
  let i = thresholds.findLastIndex((each) => each <= Math.min(0.05, 1 / K))
  while (leaves(thresholds[i]) > many && leaves(thresholds[i + 1]) > 0) i++
  return thresholds[i]
}

/**
 * How far a place is from a line between two heights, at right angles. along: 0 at its left end, 1 at its right end.
 * @param {number} y
 * @param {number} along
 * @param {number} from
 * @param {number} to
 * @param {number} width
 */
export const awayFrom = (y, along, from, to, width) =>
  Math.abs(from + (to - from) * along - y) / Math.hypot(1, (to - from) / width)
