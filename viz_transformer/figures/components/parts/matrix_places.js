import { cellsInView, columnLabels, numbersOver, TALLEST, WIDEST } from "./cells.js"
import { roomAbove } from "./spans.js"
import { mono, sans } from "./text.js"

/** @import { Area, Cell } from "./cells.js" */
/** @import { Axis, MatrixHeader, Ruler, Token } from "./types.js" */

// Where the parts of a map stand, and its cells.

const LEAST = 18 // the side of a cell where some have to be scrolled to
const LEAST_IN_ROW = 14 // and of one in a map that stands in a row with others
const BARE = 12 // beside a map whose labels stand at another
const SAVED = 3000 // pixels: cells of a saved picture that would be larger are smaller than that

/**
 * Cells from `left` and `top` on, in a room of w x h pixels; letters of `size` over them, each `every`-th has some; between
 * both are `raised` pixels for marks.
 * @typedef {{z: number, width: number, height: number, scrolls: boolean, shown: {along: number, down: number},
 *   left: number, right: number, top: number, bottom: number, upright: boolean, size: number, tall: number, every: number,
 *   raised: number, cell: number, rowHeight: number, w: number, h: number}} MatrixPlace
 */

/** @type {(head: MatrixHeader, side: string) => boolean} */
export const isBare = (head, side) => Boolean(head.bare?.includes(side))

/**
 * How wide a token is, and how wide a margin is that has these.
 * @type {(ruler: Ruler, z: number) => {wide: (token: Token) => number, margin: (tokens: Token[]) => number, most: number}}
 */
function labelWidths(ruler, z) {
  ruler.font = mono(14 * z)
  const most = 12 * ruler.measureText("m").width
  const wide = (/** @type {Token} */ { text, note }) =>
    ruler.measureText(text).width + (note === undefined ? 0 : ruler.measureText(note).width * 1 + 8)
  const margin = (/** @type {Token[]} */ tokens) =>
    24 +
    Math.min(
      most,
      tokens.reduce((widest, token) => Math.max(widest, wide(token)), 60 * z),
    )
  return { wide, margin, most }
}

/**
 * Where things are on the page, or with `whole` where all have their place, as they are saved. `fitted`: all cells at once,
 * however small.
 * @param {Ruler} ruler
 * @param {MatrixHeader} head
 * @param {Area} area
 * @param {{z: number, width: number, height: number, fitted: boolean, whole: boolean}} room
 * @returns {MatrixPlace}
 */
export function placeMatrix(ruler, head, area, { z, width, height, fitted, whole }) {
  ruler.font = sans(13 * z)
  const title = head.rows.numbered ? 0 : ruler.measureText(head.rows.axis).width + 16
  const { wide, margin, most } = labelWidths(ruler, z)
  // numbers are a pattern, which is seen as a whole; to tokens that one reads, one scrolls
  const least = (/** @type {Axis} */ axis) => (fitted || axis.numbered ? 0 : (head.bare ? LEAST_IN_ROW : LEAST) * z)
  const left = isBare(head, "left") ? BARE * z : Math.max(margin(head.rows.tokens), title)
  const right = head.writes && !isBare(head, "right") ? margin(head.writes) : BARE
  const bottom = 68 * z
  const [n, m] = [area.c1 - area.c0, area.r1 - area.r0]
  const across = cellsInView(n, Math.max(40, width - left - right), { least: least(head.columns), most: WIDEST * z })
  const scrollsAcross = across.seen < n
  const cell = whole && scrollsAcross ? Math.min(across.size, SAVED / n) : across.size
  const tokens = head.columns.tokens.slice(area.c0, area.c1).slice(0, 600)
  const widest = tokens.reduce((w, token) => Math.max(w, wide(token)), 0)
  const over = head.columns.numbered
    ? numbersOver(cell, wide(head.columns.tokens[area.c1 - 1]), z)
    : columnLabels(cell, widest, most, z, { upright: n > 200 || widest * 0.9 > cell })
  const raised = roomAbove(head.columns, z)
  const top = 66 * z + over.tall + raised
  const down = cellsInView(m, height - top - bottom, { least: least(head.rows), most: TALLEST * z })
  const scrollsDown = down.seen < m
  const rowHeight = whole && scrollsDown ? Math.min(down.size, SAVED / m) : down.size
  const shown = whole ? { along: n, down: m } : { along: across.seen, down: down.seen }
  return {
    z,
    width: whole && scrollsAcross ? left + cell * n + right : width,
    height: whole && scrollsDown ? top + rowHeight * m + bottom : height,
    scrolls: scrollsAcross || scrollsDown,
    shown,
    left,
    right,
    top,
    bottom,
    ...over,
    raised,
    cell,
    rowHeight,
    w: cell * shown.along,
    h: rowHeight * shown.down,
  }
}

/** @type {(view: {place: MatrixPlace, seen: Area}, c: number) => number} */
export const xOf = ({ place, seen }, c) => place.left + (c - seen.c0) * place.cell
/** @type {(view: {place: MatrixPlace, seen: Area}, r: number) => number} */
export const yOf = ({ place, seen }, r) => place.top + (r - seen.r0) * place.rowHeight

/** @type {(area: Area, cell: Cell) => boolean} */
export const areaHas = ({ r0, r1, c0, c1 }, { r, c }) => r >= r0 && r < r1 && c >= c0 && c < c1

/**
 * The place moved onto the cells.
 * @type {(place: MatrixPlace, x: number, y: number) => {x: number, y: number}}
 */
export const ontoCells = ({ left, top, w, h }, x, y) => ({
  x: Math.min(Math.max(x, left), left + w),
  y: Math.min(Math.max(y, top), top + h),
})
