import { sharedKeys } from "./heads.js"
import { marksOf, paintRow, steps, WITH_DOTS, WITH_LINES } from "./maps.js"

/** @import { Paper } from "./colours.js" */
/** @import { Item } from "./heads.js" */
/** @import { Fields } from "./selection.js" */
/** @import { GridHeader, Numbers, Payload, Score } from "./types.js" */

// All heads of one kind of attention: which are chosen, what is said of them, and their maps, pixel by pixel.

/**
 * @typedef {{head: GridHeader, roots: Uint8Array, tops: Numbers, masked?: Numbers, missing?: Numbers, none?: Numbers,
 *   layers: number, heads: number, queries: number, keys: number}} GridMaps
 */
/** @typedef {{layer: number, heads: ?number[]}} ChosenHeads numbers of heads, or null for all of the layer */

const [MASKED, MISSING, NONE] = [16, 17, 18] // stand for what has no value where the others have the root of theirs
const [IS_MISSING, IS_MASKED, FIRST, IS_NONE] = [0, 1, 2, 1026] // levels: the colours stand from FIRST on

/** @type {(payload: Payload) => GridMaps} */
export function gridMaps({ header: head, arrays }) {
  const { tops, masked, missing, none } = arrays
  const roots = /** @type {Uint8Array} */ (arrays.roots.values)
  const [layers, heads, queries, keys] = arrays.roots.shape
  const sign = (/** @type {Numbers | undefined} */ bits, /** @type {number} */ as) => {
    for (let cell = 0; bits && cell < roots.length; cell++) if (bits.values[cell % bits.values.length]) roots[cell] = as
  }
  sign(masked, MASKED)
  sign(missing, MISSING)
  sign(none, NONE)
  return { head, roots, tops, masked, missing, none, layers, heads, queries, keys }
}

/** @type {(maps: GridMaps, index: number) => {layer: number, number: number}} */
export const headAt = ({ heads }, index) => ({ layer: Math.floor(index / heads), number: index % heads })

/** @type {(maps: GridMaps, index: number) => string} */
export const headWords = (maps, index) => `layer ${headAt(maps, index).layer}, head ${headAt(maps, index).number}`

/** @type {(maps: GridMaps, sorting: ?Score) => number[]} */
export const sequenceOf = ({ layers, heads }, sorting) =>
  sorting ? sorting.order : Array.from({ length: layers * heads }, (_, index) => index)

/**
 * What is chosen in this kind of attention, null for nothing.
 * @type {(maps: GridMaps, chosen: Fields) => ?ChosenHeads}
 */
export function headsChosen({ head, layers }, { kind, layer, heads }) {
  if ((kind !== undefined && kind !== head.kind) || !(layer >= 0 && layer < layers)) return null
  if (Array.isArray(heads)) return { layer, heads }
  return heads === "mean" || heads === "max" ? { layer, heads: null } : null
}

/** @type {(maps: GridMaps, index: number, what: ?ChosenHeads) => boolean} */
export const isHeadChosen = (maps, index, what) =>
  what?.layer === headAt(maps, index).layer && Boolean(what.heads?.includes(headAt(maps, index).number))

/**
 * The heads that are chosen once this one is, or with `more` is added to those of its layer or taken away; the last stays.
 * @type {(maps: GridMaps, index: number, what: ?ChosenHeads, more: boolean) => number[]}
 */
export function headsWith(maps, index, what, more) {
  const { layer, number } = headAt(maps, index)
  if (!more || what?.layer !== layer || !what.heads) return [number]
  if (!what.heads.includes(number)) return [...what.heads, number].sort((a, b) => a - b)
  return what.heads.length > 1 ? what.heads.filter((each) => each !== number) : [number]
}

/**
 * What is said of a head: where it is, whose keys it asks where several do, and the score that the heads are sorted by.
 * @type {(maps: GridMaps, sorting: ?Score, index: number) => string[]}
 */
export function headSentences(maps, sorting, index) {
  const { number } = headAt(maps, index)
  const sharers = sharedKeys(maps.heads, maps.head.key_heads).filter(
    ({ first, last }) => first <= number && number <= last,
  )
  const place = [headWords(maps, index), ...sharers.map(({ words }) => words)]
  if (!sorting) return place
  const [n, baseline] = [sorting.n[index], sorting.baselines?.[index]]
  if (!n) return [...place, `${sorting.name}: no row has one`]
  const rows = `from ${n} ${n === 1 ? "row" : "rows"}`
  const compared = baseline === undefined ? rows : `baseline ${baseline}, ${rows}`
  return [...place, `${sorting.name} ${sorting.values[index]}`, compared]
}

// ---- the maps: where cells are smaller than pixels, a pixel shows the largest of those that it touches, each of equally
// many, or the pixels that show more would make a pattern of their own

/**
 * What the roots from 0 to `most` are in a row whose largest is `top`, as levels, of which the highest is seen.
 * @param {number} top
 * @param {number} most
 */
function levelsIn(top, most) {
  const levels = new Uint16Array(NONE + 1)
  levels[NONE] = IS_NONE
  for (let root = 0; root <= most; root++)
    levels[root] = FIRST + Math.min(1023, Math.round((root / most) ** 2 * top * 1023))
  levels[MASKED] = IS_MASKED
  levels[MISSING] = IS_MISSING
  return levels
}

/**
 * Raises the level of each step to the highest of its cells in a row that begins at `first`.
 * @param {Uint16Array} levels
 * @param {Uint8Array} roots
 * @param {number} first
 * @param {ReturnType<typeof steps>} across
 * @param {Uint16Array} level
 */
function raise(levels, roots, first, { length, cells, most }, level) {
  for (let j = 0; j < length; j++)
    for (let cell = first + cells[j], end = cell + most; cell < end; cell++)
      if (level[roots[cell]] > levels[j]) levels[j] = level[roots[cell]]
}

/** @param {Paper} paper @param {string} kind */
function inksOf(paper, kind) {
  const inks = new Uint32Array(IS_NONE + 1).fill(paper.pixel("surface"), 0, FIRST)
  inks.set(paper.scale(kind).pixels, FIRST)
  inks[IS_NONE] = paper.pixel("no-number")
  return inks
}
const markOf = (/** @type {number} */ level) => (level === IS_NONE ? WITH_DOTS : level === IS_MASKED ? WITH_LINES : 0)

/**
 * All maps, `size` pixels a side of which `ratio` are one of the page; byRow: full colour is the largest of each row.
 * @param {GridMaps} maps
 * @param {Paper} paper
 * @param {{items: Item[], size: number, width: number, height: number}} place
 * @param {number} ratio
 * @param {boolean} byRow
 */
export function gridPixels(maps, paper, { items, size, width, height }, ratio, byRow) {
  const { head, roots, tops, queries, keys, masked, none } = maps
  const marks = marksOf(paper, ratio)
  const pixels = new ImageData(Math.round(width * ratio), Math.round(height * ratio))
  const out = new Uint32Array(pixels.data.buffer)
  const side = Math.max(1, Math.round(size * ratio))
  const [down, across] = [steps(side, queries), steps(side, keys)]
  const inks = inksOf(paper, head.kind)
  /** @type {Map<number, Uint16Array>} */
  const known = new Map() // there are 256 tops at most
  const [levels, row] = [new Uint16Array(across.length), new Uint32Array(across.length)]
  const marked = masked || none ? new Uint8Array(across.length) : undefined
  for (const { index, x, y } of items)
    for (let i = 0; i < down.length; i++) {
      levels.fill(0)
      for (let r = down.cells[i]; r < down.cells[i] + down.most; r++) {
        const line = index * queries + r
        const top = byRow ? 1 : tops.values[line] * head.full
        let level = known.get(top)
        if (!level) known.set(top, (level = levelsIn(top, head.most)))
        raise(levels, roots, line * keys, across, level)
      }
      for (let j = 0; j < row.length; j++) row[j] = inks[levels[j]]
      if (marked) for (let j = 0; j < row.length; j++) marked[j] = markOf(levels[j])
      const at = { left: Math.round(x * ratio), top: Math.round(y * ratio), y0: down.pixels[i], y1: down.pixels[i + 1] }
      paintRow(out, pixels.width, at, across, row, marked, marks)
    }
  return pixels
}

/**
 * Whether a pixel stands for more than one cell.
 * @type {(maps: GridMaps, side: number) => boolean}
 */
export const isShrunk = ({ head, queries, keys }, side) =>
  head.tokens[0] > queries || head.tokens[1] > keys || queries > side || keys > side
