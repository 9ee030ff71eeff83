import assert from "node:assert/strict"
import { test } from "node:test"
import { masksOf, turned, wordOf } from "../../viz_transformer/figures/components/parts/toggled_cells.js"

// Three tokens, the last one padding.
const PADDING = [1, 1, 0, 1, 1, 0, 1, 1, 0]
const CAUSAL = [1, 0, 0, 1, 1, 0, 1, 1, 1]
const PLACES = [0, 1, 2].flatMap((r) => [0, 1, 2].map((c) => [r, c]))
const masks = (...words) => masksOf(PADDING, CAUSAL, 3, "d", words, ["padding", "causality"])
const written = (open) => PLACES.map(([r, c]) => (open(r, c) ? "o" : ".")).join("")

test("a cell is open where both masks leave it open", () => {
  const { open, changed, why } = masks()
  assert.deepEqual(open.map(written), ["oo.oo.oo.", "o..oo.ooo", "o..oo.oo.", "o..oo.oo."])
  assert.equal(written(changed), ".........")
  assert.deepEqual(
    [why(0, 0), why(0, 1), why(2, 2), why(0, 2)],
    ["open", "closed by causality", "closed by padding", "closed by padding and causality"],
  )
})

test("what closes a cell is called as the masks are", () => {
  const { why } = masksOf(PADDING, CAUSAL, 3, "d", ["d0.1"], ["the mask for all queries", "the window"])
  assert.deepEqual(
    [why(0, 1), why(1, 2), why(2, 2)],
    [
      "opened here, was closed by the window",
      "closed by the mask for all queries and the window",
      "closed by the mask for all queries",
    ],
  )
})

test("cells are turned round, and rows closed, of this kind alone", () => {
  const { open, changed, why } = masks("d0.1", "d1.0", "e2.0", "d2")
  assert.equal(written(open[3]), "oo..o....")
  assert.equal(written(open[2]), "o..oo.oo.")
  assert.equal(written(changed), ".o.o..oo.")
  assert.deepEqual(
    [why(0, 1), why(1, 0), why(2, 0), why(2, 2)],
    [
      "opened here, was closed by causality",
      "closed here, was open",
      "closed here with its row, was open",
      "closed by padding", // as it was: the row is closed, but this cell has not changed
    ],
  )
})

test("a cell that is turned in a closed row is open again", () => {
  const { open, changed } = masks("d2", "d2.1")
  assert.deepEqual([open[3](2, 0), open[3](2, 1), changed(2, 0), changed(2, 1)], [false, true, true, false])
})

test("turning a cell twice undoes it, and there is an end to how many can be turned", () => {
  assert.equal(wordOf("d", 3, 5), "d3.5")
  assert.deepEqual(turned(["d1.0"], "d0.1", 2), ["d1.0", "d0.1"])
  assert.deepEqual(turned(["d1.0", "d0.1"], "d1.0", 2), ["d0.1"])
  assert.equal(turned(["d1.0", "d0.1"], "d2.2", 2), null)
})
