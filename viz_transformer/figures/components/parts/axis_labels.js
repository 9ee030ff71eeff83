import { isolated, mono, shorten } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { Context, Token } from "./types.js" */

// The tokens along the sides of a map.

/** @type {(paper: Paper, token: Token, ink: string) => string} */
export const tokenInk = (paper, token, ink) => paper.one(token.special ? "muted" : ink)

/**
 * A text over a column, turned where it has no room: it begins at y, or stands there. `behind` is drawn after what was kept.
 * @param {Context} context
 * @param {string} text
 * @param {{upright: boolean, x: number, y: number, room: number}} at
 * @param {(kept: string) => void} [behind]
 */
export function overColumn(context, text, { upright, x, y, room }, behind) {
  const kept = isolated(shorten(context, text, room))
  if (!upright) {
    context.textAlign = "center"
    context.fillText(kept, x, y)
    return
  }
  context.save()
  context.translate(x, y)
  context.rotate(-Math.PI / 2)
  context.textAlign = "left"
  context.fillText(kept, 0, 0)
  behind?.(kept)
  context.restore()
}

/**
 * A token beside a row, at the left of x or at the right: what was typed, and smaller behind it what is read.
 * @param {Context} context
 * @param {Paper} paper
 * @param {Token} token
 * @param {{x: number, y: number, size: number, bold: boolean, ink: string, left: boolean, room: number}} look
 */
export function besideRow(context, paper, token, { x, y, size, bold, ink, left, room }) {
  context.font = mono(size, bold ? 600 : 400)
  context.textAlign = left ? "right" : "left"
  context.textBaseline = "middle"
  context.fillStyle = tokenInk(paper, token, ink)
  if (token.note === undefined) {
    context.fillText(isolated(shorten(context, token.text, room)), x, y)
    return
  }
  const typed = isolated(shorten(context, token.note, room * 0.7))
  const half = context.measureText(typed).width + 5
  context.fillText(typed, x, y)
  context.font = mono(size * 0.66)
  context.fillStyle = paper.one("muted")
  context.fillText(isolated(shorten(context, token.text, room - half)), x + (left ? -half : half), y)
}
