import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { announcer, element } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { openWhy } from "./parts/leads.js"
import { ring } from "./parts/marks.js"
import { isStill } from "./parts/motion.js"
import { exponential, percent } from "./parts/numbers.js"
import { selection } from "./parts/selection.js"
import { mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { isolated, mono, ofPlaces, quoted, sans, shorten, wrapped } from "./parts/text.js"
import { advance, alongWay, frontAt, phaseAt } from "./parts/whole_flight.js"
import { laneOf, placeWhole, ribbonsOf, wholeAt } from "./parts/whole_places.js"
import { inputSentence, LEAST, partSentence, rowOf, story, writtenSentence } from "./parts/whole_words.js"

/** @import { WholeHeader, WholePart } from "./parts/types.js" */

// The whole run in one picture. Header: {title, caption, name, height, head, stacks: {name, ink, field, tokens, padded, parts:
// {layer, part, kind, heads}, layers, features, final}, first_row, vocabulary, tokens, candidates: places in tokens by step,
// written: places in candidates}; arrays: token.S, position.S [T, samples], stream.S [points, T, samples], share.S
// [sub-layers, T] of each stack S; weights.K [layers, Q, K] of each kind of attention; log_probs [steps, most candidates].

const SETTLE = 250
const PAST = 0.3 // how strong the steps before this one are
const LANES = { encoder: 0.85, decoder: 0.95 } // of a lane's height is what all ribbons of a row have together
const WIDE = 900 // from here on what happens is said in one line
const THINNEST = 10
const NAMED = 0.15 // ribbons from here on say where they come from
const SHORT = { self: "self", cross: "cross", ffn: "ff" }

export default (component) => mount(component, "whole", makeWhole)

function makeWhole(root) {
  const stage = element("div", "stage")
  const [base, over] = [element("canvas", "base"), element("canvas", "over")]
  const now = element("p", "now")
  const bar = element("div", "bar")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  const controls = playerControls(
    { back: "Previous step", play: "Play the steps", next: "Next step", slider: "Step" },
    { move: (by) => step(at() + by), toggle, choose: step },
  )
  bar.append(
    controls.box,
    exports(root, {
      draw: (context) => {
        paintStill(context)
        paintNow(context, 1)
      },
      size: () => ({ width: place.width, height: place.height }),
      caption: () =>
        `${head.caption}; each column of the stream is drawn by ${samples()} of ${head.stacks[0].features} numbers`,
      name: () => head.name,
    }),
  )
  root.append(stage, now, bar)
  const announce = announcer(root)
  /** @type {WholeHeader} */
  let head
  let arrays, place, most, painted
  let moment = null // {t: step, p}, while it plays; without motion all of a step is there at once
  let frames = 0
  let earlier = 0
  let hovered = null // {band, lane, block}
  let walked = null // the sub-layer of the walk by keys, in the order of the story

  // ---- what is shown

  const steps = () => head.candidates.length
  const lastStack = () => head.stacks[head.stacks.length - 1]
  const stackOf = (band) => head.stacks.find(({ name }) => name === band.name)
  const samples = () => arrays[`stream.${head.stacks[0].name}`].shape[2]
  const writes = () => steps() > 0
  /** The step that is shown, the first or the last where the selection is beside them. */
  const at = () => {
    if (!writes()) return 0
    const chosen = selection.chosen[lastStack().field] ?? head.first_row
    return Math.min(Math.max(chosen - head.first_row, 0), steps() - 1)
  }
  const rowAt = (s) => head.first_row + s
  const scaleOf = (part) => (head.head === null ? "derived" : part.kind)

  function step(to) {
    const next = Math.min(Math.max(to, 0), steps() - 1)
    stop()
    if (next !== at()) pick(next, SETTLE)
    announce(story(head, arrays, lastStack(), rowAt(next)).join(" "))
  }
  const pick = (s, settle) => selection.pick({ [lastStack().field]: rowAt(s) }, settle)

  // ---- playing

  function stop() {
    cancelAnimationFrame(frames)
    frames = 0
    moment = null
    selection.plays(false)
    if (place) made.draw()
  }

  function toggle() {
    if (frames) {
      stop()
      pick(at(), SETTLE)
      return
    }
    if (!writes()) return
    const first = at() >= steps() - 1 ? 0 : at()
    moment = { t: first, p: 0 }
    selection.plays(true)
    pick(first, 1e4)
    earlier = performance.now()
    frames = requestAnimationFrame(fly)
    made.draw()
  }

  function fly(time) {
    if (!root.isConnected) return
    const next = advance(moment, Math.min(Math.max(time - earlier, 0), 100), steps() - 1) // a frame may have begun before
    earlier = time
    if (next.over) {
      stop()
      pick(steps() - 1, SETTLE)
      return
    }
    const turned = next.t !== moment.t
    moment = next
    if (turned) pick(next.t, 1e4)
    made.draw()
    frames = requestAnimationFrame(fly)
  }

  /** How much of the step is there. */
  const flown = () => (moment && !isStill() ? moment.p : 1)

  // ---- painting

  const paper = () => colours(root)

  /** One vector as a strip of its samples, from the least to the largest of its column. */
  function strip(context, ink, { x, width }, y, height, values, from, count, largest) {
    const each = width / count
    for (let i = 0; i < count; i++) {
      context.fillStyle = ink.css(0.5 + values[from + i] / (2 * largest))
      context.fillRect(x + i * each, y, each + 0.5, height)
    }
  }

  /** The strips of one row of a band, those that begin left of the front. */
  function strips(context, ink, band, row, front = Infinity) {
    const count = samples()
    const [y, height] = [band.top + row * band.lane + 0.5, Math.max(1, band.lane - 1)]
    const stream = arrays[`stream.${band.name}`]
    const [, rows] = stream.shape
    const one = (name, column) => {
      if (!column || column.x > front) return
      strip(context, ink, column, y, height, arrays[name].values, row * count, count, most[name][0])
    }
    if (band.position) one(`token.${band.name}`, band.token)
    one(`position.${band.name}`, band.position)
    for (const column of band.strips)
      if (column.x <= front) {
        const from = (column.point * rows + row) * count
        strip(context, ink, column, y, height, stream.values, from, count, most[`stream.${band.name}`][column.point])
      }
  }

  /** What each sub-layer adds at one row. */
  function shares(context, colour, band, row, front = Infinity) {
    const { values, shape } = arrays[`share.${band.name}`]
    const height = Math.max(1, band.lane - 2)
    context.fillStyle = colour
    for (const block of band.blocks) {
      if (block.x > front) continue
      const share = values[block.index * shape[1] + row]
      if (share > 0) context.fillRect(block.x, band.top + row * band.lane + 1, block.width * share, height)
    }
  }

  function label(context, colours, band, row, strong) {
    const { tokens, ink, padded } = stackOf(band)
    const size = Math.min(14 * place.z, Math.max(band.lane * 0.82, strong ? 12 * place.z : 0))
    if (size < 7 * place.z) return
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
    const { ribbons: found, rest, restAt } = ribbonsOf(rowOf(arrays[`weights.${part.kind}`], part.layer, row), LEAST)
    const [x0, x1] = block.ribbon
    const y = laneOf(band, row)
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

  /** The outlines of a band's sub-layers. */
  function outlines(context, colours, band) {
    context.strokeStyle = colours.one("line")
    context.lineWidth = 1
    for (const { x, width } of band.blocks) context.strokeRect(x, band.top, width, band.bottom - band.top)
  }

  /** What stands over the columns of a band, on a ground of its own: ribbons may cross it. */
  function headings(context, colours, band) {
    const stack = stackOf(band)
    const { z } = place
    /** Centred over its columns; `side` puts it to their left (-1) or right (1) end, beside a ribbon that falls. */
    const heading = (from, to, text, up, spare = 8, side = 0) => {
      const width = context.measureText(text).width
      if (width > to - from + spare * z) return false
      const x = from + ((to - from - width) * (1 + side)) / 2
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
    if (band.position) heading(band.token.x, band.strips[0].x + band.strips[0].width, "input", 6)
    for (const block of band.blocks)
      heading(startOf(block), block.x + block.width, SHORT[block.part], 6, 2, block.part === "cross" ? 1 : 0)
    for (let layer = 0; layer < stack.layers; layer++) {
      const mine = band.blocks.filter((block) => block.layer === layer)
      const end = mine[mine.length - 1].x + mine[mine.length - 1].width
      if (!heading(startOf(mine[0]), end, `layer ${layer}`, 22, 0, -1))
        heading(startOf(mine[0]), end, String(layer), 22)
    }
    const { x, width } = band.strips[band.strips.length - 1]
    if (band.name === "encoder" && place.bands.length > 1) heading(x, x + width, "memory", 36, 60)
    else if (stack.final) heading(x, x + width, "norm", 6, 30)
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
    const colours = paper()
    const ink = colours.scale("diverging")
    const s = moment?.t ?? at()
    if (head.title) {
      context.font = sans(16 * place.z, 600)
      context.textAlign = "left"
      context.textBaseline = "alphabetic"
      context.fillStyle = colours.one("text")
      context.fillText(shorten(context, head.title, place.width / 2), 0, 18 * place.z)
    }
    context.font = sans(12 * place.z)
    context.textAlign = "right"
    context.textBaseline = "alphabetic"
    context.fillStyle = colours.one("muted")
    context.fillText(shorten(context, ribbonWords(), place.width * (head.title ? 0.5 : 0.8)), place.width, 18 * place.z)
    for (const band of place.bands) {
      outlines(context, colours, band)
      headings(context, colours, band)
      const written = band.name === "decoder"
      const rows = written && writes() ? rowAt(s) : band.count
      const memory = !written && place.bands.length > 1
      for (let row = 0; row < rows; row++) {
        context.globalAlpha = written && writes() ? PAST : 1
        laneLine(context, colours, band, row, memory ? lastRibbon() : band.end)
        label(context, colours, band, row, false)
        shares(context, colours.one("muted"), band, row)
        strips(context, ink, band, row)
      }
      context.globalAlpha = 1
      if (written && writes()) continue
      for (const block of band.blocks)
        if (block.ribbon)
          for (let row = 0; row < band.count; row++)
            ribbons(context, colours, band, block, row, band.lane * LANES.encoder, 1, 0.5)
    }
  }

  /** Where the last sub-layer that reads the memory begins to. */
  function lastRibbon() {
    const readers = place.bands[1].blocks.filter(({ part }) => part === "cross")
    return readers.length ? readers[readers.length - 1].ribbon[0] : place.bands[0].end
  }

  /** This step, as far as it has come. */
  function paintNow(context, p) {
    if (!writes()) return
    const colours = paper()
    const s = moment?.t ?? at()
    const row = rowAt(s)
    const band = place.bands[place.bands.length - 1]
    const { z } = place
    const input = band.strips[0].x + band.strips[0].width
    const front = p >= 1 ? Infinity : frontAt(p, { from: band.token.x, input, end: band.end })
    context.fillStyle = colours.one("surface")
    context.fillRect(band.left, band.top + row * band.lane, Math.min(front, band.end) - band.left, band.lane)
    laneLine(context, colours, band, row, Math.min(front, band.end))
    label(context, colours, band, row, true)
    strips(context, colours.scale("diverging"), band, row, front)
    shares(context, colours.one("text"), band, row, front)
    const thick = Math.max(THINNEST * z, band.lane * LANES.decoder)
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
    context.font = sans(11 * z)
    context.textAlign = "center"
    context.textBaseline = "top"
    context.fillStyle = colours.one("muted")
    for (const [block, rest] of rests) {
      const [x0, x1] = block.ribbon
      const text = `+ ${percent(rest, 0)}`
      if (context.measureText(text).width <= x1 - x0 + 12 * z)
        context.fillText(text, (x0 + x1) / 2, laneOf(band, row) + thick / 2 + 2 * z)
    }
    paintBars(context, colours, s, p)
    paintAnswer(context, colours, s, p)
    const passing =
      p < 1 && phaseAt(p).phase === "layers" && band.blocks.filter((block) => startOf(block) <= front).at(-1)
    const told = walked === null ? null : (band.blocks[walked - 1] ?? null)
    const marked = passing || (hovered?.block && hovered.band.name === band.name ? hovered.block : told)
    if (marked) outline(context, colours, band, marked)
    for (const each of place.bands)
      for (const block of each.blocks)
        if (isChosen(stackOf(each).parts[block.index]))
          ring(context, colours, block.x - 1, each.top - 1, block.width + 2, each.bottom - each.top + 2)
  }

  /** The names of the source tokens that a cross-attention takes most of, where its ribbons begin. */
  function takenFrom(context, colours, block, row) {
    const { layer } = block
    const encoder = place.bands.find(({ name }) => name === "encoder")
    const { z } = place
    const size = 13 * z
    const weights = rowOf(arrays["weights.cross"], layer, row)
    context.font = mono(size, 600)
    context.textAlign = "left"
    context.textBaseline = "middle"
    const taken = [...weights.keys()].filter((key) => weights[key] >= NAMED).sort((a, b) => weights[b] - weights[a])
    const there = []
    for (const key of taken) {
      const [x, y] = [block.ribbon[0] + 10 * z, laneOf(encoder, key)]
      if (there.some((other) => Math.abs(other - y) < size)) continue
      there.push(y)
      const text = isolated(shorten(context, stackOf(encoder).tokens[key].text, 90 * z))
      context.fillStyle = colours.one("page")
      context.fillRect(x - 2, y - size / 2, context.measureText(text).width + 4, size)
      context.fillStyle = colours.one("source-ink")
      context.fillText(text, x, y)
    }
  }

  const startOf = ({ x, ribbon }) => ribbon?.[0] ?? x

  function outline(context, colours, band, block) {
    context.strokeStyle = colours.one("text")
    context.lineWidth = 1.5
    context.strokeRect(block.x - 1, band.top - 1, block.width + 2, band.bottom - band.top + 2)
  }

  /** The candidates that have a bar: the most probable ones, and the one that is written. */
  function barsOf(s) {
    const written = head.written[s]
    const first = head.candidates[s].map((_, i) => i).slice(0, place.bars.most)
    return first.includes(written) ? first : [...first.slice(0, -1), written]
  }

  function paintBars(context, colours, s, p) {
    const { bars, z } = place
    if (!bars) return
    const { phase, part } = phaseAt(p)
    const grown = p >= 1 || phase === "back" ? 1 : phase === "bars" ? part : 0
    const { values, shape } = arrays.log_probs
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
      context.fillRect(bars.x + first, y - 5 * z, Math.max(1, second * share * grown), 10 * z)
      if (grown < 1) return
      context.font = mono(12 * z)
      context.textAlign = "left"
      context.fillText(percent(share), bars.x + first + second + 6 * z, y)
    })
  }

  /** The answer so far, and the way back to the left. */
  function paintAnswer(context, colours, s, p) {
    const { answer, bars, z, base: bottom } = place
    const band = place.bands[place.bands.length - 1]
    const { phase, part } = phaseAt(p)
    const there = p >= 1 || phase === "back" ? s + 1 : s
    const text = there
      ? [...head.answer]
          .slice(0, head.ends[there - 1])
          .join("")
          .replace(/\s/g, " ")
      : ""
    const two = place.bands.length > 1
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    if (two) {
      context.font = sans(14 * z, 600)
      context.fillStyle = colours.one("target-ink")
      context.fillText("the answer so far", answer.x, answer.y + 16 * z)
    }
    const size = (two ? 20 : 14) * z
    context.font = mono(size)
    context.fillStyle = colours.one("text")
    const lines = wrapped(context, text, answer.width)
    const room = two ? Math.max(1, Math.floor((answer.height - 30 * z) / (size * 1.4))) : 1
    const first = Math.max(0, lines.length - room)
    lines.slice(first).forEach((line, n) => {
      const shown = n === 0 && first ? `…${line}` : line
      context.fillText(isolated(shown), answer.x, answer.y + (two ? 24 * z : 0) + (n + 1) * size * 1.4 - size * 0.4)
    })
    if (!bars || s + 1 >= steps()) return
    const token = head.candidates[s][head.written[s]]
    const y = bars.y + (barsOf(s).indexOf(head.written[s]) + 0.5) * bars.row
    const right = bars.x + bars.width - 2 * z
    const left = band.left - 10 * z
    const to = laneOf(band, rowAt(s + 1))
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

  // ---- words

  /** What a ribbon is. */
  function ribbonWords() {
    const heads = [...new Set(head.stacks.flatMap(({ parts }) => parts.flatMap(({ heads }) => heads ?? [])))]
    const whose = head.head === null ? `mean of ${heads.join(" or ")} heads` : `head ${head.head}`
    return `ribbons: attention weights, ${whose}; those under ${100 * LEAST} % are one`
  }

  /** What happens now, in one sentence. */
  function sentence() {
    const stack = lastStack()
    const s = moment?.t ?? at()
    const row = rowAt(s)
    if (hovered?.block) return partSentence(head, arrays, stackOf(hovered.band), hovered.block.index, hovered.lane)
    if (!writes())
      return `${quoted(stack.tokens[0])} and ${stack.tokens.length - 1} more tokens are read; nothing is written.`
    if (walked !== null) return story(head, arrays, stack, row)[walked]
    if (flown() === 1)
      return `Step ${s} ${ofPlaces(steps())}: reads ${quoted(stack.tokens[row])}. ${writtenSentence(head, arrays, s)}`
    const { phase } = phaseAt(moment.p)
    if (phase === "embed") return inputSentence(stack, row, `position.${stack.name}` in arrays)
    if (phase !== "layers") return writtenSentence(head, arrays, s)
    const band = place.bands[place.bands.length - 1]
    const input = band.strips[0].x + band.strips[0].width
    const front = frontAt(moment.p, { from: band.token.x, input, end: band.end })
    const block = band.blocks.filter((each) => startOf(each) <= front).at(-1)
    return block ? partSentence(head, arrays, stack, block.index, row) : inputSentence(stack, row, true)
  }

  // ---- pointing and keys

  /**
   * An attention is the one that all pages look at.
   * @param {WholePart} part
   */
  function choose({ kind, layer }) {
    if (kind) selection.pick({ kind, layer })
  }
  const isChosen = (part) => part.kind && part.kind === selection.chosen.kind && part.layer === selection.chosen.layer

  stage.onpointermove = (event) => {
    const { x, y } = pointIn(stage, event)
    const found = wholeAt(place, x, y)
    const written = found?.band.name === "decoder" && writes()
    hovered = found && written ? { ...found, lane: rowAt(moment?.t ?? at()) } : found
    made.draw()
  }
  stage.onpointerleave = () => {
    hovered = null
    made.draw()
  }
  stage.onclick = (event) => {
    const { x, y } = pointIn(stage, event)
    const found = wholeAt(place, x, y)
    if (!found) return
    if (found.block) {
      choose(stackOf(found.band).parts[found.block.index])
      return
    }
    const to = found.lane - head.first_row
    if (found.band.name === "decoder" && to >= 0 && to < steps()) step(to)
  }
  stage.ondblclick = (event) => {
    const { x, y } = pointIn(stage, event)
    const found = wholeAt(place, x, y)
    if (found?.block?.ribbon) openWhy()
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const sentences = story(head, arrays, lastStack(), rowAt(at()))
    const walk = (to) => {
      walked = Math.min(Math.max(to, 0), sentences.length - 1)
      announce(sentences[walked])
      made.draw()
    }
    if (event.key === "ArrowRight" && writes()) step(at() + 1)
    else if (event.key === "ArrowLeft" && writes()) step(at() - 1)
    else if (event.key === "ArrowDown") walk((walked ?? -1) + 1)
    else if (event.key === "ArrowUp") walk((walked ?? sentences.length) - 1)
    else if (event.key === "Home" && writes()) step(0)
    else if (event.key === "End" && writes()) step(steps() - 1)
    else if (event.key === "Enter") {
      const part = walked ? lastStack().parts[walked - 1] : undefined
      if (!part?.kind) return
      if (isChosen(part)) openWhy()
      else choose(part)
    } else if (event.key === " ") toggle()
    else if (event.key === "Escape") {
      walked = null
      made.draw()
    } else return
    event.preventDefault()
  }

  const made = {
    update({ header, arrays: given }) {
      head = header
      arrays = given
      hovered = walked = painted = null
      if (frames) stop()
      most = {}
      for (const [name, { values, shape }] of Object.entries(arrays)) {
        if (!/^(token|position|stream)\./.test(name)) continue
        const columns = shape.length === 3 ? shape[0] : 1
        const size = values.length / columns
        most[name] = Array.from(
          { length: columns },
          (_, n) =>
            values.subarray(n * size, (n + 1) * size).reduce((largest, each) => Math.max(largest, Math.abs(each)), 0) ||
            1,
        )
      }
      stage.setAttribute(
        "aria-label",
        `${head.title || "The whole run"}. Left and right arrow keys step, up and down walk through the layers of a step, Enter chooses an attention and opens its weight, the space bar plays.`,
      )
      controls.box.hidden = !writes()
    },
    draw() {
      const z = zoom(root)
      const width = root.clientWidth
      root.classList.toggle("narrow", width < WIDE * z)
      // alone on a page, or in the frame of a notebook, which is as high as its picture, it is as high as it asks for
      const tall = root.getRootNode() === document ? head.height * z : tallness(root, head.height * z)
      const height = Math.max(240, tall - now.offsetHeight - 8 - bar.offsetHeight)
      const ruler = base.getContext("2d")
      ruler.font = mono(14 * z, 600)
      const widest = ({ tokens }) =>
        Math.min(96 * z, Math.max(24 * z, ...tokens.map(({ text }) => ruler.measureText(text).width)))
      place = placeWhole({
        z,
        width,
        height,
        top: (head.title ? 26 : 6) * z,
        bars: writes(),
        stacks: head.stacks.map((stack) => ({
          name: stack.name,
          count: stack.tokens.length,
          layers: stack.layers,
          parts: stack.parts,
          positions: `position.${stack.name}` in arrays,
          final: stack.final,
          widest: widest(stack),
        })),
      })
      stage.style.height = `${height}px`
      const s = moment?.t ?? at()
      const state = [width, height, z, s, paper().one("page")].join()
      if (painted !== state) paintStill(prepare(base, width, height))
      painted = state
      paintNow(prepare(over, width, height), flown())
      const said = sentence()
      if (now.textContent !== said) now.textContent = said
      if (writes())
        controls.show(s, steps(), {
          playing: frames !== 0,
          text: `step ${s} ${ofPlaces(steps())}, ${quoted(head.tokens[head.candidates[s][head.written[s]]])}`,
        })
      stage.dataset.painted = String(performance.now())
    },
    remove: () => cancelAnimationFrame(frames),
  }
  return made
}

/** The first part of a Bézier curve in one coordinate: its two inner points and its end. */
function splitAt(a, b, c, d, t) {
  const between = (from, to) => from + (to - from) * t
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)]
  const [abc, bcd] = [between(ab, bc), between(bc, cd)]
  return [ab, abc, between(abc, bcd)]
}
