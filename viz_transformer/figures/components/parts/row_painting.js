import { overColumn, tokenInk } from "./axis_labels.js"
import { hasLabel } from "./cells.js"
import { isLight } from "./colours.js"
import { dotsNote, ramp } from "./legend.js"
import { HATCH_EVERY, hatch, paintCell, ring } from "./marks.js"
import { number, share } from "./numbers.js"
import { NUMBERED } from "./strips.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Paper, Scale } from "./colours.js" */
/** @import { RowNumbers } from "./row_numbers.js" */
/** @import { Strip, Strips } from "./strips.js" */
/** @import { Context } from "./types.js" */

// One query against all keys: the strips, what stands beside them, and the marks over them.

/**
 * `tight`: there is no room for the legends at the right.
 * @typedef {{row: RowNumbers, place: Strips & {tight: boolean}, chosen: ?number}} RowView
 */

/** @type {Record<Strip, string[]>} */
const NAMES = {
  keys: ["keys k", "and query q"],
  products: ["q × k", "by dimension"],
  scores: ["score"],
  weights: ["weight"],
}

const signed = (/** @type {number} */ value, /** @type {number} */ most) => 0.5 + value / (2 * (most || 1))

/** @type {(place: Strips, k: number) => number} */
export const columnX = (place, k) => place.left + k * place.cell
const gapOf = (/** @type {Strips} */ { cell }) => (cell >= 6 ? 1 : 0)

/**
 * A cell of the query, of a key or of a product.
 * @type {(context: Context, paper: Paper, level: number, x: number, y: number, wide: number, tall: number) => void}
 */
function paintNumber(context, paper, level, x, y, wide, tall) {
  const colour = Number.isFinite(level) ? paper.scale("diverging").css(level) : null
  paintCell(context, paper, colour, x, y, wide, tall >= 4 ? tall - 1 : tall + 0.3)
}

/** @type {(context: Context, paper: Paper, view: RowView, name: Strip, level: (k: number, e: number) => number) => void} */
function paintBlock(context, paper, { row: { K, E }, place }, name, level) {
  const { y, height } = place.strips[name]
  const [wide, tall] = [place.cell - gapOf(place), height / E]
  for (let k = 0; k < K; k++)
    for (let e = 0; e < E; e++) paintNumber(context, paper, level(k, e), columnX(place, k), y + e * tall, wide, tall)
}

/**
 * A strip with one number of each key, written in it where there is room.
 * @param {Context} context
 * @param {Paper} paper
 * @param {RowView} view
 * @param {"scores" | "weights"} name
 * @param {{palette: Scale, level: (value: number) => number, text: (value: number, digits: number) => string}} look
 */
function paintStrip(context, paper, { row, place }, name, { palette, level, text }) {
  const { y, height } = place.strips[name]
  const wide = place.cell - gapOf(place)
  for (let k = 0; k < row.K; k++) {
    const [x, value, open] = [columnX(place, k), row[name][k], row.mask[k]]
    const own = Number.isFinite(value) ? palette.css(level(value)) : null
    const colour = !open && (name === "scores" || value === 0) ? paper.one("surface") : own
    paintCell(context, paper, colour, x, y, wide, height)
    if (!open) {
      context.strokeStyle = paper.one("line")
      hatch(context, x, y, wide, height, HATCH_EVERY)
    } else if (colour !== null && place.cell >= NUMBERED * place.z) {
      context.font = mono(12 * place.z)
      context.textAlign = "center"
      context.textBaseline = "middle"
      context.fillStyle = paper.one(isLight(colour) === isLight(paper.one("page")) ? "text" : "page")
      const fits = (/** @type {string} */ each) => context.measureText(each).width <= place.cell - 3
      const said = [2, 1, 0].map((digits) => text(value, digits)).find(fits)
      context.fillText(said ?? "", x + wide / 2, y + height / 2 + 1)
    }
  }
}

/** @type {(context: Context, paper: Paper, view: RowView) => void} */
function paintTokens(context, paper, { row, place, chosen }) {
  const { z, cell, start, upright, size, tall, every } = place
  const { tokens, ink } = row.head.keys
  for (let k = 0; k < row.K; k++) {
    if (!hasLabel(k, every, chosen)) continue
    context.font = mono(size, k === chosen ? 600 : 400)
    context.fillStyle = tokenInk(paper, tokens[k], ink)
    context.textBaseline = "middle"
    const [y, room] = upright ? [start - 8, tall - 8] : [start - 14 * z, Math.max(cell - 2, size)]
    overColumn(context, tokens[k].note ?? tokens[k].text, { upright, x: columnX(place, k) + cell / 2, y, room })
  }
}

/** @type {(context: Context, paper: Paper, view: RowView) => void} */
export function paintColumns(context, paper, view) {
  const { query, keys, most, E, head } = view.row
  const diverging = paper.scale("diverging")
  paintBlock(context, paper, view, "keys", (k, e) => signed(keys[k * E + e], most.vectors))
  paintBlock(context, paper, view, "products", (k, e) => signed(query[e] * keys[k * E + e], most.products))
  const scores = (/** @type {number} */ value) => signed(value, most.scores)
  paintStrip(context, paper, view, "scores", { palette: diverging, level: scores, text: number })
  paintStrip(context, paper, view, "weights", {
    palette: paper.scale(head.scale),
    level: (value) => value,
    text: share,
  })
  if (!view.place.tight) paintLegends(context, paper, view)
  paintTokens(context, paper, view)
}

/**
 * What the colours mean, at the right; under the names where there is no room for that.
 * @type {(context: Context, paper: Paper, view: RowView) => void}
 */
function paintLegends(context, paper, { row: { most, head }, place }) {
  const { z, left, w, strips, tight } = place
  context.textAlign = "left"
  const x = tight ? 0 : left + w + 14 * z
  const bar = 48 * z
  const legend = (/** @type {Strip} */ name, /** @type {string} */ scale, /** @type {string} */ ends) => {
    const { y, height } = strips[name]
    const high = height > 40 * z
    const at = tight ? y + (high ? 50 : 24) * z : high ? y + 12 * z : y + height / 2 // below the lines of a name
    ramp(context, paper.scale(scale), x, at, bar, z)
    context.font = mono(12 * z)
    context.textBaseline = "middle"
    context.fillStyle = paper.one("muted")
    context.fillText(ends, x + bar + 6 * z, at)
  }
  legend("keys", "diverging", `±${number(most.vectors, 2)}`)
  legend("products", "diverging", `±${number(most.products, 2)}`)
  legend("scores", "diverging", `±${number(most.scores, 2)}`)
  legend("weights", head.scale, "0–1")
  context.textBaseline = "alphabetic"
}

/**
 * The title in so many pixels, the strips' names at the left, and the query, once, as a column of its own.
 * @type {(context: Context, paper: Paper, view: RowView, wide: number) => void}
 */
export function paintNames(context, paper, view, wide) {
  const { row, place } = view
  const { query, E, most, head, strange } = row
  const { z, left, strips, tight } = place
  const { y, height } = strips.keys
  const tall = height / E
  for (let e = 0; e < E; e++)
    paintNumber(context, paper, signed(query[e], most.vectors), left - 22 * z, y + e * tall, 14 * z, tall)
  dotsNote(context, paper, strange, 0, place.height - 12 * z, z)
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  context.font = sans(16 * z, 600)
  context.fillStyle = paper.one("text")
  context.fillText(shorten(context, head.title, wide - 8), 0, 18 * z)
  for (const name of /** @type {Strip[]} */ (Object.keys(NAMES))) {
    const [strip, lines] = [strips[name], NAMES[name]]
    const middle = lines.length > 1 ? strip.y + 14 * z : tight ? strip.y + 10 * z : strip.y + strip.height / 2 + 5 * z
    lines.forEach((line, n) => {
      context.font = n ? sans(13 * z) : sans(14 * z, 600)
      context.fillStyle = paper.one(n ? "muted" : "text")
      context.fillText(line, 0, middle + 18 * z * n)
    })
  }
  context.font = sans(13 * z)
  context.fillStyle = paper.one("muted")
  if (height >= 70 * z) context.fillText("q", left - 19 * z, y - 4 * z)
  if (tight) paintLegends(context, paper, view)
}

/** @type {(context: Context, paper: Paper, view: RowView) => void} */
export function paintKey(context, paper, { place, chosen }) {
  if (chosen === null) return
  const width = Math.max(3, place.cell - gapOf(place))
  ring(context, paper, columnX(place, chosen), place.start - 2, width, place.end - place.start + 4)
}
