import { number, share, valued } from "./numbers.js"
import { maskedWords, tokenWords } from "./sentences.js"
import { isolated } from "./text.js"

/** @import { Fields } from "./selection.js" */
/** @import { Kind, Numbers, SnapshotsHeader } from "./types.js" */

// A sentence at every snapshot of a training: which snapshot and head are chosen, and what is said of them.

/** @typedef {{head: SnapshotsHeader, arrays: Record<string, Numbers>}} Series */
/**
 * The s-th snapshot, and of a kind of attention the maps, a layer, and a head or null for the mean of all.
 * @typedef {{series: Series, s: number, kindAt: number, kind: Kind, maps: Numbers, mask?: Numbers, layer: number,
 *   one: ?number}} SnapshotNow
 */

/** @type {(series: Series, fields: Fields) => SnapshotNow} */
export function snapshotNow(series, fields) {
  const { head, arrays } = series
  const kindAt = Math.max(
    0,
    head.kinds.findIndex(({ kind }) => kind === fields.kind),
  )
  const maps = arrays[`maps_${kindAt}`]
  const [, layers, heads] = maps.shape
  const layer = Math.min(Math.max(fields.layer ?? 0, 0), layers - 1)
  const several = Array.isArray(fields.heads) ? Math.min(fields.heads[0] ?? 0, heads - 1) : null
  const one = heads === 1 ? 0 : several
  const s = snapshotAt(head, fields.model_snapshot)
  return { series, s, kindAt, kind: head.kinds[kindAt], maps, mask: arrays[`mask_${kindAt}`], layer, one }
}

/**
 * The last snapshot whose step is not above the wanted one; without one, the last of all.
 * @type {(head: SnapshotsHeader, wanted: unknown) => number}
 */
export function snapshotAt({ snapshots }, wanted) {
  const later = typeof wanted === "number" ? snapshots.findIndex(({ step }) => step > wanted) : -1
  return later < 0 ? snapshots.length - 1 : Math.max(later - 1, 0)
}

/** @type {(now: SnapshotNow, r: number, c: number) => number} */
export function snapshotValue({ maps, s, layer, one }, r, c) {
  const [, layers, heads, queries, keys] = maps.shape
  const cell = (/** @type {number} */ h) => maps.values[(((s * layers + layer) * heads + h) * queries + r) * keys + c]
  if (one !== null) return cell(one)
  let sum = 0
  for (let h = 0; h < heads; h++) sum += cell(h)
  return sum / heads
}
/** @type {(now: SnapshotNow, r: number, c: number) => boolean} */
export const isSnapshotOpen = ({ mask, maps }, r, c) => !mask || mask.values[r * maps.shape[4] + c] === 1

/** @type {(series: Series, s: number) => string} */
export const stepWords = ({ head }, s) => head.snapshots[s].step.toLocaleString("en")
/** @type {(series: Series, s: number) => string} */
export const lossWords = ({ arrays }, s) => number(arrays.losses.values[s], 4)
/** @type {(now: SnapshotNow) => string} */
export const mapTitle = ({ kind, layer, one }) =>
  `${kind.name}, layer ${layer}, ${one === null ? "mean of all heads" : `head ${one}`}`

/** @type {(series: Series, s: number) => string} */
export function snapshotSentence(series, s) {
  const { text, complete, right } = series.head.snapshots[s]
  const end = complete ? "" : ", cut off"
  const what = `writes “${isolated(text)}”${end}${right ? ", which is the target" : ""}`
  return `Step ${stepWords(series, s)}, loss ${lossWords(series, s)}: ${what}`
}

/** @type {(now: SnapshotNow, r: number, c: number) => string[]} */
export function snapshotCell(now, r, c) {
  const { rows, columns, writes } = now.kind
  const weight = snapshotValue(now, r, c)
  const text = valued("weight", weight, (now.maps.encoding === "float32" ? "" : "≈ ") + share(weight))
  return [
    tokenWords(rows, r, writes),
    tokenWords(columns, c),
    isSnapshotOpen(now, r, c) ? text : maskedWords("") + text,
    `training step ${stepWords(now.series, now.s)}`,
  ]
}
