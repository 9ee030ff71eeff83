import assert from "node:assert/strict"
import { test } from "node:test"
import { unitAndNotes } from "../../viz_transformer/figures/components/parts/legend.js"

const context = {
  measureText: (/** @type {string} */ text) => /** @type {TextMetrics} */ ({ width: 10 * text.length }),
}
const said = (/** @type {number} */ width, unit = "attention weight") =>
  unitAndNotes(context, unit, ["rows 0–12 of 55", "keys 0–9 of 12"], width)

test("a legend says as many whole notes as have room, and its unit in one word rather than less of them", () => {
  assert.equal(said(500), "attention weight, rows 0–12 of 55, keys 0–9 of 12")
  assert.equal(said(400), "weight, rows 0–12 of 55, keys 0–9 of 12")
  assert.equal(said(330), "attention weight, rows 0–12 of 55")
  assert.equal(said(230), "weight, rows 0–12 of 55")
  assert.equal(said(160), "attention weight")
  assert.equal(said(70), "weight")
  assert.equal(said(40), "wei…")
})

test("another unit keeps its words", () => {
  assert.equal(said(100, "length of the vector"), "length of…")
})
