/** @import { Fields, Look } from "./selection.js" */
/** @import { Chip, ChipRow } from "./types.js" */

// Rows of token chips: how each looks, which of them the chosen row looks at, and where keys lead.

/** The classes of a chip. @param {Chip} chip */
export const chipClasses = ({ ink, special, unknown, differs }) =>
  ["chip", ink, special && "special", unknown && "unknown", differs && "differs"].filter(Boolean).join(" ")

/**
 * The bar below a chip, null where it has no probability: how wide it is, and whether that is known and sure.
 * @type {(chip: Chip) => ?{wide: string, known: boolean, sure: boolean}}
 */
export const chipBar = ({ share, sure }) =>
  share === undefined ? null : { wide: `${100 * (share ?? 1)}%`, known: share !== null, sure: Boolean(sure) }

/** Whether a row has what the steps of a run write. @param {ChipRow} row */
export const isWritten = ({ field, chips }) => field === "t" && chips.some(({ share }) => share !== undefined)

/** Whether it is at tokens of this row that the chosen one looks. @type {(row: ChipRow, look: ?Look) => boolean} */
export const isSeen = ({ side, apart }, look) => !apart && look?.ink === `${side}-ink`

/**
 * The chips of a row that the chosen one looks at, with their weights.
 * @type {(row: ChipRow, look: ?Look) => {n: number, weight: number}[]}
 */
export const chipsSeen = (row, look) =>
  look && isSeen(row, look)
    ? row.chips.flatMap((_, n) => (row.at + n in look.weights ? [{ n, weight: look.weights[row.at + n] }] : []))
    : []

/**
 * How each chip of a row is tinted: by its weight, which may be no number; while the steps are played, later ones are unwritten.
 * @type {(row: ChipRow, page: {look: ?Look, playing: boolean, chosen: Fields}) =>
 *   {look: string, unknown: boolean, unwritten: boolean}[]}
 */
export function chipTints(row, { look, playing, chosen }) {
  const weights = new Map(chipsSeen(row, look).map(({ n, weight }) => [n, weight]))
  const plays = playing && isWritten(row)
  return row.chips.map((_, n) => {
    const weight = weights.get(n) ?? 0
    const unwritten = plays && (row.first ?? 0) + n > chosen.t
    return { look: weight > 0 ? `${100 * weight}%` : "0%", unknown: Number.isNaN(weight), unwritten }
  })
}

/**
 * The chip of so many that a key leads to from one, null beyond an end, undefined where it leads nowhere.
 * @type {(count: number, from: number, key: string) => ?number | undefined}
 */
export function chipBeside(count, from, key) {
  const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: count - 1 }[key]
  return to === undefined || (to >= 0 && to < count) ? to : null
}

/** The chip of so many at which the tabulator stops: the chosen one, or the first. @type {(count: number, chosen: number) => number} */
export const chipStop = (count, chosen) => (chosen >= 0 && chosen < count ? chosen : 0)
