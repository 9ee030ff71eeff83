// Lines between two sides of tokens: where the sides, their rows and the legend stand, and what is at a place.

import { awayFrom } from "./strongest.js"
import { wrappedTo } from "./text.js"

/** @import { Ruler } from "./types.js" */

/** @typedef {"queries" | "keys"} Side */
/**
 * Where lines are drawn: from `left` to `right`, in rows so high from `top` on. The lines of several heads lie `gap` apart,
 * each `thick`.
 * @typedef {{z: number, width: number, height: number, top: number, bottom: number, left: number, right: number,
 *   counts: Record<Side, number>, rows: Record<Side, number>, gap: number, thick: number}} Sides
 */
/**
 * A part of the legend in its row: `text` begins `start` pixels from `x`, and both end before x + size.
 * @typedef {{text: string, x: number, row: number, size: number, start: number, colour?: string,
 *   ramp?: boolean, dots?: boolean}} LegendPart
 */

/**
 * `widest` are the widths of the widest label of each side, which gets at most three tenths of the picture and no more than
 * `most`; `heads` is the number of maps, `lines` that of the title's, `legend` that of the legend's.
 * @param {{z: number, width: number, height: number, widest: Record<Side, number>, most: number,
 *   counts: Record<Side, number>, heads: number, lines: number, legend: number}} given
 * @returns {Sides}
 */
export function placeSides({ z, width, height, widest, most, counts, heads, lines, legend }) {
  const margin = (/** @type {Side} */ side) =>
    16 * z + Math.min(Math.min(most, width * 0.3), Math.max(36 * z, widest[side]))
  const top = (lines * 22 + 40) * z
  const bottom = (legend * 20 + 12) * z
  const row = (/** @type {Side} */ side) => Math.min((height - top - bottom) / counts[side], 40 * z)
  const rows = { queries: row("queries"), keys: row("keys") }
  const narrow = Math.min(rows.queries, rows.keys)
  const gap = heads > 1 ? Math.min(3 * z, (0.7 * narrow) / heads) : 0
  const thick = z * (narrow < 6 ? 1 : narrow < 14 ? 1.4 : 2)
  const [left, right] = [margin("queries"), width - margin("keys")]
  return { z, width, height, top, bottom, left, right, counts, rows, gap, thick }
}

/**
 * The middle of a row.
 * @param {Pick<Sides, "top" | "rows">} sides
 * @param {Side} side
 * @param {number} n
 */
export const middleOf = ({ top, rows }, side, n) => top + (n + 0.5) * rows[side]

/**
 * How far the lines of map n of so many lie below the middle of a row.
 * @param {Pick<Sides, "gap">} sides
 * @param {number} n
 * @param {number} heads
 */
export const shiftOf = ({ gap }, n, heads) => (n - (heads - 1) / 2) * gap

/**
 * What is at a place: a token of a side, or of `count` lines, the strongest first, the nearest within five pixels; where
 * lines cross it is the strongest. lineAt(i) is the map, the query and the key of a line.
 * @param {Sides} sides
 * @param {number} x
 * @param {number} y
 * @param {{heads: number, count: number, lineAt: (i: number) => number[]}} lines
 * @returns {?{q?: number, k?: number}}
 */
export function foundAt(sides, x, y, { heads, count, lineAt }) {
  const { z, top, left, right, counts, rows } = sides
  const token = (/** @type {Side} */ side) => {
    const n = Math.floor((y - top) / rows[side])
    return n >= 0 && n < counts[side] ? n : null
  }
  if (x <= left) {
    const q = token("queries")
    return q === null ? null : { q }
  }
  if (x >= right) {
    const k = token("keys")
    return k === null ? null : { k }
  }
  const along = (x - left) / (right - left)
  let [nearest, least] = [/** @type {?{q: number, k: number}} */ (null), 5 * z]
  for (let i = 0; i < count; i++) {
    const [n, q, k] = lineAt(i)
    const [from, to] = [middleOf(sides, "queries", q), middleOf(sides, "keys", k)]
    const away = awayFrom(y - shiftOf(sides, n, heads), along, from, to, right - left)
    if (away < least) [nearest, least] = [{ q, k }, away]
  }
  return nearest
}

/**
 * Takes places for what is written beside them: false for one that is nearer than `every` to one that was taken before.
 * @param {number} count
 * @param {number} every
 */
export function takeApart(count, every) {
  const taken = new Uint8Array(count)
  return (/** @type {number} */ n) => {
    if (taken[n]) return false
    taken.fill(1, Math.max(0, n - every + 1), n + every)
    return true
  }
}

/**
 * The legend from the left, wrapped: each head in its colour, what opacity means behind a ramp, in up to three lines where
 * it does not fit into one, what is dotted, "" for nothing, and a last sentence.
 * @param {{heads: {text: string, colour: string}[], scale: string, dotted?: string, last?: string}} words
 * @param {Pick<Ruler, "measureText">} ruler
 * @param {number} z
 * @param {number} width
 */
export function placeLegend({ heads, scale, dotted, last }, ruler, z, width) {
  /** @type {LegendPart[]} */
  const parts = []
  let [x, row] = [0, 0]
  const wide = (/** @type {string} */ text) => ruler.measureText(text).width
  const put = (/** @type {Omit<LegendPart, "x" | "row" | "size">} */ part, /** @type {number} */ size) => {
    if (x && x + size > width) [x, row] = [0, row + 1]
    parts.push({ ...part, x, row, size: Math.min(size, width) })
    x += size + 16 * z
  }
  for (const { text, colour } of heads) put({ text, colour, start: 26 * z }, 26 * z + wide(text))
  const ramp = 104 * z
  if (ramp + wide(scale) <= width) put({ text: scale, ramp: true, start: ramp }, ramp + wide(scale))
  else {
    if (x) [x, row] = [0, row + 1]
    wrappedTo(ruler, scale, width - ramp, 3).forEach((text, i) => put({ text, ramp: i === 0, start: ramp }, width))
  }
  if (dotted) put({ text: dotted, dots: true, start: 26 * z }, 26 * z + wide(dotted))
  if (last !== undefined) put({ text: last, start: 1 }, wide(last) + 1)
  return { parts, rows: row + 1 }
}
