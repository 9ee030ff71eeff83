import assert from "node:assert/strict"
import { test } from "node:test"
import { dotted, hatch, paintCell } from "../../viz_transformer/figures/components/parts/marks.js"

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

test("what is not a number is a box with dots on one grid, none of which leaves it", () => {
  const found = []
  const context = { fillStyle: "", fillRect: (...at) => found.push([context.fillStyle, ...at]) }
  const paper = { one: (name) => name }
  dotted(context, paper, 1, 4, 6, 7)
  assert.deepEqual(found, [
    ["no-number", 1, 4, 6, 7],
    ["no-number-dot", 1, 5, 1, 2],
    ["no-number-dot", 5, 5, 2, 2],
    ["no-number-dot", 1, 10, 1, 1],
    ["no-number-dot", 5, 10, 2, 1],
  ])
  found.length = 0
  paintCell(context, paper, "red", 0, 0, 2, 2)
  paintCell(context, paper, null, 2, 2, 1, 1)
  assert.deepEqual(found.slice(0, 2), [
    ["red", 0, 0, 2, 2],
    ["no-number", 2, 2, 1, 1],
  ])
})
