import assert from "node:assert/strict"
import { test } from "node:test"
import {
  fitInPlace,
  headBeside,
  itemAt,
  placeInPlace,
  placeSorted,
  sharedKeys,
} from "../../viz_transformer/figures/components/parts/heads.js"

const SIZES = {
  least: 28,
  most: 72,
  wanted: 28,
  area: 620,
  gap: 6,
  margin: 54,
  between: 16,
  line: 18,
  top: 34,
  bottom: 34,
  inset: 3,
  caption: 34,
  caption_width: 30,
}
const given = (layers, heads, changes) => ({
  layers,
  heads,
  sequence: Array.from({ length: layers * heads }, (_, index) => index),
  sizes: SIZES,
  compact: false,
  ...changes,
})

test("thumbnails are as large as width and height allow", () => {
  // Wide: (400 + 16 - 70) / 4 - 6 = 80.5, tall: (218 - 18) / 2 - 6 = 94; 72 is the most there may be.
  assert.deepEqual(fitInPlace(given(2, 4), 400, 218, 1), { rows: 2, size: 72 })
  assert.deepEqual(fitInPlace(given(2, 4), 400, 138, 1), { rows: 2, size: 54 }) // (138 - 18) / 2 - 6
  assert.deepEqual(fitInPlace(given(2, 8), 400, 218, 1), { rows: 2, size: 37 }) // (400 + 16 - 70) / 8 - 6 = 37.25
  assert.deepEqual(fitInPlace(given(2, 4), 800, 276, 2), { rows: 2, size: 108 }) // as the second, on a projector
})

test("layers stand beside each other where that makes them larger, and only then", () => {
  // One row: ((400 + 16) / 2 - 70) / 2 - 6 = 63 wide and 100 - 18 - 6 = 76 tall; two rows would be 35 tall.
  assert.deepEqual(fitInPlace(given(2, 2, { compact: true }), 400, 100, 1), { rows: 1, size: 63 })
  assert.deepEqual(fitInPlace(given(2, 2), 400, 100, 1), { rows: 2, size: 35 })
})

test("where the height is too small the least size is kept, and where the width is, they become smaller", () => {
  assert.deepEqual(fitInPlace(given(12, 4), 400, 200, 1), { rows: 12, size: 28 })
  assert.deepEqual(fitInPlace(given(2, 16), 400, 400, 1), { rows: 2, size: 15 }) // 346 / 16 - 6 = 15.6
  assert.deepEqual(fitInPlace(given(2, 64), 400, 400, 1), { rows: 2, size: 8 })
})

test("in place a head stands in its layer's row, with a little more space where there is some", () => {
  const { items, size, rows, block, used } = placeInPlace(given(2, 2), 400, 218, 1)
  // Rows are 100 apart at most, 24 between them is 4 times the gap: 72 + 24.
  assert.deepEqual([size, rows, block, used], [72, 2, 54 + 16 + 2 * 78, 18 + 2 * 96])
  assert.deepEqual(items, [
    { index: 0, x: 54, y: 52 },
    { index: 1, x: 132, y: 52 },
    { index: 2, x: 54, y: 148 },
    { index: 3, x: 132, y: 148 },
  ])
})

test("sorted they follow their order, line by line, as large as all fit", () => {
  const turned = given(2, 3, { sequence: [5, 4, 3, 2, 1, 0] })
  const { items, size, used } = placeSorted(turned, 200, 150, 1)
  // 41 pixels: four in a line of 200, two lines of 41 + 34 are 150 high; 42 would be 152.
  assert.deepEqual([size, used], [41, 150])
  assert.deepEqual(items.slice(0, 5), [
    { index: 5, x: 3, y: 34 },
    { index: 4, x: 50, y: 34 },
    { index: 3, x: 97, y: 34 },
    { index: 2, x: 144, y: 34 },
    { index: 1, x: 3, y: 109 },
  ])
})

const ITEMS = [
  { index: 0, x: 0, y: 0 },
  { index: 1, x: 50, y: 0 },
  { index: 2, x: 0, y: 50 },
  { index: 3, x: 50, y: 50 },
  { index: 4, x: 0, y: 100 },
]

test("a place is on the thumbnail that it touches, or on what is written below it", () => {
  const at = (x, y, below) => itemAt(ITEMS, 40, below, x, y)?.index
  assert.deepEqual(
    [at(0, 0, 1), at(41, 41, 1), at(49, 49, 1), at(45, 10, 1), at(10, 45, 1)],
    [0, 0, 3, undefined, undefined],
  )
  assert.equal(at(10, 45, 5), 0)
})

test("arrows go through the rows one after the other, and up and down to the nearest", () => {
  const to = (from, key) => headBeside(ITEMS, ITEMS[from], 40, key)
  assert.deepEqual([to(0, "ArrowRight"), to(1, "ArrowRight"), to(2, "ArrowLeft"), to(4, "ArrowRight")], [1, 2, 1, 4])
  assert.deepEqual([to(0, "ArrowUp"), to(1, "ArrowDown"), to(3, "ArrowDown"), to(4, "ArrowUp")], [0, 3, 4, 2])
  assert.deepEqual([to(3, "Home"), to(2, "End")], [2, 3])
})

test("heads that share keys follow each other", () => {
  assert.deepEqual(
    sharedKeys(4, 2).map(({ words }) => words),
    ["heads 0 and 1 ask key head 0", "heads 2 and 3 ask key head 1"],
  )
  assert.deepEqual(sharedKeys(8, 1), [{ key: 0, first: 0, last: 7, words: "heads 0 to 7 ask key head 0" }])
  assert.deepEqual(sharedKeys(4, 4), [])
})
