import { besideRow, overColumn, tokenInk } from "./axis_labels.js"
import { hasLabel, numbersBeside, rowLabels } from "./cells.js"
import { FAINT, FAINT_ROWS, isFaint } from "./hidden.js"
import { brief, dotsNote, ramp, twoTones, unitAndNotes } from "./legend.js"
import { crossing, ring } from "./marks.js"
import { scaleEnds } from "./matrix_map.js"
import { isBare, xOf, yOf } from "./matrix_places.js"
import { paintSpans, spanNotes } from "./spans.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Area, Cell } from "./cells.js" */
/** @import { Paper } from "./colours.js" */
/** @import { MatrixMap, MatrixNow } from "./matrix_map.js" */
/** @import { MatrixPlace } from "./matrix_places.js" */
/** @import { Context } from "./types.js" */

// What stands around the cells of a map and over them.

/**
 * A map as it is drawn: of what is zoomed to, `seen` is not scrolled out of view.
 * @typedef {{map: MatrixMap, now: MatrixNow, place: MatrixPlace, area: Area, seen: Area}} MatrixView
 */

/** @type {(context: Context, paper: Paper, view: MatrixView) => void} */
function rowTokens(context, paper, view) {
  const { map, now, place, seen } = view
  const { head } = map
  const { size, every } = (head.rows.numbered ? numbersBeside : rowLabels)(place.rowHeight, place.z)
  const { ink } = head.rows
  const [x0, x1] = [place.left - 8, place.left + place.w + 8]
  for (let r = seen.r0; r < seen.r1; r++) {
    if (!hasLabel(r, every, now.r)) continue
    if (r >= now.written && now.plays) break
    context.globalAlpha = r < now.written && !isFaint(head.hidden?.[r]) ? 1 : FAINT
    const look = { y: yOf(view, r) + place.rowHeight / 2, size, bold: r === now.r, ink }
    if (!isBare(head, "left"))
      besideRow(context, paper, head.rows.tokens[r], { ...look, x: x0, left: true, room: place.left - 16 })
    if (head.writes && !isBare(head, "right"))
      besideRow(context, paper, head.writes[r], { ...look, x: x1, left: false, room: place.right - 16 })
  }
  context.globalAlpha = 1
}

/** @type {(context: Context, paper: Paper, view: MatrixView) => void} */
function columnTokens(context, paper, view) {
  const { map, now, place, seen } = view
  const { z, cell, upright, size, tall } = place
  const top = place.top - place.raised
  const { tokens, ink } = map.head.columns
  for (let c = seen.c0; c < seen.c1; c++) {
    if (!hasLabel(c, place.every, now.c)) continue
    if (c >= now.later && now.plays) break
    context.globalAlpha = c >= now.later ? FAINT : 1
    const { text, note } = tokens[c]
    context.font = mono(size, c === now.c ? 600 : 400)
    context.fillStyle = tokenInk(paper, tokens[c], ink)
    context.textBaseline = "middle"
    const x = xOf(view, c) + cell / 2
    const [y, room] = upright ? [top - 6, tall - 4] : [top - 12 * z, cell * place.every - 2]
    const read = (/** @type {number} */ letters) => {
      context.font = mono(letters)
      context.fillStyle = paper.one("muted")
    }
    overColumn(context, note ?? text, { upright, x, y, room }, (kept) => {
      if (note === undefined) return
      const x0 = context.measureText(kept).width + 5
      read(size * 0.66)
      context.fillText(shorten(context, text, Math.max(0, tall - x0)), x0, 0)
    })
    if (upright || note === undefined) continue
    read(9 * z)
    context.fillText(shorten(context, text, cell - 2), x, top - 25 * z)
  }
  context.globalAlpha = 1
}

/** @type {(context: Context, paper: Paper, view: MatrixView) => void} */
function titles(context, paper, { map: { head }, place }) {
  const { z, left, top, tall, raised } = place
  context.textBaseline = "alphabetic"
  context.textAlign = "left"
  context.font = sans(16 * z, 600)
  context.fillStyle = paper.one("text")
  const room = place.width - 8
  const wide = context.measureText(head.title).width
  if (wide > room) context.font = sans(Math.max(12 * z, (16 * z * room) / wide), 600) // beside another, in a narrow window
  context.fillText(shorten(context, head.title, room), 0, 20 * z)
  context.font = sans(13 * z)
  const y = top - tall - raised - 8 * z
  context.fillStyle = paper.one(head.columns.ink)
  context.fillText(shorten(context, head.columns.axis, place.w), left, y)
  context.fillStyle = paper.one(head.rows.ink)
  context.textAlign = "right"
  if (!isBare(head, "left")) context.fillText(shorten(context, head.rows.axis, left - 8), left - 8, y)
  if (!head.writes || isBare(head, "right")) return
  context.textAlign = "left"
  context.fillText(shorten(context, "writes", place.right - 8), left + place.w + 8, y)
}

/**
 * What the legend says beside its unit.
 * @type {(view: MatrixView, ratio: number, onPaper: boolean) => string[]}
 */
export function matrixNotes({ map: { head, rows, columns }, now, place, area, seen }, ratio, onPaper) {
  const notes = [...spanNotes(head), ...(head.notes ?? [])]
  if (place.cell * ratio < 1 || place.rowHeight * ratio < 1)
    notes.push(`max-pooled: a pixel shows its largest cell${onPaper ? "" : ", drag to zoom"}`)
  if (now.written < rows) notes.push("empty rows: not written yet")
  if (seen.r1 - seen.r0 < area.r1 - area.r0) notes.push(`rows ${seen.r0}–${seen.r1 - 1} of ${rows}`)
  if (seen.c1 - seen.c0 < area.c1 - area.c0)
    notes.push(`${head.columns.role === "key" ? "keys" : "columns"} ${seen.c0}–${seen.c1 - 1} of ${columns}`)
  return notes
}

/** @type {(context: Context, paper: Paper, view: MatrixView, notes: string[]) => void} */
function legend(context, paper, { map, now, place }, notes) {
  const { head } = map
  const { z, left, width } = place
  const y = place.height - 42 * z
  if (head.names) {
    twoTones(context, paper, { x: Math.min(left, width * 0.2), y, z }, head)
    return
  }
  const [start, end] = scaleEnds(map, now.scale)
  context.font = mono(12 * z)
  context.textBaseline = "middle"
  context.textAlign = "left"
  context.fillStyle = paper.one("muted")
  let x = Math.max(Math.min(left, width * 0.2), context.measureText(start).width + 8)
  context.fillText(start, x - context.measureText(start).width - 8, y)
  const ended = context.measureText(end).width
  context.font = sans(13 * z)
  const said = context.measureText(brief(head.unit)).width // rather a shorter ramp than less of it
  context.font = mono(12 * z)
  const length = Math.max(40 * z, Math.min(120 * z, width - x - 16 - ended - 16 * z - said))
  ramp(context, paper.scale(head.scale), x, y, length, z)
  x += length + 8
  context.fillStyle = paper.one("muted")
  context.fillText(end, x, y)
  x += ended + 16 * z
  context.font = sans(13 * z)
  context.fillText(unitAndNotes(context, head.unit, notes, width - x - 8, head.digits ? " · " : ", "), x, y)
  x = dotsNote(context, paper, map.strange, 0, y + 20 * z, z)
  if (head.hidden?.some(isFaint)) context.fillText(shorten(context, FAINT_ROWS, width - 8 - x), x, y + 20 * z)
}

/**
 * Frames around what is not there yet.
 * @type {(context: Context, paper: Paper, view: MatrixView) => void}
 */
function blanks(context, paper, view) {
  const { now, place, seen } = view
  context.lineWidth = 1
  context.strokeStyle = paper.one("line")
  const blank = Math.max(seen.r0, now.written)
  const high = (/** @type {number} */ rows) => Math.max(1, place.rowHeight * rows - 1)
  if (blank < seen.r1) context.strokeRect(place.left + 0.5, yOf(view, blank) + 0.5, place.w - 1, high(seen.r1 - blank))
  const [later, rest] = [Math.max(seen.c0, now.readable), Math.min(seen.r1, blank) - seen.r0]
  if (later < seen.c1 && rest > 0)
    context.strokeRect(xOf(view, later) + 0.5, place.top + 0.5, place.cell * (seen.c1 - later) - 1, high(rest))
}

/** @type {(context: Context, paper: Paper, view: MatrixView, notes: string[]) => void} */
export function paintAround(context, paper, view, notes) {
  paintSpans(context, paper, view.map.head, view.place, view.seen)
  blanks(context, paper, view)
  rowTokens(context, paper, view)
  columnTokens(context, paper, view)
  titles(context, paper, view)
  legend(context, paper, view, notes)
}

/**
 * What is chosen.
 * @type {(context: Context, paper: Paper, view: MatrixView) => void}
 */
export function paintChosen(context, paper, view) {
  const { map, now, place, seen } = view
  const row = now.r !== null && now.r >= seen.r0 && now.r < seen.r1
  const column = now.c !== null && now.c >= seen.c0 && now.c < seen.c1
  const [x, y] = [xOf(view, now.c ?? 0), yOf(view, now.r ?? 0)]
  const [cell, rowHeight] = [Math.max(3, place.cell), Math.max(3, place.rowHeight)]
  const out = map.head.rows.numbered && place.rowHeight < 8 ? 2 : 0 // around a low row, which it would hide
  if (row) ring(context, paper, place.left - out, y - out, place.w + 2 * out, rowHeight + 2 * out)
  if (row && column) ring(context, paper, x, y, cell, rowHeight)
  if (!column) return
  context.fillStyle = paper.one("text")
  const half = Math.max(2, place.cell / 2 - 2)
  context.fillRect(x + place.cell / 2 - half, place.top - 4, Math.max(4, place.cell - 4), 2)
}

/**
 * What is chosen, the frame that is drawn, and the row and the column of what is pointed at.
 * @param {Context} context
 * @param {Paper} paper
 * @param {MatrixView} view
 * @param {?Cell} pointed
 * @param {?{x: number, y: number, to?: {x: number, y: number}}} dragged
 */
export function paintOverMatrix(context, paper, view, pointed, dragged) {
  paintChosen(context, paper, view)
  if (dragged?.to) {
    const [x, y] = [Math.min(dragged.x, dragged.to.x), Math.min(dragged.y, dragged.to.y)]
    context.lineWidth = 1
    context.strokeStyle = paper.one("text")
    context.strokeRect(x + 0.5, y + 0.5, Math.abs(dragged.to.x - dragged.x), Math.abs(dragged.to.y - dragged.y))
  }
  if (pointed) crossing(context, paper, view.place, { x: xOf(view, pointed.c), y: yOf(view, pointed.r) })
}
