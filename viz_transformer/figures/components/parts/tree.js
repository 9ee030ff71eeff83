// The tree of a beam search in numbers: who extends whom, which row and column each stands in, how much of it is seen.

/** @import { Nodes } from "./types.js" */

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
export const clamp = (value, low, high) => Math.min(Math.max(value, low), Math.max(low, high))

/**
 * What hangs together in a tree of N hypotheses, which stand in it step by step.
 *
 * starts: the first of each step, and N. kept, hairs: what extends each hypothesis and was kept, from the top row down, or
 * was only looked at; of what has no parent at place N. rows: how many there are. low, high: the scores of what was kept.
 * onAnswer: 1 for the answer and all that it extends.
 * @param {Nodes} nodes
 * @param {number} answer
 */
export function treeOf(nodes, answer) {
  const N = nodes.parent.length
  const steps = nodes.step[N - 1] + 1
  const starts = new Int32Array(steps + 1).fill(N)
  for (let i = N - 1; i >= 0; i--) starts[nodes.step[i]] = i
  const kept = Array.from({ length: N + 1 }, () => /** @type {number[]} */ ([]))
  const hairs = Array.from({ length: N + 1 }, () => /** @type {number[]} */ ([]))
  let [rows, low, high] = [1, Infinity, -Infinity]
  for (let i = 0; i < N; i++) {
    const parent = nodes.parent[i] < 0 ? N : nodes.parent[i]
    ;(nodes.row[i] < 0 ? hairs : kept)[parent].push(i)
    if (nodes.row[i] < 0) continue
    rows = Math.max(rows, nodes.row[i] + 1)
    low = Math.min(low, nodes.score[i])
    high = Math.max(high, nodes.score[i])
  }
  for (const children of kept) children.sort((a, b) => nodes.row[a] - nodes.row[b])
  const onAnswer = new Uint8Array(N)
  for (let i = answer; i >= 0; i = nodes.parent[i]) onAnswer[i] = 1
  return { N, steps, starts, kept, hairs, rows, low, high, onAnswer }
}

/**
 * How wide a token is that nine of ten of those that were kept are not wider than. widths: of the different tokens.
 * @param {Nodes} nodes
 * @param {number[]} widths
 */
export function usualWidth(nodes, widths) {
  /** @type {Map<number, number>} */
  const counts = new Map()
  for (let i = 0; i < nodes.row.length; i++)
    if (nodes.row[i] >= 0) counts.set(nodes.token[i], (counts.get(nodes.token[i]) ?? 0) + 1)
  let left = [...counts.values()].reduce((sum, count) => sum + count, 0) * 0.1
  for (const [token, count] of [...counts].sort(([a], [b]) => widths[b] - widths[a]))
    if ((left -= count) < 0) return widths[token]
  return 0
}

const [LOWEST, HIGHEST, NARROWEST, USUAL, WIDEST] = [27, 54, 52, 112, 132] // rows and columns at the first sight, in pixels
const CLOSEST = 4

/** The greatest height of rows so many, in pixels. */
export const tallestRows = (/** @type {number} */ rows, /** @type {number} */ z) => rows * HIGHEST * z

/**
 * How wide columns and how high rows are at the first sight, where so many have so much room: `col` and `row`, and how far
 * one can zoom: to columns from `least` to `most`, at the least with rows of `rowFit`. `usual` is a column's width for
 * a usual token.
 * @param {{rows: number, steps: number, inside: number, room: number, token: number, z: number}} given
 */
export function firstSight({ rows, steps, inside, room, token, z }) {
  const rowFit = Math.min(HIGHEST * z, room / rows)
  const row = clamp(room / rows, LOWEST * z, HIGHEST * z)
  const fits = inside / steps
  const usual = clamp(token, NARROWEST * z, USUAL * z)
  const col = fits >= 0.8 * usual ? Math.min(fits, WIDEST * z) : usual
  const least = fits < col ? fits : rowFit < row ? col * 0.3 : col
  return { row, rowFit, col, least, most: CLOSEST * col, usual }
}

/**
 * How high rows are where columns are `col` wide: as at the first sight, and lower the further one has zoomed out.
 * @param {{row: number, rowFit: number, col: number, least: number}} first
 * @param {number} col
 */
export const rowHeightAt = ({ row, rowFit, col: usual, least }, col) =>
  col >= usual || usual === least ? row : rowFit + ((row - rowFit) * (col - least)) / (usual - least)

/**
 * The first and the last of `count` whose middles lie between two places, each `size` long.
 * @param {number} from
 * @param {number} to
 * @param {number} size
 * @param {number} count
 */
export function middlesBetween(from, to, size, count) {
  const first = clamp(Math.ceil(from / size - 0.5), 0, count - 1)
  return [first, clamp(Math.floor(to / size - 0.5), first, count - 1)]
}
