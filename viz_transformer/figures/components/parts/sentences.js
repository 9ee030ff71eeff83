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

/**
 * A place by its number: "key 3", or "features 12 to 23" of several that are drawn as one.
 * @type {(axis: Axis, n: number) => string}
 */
export function placeWords(axis, n) {
  const first = positionAt(axis, n)
  const last = axis.blocks && axis.ends ? axis.ends[n] - 1 : first
  return `${axis.role} ${last > first ? `${first} to ${last}` : first}`
}

/**
 * A place with what stands there, if anything does: "key 3: “a”", or "feature 3".
 * @type {(axis: Axis, n: number, writes?: ?Token[]) => string}
 */
export const tokenWords = (axis, n, writes) =>
  axis.numbered ? placeWords(axis, n) : readingWords(placeWords(axis, n), axis.tokens[n], writes?.[n])

/**
 * What stands before the number of a masked cell, whose score was filled with this.
 * @param {string} fill
 */
export const maskedWords = (fill) => `masked${fill ? ` (${fill})` : ""}, `
