import { isolated, mono, onOneLine, sans, shorten } from "../parts/text.js"
import { laneOf } from "../parts/whole_places.js"
import {
  isCrowded,
  keysOf,
  lastBand,
  NAME,
  namesIn,
  readsOf,
  stackOf,
  strongestOf,
  thickOfAll,
} from "../parts/whole_run.js"
import { drawWay, say } from "./draw.js"
import {
  LINED,
  paintHeadings,
  paintLane,
  paintName,
  paintOutlines,
  paintRibbons,
  paintRows,
  paintSigns,
  SIGNED,
} from "./run_rows.js"

/** @import { Context } from "../parts/types.js" */
/** @import { Band, Column } from "../parts/whole_places.js" */
/** @import { RunLook } from "./run_rows.js" */

// What a step leaves as it is: the encoder, and faint what earlier steps have kept and later ones will.

const PAST = 0.3 // how strong the steps before this one are
const LATER = 0.5 // how strong the names of the tokens behind this step are
/** Of the ribbons' room is what all of a row take where they are steep. */
export const LEAN = { all: 0.25, one: 0.5 }

/**
 * Whether a feed-forward had no room for its name.
 * @param {Context} context
 * @param {RunLook} look
 */
export function paintRunStill(context, look) {
  const { view, place } = look
  let isShort = false
  for (const band of place.bands) {
    paintOutlines(context, look, band)
    if (band.name === "decoder" && view.writes()) paintWritten(context, look, band)
    else if (paintAll(context, look, band)) isShort = true
  }
  paintMemory(context, look)
  return isShort
}

/**
 * A stack whose tokens are all there at the same time.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
function paintAll(context, look, band) {
  const { view, place } = look
  const stack = stackOf(view.head, band)
  const isShort = paintHeadings(context, look, band)
  const chosen = view.writes() ? -1 : view.rowOf(stack) // where nothing is written, one token is looked at
  const first = view.writes() ? [view.chosen[stack.field] ?? 0] : [chosen, ...strongestOf(view, band, chosen)]
  const names = namesIn(place, band, first)
  paintRows(context, look, band, band.count, { ...names, chosen })
  if (view.head.text && place.answer && isCrowded(place, band)) paintText(context, look)
  if (band.lane < SIGNED * place.z) paintSigns(context, look, band, band.top + (band.count * band.lane) / 2)
  const style = { thick: thickOfAll(place, band), alpha: chosen < 0 ? 0.5 : 0.2, room: LEAN.all }
  for (const block of band.blocks)
    if (block.ribbon)
      for (let row = 0; row < band.count; row++)
        if (row !== chosen) paintRibbons(context, look, band, block, row, style)
  return isShort
}

/**
 * The rows of the steps before this one, and the names of those behind it, so that nothing moves when they come.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
function paintWritten(context, look, band) {
  const { view, place } = look
  const row = view.rowAt(view.step())
  const { size, named } = namesIn(place, band, [row, ...strongestOf(view, band, row)])
  context.globalAlpha = PAST
  paintRows(context, look, band, row, { size, named })
  context.globalAlpha = LATER
  for (let next = row + 1; next < band.count; next++) {
    if (band.lane >= LINED) paintLane(context, look, band, next)
    if (named.has(next) && !view.playing) paintName(context, look, band, next, { size, strong: false })
  }
  context.globalAlpha = 1
}

/**
 * The whole text, where not every token has its name beside its lane: above the answer.
 * @param {Context} context
 * @param {RunLook} look
 */
function paintText(context, { view, place, paper }) {
  const { answer, z } = place
  if (!answer) return
  const y = answer.y - 2 * z
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  context.font = sans(14 * z, 600)
  context.fillStyle = paper.one("source-ink")
  context.fillText("the text", answer.x, y)
  const from = answer.x + context.measureText("the answer").width + 14 * z
  context.font = mono(NAME * z)
  context.fillStyle = paper.one("text")
  const room = answer.x + answer.width - from
  context.fillText(isolated(shorten(context, onOneLine(view.head.text), room)), from, y)
}

/**
 * The way of what the encoder has computed to where it is read, and the names of what can be read there.
 * @param {Context} context
 * @param {RunLook} look
 */
function paintMemory(context, look) {
  const { view, place, paper } = look
  const band = lastBand(place)
  if (view.reading !== null || !band.reads) return
  context.strokeStyle = paper.one("muted")
  context.lineWidth = 1
  for (const way of place.memory) drawWay(context, way, 5 * place.z)
  const [x, y] = place.memory.at(-1)?.[1] ?? [0, 0]
  const size = 12 * place.z
  if (place.beside && place.memory.length)
    say(context, "memory", x - 6 * place.z, y - 1, { size, colour: paper.one("muted"), align: "right" })
  for (const block of band.blocks) {
    if (!block.keys) continue
    context.fillStyle = paper.one("page")
    context.fillRect(block.keys.x, band.top - 1, block.keys.width, band.count * band.lane + 2)
    const { names: there, size, own } = keysOf(view, place, band, block)
    for (const key of there) {
      const y = laneOf(readsOf(band), key)
      if (!own.has(key)) paintKeyName(context, look, block.keys, key, { y, size, strong: false })
    }
  }
}

/**
 * The name of a token that is read, in front of the ribbons that begin there.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Column} keys
 * @param {number} key
 * @param {{y: number, size: number, strong: boolean}} type
 */
export function paintKeyName(context, { view, place, paper }, keys, key, { y, size, strong }) {
  const { tokens, ink, padded } = stackOf(view.head, place.bands[0])
  context.font = mono(size, strong ? 600 : 400)
  const room = keys.width - 3 * place.z
  const text = shorten(context, tokens[key].text, room)
  if (text === "…") return
  if (strong) {
    context.fillStyle = paper.one("page")
    context.fillRect(keys.x, y - size / 2, room, size)
  }
  context.textAlign = "right"
  context.textBaseline = "middle"
  context.fillStyle = paper.one(strong && !padded.includes(key) ? ink : "muted")
  context.fillText(isolated(text), keys.x + room, y)
}
