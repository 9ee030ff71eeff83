import assert from "node:assert/strict"
import { test } from "node:test"
import { keySentences, rowNumbers } from "../../viz_transformer/figures/components/parts/row_numbers.js"
import { columnX } from "../../viz_transformer/figures/components/parts/row_painting.js"
import { rowPicture } from "../../viz_transformer/figures/components/row.js"
import { axis, numbers } from "./axis_fixture.js"

const HEAD = {
  position: 1,
  token: { text: "b" },
  writes: { text: "w" },
  fill: "-1e9",
  keys: axis("i", "key", "xy"),
}
const made = (/** @type {object} */ changes = {}) =>
  rowNumbers({
    header: HEAD,
    arrays: {
      query: numbers([1, -2]),
      keys: numbers([1, 0.5, -3, 1], [2, 2]),
      scores: numbers([0, 9]),
      weights: numbers([1, 0]),
      mask: numbers([1, 0]),
      ...changes,
    },
  })

test("colours reach as far as the numbers, those of scores as far as those that are not masked", () => {
  const row = made()
  assert.deepEqual([row.K, row.E, row.top], [2, 2, 0])
  assert.deepEqual(row.most, { vectors: 3, products: 3, scores: 0 }) // 1 * 1, -2 * 0.5, 1 * -3, -2 * 1
  assert.equal(made({ mask: numbers([0, 0]) }).most.scores, 9) // where all are masked, they are all there is
})

test("what is not a number counts for no colour, and is said unless it is masked", () => {
  const row = made({ scores: numbers([Number.NaN, 2]), mask: numbers([1, 1]) })
  assert.deepEqual([row.most.scores, row.top, row.strange], [2, 2, "not a number"])
  assert.equal(made({ scores: numbers([1, -Infinity]) }).strange, "")
})

test("a key says what is asked of it, its product in a dimension, and what masks it", () => {
  assert.deepEqual(keySentences(made({ mask: numbers([1, 1]) }), 0, 1), [
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

/** @returns {any} */
const view = (changes = {}) => ({
  row: made(),
  place: {
    left: 50,
    cell: 20,
    start: 30,
    tall: 10,
    end: 200,
    strips: { keys: { y: 30, height: 40 }, products: { y: 80, height: 40 }, scores: { y: 130 } },
  },
  chosen: 0,
  scrolled: 0,
  ...changes,
})

test("under the pointer is a key, with the dimension of it, where columns are scrolled too", () => {
  assert.deepEqual(rowPicture.hit(view(), 55, 55), { k: 0, dimension: 1 })
  assert.deepEqual(rowPicture.hit(view(), 55, 150), { k: 0, dimension: null })
  assert.deepEqual(rowPicture.hit(view({ scrolled: 20 }), 55, 55)?.k, 1)
  assert.equal(rowPicture.hit(view({ scrolled: 20 }), 45, 55), null) // a name, which is not scrolled
  assert.deepEqual(rowPicture.at(view({ scrolled: 20 }), { k: 1, dimension: null }), { x: 60, y: 130 })
  assert.equal(rowPicture.describe(view(), { k: 0, dimension: 1 })[2], "dimension 1: -2.0000 × 0.5000 = -1.0000")
})

test("keys along the row lead to keys, and stop at its ends; those across do not", () => {
  const to = (/** @type {string} */ key, chosen = /** @type {?number} */ (0), shiftKey = false) =>
    rowPicture.keys(view({ chosen }), /** @type {any} */ ({ key, shiftKey }), { k: 0, dimension: null })?.k
  assert.deepEqual([to("ArrowRight"), to("ArrowRight", 1), to("ArrowLeft"), to("End"), to("Home", 1)], [1, 1, 0, 1, 0])
  assert.deepEqual([to("ArrowRight", null), to("ArrowRight", 0, true)], [1, 1])
  assert.deepEqual([to("ArrowDown"), to("Enter")], [undefined, undefined])
})
