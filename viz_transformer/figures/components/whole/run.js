import { dotted, ring } from "../parts/marks.js"
import { exponential, percent } from "../parts/numbers.js"
import { isolated, mono, onOneLine, sans, shorten, signsOf, wrapped } from "../parts/text.js"
import { alongWay, frontAt, phaseAt } from "../parts/whole_flight.js"
import { siteOf } from "../parts/whole_levels.js"
import { keptApart, namedAmong } from "../parts/whole_names.js"
import { laneOf, placeWhole, startOf, wholeAt } from "../parts/whole_places.js"
import { isUnknown, ribbonsOf, strongestIn } from "../parts/whole_rows.js"
import {
  inputSentence,
  LEAST,
  partFacts,
  partSentence,
  readSentence,
  stepSentence,
  story,
  streamFacts,
  streamSentence,
  writtenSentence,
} from "../parts/whole_words.js"
import { drawCells, drawRibbon, drawStrip, drawWay, largestIn, say, signedLevels } from "./draw.js"

// The first level: the whole run, from the text to the answer. `view` says what is looked at: whole.js has it.

const PAST = 0.3 // how strong the steps before this one are
const [EARLIER, LATER] = [0.75, 0.5] // how strong the names of their tokens are, and those of the steps behind it
const [NAME, SMALLEST_NAME, KEY_NAME] = [14, 12, 13] // pixels: names of tokens, the smallest, and of those that are read
const FILLED = 0.95 // of its lane's height a name has
const [WIDEST_NAME, WIDEST_SHARE, NARROWEST_NAME, WIDEST_KEY] = [96, 0.12, 34, 64] // pixels, of the width, pixels, pixels
const LEAN = { all: 0.25, one: 0.5 } // of the ribbons' room is what all of a row take where they are steep
const THINNEST_RIBBON = 0.7 // pixels
const LANES = { encoder: 0.85, decoder: 0.95 } // of a lane's height is what all ribbons of a row have together
const [THINNEST, THICKEST] = [10, 40] // pixels
const [SIGNED, HALF_SIGN] = [7, 3] // lanes from here on have signs of their own; half of a sign
const LINED = 3 // lanes that are lower, in pixels, have no line: it would cover them
const NAMED = 0.15 // ribbons from here on say where they come from
const SHORT = { self: "self", cross: "cross", ffn: "ff" }
const LONG = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" } // where there is room
const GIVEN = 0.35 // of the line of an answer is at most the text that it goes on from
const [SMALLEST, LARGEST] = [13, 22] // the size of its letters, beside two stacks
const TO_COME = 0.6 // how strong the rest of the answer is
const VEIL = 0.92 // how much of what is not computed yet is hidden

export function runScene(view) {
  let place
  let most = {}
  let isShort = false // whether a feed-forward had no room for its name
  let widths = { of: 0, by: new Map() } // of the widest token of each stack

  const lastStack = () => view.head.stacks[view.head.stacks.length - 1]
  const stackOf = (band) => view.head.stacks.find(({ name }) => name === band.name)
  const scaleOf = (part) => (view.head.head === null ? "derived" : part.kind)
  /** How wide all that a row of the decoder takes is together. */
  const thickOf = (band) => Math.min(THICKEST * place.z, Math.max(THINNEST * place.z, band.lane * LANES.decoder))
  /** And a row of a stack whose tokens are all there at the same time. */
  const thickOfAll = (band) => Math.min(THICKEST * place.z, band.lane * LANES.encoder)
  /**
   * The box around the rows of a sub-layer that are there.
   * @returns {[number, number, number, number]}
   */
  const framed = (band, block) => {
    const rows = band.name === "decoder" && view.writes() ? view.rowAt(view.step()) + 1 : band.count
    return [block.x - 1, band.top - 1, block.width + 2, rows * band.lane + 2]
  }

  // ---- painting

  /** The strips of one row of a band, those that begin left of the front. */
  function strips(context, colours, band, row, front = Infinity) {
    const count = view.samples()
    const [y, height] = [band.top + row * band.lane + 0.5, Math.max(1, band.lane - 1)]
    const { arrays } = view
    const stream = arrays[`stream.${band.name}`]
    const [, rows] = stream.shape
    const one = (name, column) => {
      if (!column || column.x > front) return
      drawStrip(context, colours, { ...column, y, height }, arrays[name].values, row * count, count, most[name][0])
    }
    if (band.position) one(`token.${band.name}`, band.token)
    one(`position.${band.name}`, band.position)
    for (const column of band.strips)
      if (column.x <= front) {
        const from = (column.point * rows + row) * count
        drawStrip(
          context,
          colours,
          { ...column, y, height },
          stream.values,
          from,
          count,
          most[`stream.${band.name}`][column.point],
        )
      }
  }

  /** Between the strips of a token, of its position and of what is their sum, a plus and an equals sign. */
  function signs(context, colours, band, y, front = Infinity) {
    if (!band.signs) return
    const [plus, equals] = band.signs
    const r = HALF_SIGN * place.z
    const dash = (x, y) =>
      drawWay(context, [
        [x - r, y],
        [x + r, y],
      ])
    context.strokeStyle = colours.one("muted")
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

  /** The strips of the first rows of a band whose lanes are lower than a line and what is beside it. */
  function allStrips(context, colours, band, rows) {
    const count = view.samples()
    const ink = colours.scale("diverging")
    const one = (name, column, point, most) => {
      if (!column) return
      const { values, shape } = view.arrays[name]
      const from = point * (shape.length === 3 ? shape[1] : 0) * count
      const box = { ...column, y: band.top, height: rows * band.lane, rows, columns: count }
      drawCells(context, colours, box, ink, signedLevels(values, from, rows * count, most), 0.5)
    }
    const [token, position] = [`token.${band.name}`, `position.${band.name}`]
    if (band.position) one(token, band.token, 0, most[token]?.[0])
    one(position, band.position, 0, most[position]?.[0])
    const stream = `stream.${band.name}`
    for (const column of band.strips) one(stream, column, column.point, most[stream][column.point])
  }

  /** What each sub-layer adds at one row. */
  function shares(context, colours, ink, band, row, front = Infinity) {
    const { values, shape } = view.arrays[`share.${band.name}`]
    const height = Math.max(1, band.lane - 2)
    const colour = colours.one(ink)
    context.fillStyle = colour
    for (const block of band.blocks) {
      if (block.x > front) continue
      const share = values[block.index * shape[1] + row]
      const [x, y] = [block.x, band.top + row * band.lane + 1]
      if (share > 0) context.fillRect(x, y, block.width * share, height)
      if (!Number.isNaN(share)) continue
      dotted(context, colours, x, y, block.width, height)
      context.fillStyle = colour
    }
  }

  /** The keys that a row takes most of in the self-attentions of a band, the strongest first. */
  function strongestOf(band, row) {
    const found = band.blocks.flatMap((block) => {
      const part = stackOf(band).parts[block.index]
      return block.part === "self" ? named(strongestIn(view.arrays, part.kind, part.layer, row)) : []
    })
    return found.sort((a, b) => b.weight - a.weight).map(({ key }) => key)
  }

  /** What has so much weight that its name is there in any case. */
  const named = ({ keys, weights }) =>
    Array.from(keys, (key, n) => ({ key, weight: weights[n] })).filter(({ weight }) => weight >= NAMED)

  /** How large the names of so many lanes are, and which have one, with those that are asked for first. */
  function names({ lane, count }, first, most = NAME) {
    const { z } = place
    const size = Math.min(most * z, Math.max(lane * FILLED, SMALLEST_NAME * z))
    return { size, named: namedAmong(count, lane, lane * FILLED < SMALLEST_NAME * z ? size : 0, first) }
  }

  function label(context, colours, band, row, size, strong) {
    const { tokens, ink, padded } = stackOf(band)
    context.font = mono(size, strong ? 600 : 400)
    context.textAlign = "right"
    context.textBaseline = "middle"
    context.fillStyle = colours.one(padded.includes(row) ? "muted" : ink)
    const text = isolated(shorten(context, tokens[row].text, band.label.width))
    context.fillText(text, band.label.x + band.label.width, laneOf(band, row))
  }

  /** What one row takes from the others in one sub-layer, as wide as its weights; `thick` is the width of all of it. */
  function ribbons(context, colours, band, block, row, { thick, alpha, room, grown = 1 }) {
    const part = stackOf(band).parts[block.index]
    const keys = part.kind === "cross" ? band.reads : band
    const weights = strongestIn(view.arrays, part.kind, part.layer, row)
    const { ribbons: found, rest, restAt } = ribbonsOf(weights, LEAST)
    const [x0, x1] = block.ribbon
    const y = laneOf(band, row)
    if (isUnknown(weights)) {
      const tall = Math.min(thick, Math.max(1, band.lane - 1))
      dotted(context, colours, x0, y - tall / 2, (x1 - x0) * grown, tall)
    }
    const lean = Math.min(1, (room * (x1 - x0)) / thick)
    const draw = (from, at, share, opacity) => {
      context.globalAlpha = opacity
      const width = Math.max(THINNEST_RIBBON, share * thick)
      drawRibbon(context, block.ribbon, [from, y + at * thick], { width, lean, grown })
    }
    context.fillStyle = colours.one(`${scaleOf(part)}-4`)
    for (const { key, weight, at } of found) draw(laneOf(keys, key), at, weight, alpha)
    if (rest > 0) {
      context.fillStyle = colours.one("line")
      const last = part.kind === "cross" || band.name !== "decoder" ? keys.count - 1 : row
      draw((laneOf(keys, 0) + laneOf(keys, last)) / 2, restAt, rest, alpha * 0.8)
    }
    context.globalAlpha = 1
    return rest
  }

  /** The outlines of a band's sub-layers, around all of its lanes. */
  function outlines(context, colours, band) {
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1
    for (const { x, width } of band.blocks) context.strokeRect(x, band.top, width, band.count * band.lane)
  }

  /** What stands over the columns of a band, on a ground of its own: the memory's way may cross it. */
  function headings(context, colours, band) {
    const stack = stackOf(band)
    const { z } = place
    const there = []
    const heading = (from, to, text, up, spare) => {
      const width = context.measureText(text).width
      if (width > to - from + spare * z) return false
      const beside = there.filter((each) => each.up === up)
      const isFree = (x) => beside.every((each) => x >= each.end + 4 * z || x + width <= each.x - 4 * z)
      const places = [from + (to - from - width) / 2, ...beside.map(({ end }) => end + 4 * z)]
      const x = places.find((x) => x >= from - spare * z && x + width <= to + spare * z && isFree(x))
      if (x === undefined) return false
      there.push({ up, x, end: x + width })
      context.fillStyle = colours.one("page")
      context.fillRect(x - 2, band.top - (up + 11) * z, width + 4, 14 * z)
      context.fillStyle = colours.one("muted")
      context.fillText(text, x, band.top - up * z)
      return true
    }
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans(14 * z, 600)
    context.fillStyle = colours.one(stack.ink)
    context.fillText(stack.name, band.left, band.top - 30 * z)
    context.font = sans(12 * z)
    if (band.position) heading(band.token.x, band.strips[0].x + band.strips[0].width, "input", 6, 8)
    const last = (part) => ["cross", "self", "ffn"].indexOf(part) // of two that have no room beside each other
    for (const block of band.blocks.toSorted((a, b) => last(a.part) - last(b.part))) {
      const to = block.x + block.width
      if (heading(startOf(block), to, LONG[block.part], 6, -6)) continue
      if (heading(startOf(block), to, SHORT[block.part], 6, 6) && block.part === "ffn") isShort = true
    }
    for (let layer = 0; layer < stack.layers; layer++) {
      const mine = band.blocks.filter((block) => block.layer === layer)
      const end = mine[mine.length - 1].x + mine[mine.length - 1].width
      if (!heading(startOf(mine[0]), end, `layer ${layer}`, 22, 0)) heading(startOf(mine[0]), end, String(layer), 22, 8)
    }
    const { x, width } = band.strips[band.strips.length - 1]
    if (band.name === "encoder" && place.bands.length > 1) {
      const room = context.measureText("memory").width
      const from = Math.min(x + (width - room) / 2, place.width - room)
      if (!place.beside && !heading(from, from + room, "memory", 22, 0)) heading(from, from + room, "memory", 36, 0)
    } else if (stack.final && heading(x, x + width, "norm", 6, 30)) heading(x, x + width, "final", 22, 30)
  }

  /** Lanes of one row, from its label to its end. */
  function laneLine(context, colours, band, row, to = band.end) {
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1
    context.beginPath()
    context.moveTo(band.token.x, laneOf(band, row))
    context.lineTo(to, laneOf(band, row))
    context.stroke()
  }

  /** All that this step leaves as it is: the encoder, and faint what earlier steps have kept and later ones will. */
  function paintStill(context) {
    const colours = view.paper()
    isShort = false
    for (const band of place.bands) {
      outlines(context, colours, band)
      if (band.name === "decoder" && view.writes()) paintWritten(context, colours, band)
      else paintAll(context, colours, band)
    }
    memory(context, colours)
  }

  /** The rows of a band up to one, with so many of the names. */
  function paintRows(context, colours, band, rows, { size, named, chosen = -1 }) {
    for (let row = 0; row < rows; row++) {
      if (band.lane >= LINED) laneLine(context, colours, band, row)
      const strong = context.globalAlpha
      context.globalAlpha = strong < 1 ? EARLIER : 1
      if (named.has(row) || row === chosen) label(context, colours, band, row, size, row === chosen)
      context.globalAlpha = strong
      shares(context, colours, "muted", band, row)
      if (band.lane >= LINED) strips(context, colours, band, row)
      if (band.lane >= SIGNED * place.z) signs(context, colours, band, laneOf(band, row))
    }
    if (band.lane < LINED && rows) allStrips(context, colours, band, rows)
  }

  /** A stack whose tokens are all there at the same time. */
  function paintAll(context, colours, band) {
    const stack = stackOf(band)
    headings(context, colours, band)
    const chosen = view.writes() ? -1 : view.rowOf(stack) // where nothing is written, one token is looked at
    const first = view.writes() ? [view.chosen[stack.field] ?? 0] : [chosen, ...strongestOf(band, chosen)]
    const named = names(band, first)
    paintRows(context, colours, band, band.count, { ...named, chosen })
    if (view.head.text && place.answer && isCrowded(band)) reads(context, colours)
    if (band.lane < SIGNED * place.z) signs(context, colours, band, band.top + (band.count * band.lane) / 2)
    const thick = thickOfAll(band)
    for (const block of band.blocks)
      if (block.ribbon)
        for (let row = 0; row < band.count; row++)
          if (row !== chosen)
            ribbons(context, colours, band, block, row, { thick, alpha: chosen < 0 ? 0.5 : 0.2, room: LEAN.all })
  }

  /** The rows of the steps before this one, and the names of those behind it, so that nothing moves when they come. */
  function paintWritten(context, colours, band) {
    const row = view.rowAt(view.step())
    const { size, named } = names(band, [row, ...strongestOf(band, row)])
    context.globalAlpha = PAST
    paintRows(context, colours, band, row, { size, named })
    context.globalAlpha = LATER
    for (let next = row + 1; next < band.count; next++) {
      if (band.lane >= LINED) laneLine(context, colours, band, next)
      if (named.has(next) && !view.playing) label(context, colours, band, next, size, false)
    }
    context.globalAlpha = 1
  }

  /** Whether not every token that a decoder reads has its name beside its lane. */
  const isCrowded = (band) => place.bands.length > 1 && names(band, []).named.size < band.count

  /** The whole text, where not every token has its name beside its lane: above the answer. */
  function reads(context, colours) {
    const { answer, z } = place
    const y = answer.y - 2 * z
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans(14 * z, 600)
    context.fillStyle = colours.one("source-ink")
    context.fillText("the text", answer.x, y)
    const from = answer.x + context.measureText("the answer").width + 14 * z
    context.font = mono(NAME * z)
    context.fillStyle = colours.one("text")
    const room = answer.x + answer.width - from
    context.fillText(isolated(shorten(context, onOneLine(view.head.text), room)), from, y)
  }

  /** The way of what the encoder has computed to where it is read, and the names of what can be read there. */
  function memory(context, colours) {
    const band = place.bands.at(-1)
    if (view.reading !== null || !band.reads) return
    context.strokeStyle = colours.one("muted")
    context.lineWidth = 1
    for (const way of place.memory) drawWay(context, way, 5 * place.z)
    const [x, y] = place.memory.at(-1)?.[1] ?? [0, 0]
    const size = 12 * place.z
    if (place.beside && place.memory.length)
      say(context, "memory", x - 6 * place.z, y - 1, { size, colour: colours.one("muted"), align: "right" })
    for (const block of band.blocks) {
      if (!block.keys) continue
      context.fillStyle = colours.one("page")
      context.fillRect(block.keys.x, band.top - 1, block.keys.width, band.count * band.lane + 2)
      const { names: there, size, own } = keysOf(band, block)
      for (const key of there) {
        const y = laneOf(band.reads, key)
        if (!own.has(key)) keyName(context, colours, block.keys, key, { y, size, strong: false })
      }
    }
  }

  /**
   * What can be read by a cross-attention: the keys that have a name at each step, which is all or none; its size; those
   * of which this step takes most, and the one that is chosen; and these with those that stand in the lane of this step.
   */
  function keysOf(band, block) {
    const { top, lane, count } = band.reads
    const part = stackOf(band).parts[block.index]
    const row = view.writes() ? view.rowAt(view.step()) : view.rowOf(stackOf(band))
    const { size, named: found } = names(band.reads, [], KEY_NAME)
    const all = found.size === count ? found : new Set()
    const taken = named(strongestIn(view.arrays, part.kind, part.layer, row)).sort((a, b) => b.weight - a.weight)
    const chosen = view.isChosen(part) && view.chosen.i < count ? [view.chosen.i] : [] // B may have a shorter text
    const strong = new Set([...chosen, ...taken.map(({ key }) => key)])
    const [from, to] = [band.top + row * band.lane - lane / 2, band.top + (row + 1) * band.lane + lane / 2]
    const crossed = [...all].filter((key) => laneOf({ top, lane }, key) > from && laneOf({ top, lane }, key) < to)
    return { names: all, size, strong, own: new Set([...strong, ...crossed]) }
  }

  /** The name of a token that is read, in front of the ribbons that begin there. */
  function keyName(context, colours, keys, key, { y, size, strong }) {
    const { z } = place
    const { tokens, ink, padded } = stackOf(place.bands[0])
    context.font = mono(size, strong ? 600 : 400)
    const room = keys.width - 3 * z
    const text = shorten(context, tokens[key].text, room)
    if (text === "…") return
    if (strong) {
      context.fillStyle = colours.one("page")
      context.fillRect(keys.x, y - size / 2, room, size)
    }
    context.textAlign = "right"
    context.textBaseline = "middle"
    context.fillStyle = colours.one(strong && !padded.includes(key) ? ink : "muted")
    context.fillText(isolated(text), keys.x + room, y)
  }

  /** Of a run that writes nothing, what the token that is looked at takes, in each layer. */
  function paintRead(context, colours, band) {
    const row = view.rowOf(stackOf(band))
    const thick = thickOfAll(band)
    for (const block of band.blocks)
      if (block.ribbon) ribbons(context, colours, band, block, row, { thick, alpha: 0.9, room: LEAN.one })
    for (const block of band.blocks) if (block.keys) takenFrom(context, colours, band, block, true)
    const told = view.walked === null || stackOf(band) !== lastStack() ? null : band.blocks[view.walked - 1]
    const over = view.hovered?.block && view.hovered.band.name === band.name ? view.hovered.block : told
    if (over) outline(context, colours, band, over)
    for (const block of band.blocks)
      if (view.isChosen(stackOf(band).parts[block.index])) ring(context, colours, ...framed(band, block))
    if (band === place.bands.at(-1)) hint(context, colours)
  }

  /** This step, as far as it has come. */
  function paintNow(context) {
    const colours = view.paper()
    const band = place.bands[place.bands.length - 1]
    if (!view.writes()) {
      for (const each of place.bands) paintRead(context, colours, each)
      return
    }
    if (view.reading !== null) {
      veil(context, colours, place.bands[0], view.reading)
      headings(context, colours, band)
      return
    }
    const p = view.flown
    const s = view.step()
    const row = view.rowAt(s)
    const front = frontIn(band, p)
    context.fillStyle = colours.one("surface")
    context.fillRect(band.left, band.top + row * band.lane, Math.min(front, band.end) - band.left, band.lane)
    laneLine(context, colours, band, row, Math.min(front, band.end))
    for (const { keys } of band.blocks) if (keys) overKeys(context, colours, band, keys, row, front)
    label(context, colours, band, row, names(band, []).size, true)
    strips(context, colours, band, row, front)
    signs(context, colours, band, laneOf(band, row), front)
    shares(context, colours, "text", band, row, front)
    const thick = thickOf(band)
    const rests = []
    for (const block of band.blocks) {
      if (!block.ribbon || front <= block.ribbon[0]) continue
      const grown = Math.min(1, (front - block.ribbon[0]) / (block.ribbon[1] - block.ribbon[0]))
      const rest = ribbons(context, colours, band, block, row, { thick, alpha: 0.9, room: LEAN.one, grown })
      if (rest > 0 && grown >= 1) rests.push([block, rest])
    }
    headings(context, colours, band)
    for (const block of band.blocks) if (block.keys) takenFrom(context, colours, band, block, front > block.keys.x)
    for (const [block, rest] of rests) others(context, colours, band, block, rest, laneOf(band, row) + thick / 2)
    paintBars(context, colours, s, p)
    paintAnswer(context, colours, s, p)
    paintBack(context, colours, s, p)
    const passing =
      p < 1 && phaseAt(p).phase === "layers" && band.blocks.filter((block) => startOf(block) <= front).at(-1)
    const told = view.walked === null ? null : (band.blocks[view.walked - 1] ?? null)
    const over = view.hovered?.block ? view.hovered : null
    const marked = passing || (over && over.band.name === band.name ? over.block : told)
    if (marked) outline(context, colours, band, marked)
    for (const each of place.bands)
      for (const block of each.blocks)
        if (view.isChosen(stackOf(each).parts[block.index])) ring(context, colours, ...framed(each, block))
    hint(context, colours)
  }

  /** What of a band is not computed yet, while its text is read. */
  function veil(context, colours, band, part) {
    const front = band.token.x + part * (band.end + 2 - band.token.x)
    context.globalAlpha = VEIL
    context.fillStyle = colours.one("page")
    context.fillRect(front, band.top - 2, band.end + 2 - front, band.bottom - band.top + 4)
    context.globalAlpha = 1
    context.strokeStyle = colours.one("source-ink")
    context.lineWidth = 2
    if (front < band.end)
      drawWay(context, [
        [front, band.top - 2],
        [front, band.bottom + 2],
      ])
  }

  /** The lane of a row where it crosses the names of what is read. */
  function overKeys(context, colours, band, { x, width }, row, front) {
    context.fillStyle = colours.one("surface")
    if (front > x) context.fillRect(x, band.top + row * band.lane, Math.min(width, front - x), band.lane)
  }

  /** What a row takes of others than those that have a ribbon: below its own ribbons. */
  function others(context, colours, band, block, rest, y) {
    const { z } = place
    if (block.keys && band.reads.lane < 6 * z) return // the names of what is read need its room
    const [x0, x1] = block.ribbon
    const share = percent(Math.min(rest, 1), 0) // a sum of shares, which rounding may lift above all
    const text = share.startsWith(">") ? share : `+ ${share}`
    context.font = sans(12 * z)
    const width = context.measureText(text).width
    if (width > x1 - x0 + (block.keys?.width ?? 12 * z)) return
    context.textAlign = "left"
    context.textBaseline = "top"
    context.fillStyle = colours.one("muted")
    const names = block.keys ? band.reads.top + band.reads.count * band.reads.lane : 0 // where they end
    const x = block.keys ? x1 - width : (x0 + x1 - width) / 2
    context.fillText(text, x, Math.max(names, y) + 2 * z)
  }

  /** The names of the source tokens that a cross-attention takes most of, and of the one that is chosen there. */
  function takenFrom(context, colours, band, block, reached) {
    const { names: there, size, strong, own } = keysOf(band, block)
    const { top, lane, count } = band.reads
    const keys = [...own].filter((key) => (reached && strong.has(key)) || there.has(key))
    const heights = keys.map((key) => laneOf(band.reads, key))
    const [from, to] = [top + size / 2, top + Math.max(size, lane * count) - size / 2]
    keptApart(heights, size, from, to).forEach((y, n) =>
      keyName(context, colours, block.keys, keys[n], { y, size, strong: reached && strong.has(keys[n]) }),
    )
  }

  function outline(context, colours, band, block) {
    context.strokeStyle = colours.one("text")
    context.lineWidth = 1.5
    context.strokeRect(...framed(band, block))
  }

  /** What is pointed at, or was walked to: a sub-layer or a column of the stream at one token, and what it is. */
  function lookedAt() {
    const { hovered, walked, head, arrays } = view
    const of = (band, column, row, facts) => ({ band, column, row, facts })
    if (hovered?.block) {
      const { band, block, lane } = hovered
      return of(band, block, lane, partFacts(head, arrays, stackOf(band), block.index, lane))
    }
    if (hovered?.strip) {
      const { band, strip, lane } = hovered
      return of(band, strip, lane, streamFacts(arrays, stackOf(band), strip.point, lane))
    }
    const band = place.bands[place.bands.length - 1]
    const block = hovered || walked === null ? null : band.blocks[walked - 1]
    if (!block) return null
    const row = view.rowOf(lastStack())
    return of(band, block, row, partFacts(head, arrays, lastStack(), block.index, row))
  }

  /** Shape and length of what is looked at, in a box beside it. */
  function hint(context, colours) {
    const found = lookedAt()
    if (!found || view.playing) return
    const { z, width, height } = place
    const { band, column, row, facts } = found
    context.font = mono(12 * z)
    const wide = Math.max(...facts.map((line) => context.measureText(line).width)) + 16 * z
    const tall = (facts.length * 17 + 8) * z
    const right = column.x + column.width + 8 * z
    const x = right + wide <= width ? right : startOf(column) - wide - 8 * z
    const y = Math.max(0, Math.min(laneOf(band, row) - tall / 2, height - tall))
    context.fillStyle = colours.one("page")
    context.fillRect(x, y, wide, tall)
    context.strokeStyle = colours.one("muted")
    context.lineWidth = 1
    context.strokeRect(x, y, wide, tall)
    context.fillStyle = colours.one("text")
    context.textAlign = "left"
    context.textBaseline = "middle"
    facts.forEach((line, n) => context.fillText(line, x + 8 * z, y + (4 + 17 * (n + 0.5)) * z))
  }

  /** The candidates that have a bar: the most probable ones, and the one that is written. */
  function barsOf(s) {
    const { head } = view
    const written = head.written[s]
    const first = head.candidates[s].map((_, i) => i).slice(0, place.bars.most)
    return first.includes(written) ? first : [...first.slice(0, -1), written]
  }

  function paintBars(context, colours, s, p) {
    const { head } = view
    const { bars, z } = place
    if (!bars) return
    const { phase, part } = phaseAt(p)
    const grown = p >= 1 || phase === "back" ? 1 : phase === "bars" ? part : 0
    const { values, shape } = view.arrays.log_probs
    const first = bars.width * 0.44
    const second = Math.max(8 * z, bars.width - first - 62 * z)
    context.textBaseline = "middle"
    context.font = sans(12 * z)
    context.textAlign = "left"
    context.fillStyle = colours.one("muted")
    context.fillText(
      shorten(context, `of ${head.vocabulary.toLocaleString("en")} tokens`, bars.width),
      bars.x,
      bars.y - 12 * z,
    )
    if (!grown) return
    barsOf(s).forEach((i, n) => {
      const token = head.candidates[s][i]
      const y = bars.y + (n + 0.5) * bars.row
      const share = exponential(values[s * shape[1] + i])
      const written = i === head.written[s]
      context.font = mono(13 * z, written ? 600 : 400)
      context.textAlign = "right"
      context.fillStyle = colours.one(written ? "text" : "muted")
      context.fillText(isolated(shorten(context, head.tokens[token].text, first - 8 * z)), bars.x + first - 8 * z, y)
      context.fillStyle = colours.one(written ? "target-ink" : "muted")
      if (Number.isNaN(share)) dotted(context, colours, bars.x + first, y - 5 * z, second * grown, 10 * z)
      else context.fillRect(bars.x + first, y - 5 * z, Math.max(1, second * share * grown), 10 * z)
      if (grown < 1) return
      context.fillStyle = colours.one(written ? "target-ink" : "muted")
      context.font = mono(12 * z)
      context.textAlign = "left"
      context.fillText(Number.isNaN(share) ? "NaN" : percent(share), bars.x + first + second + 6 * z, y)
    })
  }

  /** The answer so far; what is to come is pale. */
  function paintAnswer(context, colours, s, p) {
    const { head } = view
    const { answer, z } = place
    if (!answer) return
    const there = p >= 1 || phaseAt(p).phase === "back" ? s + 1 : s
    const all = onOneLine(head.answer)
    const written = there ? [...all].slice(0, head.ends[there - 1]).join("") : ""
    // while it is played what is to come is not there yet, nor where a text runs from the right
    const text = view.playing || isolated(all) !== all ? written : all
    const y = answer.y + LARGEST * z
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    const [x, size] = place.bands.length > 1 ? titled(context, colours, all, y) : goesOn(context, colours, answer, y)
    context.font = mono(size)
    const room = answer.x + answer.width - x
    const lines = wrapped(context, text, room)
    let [line, begun] = [0, 0]
    const starts = lines.map((each) => {
      const start = text.indexOf(each, begun)
      begun = start + each.length
      return start
    })
    while (line + 1 < lines.length && starts[line + 1] < written.length) line++
    const own = lines[line].slice(0, Math.max(0, written.length - starts[line]))
    const strong = line ? `…${own}` : own
    context.fillStyle = colours.one("text")
    context.fillText(isolated(strong), x, y)
    if (own.length === lines[line].length) return
    const from = x + context.measureText(strong).width
    context.fillStyle = colours.one("muted")
    context.globalAlpha = TO_COME
    const rest = lines[line].slice(own.length)
    context.fillText(line < lines.length - 1 ? shorten(context, `${rest} …`, x + room - from) : rest, from, y)
    context.globalAlpha = 1
  }

  /** What the answer is called, and behind it the largest size in which all of it has room. */
  function titled(context, colours, text, y) {
    const { answer, z } = place
    context.font = sans(14 * z, 600)
    context.fillStyle = colours.one("target-ink")
    context.fillText("the answer", answer.x, y)
    const x = answer.x + context.measureText("the answer").width + 14 * z
    context.font = mono(LARGEST * z)
    const fits = (LARGEST * z * (answer.x + answer.width - x)) / Math.max(1, context.measureText(text).width)
    return [x, Math.min(LARGEST * z, Math.max(SMALLEST * z, fits))]
  }

  /** The end of the text that an answer goes on from; where that begins, and its size. */
  function goesOn(context, colours, { x, width }, y) {
    const size = NAME * place.z
    context.font = mono(size)
    const text = onOneLine(view.head.text).trimEnd()
    const most = Math.floor((width * GIVEN) / context.measureText("0").width)
    const signs = signsOf(text)
    const said = signs.length > most ? `…${signs.slice(1 - most).join("")}` : text
    context.fillStyle = colours.one("target-ink")
    context.fillText(isolated(said), x, y)
    return [said ? x + context.measureText(`${said} `).width : x, size]
  }

  /** The way of what is written back to the left. */
  function paintBack(context, colours, s, p) {
    const { head } = view
    const { bars, z, base: bottom } = place
    const band = place.bands[place.bands.length - 1]
    const { phase, part } = phaseAt(p)
    if (!bars || s + 1 >= view.steps()) return
    const token = head.candidates[s][head.written[s]]
    const y = bars.y + (barsOf(s).indexOf(head.written[s]) + 0.5) * bars.row
    const right = bars.x + bars.width - 2 * z
    const left = band.left - 12 * z
    const end = band.left - 3 * z // not at the name that is read
    const to = laneOf(band, view.rowAt(s + 1))
    /** @type {[number, number][]} */
    const way = [
      [right, y],
      [right, bottom],
      [left, bottom],
      [left, to],
      [end, to],
    ]
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1.5
    context.beginPath()
    context.moveTo(right, bars.y + bars.row * (barsOf(s).length + 0.25))
    for (const [x, each] of way.slice(1)) context.lineTo(x, each)
    context.lineTo(end - 4 * z, to - 3 * z)
    context.moveTo(end, to)
    context.lineTo(end - 4 * z, to + 3 * z)
    context.stroke()
    context.font = sans(12 * z)
    context.textAlign = "center"
    context.fillStyle = colours.one("muted")
    context.fillText("what is written is read at the next step", (left + right) / 2, bottom - 5 * z)
    if (p >= 1 || phase !== "back") return
    const [x, fallen] = alongWay(way, part)
    context.font = mono(14 * z, 600)
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.fillStyle = colours.one("target-ink")
    context.fillText(isolated(shorten(context, head.tokens[token].text, 120 * z)), x, fallen)
  }

  // ---- where things are

  function lay(width, height, ruler) {
    const { head, arrays, z } = view
    ruler.font = mono(14 * z, 600)
    const measured = ruler.measureText("0").width // another one when its font has come
    if (widths.of !== measured) widths = { of: measured, by: new Map() }
    const widest = ({ name, tokens }) => {
      if (!widths.by.has(name))
        widths.by.set(
          name,
          tokens.reduce((most, { text }) => Math.max(most, ruler.measureText(text).width), 24 * z),
        )
      return widths.by.get(name)
    }
    const most = Math.max(NARROWEST_NAME * z, Math.min(WIDEST_NAME * z, WIDEST_SHARE * width))
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
    place = placeWhole(asked)
    if (asked.answer && head.text && isCrowded(place.bands[0])) place = placeWhole({ ...asked, text: true })
  }

  /** The layer that is looked at: its sub-layers with what they take, and the stream behind them. */
  function boxOf() {
    const { stack, part } = siteOf(view.head, view.chosen)
    const band = place.bands.find(({ name }) => name === stack.name)
    const mine = band.blocks.filter(({ layer }) => layer === part.layer)
    const [first, last] = [mine[0], mine[mine.length - 1]]
    const x = startOf(first)
    return {
      x,
      y: band.top - 20 * place.z,
      width: last.x + last.width - x,
      height: band.bottom - band.top + 20 * place.z,
    }
  }

  // ---- words

  /** What happens now, in one sentence. */
  function sentence() {
    const { head, arrays, hovered, walked } = view
    const stack = lastStack()
    const s = view.step()
    const row = view.rowAt(s)
    if (hovered?.block) return partSentence(head, arrays, stackOf(hovered.band), hovered.block.index, hovered.lane)
    if (hovered?.strip) return streamSentence(stackOf(hovered.band), hovered.strip.point, hovered.lane)
    if (walked !== null) return story(head, arrays, stack, view.writes() ? row : view.rowOf(stack))[walked]
    if (!view.writes()) return readSentence(stack)
    if (view.reading !== null)
      return `The text is read once: ${head.stacks[0].tokens.length} tokens, all at the same time.`
    const p = view.flown
    if (p === 1) return stepSentence(head, arrays, s, stack.tokens[row])
    const { phase } = phaseAt(p)
    if (phase === "embed") return inputSentence(stack, row, `position.${stack.name}` in arrays)
    if (phase !== "layers") return writtenSentence(head, arrays, s)
    const front = frontIn(place.bands[place.bands.length - 1], p)
    const block = place.bands[place.bands.length - 1].blocks.filter((each) => startOf(each) <= front).at(-1)
    return block ? partSentence(head, arrays, stack, block.index, row) : inputSentence(stack, row, true)
  }

  /** How far a step has come in a band. */
  const frontIn = (band, p) =>
    p >= 1
      ? Infinity
      : frontAt(p, { from: band.token.x, input: band.strips[0].x + band.strips[0].width, end: band.end })

  return {
    lay,
    boxOf,
    sentence,
    paintStill,
    paintNow,
    /** What is looked at, in figures. */
    facts: () => lookedAt()?.facts ?? [],
    size: () => ({ width: place.width, height: place.height }),
    /** What the still picture depends on, beside its size and colours. */
    state: () =>
      [
        view.writes() ? view.step() : view.rowOf(lastStack()),
        view.chosen.kind,
        view.chosen.layer,
        view.chosen.i,
        view.playing,
        view.reading !== null,
        place?.answer !== null,
      ].join(),
    sentences() {
      const { head, arrays } = view
      const all = story(head, arrays, lastStack(), view.rowOf(lastStack()))
      return view.writes() ? [...all, writtenSentence(head, arrays, view.step())] : all
    },
    at(x, y) {
      const found = wholeAt(place, x, y)
      const written = found?.band.name === "decoder" && view.writes()
      return found && written ? { ...found, lane: view.rowAt(view.step()), pointed: found.lane } : found
    },
    update() {
      most = {}
      widths.of = 0
      for (const [name, { values, shape }] of Object.entries(view.arrays)) {
        if (!/^(token|position|stream)\./.test(name)) continue
        const columns = shape.length === 3 ? shape[0] : 1
        const size = values.length / columns
        most[name] = Array.from({ length: columns }, (_, n) => largestIn(values.subarray(n * size, (n + 1) * size)))
      }
    },
    isShort: () => isShort,
    /** How far this step has come through a layer: 0 before it, 1 behind it. */
    through({ stack, part }) {
      if (stack !== lastStack()) return 1
      const band = place.bands[place.bands.length - 1]
      const mine = band.blocks.filter(({ layer }) => layer === part.layer)
      const [from, to] = [startOf(mine[0]), mine[mine.length - 1].x + mine[mine.length - 1].width]
      return Math.min(Math.max((frontIn(band, view.flown) - from) / (to - from), 0), 1)
    },
  }
}
