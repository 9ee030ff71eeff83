import assert from "node:assert/strict"
import test from "node:test"
import { dotsIn, legendWords, meanings } from "../../viz_transformer/figures/components/parts/whole_legend.js"

const DRAWN = { samples: 24, features: 64, isShort: false }
const words = (/** @type {string} */ level, /** @type {object} */ more = {}) =>
  meanings(level, { ...DRAWN, ...more }).map(({ mark, words }) => [mark, words])

test("each mark of the whole run is beside what it means", () => {
  assert.deepEqual(words("run"), [
    ["ribbon", "attention weight (below 2 % merged)"],
    ["strip", "vector (24 of 64 numbers)"],
    ["share", "share added"],
  ])
})

test("a name that is written short for want of room is written out", () => {
  assert.deepEqual(words("run", { isShort: true })[0], ["", "ff: feed-forward"])
  assert.ok(!JSON.stringify(words("run")).includes("ff:"))
})

test("a vector that is drawn whole says so", () => {
  assert.deepEqual(words("layer", { samples: 64 })[0], ["strip", "vector (64 numbers)"])
})

test("where numbers are written nothing is left to explain", () => {
  assert.deepEqual(words("weight"), [])
})

test("dots are said of numbers that are not finite, but not of a step with fewer candidates", () => {
  const floats = (...values) => ({ encoding: "float32", values: Float32Array.from(values) })
  assert.equal(dotsIn({ a: floats(1, 2) }), "")
  assert.equal(dotsIn({ a: floats(1, Number.NaN), b: floats(Infinity) }), "dotted: not a number or infinite")
  assert.equal(dotsIn({ log_probs: floats(Number.NaN), a: { encoding: "bits", values: [Number.NaN] } }), "")
})

test("a level's legend says whose weights its ribbons are, and how many numbers of a vector are drawn", () => {
  const head = { head: null, stacks: [{ features: 64, parts: [{ heads: 4 }, {}, { heads: 2 }] }] }
  assert.match(
    legendWords(head, "run", 24),
    /^Ribbons: attention weights of the mean of 4 or 2 heads .* 24 of .* 64 numbers/,
  )
  assert.match(legendWords({ ...head, head: 3 }, "run", 24), /of head 3 /)
  assert.match(legendWords(head, "layer", 8), /^Strips: 8 of each vector’s 64 numbers/)
  assert.equal(legendWords(head, "weight", 8), "")
})
