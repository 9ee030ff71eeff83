import { dotted, hatch, paintCell } from "./marks.js"
import { share } from "./numbers.js"
import {
  candidatesAt,
  finalProbabilityOf,
  finalRestAt,
  finalWords,
  isForced,
  othersAt,
  othersWords,
  probabilityOf,
  reasonOf,
  restAt,
  spreadWords,
  stepNumber,
  stepSentence,
  sumsWords,
  writesStep,
  writtenAt,
  writtenOdds,
} from "./scrubber_steps.js"
import { isolated, mono, sans, shorten, wrappedTo } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { placeSaved } from "./saved_bars.js" */
/** @import { DecodeSteps } from "./scrubber_steps.js" */
/** @import { Context, Token } from "./types.js" */

// A step and the bars of its candidates as they are saved.

/** @typedef {{decode: DecodeSteps, step: number, place: ReturnType<typeof placeSaved>, z: number, width: number}} SavedStep */
/** @typedef {{x: number, y: number, width: number, height: number}} Bar */
/** @typedef {{font?: string, ink?: string, align?: CanvasTextAlign, room?: number}} Pen */

const HATCH = 4
const SIGN = 22
export const SIGNS = [
  ["raw", "model"],
  ["raw removed", "removed, and why"],
  ["final", "strategy"],
]

/**
 * Writes a text, and returns how wide it is.
 * @type {(context: Context, paper: Paper, text: string, x: number, y: number, pen: Pen) => number}
 */
function write(context, paper, text, x, y, { font = context.font, ink = "text", align = "left", room = Infinity }) {
  context.font = font
  context.fillStyle = paper.one(ink)
  context.textAlign = align
  context.textBaseline = "middle"
  const kept = room === Infinity ? text : shorten(context, text, room)
  context.fillText(isolated(kept), x, y)
  return context.measureText(kept).width
}

/**
 * A bar; one whose width is not a number is short and dotted.
 * @type {(context: Context, paper: Paper, ink: string, bar: Bar) => void}
 */
function paintBar(context, paper, ink, { x, y, width, height }) {
  if (Number.isNaN(width)) dotted(context, paper, x, y, 24, height)
  else paintCell(context, paper, ink, x, y, width, height)
}
/**
 * A bar of lines, with an edge.
 * @type {(context: Context, ink: string, bar: Bar) => void}
 */
function hatched(context, ink, { x, y, width, height }) {
  context.strokeStyle = ink
  context.lineWidth = 1
  if (width > 1) context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
  hatch(context, x, y, width, height, HATCH)
}
/** @type {(context: Context, paper: Paper, bar: Bar) => void} */
function pill(context, paper, { x, y, width, height }) {
  const r = height / 2
  const k = r * 0.4477 // a quarter of a circle, as a curve of third degree
  context.strokeStyle = paper.one("line")
  context.lineWidth = 1
  context.beginPath()
  context.moveTo(x + r, y)
  context.lineTo(x + width - r, y)
  context.bezierCurveTo(x + width - k, y, x + width, y + k, x + width, y + r)
  context.bezierCurveTo(x + width, y + height - k, x + width - k, y + height, x + width - r, y + height)
  context.lineTo(x + r, y + height)
  context.bezierCurveTo(x + k, y + height, x, y + height - k, x, y + r)
  context.bezierCurveTo(x, y + k, x + k, y, x + r, y)
  context.stroke()
}

/** @type {(saved: SavedStep, part: number) => number} */
const longFor = ({ place }, part) => (Number.isNaN(part) ? part : place.long(part))
const rawInk = (/** @type {Paper} */ paper) => paper.scale("decoder").css(0.5)

/**
 * What the step reads and writes. Each line is one text: an SVG may be shown in another font, and parts side by side would
 * overlap or come apart.
 * @type {(context: Context, paper: Paper, saved: SavedStep) => void}
 */
function sentence(context, paper, { decode, step, z, width }) {
  const line = (
    /** @type {string} */ before,
    /** @type {string} */ token,
    /** @type {string} */ after,
    /** @type {number} */ y,
    /** @type {string} */ font,
  ) => {
    context.font = font
    const room = width - 8 - context.measureText(before + after).width
    write(context, paper, before + isolated(shorten(context, token, room)) + after, 4, y, { font })
  }
  const { text, note, special } = decode.head.reads[step]
  const bold = sans(14 * z, 600)
  context.font = bold
  const typed = note === undefined ? "" : `, typed “${isolated(shorten(context, note, width / 3))}”`
  const [open, close] = special && !typed ? ["", ""] : ["“", "”"]
  line(`${stepNumber(decode, step)}: reads ${open}`, text, `${close}${typed},`, 14 * z, bold)
  const { strategy } = decode.head
  const odds = strategy ? "" : `, probability ${writtenOdds(decode, step)}`
  const written = writtenAt(decode, step)
  const [before, after] = written.special ? ["", ""] : ["“", "”"]
  const given = isForced(decode, step) ? ", given" : ""
  line(`writes ${before}`, written.text, `${after}${odds}${given}`, 38 * z, sans(14 * z))
  if (!strategy) return
  const pen = { font: sans(14 * z), ink: "muted", room: width - 8 }
  write(context, paper, spreadWords(decode, step), 4, 62 * z, pen)
  write(context, paper, sumsWords(decode, step), 4, 86 * z, pen)
}

/** @type {(context: Context, paper: Paper, saved: SavedStep, token: Token, i: number) => void} */
function candidate(context, paper, saved, { text, special }, i) {
  const { decode, step, place, z, width } = saved
  const { left, numbers, line } = place
  const y = place.rows[i]
  const isWritten = i === decode.head.written[step]
  const font = mono(14 * z, isWritten ? 600 : 400)
  const inset = special ? 8 * z : 0
  const end = left - 8 * z - inset
  const name = { font, ink: special ? "muted" : "target-ink", room: left - 24 * z - 2 * inset }
  const wide = write(context, paper, text, end, y, { ...name, align: "right" })
  if (special)
    pill(context, paper, { x: left - 8 * z - 2 * inset - wide, y: y - 11 * z, width: wide + 2 * inset, height: 22 * z })
  const probability = probabilityOf(decode, step, i)
  const raw = { x: left, width: longFor(saved, probability) }
  if (decode.head.strategy) {
    bothBars(context, paper, saved, i, raw)
    write(context, paper, share(probability), numbers, y - 7 * z, { font: mono(14 * z), align: "right" })
    const why = reasonOf(decode, step, i) !== undefined
    const pen = why ? { font: sans(14 * z), ink: "muted" } : { font: mono(14 * z, 600) }
    write(context, paper, finalWords(decode, step, i), numbers, y + 9 * z, { ...pen, align: "right" })
  } else {
    paintBar(context, paper, rawInk(paper), { ...raw, y: y - 7 * z, height: 14 * z })
    write(context, paper, share(probability), numbers, y, { font, align: "right" })
  }
  if (!isWritten) return
  context.strokeStyle = paper.one("text")
  context.lineWidth = 2
  context.strokeRect(1, y - line / 2 + 1, width - 2, line - 2)
}

/**
 * The model's bar and the strategy's, or that the strategy removed it.
 * @type {(context: Context, paper: Paper, saved: SavedStep, i: number, raw: {x: number, width: number}) => void}
 */
function bothBars(context, paper, saved, i, raw) {
  const { decode, step, z, place } = saved
  const above = { ...raw, y: place.rows[i] - 13 * z, height: 12 * z }
  if (reasonOf(decode, step, i) === undefined) {
    paintBar(context, paper, rawInk(paper), above)
    const width = longFor(saved, finalProbabilityOf(decode, step, i))
    paintBar(context, paper, paper.one("target-ink"), { x: raw.x, y: place.rows[i] + 3 * z, width, height: 6 * z })
  } else if (Number.isNaN(raw.width)) paintBar(context, paper, "", above)
  else hatched(context, rawInk(paper), above)
}

/**
 * All other tokens together.
 * @type {(context: Context, paper: Paper, saved: SavedStep) => void}
 */
function others(context, paper, saved) {
  const { decode, step, place, z } = saved
  const { left, numbers, rest: y } = place
  const font = sans(13 * z)
  context.font = font
  const lines = wrappedTo(context, othersWords(decode, step), left - 16 * z, 2)
  lines.forEach((each, i) => {
    const down = (i - (lines.length - 1) / 2) * 16 * z
    write(context, paper, each, left - 8 * z, y + down, { font, ink: "muted", align: "right" })
  })
  const bar = (/** @type {string} */ ink, /** @type {number} */ part, /** @type {number} */ middle) =>
    paintBar(context, paper, ink, { x: left, y: middle - 2 * z, width: longFor(saved, part), height: 4 * z })
  const { strategy } = decode.head
  const [raw, final] = strategy ? [y - 9 * z, y + 9 * z] : [y, y]
  const [rest, grey] = [restAt(decode, step), paper.scale("derived").css(0.5)]
  write(context, paper, share(rest), numbers, raw, { font: mono(14 * z), align: "right" })
  bar(grey, rest, raw)
  if (!strategy) return
  bar(paper.one("muted"), finalRestAt(decode, step), final)
  write(context, paper, share(finalRestAt(decode, step)), numbers, final, { font: mono(14 * z, 600), align: "right" })
}

/** @type {(context: Context, paper: Paper, saved: SavedStep) => void} */
function axis(context, paper, { decode, place, z }) {
  const { left, bottom, ticks } = place
  for (const { part, x } of ticks)
    write(context, paper, String(part), x, bottom + 10 * z, { font: mono(12 * z), ink: "muted", align: "center" })
  const pen = { font: sans(13 * z), ink: "muted" }
  if (!decode.head.strategy) {
    write(context, paper, "probability over the whole vocabulary", left, bottom + 30 * z, pen)
    return
  }
  let x = 4
  for (const [sign, words] of SIGNS) {
    const wide = SIGN * z
    const box = { x, y: bottom + 24 * z, width: wide, height: 12 * z }
    if (sign === "final")
      paintBar(context, paper, paper.one("target-ink"), { ...box, y: bottom + 27 * z, height: 6 * z })
    else if (sign === "raw") paintBar(context, paper, rawInk(paper), box)
    else hatched(context, rawInk(paper), box)
    x += wide + 6 * z + write(context, paper, words, x + wide + 6 * z, bottom + 30 * z, pen) + 14 * z
  }
}

/** @type {(context: Context, paper: Paper, saved: SavedStep) => void} */
export function paintStep(context, paper, saved) {
  const { decode, step, place, z, width } = saved
  if (!writesStep(decode, step)) {
    write(context, paper, stepSentence(decode, step), 4, 14 * z, { font: sans(14 * z), room: width - 8 })
    return
  }
  sentence(context, paper, saved)
  context.fillStyle = paper.one("line")
  const { ticks, right, top, bottom } = place
  for (const { x } of ticks) context.fillRect(Math.min(x, right - 1), top, 1, bottom - top)
  candidatesAt(decode, step).forEach((token, i) => candidate(context, paper, saved, token, i))
  if (othersAt(decode, step)) others(context, paper, saved)
  axis(context, paper, saved)
}
