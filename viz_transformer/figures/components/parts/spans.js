import { HATCH_EVERY, hatch } from "./marks.js"

/** @import { Paper } from "./colours.js" */
/** @import { Axis, Context, Span } from "./types.js" */

// Neighbouring places of an axis that are pointed out: by a bar beside the cells, a mark of a colour above them, or lines
// over them.

/** The room above the cells that marks of columns need, in pixels. */
const ROOM = 16
/**
 * @param {Axis} columns
 * @param {number} z
 */
export const roomAbove = (columns, z) => (columns.spans?.length ? ROOM * z : 0)

/**
 * @param {Span} span
 * @param {number} first the places that are seen: from this
 * @param {number} behind to that before this
 * @returns {?[number, number]}
 */
const seenOf = ({ start, end }, first, behind) => {
  const [from, to] = [Math.max(start, first), Math.min(end, behind)]
  return from < to ? [from, to] : null
}

/**
 * All spans of the rows and the columns. `cells` says where the cells are, and how large each is.
 * @param {Context} context
 * @param {Paper} paper
 * @param {{rows: Axis, columns: Axis}} axes
 * @param {{z: number, left: number, top: number, w: number, h: number, cell: number, rowHeight: number}} cells
 * @param {{r0: number, r1: number, c0: number, c1: number}} seen
 */
export function paintSpans(
  context,
  paper,
  { rows, columns },
  { z, left, top, w, h, cell, rowHeight },
  { r0, r1, c0, c1 },
) {
  for (const span of rows.spans ?? []) {
    const part = seenOf(span, r0, r1)
    if (!part) continue
    const [y, tall] = [top + (part[0] - r0) * rowHeight, (part[1] - part[0]) * rowHeight]
    if (span.look === "hatched") hatchOver(context, paper, left, y, w, tall)
    else box(context, paper, span, left - 5 * z, y, 3 * z, tall)
  }
  for (const span of columns.spans ?? []) {
    const part = seenOf(span, c0, c1)
    if (!part) continue
    const [x, wide] = [left + (part[0] - c0) * cell, (part[1] - part[0]) * cell]
    if (span.look === "hatched") hatchOver(context, paper, x, top, wide, h)
    else {
      const thick = span.look === "mark" ? Math.min(3 * z, wide) : wide // two marks may be neighbours
      box(context, paper, span, x + (wide - thick) / 2, top - ROOM * z, thick, 12 * z)
    }
  }
}

/**
 * @param {Context} context
 * @param {Paper} paper
 * @param {Span} span
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function box(context, paper, span, x, y, width, height) {
  context.fillStyle = paper.one(span.ink)
  context.fillRect(x, y, width, height)
}

/**
 * @param {Context} context
 * @param {Paper} paper
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
function hatchOver(context, paper, x, y, width, height) {
  context.lineWidth = 1
  context.strokeStyle = paper.one("muted")
  hatch(context, x, y, width, height, HATCH_EVERY)
  context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
}

/**
 * What is said of a span below the picture.
 * @param {Span} span
 */
const noteOf = ({ look, text }) => (look === "hatched" ? `${text} (hatched)` : look === "bar" ? `▌${text}` : text)
/**
 * @param {{rows: Axis, columns: Axis}} axes
 * @returns {string[]}
 */
export const spanNotes = ({ rows, columns }) =>
  [...(rows.spans ?? []), ...(columns.spans ?? [])].filter(({ text }) => text).map(noteOf)

/**
 * What the lines over a place mean, "" where there are none.
 * @param {Axis} axis
 * @param {number} place
 */
export const hatchedAs = (axis, place) =>
  axis.spans?.find(({ look, start, end }) => look === "hatched" && start <= place && place < end)?.text ?? ""
