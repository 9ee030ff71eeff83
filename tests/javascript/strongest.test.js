import assert from "node:assert/strict"
import { test } from "node:test"
import {
  awayFrom,
  countFrom,
  firstThreshold,
  strongestFirst,
} from "../../viz_transformer/figures/components/parts/strongest.js"

const always = () => true

test("lines are sorted by weight, with the weight of all that follow", () => {
  const weights = Float32Array.of(0.25, 0.5, 0, 0.125, 0.75, 0.125)
  const { order, rest, all, masked, unknown } = strongestFirst(weights, [1, 2, 3], always, always)
  assert.deepEqual([...order].slice(0, 3), [4, 1, 0])
  assert.deepEqual([...order].slice(3).sort(), [3, 5]) // equal weights, in either order
  assert.deepEqual([...rest], [1.75, 1, 0.5, 0.25, 0.125, 0])
  assert.deepEqual([all, masked, unknown], [6, 0, 0]) // no line for a weight of 0, but it is one of the pairs
})

test("what is masked, not finite or not there has no line, and is counted", () => {
  const weights = Float32Array.of(0.25, 0.5, NaN, 1, 0.125, Infinity, 0.5, 0.25)
  const may = (n, q, k) => !(n === 1 && q === 0 && k === 0) && !(n === 0 && q === 0 && k === 1)
  const there = (q, k) => !(q === 1 && k === 1)
  const lines = strongestFirst(weights, [2, 2, 2], may, there)
  // [0, 0, 0] and [1, 1, 0] have lines; [0, 0, 1] and [1, 0, 0] are masked; [0, 1, 0] and [1, 0, 1] are not finite.
  assert.deepEqual([...lines.order], [6, 0])
  assert.deepEqual([lines.all, lines.masked, lines.unknown], [2, 0.625, 2])
})

test("very small and very close weights keep their order", () => {
  const weights = Float32Array.of(1e-45, 0.3, 0.3 + 2 ** -25, 1e-30)
  assert.deepEqual([...strongestFirst(weights, [1, 1, 4], always, always).order], [2, 1, 3, 0])
})

test("a threshold leaves what is as large as it is, rounded as weights are", () => {
  const weights = Float32Array.of(0.1, 0.5, 0.1, 0.05)
  const order = Uint32Array.of(1, 0, 2, 3)
  assert.deepEqual(
    [0, 0.05, 0.06, 0.1, 0.11, 0.5, 1].map((each) => countFrom(weights, order, each)),
    [4, 4, 3, 3, 1, 1, 0],
  )
})

test("the first threshold is an even share, and more where too many lines are left", () => {
  const thresholds = [0, 0.01, 0.02, 0.05, 0.1, 0.5, 1]
  assert.equal(
    firstThreshold(thresholds, 4, 600, () => 10),
    0.05,
  )
  assert.equal(
    firstThreshold(thresholds, 50, 600, () => 10),
    0.02,
  )
  assert.equal(
    firstThreshold(thresholds, 70, 600, (from) => 800 - 2500 * from),
    0.1,
  ) // 0.01 leaves 775, 0.05 leaves 675
  assert.equal(
    firstThreshold(thresholds, 70, 600, (from) => (from > 0.1 ? 0 : 800)),
    0.1,
  ) // the next one leaves none
})

test("the distance from a line is at right angles to it", () => {
  assert.equal(awayFrom(13, 0.5, 10, 10, 100), 3)
  assert.equal(awayFrom(0, 0, 30, 70, 30), 18) // slope 4/3: 30 below it, 3/5 of that across
  assert.equal(awayFrom(50, 0.5, 30, 70, 30), 0)
})
