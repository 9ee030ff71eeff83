import { largestOf } from "./cells.js"
import { hiddenWords, NOT_THERE, NOT_YET } from "./hidden.js"
import { SCALES } from "./legend.js"
import { fewestDigits, notFinite, number, share, valued } from "./numbers.js"
import { named } from "./places.js"
import { placeIn, positionAt } from "./selection.js"
import { maskedWords, placeWords, tokenWords } from "./sentences.js"
import { hatchedAs } from "./spans.js"

/** @import { Fields } from "./selection.js" */
/** @import { MatrixHeader, Numbers, Payload } from "./types.js" */

// A map of weights or of signed numbers: what its cells hold, what is written by now, and what is said of it.

/**
 * `strange` is what values are that are not finite, `largest` the largest of each row and of all.
 * @typedef {{head: MatrixHeader, values: Numbers, mask?: Numbers, kept?: Numbers, rows: number, columns: number,
 *   strange: string, largest: () => ReturnType<typeof largestOf>}} MatrixMap
 */
/**
 * What of a map is chosen, and by which scale it is coloured; the first row that is not written yet, the first key behind
 * the chosen row, and the first that is not there, which only is while the steps are played.
 * @typedef {{r: ?number, c: ?number, plays: boolean, scale: string, written: number, later: number,
 *   readable: number}} MatrixNow
 */

/** @type {(payload: Payload) => MatrixMap} */
export function matrixMap({ header, arrays: { values, mask, there: kept } }) {
  const [rows, columns] = values.shape
  /** @type {ReturnType<typeof largestOf> | undefined} */
  let tops
  const largest = () => (tops ??= largestOf(values.values, rows, columns))
  const head = { ...header, rows: named(header.rows), columns: named(header.columns) }
  return { head, values, mask, kept, rows, columns, strange: notFinite(values.values, kept?.values), largest }
}

/** @type {(map: MatrixMap, chosen: Fields, playing: boolean) => MatrixNow} */
export function matrixNow({ head, rows, columns }, chosen, playing) {
  const [r, c] = [placeIn(head.rows, chosen), placeIn(head.columns, chosen)]
  const plays = playing && head.writes !== null
  const grows = head.grows || plays
  const word = SCALES.some(([known]) => known === chosen.scale) ? chosen.scale : "fixed"
  let later = columns
  if (grows && head.columns.ink === head.rows.ink)
    while (later > 0 && positionAt(head.columns, later - 1) > chosen[head.rows.field]) later--
  return {
    r,
    c,
    plays,
    scale: word === "fixed" && !head.bounded ? "map" : word,
    written: grows ? (r ?? rows - 1) + 1 : rows,
    later,
    readable: plays ? later : columns,
  }
}

/** @type {(map: MatrixMap, r: number, c: number) => number} */
export const valueAt = ({ values, columns }, r, c) => values.values[r * columns + c]
/** @type {(map: MatrixMap, r: number, c: number) => boolean} */
export const isOpen = ({ mask, columns }, r, c) => !mask || mask.values[r * columns + c] === 1
/** @type {(map: MatrixMap, r: number, c: number) => boolean} */
export const isKept = ({ kept, columns }, r, c) => !kept || kept.values[r * columns + c] === 1

/**
 * Of row r, the value that has full colour.
 * @type {(map: MatrixMap, scale: string, r: number) => number}
 */
export function fullColour({ head, largest }, scale, r) {
  if (!head.signed && head.names) return 1.2 // of two tones the stronger one is no full colour
  if (!head.signed && scale === "fixed") return 1
  return (!head.signed && scale === "row" ? largest().rows[r] : (head.most ?? largest().map)) || 1
}

/**
 * The words at both ends of the colours.
 * @type {(map: MatrixMap, scale: string) => [string, string]}
 */
export function scaleEnds(map, scale) {
  if (map.head.signed || scale === "map") {
    const full = fullColour(map, scale, 0)
    const end = map.head.digits ? fewestDigits(full, 3) : number(full, 2)
    return [map.head.signed ? `−${end}` : "0", end]
  }
  return ["0", scale === "row" ? "row maximum" : "1"]
}

/**
 * The open key that has most weight in a row, or null.
 * @type {(map: MatrixMap, r: number) => ?number}
 */
export function strongestKey(map, r) {
  /** @type {?number} */
  let best = null
  for (let c = 0; c < map.columns; c++)
    if (isOpen(map, r, c) && isKept(map, r, c) && valueAt(map, r, c) > (best === null ? 0 : valueAt(map, r, best)))
      best = c
  return best
}

/**
 * What the tooltip says of a cell: both tokens with their positions, and the value.
 * @type {(map: MatrixMap, now: MatrixNow, r: number, c: number) => string[]}
 */
export function cellSentences(map, { plays, written, later }, r, c) {
  const { head, values } = map
  if (plays && (r >= written || c >= later)) return [placeWords(head.rows, r), NOT_YET]
  const tokens = [tokenWords(head.rows, r, head.writes), tokenWords(head.columns, c)]
  if (r >= written) return [...tokens, NOT_YET]
  if (!isKept(map, r, c)) return [...tokens, NOT_THERE]
  const value = valueAt(map, r, c)
  const said = head.digits ? fewestDigits(value, head.digits) : head.bounded ? share(value) : number(value, 4)
  const text = (values.encoding === "float32" ? "" : "≈ ") + said
  const what =
    head.names?.[value] ?? (isOpen(map, r, c) ? "" : maskedWords(head.fill)) + valued(head.quantity, value, text)
  return [
    ...tokens,
    what,
    ...[hatchedAs(head.rows, r), hatchedAs(head.columns, c)].filter(Boolean),
    ...hiddenWords(head.hidden?.[r]).map((words) => words + (head.signed ? " in A or in B" : "")),
  ]
}

/** @type {(head: MatrixHeader) => string} */
export const matrixLabel = ({ label, why, grows }) =>
  `${label}. Arrow keys choose a cell,${why?.length === 0 ? "" : " Enter opens why it is so,"} plus and minus zoom, Escape shows all.${grows ? " Rows after the chosen one are not written yet at that step." : ""}`
