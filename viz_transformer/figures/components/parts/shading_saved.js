import { linesOf } from "./flow.js"
import { FAINT } from "./hidden.js"
import { ramp } from "./legend.js"
import { dotted, HATCH_EVERY, hatch } from "./marks.js"
import { hasRightToLeft, isPale, isUnwritten, legendWords, looksOf, shadesWords } from "./shading_text.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { placeSheet } from "./flow.js" */
/** @import { Look, Shaded, ShadedNow } from "./shading_text.js" */
/** @import { Context } from "./types.js" */

// A shaded text as it is saved: the same places as on the page, drawn on a canvas.

/** A text with its elements: `focus` is the token that Tab leads to. @typedef {Shaded & {box: HTMLElement, label: HTMLElement, cells: HTMLElement[], focus: number}} Paragraph */

const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/**
 * The lines of a piece of text as the browser broke it.
 * @type {(node: Text) => {text: string, left: number, middle: number}[]}
 */
function textLines(node) {
  const range = document.createRange()
  range.selectNodeContents(node)
  const whole = range.getClientRects()
  if (whole.length === 1) return [{ text: node.data, left: whole[0].left, middle: whole[0].top + whole[0].height / 2 }]
  const signs = Array.from(SEGMENTS.segment(node.data), ({ segment, index }) => {
    range.setStart(node, index)
    range.setEnd(node, index + segment.length)
    return { text: segment, box: range.getBoundingClientRect() }
  })
  return linesOf(signs)
}

/**
 * The boxes of a token, moved by dx and dy.
 * @param {Context} context
 * @param {Paper} paper
 * @param {HTMLElement} cell
 * @param {Look & {special?: boolean, dx: number, dy: number}} look
 */
function tokenBoxes(context, paper, cell, { fill, ink, masked, unknown, special, dx, dy }) {
  const frame = (
    /** @type {string} */ colour,
    /** @type {DOMRect} */ { left, top, width, height },
    /** @type {number} */ out,
  ) => {
    context.strokeStyle = paper.one(colour)
    context.strokeRect(left + dx - out, top + dy - out, width + 2 * out, height + 2 * out)
  }
  for (const box of cell.getClientRects()) {
    const [x, y, width, height] = [box.left + dx, box.top + dy, box.width, box.height]
    if (fill) {
      context.fillStyle = fill
      context.fillRect(x, y, width, height)
    }
    if (unknown) dotted(context, paper, x, y, width, height)
    context.strokeStyle = paper.one("line")
    if (masked) hatch(context, x, y, width, height, HATCH_EVERY)
    context.lineWidth = 1
    if (special) context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
    if (cell.classList.contains("selected")) {
      context.lineWidth = 2
      frame("page", box, 1)
      frame("text", box, 3)
    }
    context.fillStyle = ink
    if (cell.classList.contains("other")) context.fillRect(x + 4, y + height - 3, width - 8, 2)
  }
}

/** @type {(context: Context, paper: Paper, now: ShadedNow, paragraph: Paragraph, corner: {left: number, top: number}) => void} */
function paintTokens(context, paper, now, paragraph, { left, top }) {
  const { box, cells, side } = paragraph
  const [dx, dy] = [-left, top - box.getBoundingClientRect().top + box.scrollTop]
  const looks = looksOf(now, paragraph, paper)
  cells.forEach((cell, n) => {
    context.globalAlpha = isUnwritten(now, paragraph, n) || isPale(now, paragraph, n) ? FAINT : 1
    tokenBoxes(context, paper, cell, { ...looks[n], special: side.tokens[n].special, dx, dy })
    for (const piece of cell.childElementCount ? [...cell.children] : [cell]) {
      context.font = mono(parseFloat(getComputedStyle(piece).fontSize))
      context.fillStyle = looks[n].ink
      for (const { text, left, middle } of textLines(/** @type {Text} */ (piece.firstChild))) {
        context.direction = hasRightToLeft(text) ? "rtl" : "ltr"
        context.fillText(text, left + dx, middle + dy)
      }
    }
  })
  context.direction = "ltr"
  context.globalAlpha = 1
}

/**
 * @param {Context} context
 * @param {Paper} paper
 * @param {ShadedNow} now
 * @param {Paragraph[]} paragraphs
 * @param {{sheet: ReturnType<typeof placeSheet>, left: number, width: number}} at
 */
export function paintSheet(context, paper, now, paragraphs, { sheet, left, width }) {
  const { z, places, legend } = sheet
  const { head } = now.map
  context.textAlign = "left"
  context.textBaseline = "middle"
  context.font = sans(16 * z, 600)
  context.fillStyle = paper.one("text")
  context.fillText(shorten(context, head.title, width - 8), 0, 14 * z)
  context.font = sans(14 * z)
  context.fillStyle = paper.one("muted")
  context.fillText(shorten(context, shadesWords(now), width - 8), 0, 42 * z)
  paragraphs.forEach((paragraph, i) => {
    context.font = sans(13 * z)
    context.fillStyle = paper.one(paragraph.side.ink)
    context.textBaseline = "middle"
    context.fillText(paragraph.label.textContent ?? "", 0, places[i].label)
    paintTokens(context, paper, now, paragraph, { left, top: places[i].text })
  })
  context.font = mono(12 * z)
  context.fillStyle = paper.one("muted")
  context.fillText("0", 0, legend.y)
  context.fillText(legendWords(now).end, 144 * z, legend.y)
  ramp(context, paper.scale(head.scale), 16 * z, legend.y, 120 * z, z)
  context.font = sans(13 * z)
  context.fillStyle = paper.one("muted")
  legend.lines.forEach((line, i) => context.fillText(line, legend.left, legend.y + 18 * z * i))
}
