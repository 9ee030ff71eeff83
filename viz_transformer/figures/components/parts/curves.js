// Curves from tokens to the one that looks at them, as wide as their weights.

/** @typedef {{x: number, y: number}} Point */

export const LEAST = 0.02
const WIDEST = 6
const BOW = 14

/**
 * The path of a curve down to a point, or, from a point of the same height, above both.
 * @param {Point} from
 * @param {Point} to
 */
export function curve(from, to) {
  const [a, b] = from.y < to.y ? [to.y, from.y] : [from.y - BOW, to.y - BOW]
  return `M${from.x},${from.y} C${from.x},${a} ${to.x},${b} ${to.x},${to.y}`
}

/**
 * The curves of a row of weights; those of less than LEAST are left out.
 * @param {{weight: number, at: Point}[]} keys
 * @param {Point} to
 */
export const curvesTo = (keys, to) =>
  keys
    .filter(({ weight }) => weight >= LEAST)
    .map(({ weight, at }) => ({ path: curve(at, to), width: WIDEST * weight, weight }))
