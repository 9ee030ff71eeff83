import { percent } from "./numbers.js"
import { frontAt, phaseAt } from "./whole_flight.js"
import { siteOf } from "./whole_levels.js"
import { namedAmong } from "./whole_names.js"
import { laneOf, placeWhole, startOf } from "./whole_places.js"
import { strongestIn } from "./whole_rows.js"
import {
  inputSentence,
  partFacts,
  partSentence,
  readSentence,
  stepSentence,
  story,
  streamFacts,
  streamSentence,
  writtenSentence,
} from "./whole_words.js"

/** @import { WholeView } from "../whole/view.js" */
/** @import { Numbers, WholeHeader, WholeStack } from "./types.js" */
/** @import { Box, Site } from "./whole_levels.js" */
/** @import { Asked, Band, Block, Lanes, Strip, Whole } from "./whole_places.js" */
/** @import { Strongest } from "./whole_rows.js" */

// The first level, the whole run: what of it is named, read, pointed at and said. Nothing is drawn here.

/** A sub-layer or a column of the stream at one token, and what is known of it. In the decoder that is always the token of
 * this step; `pointed` is the lane of the pointer.
 * @typedef {{band: Band, lane: number, block: ?Block, strip: ?Strip, pointed?: number}} RunPlace */

/** Pixels of the names of tokens. */
export const NAME = 14
const [SMALLEST_NAME, KEY_NAME] = [12, 13] // pixels: the smallest name, and those of tokens that are read
const FILLED = 0.95 // of its lane's height a name has
const [WIDEST_NAME, WIDEST_SHARE, NARROWEST_NAME, WIDEST_KEY] = [96, 0.12, 34, 64] // pixels, of the width, pixels, pixels
const NAMED = 0.15 // ribbons from here on say where they come from
const LANES = { encoder: 0.85, decoder: 0.95 } // of a lane's height is what all ribbons of a row have together
const [THINNEST, THICKEST] = [10, 40] // pixels

/** @param {WholeHeader} head */
export const lastStack = ({ stacks }) => stacks[stacks.length - 1]
/** @param {Whole} place */
export const lastBand = ({ bands }) => bands[bands.length - 1]
/** @param {WholeHeader} head @param {Band} band */
export const stackOf = ({ stacks }, { name }) => /** @type {WholeStack} */ (stacks.find((each) => each.name === name))
/** The row of a band that is looked at: of what is written that of the step. @param {WholeView} view @param {Band} band */
const lookedRow = (view, band) => (view.writes() ? view.rowAt(view.step()) : view.rowOf(stackOf(view.head, band)))
const isWritten = (/** @type {WholeView} */ view, /** @type {Band} */ band) => band.name === "decoder" && view.writes()

// ---- places

/**
 * Where everything is in so many pixels.
 * @param {WholeView} view
 * @param {{width: number, height: number}} room
 * @param {(stack: WholeStack) => number} widest how wide the widest token of a stack is
 */
export function placeRun(view, { width, height }, widest) {
  const { head, arrays, z } = view
  const most = Math.max(NARROWEST_NAME * z, Math.min(WIDEST_NAME * z, WIDEST_SHARE * width))
  /** @type {Asked} */
  const asked = {
    z,
    width,
    height,
    top: 4 * z,
    bars: view.writes(),
    answer: view.writes() && view.saysAnswer,
    stacks: head.stacks.map((stack) => ({
      name: stack.name,
      count: stack.tokens.length,
      ...(stack.name === "decoder" && view.writes() && { rows: view.rowAt(view.step()) + 1 }),
      layers: stack.layers,
      parts: stack.parts,
      positions: `position.${stack.name}` in arrays,
      sums: stack.sums,
      final: stack.final,
      widest: Math.min(most, widest(stack)),
      keys: stack === head.stacks[0] ? 0 : Math.min(WIDEST_KEY * z, (widest(head.stacks[0]) * KEY_NAME) / NAME),
    })),
  }
  const place = placeWhole(asked)
  if (!asked.answer || !head.text || !isCrowded(place, place.bands[0])) return place
  return placeWhole({ ...asked, text: true })
}

/**
 * How wide all that a row of the decoder takes is together.
 * @param {Whole} place
 * @param {Band} band
 */
export const thickOf = ({ z }, { lane }) => Math.min(THICKEST * z, Math.max(THINNEST * z, lane * LANES.decoder))
/**
 * And a row of a stack whose tokens are all there at the same time.
 * @param {Whole} place
 * @param {Band} band
 */
export const thickOfAll = ({ z }, { lane }) => Math.min(THICKEST * z, lane * LANES.encoder)

/**
 * The box around the rows of a sub-layer that are there.
 * @param {WholeView} view
 * @param {Band} band
 * @param {Block} block
 * @returns {[number, number, number, number]}
 */
export function framed(view, band, block) {
  const rows = isWritten(view, band) ? view.rowAt(view.step()) + 1 : band.count
  return [block.x - 1, band.top - 1, block.width + 2, rows * band.lane + 2]
}

/**
 * The layer of an attention: its sub-layers with what they take, and the stream behind them.
 * @param {Whole} place
 * @param {Site} site
 * @returns {Box}
 */
export function layerBox({ bands, z }, { stack, part }) {
  const band = /** @type {Band} */ (bands.find(({ name }) => name === stack.name))
  const { from, to } = layerIn(band, part.layer)
  return { x: from, y: band.top - 20 * z, width: to - from, height: band.bottom - band.top + 20 * z }
}

/** From where to where a layer of a band goes. @param {Band} band @param {number} layer */
function layerIn({ blocks }, layer) {
  const mine = blocks.filter((block) => block.layer === layer)
  const last = mine[mine.length - 1]
  return { from: startOf(mine[0]), to: last.x + last.width }
}

/**
 * How far a step has come in a band, at the part `p` of it: all that begins left of it is there.
 * @param {Band} band
 * @param {number} p
 */
export const frontIn = (band, p) =>
  p >= 1 ? Infinity : frontAt(p, { from: band.token.x, input: band.strips[0].x + band.strips[0].width, end: band.end })

/**
 * How far this step has come through a layer: 0 before it, 1 behind it.
 * @param {WholeView} view
 * @param {Whole} place
 * @param {Site} site
 */
export function throughLayer({ head, flown }, place, { stack, part }) {
  if (stack !== lastStack(head)) return 1
  const band = lastBand(place)
  const { from, to } = layerIn(band, part.layer)
  return Math.min(Math.max((frontIn(band, flown) - from) / (to - from), 0), 1)
}

// ---- names

/**
 * How large the names of so many lanes are, and which have one, with those that are asked for first.
 * @param {Whole} place
 * @param {Lanes} lanes
 * @param {Iterable<number>} first
 */
export function namesIn({ z }, { lane, count }, first, most = NAME) {
  const size = Math.min(most * z, Math.max(lane * FILLED, SMALLEST_NAME * z))
  return { size, named: namedAmong(count, lane, lane * FILLED < SMALLEST_NAME * z ? size : 0, first) }
}

/**
 * Whether not every token that a decoder reads has its name beside its lane.
 * @param {Whole} place
 * @param {Band} band
 */
export const isCrowded = (place, band) => place.bands.length > 1 && namesIn(place, band, []).named.size < band.count

/**
 * The keys that a row takes most of in the self-attentions of a band, the strongest first.
 * @param {WholeView} view
 * @param {Band} band
 * @param {number} row
 */
export function strongestOf({ head, arrays }, band, row) {
  const found = band.blocks.flatMap((block) => {
    const { kind, layer } = stackOf(head, band).parts[block.index]
    return kind && block.part === "self" ? strongIn(strongestIn(arrays, kind, layer, row)) : []
  })
  return found.sort((a, b) => b.weight - a.weight).map(({ key }) => key)
}

/** What has so much weight that its name is there in any case. @param {Strongest} row */
const strongIn = ({ keys, weights }) =>
  Array.from(keys, (key, n) => ({ key, weight: weights[n] })).filter(({ weight }) => weight >= NAMED)

/** @typedef {{names: Set<number>, size: number, strong: Set<number>, own: Set<number>}} KeyNames */
/**
 * What can be read by a cross-attention: the keys that have a name at each step, which is all or none; its size; those
 * of which this step takes most, and the one that is chosen; and these with those that are in the lane of this step.
 * @param {WholeView} view
 * @param {Whole} place
 * @param {Band} band
 * @param {Block} block
 * @returns {KeyNames}
 */
export function keysOf(view, place, band, block) {
  const reads = readsOf(band)
  const { top, lane, count } = reads
  const part = stackOf(view.head, band).parts[block.index]
  const row = lookedRow(view, band)
  const { size, named: found } = namesIn(place, reads, [], KEY_NAME)
  /** @type {Set<number>} */
  const all = found.size === count ? found : new Set()
  const weights = strongestIn(view.arrays, /** @type {string} */ (part.kind), part.layer, row)
  const taken = strongIn(weights).sort((a, b) => b.weight - a.weight)
  const chosen = view.isChosen(part) && view.chosen.i < count ? [view.chosen.i] : [] // B may have a shorter text
  const strong = new Set([...chosen, ...taken.map(({ key }) => key)])
  const [from, to] = [band.top + row * band.lane - lane / 2, band.top + (row + 1) * band.lane + lane / 2]
  const crossed = [...all].filter((key) => laneOf({ top, lane }, key) > from && laneOf({ top, lane }, key) < to)
  return { names: all, size, strong, own: new Set([...strong, ...crossed]) }
}

/** The lanes of what a band with cross-attentions reads. @param {Band} band */
export const readsOf = (band) => /** @type {Lanes} */ (band.reads)

/**
 * The candidates of a step that have a bar, at most so many: the most probable ones, and the one that is written.
 * @param {WholeHeader} head
 * @param {number} step
 * @param {number} most
 */
export function barsOf({ candidates, written: all }, step, most) {
  const written = all[step]
  const first = candidates[step].map((_, i) => i).slice(0, most)
  return first.includes(written) ? first : [...first.slice(0, -1), written]
}

/** The share of what has no ribbon of its own: a sum of shares, which rounding may lift above all. @param {number} rest */
export function othersShare(rest) {
  const share = percent(Math.min(rest, 1), 0)
  return share.startsWith(">") ? share : `+ ${share}`
}

/**
 * The line of a wrapped text to which so many of its letters are written: what of it is, what is to come, and whether more
 * lines follow.
 * @param {string[]} lines
 * @param {string} text
 * @param {number} length
 */
export function writtenLine(lines, text, length) {
  let [line, begun] = [0, 0]
  const starts = lines.map((each) => {
    const start = text.indexOf(each, begun)
    begun = start + each.length
    return start
  })
  while (line + 1 < lines.length && starts[line + 1] < length) line++
  const own = lines[line].slice(0, Math.max(0, length - starts[line]))
  return { strong: line ? `…${own}` : own, rest: lines[line].slice(own.length), more: line < lines.length - 1 }
}

// ---- what is looked at

/**
 * The sub-layer that is walked to, in a band.
 * @param {WholeView} view
 * @param {Band} band
 */
export const walkedBlock = ({ walked }, band) => (walked === null ? null : (band.blocks[walked - 1] ?? null))

/**
 * What is pointed at, or was walked to: a sub-layer or a column of the stream at one token, and what it is in figures.
 * @param {WholeView} view
 * @param {Whole} place
 */
export function lookedAt(view, place) {
  const { head, arrays } = view
  const hovered = /** @type {?RunPlace} */ (view.hovered)
  if (hovered?.block) {
    const { band, block, lane } = hovered
    return { band, column: block, row: lane, facts: partFacts(head, arrays, stackOf(head, band), block.index, lane) }
  }
  if (hovered?.strip) {
    const { band, strip, lane } = hovered
    return { band, column: strip, row: lane, facts: streamFacts(arrays, stackOf(head, band), strip.point, lane) }
  }
  const band = lastBand(place)
  const block = hovered ? null : walkedBlock(view, band)
  if (!block) return null
  const row = view.rowOf(lastStack(head))
  return { band, column: block, row, facts: partFacts(head, arrays, lastStack(head), block.index, row) }
}

/**
 * The sub-layer of a step that has a frame: what it passes, else what is pointed at or was walked to.
 * @param {WholeView} view
 * @param {Band} band
 */
export function markedBlock(view, band) {
  const p = view.flown
  const passing = p < 1 && phaseAt(p).phase === "layers" && passedIn(band, p)
  const hovered = /** @type {?RunPlace} */ (view.hovered)
  const over = hovered?.block ? hovered : null
  return passing || (over && over.band.name === band.name ? over.block : walkedBlock(view, band))
}

/** The sub-layer that a step has come to. @param {Band} band @param {number} p */
const passedIn = (band, p) => band.blocks.filter((block) => startOf(block) <= frontIn(band, p)).at(-1)

/**
 * What happens now, in one sentence.
 * @param {WholeView} view
 * @param {Whole} place
 */
export function runSentence(view, place) {
  const { head, arrays, walked } = view
  const hovered = /** @type {?RunPlace} */ (view.hovered)
  const stack = lastStack(head)
  const s = view.step()
  const row = view.rowAt(s)
  if (hovered?.block) {
    const { band, block, lane } = hovered
    return partSentence(head, arrays, stackOf(head, band), block.index, lane)
  }
  if (hovered?.strip) return streamSentence(stackOf(head, hovered.band), hovered.strip.point, hovered.lane)
  if (walked !== null) return story(head, arrays, stack, view.writes() ? row : view.rowOf(stack))[walked]
  if (!view.writes()) return readSentence(stack)
  if (view.reading !== null)
    return `The text is read once: ${head.stacks[0].tokens.length} tokens, all at the same time.`
  const p = view.flown
  if (p === 1) return stepSentence(head, arrays, s, stack.tokens[row])
  return flyingSentence(view, place, p)
}

/**
 * What happens at the part `p` of a step that is played.
 * @param {WholeView} view
 * @param {Whole} place
 * @param {number} p
 */
function flyingSentence(view, place, p) {
  const { head, arrays } = view
  const stack = lastStack(head)
  const row = view.rowAt(view.step())
  const { phase } = phaseAt(p)
  if (phase === "embed") return inputSentence(stack, row, `position.${stack.name}` in arrays)
  if (phase !== "layers") return writtenSentence(head, arrays, view.step())
  const block = passedIn(lastBand(place), p)
  return block ? partSentence(head, arrays, stack, block.index, row) : inputSentence(stack, row, true)
}

/**
 * All that happens at the token that is looked at.
 * @param {WholeView} view
 */
export function runSentences(view) {
  const { head, arrays } = view
  const all = story(head, arrays, lastStack(head), view.rowOf(lastStack(head)))
  return view.writes() ? [...all, writtenSentence(head, arrays, view.step())] : all
}

/**
 * What the still picture of a run depends on, beside its size and colours.
 * @param {WholeView} view
 * @param {Whole | undefined} place
 */
export const runState = (view, place) =>
  [
    view.writes() ? view.step() : view.rowOf(lastStack(view.head)),
    view.chosen.kind,
    view.chosen.layer,
    view.chosen.i,
    view.playing,
    view.reading !== null,
    place?.answer !== null,
  ].join()

/**
 * What is found at a place of the picture, as the one that is pointed at.
 * @param {WholeView} view
 * @param {?RunPlace} found
 * @returns {?RunPlace}
 */
export const pointedAt = (view, found) =>
  found && isWritten(view, found.band) ? { ...found, lane: view.rowAt(view.step()), pointed: found.lane } : found

/**
 * The end of the scale of each column of strips, by array.
 * @param {Record<string, Numbers>} arrays
 * @param {(values: Float32Array | Uint8Array) => number} largest
 */
export function stripScales(arrays, largest) {
  /** @type {Record<string, number[]>} */
  const most = {}
  for (const [name, { values, shape }] of Object.entries(arrays)) {
    if (!/^(token|position|stream)\./.test(name)) continue
    const columns = shape.length === 3 ? shape[0] : 1
    const size = values.length / columns
    most[name] = Array.from({ length: columns }, (_, n) => largest(values.subarray(n * size, (n + 1) * size)))
  }
  return most
}

/** The site of the layer that is looked at. @param {WholeView} view */
export const siteNow = ({ head, chosen }) => siteOf(head, chosen)
