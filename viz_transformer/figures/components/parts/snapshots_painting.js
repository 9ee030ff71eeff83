import { besideRow, overColumn, tokenInk } from "./axis_labels.js"
import { columnLabels, rowLabels } from "./cells.js"
import { dotsNote, ramp } from "./legend.js"
import { crossing, HATCH_EVERY, hatch, paintCell, ring } from "./marks.js"
import { notFinite } from "./numbers.js"
import { isSnapshotOpen, mapTitle, snapshotValue } from "./snapshots_data.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Cell } from "./cells.js" */
/** @import { Paper } from "./colours.js" */
/** @import { placeLosses } from "./losses.js" */
/** @import { SnapshotNow } from "./snapshots_data.js" */
/** @import { Context, Kind, Ruler, Token } from "./types.js" */

// The map of a snapshot, and the curve of the losses of all.

/** @typedef {ReturnType<typeof placeSnapshot>} SnapshotPlace */
/** @typedef {{now: SnapshotNow, place: SnapshotPlace, r: ?number, c: ?number}} SnapshotView */
/** @typedef {(context: Context, paper: Paper, view: SnapshotView) => void} PaintSnapshot */

/** @type {(token: Token) => Token} as it was typed */
const typed = ({ text, note, special }) => ({ text: note ?? text, special })

/**
 * Where the parts of the map stand, in so many pixels across and in so much room.
 * @param {Ruler} ruler
 * @param {Kind} kind
 * @param {{z: number, width: number, tall: number}} room
 */
export function placeSnapshot(ruler, { rows, columns, writes }, { z, width, tall }) {
  ruler.font = mono(14 * z)
  const wide = (/** @type {Token} */ token) => ruler.measureText(token.note ?? token.text).width
  const widest = (/** @type {Token[]} */ tokens, least = 0) =>
    tokens.reduce((w, token) => Math.max(w, wide(token)), least)
  const most = 11 * ruler.measureText("m").width
  const margin = (/** @type {Token[]} */ tokens) => 20 + Math.min(most, widest(tokens, 50 * z))
  const [left, right] = [margin(rows.tokens), writes ? margin(writes) : 12]
  const [n, m] = [columns.tokens.length, rows.tokens.length]
  const cell = Math.min(Math.max(40, width - left - right) / n, 56 * z)
  const labels = columnLabels(cell, widest(columns.tokens), most, z, { least: 8 })
  const top = 48 * z + labels.tall
  const rowHeight = Math.min((tall - top - 40 * z) / m, 34 * z, Math.max(cell, 16 * z))
  const height = top + rowHeight * m + 40 * z
  return { z, width, height, left, right, top, cell, rowHeight, ...labels, n, m, w: n * cell, h: m * rowHeight }
}

/** @type {(place: SnapshotPlace, c: number) => number} */
export const snapshotX = ({ left, cell }, c) => left + c * cell
/** @type {(place: SnapshotPlace, r: number) => number} */
export const snapshotY = ({ top, rowHeight }, r) => top + r * rowHeight

const scaleOf = (/** @type {SnapshotNow} */ { one, kind }) => (one === null ? "derived" : kind.kind)

/**
 * The cells; returns the weights that are not finite.
 * @type {(context: Context, paper: Paper, view: SnapshotView) => number[]}
 */
function paintCells(context, paper, { now, place }) {
  const { cell, rowHeight, n, m } = place
  const scale = paper.scale(scaleOf(now))
  const gap = Math.min(cell, rowHeight) >= 6 ? 0.5 : 0
  const [closed, unknown] = [/** @type {Cell[]} */ ([]), /** @type {number[]} */ ([])]
  for (let r = 0; r < m; r++)
    for (let c = 0; c < n; c++) {
      const [open, weight] = [isSnapshotOpen(now, r, c), snapshotValue(now, r, c)]
      if (!open) closed.push({ r, c })
      const known = Number.isFinite(weight)
      if (!known) unknown.push(weight)
      const colour = !open && weight === 0 ? paper.one("surface") : known ? scale.css(weight) : null
      const [x, y] = [snapshotX(place, c) + gap, snapshotY(place, r) + gap]
      paintCell(context, paper, colour, x, y, cell - 2 * gap, rowHeight - 2 * gap)
    }
  context.strokeStyle = paper.one("line")
  for (const { r, c } of closed) hatch(context, snapshotX(place, c), snapshotY(place, r), cell, rowHeight, HATCH_EVERY)
  return unknown
}

/** @type {PaintSnapshot} */
function paintLabels(context, paper, { now, place, ...chosen }) {
  const { z, left, top, cell, upright, size, tall, n, m, w } = place
  const { rows, columns, writes } = now.kind
  const { size: letters, every } = rowLabels(place.rowHeight, z, 8)
  for (let r = 0; r < m; r += every) {
    const look = { y: snapshotY(place, r) + place.rowHeight / 2, size: letters, bold: r === chosen.r, ink: rows.ink }
    besideRow(context, paper, typed(rows.tokens[r]), { ...look, x: left - 8, left: true, room: left - 14 })
    if (writes)
      besideRow(context, paper, typed(writes[r]), { ...look, x: left + w + 8, left: false, room: place.right - 14 })
  }
  for (let c = 0; c < n; c += place.every) {
    const token = columns.tokens[c]
    context.font = mono(size, c === chosen.c ? 600 : 400)
    context.fillStyle = tokenInk(paper, token, columns.ink)
    const [y, room] = upright ? [top - 6, tall - 4] : [top - 11 * z, Infinity]
    overColumn(context, token.note ?? token.text, { upright, x: snapshotX(place, c) + cell / 2, y, room })
  }
}

/** @type {PaintSnapshot} */
function paintTitles(context, paper, { now, place }) {
  const { z, left, right, top, tall, width, w } = place
  const { rows, columns, writes } = now.kind
  context.textAlign = "left"
  context.font = sans(15 * z, 600)
  context.fillStyle = paper.one("text")
  context.fillText(shorten(context, mapTitle(now), width - 8), 0, 14 * z)
  context.font = sans(13 * z)
  const y = top - tall - 8 * z
  context.fillStyle = paper.one(columns.ink)
  context.fillText(shorten(context, columns.axis, w), left, y)
  context.textAlign = "right"
  context.fillStyle = paper.one(rows.ink)
  context.fillText(shorten(context, rows.axis, left - 12), left - 8, y)
  if (!writes) return
  context.textAlign = "left"
  context.fillText(shorten(context, "writes", right - 8), left + w + 8, y)
}

/** @type {(context: Context, paper: Paper, view: SnapshotView, unknown: number[]) => void} */
function paintLegend(context, paper, { now, place }, unknown) {
  const { z, left, width, height } = place
  const y = height - 16 * z
  context.textAlign = "right"
  context.font = mono(12 * z)
  context.fillStyle = paper.one("muted")
  context.fillText("0", left - 8, y)
  ramp(context, paper.scale(scaleOf(now)), left, y, 120 * z, z)
  context.textAlign = "left"
  context.fillStyle = paper.one("muted")
  context.fillText("1", left + 128 * z, y)
  context.font = sans(13 * z)
  const unit = now.one === null ? "mean attention weight (derived)" : "attention weight"
  const from = dotsNote(context, paper, notFinite(unknown), left + 148 * z, y, z)
  context.fillText(shorten(context, unit, width - from - 4 * z), from, y)
}

/** @type {(context: Context, paper: Paper, view: SnapshotView) => void} */
export function paintSnapshot(context, paper, view) {
  const unknown = paintCells(context, paper, view)
  context.textBaseline = "middle"
  paintLabels(context, paper, view)
  paintTitles(context, paper, view)
  paintLegend(context, paper, view, unknown)
}

/**
 * What is chosen, and what is pointed at.
 * @type {(context: Context, paper: Paper, view: SnapshotView, hovered: ?Cell) => void}
 */
export function paintSnapshotMarks(context, paper, { place, r, c }, hovered) {
  if (r !== null) ring(context, paper, place.left, snapshotY(place, r), place.w, place.rowHeight)
  if (r !== null && c !== null)
    ring(context, paper, snapshotX(place, c), snapshotY(place, r), place.cell, place.rowHeight)
  if (hovered) crossing(context, paper, place, { x: snapshotX(place, hovered.c), y: snapshotY(place, hovered.r) })
}

/**
 * The curve of the losses, with the s-th marked.
 * @param {Context} context
 * @param {Paper} paper
 * @param {ReturnType<typeof placeLosses>} plot
 * @param {{width: number, z: number, s: number}} at
 */
export function paintLosses(context, paper, { left, right, bottom, decades, ticks, points }, { width, z, s }) {
  context.font = mono(12 * z)
  context.textBaseline = "middle"
  context.textAlign = "right"
  for (const { text, y } of decades) {
    context.fillStyle = paper.one("line")
    context.fillRect(left, y, right - left, 1)
    context.fillStyle = paper.one("muted")
    context.fillText(text, left - 6 * z, y)
  }
  context.textAlign = "center"
  for (const { text, x } of ticks)
    context.fillText(text, Math.min(x, width - context.measureText(text).width / 2), bottom + 14 * z)
  context.textAlign = "left"
  context.font = sans(13 * z)
  context.fillText(shorten(context, "loss of the target by step", width - 8), 0, 9 * z)
  context.strokeStyle = paper.one("text")
  context.lineWidth = 1.5 * z
  context.beginPath()
  points.forEach(({ x, y }, i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)))
  context.stroke()
  context.fillStyle = paper.one("text")
  for (const { x, y } of points) context.fillRect(x - 2 * z, y - 2 * z, 4 * z, 4 * z)
  context.lineWidth = 2
  for (const [ink, out] of /** @type {[string, number][]} */ ([
    ["page", 5 * z],
    ["text", 7 * z],
  ])) {
    context.strokeStyle = paper.one(ink)
    context.strokeRect(points[s].x - out, points[s].y - out, 2 * out, 2 * out)
  }
}
