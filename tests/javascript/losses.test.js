import assert from "node:assert/strict"
import { test } from "node:test"
import { nearestPoint, placeLosses } from "../../viz_transformer/figures/components/parts/losses.js"

const GIVEN = { steps: [0, 9, 99], losses: [1, 0.1, 0.01], width: 168, height: 150, z: 1 }
const placed = (changes = {}) => placeLosses({ ...GIVEN, ...changes })
const rounded = (/** @type {{x: number, y: number}[]} */ points) =>
  points.map(({ x, y }) => [x, y].map((n) => Math.round(n * 100) / 100))

test("steps and losses stand by their logarithms, step 0 at the left edge and the last at the right", () => {
  const { left, right, top, bottom, points } = placed()
  assert.deepEqual([left, right, top, bottom], [56, 156, 24, 124])
  // decades are 100 / 1.12 / 2 pixels apart, the middle one in the middle
  assert.deepEqual(rounded(points), [
    [56, 29.36],
    [106, 74],
    [156, 118.64],
  ])
})

test("a loss without a logarithm stands on the lower axis and moves no other", () => {
  const { points } = placed({ losses: [1, 0, 0.01] })
  assert.equal(points[1].y, 124)
  assert.deepEqual([points[0], points[2]], [placed().points[0], placed().points[2]])
  assert.deepEqual(
    placed({ losses: [0, 0, 0] }).points.map(({ y }) => y),
    [124, 124, 124],
  )
})

test("lines stand at whole decades, at most five, and say them", () => {
  assert.deepEqual(
    placed().decades.map(({ text }) => text),
    ["0.01", "0.1", "1"],
  )
  assert.deepEqual(
    placed().decades.map(({ y }) => Math.round(y)),
    [119, 74, 29],
  )
  const wide = placed({ losses: [10, 1e-3, 1e-7] }).decades.map(({ text }) => text)
  assert.deepEqual(wide, ["1e-7", "1e-5", "0.001", "0.1", "10"])
})

test("ticks are the powers of ten up to the last step", () => {
  assert.deepEqual(
    placed().ticks.map(({ text }) => text),
    ["0", "1", "10"],
  )
  assert.deepEqual(placed({ steps: [0, 1000, 20_000] }).ticks.at(-1)?.text, "10,000")
  assert.equal(placed({ steps: [0], losses: [1] }).points[0].x, 56)
})

test("all of it grows with the text", () => {
  const { left, right, top, bottom } = placed({ z: 2, width: 336, height: 300 })
  assert.deepEqual([left, right, top, bottom], [112, 312, 48, 248])
})

test("the nearest point is that of the smallest distance along the steps, of two the first", () => {
  const points = [{ x: 0 }, { x: 10 }, { x: 30 }]
  assert.deepEqual(
    [-5, 4, 5, 6, 21, 99].map((from) => nearestPoint(points, from)),
    [0, 0, 0, 1, 2, 2],
  )
})
