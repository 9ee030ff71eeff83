import { element } from "./elements.js"
import { DOT, DOT_EVERY, HATCH_EVERY } from "./marks.js"
import { contextOf } from "./stage.js"

/** @import { Paper } from "./colours.js" */
/** @import { Context } from "./types.js" */

// Maps: cells as 32 bit pixels.

/**
 * How `count` cells from `first` share so many pixels: in steps of one cell, or of one pixel where there are fewer pixels
 * than cells. Step i has the pixels from pixels[i] to pixels[i + 1] and the cells from cells[i] to cells[i + 1], `most` of
 * them at most.
 * @param {number} size
 * @param {number} count
 */
export function steps(size, count, first = 0) {
  const length = Math.min(size, count)
  const [pixels, cells] = [new Int32Array(length + 1), new Int32Array(length + 1)]
  for (let i = 0; i <= length; i++) {
    pixels[i] = Math.ceil((i * size) / length)
    cells[i] = first + Math.floor((i * count) / length)
  }
  return { length, pixels, cells, most: Math.ceil(count / length) }
}

/** What a cell of a map has over its colour: lines where it is masked, dots where it is not a number, or both. */
export const WITH_LINES = 1
export const WITH_DOTS = 2

/**
 * A level of a cell that is masked and has no colour of its own. What is not a number has none at all: NaN.
 */
export const MASKED_LEVEL = -1

/**
 * Colours and sizes of lines and dots, in pixels of which `ratio` are one of the page; `seam` may be put in it.
 * @typedef {{line: number, dot: number, period: number, thick: number, every: number, size: number, seam?: number}} Marks
 */
/**
 * @param {Paper} paper
 * @param {number} ratio
 * @returns {Marks}
 */
export const marksOf = (paper, ratio) => ({
  line: paper.pixel("line"),
  dot: paper.pixel("no-number-dot"),
  period: Math.max(2, Math.round(HATCH_EVERY * ratio)),
  thick: Math.max(1, Math.round(ratio)),
  every: Math.max(2, Math.round(DOT_EVERY * ratio)),
  size: Math.max(1, Math.round(DOT * ratio)),
})

/**
 * Paints one row of a map, the pixels from y0 to y1, into `out` with `width` pixels in a line; the map begins at left, top.
 * inks: a pixel for each step across; marked: what there is over it, WITH_LINES and WITH_DOTS, if anything.
 * With a `seam` the first line of each cell, and the first of the row, have that colour, save at the edges of the map.
 * @param {Uint32Array} out
 * @param {number} width
 * @param {{left: number, top: number, y0: number, y1: number}} at
 * @param {{length: number, pixels: Int32Array}} across
 * @param {Uint32Array} inks
 * @param {?Uint8Array | undefined} marked
 * @param {Marks} marks
 */
export function paintRow(out, width, { left, top, y0, y1 }, { length, pixels }, inks, marked, marks) {
  const { line, dot, period, thick, every, size, seam } = marks
  const start = (top + y0) * width + left
  const end = Math.min(pixels[length], width - left)
  for (let i = 0; i < length; i++) {
    const x = pixels[i]
    if (pixels[i + 1] > x + 1) out.fill(inks[i], start + x, start + Math.min(pixels[i + 1], end))
    else if (x < end) out[start + x] = inks[i]
  }
  if (seam) for (let i = 1; i < length; i++) out[start + pixels[i]] = seam
  for (let y = y0 + 1; y < y1; y++) out.copyWithin(start + (y - y0) * width, start, start + end)
  for (let i = 0; marked && i < length; i++) {
    if (!marked[i]) continue
    const [lines, dots] = [marked[i] & WITH_LINES, marked[i] & WITH_DOTS]
    const behind = Math.min(pixels[i + 1], end)
    for (let y = y0; y < y1; y++)
      for (let x = pixels[i] + (seam && i ? 1 : 0); x < behind; x++)
        if (dots && x % every < size && y % every < size) out[start + (y - y0) * width + x] = dot
        else if (lines && (x + y) % period < thick) out[start + (y - y0) * width + x] = line
  }
  if (seam && y0) out.fill(seam, start, start + end)
}

/**
 * Paints a whole map over all of `out`. levels, row by row, are from 0 to 1, places in `colours`, MASKED_LEVEL for a masked cell,
 * which has lines, or NaN for what is not a number, which has dots; of the cells that share a pixel, one that is not a number
 * is seen, else that whose level is farthest from `rest`.
 * @param {Uint32Array} out
 * @param {{width: number, height: number}} size in pixels
 * @param {{rows: number, columns: number, levels: ArrayLike<number>, rest: number}} cells
 * @param {Uint32Array} colours
 * @param {{masked: number, none: number, marks: Marks}} others
 */
export function paintLevels(out, { width, height }, { rows, columns, levels, rest }, colours, { masked, none, marks }) {
  const [across, down] = [steps(width, columns), steps(height, rows)]
  const [inks, marked] = [new Uint32Array(across.length), new Uint8Array(across.length)]
  for (let j = 0; j < down.length; j++) {
    for (let i = 0; i < across.length; i++) {
      let seen = MASKED_LEVEL
      let far = -1
      for (let r = down.cells[j]; r < down.cells[j + 1]; r++)
        for (let c = across.cells[i]; c < across.cells[i + 1]; c++) {
          const level = levels[r * columns + c]
          const away = Number.isNaN(level) ? Infinity : level === MASKED_LEVEL ? -1 : Math.abs(level - rest)
          if (away > far) {
            seen = level
            far = away
          }
        }
      marked[i] = Number.isNaN(seen) ? WITH_DOTS : seen === MASKED_LEVEL ? WITH_LINES : 0
      const place = Math.round(Math.min(Math.max(seen, 0), 1) * (colours.length - 1))
      inks[i] = marked[i] === WITH_DOTS ? none : marked[i] === WITH_LINES ? masked : colours[place]
    }
    paintRow(out, width, { left: 0, top: 0, y0: down.pixels[j], y1: down.pixels[j + 1] }, across, inks, marked, marks)
  }
}

/**
 * The pixels as something that can be drawn, also larger or as SVG.
 * @param {ImageData} pixels
 */
export function picture(pixels) {
  const canvas = element("canvas")
  canvas.width = pixels.width
  canvas.height = pixels.height
  contextOf(canvas).putImageData(pixels, 0, 0)
  return canvas
}

/** @type {(context: Context, pixels: ImageData, box: {left: number, top: number, w: number, h: number}) => void} */
export function paintPixels(context, pixels, { left, top, w, h }) {
  context.imageSmoothingEnabled = false
  context.drawImage(picture(pixels), left, top, w, h)
}
