import assert from "node:assert/strict"
import test from "node:test"
import { meanings } from "../../viz_transformer/figures/components/parts/whole_legend.js"

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
