import assert from "node:assert/strict"
import { test } from "node:test"
import {
  attentionSentence,
  attentionSentences,
  attentionState,
  cellNow,
  formulasOf,
  gridLevels,
  gridSizes,
  numberBelow,
} from "../../viz_transformer/figures/components/parts/whole_attention.js"
import { attention, looking, missing, numbers } from "./whole_fixture.js"

test("the cell that is looked at is one of the chosen row and key", () => {
  assert.deepEqual(cellNow(looking(attention)), { row: 1, column: 2 })
  assert.deepEqual(gridSizes(looking(attention), attention), { queries: 3, keys: 3, dimensions: 2, heads: 2 })
  assert.equal(gridSizes(looking(null), null).dimensions, 16)
})

test("masked cells have no level of their own, but a masked weight above 0 has", () => {
  const levels = gridLevels(attention, (values) => Float32Array.from(values))
  assert.deepEqual([...levels.mask], [1, -1, -1, 1, 1, -1, 1, 1, 1])
  assert.deepEqual([...levels.scores], [1, -1, -1, 1, 2, -1, 0, 0, 0])
  const leaking = { ...attention.arrays, weights: numbers([3, 3], [0.5, 0.5, 0, 1, 0, 0, 1, 0, 0]) }
  const weights = gridLevels({ ...attention, arrays: leaking }, (values) => Float32Array.from(values)).weights
  assert.deepEqual([...weights], [0.5, 0.5, -1, 1, 0, -1, 1, 0, 0])
  assert.deepEqual(
    gridLevels(missing, () => Float32Array.of()),
    {},
  )
})

test("what is above and below a matrix is its formula or its size, and the number that is looked at", () => {
  assert.deepEqual(formulasOf(attention, "scores"), ["q·k / √2"])
  assert.deepEqual(formulasOf({ ...attention, header: { divisor: 1.3 } }, "scores"), ["q·k / 1.30"])
  assert.deepEqual(formulasOf(null, "scores"), ["q·k"])
  assert.deepEqual([formulasOf(attention, "query"), formulasOf(null, "query")], [["3 × 2"], [""]])
  const below = (name, key) => numberBelow(looking(attention, { keyOf: () => key }), attention, name)
  assert.deepEqual([below("scores", 1), below("mask", 1), below("mask", 2)], ["2.00", "yes", "no"])
  assert.equal(below("weights", 1), "0.8000")
  assert.equal(below("query", 1), "")
})

test("an attention says what is pointed at, else the weight that is looked at, else that it is not told", () => {
  const said = (hovered) => attentionSentence(looking(attention, { hovered, keyOf: () => 1 }))
  assert.equal(said(null), "Head 1: “x” puts 80.0 % of its attention on “b”, for a score of 2.00.")
  assert.equal(said({ head: 0 }), "Head 0 of 2: a click looks at it.")
  assert.equal(said({ grid: "mask", row: 0, column: 1 }), "“<s>” may not look at “b”.")
  assert.match(said({ grid: "key", row: 0, column: 1 }), /^Dimension 1 of the key of “a”: 1/)
  assert.match(said({ grid: "query", row: 0, column: 1 }), /^Dimension 1 of the query of “<s>”: 0/)
  assert.equal(attentionSentence(looking(missing)), "Not told.")
  assert.equal(attentionSentence(looking(null)), "no attention")
  assert.deepEqual(attentionSentences(looking(attention)), [
    "“x” puts 20.0 % of its attention on “a”.",
    "“x” puts 80.0 % of its attention on “b”.",
    "“x” may not look at “c”.",
  ])
  assert.notEqual(attentionState(looking(attention)), attentionState(looking(null)))
})
