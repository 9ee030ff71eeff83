import { dotted } from "../parts/marks.js"
import { isolated, mono, sans, shorten } from "../parts/text.js"
import { placeHeadings, SHORT_FEED_FORWARD } from "../parts/whole_headings.js"
import { laneOf } from "../parts/whole_places.js"
import { isUnknown, ribbonsOf, strongestIn } from "../parts/whole_rows.js"
import { stackOf } from "../parts/whole_run.js"
import { LEAST } from "../parts/whole_words.js"
import { drawCells, drawRibbon, drawStrip, drawWay, signedLevels } from "./draw.js"

/** @import { Paper } from "../parts/colours.js" */
/** @import { Context, WholePart } from "../parts/types.js" */
/** @import { Band, Block, Column, Lanes, Whole } from "../parts/whole_places.js" */
/** @import { WholeView } from "./view.js" */

// The rows of a stack in the whole run: names, strips, what is taken from other rows and what each sub-layer adds.

/** What a run is drawn from: where everything is, and the end of the scale of each column of strips.
 * @typedef {{view: WholeView, place: Whole, paper: Paper, most: Record<string, number[]>}} RunLook */
/** How the ribbons of a row are drawn: `thick` is the width of all of them, `room` what they have of it where they are
 * steep, `grown` how much of them is there.
 * @typedef {{thick: number, alpha: number, room: number, grown?: number}} RibbonStyle */

const THINNEST_RIBBON = 0.7 // pixels
const EARLIER = 0.75 // how strong the names of the steps before this one are
export const SIGNED = 7 // lanes from here on have signs of their own
const HALF_SIGN = 3
export const LINED = 3 // lanes that are lower, in pixels, have no line: it would cover them

/**
 * The strips of one row of a band, those that begin left of the front.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} row
 */
export function paintStrips(context, { view, paper, most }, band, row, front = Infinity) {
  const count = view.samples()
  const [y, height] = [band.top + row * band.lane + 0.5, Math.max(1, band.lane - 1)]
  const { arrays } = view
  const stream = arrays[`stream.${band.name}`]
  const [, rows] = stream.shape
  const one = (/** @type {string} */ name, /** @type {?Column} */ column) => {
    if (!column || column.x > front) return
    const vector = { from: row * count, count, largest: most[name][0] }
    drawStrip(context, paper, { x: column.x, width: column.width, y, height }, arrays[name].values, vector)
  }
  if (band.position) one(`token.${band.name}`, band.token)
  one(`position.${band.name}`, band.position)
  for (const { x, width, point } of band.strips) {
    if (x > front) continue
    const vector = { from: (point * rows + row) * count, count, largest: most[`stream.${band.name}`][point] }
    drawStrip(context, paper, { x, width, y, height }, stream.values, vector)
  }
}

/**
 * Between the strips of a token, of its position and of what is their sum, a plus and an equals sign.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} y
 */
export function paintSigns(context, { place, paper }, band, y, front = Infinity) {
  if (!band.signs || !band.position) return
  const [plus, equals] = band.signs
  const r = HALF_SIGN * place.z
  const dash = (/** @type {number} */ x, /** @type {number} */ y) =>
    drawWay(context, [
      [x - r, y],
      [x + r, y],
    ])
  context.strokeStyle = paper.one("muted")
  context.lineWidth = place.z
  if (front < band.position.x) return
  dash(plus, y)
  drawWay(context, [
    [plus, y - r],
    [plus, y + r],
  ])
  if (front < band.strips[0].x) return
  dash(equals, y - r / 2)
  dash(equals, y + r / 2)
}

/**
 * The strips of the first rows of a band whose lanes are lower than a line and what is beside it.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} rows
 */
function paintAllStrips(context, { view, paper, most }, band, rows) {
  const count = view.samples()
  const ink = paper.scale("diverging")
  const one = (
    /** @type {string} */ name,
    /** @type {?Column} */ column,
    /** @type {number} */ point,
    /** @type {number} */ largest,
  ) => {
    if (!column) return
    const { values, shape } = view.arrays[name]
    const from = point * (shape.length === 3 ? shape[1] : 0) * count
    const { x, width } = column
    const box = { x, width, y: band.top, height: rows * band.lane, rows, columns: count }
    drawCells(context, paper, box, ink, signedLevels(values, from, rows * count, largest), 0.5)
  }
  const [token, position] = [`token.${band.name}`, `position.${band.name}`]
  if (band.position) one(token, band.token, 0, most[token]?.[0])
  one(position, band.position, 0, most[position]?.[0])
  const stream = `stream.${band.name}`
  for (const column of band.strips) one(stream, column, column.point, most[stream][column.point])
}

/**
 * What each sub-layer adds at one row.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {{row: number, ink: string, front?: number}} what
 */
export function paintShares(context, { view, paper }, band, { row, ink, front = Infinity }) {
  const { values, shape } = view.arrays[`share.${band.name}`]
  const height = Math.max(1, band.lane - 2)
  const colour = paper.one(ink)
  context.fillStyle = colour
  for (const block of band.blocks) {
    if (block.x > front) continue
    const share = values[block.index * shape[1] + row]
    const [x, y] = [block.x, band.top + row * band.lane + 1]
    if (share > 0) context.fillRect(x, y, block.width * share, height)
    if (!Number.isNaN(share)) continue
    dotted(context, paper, x, y, block.width, height)
    context.fillStyle = colour
  }
}

/**
 * The name of a row's token beside its lane.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} row
 * @param {{size: number, strong: boolean}} type
 */
export function paintName(context, { view, paper }, band, row, { size, strong }) {
  const { tokens, ink, padded } = stackOf(view.head, band)
  context.font = mono(size, strong ? 600 : 400)
  context.textAlign = "right"
  context.textBaseline = "middle"
  context.fillStyle = paper.one(padded.includes(row) ? "muted" : ink)
  const text = isolated(shorten(context, tokens[row].text, band.label.width))
  context.fillText(text, band.label.x + band.label.width, laneOf(band, row))
}

/**
 * What one row takes from the others in one attention, as wide as its weights.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {Block} block
 * @param {number} row
 * @param {RibbonStyle} style
 */
export function paintRibbons(context, { view, paper }, band, block, row, { thick, alpha, room, grown = 1 }) {
  if (!block.ribbon) return 0
  const columns = block.ribbon
  const part = stackOf(view.head, band).parts[block.index]
  const keys = /** @type {Lanes} */ (part.kind === "cross" ? band.reads : band)
  const weights = strongestIn(view.arrays, /** @type {string} */ (part.kind), part.layer, row)
  const { ribbons: found, rest, restAt } = ribbonsOf(weights, LEAST)
  const [x0, x1] = columns
  const y = laneOf(band, row)
  if (isUnknown(weights)) {
    const tall = Math.min(thick, Math.max(1, band.lane - 1))
    dotted(context, paper, x0, y - tall / 2, (x1 - x0) * grown, tall)
  }
  const lean = Math.min(1, (room * (x1 - x0)) / thick)
  const draw = (
    /** @type {number} */ from,
    /** @type {number} */ at,
    /** @type {number} */ share,
    /** @type {number} */ opacity,
  ) => {
    context.globalAlpha = opacity
    const width = Math.max(THINNEST_RIBBON, share * thick)
    drawRibbon(context, columns, [from, y + at * thick], { width, lean, grown })
  }
  context.fillStyle = paper.one(`${inkOf(view, part)}-4`)
  for (const { key, weight, at } of found) draw(laneOf(keys, key), at, weight, alpha)
  if (rest > 0) {
    context.fillStyle = paper.one("line")
    const last = part.kind === "cross" || band.name !== "decoder" ? keys.count - 1 : row
    draw((laneOf(keys, 0) + laneOf(keys, last)) / 2, restAt, rest, alpha * 0.8)
  }
  context.globalAlpha = 1
  return rest
}

/** @param {WholeView} view @param {WholePart} part */
const inkOf = ({ head }, part) => (head.head === null ? "derived" : part.kind)

/**
 * The outlines of a band's sub-layers, around all of its lanes.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
export function paintOutlines(context, { paper }, band) {
  context.strokeStyle = paper.one("line")
  context.lineWidth = 1
  for (const { x, width } of band.blocks) context.strokeRect(x, band.top, width, band.count * band.lane)
}

/**
 * What is over the columns of a band, on a ground of its own: the memory's way may cross it. Whether a feed-forward had no
 * room for its name.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 */
export function paintHeadings(context, { view, place, paper }, band) {
  const stack = stackOf(view.head, band)
  const { z } = place
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  context.font = sans(14 * z, 600)
  context.fillStyle = paper.one(stack.ink)
  context.fillText(stack.name, band.left, band.top - 30 * z)
  context.font = sans(12 * z)
  const isRead = band.name === "encoder" && place.bands.length > 1
  const placed = placeHeadings(band, {
    layers: stack.layers,
    final: stack.final,
    memory: isRead ? { beside: place.beside } : null,
    z,
    right: place.width,
    measure: (text) => context.measureText(text).width,
  })
  for (const { text, x, width, up } of placed) {
    context.fillStyle = paper.one("page")
    context.fillRect(x - 2, band.top - (up + 11) * z, width + 4, 14 * z)
    context.fillStyle = paper.one("muted")
    context.fillText(text, x, band.top - up * z)
  }
  return placed.some(({ text }) => text === SHORT_FEED_FORWARD)
}

/**
 * The lane of one row, from its token to its end.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} row
 */
export function paintLane(context, { paper }, band, row, to = band.end) {
  context.strokeStyle = paper.one("line")
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(band.token.x, laneOf(band, row))
  context.lineTo(to, laneOf(band, row))
  context.stroke()
}

/**
 * The first rows of a band, with so many of the names.
 * @param {Context} context
 * @param {RunLook} look
 * @param {Band} band
 * @param {number} rows
 * @param {{size: number, named: Set<number>, chosen?: number}} names
 */
export function paintRows(context, look, band, rows, { size, named, chosen = -1 }) {
  for (let row = 0; row < rows; row++) {
    if (band.lane >= LINED) paintLane(context, look, band, row)
    const strong = context.globalAlpha
    context.globalAlpha = strong < 1 ? EARLIER : 1
    if (named.has(row) || row === chosen) paintName(context, look, band, row, { size, strong: row === chosen })
    context.globalAlpha = strong
    paintShares(context, look, band, { row, ink: "muted" })
    if (band.lane >= LINED) paintStrips(context, look, band, row)
    if (band.lane >= SIGNED * look.place.z) paintSigns(context, look, band, laneOf(band, row))
  }
  if (band.lane < LINED && rows) paintAllStrips(context, look, band, rows)
}
