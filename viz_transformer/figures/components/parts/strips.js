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
const EDGE = 4 // at the right, where the legends stand under the names: the ring around the last column
const BROADEST = 112
/** A column so wide has its numbers in it, with two decimals in one of `COLUMN`. */
export const NUMBERED = 40
const [COLUMN, USUAL] = [48, 992] // what there is in a window of 1280 pixels
const SCROLLED = 64 // so many keys have their numbers and are scrolled to; more are seen at once, as colours

/**
 * How wide columns with their numbers are, beside so many pixels at the right.
 * @param {number} right
 * @param {number} keys
 */
const numbered = (right, keys) =>
  Math.max(LEFT + right + keys * NUMBERED, Math.min(USUAL, LEFT + right + keys * COLUMN))
/**
 * Whether there is no room for the legends at the right of all columns: they stand under the names, which are always seen.
 * @param {number} room
 * @param {number} keys
 */
export const isTight = (room, keys) => keys <= SCROLLED && room < numbered(RIGHT, keys)
/**
 * How wide the strips are drawn where there are so many pixels for them: all columns have room for their numbers, and are
 * scrolled where that is more.
 * @param {number} room
 * @param {number} keys
 */
export const widthOf = (room, keys) =>
  keys > SCROLLED ? room : Math.max(room, numbered(isTight(room, keys) ? EDGE : RIGHT, keys))

/**
 * `keys` columns of `dimensions`. `widest` is the width of the widest label and `letter` that of a letter, of 14 pixels
 * each; labels of one letter are never turned. Where there is only so much `room` from top to foot, the two strips with
 * dimensions are lower; where there is `height` for them, higher. `tight`: as `isTight` says.
 * @param {{z: number, width: number, keys: number, dimensions: number, widest: number, letter: number, room?: number,
 *   height?: number, tight?: boolean}} given
 * @returns {Strips}
 */
export function placeStrips({
  z,
  width,
  keys,
  dimensions,
  widest,
  letter,
  room = Number.POSITIVE_INFINITY,
  height = 0,
  tight = false,
}) {
  const left = LEFT * z
  const right = (tight ? EDGE : RIGHT) * z
  const inner = Math.max(40, width - left - right)
  const cell = Math.min(inner / keys, BROADEST * z)
  const narrow = widest + 6 > cell
  const letters = widest <= 1.3 * letter
  const upright = narrow && !letters
  const size = narrow ? Math.max(9 * z, Math.min(14 * z, cell * (letters ? 1.4 : 0.82))) : 14 * z
  const tall = upright ? Math.min(widest * (size / (14 * z)), 92 * z) + 10 : 24 * z
  const every = Math.max(1, Math.ceil((upright ? size + 1 : size * 0.7) / cell))
  const start = 30 * z + tall
  const others = start + (2 * LINE + 4 * GAP + FOOT) * z
  const high = Math.max(BLOCK * z, Math.min(dimensions, 128) * z, (height - others) / 2)
  const block = Math.min(high, Math.max(LINE * z, (room - others) / 2))
  let y = start
  const strip = (/** @type {number} */ height) => {
    const made = { y, height }
    y += height + GAP * z
    return made
  }
  const strips = { keys: strip(block), products: strip(block), scores: strip(LINE * z), weights: strip(LINE * z) }
  const [w, end] = [cell * keys, y - GAP * z]
  return { z, width, height: y + FOOT * z, left, cell, w, start, end, upright, size, tall, every, strips }
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
