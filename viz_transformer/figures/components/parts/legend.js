import { dotted } from "./marks.js"
import { sans, shorten } from "./text.js"

/** @import { Paper, Scale } from "./colours.js" */
/** @import { Context } from "./types.js" */

// What the colours of a map mean.

/** @type {[word: string, text: string, title: string][]} */
export const SCALES = [
  ["fixed", "0–1", "Full colour is weight 1"],
  ["row", "row", "Full colour is the largest weight of each row"],
  ["map", "map", "Full colour is the largest weight of the map"],
]

/**
 * A unit in as few words as it has.
 * @param {string} unit
 */
export const brief = (unit) => unit.replace(/^attention weight$/, "weight")

/**
 * What a legend says in `width` pixels: the unit and all notes, with "attention weight" called "weight" and of notes what
 * stands before their colon where that fits them in, and without the last notes where it does not.
 * @param {Pick<Context, "measureText">} context
 * @param {string} unit
 * @param {readonly string[]} notes
 * @param {number} width
 * @returns {string}
 */
export function unitAndNotes(context, unit, notes, width, between = ", ") {
  const [whole, briefer] = [unit, brief(unit)].map((name) => [name, ...notes].join(between))
  const briefest = [brief(unit), ...notes.map((note) => note.split(":")[0])].join(between)
  const fitting = [whole, briefer, briefest].find((text) => context.measureText(text).width <= width)
  return (
    fitting ??
    (notes.length
      ? unitAndNotes(context, unit, notes.slice(0, -1), width, between)
      : shorten(context, brief(unit), width))
  )
}

/**
 * What the dots of a picture mean, at x, its middle at y; returns where it ends. Nothing where there are none.
 * @param {Context} context
 * @param {Pick<Paper, "one">} paper
 * @param {string} what what is dotted, as notFinite says it
 * @param {number} x
 * @param {number} y
 * @param {number} z
 */
export function dotsNote(context, paper, what, x, y, z) {
  if (!what) return x
  dotted(context, paper, x, y - 6 * z, 20 * z, 12 * z)
  context.font = sans(13 * z)
  context.fillStyle = paper.one("muted")
  context.fillText(what, x + 26 * z, y)
  return x + 42 * z + context.measureText(what).width
}

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

/**
 * What the two tones of a picture of yes and no mean, side by side from x on, their middle at y; and what else is said.
 * @param {Context} context
 * @param {Paper} paper
 * @param {{x: number, y: number, z: number}} at
 * @param {{scale: string, names?: [string, string], notes?: string[]}} said
 */
export function twoTones(context, paper, { x, y, z }, { scale, names = ["", ""], notes = [] }) {
  const palette = paper.scale(scale)
  context.font = sans(13 * z)
  context.textBaseline = "middle"
  context.textAlign = "left"
  let at = x
  for (const [tone, text] of [
    [1 / 1.2, names[1]],
    [0, names[0]],
    ...notes.map((note) => /** @type {[null, string]} */ ([null, note])),
  ]) {
    if (typeof tone === "number") {
      context.fillStyle = palette.css(tone)
      context.fillRect(at, y - 6 * z, 20 * z, 12 * z)
      context.lineWidth = 1
      context.strokeStyle = paper.one("line")
      context.strokeRect(at + 0.5, y - 6 * z + 0.5, 20 * z - 1, 12 * z - 1)
      at += 26 * z
    }
    context.fillStyle = paper.one("muted")
    context.fillText(String(text), at, y)
    at += context.measureText(String(text)).width + 16 * z
  }
}
