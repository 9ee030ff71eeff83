// One layer at one token: the stream runs along the top from the left to the right; each sub-layer reads it through its norm,
// works below it, and adds to it.

/** @import { WholePart } from "./types.js" */
/** @import { Box } from "./whole_levels.js" */
/**
 * A sub-layer's room. `branch` is where it reads the stream, `plus` where it adds; `norm` is where its norm is written, which
 * stands before it or, in a post-norm model, on the stream behind `plus`, where `total` is the sum that it reads.
 * @typedef {{part: WholePart, index: number, x: number, width: number, before: Box, branch: number, plus: number, norm: Box,
 *   read: Box, content: Box, out: Box, total: ?Box}} Group
 */
/** @typedef {{z: number, width: number, height: number, stream: number, groups: Group[], after: Box}} LayerPlaces */

const [STREAM_TOP, STREAM_TALL, TITLE_TALL, NORM_LINE] = [40, 18, 18, 16]

/**
 * @param {{z: number, width: number, height: number, parts: WholePart[], post: boolean}} given
 * @returns {LayerPlaces}
 */
export function placeLayer({ z, width, height, parts, post }) {
  const strip = Math.min(110 * z, (width / (parts.length + 1)) * 0.34)
  const units = parts.map(({ part }) => (part === "ffn" ? 0.8 : 1.1))
  const unit = (width - strip) / units.reduce((sum, each) => sum + each, 0)
  const y = STREAM_TOP * z
  const tall = STREAM_TALL * z
  const middle = y + tall / 2
  const box = (
    /** @type {number} */ x,
    /** @type {number} */ top,
    /** @type {number} */ wide,
    /** @type {number} */ high,
  ) => ({ x, y: top, width: wide, height: high })
  let x = 0
  const read = y + tall + (post ? 34 : 54) * z
  const content = read + tall + 14 * z
  const out = height - tall - 22 * z
  const groups = parts.map((part, index) => {
    const wide = units[index] * unit
    const branch = x + 4 * z
    const plus = x + wide - (post ? strip * 0.8 + 26 * z : 18 * z)
    const inner = x + 16 * z
    const across = plus - 14 * z - inner
    const made = {
      part,
      index,
      x,
      width: wide,
      before: box(x, y, strip, tall),
      branch,
      plus,
      norm: post
        ? box(plus + 10 * z, y - NORM_LINE * z - 2 * z, strip * 0.8, NORM_LINE * z)
        : box(inner, read - 2 * NORM_LINE * z - 2 * z, across, 2 * NORM_LINE * z),
      read: box(inner, read, Math.min(across, 2 * strip), tall),
      content: box(inner, content, across, Math.max(24 * z, out - content - 12 * z)),
      out: box(inner, out, Math.min(across, 2 * strip), tall),
      total: post ? box(plus + 14 * z, y, strip * 0.5, tall) : null,
    }
    x += wide
    return made
  })
  return { z, width, height, stream: middle, groups, after: box(width - strip, y, strip, tall) }
}

/**
 * The ways of a sub-layer: from the stream past it down to what it adds, into what it reads, and from what it adds up to
 * the plus on the stream.
 * @param {Group} group
 * @param {Pick<LayerPlaces, "stream" | "z">} place
 * @returns {[number, number][][]}
 */
export function groupWays({ branch, plus, before, read, out }, { stream, z }) {
  const middle = (/** @type {Box} */ { y, height }) => y + height / 2
  return [
    [
      [branch, before.y + before.height],
      [branch, middle(out)],
      [out.x - 2 * z, middle(out)],
    ],
    [
      [branch, middle(read)],
      [read.x - 2 * z, middle(read)],
    ],
    [
      [out.x + out.width, middle(out)],
      [plus, middle(out)],
      [plus, stream + 9 * z],
    ],
  ]
}

/** Where the title of a group stands. @param {LayerPlaces} place */
export const titleLine = ({ z }) => TITLE_TALL * z - 4 * z

/**
 * How the rows of heads stand in a sub-layer's room: `cell` by `row` pixels from x and y on; below them are the keys' labels.
 * @param {Box} content
 * @param {number} heads
 * @param {number} keys
 * @param {number} z
 */
export function headRows({ x, y, width, height }, heads, keys, z) {
  const left = 44 * z
  const below = Math.min(76 * z, Math.max(height * 0.42, height - 16 * z * heads))
  const row = Math.min(56 * z, (height - below) / heads)
  const cell = Math.max(0, Math.min(40 * z, (width - left) / keys))
  return { x: x + left, y, row, cell, keys, labels: y + row * heads + 4 * z, below: below - 10 * z }
}

/**
 * The sub-layer at a place, and of an attention the head and the key there; null beside all of them.
 * @param {LayerPlaces} place
 * @param {number} x
 * @param {number} y
 * @param {(group: Group) => ?{heads: number, keys: number}} of
 */
export function layerAt(place, x, y, of) {
  const group = place.groups.find((each) => x >= each.x && x < each.x + each.width)
  if (!group || y < 0 || y > place.height) return null
  const counts = of(group)
  if (!counts) return { group, head: null, key: null }
  const rows = headRows(group.content, counts.heads, counts.keys, place.z)
  const head = Math.floor((y - rows.y) / rows.row)
  const key = Math.floor((x - rows.x) / rows.cell)
  const there = head >= 0 && head < counts.heads && key >= 0 && key < counts.keys
  return { group, head: there ? head : null, key: there ? key : null }
}
