/** @import { Scale } from "./colours.js" */
/** @import { Context } from "./types.js" */

// What the colours of a map mean.

/**
 * A scale from its first to its last colour, `length` pixels from x on, its middle at y.
 * @param {Context} context
 * @param {Scale} scale
 * @param {number} x
 * @param {number} y
 * @param {number} length
 * @param {number} z
 */
export function ramp(context, scale, x, y, length, z) {
  for (let i = 0; i < length; i++) {
    context.fillStyle = scale.css(i / (length - 1))
    context.fillRect(x + i, y - 4 * z, 1.5, 8 * z)
  }
}
