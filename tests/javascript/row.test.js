import assert from "node:assert/strict"
import { test } from "node:test"
import { keySentences, rowNumbers } from "../../viz_transformer/figures/components/parts/row_numbers.js"
import { columnX } from "../../viz_transformer/figures/components/parts/row_painting.js"

const HEAD = {
  position: 1,
  token: { text: "b" },
  writes: { text: "w" },
  fill: "-1e9",
  keys: {
    field: "i",
    role: "key",
    axis: "keys",
    ink: "",
    tokens: [{ text: "x" }, { text: "y" }],
    starts: null,
    ends: null,
  },
}
const array = (/** @type {number[]} */ values, shape = [values.length]) => ({
  shape,
  encoding: "float32",
  values: Float32Array.from(values),
})
const made = (/** @type {object} */ changes = {}) =>
  rowNumbers({
    header: HEAD,
    arrays: {
      query: array([1, -2]),
      keys: array([1, 0.5, -3, 1], [2, 2]),
      scores: array([0, 9]),
      weights: array([1, 0]),
      mask: array([1, 0]),
      ...changes,
    },
  })

test("colours reach as far as the numbers, those of scores as far as those that are not masked", () => {
  const row = made()
  assert.deepEqual([row.K, row.E, row.top], [2, 2, 0])
  assert.deepEqual(row.most, { vectors: 3, products: 3, scores: 0 }) // 1 * 1, -2 * 0.5, 1 * -3, -2 * 1
  assert.equal(made({ mask: array([0, 0]) }).most.scores, 9) // where all are masked, they are all there is
})

test("what is not a number counts for no colour, and is said unless it is masked", () => {
  const row = made({ scores: array([Number.NaN, 2]), mask: array([1, 1]) })
  assert.deepEqual([row.most.scores, row.top, row.strange], [2, 2, "not a number"])
  assert.equal(made({ scores: array([1, -Infinity]) }).strange, "")
})

test("a key says what is asked of it, its product in a dimension, and what masks it", () => {
  assert.deepEqual(keySentences(made({ mask: array([1, 1]) }), 0, 1), [
    "query 1: reads “b”, writes “w”",
    "key 0: “x”",
    "dimension 1: -2.0000 × 0.5000 = -1.0000",
    "score 0.0000, 9.00 below the row's largest",
    "weight 1.0000",
  ])
  assert.deepEqual(keySentences(made(), 1, null).slice(2), ["score 9.0000", "masked (-1e9), weight 0.0000"])
})

test("columns stand side by side", () => {
  assert.equal(columnX(/** @type {any} */ ({ left: 126, cell: 40 }), 3), 246)
})
