import { share } from "./numbers.js"

// What is said of places without a number, and of rows of which most is hidden: header.hidden has the share of each row's
// weight that keys hold which are left out.

/** What is said of a place where the run has no number: its row has no step, or the key came after that step. */
export const NOT_THERE = "not there: no step had this number"

/** What is said of a place behind the step that is shown. */
export const NOT_YET = "not written yet at this step"

/** How a row of which so much is hidden is painted: what is left of it was little, however large it looks. */
export const FAINT = 0.5
const MOSTLY_HIDDEN = 0.9 // analysis/attention/specials.py has it too
/** @param {?number | undefined} hidden */
export const isFaint = (hidden) => (hidden ?? 0) > MOSTLY_HIDDEN
export const FAINT_ROWS = `faint: more than ${MOSTLY_HIDDEN} of the row is hidden`
/**
 * What is said of it, in a list: nothing where nothing is known to be hidden.
 * @param {?number | undefined} hidden
 */
export const hiddenWords = (hidden) =>
  typeof hidden === "number" ? [`${share(hidden)} of this row's weight is hidden`] : []
