import assert from "node:assert/strict"
import { test } from "node:test"
import { hatch } from "../../viz_transformer/figures/components/parts/marks.js"

test("lines of a pattern end on the box's edges", () => {
  const found = []
  const context = { beginPath() {}, stroke() {}, moveTo: (...at) => found.push(at), lineTo: (...at) => found.push(at) }
  hatch(context, 10, 20, 8, 4, 5)
  assert.deepEqual(found, [
    [11, 24],
    [15, 20],
    [16, 24],
    [18, 22],
  ])
  found.length = 0
  hatch(context, 0, 0, 4, 4, 5, 3)
  assert.deepEqual(found, [
    [0, 3],
    [3, 0],
  ])
})
