import { MASKED_LEVEL, marksOf, paintLevels, picture } from "../parts/maps.js"
import { dotted, HATCH_EVERY, hatch, paintCell } from "../parts/marks.js"
import { isolated, mono, sans, shorten } from "../parts/text.js"

/** @import { Paper, Scale } from "../parts/colours.js" */
/** @import { Context } from "../parts/types.js" */
/** @import { Box } from "../parts/whole_levels.js" */

// What the levels of a whole run draw alike: vectors as strips, cells, words, lines with an end.

/**
 * One vector as a strip of its numbers, from the least to the largest: `largest` is the end of its scale. What is not a finite
 * number is dotted.
 * @param {Context} context
 * @param {Paper} paper
 * @param {Box} box
 * @param {ArrayLike<number>} values
 * @param {{from: number, count: number, largest: number}} vector the first of its numbers, and how many
 */
export function drawStrip(context, paper, { x, y, width, height }, values, { from, count, largest }) {
  const [each, ink] = [width / count, paper.scale("diverging")]
  for (let i = 0; i < count; i++) {
    const value = values[from + i]
    const colour = Number.isFinite(value) ? ink.css(0.5 + value / (2 * largest)) : null
    paintCell(context, paper, colour, x + i * each, y, each + 0.5, height)
  }
}

/**
 * The largest size of a number in an array, 1 where all are 0: the end of a signed scale.
 * @param {Iterable<number>} values
 */
export function largestIn(values) {
  let largest = 0
  for (const each of values) if (Number.isFinite(each) && Math.abs(each) > largest) largest = Math.abs(each)
  return largest || 1
}

/**
 * Where so many numbers from a first one stand in a signed scale that ends at `most`: 0.5 is zero; NaN is not finite.
 * @param {ArrayLike<number>} values
 * @param {number} from
 * @param {number} count
 * @param {number} most
 */
export function signedLevels(values, from, count, most) {
  const levels = new Float32Array(count)
  for (let n = 0; n < count; n++) {
    const value = values[from + n]
    levels[n] = Number.isFinite(value) ? 0.5 + value / (2 * most) : Number.NaN
  }
  return levels
}

/** `weight` 600 is bold; what has no room in `width` is shortened; `code` is in the type of tokens.
 * @typedef {{size: number, colour: string, align?: CanvasTextAlign, weight?: number, width?: number, code?: boolean}} Type */
/**
 * A line of text. Returns its width.
 * @param {Context} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {Type} type
 */
export function say(
  context,
  text,
  x,
  y,
  { size, colour, align = "left", weight = 400, width = Infinity, code = false },
) {
  context.font = code ? mono(size, weight) : sans(size, weight)
  context.textAlign = align
  context.textBaseline = "middle"
  context.fillStyle = colour
  const shown = Number.isFinite(width) ? shorten(context, text, width) : text
  context.fillText(isolated(shown), x, y)
  return context.measureText(shown).width
}

/**
 * The same, upright: it ends at x, y and begins below. A letter alone is not turned: it would be another one, or a line.
 * @param {Context} context
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {Type} type
 */
export function sayUpright(context, text, x, y, { size, colour, weight = 400, width = Infinity }) {
  if ([...text].length === 1) {
    say(context, text, x, y + size * 0.6, { size, colour, weight, align: "center", code: true })
    return
  }
  context.save()
  context.translate(x, y)
  context.rotate(-Math.PI / 2)
  say(context, text, 0, 0, { size, colour, weight, width, align: "right", code: true })
  context.restore()
}

/**
 * A way through points; with an arrow at its end where `size` is more than 0.
 * @param {Context} context
 * @param {[number, number][]} points
 */
export function drawWay(context, points, size = 0) {
  context.beginPath()
  points.forEach(([x, y], n) => (n ? context.lineTo(x, y) : context.moveTo(x, y)))
  if (size) {
    const [[x0, y0], [x, y]] = points.slice(-2)
    const length = Math.hypot(x - x0, y - y0) || 1
    const [dx, dy] = [((x - x0) / length) * size, ((y - y0) / length) * size]
    context.moveTo(x - dx + dy * 0.6, y - dy - dx * 0.6)
    context.lineTo(x, y)
    context.lineTo(x - dx - dy * 0.6, y - dy + dx * 0.6)
  }
  context.stroke()
}

/**
 * A ribbon from one height to another, `width` high at both ends, as far as it is `grown`. Between them, where it is steep,
 * it is `lean` times as wide.
 * @param {Context} context
 * @param {[number, number]} columns
 * @param {[number, number]} heights
 * @param {{width: number, lean: number, grown: number}} how
 */
export function drawRibbon(context, [x0, x1], [from, to], { width, lean, grown }) {
  const middle = (x0 + x1) / 2
  const steep = Math.min(1, Math.abs(to - from) / (2 * width))
  const aside = (Math.sign(to - from) * steep * lean * width) / 2
  /** @param {number} side @returns {[number, number, number, number, number, number]} */
  const edge = (side) => {
    const x = middle - side * aside
    const [a, b, c] = splitAt(x0, x, x, x1, grown)
    const [left, right] = [from + (side * width) / 2, to + (side * width) / 2]
    const [d, e, f] = splitAt(left, left, right, right, grown)
    return [a, d, b, e, c, f]
  }
  const [upper, lower] = [edge(-1), edge(1)]
  context.beginPath()
  context.moveTo(x0, from - width / 2)
  context.bezierCurveTo(...upper)
  context.lineTo(lower[4], lower[5])
  context.bezierCurveTo(lower[2], lower[3], lower[0], lower[1], x0, from + width / 2)
  context.fill()
}

/**
 * The first part of a Bézier curve in one coordinate: its two inner points and its end.
 * @param {number} a
 * @param {number} b
 * @param {number} c
 * @param {number} d
 * @param {number} t
 */
function splitAt(a, b, c, d, t) {
  const between = (/** @type {number} */ from, /** @type {number} */ to) => from + (to - from) * t
  const [ab, bc, cd] = [between(a, b), between(b, c), between(c, d)]
  const [abc, bcd] = [between(ab, bc), between(bc, cd)]
  return [ab, abc, between(abc, bcd)]
}

/**
 * A plus in a circle of lines: where a vector is added to the stream.
 * @param {Context} context
 * @param {Paper} paper
 * @param {number} x
 * @param {number} y
 * @param {number} r
 */
export function drawPlus(context, paper, x, y, r) {
  context.fillStyle = paper.one("page")
  context.fillRect(x - r, y - r, 2 * r, 2 * r)
  context.strokeStyle = paper.one("text")
  context.lineWidth = 1.5
  context.strokeRect(x - r, y - r, 2 * r, 2 * r)
  drawWay(context, [
    [x - r * 0.6, y],
    [x + r * 0.6, y],
  ])
  drawWay(context, [
    [x, y - r * 0.6],
    [x, y + r * 0.6],
  ])
}

const FEW_CELLS = 2000 // more than these are painted as pixels
const HATCHED = 4 // pixels: a smaller cell has no lines
const BETWEEN = 6 // pixels: cells from here on have a gap between them

/**
 * Cells of a matrix, each in the colour of its level in a scale: levels, row by row, are from 0 to 1, MASKED_LEVEL for one
 * that is hatched as masked, or NaN for one that is dotted as not a number. Where many cells share a pixel, it has the colour of the level that is farthest from `rest`.
 * @param {Context} context
 * @param {Paper} paper
 * @param {Box & {rows: number, columns: number}} box
 * @param {Scale} scale
 * @param {ArrayLike<number>} levels
 */
export function drawCells(context, paper, box, scale, levels, rest = 0) {
  if (box.rows * box.columns > FEW_CELLS) {
    context.imageSmoothingEnabled = false
    context.drawImage(
      picture(cellPixels(context, paper, box, scale, levels, rest)),
      box.x,
      box.y,
      box.width,
      box.height,
    )
    return
  }
  const { x, y, width, height, rows, columns } = box
  const [w, h] = [width / columns, height / rows]
  const [gap, below] = [w >= BETWEEN ? 1 : 0, h >= BETWEEN ? 1 : 0]
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const level = levels[r * columns + c]
      const masked = level === MASKED_LEVEL
      if (Number.isNaN(level)) {
        dotted(context, paper, x + c * w, y + r * h, w - gap, h - below)
        continue
      }
      context.fillStyle = masked ? paper.one("surface") : scale.css(level)
      context.fillRect(x + c * w, y + r * h, w - gap + (gap ? 0 : 0.3), h - below + (below ? 0 : 0.3))
      if (!masked || w < HATCHED || h < HATCHED) continue
      context.strokeStyle = paper.one("line")
      hatch(context, x + c * w, y + r * h, w - gap, h - below, HATCH_EVERY)
    }
}

/**
 * The same as pixels: a rectangle for each of ten thousand cells would take longer than a frame.
 * @param {Context} context
 * @param {Paper} paper
 * @param {Box & {rows: number, columns: number}} box
 * @param {Scale} scale
 * @param {ArrayLike<number>} levels
 * @param {number} rest
 */
function cellPixels(context, paper, { width, height, rows, columns }, scale, levels, rest) {
  const ratio = context.getTransform?.().a ?? 1
  const pixels = new ImageData(Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio)))
  const lined = width / columns >= HATCHED && height / rows >= HATCHED
  const marks = marksOf(paper, ratio)
  if (!lined) marks.line = paper.pixel("surface")
  paintLevels(new Uint32Array(pixels.data.buffer), pixels, { rows, columns, levels, rest }, scale.pixels, {
    masked: paper.pixel("surface"),
    none: paper.pixel("no-number"),
    marks,
  })
  return pixels
}
