import assert from "node:assert/strict"
import { test } from "node:test"
import {
  clamp,
  firstSight,
  middlesBetween,
  rowHeightAt,
  tallestRows,
  treeOf,
  usualWidth,
} from "../../viz_transformer/figures/components/parts/tree.js"

// Two beams: 0 and 1 are kept in step 0, 2 is not; of step 1, 3 extends 1, 4 and 5 extend 0, and 5 is not kept.
const NODES = {
  parent: [-1, -1, -1, 1, 0, 0],
  step: [0, 0, 0, 1, 1, 1],
  row: [0, 1, -1, 1, 0, -1],
  score: [-1, -2, -9, -3, -0.5, -8],
  token: [0, 1, 2, 1, 2, 0],
}

test("the tree knows its steps, rows, who extends whom, and the way of the answer", () => {
  const tree = treeOf(NODES, 4)
  assert.deepEqual([tree.N, tree.steps, tree.rows, [...tree.starts]], [6, 2, 2, [0, 3, 6]])
  assert.deepEqual(tree.kept, [[4], [3], [], [], [], [], [0, 1]])
  assert.deepEqual(tree.hairs, [[5], [], [], [], [], [], [2]])
  assert.deepEqual([tree.low, tree.high], [-3, -0.5]) // of what was kept alone
  assert.deepEqual([...tree.onAnswer], [1, 0, 0, 0, 1, 0])
})

test("what extends a hypothesis stands from the top row down, whatever its order in the search", () => {
  const nodes = { ...NODES, parent: [-1, -1, -1, 0, 0, 0], row: [0, 1, -1, 1, 0, 2] }
  assert.deepEqual(treeOf(nodes, 0).kept[0], [4, 3, 5])
})

test("a tenth of the tokens may be wider than the usual one", () => {
  const nodes = (tokens) => ({ ...NODES, token: tokens, row: tokens.map(() => 0) })
  const widths = [50, 20, 90]
  assert.equal(usualWidth(nodes([...Array(18).fill(0), 2, 2]), widths), 50)
  assert.equal(usualWidth(nodes([...Array(17).fill(0), 2, 2, 2]), widths), 90)
  assert.equal(usualWidth({ ...NODES, row: NODES.row.map(() => -1) }, widths), 0)
})

test("columns and rows fill the room, within what can be read", () => {
  const given = { rows: 4, steps: 5, inside: 600, room: 160, token: 100, z: 1 }
  assert.deepEqual(firstSight(given), { row: 40, rowFit: 40, col: 120, least: 120, most: 480, usual: 100 })
  assert.equal(firstSight({ ...given, steps: 2 }).col, 132) // 300 would fit
  assert.equal(firstSight({ ...given, steps: 7 }).col, 600 / 7) // 85.7, which is above four fifths of 100
  const long = firstSight({ ...given, steps: 20, rows: 16 })
  assert.deepEqual(long, { row: 27, rowFit: 10, col: 100, least: 30, most: 400, usual: 100 })
  assert.deepEqual(firstSight({ ...given, rows: 16 }).least, 36) // wide enough but too high: 0.3 of 120
  assert.equal(firstSight({ ...given, rows: 1 }).row, 54)
  assert.equal(tallestRows(3, 2), 324)
})

test("rows become lower while one zooms out, and stay as they are while one zooms in", () => {
  const first = { row: 27, rowFit: 10, col: 100, least: 30 }
  assert.deepEqual(
    [200, 100, 65, 30].map((col) => rowHeightAt(first, col)),
    [27, 27, 18.5, 10],
  )
  assert.equal(rowHeightAt({ ...first, least: 100 }, 100), 27)
})

test("what is seen is said by what has its middle in sight", () => {
  assert.deepEqual(middlesBetween(0, 100, 20, 10), [0, 4]) // middles at 10, 30, ... 90
  assert.deepEqual(middlesBetween(11, 89, 20, 10), [1, 3])
  assert.deepEqual(middlesBetween(-50, 1000, 20, 10), [0, 9])
  assert.deepEqual(middlesBetween(11, 12, 20, 10), [1, 1]) // never none
})

test("a value stays between its ends, and at the lower one where they are turned round", () => {
  assert.deepEqual([clamp(5, 0, 3), clamp(-1, 0, 3), clamp(2, 0, 3), clamp(2, 4, 3)], [3, 0, 2, 4])
})
