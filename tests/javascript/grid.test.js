import assert from "node:assert/strict"
import { test } from "node:test"
import { gridPicture } from "../../viz_transformer/figures/components/grid.js"
import {
  gridMaps,
  headAt,
  headSentences,
  headsChosen,
  headsWith,
  headWords,
  isHeadChosen,
  isShrunk,
  sequenceOf,
} from "../../viz_transformer/figures/components/parts/grid_maps.js"
import { paintGridWords, placeGrid } from "../../viz_transformer/figures/components/parts/grid_painting.js"
import { recordingContext, textsOn } from "./recording_context.js"

/** @type {any} */
const paper = { one: (/** @type {string} */ name) => name, scale: () => ({ css: () => "" }) }
const SIZES = { most: 100, least: 20, gap: 8, top: 30, bottom: 20, line: 16, margin: 50, between: 10, shared: 0 }
/** @param {any} changes */
const made = (changes = {}, /** @type {any} */ marks = {}) =>
  gridMaps({
    header: { kind: "encoder", key_heads: 4, tokens: [2, 2], sizes: SIZES, height: 400, ...changes },
    arrays: {
      roots: { shape: [3, 4, 2, 2], encoding: "base-16", values: new Uint8Array(48).fill(5) },
      tops: { shape: [3, 4, 2], encoding: "sqrt-uint8", values: new Float32Array(24).fill(1) },
      ...marks,
    },
  })
const SCORE = /** @type {any} */ ({
  name: "entropy",
  order: [7, 0],
  values: ["1.5", "", "", "", "", "", "", "0.5"],
  baselines: ["2.0"],
  n: [1, 0, 0, 0, 0, 0, 0, 3],
})

test("a head is counted through the layers, in place or by its score", () => {
  const maps = made()
  assert.deepEqual(headAt(maps, 6), { layer: 1, number: 2 })
  assert.equal(headWords(maps, 6), "layer 1, head 2")
  assert.equal(sequenceOf(maps, null).length, 12)
  assert.deepEqual(sequenceOf(maps, SCORE), [7, 0])
})

test("heads of this kind are chosen, or all of a layer, and others are not", () => {
  const maps = made()
  assert.deepEqual(headsChosen(maps, { layer: 1, heads: [0, 2] }), { layer: 1, heads: [0, 2] })
  assert.deepEqual(headsChosen(maps, { kind: "encoder", layer: 1, heads: "mean" }), { layer: 1, heads: null })
  for (const fields of [
    {},
    { kind: "cross", layer: 1, heads: [0] },
    { layer: 3, heads: [0] },
    { layer: 1, heads: "x" },
  ])
    assert.equal(headsChosen(maps, fields), null)
  const what = { layer: 1, heads: [0, 2] }
  assert.deepEqual(
    [4, 5, 6, 0].map((index) => isHeadChosen(maps, index, what)),
    [true, false, true, false],
  )
  assert.equal(isHeadChosen(maps, 4, { layer: 1, heads: null }), false)
})

test("a head is added to those of its layer or taken away, and the last stays", () => {
  const [maps, what] = [made(), { layer: 1, heads: [2] }]
  assert.deepEqual(headsWith(maps, 4, what, true), [0, 2])
  assert.deepEqual(headsWith(maps, 6, { layer: 1, heads: [0, 2] }, true), [0])
  assert.deepEqual(headsWith(maps, 6, what, true), [2])
  assert.deepEqual(headsWith(maps, 4, what, false), [0])
  assert.deepEqual(headsWith(maps, 0, what, true), [0]) // of another layer
})

test("a head says where it is, whose keys it asks, and its score", () => {
  assert.deepEqual(headSentences(made(), null, 6), ["layer 1, head 2"])
  assert.deepEqual(headSentences(made({ key_heads: 2 }), null, 6), ["layer 1, head 2", "heads 2 and 3 ask key head 1"])
  assert.deepEqual(headSentences(made(), SCORE, 7), ["layer 1, head 3", "entropy 0.5", "from 3 rows"])
  assert.deepEqual(headSentences(made(), SCORE, 0).slice(1), ["entropy 1.5", "baseline 2.0, from 1 row"])
  assert.deepEqual(headSentences(made(), SCORE, 1).slice(1), ["entropy: no row has one"])
})

test("what is masked, not there or not a number stands where the others have their root", () => {
  const bits = (/** @type {number[]} */ values) => ({
    shape: [2, 2],
    encoding: "bits",
    values: Uint8Array.from(values),
  })
  const { roots } = made({}, { masked: bits([0, 1, 0, 0]), missing: bits([0, 0, 1, 0]), none: bits([0, 0, 0, 1]) })
  assert.deepEqual([...roots.subarray(0, 8)], [5, 16, 17, 18, 5, 16, 17, 18]) // every head alike
})

test("thumbnails are as large as the room, and what is smaller than a cell is said", () => {
  const place = placeGrid(made(), null, sequenceOf(made(), null), { z: 1, width: 700, tall: 400 })
  assert.equal(place.items.length, 12)
  assert.deepEqual([place.width, place.height], [700, 400])
  assert.equal(place.byIndex.get(5), place.items[5])
  const compact = made({ compact: true })
  assert.ok(placeGrid(compact, null, sequenceOf(compact, null), { z: 1, width: 700, tall: 400 }).height < 400)
  assert.deepEqual(
    [isShrunk(made(), 1), isShrunk(made(), 2), isShrunk(made({ tokens: [9, 2] }), 2)],
    [true, false, true],
  )
})

// ---- what is pointed at, and where keys lead

/** @returns {any} */
const view = (sorting = null) => {
  const maps = made({ sizes: { ...SIZES, inset: 4, caption: 24, caption_width: 60 } })
  return { maps, sorting, place: placeGrid(maps, sorting, sequenceOf(maps, sorting), { z: 1, width: 700, tall: 400 }) }
}

test("under the pointer is a head, and its tooltip for the keys stands inside its corner", () => {
  for (const sorting of [null, SCORE]) {
    const seen = view(sorting)
    for (const index of [7, 0]) {
      const { x, y } = gridPicture.at(seen, index)
      assert.equal(gridPicture.hit(seen, x, y), index)
    }
    assert.equal(gridPicture.hit(seen, 699, 399), null)
  }
  assert.deepEqual(gridPicture.describe(view(), 6), headSentences(made(), null, 6))
})

test("arrows lead from head to head, and with Control or Shift nowhere", () => {
  const to = (/** @type {string} */ key, more = {}) =>
    gridPicture.keys(view(), /** @type {any} */ ({ key, ...more }), 5)
  assert.deepEqual(
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((key) => to(key)),
    [4, 6, 1, 9],
  )
  assert.deepEqual([to("Home"), to("End")], [4, 7])
  assert.deepEqual(
    [to("ArrowLeft", { ctrlKey: true }), to("ArrowLeft", { shiftKey: true }), to("Enter")],
    [null, null, null],
  )
})

test("the legend says what dots are only where there are any", () => {
  const bits = (/** @type {number} */ value) => ({
    shape: [2, 2],
    encoding: "bits",
    values: Uint8Array.from([0, value, 0, 0]),
  })
  const says = (/** @type {object} */ marks) => {
    const maps = made({ title: "", unit: "weight", sizes: { ...SIZES, shared: 0 } }, marks)
    const place = placeGrid(maps, null, sequenceOf(maps, null), { z: 1, width: 700, tall: 400 })
    const [context, room] = [recordingContext(), { top: 700, bottom: 700 }]
    const seen = { maps, place, sorting: null, chosen: null, scale: "fixed", ratio: 1, onPaper: false }
    paintGridWords(context, paper, seen, room)
    return textsOn(context).map(({ text }) => text)
  }
  assert.ok(!says({}).includes("not a number"))
  assert.ok(says({ none: bits(1) }).includes("not a number"))
})
