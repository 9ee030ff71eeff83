import { FAINT, isFaint } from "./hidden.js"
import { marksOf, paintRow, steps, WITH_DOTS, WITH_LINES } from "./maps.js"
import { HATCH_EVERY, hatch, paintCell } from "./marks.js"
import { fullColour, isKept, isOpen, valueAt } from "./matrix_map.js"
import { xOf, yOf } from "./matrix_places.js"

/** @import { Paper } from "./colours.js" */
/** @import { MatrixView } from "./matrix_painting.js" */
/** @import { Context } from "./types.js" */

// The cells of a map: as pixels, of which each shows the largest of its cells where these are smaller, or as boxes.

/**
 * What the steps across a row of pixels show: the levels of their strongest cells, and whether all are masked or not there.
 * @typedef {{levels: Float32Array, strengths: Float32Array, masked: Uint8Array, gone: Uint8Array, pale: boolean}} Pool
 */

/** @type {(length: number) => Pool} */
const makePool = (length) => ({
  levels: new Float32Array(length),
  strengths: new Float32Array(length),
  masked: new Uint8Array(length),
  gone: new Uint8Array(length),
  pale: true,
})

/** @param {Pool} pool */
function emptyPool(pool) {
  pool.strengths.fill(-Infinity)
  pool.masked.fill(1)
  pool.gone.fill(1)
  pool.pale = true
}

/**
 * Takes row r into the pool.
 * @param {Pool} pool
 * @param {MatrixView} view
 * @param {number} r
 * @param {Int32Array} cells
 */
function poolRow(pool, { map, now, seen }, r, cells) {
  const { levels, strengths, masked, gone } = pool
  const { columns, values, mask, kept, head } = map
  const [{ readable }, { signed }] = [now, head]
  const [numbers, first, unit] = [values.values, r * columns, fullColour(map, now.scale, r)]
  if (!isFaint(head.hidden?.[r])) pool.pale = false
  for (let j = 0, cell = first + seen.c0; j < levels.length; j++)
    for (const end = first + Math.min(cells[j + 1], readable); cell < end; cell++) {
      if (kept && !kept.values[cell]) continue
      gone[j] = 0
      const value = numbers[cell] / unit
      const known = Number.isFinite(value) // what is not hides all that it is pooled with
      const strength = known ? (signed ? Math.abs(value) : value) : Infinity
      if (strength > strengths[j]) {
        levels[j] = known ? value : Number.NaN
        strengths[j] = strength
      }
      if (!mask || mask.values[cell]) masked[j] = 0
    }
}

/**
 * The inks of what was pooled, and the marks over it.
 * @param {Pool} pool
 * @param {boolean} signed
 * @param {{palette: Uint32Array, surface: number, none: number, page: number}} paper
 * @param {Uint32Array} inks
 * @param {Uint8Array} marked
 */
function inkPool({ levels, masked, gone, pale }, signed, { palette, surface, none, page }, inks, marked) {
  const halfway = (/** @type {number} */ ink) =>
    ((((ink & 0xfefefe) >>> 1) + ((page & 0xfefefe) >>> 1)) | 0xff000000) >>> 0 // FAINT on paper
  for (let j = 0; j < inks.length; j++) {
    const t = signed ? 0.5 + levels[j] / 2 : levels[j]
    const empty = masked[j] && levels[j] === 0
    const unknown = !gone[j] && Number.isNaN(t)
    marked[j] = gone[j] ? 0 : (masked[j] ? WITH_LINES : 0) | (unknown ? WITH_DOTS : 0)
    if (gone[j]) inks[j] = page
    else if (unknown) inks[j] = none
    else inks[j] = empty ? surface : palette[Math.max(0, Math.min(1023, Math.round(t * 1023)))]
    if (pale && !gone[j]) inks[j] = halfway(inks[j])
  }
}

/** @type {(view: MatrixView, paper: Paper, ratio: number) => ImageData} */
export function matrixPixels(view, paper, ratio) {
  const { map, now, seen, place } = view
  const inked = {
    palette: paper.scale(map.head.scale).pixels,
    surface: paper.pixel("surface"),
    none: paper.pixel("no-number"),
    page: paper.pixel("page"),
  }
  const marks = marksOf(paper, ratio)
  if (Math.min(place.cell, place.rowHeight) >= 6) marks.seam = inked.page
  const pixels = new ImageData(Math.max(1, Math.round(place.w * ratio)), Math.max(1, Math.round(place.h * ratio)))
  const { width, height } = pixels
  const out = new Uint32Array(pixels.data.buffer)
  const down = steps(height, seen.r1 - seen.r0, seen.r0)
  const across = steps(width, seen.c1 - seen.c0, seen.c0)
  const pool = makePool(across.length)
  const [inks, marked] = [new Uint32Array(across.length), new Uint8Array(across.length)]
  for (let i = 0; i < down.length; i++) {
    const row = { left: 0, top: 0, y0: down.pixels[i], y1: down.pixels[i + 1] }
    if (down.cells[i] >= now.written) {
      paintRow(out, width, row, across, inks.fill(inked.page), null, marks)
      continue
    }
    emptyPool(pool)
    for (let r = down.cells[i]; r < Math.min(down.cells[i + 1], now.written); r++) poolRow(pool, view, r, across.cells)
    inkPool(pool, map.head.signed, inked, inks, marked)
    paintRow(out, width, row, across, inks, marked, marks)
  }
  return pixels
}

/** @type {(context: Context, paper: Paper, view: MatrixView) => void} */
export function paintBoxes(context, paper, view) {
  const { map, now, seen, place } = view
  const { signed, hidden, scale } = map.head
  const palette = paper.scale(scale)
  for (let r = seen.r0; r < Math.min(seen.r1, now.written); r++) {
    context.globalAlpha = isFaint(hidden?.[r]) ? FAINT : 1
    const full = fullColour(map, now.scale, r)
    for (let c = seen.c0; c < Math.min(seen.c1, now.readable); c++) {
      if (!isKept(map, r, c)) continue
      const value = valueAt(map, r, c)
      const open = isOpen(map, r, c)
      const level = signed ? 0.5 + value / full / 2 : value / full
      const own = Number.isFinite(value) ? palette.css(level) : null
      const colour = !open && value === 0 ? paper.one("surface") : own
      const [x, y] = [xOf(view, c), yOf(view, r)]
      paintCell(context, paper, colour, x + 0.5, y + 0.5, place.cell - 1, place.rowHeight - 1)
      if (open) continue
      context.strokeStyle = paper.one("line")
      hatch(context, x, y, place.cell, place.rowHeight, HATCH_EVERY)
    }
  }
  context.globalAlpha = 1
}
