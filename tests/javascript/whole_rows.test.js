import assert from "node:assert/strict"
import { test } from "node:test"
import {
  isUnknown,
  mostOf,
  ribbonsOf,
  strongestIn,
  strongestKey,
} from "../../viz_transformer/figures/components/parts/whole_rows.js"

const LEAST = 0.02
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)
/** A row of weights by key, and the sum of the others. */
const row = (weights, rest = 0) => ({
  keys: Float32Array.from(Object.keys(weights)),
  weights: Float32Array.from(Object.values(weights)),
  rest,
})
const numbers = (shape, values) => ({ shape, values: Float32Array.from(values) })
// two layers of three queries: rows of 2, 0, 1, 1, 3 and 0 entries
const ARRAYS = {
  "keys.cross": numbers([7], [1, 4, 0, 2, 0, 1, 2]),
  "weights.cross": numbers([7], [0.5, 0.25, 1, 0.75, 0.125, 0.25, 0.5]),
  "starts.cross": numbers([7], [0, 2, 2, 3, 4, 7, 7]),
  "rest.cross": numbers([2, 3], [0.25, 0, 0, 0.25, 0.125, Number.NaN]),
}
const found = (layer, query) => {
  const { keys, weights, rest } = strongestIn(ARRAYS, "cross", layer, query)
  return [Array.from(keys), Array.from(weights), rest]
}

test("the rows of all layers stand one behind the other, each from where it begins to where the next one does", () => {
  assert.deepEqual(found(0, 0), [[1, 4], [0.5, 0.25], 0.25])
  assert.deepEqual(found(0, 2), [[0], [1], 0])
  assert.deepEqual(found(1, 0), [[2], [0.75], 0.25])
  assert.deepEqual(found(1, 1), [[0, 1, 2], [0.125, 0.25, 0.5], 0.125])
})

test("a row of which nothing is there has no keys, between others and at the end", () => {
  assert.deepEqual(found(0, 1), [[], [], 0])
  assert.deepEqual(found(1, 2), [[], [], Number.NaN])
})

test("weights of one kind are not those of another", () => {
  const arrays = {
    ...ARRAYS,
    "keys.self": numbers([1], [6]),
    "weights.self": numbers([1], [0.375]),
    "starts.self": numbers([2], [0, 1]),
    "rest.self": numbers([1, 1], [0.625]),
  }
  const { keys, weights, rest } = strongestIn(arrays, "self", 0, 0)
  assert.deepEqual([Array.from(keys), Array.from(weights), rest], [[6], [0.375], 0.625])
})

test("the key with most weight is named by itself, not by its place in the row", () => {
  assert.deepEqual(mostOf(row({ 3: 0.25, 7: 0.5, 9: 0.125 })), { key: 7, weight: 0.5 })
  assert.equal(mostOf(row({ 3: 0.5, 7: 0.25 })).key, 3)
  assert.equal(mostOf(row({ 3: 0.25, 7: 0.5 })).key, 7)
  assert.deepEqual(mostOf(row({ 5: 0.001 }, 0.25)), { key: 5, weight: Math.fround(0.001) })
})

test("of equal ones the first has most, as where they were chosen", () => {
  assert.equal(mostOf(row({ 2: 0.25, 4: 0.5, 6: 0.5 })).key, 4)
})

test("where nothing has a weight, nothing has most", () => {
  assert.equal(mostOf(row({})), null)
  assert.equal(mostOf(row({}, Number.NaN)), null)
})

test("of a whole head the key with most weight is the first largest that the row may read", () => {
  const weights = numbers([3, 4], [0.25, 0.5, 0.125, 0.125, 0, 0, 0, 0, 0.1, 0.2, 0.5, 0.2])
  const keys = (arrays) => [0, 1, 2].map((n) => strongestKey(arrays, n))
  assert.deepEqual(keys({ weights }), [1, 0, 2])
  assert.deepEqual(keys({ weights, mask: numbers([3, 4], [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1]) }), [0, 0, 1])
  assert.equal(strongestKey({ weights: numbers([1, 2], [Number.NaN, 0.5]) }, 0), 1)
})

test("ribbons are as wide as their weights and lie side by side; what is small is one, with all that was not sent", () => {
  const weights = { 0: 0.5, 1: 0.01, 3: 0.25, 5: 0.19 }
  const { ribbons, rest, restAt } = ribbonsOf(row(weights, 0.05), LEAST)
  assert.deepEqual(
    ribbons.map(({ key }) => key),
    [5, 3, 0], // the strongest last
  )
  const by = Object.fromEntries(ribbons.map((each) => [each.key, each]))
  near(by[0].weight, 0.5)
  near(by[0].at, -0.25) // from -0.5 to 0
  near(by[3].at, 0.125)
  near(by[5].at, 0.345)
  near(rest, 0.06)
  near(restAt, 0.47)
})

test("all ribbons together are as wide as the sum of the row, with a middle of 0", () => {
  const rows = [
    row({ 0: 0.5, 1: 0.01, 3: 0.25, 5: 0.19 }, 0.05),
    row({ 2: 1 }),
    row({ 4: 0.015 }, 0.985), // of many even ones one is there
    row({ 0: 0.25, 1: 0.125 }, 0.125), // of a row whose sum is not 1
  ]
  for (const each of rows) {
    const { ribbons, rest, restAt } = ribbonsOf(each, LEAST)
    const all = [...ribbons, { weight: rest, at: restAt }].sort((a, b) => a.at - b.at)
    const sum = each.weights.reduce((total, weight) => total + weight, each.rest)
    let at = -sum / 2
    for (const { weight, at: middle } of all) {
      near(middle - weight / 2, at)
      at += weight
    }
    near(at, sum / 2)
  }
})

test("a weight of exactly the least has a ribbon of its own, one below it has none", () => {
  const { ribbons, rest } = ribbonsOf(row({ 0: 0.125, 1: 0.1249 }), 0.125)
  assert.deepEqual(
    ribbons.map(({ key }) => key),
    [0],
  )
  near(rest, 0.1249)
})

test("a row without weights has no ribbon", () => {
  assert.deepEqual(ribbonsOf(row({}), LEAST), { ribbons: [], rest: 0, restAt: 0 })
  assert.deepEqual(ribbonsOf(row({}, Number.NaN), LEAST), { ribbons: [], rest: 0, restAt: 0 })
  assert.deepEqual(
    [{}, { 0: 1 }].map((weights) => isUnknown(row(weights, Number.NaN))),
    [true, true],
  )
  assert.equal(isUnknown(row({ 0: 1 })), false)
})

test("ribbons of a row with something that is not a number have places all the same", () => {
  assert.deepEqual(ribbonsOf(row({ 1: 0.5 }, Number.NaN), LEAST).ribbons, [{ key: 1, weight: 0.5, at: 0 }])
})
