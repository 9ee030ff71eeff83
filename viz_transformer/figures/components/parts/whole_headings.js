// What stands over the columns of a stack in the whole run: sub-layers, their layers, and what leaves it.

import { startOf } from "./whole_places.js"

/** @import { Band, Column } from "./whole_places.js" */

/** A heading: its left edge and width, and how far above the lanes it stands. `up` is in the size that everything has.
 * @typedef {{text: string, x: number, width: number, up: number}} Heading */
/**
 * `memory` is null where nobody reads what the stack gives out, and else whether its readers stand beside it. `right` is
 * where the picture ends.
 * @typedef {{layers: number, final: boolean, memory: ?{beside: boolean}, z: number, right: number,
 *   measure: (text: string) => number}} About
 */

/** What a feed-forward is called that has no room for its name. */
export const SHORT_FEED_FORWARD = "ff"
/** @type {Record<string, string>} */
const SHORT_NAMES = { self: "self", cross: "cross", ffn: SHORT_FEED_FORWARD }
/** @type {Record<string, string>} */
const LONG_NAMES = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" } // where there is room
const FIRST_NAMED = ["cross", "self", "ffn"] // of two that have no room beside each other, the first
const [NEXT_TO, ONE_UP, TWO_UP] = [6, 22, 36] // pixels above the lanes
const HEADINGS_APART = 4 // pixels

/**
 * The headings of a band, those that have room: each over the middle of its columns, or behind another one.
 * @param {Pick<Band, "token" | "position" | "strips" | "blocks">} band
 * @param {About} about
 * @returns {Heading[]}
 */
export function placeHeadings({ token, position, strips, blocks }, { layers, final, memory, z, right, measure }) {
  /** @type {Heading[]} */
  const placed = []
  /**
   * Whether the text has room, between `from` and `to` with `spare` pixels to each side; it has its place then.
   * @param {[number, number]} room
   * @param {string} text
   * @param {number} up
   * @param {number} spare
   */
  const put = ([from, to], text, up, spare) => {
    const width = measure(text)
    if (width > to - from + spare * z) return false
    const beside = placed.filter((each) => each.up === up)
    const ends = beside.map((each) => each.x + each.width)
    const isFree = (/** @type {number} */ x) =>
      beside.every((each, n) => x >= ends[n] + HEADINGS_APART * z || x + width <= each.x - HEADINGS_APART * z)
    const places = [from + (to - from - width) / 2, ...ends.map((end) => end + HEADINGS_APART * z)]
    const x = places.find((x) => x >= from - spare * z && x + width <= to + spare * z && isFree(x))
    if (x === undefined) return false
    placed.push({ text, x, width, up })
    return true
  }
  if (position) put([token.x, rightOf(strips[0])], "input", NEXT_TO, 8)
  for (const block of blocks.toSorted((a, b) => FIRST_NAMED.indexOf(a.part) - FIRST_NAMED.indexOf(b.part))) {
    /** @type {[number, number]} */
    const room = [startOf(block), rightOf(block)]
    if (!put(room, LONG_NAMES[block.part], NEXT_TO, -6)) put(room, SHORT_NAMES[block.part], NEXT_TO, 6)
  }
  for (let layer = 0; layer < layers; layer++) {
    const mine = blocks.filter((block) => block.layer === layer)
    /** @type {[number, number]} */
    const room = [startOf(mine[0]), rightOf(mine[mine.length - 1])]
    if (!put(room, `layer ${layer}`, ONE_UP, 0)) put(room, String(layer), ONE_UP, 8)
  }
  const last = strips[strips.length - 1]
  if (memory) {
    const width = measure("memory")
    const from = Math.min(last.x + (last.width - width) / 2, right - width)
    if (!memory.beside && !put([from, from + width], "memory", ONE_UP, 0))
      put([from, from + width], "memory", TWO_UP, 0)
  } else if (final && put([last.x, rightOf(last)], "norm", NEXT_TO, 30))
    put([last.x, rightOf(last)], "final", ONE_UP, 30)
  return placed
}

const rightOf = (/** @type {Column} */ { x, width }) => x + width
