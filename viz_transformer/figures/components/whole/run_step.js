import { ring } from "../parts/marks.js"
import { mono, sans } from "../parts/text.js"
import { keptApart } from "../parts/whole_names.js"
import { laneOf, startOf } from "../parts/whole_places.js"
import {
  framed,
  frontIn,
  keysOf,
  lastBand,
  lastStack,
  lookedAt,
  markedBlock,
  namesIn,
  othersShare,
  readsOf,
  stackOf,
  thickOf,
  thickOfAll,
  walkedBlock,
} from "../parts/whole_run.js"
import { drawWay } from "./draw.js"
import { paintAnswer, paintBack, paintBars } from "./run_answer.js"
import { paintHeadings, paintLane, paintName, paintRibbons, paintShares, paintSigns, paintStrips } from "./run_rows.js"
import { LEAN, paintKeyName } from "./run_still.js"

/** @import { Context } from "../parts/types.js" */
/** @import { Band, Block } from "../parts/whole_places.js" */
/** @import { RunPlace } from "../parts/whole_run.js" */
/** @import { RunLook } from "./run_rows.js" */

// One step of a run as far as it has come, or the token that is looked at where nothing is written.

const STRONG = 0.9 // how strong the ribbons of what is looked at are
const VEIL = 0.92 // how much of what is not computed yet is hidden

/**
 * Whether a feed-forward had no room for its name.
 * @param {Context} context
 * @param {RunLook} look
 */
export function paintRunNow(context, look) {
  const { view, place } = look
  const band = lastBand(place)
  if (!view.writes()) {
    for (const each of place.bands) paintRead(context, look, each)
    return false
  }
  if (view.reading !== null) {
    paintVeil(context, look, place.bands[0], view.reading)
    return paintHeadings(context, look, band)
  }
  const isShort = paintStep(context, look, band)
  for (const paint of [paintBars, paintAnswer, paintBack]) paint(context, look, view.step(), view.flown)
  const marked = markedBlock(view, band)
  if (marked) paintOutline(context, look, band, marked)
  for (const each of place.bands) paintRings(context, look, each)
  paintHint(context, look)
  return isShort
}

/**
 * The row of this step up to its front.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
function paintStep(context, look, band) {
  const { view, place, paper } = look
  const row = view.rowAt(view.step())
  const front = frontIn(band, view.flown)
  context.fillStyle = paper.one("surface")
  context.fillRect(band.left, band.top + row * band.lane, Math.min(front, band.end) - band.left, band.lane)
  paintLane(context, look, band, row, Math.min(front, band.end))
  context.fillStyle = paper.one("surface")
  for (const { keys } of band.blocks)
    if (keys && front > keys.x)
      context.fillRect(keys.x, band.top + row * band.lane, Math.min(keys.width, front - keys.x), band.lane)
  paintName(context, look, band, row, { size: namesIn(place, band, []).size, strong: true })
  paintStrips(context, look, band, row, front)
  paintSigns(context, look, band, laneOf(band, row), front)
  paintShares(context, look, band, { row, ink: "text", front })
  const thick = thickOf(place, band)
  /** @type {[Block, number][]} */
  const rests = []
  for (const block of band.blocks) {
    if (!block.ribbon || front <= block.ribbon[0]) continue
    const grown = Math.min(1, (front - block.ribbon[0]) / (block.ribbon[1] - block.ribbon[0]))
    const rest = paintRibbons(context, look, band, block, row, { thick, alpha: STRONG, room: LEAN.one, grown })
    if (rest > 0 && grown >= 1) rests.push([block, rest])
  }
  const isShort = paintHeadings(context, look, band)
  for (const block of band.blocks) if (block.keys) paintTaken(context, look, band, block, front > block.keys.x)
  for (const [block, rest] of rests) paintOthers(context, look, band, block, { rest, y: laneOf(band, row) + thick / 2 })
  return isShort
}

/**
 * Of a run that writes nothing, what the token that is looked at takes, in each layer.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
function paintRead(context, look, band) {
  const { view, place } = look
  const stack = stackOf(view.head, band)
  const row = view.rowOf(stack)
  const style = { thick: thickOfAll(place, band), alpha: STRONG, room: LEAN.one }
  for (const block of band.blocks) if (block.ribbon) paintRibbons(context, look, band, block, row, style)
  for (const block of band.blocks) if (block.keys) paintTaken(context, look, band, block, true)
  const told = stack === lastStack(view.head) ? walkedBlock(view, band) : null
  const hovered = /** @type {?RunPlace} */ (view.hovered)
  const over = hovered?.block && hovered.band.name === band.name ? hovered.block : told
  if (over) paintOutline(context, look, band, over)
  paintRings(context, look, band)
  if (band === lastBand(place)) paintHint(context, look)
}

/**
 * Around the attention that is chosen.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
function paintRings(context, { view, paper }, band) {
  const { parts } = stackOf(view.head, band)
  for (const block of band.blocks)
    if (view.isChosen(parts[block.index])) ring(context, paper, ...framed(view, band, block))
}

/**
 * What of a band is not computed yet, while its text is read.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} part
 */
function paintVeil(context, { paper }, band, part) {
  const front = band.token.x + part * (band.end + 2 - band.token.x)
  context.globalAlpha = VEIL
  context.fillStyle = paper.one("page")
  context.fillRect(front, band.top - 2, band.end + 2 - front, band.bottom - band.top + 4)
  context.globalAlpha = 1
  context.strokeStyle = paper.one("source-ink")
  context.lineWidth = 2
  if (front < band.end)
    drawWay(context, [
      [front, band.top - 2],
      [front, band.bottom + 2],
    ])
}

/**
 * What a row takes of others than those that have a ribbon: below its own ribbons.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {Block} block
 * @param {{rest: number, y: number}} what
 */
function paintOthers(context, { place: { z }, paper }, band, { ribbon, keys }, { rest, y }) {
  if (!ribbon || (keys && readsOf(band).lane < 6 * z)) return // the names of what is read need its room
  const [x0, x1] = ribbon
  const text = othersShare(rest)
  context.font = sans(12 * z)
  const width = context.measureText(text).width
  if (width > x1 - x0 + (keys?.width ?? 12 * z)) return
  context.textAlign = "left"
  context.textBaseline = "top"
  context.fillStyle = paper.one("muted")
  const names = keys ? readsOf(band).top + readsOf(band).count * readsOf(band).lane : 0 // where they end
  const x = keys ? x1 - width : (x0 + x1 - width) / 2
  context.fillText(text, x, Math.max(names, y) + 2 * z)
}

/**
 * The names of the source tokens that a cross-attention takes most of, and of the one that is chosen there.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {Block} block
 * @param {boolean} reached
 */
function paintTaken(context, look, band, block, reached) {
  const { names: there, size, strong, own } = keysOf(look.view, look.place, band, block)
  const reads = readsOf(band)
  const { top, lane, count } = reads
  const keys = [...own].filter((key) => (reached && strong.has(key)) || there.has(key))
  const heights = keys.map((key) => laneOf(reads, key))
  const [from, to] = [top + size / 2, top + Math.max(size, lane * count) - size / 2]
  keptApart(heights, size, from, to).forEach((y, n) => {
    if (block.keys)
      paintKeyName(context, look, block.keys, keys[n], { y, size, strong: reached && strong.has(keys[n]) })
  })
}

/**
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {Block} block
 */
function paintOutline(context, { view, paper }, band, block) {
  context.strokeStyle = paper.one("text")
  context.lineWidth = 1.5
  context.strokeRect(...framed(view, band, block))
}

/**
 * Shape and length of what is looked at, in a box beside it.
 * @param {Context} context
 * @param {RunLook} look
 */
function paintHint(context, { view, place, paper }) {
  const found = lookedAt(view, place)
  if (!found || view.playing) return
  const { z, width, height } = place
  const { band, column, row, facts } = found
  context.font = mono(12 * z)
  const wide = Math.max(...facts.map((line) => context.measureText(line).width)) + 16 * z
  const tall = (facts.length * 17 + 8) * z
  const right = column.x + column.width + 8 * z
  const x = right + wide <= width ? right : startOf(column) - wide - 8 * z
  const y = Math.max(0, Math.min(laneOf(band, row) - tall / 2, height - tall))
  context.fillStyle = paper.one("page")
  context.fillRect(x, y, wide, tall)
  context.strokeStyle = paper.one("muted")
  context.lineWidth = 1
  context.strokeRect(x, y, wide, tall)
  context.fillStyle = paper.one("text")
  context.textAlign = "left"
  context.textBaseline = "middle"
  facts.forEach((line, n) => context.fillText(line, x + 8 * z, y + (4 + 17 * (n + 0.5)) * z))
}
