// One query against all keys: where the columns of the keys and the strips across them stand, and what is at a place.

/** @typedef {"keys" | "products" | "scores" | "weights"} Strip */
/**
 * Where the strips are drawn: columns `cell` wide from `left` on, `w` all together, from `start` to `end`. Letters of
 * `size` stand over them, turned where `upright`, with the room of `tall`; each `every`-th has a label.
 * @typedef {{z: number, width: number, height: number, left: number, cell: number, w: number, start: number, end: number,
 *   upright: boolean, size: number, tall: number, every: number, strips: Record<Strip, {y: number, height: number}>}} Strips
 */

const [BLOCK, LINE, GAP, FOOT] = [88, 26, 10, 26]
const [LEFT, RIGHT] = [126, 118]
/** A column so wide has its numbers in it, with two decimals in one of `COLUMN`. */
export const NUMBERED = 40
const [COLUMN, USUAL] = [48, 992] // what there is in a window of 1280 pixels

/**
 * How wide the strips are drawn where there are so many pixels for them: where a usual window has all numbers in view,
 * a narrow one has them too, and is scrolled.
 * @param {number} room
 * @param {number} keys
 */
export const widthOf = (room, keys) =>
  LEFT + RIGHT + keys * NUMBERED > USUAL ? room : Math.max(room, Math.min(USUAL, LEFT + RIGHT + keys * COLUMN))

/**
 * `keys` columns of `dimensions`. `widest` is the width of the widest label and `letter` that of a letter, of 14 pixels
 * each; labels of one letter are never turned. Where there is only so much `room` from top to foot, the two strips with
 * dimensions are lower.
 * @param {{z: number, width: number, keys: number, dimensions: number, widest: number, letter: number, room?: number}} given
 * @returns {Strips}
 */
export function placeStrips({ z, width, keys, dimensions, widest, letter, room = Number.POSITIVE_INFINITY }) {
  const left = LEFT * z
  const right = RIGHT * z
  const inner = Math.max(40, width - left - right)
  const cell = Math.min(inner / keys, 72 * z)
  const narrow = widest + 6 > cell
  const letters = widest <= 1.3 * letter
  const upright = narrow && !letters
  const size = narrow ? Math.max(9 * z, Math.min(14 * z, cell * (letters ? 1.4 : 0.82))) : 14 * z
  const tall = upright ? Math.min(widest * (size / (14 * z)), 92 * z) + 10 : 24 * z
  const every = Math.max(1, Math.ceil((upright ? size + 1 : size * 0.7) / cell))
  const start = 30 * z + tall
  const free = room - start - (2 * LINE + 4 * GAP + FOOT) * z
  const block = Math.min(Math.max(BLOCK, Math.min(dimensions, 128)) * z, Math.max(LINE * z, free / 2))
  let y = start
  const strip = (/** @type {number} */ height) => {
    const made = { y, height }
    y += height + GAP * z
    return made
  }
  const strips = { keys: strip(block), products: strip(block), scores: strip(LINE * z), weights: strip(LINE * z) }
  const [w, height, end] = [cell * keys, y + FOOT * z, y - GAP * z]
  return { z, width, height, left, cell, w, start, end, upright, size, tall, every, strips }
}

/**
 * The key whose column or label is at a place, of so many, or null.
 * @param {Strips} place
 * @param {number} keys
 * @param {number} x
 * @param {number} y
 */
export function keyAt({ left, cell, start, tall, end }, keys, x, y) {
  const k = Math.floor((x - left) / cell)
  return k >= 0 && k < keys && y >= start - tall && y <= end ? k : null
}

/**
 * The dimension of a key or of a product that is at a height, of so many, or null.
 * @param {Strips} place
 * @param {number} dimensions
 * @param {number} y
 */
export function dimensionAt({ strips }, dimensions, y) {
  const strip = [strips.keys, strips.products].find((each) => y >= each.y && y < each.y + each.height)
  return strip ? Math.floor(((y - strip.y) / strip.height) * dimensions) : null
}
