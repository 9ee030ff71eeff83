import { dotted } from "../parts/marks.js"
import { exponential, percent } from "../parts/numbers.js"
import { isolated, mono, onOneLine, sans, shorten, signsOf, wrapped } from "../parts/text.js"
import { alongWay, phaseAt } from "../parts/whole_flight.js"
import { laneOf } from "../parts/whole_places.js"
import { barsOf, lastBand, NAME, writtenLine } from "../parts/whole_run.js"

/** @import { Context } from "../parts/types.js" */
/** @import { Whole } from "../parts/whole_places.js" */
/** @import { RunLook } from "./run_rows.js" */

// What a step gives out: its candidates, the answer so far, and the way of what is written back to the left.

const GIVEN = 0.35 // of the line of an answer is at most the text that it goes on from
const [SMALLEST, LARGEST] = [13, 22] // the size of its letters, beside two stacks
const TO_COME = 0.6 // how strong the rest of the answer is

/**
 * The candidates of a step, as bars that grow.
 * @param {Context} context
 * @param {RunLook} look
 * @param {number} step
 * @param {number} p
 */
export function paintBars(context, look, step, p) {
  const { view, place, paper } = look
  const { bars, z } = place
  if (!bars) return
  const { phase, part } = phaseAt(p)
  const grown = p >= 1 || phase === "back" ? 1 : phase === "bars" ? part : 0
  context.textBaseline = "middle"
  context.font = sans(12 * z)
  context.textAlign = "left"
  context.fillStyle = paper.one("muted")
  const all = `of ${view.head.vocabulary.toLocaleString("en")} tokens`
  context.fillText(shorten(context, all, bars.width), bars.x, bars.y - 12 * z)
  if (!grown) return
  barsOf(view.head, step, bars.most).forEach((i, n) =>
    paintBar(context, look, { step, i, y: bars.y + (n + 0.5) * bars.row, grown }),
  )
}

/**
 * @param {Context} context
 * @param {RunLook} look
 * @param {{step: number, i: number, y: number, grown: number}} candidate
 */
function paintBar(context, { view, place, paper }, { step, i, y, grown }) {
  const { head } = view
  const { z } = place
  const { x, width } = /** @type {NonNullable<Whole["bars"]>} */ (place.bars)
  const { values, shape } = view.arrays.log_probs
  const first = width * 0.44
  const second = Math.max(8 * z, width - first - 62 * z)
  const token = head.candidates[step][i]
  const share = exponential(values[step * shape[1] + i])
  const written = i === head.written[step]
  context.font = mono(13 * z, written ? 600 : 400)
  context.textAlign = "right"
  context.fillStyle = paper.one(written ? "text" : "muted")
  context.fillText(isolated(shorten(context, head.tokens[token].text, first - 8 * z)), x + first - 8 * z, y)
  context.fillStyle = paper.one(written ? "target-ink" : "muted")
  if (Number.isNaN(share)) dotted(context, paper, x + first, y - 5 * z, second * grown, 10 * z)
  else context.fillRect(x + first, y - 5 * z, Math.max(1, second * share * grown), 10 * z)
  if (grown < 1) return
  context.fillStyle = paper.one(written ? "target-ink" : "muted")
  context.font = mono(12 * z)
  context.textAlign = "left"
  context.fillText(Number.isNaN(share) ? "NaN" : percent(share), x + first + second + 6 * z, y)
}

/**
 * The answer so far; what is to come is pale.
 * @param {Context} context
 * @param {RunLook} look
 * @param {number} step
 * @param {number} p
 */
export function paintAnswer(context, look, step, p) {
  const { view, place, paper } = look
  const { head } = view
  const { answer, z } = place
  if (!answer) return
  const there = p >= 1 || phaseAt(p).phase === "back" ? step + 1 : step
  const all = onOneLine(head.answer)
  const written = there ? [...all].slice(0, head.ends[there - 1]).join("") : ""
  // while it is played what is to come is not there yet, nor where a text runs from the right
  const text = view.playing || isolated(all) !== all ? written : all
  const y = answer.y + LARGEST * z
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  const [x, size] = place.bands.length > 1 ? paintTitle(context, look, all, y) : paintGiven(context, look, y)
  context.font = mono(size)
  const room = answer.x + answer.width - x
  const { strong, rest, more } = writtenLine(wrapped(context, text, room), text, written.length)
  context.fillStyle = paper.one("text")
  context.fillText(isolated(strong), x, y)
  if (!rest) return
  const from = x + context.measureText(strong).width
  context.fillStyle = paper.one("muted")
  context.globalAlpha = TO_COME
  context.fillText(more ? shorten(context, `${rest} …`, x + room - from) : rest, from, y)
  context.globalAlpha = 1
}

/**
 * What the answer is called, and behind it the largest size in which all of it has room.
 * @param {Context} context
 * @param {RunLook} look
 * @param {string} text
 * @param {number} y
 */
function paintTitle(context, { place, paper }, text, y) {
  const { answer, z } = place
  const { x: left, width } = answer ?? { x: 0, width: 0 }
  context.font = sans(14 * z, 600)
  context.fillStyle = paper.one("target-ink")
  context.fillText("the answer", left, y)
  const x = left + context.measureText("the answer").width + 14 * z
  context.font = mono(LARGEST * z)
  const fits = (LARGEST * z * (left + width - x)) / Math.max(1, context.measureText(text).width)
  return [x, Math.min(LARGEST * z, Math.max(SMALLEST * z, fits))]
}

/**
 * The end of the text that an answer goes on from; where that begins, and its size.
 * @param {Context} context
 * @param {RunLook} look
 * @param {number} y
 */
function paintGiven(context, { view, place, paper }, y) {
  const { x, width } = place.answer ?? { x: 0, width: 0 }
  const size = NAME * place.z
  context.font = mono(size)
  const text = onOneLine(view.head.text).trimEnd()
  const most = Math.floor((width * GIVEN) / context.measureText("0").width)
  const signs = signsOf(text)
  const said = signs.length > most ? `…${signs.slice(1 - most).join("")}` : text
  context.fillStyle = paper.one("target-ink")
  context.fillText(isolated(said), x, y)
  return [said ? x + context.measureText(`${said} `).width : x, size]
}

/**
 * The way of what is written back to the left.
 * @param {Context} context
 * @param {RunLook} look
 * @param {number} step
 * @param {number} p
 */
export function paintBack(context, { view, place, paper }, step, p) {
  const { head } = view
  const { bars, z, base: bottom } = place
  if (!bars || step + 1 >= view.steps()) return
  const band = lastBand(place)
  const there = barsOf(head, step, bars.most)
  const y = bars.y + (there.indexOf(head.written[step]) + 0.5) * bars.row
  const right = bars.x + bars.width - 2 * z
  const left = band.left - 12 * z
  const end = band.left - 3 * z // not at the name that is read
  const to = laneOf(band, view.rowAt(step + 1))
  /** @type {[number, number][]} */
  const way = [
    [right, y],
    [right, bottom],
    [left, bottom],
    [left, to],
    [end, to],
  ]
  context.strokeStyle = paper.one("line")
  context.lineWidth = 1.5
  context.beginPath()
  context.moveTo(right, bars.y + bars.row * (there.length + 0.25))
  for (const [x, each] of way.slice(1)) context.lineTo(x, each)
  context.lineTo(end - 4 * z, to - 3 * z)
  context.moveTo(end, to)
  context.lineTo(end - 4 * z, to + 3 * z)
  context.stroke()
  context.font = sans(12 * z)
  context.textAlign = "center"
  context.fillStyle = paper.one("muted")
  context.fillText("what is written is read at the next step", (left + right) / 2, bottom - 5 * z)
  const { phase, part } = phaseAt(p)
  if (p >= 1 || phase !== "back") return
  const [x, fallen] = alongWay(way, part)
  context.font = mono(14 * z, 600)
  context.textAlign = "center"
  context.textBaseline = "middle"
  context.fillStyle = paper.one("target-ink")
  const token = head.candidates[step][head.written[step]]
  context.fillText(isolated(shorten(context, head.tokens[token].text, 120 * z)), x, fallen)
}
