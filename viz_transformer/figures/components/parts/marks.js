/** @import { Paper } from "./colours.js" */
/** @import { Context } from "./types.js" */

// Marks that are drawn on maps and bars.

/**
 * A frame of two colours around a box, seen on every ground.
 * @param {Context} context
 * @param {Paper} paper
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function ring(context, paper, x, y, width, height) {
  context.lineWidth = 2
  context.strokeStyle = paper.one("page")
  context.strokeRect(x + 1, y + 1, width - 2, height - 2)
  context.strokeStyle = paper.one("text")
  context.strokeRect(x - 1, y - 1, width + 2, height + 2)
}

/**
 * Frames around the row and the column, in a map of w x h pixels, of a cell at x, y.
 * @param {Pick<Context, "lineWidth" | "strokeStyle" | "strokeRect">} context
 * @param {Pick<Paper, "one">} paper
 * @param {{left: number, top: number, w: number, h: number, cell: number, rowHeight: number}} map
 * @param {{x: number, y: number}} at
 */
export function crossing(context, paper, { left, top, w, h, cell, rowHeight }, { x, y }) {
  context.lineWidth = 1
  context.strokeStyle = paper.one("muted")
  context.strokeRect(left + 0.5, y + 0.5, w - 1, Math.max(2, rowHeight - 1))
  context.strokeRect(x + 0.5, top + 0.5, Math.max(2, cell - 1), h - 1)
}

/** How far from each other the lines of what is masked are, in pixels. */
export const HATCH_EVERY = 5
/** How far from each other the dots of what is not a number are, and how large, in pixels; shading.css has it too. */
export const DOT_EVERY = 5
export const DOT = 2
/**
 * A box of what is not a number: dots, which neither 0 nor what is masked has.
 * @param {Pick<Context, "fillStyle" | "fillRect">} context
 * @param {Pick<Paper, "one">} paper
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function dotted(context, paper, x, y, width, height) {
  context.fillStyle = paper.one("no-number")
  context.fillRect(x, y, width, height)
  context.fillStyle = paper.one("no-number-dot")
  const [first, from] = [x, y].map((edge) => Math.ceil((edge - DOT + 0.01) / DOT_EVERY) * DOT_EVERY) // one grid for all
  for (let v = from; v < y + height; v += DOT_EVERY)
    for (let u = first; u < x + width; u += DOT_EVERY) {
      const [left, top] = [Math.max(u, x), Math.max(v, y)]
      const [wide, high] = [Math.min(u + DOT, x + width) - left, Math.min(v + DOT, y + height) - top]
      if (wide > 0 && high > 0) context.fillRect(left, top, wide, high)
    }
}

/**
 * A box in a colour, or with dots where it has none: it is of what is not a number.
 * @param {Pick<Context, "fillStyle" | "fillRect">} context
 * @param {Pick<Paper, "one">} paper
 * @param {?string} colour
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function paintCell(context, paper, colour, x, y, width, height) {
  if (colour === null) {
    dotted(context, paper, x, y, width, height)
    return
  }
  context.fillStyle = colour
  context.fillRect(x, y, width, height)
}

/**
 * Lines of 45 degrees in a box, in the context's colour: one every `step`, the first so far from the corner as `first` says.
 * @param {Pick<Context, "lineWidth" | "beginPath" | "moveTo" | "lineTo" | "stroke">} context
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 * @param {number} step
 */
export function hatch(context, x, y, width, height, step, first = step) {
  context.lineWidth = 1
  context.beginPath()
  for (let d = first; d < width + height; d += step) {
    context.moveTo(x + Math.max(0, d - height), y + Math.min(d, height))
    context.lineTo(x + Math.min(d, width), y + Math.max(0, d - width))
  }
  context.stroke()
}
