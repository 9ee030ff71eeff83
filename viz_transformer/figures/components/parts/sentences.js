import { positionAt } from "./selection.js"
import { quoted } from "./text.js"

/** @import { Axis, Token } from "./types.js" */

// What tooltips and screen readers are told of places in pictures of weights.

/**
 * What somebody reads, and what that writes where it writes anything.
 * @param {string} who
 * @param {Token} token
 * @param {?Token | undefined} writes
 */
export const readingWords = (who, token, writes) =>
  `${who}: ${writes ? "reads " : ""}${quoted(token)}${writes ? `, writes ${quoted(writes)}` : ""}`

/** @type {(axis: Axis, n: number) => string} */
export const placeWords = (axis, n) => `${axis.role} ${positionAt(axis, n)}`

/** @type {(axis: Axis, n: number, writes?: ?Token[]) => string} */
export const tokenWords = (axis, n, writes) => readingWords(placeWords(axis, n), axis.tokens[n], writes?.[n])

/**
 * What stands before the number of a masked cell, whose score was filled with this.
 * @param {string} fill
 */
export const maskedWords = (fill) => `masked${fill ? ` (${fill})` : ""}, `
