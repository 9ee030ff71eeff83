// One attention, computed from the left to the right: queries and keys, their scores, the mask, the weights, values, and what
// the head hands on; over it the maps of all heads.

/** @import { Box } from "./whole_levels.js" */
/** A matrix: `rows` x `columns` cells in a box. @typedef {Box & {rows: number, columns: number}} Grid */
/**
 * @typedef {{z: number, width: number, height: number, heads: Box[], names: number, queryLabels: {x: number, width: number},
 *   keyLabels: {x: number, width: number}, top: number, query: Grid, key: Grid, scores: Grid, mask: Grid, weights: Grid,
 *   value: Grid, output: Grid, signs: {x: number, text: string}[]}} AttentionPlaces
 */

const [SMALL_MAP, GRID_GAP, TOKENS_WIDE, SIGN_WIDE] = [66, 10, 66, 18] // in pixels
const GRID_UNITS = { query: 1, key: 1, scores: 1.6, mask: 1.1, weights: 1.6, value: 1, output: 1 }
const [ROW_HIGH, COLUMN_WIDE] = [22, 34]

/**
 * @param {{z: number, width: number, height: number, queries: number, keys: number, dimensions: number, heads: number}} given
 * @returns {AttentionPlaces}
 */
export function placeAttention({ z, width, height, queries, keys, dimensions, heads }) {
  const ringed = 3 * z // the first map has room for its ring
  const side = Math.max(4, Math.min(SMALL_MAP * z, (width - GRID_GAP * z - ringed) / heads - GRID_GAP * z))
  const maps = Array.from({ length: heads }, (_, n) => ({
    x: ringed + n * (side + GRID_GAP * z),
    y: 20 * z,
    width: side,
    height: Math.min(side, SMALL_MAP * z),
  }))
  const top = 20 * z + side + 62 * z
  const labels = Math.min(TOKENS_WIDE * z, width * 0.075)
  const signs = 5 * SIGN_WIDE * z + GRID_GAP * z + 4 * z // the last ones for a ring around the output
  const unit = (width - 2 * labels - signs) / Object.values(GRID_UNITS).reduce((sum, each) => sum + each, 0)
  const room = Math.max(8, height - top - 34 * z)
  const [high, tall] = [queries, keys].map((count) => Math.min(room, count * ROW_HIGH * z))
  let x = 0
  const labelled = () => {
    const made = { x, width: labels - 6 * z }
    x += labels
    return made
  }
  const grid = (
    /** @type {keyof typeof GRID_UNITS} */ name,
    /** @type {number} */ rows,
    /** @type {number} */ columns,
    /** @type {number} */ height,
  ) => {
    const wide = Math.min(GRID_UNITS[name] * unit, columns * COLUMN_WIDE * z)
    const made = { x, y: top, width: wide, height, rows, columns }
    x += wide
    return made
  }
  /** @type {{x: number, text: string}[]} */
  const between = []
  const sign = (/** @type {string} */ text, wide = SIGN_WIDE * z) => {
    between.push({ x: x + wide / 2, text })
    x += wide
  }
  const queryLabels = labelled()
  const query = grid("query", queries, dimensions, high)
  sign("·")
  const keyLabels = labelled()
  const key = grid("key", keys, dimensions, tall)
  sign("=")
  const scores = grid("scores", queries, keys, high)
  sign("", GRID_GAP * z)
  const mask = grid("mask", queries, keys, high)
  sign("→")
  const weights = grid("weights", queries, keys, high)
  sign("·")
  const value = grid("value", keys, dimensions, tall)
  sign("=")
  const output = grid("output", queries, dimensions, high)
  return {
    z,
    width,
    height,
    heads: maps,
    names: 14 * z,
    queryLabels,
    keyLabels,
    top,
    query,
    key,
    scores,
    mask,
    weights,
    value,
    output,
    signs: between,
  }
}

/** The cell of a matrix. @param {Grid} grid @param {number} row @param {number} column @returns {Box} */
export const cellOf = ({ x, y, width, height, rows, columns }, row, column) => ({
  x: x + (column * width) / columns,
  y: y + (row * height) / rows,
  width: width / columns,
  height: height / rows,
})

/** A whole row of a matrix. @param {Grid} grid @param {number} row @returns {Box} */
export const rowIn = ({ x, y, width, height, rows }, row) => ({
  x,
  y: y + (row * height) / rows,
  width,
  height: height / rows,
})

const GRIDS = /** @type {const} */ (["query", "key", "scores", "mask", "weights", "value", "output"])
/** @typedef {typeof GRIDS[number]} GridName */

/**
 * What is at a place: a head's map, or a matrix with its row and column; null beside them.
 * @param {AttentionPlaces} place
 * @param {number} x
 * @param {number} y
 * @returns {?({head: number} | {grid: GridName, row: number, column: number})}
 */
export function attentionAt(place, x, y) {
  const inside = (/** @type {Box} */ box) => x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height
  const head = place.heads.findIndex(inside)
  if (head >= 0) return { head }
  const grid = GRIDS.find((name) => inside(place[name]))
  if (!grid) return null
  const { x: left, y: top, width, height, rows, columns } = place[grid]
  return {
    grid,
    row: Math.floor(((y - top) / height) * rows),
    column: Math.floor(((x - left) / width) * columns),
  }
}
