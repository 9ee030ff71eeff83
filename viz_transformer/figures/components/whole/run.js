import { dotted, ring } from "../parts/marks.js"
import { exponential, percent } from "../parts/numbers.js"
import { isolated, mono, onOneLine, sans, shorten, signsOf, sizeFor, wrapped, wrappedTo } from "../parts/text.js"
import { alongWay, frontAt, phaseAt } from "../parts/whole_flight.js"
import { siteOf } from "../parts/whole_levels.js"
import { leastName, namedAmong } from "../parts/whole_names.js"
import { laneOf, lanesFor, placeWhole, wholeAt } from "../parts/whole_places.js"
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
import { drawCells, drawStrip, drawWay, largestIn, signedLevels } from "./draw.js"

// The first level: the whole run, from the text to the answer. `view` says what is looked at: whole.js has it.

const PAST = 0.3 // how strong the steps before this one are
const LANES = { encoder: 0.85, decoder: 0.95 } // of a lane's height is what all ribbons of a row have together
const THINNEST = 10
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
  let widths = { of: 0, by: new Map() } // of the widest token of each stack

  const lastStack = () => view.head.stacks[view.head.stacks.length - 1]
  const stackOf = (band) => view.head.stacks.find(({ name }) => name === band.name)
  const scaleOf = (part) => (view.head.head === null ? "derived" : part.kind)
  /** How wide all that a row of the decoder takes is together. */
  const thickOf = (band) => Math.max(THINNEST * place.z, band.lane * LANES.decoder)
  const startOf = ({ x, ribbon }) => ribbon?.[0] ?? x
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

  /** How large the names of a band's tokens are, and which have one, with that of the last of so many rows first. */
  function names(band, rows) {
    const { z } = place
    const least = leastName(z)
    const size = Math.min(14 * z, Math.max(band.lane * 0.82, least))
    return { size, named: namedAmong(rows, band.lane, band.lane * 0.82 < least ? size : 0, [rows - 1]) }
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
  function ribbons(context, colours, band, block, row, thick, grown, alpha) {
    const part = stackOf(band).parts[block.index]
    const keys = part.kind === "cross" ? place.bands.find(({ name }) => name === "encoder") : band
    const weights = strongestIn(view.arrays, part.kind, part.layer, row)
    const { ribbons: found, rest, restAt } = ribbonsOf(weights, LEAST)
    const [x0, x1] = block.ribbon
    const y = laneOf(band, row)
    if (isUnknown(weights)) {
      const tall = Math.min(thick, Math.max(1, band.lane - 1))
      dotted(context, colours, x0, y - tall / 2, (x1 - x0) * grown, tall)
    }
    const middle = (x0 + x1) / 2
    const falls = keys !== band // from one band to the other
    const draw = (from, to, width, opacity) => {
      const [x, y] = falls
        ? [
            [x0, x0, x0, x1],
            [from, to - thick, to, to],
          ]
        : [
            [x0, middle, middle, x1],
            [from, from, to, to],
          ]
      const [[a, b, c], [d, e, f]] = [splitAt(...x, grown), splitAt(...y, grown)]
      context.globalAlpha = opacity
      context.lineWidth = Math.max(0.6, width)
      context.beginPath()
      context.moveTo(x0, from)
      context.bezierCurveTo(a, d, b, e, c, f)
      context.stroke()
    }
    context.strokeStyle = colours.one(`${scaleOf(part)}-4`)
    for (const { key, weight, at: place } of found) draw(laneOf(keys, key), y + place * thick, weight * thick, alpha)
    if (rest > 0) {
      context.strokeStyle = colours.one("line")
      const last = keys.name === "decoder" ? row : keys.count - 1
      draw((laneOf(keys, 0) + laneOf(keys, last)) / 2, y + restAt * thick, rest * thick, alpha * 0.8)
    }
    context.globalAlpha = 1
    return rest
  }

  /** The outlines of a band's sub-layers, around so many rows. */
  function outlines(context, colours, band, rows) {
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1
    for (const { x, width } of band.blocks) context.strokeRect(x, band.top, width, Math.max(1, rows) * band.lane)
  }

  /** What stands over the columns of a band, on a ground of its own: ribbons may cross it. */
  function headings(context, colours, band) {
    const stack = stackOf(band)
    const { z } = place
    /** Centred over its columns, or, where a ribbon falls beside them, in front of it (`before`) or behind it (`behind`). */
    const there = []
    const heading = (from, to, text, up, spare, { before = Infinity, behind = -Infinity, ink = "muted" } = {}) => {
      const width = context.measureText(text).width
      if (width > to - from + spare * z) return false
      const x = Math.max(Math.min(from + (to - from - width) / 2, before - width), behind)
      if (there.some((each) => each.up === up && x < each.end + 4 * z && x + width > each.x - 4 * z)) return false
      there.push({ up, x, end: x + width })
      context.fillStyle = colours.one("page")
      context.fillRect(x - 2, band.top - (up + 11) * z, width + 4, 14 * z)
      context.fillStyle = colours.one(ink)
      context.fillText(text, x, band.top - up * z)
      return true
    }
    const half = thickOf(band) / 2 + 4 * z
    const falls = (layer) => {
      const cross = band.blocks.find((block) => block.layer === layer && block.part === "cross")
      return cross ? { before: cross.ribbon[0] - half, behind: cross.ribbon[0] + half } : {}
    }
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans(14 * z, 600)
    context.fillStyle = colours.one(stack.ink)
    context.fillText(stack.name, band.left, band.top - 30 * z)
    context.font = sans(12 * z)
    if (band.position) heading(band.token.x, band.strips[0].x + band.strips[0].width, "input", 6, 8)
    const last = (part) => ["cross", "self", "ffn"].indexOf(part) // of two that have no room beside each other
    const higher = [] // that have their names beside their ribbons, where there is none over their block
    for (const block of band.blocks.toSorted((a, b) => last(a.part) - last(b.part))) {
      const { before, behind } = falls(block.layer)
      const beside = block.part === "self" ? { before } : { behind }
      const to = block.x + block.width
      const where = block.part === "ffn" ? {} : beside
      const crowded = block.part === "cross" && behind + context.measureText(SHORT.cross).width > to + 6 * z
      const centred = (startOf(block) + to - context.measureText(LONG[block.part]).width) / 2
      const bent = block.part === "cross" && centred < behind + 16 * z // a ribbon that falls beside it turns there
      const whole = !crowded && !bent && heading(startOf(block), to, LONG[block.part], 6, -6, where)
      if (whole || (!crowded && heading(startOf(block), to, SHORT[block.part], 6, 2, where))) continue
      if (block.part === "cross") higher.push(block)
    }
    for (let layer = 0; layer < stack.layers; layer++) {
      const mine = band.blocks.filter((block) => block.layer === layer)
      const end = mine[mine.length - 1].x + mine[mine.length - 1].width
      const { before } = falls(layer)
      if (!heading(startOf(mine[0]), end, `layer ${layer}`, 22, 0, { before }))
        heading(startOf(mine[0]), end, String(layer), 22, 8, { before })
    }
    const ink = view.head.head === null ? "muted" : "cross-ink"
    for (const { layer } of higher) {
      const { behind } = falls(layer)
      const to = behind + context.measureText(SHORT.cross).width
      if (to <= (falls(layer + 1).before ?? Infinity)) heading(behind, to, SHORT.cross, 38, 0, { behind, ink })
    }
    const { x, width } = band.strips[band.strips.length - 1]
    if (band.name === "encoder" && place.bands.length > 1) {
      if (!heading(x, x + width, "memory", 22, 60)) heading(x, x + width, "memory", 36, 60)
    } else if (stack.final) heading(x, x + width, "norm", 6, 30)
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

  /** All that this step leaves as it is: the encoder, and faint what earlier steps have kept. */
  function paintStill(context) {
    const colours = view.paper()
    const s = view.step()
    for (const band of place.bands) {
      const written = band.name === "decoder"
      const rows = written && view.writes() ? view.rowAt(s) : band.count
      outlines(context, colours, band, written && view.writes() ? rows + 1 : rows)
      if (!(written && view.writes())) headings(context, colours, band)
      const memory = !written && place.bands.length > 1
      const chosen = view.writes() ? -1 : view.rowOf(stackOf(band)) // where nothing is written, one token is looked at
      const { size, named } = names(band, written && view.writes() ? rows + 1 : rows)
      if (memory && view.head.text && named.size < rows) reads(context, colours, band)
      for (let row = 0; row < rows; row++) {
        context.globalAlpha = written && view.writes() ? PAST : 1
        if (band.lane >= LINED) laneLine(context, colours, band, row, memory ? lastRibbon() : band.end)
        if (named.has(row) || row === chosen) label(context, colours, band, row, size, row === chosen)
        shares(context, colours, "muted", band, row)
        if (band.lane >= LINED) strips(context, colours, band, row)
        if (band.lane >= SIGNED * place.z) signs(context, colours, band, laneOf(band, row))
      }
      if (band.lane < LINED && rows) allStrips(context, colours, band, rows)
      context.globalAlpha = 1
      if (band.lane < SIGNED * place.z && !(written && view.writes()))
        signs(context, colours, band, band.top + (rows * band.lane) / 2)
      if (written && view.writes()) continue
      for (const block of band.blocks)
        if (block.ribbon)
          for (let row = 0; row < band.count; row++)
            if (row !== chosen)
              ribbons(context, colours, band, block, row, band.lane * LANES.encoder, 1, chosen < 0 ? 0.5 : 0.2)
    }
  }

  /** The whole text, where not every token has its name beside its lane. */
  function reads(context, colours, band) {
    const { z } = place
    const x = band.end + 48 * z // beside what says memory
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans(14 * z, 600)
    context.fillStyle = colours.one("source-ink")
    context.fillText("the text", x, band.top - 30 * z)
    const from = x + context.measureText("the text").width + 12 * z
    context.font = mono(14 * z)
    context.fillStyle = colours.one("text")
    wrappedTo(context, onOneLine(view.head.text), place.width - from, 2).forEach((line, n) =>
      context.fillText(isolated(line), from, band.top - (30 - 19 * n) * z),
    )
  }

  /** Where the last sub-layer that reads the memory begins to. */
  function lastRibbon() {
    const readers = place.bands[1].blocks.filter(({ part }) => part === "cross")
    return readers.length ? readers[readers.length - 1].ribbon[0] : place.bands[0].end
  }

  /** Of a run that writes nothing, what the token that is looked at takes, in each layer. */
  function paintRead(context, colours, band) {
    const row = view.rowOf(stackOf(band))
    for (const block of band.blocks)
      if (block.ribbon) ribbons(context, colours, band, block, row, band.lane * LANES.encoder, 1, 0.9)
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
    const { z } = place
    const front = frontIn(band, p)
    context.fillStyle = colours.one("surface")
    context.fillRect(band.left, band.top + row * band.lane, Math.min(front, band.end) - band.left, band.lane)
    laneLine(context, colours, band, row, Math.min(front, band.end))
    label(context, colours, band, row, Math.max(names(band, row + 1).size, 12 * z), true)
    strips(context, colours, band, row, front)
    signs(context, colours, band, laneOf(band, row), front)
    shares(context, colours, "text", band, row, front)
    const thick = thickOf(band)
    const rests = []
    for (const block of band.blocks) {
      if (!block.ribbon || front <= block.ribbon[0]) continue
      const grown = Math.min(1, (front - block.ribbon[0]) / (block.ribbon[1] - block.ribbon[0]))
      const rest = ribbons(context, colours, band, block, row, thick, grown, 0.9)
      if (rest > 0 && grown >= 1) rests.push([block, rest])
    }
    headings(context, colours, band)
    for (const block of band.blocks)
      if (block.part === "cross" && front > block.x) takenFrom(context, colours, block, row)
    context.font = sans(12 * z)
    context.textAlign = "center"
    context.textBaseline = "top"
    context.fillStyle = colours.one("muted")
    for (const [block, rest] of rests) {
      const [x0, x1] = block.ribbon
      const share = percent(Math.min(rest, 1), 0) // a sum of shares, which rounding may lift above all
      const text = share.startsWith(">") ? share : `+ ${share}`
      if (context.measureText(text).width <= x1 - x0 + 12 * z)
        context.fillText(text, (x0 + x1) / 2, laneOf(band, row) + thick / 2 + 2 * z)
    }
    paintBars(context, colours, s, p)
    paintAnswer(context, colours, s, p)
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
    const front = band.token.x + part * (place.width - band.token.x)
    context.globalAlpha = VEIL
    context.fillStyle = colours.one("page")
    context.fillRect(front, band.top - 2, place.width - front, band.bottom - band.top + 4)
    context.globalAlpha = 1
    context.strokeStyle = colours.one("source-ink")
    context.lineWidth = 2
    if (front < band.end)
      drawWay(context, [
        [front, band.top - 2],
        [front, band.bottom + 2],
      ])
  }

  /** The names of the source tokens that a cross-attention takes most of, where its ribbons begin. */
  function takenFrom(context, colours, block, row) {
    const encoder = place.bands.find(({ name }) => name === "encoder")
    const { z } = place
    const size = 13 * z
    const { keys, weights } = strongestIn(view.arrays, "cross", block.layer, row)
    const taken = Array.from(keys, (key, n) => ({ key, weight: weights[n] }))
      .filter(({ weight }) => weight >= NAMED)
      .sort((a, b) => b.weight - a.weight)
    const next = place.bands[1].blocks.find(({ part, x }) => part === "cross" && x > block.x)
    const room = next ? next.ribbon[0] - block.ribbon[0] - 10 * z - thickOf(place.bands[1]) / 2 : Infinity
    context.font = mono(size, 600)
    context.textAlign = "left"
    context.textBaseline = "middle"
    const there = []
    for (const { key } of taken) {
      const [x, y] = [block.ribbon[0] + 10 * z, laneOf(encoder, key)]
      if (there.some((other) => Math.abs(other - y) < size)) continue
      there.push(y)
      const text = isolated(shorten(context, stackOf(encoder).tokens[key].text, 90 * z))
      if (context.measureText(text).width > room) continue
      context.fillStyle = colours.one("page")
      context.fillRect(x - 2, y - size / 2, context.measureText(text).width + 4, size)
      context.fillStyle = colours.one("source-ink")
      context.fillText(text, x, y)
    }
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

  /** The end of the text that an answer goes on from; how wide it is. */
  function goesOn(context, colours, { x, y, width }, size) {
    const text = onOneLine(view.head.text).trimEnd()
    const most = Math.floor((width * GIVEN) / context.measureText("0").width)
    const signs = signsOf(text)
    const said = signs.length > most ? `…${signs.slice(1 - most).join("")}` : text
    context.fillStyle = colours.one("target-ink")
    context.fillText(isolated(said), x, y + size)
    return said ? context.measureText(`${said} `).width : 0
  }

  /** The answer so far, and the way back to the left. */
  function paintAnswer(context, colours, s, p) {
    const { head } = view
    const { answer, bars, z, base: bottom } = place
    const band = place.bands[place.bands.length - 1]
    const { phase, part } = phaseAt(p)
    const there = p >= 1 || phase === "back" ? s + 1 : s
    const all = onOneLine(head.answer)
    const written = there ? [...all].slice(0, head.ends[there - 1]).join("") : ""
    // what is to come is pale; while it is played it is not there yet, nor where a text runs from the right
    const text = view.playing || isolated(all) !== all ? written : all
    const two = place.bands.length > 1
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    if (two) {
      context.font = sans(14 * z, 600)
      context.fillStyle = colours.one("target-ink")
      context.fillText("the answer", answer.x, answer.y + 16 * z)
    }
    context.font = mono(LARGEST * z)
    const size = two ? sizeFor(context, all, answer.width, SMALLEST * z, LARGEST * z) : 14 * z
    context.font = mono(size)
    const read = two ? 0 : goesOn(context, colours, answer, size)
    const lines = wrapped(context, text, answer.width - read)
    const room = two ? Math.max(1, Math.floor((answer.height - 30 * z) / (size * 1.4))) : 1
    let begun = 0
    const starts = lines.map((line) => {
      const start = text.indexOf(line, begun)
      begun = start + line.length
      return start
    })
    const reached = starts.filter((start) => start < written.length).length
    const first = Math.min(Math.max(0, reached - room), Math.max(0, lines.length - room))
    lines.slice(first, first + room).forEach((line, n) => {
      const y = answer.y + (two ? 24 * z : 0) + (n + 1) * size * 1.4 - size * 0.4
      const own = line.slice(0, Math.max(0, written.length - starts[first + n]))
      const strong = n === 0 && first ? `…${own}` : own
      context.fillStyle = colours.one("text")
      context.fillText(isolated(strong), answer.x + read, y)
      if (own.length === line.length) return
      const x = answer.x + read + context.measureText(strong).width
      context.fillStyle = colours.one("muted")
      context.globalAlpha = TO_COME
      const rest = line.slice(own.length)
      const isCut = first + n < lines.length - 1 && n === room - 1
      const end = answer.x + answer.width
      context.fillText(isCut ? shorten(context, `${rest} …`, end - x) : rest, x, y)
      context.globalAlpha = 1
    })
    if (!bars || s + 1 >= view.steps()) return
    const token = head.candidates[s][head.written[s]]
    const y = bars.y + (barsOf(s).indexOf(head.written[s]) + 0.5) * bars.row
    const right = bars.x + bars.width - 2 * z
    const left = band.left - 10 * z
    const to = laneOf(band, view.rowAt(s + 1))
    /** @type {[number, number][]} */
    const way = [
      [right, y],
      [right, bottom],
      [left, bottom],
      [left, to],
      [band.left, to],
    ]
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1.5
    context.beginPath()
    context.moveTo(right, bars.y + bars.row * (barsOf(s).length + 0.25))
    for (const [x, each] of way.slice(1)) context.lineTo(x, each)
    context.lineTo(band.left - 4 * z, to - 3 * z)
    context.moveTo(band.left, to)
    context.lineTo(band.left - 4 * z, to + 3 * z)
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
      if (!widths.by.has(name)) {
        const most = tokens.reduce((most, { text }) => Math.max(most, ruler.measureText(text).width), 24 * z)
        widths.by.set(name, Math.min(96 * z, most))
      }
      return widths.by.get(name)
    }
    place = placeWhole({
      z,
      width,
      height,
      top: 8 * z,
      bars: view.writes(),
      stacks: head.stacks.map((stack) => ({
        name: stack.name,
        count: stack.tokens.length,
        ...(stack.name === "decoder" &&
          view.writes() && { lanes: lanesFor(view.rowAt(view.step()) + 1, stack.tokens.length) }),
        layers: stack.layers,
        parts: stack.parts,
        positions: `position.${stack.name}` in arrays,
        sums: stack.sums,
        final: stack.final,
        widest: widest(stack),
      })),
    })
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
    state: () => (view.writes() ? view.step() : view.rowOf(lastStack())),
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

/** The first part of a Bézier curve in one coordinate: its two inner points and its end. */
function splitAt(a, b, c, d, t) {
  const between = (from, to) => from + (to - from) * t
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)]
  const [abc, bcd] = [between(ab, bc), between(bc, cd)]
  return [ab, abc, between(abc, bcd)]
}
