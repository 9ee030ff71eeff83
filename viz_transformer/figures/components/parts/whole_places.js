// Where everything stands in the picture of a whole run: from the left to the right as it is computed, the encoder in the
// upper band, the decoder in the lower one, to the right of it; in the corner below the encoder is the answer.

/** @import { WholePart } from "./types.js" */

/** @typedef {{x: number, width: number}} Column */
/** A sub-layer: `ribbon` is the room of what it takes from other tokens, from the first x to the second.
 * @typedef {Column & {layer: number, part: string, index: number, ribbon: ?[number, number]}} Block */
/** A column of the stream: `point` is its place among the points that the stack has.
 * @typedef {Column & {point: number}} Strip */
/** `signs` are where a plus and an equals sign have room between the strips that the input is the sum of.
 * Lanes are one below the other from `top` on, each `lane` high.
 * @typedef {{name: string, count: number, top: number, lane: number, bottom: number, left: number, label: Column,
 *   token: Column, position: ?Column, signs: ?[number, number], strips: Strip[], blocks: Block[], end: number}} Band */
/**
 * @typedef {{z: number, width: number, height: number, bands: Band[], bars: ?{x: number, width: number, y: number,
 *   row: number, most: number}, answer: {x: number, y: number, width: number, height: number}, base: number}} Whole
 */
/**
 * `count` tokens; where not all of them are there yet, `lanes` are for those that are.
 * @typedef {{name: string, count: number, lanes?: number, layers: number, parts: WholePart[], positions: boolean,
 *   sums?: boolean, final: boolean, widest: number}} Given
 */

const [STRIP, GAP, SMALL, SIGN] = [18, 10, 3, 12] // in pixels
const [RIBBON, BLOCK, ASIDE, LAYER] = [1.7, 1, 0.35, 0.75] // in units, which share the width that is left
const [SIGNED_TWO, SIGNED_ONE] = [900, 750] // pixels: in a narrower picture no signs stand between strips
const FEWEST = 12 // lanes
const [READABLE, LEAST_BARS] = [15, 104] // a lane whose token can be read; what the candidates need
const [BARS, HIGHEST, HEAD, MOST] = [176, 24, 42, 7] // MOST: six candidates, and what is written behind them

const [FITS_WIDE, FITS_HIGH, MOST_FIT] = [1100, 560, 1.4] // in pixels: what is larger on all sides has larger type

/**
 * How many times as large everything is in a picture of `width` x `height` pixels: a large window has larger type too, and
 * not only more room between.
 * @param {number} width
 * @param {number} height
 */
export const fitting = (width, height) => Math.max(1, Math.min(width / FITS_WIDE, height / FITS_HIGH, MOST_FIT))

/**
 * The height of a picture that may have `room` pixels and asks for `asked`: all of the room, as long as it is not higher
 * than it is wide. Where two stand below each other, each has half if that is enough for one.
 * @param {{room: number, asked: number, width: number, pictures: number}} given
 */
export function heightOf({ room, asked, width, pictures }) {
  const half = room / pictures - PICTURES_APART
  const mine = pictures > 1 && half >= ENOUGH_HALF ? half : room
  return Math.min(mine, Math.max(asked, 0.62 * width))
}
const [PICTURES_APART, ENOUGH_HALF] = [16, 380]

/** The units of a stack's layers, one beside the other. */
const unitsOf = (/** @type {Given} */ { parts, layers }) =>
  parts.reduce((sum, { part }) => sum + BLOCK + ASIDE + (part === "ffn" ? 0 : RIBBON), 0) + layers * (LAYER + ASIDE)

/** What of a stack's width is fixed. */
const fixedOf = (/** @type {Given} */ stack, /** @type {number} */ z, /** @type {number} */ k) => {
  const { widest, positions, final } = stack
  const signs = positions && stack.sums ? 2 * (SIGN - SMALL) : 0
  return widest + ((positions ? 3 : 1) * (STRIP * k + SMALL) + signs + 2 * GAP + (final ? STRIP * k + SMALL : 0)) * z
}

/**
 * Everything in `width` x `height` pixels below `top`; `bars` is whether there are candidates.
 * @param {{z: number, width: number, height: number, top: number, stacks: Given[], bars: boolean}} given
 * @returns {Whole}
 */
export function placeWhole({ z, width, height, top, stacks: given, bars }) {
  const two = given.length > 1
  const signed = width >= (two ? SIGNED_TWO : SIGNED_ONE) * z
  const stacks = given.map((stack) => ({ ...stack, sums: signed && stack.sums }))
  const k = Math.min(1, width / (900 * z)) // strips and candidates are narrower in a narrow picture
  const wide = BARS * z * Math.max(0.7, k)
  const fixed = stacks.reduce((sum, stack) => sum + fixedOf(stack, z, k), 0)
  const units = stacks.reduce((sum, stack) => sum + unitsOf(stack), 0)
  const free = width - fixed - (bars ? wide + 2 * GAP * z : 0) - (two || bars ? 2 * GAP * z : 0)
  const unit = Math.max(2, free / Math.max(units, 1))
  const base = height - 16 * z
  const rooms = roomsOf(
    base - (bars ? (two ? 20 : 52) * z : 0) - top,
    stacks.map(({ count }, n) => ({
      most: (HEAD + HIGHEST * count + GAP) * z,
      wanted: n === 0 && two ? (HEAD + READABLE * count + GAP) * z : 0,
      least: (HEAD + GAP + (bars ? LEAST_BARS : 0)) * z,
    })),
  )
  let x = !two && bars ? 2 * GAP * z : 0 // beside what goes back to the left
  let y = top
  const bands = stacks.map((stack, n) => {
    const first = y + HEAD * z
    const count = stack.lanes ?? stack.count
    const lane = Math.min(HIGHEST * z, (rooms[n] - (HEAD + GAP) * z) / count)
    y += rooms[n]
    const band = placeBand(stack, x, unit, z, k)
    x = band.end + 2 * GAP * z
    return { ...band, count, top: first, lane, bottom: first + lane * count }
  })
  const last = bands[bands.length - 1]
  const answer = two
    ? { x: 0, y: last.top - HEAD * z, width: last.left - 3 * GAP * z, height: base - last.top + HEAD * z }
    : { x: 2 * GAP * z, y: base - 46 * z, width: last.end - 2 * GAP * z, height: 24 * z }
  const down = base - last.top - GAP * z
  const row = Math.min(22 * z, Math.max(16 * z, down / MOST))
  const most = Math.max(1, Math.min(MOST, Math.floor(down / row)))
  const placed = bars ? { x: last.end + 2 * GAP * z, width: wide, y: last.top, row, most } : null
  return { z, width, height, bands, bars: placed, answer, base }
}

/**
 * The heights of bands that can use at most so much each: they share the room evenly, but what one does not need is the
 * other's, and the first has what its tokens' names want as long as the second keeps the least that it needs.
 * @param {number} room
 * @param {{most: number, wanted: number, least: number}[]} bands
 */
function roomsOf(room, [first, second]) {
  if (!second) return [Math.min(first.most, room)]
  const even = room / 2
  const wanted = Math.min(first.wanted, room - second.least)
  const upper = Math.min(first.most, Math.max(even, wanted, room - second.most))
  return [upper, Math.min(second.most, room - upper)]
}

/**
 * The columns of one stack from `x` on.
 * @param {Given} stack
 * @param {number} x
 * @param {number} unit
 * @param {number} z
 * @param {number} k
 */
function placeBand(stack, x, unit, z, k) {
  const { name, parts, positions, final, widest } = stack
  const left = x
  const column = (/** @type {number} */ width, /** @type {number} */ behind) => {
    const made = { x, width }
    x += width + behind
    return made
  }
  const label = column(widest, GAP * z)
  const apart = (stack.sums ? SIGN : SMALL) * z
  const token = column(STRIP * k * z, apart)
  const position = positions ? column(STRIP * k * z, apart) : null
  /** @type {?[number, number]} */
  const signs = position && stack.sums ? [position.x - apart / 2, x - apart / 2] : null
  /** @type {Strip[]} */
  const strips = [{ ...(positions ? column(STRIP * k * z, GAP * z) : token), point: 0 }]
  if (!positions) x += (GAP - SMALL) * z
  /** @type {Block[]} */
  const blocks = []
  parts.forEach(({ layer, part }, index) => {
    /** @type {?[number, number]} */
    const ribbon = part === "ffn" ? null : [x, x + RIBBON * unit]
    if (ribbon) x = ribbon[1]
    blocks.push({ ...column(BLOCK * unit, ASIDE * unit), layer, part, index, ribbon })
    if (parts[index + 1]?.layer === layer) return
    strips.push({ ...column(LAYER * unit, ASIDE * unit), point: strips.length })
  })
  if (final) strips.push({ ...column(STRIP * k * z, SMALL * z), point: strips.length })
  return { name, left, label, token, position, signs, strips, blocks, end: x }
}

/**
 * The lanes of a decoder, for the rows that there are so far and the next: all, or half of them, half of these and so on, so
 * that the first rows of a long text are no thinner than those of a short one.
 * @param {number} rows
 * @param {number} all
 */
export function lanesFor(rows, all) {
  let lanes = all
  for (let half = Math.ceil(all / 2); half > rows && half >= FEWEST; half = Math.ceil(half / 2)) lanes = half
  return lanes
}

/**
 * The middle of a lane.
 * @param {Band} band
 * @param {number} n
 */
export const laneOf = ({ top, lane }, n) => top + (n + 0.5) * lane

/**
 * What is at a place: a lane of a band, and the block or the column of the stream there; null beside the bands.
 * @param {Whole} whole
 * @param {number} x
 * @param {number} y
 * @returns {?{band: Band, lane: number, block: ?Block, strip: ?Strip}}
 */
export function wholeAt({ bands, z }, x, y) {
  const band = bands.find(
    ({ left, end, top, bottom }) => x >= left && x <= end && y >= top - 34 * z && y <= Math.max(bottom, top + 20 * z),
  )
  if (!band) return null
  const lane = Math.min(Math.max(Math.floor((y - band.top) / band.lane), 0), band.count - 1)
  const block = band.blocks.find(({ x: from, width, ribbon }) => x >= (ribbon?.[0] ?? from) && x <= from + width)
  const strip = block ? null : band.strips.find(({ x: from, width }) => x >= from && x <= from + width)
  return { band, lane, block: block ?? null, strip: strip ?? null }
}
