// Where everything stands in the picture of a whole run: from the left to the right as it is computed, the encoder first, the
// decoder beside it, or below it where it would be too narrow there. Each cross-attention has the tokens that it reads in a
// column of its own, in front of its ribbons.

/** @import { WholePart } from "./types.js" */

/** @typedef {{x: number, width: number}} Column */
/** A sub-layer: `ribbon` is the room of what it takes from other tokens, from the first x to the second; `keys` is where
 * the names of these tokens stand, where they are another stack's.
 * @typedef {Column & {layer: number, part: string, index: number, ribbon: ?[number, number], keys: ?Column}} Block */
/** A column of the stream: `point` is its place among the points that the stack has.
 * @typedef {Column & {point: number}} Strip */
/** Lanes one below the other from `top` on, each `lane` high. @typedef {{top: number, lane: number, count: number}} Lanes */
/** `signs` are where a plus and an equals sign have room between the strips that the input is the sum of. `reads` are the
 * lanes of what its cross-attention reads.
 * @typedef {Lanes & {name: string, bottom: number, left: number, label: Column, token: Column, position: ?Column,
 *   signs: ?[number, number], strips: Strip[], blocks: Block[], end: number, reads: ?Lanes}} Band */
/** `memory` are the ways of what the encoder has computed to where it is read.
 * @typedef {{z: number, width: number, height: number, bands: Band[], bars: ?{x: number, width: number, y: number,
 *   row: number, most: number}, answer: ?{x: number, y: number, width: number}, base: number, beside: boolean,
 *   memory: [number, number][][]}} Whole */
/**
 * `count` tokens; where not all of them are there yet, `rows` are; `keys` is how wide the widest name is of what is read.
 * @typedef {{name: string, count: number, rows?: number, layers: number, parts: WholePart[], positions: boolean,
 *   sums?: boolean, final: boolean, widest: number, keys?: number}} Given
 */
/** @typedef {{z: number, width: number, height: number, top: number, stacks: Given[], bars: boolean, answer: boolean,
 *   text?: boolean}} Asked */

const [STRIP, GAP, SMALL, SIGN] = [17, 10, 3, 11] // in pixels
// In units, which share the width that is left:
const [RIBBON, CROSS, BLOCK, ASIDE, LAYER] = [2.2, 3, 1, 0.3, 0.7]
const [SIGNED_TWO, SIGNED_ONE] = [900, 750] // pixels: in a narrower picture no signs stand between strips
const READABLE = 15 // pixels: a lane whose token can be read
const [NARROWEST, EASY] = [4, 9] // pixels: a unit of which a ribbon can be followed at all, and easily
const [LEAST_KEYS, KEYS_SHARE, KEYS_APART] = [10, 0.42, 6] // pixels; of the width that is left for all of them; pixels
const [BARS, HIGHEST, HEAD, MOST] = [168, 60, 42, 7] // MOST: six candidates, and what is written behind them
// In pixels: below all; of the way back, where one stack stands alone too; of the answer, and of the text above it; of the memory's way.
const [FOOT, BACK, BACK_ALONE, ANSWER, TEXT, WAY] = [8, 20, 36, 34, 22, 24]
const CLOSER = 1.5 // so many times as many lanes as can be read stand closer from the beginning

const [FITS_WIDE, FITS_HIGH, MAX_FIT] = [1100, 560, 1.4] // in pixels: what is larger on all sides has larger type

/**
 * How many times as large everything is in a picture of `width` x `height` pixels: a large window has larger type too, and
 * not only more room between.
 * @param {number} width
 * @param {number} height
 */
export const fitting = (width, height) => Math.max(1, Math.min(width / FITS_WIDE, height / FITS_HIGH, MAX_FIT))

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

const ribbonOf = (/** @type {string} */ part) => ({ ffn: 0, cross: CROSS })[part] ?? RIBBON

/** The units of a stack's layers, one beside the other. */
const unitsOf = (/** @type {Given} */ { parts, layers }) =>
  parts.reduce((sum, { part }) => sum + BLOCK + ASIDE + ribbonOf(part), 0) + layers * (LAYER + ASIDE)

/** What of a stack's width is fixed. */
const fixedOf = (/** @type {Given} */ stack, /** @type {number} */ z, /** @type {number} */ k) => {
  const { widest, positions, final } = stack
  const signs = positions && stack.sums ? 2 * (SIGN - SMALL) : 0
  return widest + ((positions ? 3 : 1) * (STRIP * k + SMALL) + signs + 2 * GAP + (final ? STRIP * k + SMALL : 0)) * z
}

/** Two stacks stand beside each other, or below each other where that makes it much easier to follow. @param {Asked} asked */
export function placeWhole(asked) {
  const beside = arranged(asked, true)
  if (asked.stacks.length < 2) return beside
  const below = arranged(asked, false)
  const hasRoom = beside.bands.every((band) => unitIn(band, asked.z) >= NARROWEST)
  return hasRoom && easeOf(below, asked) <= MUCH * easeOf(beside, asked) ? beside : below
}

/**
 * How easily lanes and ribbons are followed; that does not change from step to step. Names count more than wide ribbons.
 * @param {Whole} whole
 * @param {Asked} asked
 */
const easeOf = ({ bands, z }, { stacks }) =>
  Math.min(
    ...bands.map((band, n) => {
      const all = (band.lane * band.count) / stacks[n].count / z
      return Math.min(1, all / READABLE) ** 1.5 * Math.min(1, unitIn(band, z) / EASY) ** 0.5
    }),
  )
const MUCH = 1.1 // times

/** How many pixels a unit has, of the size that everything has. @param {Band} band @param {number} z */
const unitIn = ({ blocks }, z) => (blocks.length ? blocks[0].width / BLOCK / z : EASY)

/**
 * Everything in `width` x `height` pixels below `top`; `bars` is whether there are candidates, `answer` whether the text of
 * all steps is written below, and `text` whether that which is read is too.
 * @param {Asked} asked
 * @param {boolean} beside
 * @returns {Whole}
 */
function arranged({ z, width, height, top, stacks: given, bars, answer, text = false }, beside) {
  const two = given.length > 1
  const signed = width >= (two && beside ? SIGNED_TWO : SIGNED_ONE) * z
  const stacks = given.map((stack) => ({ ...stack, sums: signed && stack.sums }))
  const k = Math.min(1, width / (900 * z)) // strips are narrower in a narrow picture, and candidates
  const wide = BARS * z * Math.min(1, Math.max(0.7, width / ((beside ? 900 : 560) * z)))
  const base = height - (FOOT + (answer ? ANSWER : 0) + (answer && text ? TEXT : 0)) * z
  const floor = base - (bars ? (two ? BACK : BACK_ALONE) : 0) * z
  const behind = bars ? wide + 2 * GAP * z : 0
  const lead = bars ? 2 * GAP * z : 0 // beside what goes back to the left
  const apart = bars ? 3 * GAP * z : 2 * GAP * z
  const rows = beside
    ? [{ stacks, room: width - (two ? apart : lead) - behind, left: two ? 0 : lead }]
    : [
        { stacks: stacks.slice(0, 1), room: width, left: 0 },
        { stacks: stacks.slice(1), room: width - lead - behind, left: lead },
      ]
  const columns = rows.flatMap((row) => columnsOf(row, { z, k, apart }))
  const lanes = beside
    ? stacks.map((stack) => lanesIn(stack, top, floor - (two ? WAY * z : 0), z))
    : lanesBelow(stacks, { top, floor, z })
  /** @type {Band[]} */
  const bands = columns.map((band, n) => ({ ...band, ...lanes[n] }))
  const last = bands[bands.length - 1]
  if (two) last.reads = beside ? bands[0] : readsIn(last, bands[0].count, floor, z)
  const row = Math.min(26 * z, Math.max(16 * z, (floor - last.top) / MOST))
  return {
    z,
    width,
    height,
    bands,
    bars: bars
      ? {
          x: last.end + 2 * GAP * z,
          width: wide,
          y: last.top,
          row,
          most: Math.max(1, Math.min(MOST, Math.floor((floor - last.top) / row))),
        }
      : null,
    answer: answer ? { x: 0, y: base + (text ? 4 + TEXT : 4) * z, width: width - GAP * z } : null,
    base,
    beside,
    memory: two ? waysOf(bands, beside, z) : [],
  }
}

/**
 * The columns of stacks that share so much room beside each other.
 * @param {{stacks: Given[], room: number, left: number}} row
 * @param {{z: number, k: number, apart: number}} given
 */
function columnsOf({ stacks, room, left }, { z, k, apart }) {
  const free = room - stacks.reduce((sum, stack) => sum + fixedOf(stack, z, k), 0)
  const readers = stacks.flatMap(({ parts }) => parts.filter(({ part }) => part === "cross")).length
  const wanted = Math.max(0, ...stacks.map((stack) => stack.keys ?? 0)) + KEYS_APART * z
  const keys = Math.min(wanted, Math.max(LEAST_KEYS * z, (KEYS_SHARE * free) / Math.max(readers, 1)))
  const units = stacks.reduce((sum, stack) => sum + unitsOf(stack), 0)
  const unit = Math.max(1, (free - readers * keys) / Math.max(units, 1))
  let x = left
  return stacks.map((stack) => {
    const band = placeBand(stack, { x, unit, keys, z, k })
    x = band.end + apart
    return band
  })
}

/**
 * The columns of one stack from `x` on.
 * @param {Given} stack
 * @param {{x: number, unit: number, keys: number, z: number, k: number}} given
 */
function placeBand({ name, parts, positions, sums, final, widest }, { x, unit, keys: wide, z, k }) {
  const left = x
  const column = (/** @type {number} */ width, /** @type {number} */ behind) => {
    const made = { x, width }
    x += width + behind
    return made
  }
  const label = column(widest, GAP * z)
  const apart = (sums ? SIGN : SMALL) * z
  const token = column(STRIP * k * z, apart)
  const position = positions ? column(STRIP * k * z, apart) : null
  /** @type {?[number, number]} */
  const signs = position && sums ? [position.x - apart / 2, x - apart / 2] : null
  /** @type {Strip[]} */
  const strips = [{ ...(positions ? column(STRIP * k * z, GAP * z) : token), point: 0 }]
  if (!positions) x += (GAP - SMALL) * z
  /** @type {Block[]} */
  const blocks = []
  parts.forEach(({ layer, part }, index) => {
    const keys = part === "cross" ? column(wide, 0) : null
    /** @type {?[number, number]} */
    const ribbon = part === "ffn" ? null : [x, x + ribbonOf(part) * unit]
    if (ribbon) x = ribbon[1]
    blocks.push({ ...column(BLOCK * unit, ASIDE * unit), layer, part, index, ribbon, keys })
    if (parts[index + 1]?.layer === layer) return
    strips.push({ ...column(LAYER * unit, ASIDE * unit), point: strips.length })
  })
  if (final) strips.push({ ...column(STRIP * k * z, SMALL * z), point: strips.length })
  /** @type {?Lanes} */
  const reads = null
  return { name, left, label, token, position, signs, strips, blocks, end: x, reads }
}

/**
 * The lanes of a stack that stands between `top` and `floor`.
 * @param {Given} stack
 * @param {number} top
 * @param {number} floor
 * @param {number} z
 */
function lanesIn({ count: all, rows }, top, floor, z) {
  const first = top + HEAD * z
  const fits = Math.max(1, Math.floor((floor - first) / (READABLE * z)))
  const count = rows === undefined ? all : lanesFor(rows, all, fits)
  const lane = Math.min(HIGHEST * z, Math.max(0, floor - first) / count)
  return { top: first, lane, count, bottom: first + lane * count }
}

/**
 * The lanes of two stacks below each other: each has its part of the height by its tokens, but what one does not need is the
 * other's.
 * @param {Given[]} stacks
 * @param {{top: number, floor: number, z: number}} given
 */
function lanesBelow([first, second], { top, floor, z }) {
  const heads = 2 * (HEAD + GAP) * z
  const room = floor - top - heads
  const most = [first, second].map(({ count }) => HIGHEST * z * count)
  const share = Math.min(Math.max(first.count / (first.count + second.count), LEAST_SHARE), MAX_SHARE) * room
  const upper = top + HEAD * z + Math.min(most[0], Math.max(share, room - most[1]))
  return [lanesIn(first, top, upper, z), lanesIn(second, upper + GAP * z, floor - GAP * z, z)]
}
const [LEAST_SHARE, MAX_SHARE] = [0.3, 0.6] // of the height

/**
 * The lanes of so many tokens that are read by a stack which stands above `floor`.
 * @param {Band} band
 * @param {number} count
 * @param {number} floor
 * @param {number} z
 */
function readsIn({ top }, count, floor, z) {
  return { top, count, lane: Math.min(HIGHEST * z, Math.max(0, floor - WAY * z - top) / count) }
}

/**
 * The ways from the end of the encoder to the tokens that each cross-attention reads: below both, or between them.
 * @param {Band[]} bands
 * @param {boolean} beside
 * @param {number} z
 */
function waysOf([encoder, { blocks, bottom, reads }], beside, z) {
  if (!reads) return []
  const { x, width } = encoder.strips[encoder.strips.length - 1]
  const y = beside ? Math.max(encoder.bottom, bottom) + (WAY - 6) * z : encoder.bottom + 6 * z
  const end = beside ? reads.top + reads.lane * reads.count + 2 * z : reads.top - 3 * z
  const to = blocks.flatMap(({ keys }) => (keys ? [keys.x + KEYS_APART * z] : []))
  return to.map((each, n) => {
    /** @type {[number, number][]} */
    const branch = [
      [each, y],
      [each, end],
    ]
    /** @type {[number, number][]} */
    const trunk = [
      [x + width / 2, encoder.bottom + 2 * z],
      [x + width / 2, y],
    ]
    return n === to.length - 1 ? [...trunk, ...branch] : branch
  })
}

/**
 * The lanes of a decoder, for the rows that there are so far and the next: all where so many can be read, or nearly; else as
 * many as can be read, and for each row more one lane more, so that the first rows of a long text are no thinner than those
 * of a short one, and none of them moves by more than a lane from step to step.
 * @param {number} rows
 * @param {number} all
 * @param {number} fits so many can be read
 */
export const lanesFor = (rows, all, fits) => (all <= CLOSER * fits ? all : Math.min(all, Math.max(fits, rows + 1)))

/**
 * The middle of a lane.
 * @param {Pick<Lanes, "top" | "lane">} lanes
 * @param {number} n
 */
export const laneOf = ({ top, lane }, n) => top + (n + 0.5) * lane

/**
 * Where a sub-layer begins: with what it takes from other tokens; a column of the stream takes nothing.
 * @param {Column & Partial<Pick<Block, "ribbon" | "keys">>} column
 */
export const startOf = ({ x, ribbon, keys }) => keys?.x ?? ribbon?.[0] ?? x

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
  const near = (SMALL * z) / 2 // a block may be narrow: half of what is beside it is its own
  const block = band.blocks.find((each) => x >= startOf(each) - near && x <= each.x + each.width + near)
  const strip = block ? null : band.strips.find(({ x: from, width }) => x >= from && x <= from + width)
  return { band, lane, block: block ?? null, strip: strip ?? null }
}
