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
