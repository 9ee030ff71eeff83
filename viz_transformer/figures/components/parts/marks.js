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
