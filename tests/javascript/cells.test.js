import assert from "node:assert/strict"
import { test } from "node:test"
import {
  areaAround,
  areaBetween,
  areaOnMap,
  areaWith,
  cellBeside,
  cellIn,
  cellsInView,
  columnLabels,
  hasLabel,
  largestOf,
  numbersBeside,
  numbersOver,
  partSeen,
  rowLabels,
  TALLEST,
  WIDEST,
  wholeArea,
} from "../../viz_transformer/figures/components/parts/cells.js"

test("numbers over columns stand apart, each first, second, fifth or tenth of them", () => {
  const every = (cell) => numbersOver(cell, 20, 1).every
  assert.deepEqual([40, 32, 31, 16, 7, 4, 1].map(every), [1, 1, 2, 2, 5, 10, 50])
  assert.equal(numbersOver(40, 20, 1).upright, false)
  assert.deepEqual(
    [20, 17, 5, 2.5, 0.5].map((tall) => numbersBeside(tall, 1).every),
    [1, 1, 5, 10, 50],
  )
})

const LABELS = Array.from({ length: 12 }, (_, n) => n)

test("a place is in the cell that it lies on, and in none beside the area", () => {
  const cells = { left: 100, top: 50, cell: 20, rowHeight: 10 }
  const area = { r0: 3, r1: 6, c0: 10, c1: 12 } // 40 x 30 pixels
  assert.deepEqual(cellIn(100, 50, cells, area), { r: 3, c: 10 })
  assert.deepEqual(cellIn(119.9, 59.9, cells, area), { r: 3, c: 10 })
  assert.deepEqual(cellIn(120, 60, cells, area), { r: 4, c: 11 })
  assert.deepEqual(cellIn(139, 79, cells, area), { r: 5, c: 11 })
  for (const [x, y] of [
    [99.9, 50],
    [100, 49.9],
    [140, 50],
    [100, 80],
  ])
    assert.equal(cellIn(x, y, cells, area), null)
})

test("letters beside rows are as large as there is room, from 9 to 14 pixels, and some are left out below that", () => {
  assert.deepEqual(rowLabels(50, 1), { size: 14, every: 1 })
  assert.deepEqual(rowLabels(15, 1), { size: 15 * 0.82, every: 1 }) // 12.3 and a pixel between fit into 15
  assert.deepEqual(rowLabels(4, 1), { size: 9, every: 3 }) // 10 pixels are two and a half rows
  assert.deepEqual(rowLabels(4, 1, 8), { size: 8, every: 3 })
  assert.deepEqual(rowLabels(8, 2), { size: 23, every: 3 }) // on a projector from 11.5 pixels of the page
})

test("letters over columns are turned where the widest does not fit", () => {
  assert.deepEqual(columnLabels(40, 40, 100, 1), { upright: false, size: 13, tall: 20, every: 1 })
  assert.deepEqual(columnLabels(40, 140, 112, 1), { upright: true, size: 14, tall: 120, every: 1 }) // cut off at 112
  assert.deepEqual(columnLabels(5, 56, 112, 1), { upright: true, size: 9, tall: 44, every: 2 }) // 56 * 9/14 + 8
  assert.deepEqual(columnLabels(5, 56, 112, 1, { least: 7 }), { upright: true, size: 7, tall: 36, every: 2 })
  assert.equal(columnLabels(40, 10, 100, 1, { upright: true }).upright, true)
})

test("a long side keeps its cells large and is scrolled, a short and a very long one share the room", () => {
  const sizes = { least: 18, most: 52 }
  assert.deepEqual(cellsInView(55, 360, sizes), { seen: 20, size: 18 })
  assert.deepEqual(cellsInView(512, 377, sizes), { seen: 20, size: 18 }) // 17 pixels are no row
  assert.deepEqual(cellsInView(54, 270, sizes), { seen: 54, size: 5 })
  assert.deepEqual(cellsInView(513, 1026, sizes), { seen: 513, size: 2 })
  assert.deepEqual(cellsInView(60, 1200, sizes), { seen: 60, size: 20 }) // there is room for all
  assert.deepEqual(cellsInView(4, 400, sizes), { seen: 4, size: 52 })
  assert.deepEqual(cellsInView(100, 10, sizes), { seen: 1, size: 18 })
})

test("a map of a short text fills the room it has in a window of 1920 x 1080, one of two tokens stays small", () => {
  assert.equal(7 * cellsInView(7, 836, { least: 18, most: WIDEST }).size, 836)
  assert.equal(6 * cellsInView(6, 504, { least: 18, most: TALLEST }).size, 504)
  assert.equal(cellsInView(2, 836, { least: 18, most: WIDEST }).size, 128)
})

test("what is seen begins at the cell that is asked for, and stays inside what is zoomed to", () => {
  const area = { r0: 10, r1: 110, c0: 5, c1: 65 }
  const seen = { down: 20, along: 60 }
  assert.deepEqual(partSeen(area, { r: 40, c: 5 }, seen), { r0: 40, r1: 60, c0: 5, c1: 65 })
  assert.deepEqual(partSeen(area, { r: 0, c: 0 }, seen), { r0: 10, r1: 30, c0: 5, c1: 65 })
  assert.deepEqual(partSeen(area, { r: 500, c: 500 }, seen), { r0: 90, r1: 110, c0: 5, c1: 65 })
})

test("what is picked always has its label, and what would touch it has none", () => {
  const labelled = (every, picked) => LABELS.filter((n) => hasLabel(n, every, picked))
  assert.deepEqual(labelled(1, 4), LABELS)
  assert.deepEqual(labelled(4, null), [0, 4, 8])
  assert.deepEqual(labelled(4, 4), [0, 4, 8])
  assert.deepEqual(labelled(4, 6), [0, 6]) // 4 and 8 are two places away
  assert.deepEqual(labelled(4, 11), [0, 4, 11])
})

test("arrows lead to the cell beside, never out of the map", () => {
  const to = (key, from, given) => Object.values(cellBeside(key, from, 5, 8, given) ?? {})
  const [corner, middle] = [
    { r: 0, c: 7 },
    { r: 2, c: 3 },
  ]
  assert.deepEqual(to("ArrowUp", middle), [1, 3])
  assert.deepEqual(to("ArrowDown", middle, { far: 10 }), [4, 3])
  assert.deepEqual([to("ArrowUp", corner), to("ArrowRight", corner)], Array(2).fill([0, 7]))
  assert.deepEqual(
    [to("Home", middle), to("End", middle)],
    [
      [2, 0],
      [2, 7],
    ],
  )
  assert.deepEqual(to("ArrowLeft", { r: null, c: null }, { r0: 1, c0: 6 }), [1, 6])
  assert.deepEqual(to("ArrowLeft", { r: null, c: 3 }), [0, 2])
  assert.equal(cellBeside("a", middle, 5, 8), null)
})

test("zooming keeps what is chosen in the middle, and stays on the map", () => {
  const whole = wholeArea(20, 8)
  assert.deepEqual(whole, { r0: 0, r1: 20, c0: 0, c1: 8 })
  assert.deepEqual(areaAround(whole, { r: 2, c: null }, 0.5), { r0: -3, r1: 8, c0: 2, c1: 7 }) // 5 rows, 2 columns each way
  assert.deepEqual(areaOnMap({ r0: -3, r1: 8, c0: 2, c1: 17 }, 20, 8), { r0: 0, r1: 8, c0: 2, c1: 8 })
  assert.deepEqual(areaAround({ r0: 4, r1: 5, c0: 4, c1: 5 }, { r: 4, c: 4 }, 0.5), { r0: 3, r1: 6, c0: 3, c1: 6 })
  assert.deepEqual(areaBetween({ r: 7, c: 1 }, { r: 3, c: 4 }), { r0: 3, r1: 8, c0: 1, c1: 5 })
})

test("an area follows a cell that leaves it, by no more than it has to", () => {
  const area = { r0: 5, r1: 10, c0: 0, c1: 4 }
  assert.equal(areaWith(area, { r: 9, c: 3 }), area)
  assert.deepEqual(areaWith(area, { r: 10, c: 0 }), { r0: 6, r1: 11, c0: 0, c1: 4 })
  assert.deepEqual(areaWith(area, { r: 2, c: 6 }), { r0: 2, r1: 7, c0: 3, c1: 7 })
})

test("the largest of each row is without its sign, and what is not a number counts as nothing", () => {
  assert.deepEqual(largestOf([0.5, -2, NaN, 0.25, NaN, NaN], 3, 2), { rows: Float32Array.of(2, 0.25, 0), map: 2 })
  assert.deepEqual(largestOf([Infinity, -2, 1, -Infinity], 2, 2), { rows: Float32Array.of(2, 1), map: 2 })
})
