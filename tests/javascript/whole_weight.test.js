import assert from "node:assert/strict"
import { test } from "node:test"
import {
  fittingNumbers,
  scoreLine,
  weightLine,
  weightSentence,
  weightSentences,
  workedWeight,
  written,
} from "../../viz_transformer/figures/components/parts/whole_weight.js"
import { attention, looking, missing } from "./whole_fixture.js"

test("one weight is worked out from its row, or not at all", () => {
  const all = workedWeight(looking(attention, { keyOf: () => 1 }), attention)
  assert.deepEqual(all.products, [0, 1])
  assert.deepEqual([...all.open], [1, 1, 0])
  assert.deepEqual([all.sum, all.score, all.most, all.bias], [1, 2, 2, undefined])
  assert.equal(workedWeight(looking(missing), missing), null)
  assert.equal(
    scoreLine(all)
      .map(([text]) => text)
      .join(" "),
    "the products add up to 1.0000 divided by 1.4142 is the score 2.0000",
  )
  assert.match(weightLine(all)[0][0], /^e\^\(2.00 − 2.00\) =/)
  assert.deepEqual(weightLine({ ...all, most: -Infinity }), [
    ["nothing may be read in this row: no key has a weight of its own", false],
  ])
  assert.match(
    weightLine({ ...all, weights: Float32Array.of(0, Number.NaN, 0) })[0][0],
    /a score in this row is not a number/,
  )
})

test("numbers of all keys have as many digits as have room, the same for all", () => {
  const digits = (n, places) => (n / 3).toFixed(places)
  assert.deepEqual(fittingNumbers([2, 1], 2, 4, digits), ["0.00", "0.33"])
  assert.deepEqual(fittingNumbers([2, 1], 2, 3, digits), ["0.0", "0.3"])
  assert.equal(fittingNumbers([2, 1], 2, 2, digits), null)
  assert.deepEqual([written(1.23456), written(12.3456), written(123.456)], ["1.2346", "12.346", "123.46"])
})

test("a weight says the dimension that is pointed at, a masked key, or the share", () => {
  const said = (hovered) => weightSentence(looking(attention, { hovered, keyOf: () => 1 }))
  assert.equal(said({ dimension: 1 }), "Dimension 1: 1.0000 × 1.0000 = 1.0000.")
  assert.match(said({ key: 2 }), /^“x” may not look at “c”: it is masked/)
  assert.match(said(null), /^Head 1: “x” puts 0.8000 of its attention on “b”, for a score of 2.0000/)
  assert.equal(weightSentence(looking(null)), "no weight")
  assert.equal(weightSentence(looking(missing)), "Not told.")
  assert.equal(weightSentences(looking(attention)).length, 2 + 2)
  assert.deepEqual([weightSentences(looking(missing)), weightSentences(looking(null))], [["Not told."], []])
})
