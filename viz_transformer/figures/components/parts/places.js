import { fieldOf, placeIn, placeOn, positionAt, selection } from "./selection.js"

/** @import { Fields } from "./selection.js" */
/** @import { Axis } from "./types.js" */

// The places of an axis that are no tokens, or not all of them positions of the run: their names, and which is chosen.

/**
 * An axis whose places are known by their numbers alone, with these as what stands there; any other as it is.
 * @param {Axis} axis
 * @returns {Axis}
 */
export function named(axis) {
  if (!axis.numbered) return axis
  const tokens = Array.from({ length: axis.count ?? 0 }, (_, place) => ({ text: String(positionAt(axis, place)) }))
  return { ...axis, tokens }
}

/** @typedef {"row" | "column"} Side */
/** @typedef {{rows: Axis, columns: Axis}} Axes */

/**
 * The field by which pictures tell each other what is pointed at: that of the selection, or what a place of the axis is.
 * @param {Axis} axis
 * @param {Side} side
 */
const shared = (axis, side) => ({ ...axis, field: axis.field || `${side}: ${axis.role}` })
/**
 * A cell as pictures tell each other of it.
 * @param {Axes} axes
 * @param {{r: number, c: number}} cell
 */
export const pointedOn = ({ rows, columns }, { r, c }) => ({
  ...fieldOf(shared(rows, "row"), r),
  ...fieldOf(shared(columns, "column"), c),
})
/**
 * The cell that is told so, null where it is not in this picture.
 * @param {Axes} axes
 * @param {Fields} fields
 */
export const pointedIn = ({ rows, columns }, fields) => {
  const [r, c] = [placeIn(shared(rows, "row"), fields), placeIn(shared(columns, "column"), fields)]
  return r === null || c === null ? null : { r, c }
}

/**
 * What is chosen on the axes of a picture: in the selection of the page, or, on an axis or at a place for which that has
 * no word, in the picture alone, until something else is chosen. `changed` is called where only the picture knows of it.
 * @param {() => void} changed
 */
export function choices(changed) {
  /** @type {Record<Side, ?{place: number, beside: unknown}>} what is chosen here alone, and in the selection meanwhile */
  const own = { row: null, column: null }
  const inSelection = (/** @type {Axis} */ axis) => selection.chosen[axis.field]
  const isOfRun = (/** @type {Axis} */ axis, /** @type {number} */ place) =>
    axis.field !== "" && place < (axis.reach ?? Infinity)
  return {
    /**
     * @param {Axis} axis
     * @param {Side} side
     * @returns {?number}
     */
    on(axis, side) {
      const kept = own[side]
      if (!kept || kept.beside !== inSelection(axis)) return placeOn(axis)
      return kept.place < axis.tokens.length ? kept.place : null
    },
    /**
     * @param {Axes} axes
     * @param {{r: number, c: number}} cell
     * @param {number} settle
     */
    pick({ rows, columns }, { r, c }, settle) {
      /** @type {Fields} */
      let fields = {}
      /** @type {[Side, Axis, number][]} */
      const picked = [
        ["row", rows, r],
        ["column", columns, c],
      ]
      for (const [side, axis, place] of picked) {
        own[side] = isOfRun(axis, place) ? null : { place, beside: inSelection(axis) }
        if (!own[side]) fields = { ...fields, ...fieldOf(axis, place) }
      }
      const news = Object.entries(fields).some(([name, value]) => selection.chosen[name] !== value)
      if (news || !(own.row || own.column)) selection.pick(fields, settle)
      else changed()
    },
  }
}
