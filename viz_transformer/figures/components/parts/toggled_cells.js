// Four masks: what padding leaves open, what causality leaves open, both together, and these with the cells that were turned
// round.

/**
 * What is open in each of the four masks, which cells of the last were changed, and why one of them is as it is.
 * @typedef {{open: ((r: number, c: number) => boolean)[], changed: (r: number, c: number) => boolean,
 *   why: (r: number, c: number) => string}} Masks
 */

/**
 * The word of a cell, as "d3.5"; that of a whole row is "d3".
 * @param {string} letter
 * @param {number} r
 * @param {number} c
 */
export const wordOf = (letter, r, c) => `${letter}${r}.${c}`

/**
 * The masks of a kind, whose cells have this letter. padding, causal: [Q, K], 1 = open; words: of the cells that were
 * turned round and the rows that were closed, of all kinds.
 * @param {ArrayLike<number>} padding
 * @param {ArrayLike<number>} causal
 * @param {number} columns
 * @param {string} letter
 * @param {Iterable<string>} words
 * @param {string[]} reasons by what the first mask closes, and the second
 * @returns {Masks}
 */
export function masksOf(padding, causal, columns, letter, words, reasons) {
  const cells = new Set(words)
  const rows = [...cells].filter((word) => word.startsWith(letter) && !word.includes("."))
  const closed = new Set(rows.map((word) => Number(word.slice(letter.length))))
  const keeps = (/** @type {number} */ r, /** @type {number} */ c) => padding[r * columns + c] === 1
  const sees = (/** @type {number} */ r, /** @type {number} */ c) => causal[r * columns + c] === 1
  const own = (/** @type {number} */ r, /** @type {number} */ c) => keeps(r, c) && sees(r, c)
  const both = (/** @type {number} */ r, /** @type {number} */ c) =>
    (own(r, c) && !closed.has(r)) !== cells.has(wordOf(letter, r, c))
  return {
    open: [keeps, sees, own, both],
    changed: (r, c) => both(r, c) !== own(r, c),
    why(r, c) {
      const by = [!keeps(r, c) && reasons[0], !sees(r, c) && reasons[1]].filter(Boolean).join(" and ")
      const before = by ? `closed by ${by}` : "open"
      if (both(r, c) === own(r, c)) return before
      if (both(r, c)) return `opened here, was ${before}`
      return closed.has(r) ? "closed here with its row, was open" : "closed here, was open"
    },
  }
}

/**
 * The words once a cell is turned round, or back; null where that would make more than `most` of them.
 * @param {Iterable<string>} words
 * @param {string} word
 * @param {number} most
 */
export function turned(words, word, most) {
  const after = new Set(words)
  if (!after.delete(word)) {
    if (after.size >= most) return null
    after.add(word)
  }
  return [...after]
}
