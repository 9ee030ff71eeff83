import assert from "node:assert/strict"
import { test } from "node:test"
import { masksPicture } from "../../viz_transformer/figures/components/masks.js"
import { masksOf } from "../../viz_transformer/figures/components/parts/toggled_cells.js"
import { axis } from "./axis_fixture.js"

const PANEL = { cell: 10, rowHeight: 20, top: 50 }
const masks = [0, 100, 200, 300].map((left) => ({ ...PANEL, left }))
const titles = ["Padding", "Causal", "Before", "After"].map((title) => ({ title, note: "" }))
/** @returns {any} */
const view = (chosen = { r: 0, c: 0 }) => ({
  head: { rows: axis("t", "query", "ab"), columns: axis("u", "key", "xyz"), panels: titles, letter: "d" },
  masks: masksOf([1, 1, 1, 1, 1, 1], [1, 0, 0, 1, 1, 0], 3, "d", ["d0.1"], ["padding", "causality"]),
  rows: 2,
  columns: 3,
  place: { masks },
  chosen,
})
const keys = (/** @type {string} */ key, shiftKey = false) => /** @type {any} */ ({ key, shiftKey })
const NONE = { panel: 0, r: 0, c: 0 }

test("under the pointer is a cell of the mask that it is over", () => {
  assert.deepEqual(masksPicture.hit(view(), 25, 75), { panel: 0, r: 1, c: 2 })
  assert.deepEqual(masksPicture.hit(view(), 301, 51), { panel: 3, r: 0, c: 0 })
  assert.equal(masksPicture.hit(view(), 335, 51), null) // behind the last column
  const middle = masksPicture.at(view(), { panel: 2, r: 1, c: 2 })
  assert.deepEqual(middle, { x: 225, y: 80 })
  assert.deepEqual(masksPicture.hit(view(), middle.x, middle.y), { panel: 2, r: 1, c: 2 })
})

test("a cell says whether it is open in its mask, and in the last one why", () => {
  const said = (/** @type {number} */ panel, c = 1) => masksPicture.describe(view(), { panel, r: 0, c })
  assert.deepEqual(said(1), ["query 0: “a”", "key 1: “y”", "Causal: closed"])
  assert.equal(said(2)[2], "Before: closed")
  assert.match(said(3)[2], /^opened here, was closed by/)
  assert.notEqual(said(3, 0)[2], said(3)[2])
})

test("keys lead along the last mask, Enter and others nowhere", () => {
  assert.deepEqual(masksPicture.keys(view(), keys("ArrowRight"), NONE), { panel: 3, r: 0, c: 1 })
  assert.deepEqual(masksPicture.keys(view({ r: 1, c: 0 }), keys("ArrowRight", true), NONE), { panel: 3, r: 1, c: 2 })
  for (const key of ["Enter", " ", "Escape", "x"]) assert.equal(masksPicture.keys(view(), keys(key), NONE), null)
})

test("what is pointed at elsewhere is the same cell in all masks", () => {
  assert.deepEqual(masksPicture.find?.(view(), { t: 1, u: 2 }), { panel: 3, r: 1, c: 2 })
  assert.equal(masksPicture.find?.(view(), { t: 1 }), null)
  assert.deepEqual(masksPicture.fields?.(view(), { panel: 0, r: 1, c: 2 }), { t: 1, u: 2 })
})
