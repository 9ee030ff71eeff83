import assert from "node:assert/strict"
import { test } from "node:test"
import {
  isSnapshotOpen,
  lossWords,
  mapTitle,
  snapshotAt,
  snapshotCell,
  snapshotNow,
  snapshotSentence,
  snapshotValue,
} from "../../viz_transformer/figures/components/parts/snapshots_data.js"
import { placeSnapshot } from "../../viz_transformer/figures/components/parts/snapshots_painting.js"
import { snapshotsPicture } from "../../viz_transformer/figures/components/snapshots.js"
import { axis } from "./axis_fixture.js"

const KIND = {
  kind: "cross",
  name: "Decoder → source",
  rows: axis("t", "query", "ab"),
  columns: axis("i", "key", "x"),
  writes: null,
}
const SNAPSHOTS = [
  { step: 0, text: "zz", complete: false, right: false },
  { step: 1000, text: "ab", complete: true, right: true },
]
/** @param {number[]} maps [S, L, H, Q, K] */
const made = (/** @type {any} */ maps = [1, 2, 3, 4, 5, 6, 7, 8], heads = 2) => ({
  head: { caption: "", name: "", snapshots: SNAPSHOTS, kinds: [KIND, { ...KIND, kind: "decoder" }] },
  arrays: {
    losses: { shape: [2], encoding: "float32", values: Float32Array.from([3.25, 0.5]) },
    maps_0: { shape: [2, 1, heads, 2, 1], encoding: "float32", values: Float32Array.from(maps) },
    maps_1: { shape: [2, 1, 1, 2, 1], encoding: "float32", values: Float32Array.from(maps) },
    mask_1: { shape: [2, 1], encoding: "bits", values: Uint8Array.from([1, 0]) },
  },
})

test("the last snapshot that is not behind the chosen step is shown, without one the last of all", () => {
  const { head } = made()
  assert.deepEqual(
    [-5, 0, 150, 999, 1000, 9999, undefined].map((step) => snapshotAt(head, step)),
    [0, 0, 0, 0, 1, 1, 1],
  )
})

test("a head is shown or the mean of all, and one alone is no mean", () => {
  const one = snapshotNow(made(), { kind: "cross", heads: [1], layer: 7, model_snapshot: 0 })
  assert.deepEqual([one.kindAt, one.s, one.layer, one.one, snapshotValue(one, 1, 0)], [0, 0, 0, 1, 4])
  assert.equal(mapTitle(one), "Decoder → source, layer 0, head 1")
  const mean = snapshotNow(made(), { heads: "mean" })
  assert.deepEqual([mean.s, mean.one, snapshotValue(mean, 0, 0)], [1, null, 6]) // (5 + 7) / 2
  assert.equal(mapTitle(mean), "Decoder → source, layer 0, mean of all heads")
  assert.equal(snapshotNow(made(), { kind: "decoder", heads: "mean" }).one, 0)
})

test("a snapshot says its step, its loss and what it writes", () => {
  assert.equal(lossWords(made(), 0), "3.2500")
  assert.equal(snapshotSentence(made(), 0), "Step 0, loss 3.2500: writes “zz”, cut off")
  assert.equal(snapshotSentence(made(), 1), "Step 1,000, loss 0.5000: writes “ab”, which is the target")
})

test("a cell says its tokens, its weight and of which step it is", () => {
  const now = snapshotNow(made([0.5, 0.25, 0.5, 0.25]), { kind: "decoder", model_snapshot: 0 })
  assert.ok(isSnapshotOpen(now, 0, 0) && !isSnapshotOpen(now, 1, 0))
  const zero = snapshotNow(made([0.5, 0, 0.5, 0]), { kind: "decoder", model_snapshot: 0 })
  assert.equal(snapshotCell(zero, 1, 0)[2], "masked, weight 0.0000")
  assert.deepEqual(snapshotCell(now, 1, 0), ["query 1: “b”", "key 0: “x”", "masked, weight 0.2500", "training step 0"])
})

test("the map has room for its labels, and its cells are no larger than 56 pixels", () => {
  const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 8 * text.length }) }
  const place = placeSnapshot(ruler, KIND, { z: 1, width: 400, tall: 520 })
  assert.deepEqual([place.left, place.right, place.cell, place.rowHeight], [70, 12, 56, 34]) // 20 + 50 at least
  assert.deepEqual([place.top, place.height], [68, 68 + 2 * 34 + 40])
})

test("under the pointer is a cell of the map, and keys lead from the chosen one", () => {
  const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 8 * text.length }) }
  const now = snapshotNow(made(), { kind: "cross", heads: [1], model_snapshot: 0 })
  const view = { now, place: placeSnapshot(ruler, now.kind, { z: 1, width: 300, tall: 400 }), r: 0, c: 0 }
  const { left, top, cell, rowHeight } = view.place
  assert.deepEqual(snapshotsPicture.hit(view, left + 1, top + rowHeight + 1), { r: 1, c: 0 })
  assert.equal(snapshotsPicture.hit(view, left + cell + 1, top + 1), null) // there is one column
  assert.deepEqual(snapshotsPicture.at(view, { r: 1, c: 0 }), { x: left + cell / 2, y: top + 1.5 * rowHeight })
  assert.deepEqual(snapshotsPicture.describe(view, { r: 1, c: 0 }), snapshotCell(now, 1, 0))
  const to = (/** @type {string} */ key) => snapshotsPicture.keys(view, /** @type {any} */ ({ key }), { r: 1, c: 0 })
  assert.deepEqual([to("ArrowDown"), to("ArrowRight"), to("x")], [{ r: 1, c: 0 }, { r: 0, c: 0 }, null])
})

test("any head's map is that of its snapshot, and the mean that of all heads", () => {
  const [layers, heads, queries, keys] = [2, 2, 3, 4]
  const numbers = Float32Array.from({ length: 3 * layers * heads * queries * keys }, (_, n) => n / 1000)
  const kind = { ...KIND, rows: axis("t", "query", "abc"), columns: axis("i", "key", "wxyz") }
  const series = {
    head: { caption: "", name: "", snapshots: [0, 10, 200].map((step) => ({ ...SNAPSHOTS[0], step })), kinds: [kind] },
    arrays: {
      losses: { shape: [3], encoding: "float32", values: new Float32Array(3) },
      maps_0: { shape: [3, layers, heads, queries, keys], encoding: "float32", values: numbers },
    },
  }
  const said = (
    /** @type {number} */ s,
    /** @type {object} */ chosen,
    /** @type {number} */ r,
    /** @type {number} */ c,
  ) => snapshotCell(snapshotNow(series, { model_snapshot: [0, 10, 200][s], kind: "cross", ...chosen }), r, c).slice(2)
  for (const [s, layer, head, r, c] of [
    [0, 0, 0, 0, 1],
    [2, 1, 1, 2, 2],
    [1, 0, 1, 1, 0],
  ]) {
    const weight = (48 * s + 24 * layer + 12 * head + 4 * r + c) / 1000
    assert.deepEqual(said(s, { layer, heads: [head] }, r, c), [
      `weight ${weight.toFixed(4)}`,
      `training step ${[0, 10, 200][s]}`,
    ])
  }
  assert.equal(said(0, { layer: 0, heads: "mean" }, 1, 1)[0], "weight 0.0110") // of 0.005 and 0.017
})
