import { besideRow, overColumn, tokenInk } from "./axis_labels.js"
import { hasLabel, rowLabels } from "./cells.js"
import { crossing, hatch, ring } from "./marks.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Cell } from "./cells.js" */
/** @import { Paper } from "./colours.js" */
/** @import { Placed } from "./masks_places.js" */
/** @import { Masks } from "./toggled_cells.js" */
/** @import { Context, MasksHeader } from "./types.js" */

// Four masks as they are drawn.

/**
 * `names` is the room of the rows' names, `notes` the lines below each title.
 * @typedef {Placed & {z: number, width: number, names: number, notes: string[][], isStacked: boolean, upright: boolean,
 *   size: number, tall: number, every: number}} MasksPlace
 */
/**
 * @typedef {{head: MasksHeader, masks: Masks, rows: number, columns: number, place: MasksPlace,
 *   chosen: {r: ?number, c: ?number}}} MasksView
 */
/** @typedef {(context: Context, x: number, y: number, w: number, h: number) => void} DrawBox */

const HATCH = 5
const CLOSED = 0.7 // of the hatch's ink: closed cells are seen in both themes, and open ones first
const SIGNS = ["and", "=", "→"] // behind each mask
const DOWN = ["and", "=", "↓"] // where they are below each other
const CHANGED = "changed by you: a click on the right mask opens or closes a cell"
export const BEFORE = 2
export const AFTER = 3
export const SMALL = [0, 1]
export const LARGE = [BEFORE, AFTER]
export const PANELS = [...SMALL, ...LARGE]

/** @type {(place: MasksPlace, panel: number, c: number) => number} */
export const maskX = ({ masks }, panel, c) => masks[panel].left + c * masks[panel].cell
/** @type {(place: MasksPlace, panel: number, r: number) => number} */
export const maskY = ({ masks }, panel, r) => masks[panel].top + r * masks[panel].rowHeight

/** @type {(colour: string) => DrawBox} */
const filled = (colour) => (context, x, y, w, h) => {
  context.fillStyle = colour
  context.fillRect(x, y, w, h)
}

/**
 * A closed box; its pattern begins where x + y is a multiple of its step, in all boxes alike.
 * @type {(paper: Paper) => DrawBox}
 */
const closed = (paper) => (context, x, y, w, h) => {
  filled(paper.one("surface"))(context, x, y, w, h)
  context.strokeStyle = paper.one("muted")
  context.globalAlpha = CLOSED
  hatch(context, x, y, w, h, HATCH, HATCH - ((x + y) % HATCH))
  context.globalAlpha = 1
}

/**
 * The cells of a mask, on pixels of which there are `ratio` to one: no seams where they are smaller.
 * @type {(context: Context, paper: Paper, view: MasksView, panel: number, ratio: number) => void}
 */
export function paintMask(context, paper, { head, masks, rows, columns, place }, panel, ratio) {
  const { cell, rowHeight } = place.masks[panel]
  const gap = Math.min(cell, rowHeight) >= 5 ? 1 : 0
  const [open, page] = [paper.scale(head.kind).css(0.5), paper.one("page")]
  const snap = (/** @type {number} */ value) => Math.round(value * ratio) / ratio
  const at = (/** @type {number} */ n) => snap(maskX(place, panel, n))
  const down = (/** @type {number} */ n) => snap(maskY(place, panel, n))
  const [left, top] = [at(0), down(0)]
  const [wide, high] = [at(columns) - left, down(rows) - top]
  closed(paper)(context, left, top, wide - gap, high - gap)
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const [x, y] = [at(c), down(r)]
      const [w, h] = [at(c + 1) - x - gap, down(r + 1) - y - gap]
      const isOpen = masks.open[panel](r, c)
      if (isOpen) filled(open)(context, x, y, w, h)
      if (gap) {
        filled(page)(context, x + w, y, gap, h + gap)
        filled(page)(context, x, y + h, w + gap, gap)
      }
      if (panel !== AFTER || !masks.changed(r, c)) continue
      const side = Math.max(3, Math.min(w, h) * 0.36)
      const [u, v] = [x + (w - side) / 2, y + (h - side) / 2]
      filled(paper.one("text"))(context, u - 1, v - 1, side + 2, side + 2)
      filled(isOpen ? open : page)(context, u + 1, v + 1, side - 2, side - 2)
    }
  context.lineWidth = 1
  context.strokeStyle = paper.one("line")
  context.strokeRect(left - 0.5, top - 0.5, wide + 1 - gap, high + 1 - gap)
}

/** @type {(context: Context, paper: Paper, view: MasksView) => void} */
export function paintMaskTokens(context, paper, { head, rows, columns, place, chosen }) {
  const { z, names, upright, size, tall } = place
  const { cell, rowHeight, left } = place.masks[BEFORE]
  const look = rowLabels(rowHeight, z)
  for (const panel of place.isStacked ? LARGE : [BEFORE])
    for (let r = 0; r < rows; r++) {
      if (!hasLabel(r, look.every, chosen.r)) continue
      const { text, note, special } = head.rows.tokens[r]
      const at = { x: left - 8, y: maskY(place, panel, r) + rowHeight / 2, left: true, room: names - 12 }
      const token = { text: note ?? text, special }
      besideRow(context, paper, token, { ...at, size: look.size, bold: r === chosen.r, ink: head.rows.ink })
    }
  for (const panel of LARGE)
    for (let c = 0; c < columns; c++) {
      if (!hasLabel(c, place.every, chosen.c)) continue
      const token = head.columns.tokens[c]
      const { top } = place.masks[panel]
      context.font = mono(size, c === chosen.c ? 600 : 400)
      context.fillStyle = tokenInk(paper, token, head.columns.ink)
      const [y, room] = upright ? [top - 6, tall - 4] : [top - 11 * z, cell]
      overColumn(context, token.note ?? token.text, { upright, x: maskX(place, panel, c) + cell / 2, y, room })
    }
}

/** @type {(context: Context, paper: Paper, view: MasksView, onPaper: boolean) => void} */
export function paintMaskTitles(context, paper, { head, place }, onPaper) {
  const { z, isStacked } = place
  head.panels.forEach(({ title }, panel) => {
    const { left: x, head: up, room } = place.masks[panel]
    context.textBaseline = "alphabetic"
    context.textAlign = "left"
    context.font = sans(16 * z, 600)
    context.fillStyle = paper.one("text")
    context.fillText(shorten(context, title, room), x, up + 16 * z)
    context.font = sans(13 * z)
    context.fillStyle = paper.one("muted")
    for (const [n, line] of place.notes[panel].entries()) context.fillText(line, x, up + (34 + 17 * n) * z)
    if (panel === AFTER) return
    context.font = sans(15 * z, 600)
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.fillText((isStacked ? DOWN : SIGNS)[panel], place.signs[panel].x, place.signs[panel].y)
  })
  paintKeys(context, paper, head.kind, place, onPaper)
}

/**
 * What the boxes mean, from the left, in two lines where one has no room.
 * @type {(context: Context, paper: Paper, kind: string, place: MasksPlace, onPaper: boolean) => void}
 */
function paintKeys(context, paper, kind, { z, width, height, isStacked }, onPaper) {
  /** @type {DrawBox} */
  const changed = (context, x, y, w, h) => {
    context.strokeStyle = paper.one("text")
    context.lineWidth = 2
    context.strokeRect(x + w / 2 - 4 * z, y + h / 2 - 4 * z, 8 * z, 8 * z)
  }
  /** @type {[DrawBox, string][]} */
  const keys = [
    [filled(paper.scale(kind).css(0.5)), "open: may attend"],
    [closed(paper), "closed"],
    [changed, width > 720 * z && !onPaper ? CHANGED : "changed by a click"], // on paper nothing is clicked
  ]
  context.textBaseline = "middle"
  context.textAlign = "left"
  context.font = sans(13 * z)
  let [x, y] = [8, height - (isStacked ? 38 : 16) * z]
  for (const [draw, text] of keys) {
    const wide = context.measureText(text).width
    if (x > 8 && x + 20 * z + wide > width) [x, y] = [8, y + 22 * z]
    draw(context, x, y - 6 * z, 14 * z, 12 * z)
    context.fillStyle = paper.one("muted")
    context.fillText(text, x + 20 * z, y)
    x += 36 * z + wide
  }
}

/**
 * What is chosen, in all four.
 * @type {(context: Context, paper: Paper, view: MasksView) => void}
 */
export function paintMaskChoice(context, paper, { place, chosen: { r, c } }) {
  for (const panel of PANELS) {
    const { cell, rowHeight, top } = place.masks[panel]
    const [x, y] = [maskX(place, panel, c ?? 0), maskY(place, panel, r ?? 0)]
    if (r !== null && c !== null && LARGE.includes(panel))
      ring(context, paper, x, y, Math.max(4, cell), Math.max(4, rowHeight))
    context.fillStyle = paper.one("text")
    if (c !== null) context.fillRect(x + 1, top - 4, Math.max(3, cell - 3), 2)
    if (r !== null) context.fillRect(maskX(place, panel, 0) - 5, y + 1, 2, Math.max(3, rowHeight - 3))
  }
}

/**
 * The row and the column that is pointed at, in all four.
 * @type {(context: Context, paper: Paper, view: MasksView, at: Cell) => void}
 */
export function paintMaskCrossings(context, paper, { rows, columns, place }, { r, c }) {
  for (const panel of PANELS) {
    const mask = place.masks[panel]
    const sides = { ...mask, w: mask.cell * columns, h: mask.rowHeight * rows }
    crossing(context, paper, sides, { x: maskX(place, panel, c), y: maskY(place, panel, r) })
  }
}
