import assert from "node:assert/strict"
import { test } from "node:test"
import {
  dimensionAt,
  isTight,
  keyAt,
  NUMBERED,
  placeStrips,
  widthOf,
} from "../../viz_transformer/figures/components/parts/strips.js"

// Labels of 50 pixels over three keys of 16 dimensions; a letter has 8.
const GIVEN = { z: 1, width: 720, keys: 3, dimensions: 16, widest: 50, letter: 8 }
const placed = (changes = {}) => placeStrips({ ...GIVEN, ...changes })

test("four strips stand one below the other, between the labels and the foot", () => {
  const { start, end, height, strips } = placed()
  assert.deepEqual(strips, {
    keys: { y: 54, height: 88 }, // below 30 of the title and 24 of the labels
    products: { y: 152, height: 88 },
    scores: { y: 250, height: 26 },
    weights: { y: 286, height: 26 },
  })
  assert.deepEqual([start, end, height], [54, 312, 348])
})

test("up to 64 keys have their numbers in any window, and are scrolled to where they are wider than it", () => {
  const width = widthOf(628, 14)
  assert.equal(placed({ width, keys: 14, tight: true }).cell, 48) // two decimals
  for (const [room, keys] of [
    [628, 18],
    [628, 24],
    [992, 24],
    [992, 64],
  ])
    assert.ok(placed({ width: widthOf(room, keys), keys, tight: isTight(room, keys) }).cell >= NUMBERED)
  assert.deepEqual([widthOf(992, 14), widthOf(628, 65)], [992, 628]) // enough; so many are seen at once
})

test("legends stand under the names where there is no room for them behind numbered columns, which are scrolled less", () => {
  assert.deepEqual([isTight(612, 7), isTight(612, 8), isTight(992, 18), isTight(992, 19)], [false, true, false, true])
  assert.deepEqual([widthOf(612, 7), widthOf(612, 10), widthOf(612, 11)], [612, 612, 658]) // ten keys of 48 fit in
  assert.equal(isTight(612, 65), false)
  const { left, w } = placed({ width: 612, keys: 10, tight: true })
  assert.equal(left + w, 608)
})

test("columns share the width between names and legend, and are no wider than 112 pixels", () => {
  assert.deepEqual([placed().left, placed().cell, placed().w], [126, 112, 336])
  assert.equal(placed({ keys: 34 }).cell, 14) // (720 - 126 - 118) / 34
  assert.equal(placed({ width: 100, keys: 4 }).cell, 10) // 40 pixels at least
})

test("a dimension has a pixel of its own up to 128, and never less room than few have", () => {
  const blockOf = (dimensions) => placed({ dimensions }).strips.keys.height
  assert.deepEqual([1, 88, 100, 128, 512].map(blockOf), [88, 88, 100, 128, 128])
})

test("where there is less room the two strips of dimensions are lower, and all four end in it", () => {
  const { height, strips } = placed({ dimensions: 128, room: 348 })
  assert.deepEqual([height, strips.keys.height, strips.products.height], [348, 88, 88])
  assert.deepEqual([strips.scores.height, strips.weights.height], [26, 26])
  assert.equal(placed({ room: 400 }).strips.keys.height, 88) // no higher than without it
})

test("a height that is asked for is filled by the two strips of dimensions, which are never lower for it", () => {
  const { height, strips } = placed({ height: 432 })
  assert.deepEqual([height, strips.keys.height, strips.products.height, strips.weights.height], [432, 130, 130, 26])
  assert.equal(placed({ height: 320 }).height, placed().height)
})

test("labels that do not fit over their columns are turned, smaller, and get 92 pixels at most", () => {
  const { upright, size, tall, start } = placed({ widest: 106 })
  assert.deepEqual([upright, size, tall, start], [false, 14, 24, 54])
  assert.equal(placed({ widest: 107 }).upright, true) // 107 + 6 is more than 112
  const narrow = placed({ keys: 34 }) // columns of 14: letters of 11.48
  assert.deepEqual([narrow.upright, narrow.size, narrow.every], [true, 14 * 0.82, 1])
  assert.ok(Math.abs(narrow.tall - (50 * 0.82 + 10)) < 1e-9)
  assert.equal(placed({ keys: 34, widest: 900 }).tall, 102)
})

test("a label is left out where it would lie on the one before", () => {
  const everyOf = (changes) => placed({ keys: 300, ...changes }).every // columns of 1.59: letters of 9
  assert.equal(everyOf({}), 7) // ten pixels turned
  assert.equal(everyOf({ widest: 8 }), 4) // 6.3 pixels of a single sign
  assert.deepEqual([placed({ keys: 24 }).size, placed({ keys: 24 }).every], [14, 1]) // columns of 19.8
})

test("twice the zoom is twice the picture", () => {
  const twice = (given) => placed({ ...given, z: 2, width: 1440, widest: 2 * (given.widest ?? 50), letter: 16 })
  for (const given of [{}, { keys: 68, widest: 8 }, { keys: 30 }, { keys: 300, widest: 400 }, { dimensions: 128 }]) {
    const [one, two] = [placed(given), twice(given)]
    for (const key of ["left", "cell", "w", "size"]) assert.ok(Math.abs(two[key] - 2 * one[key]) < 1e-9, key)
    const margin = one.upright ? 10 : 0 // above turned labels, at any zoom
    assert.ok(Math.abs(two.tall - margin - 2 * (one.tall - margin)) < 1e-9)
    assert.ok(Math.abs(two.height + margin - 2 * one.height) < 1e-9)
    for (const [name, { y, height }] of Object.entries(one.strips)) {
      assert.ok(Math.abs(two.strips[name].y + margin - 2 * y) < 1e-9)
      assert.equal(two.strips[name].height, 2 * height)
    }
  }
})

test("single signs are never turned", () => {
  const { upright, size, tall } = placed({ keys: 68, widest: 8 }) // columns of 7
  assert.deepEqual([upright, Math.round(size * 10) / 10, tall], [false, 9.8, 24])
  assert.equal(placed({ keys: 68, widest: 10.4 }).upright, false) // 1.3 letters
  assert.equal(placed({ keys: 68, widest: 10.5 }).upright, true)
})

test("labels do not overlap, and no strip leaves the picture", () => {
  for (const z of [1, 1.5])
    for (const width of [360, 720, 1400])
      for (const keys of [1, 5, 40, 300])
        for (const widest of [8, 50, 400]) {
          const place = placed({ z, width: width * z, keys, widest: widest * z, letter: 8 * z })
          const { left, w, cell, upright, size, every, tall, start, end, height, strips } = place
          const broad = upright ? size : widest * (size / 14) // what a label needs along the row
          assert.ok(every * cell >= broad, `${keys} keys, labels of ${widest}`)
          assert.ok(left + w <= Math.max(width * z - 118 * z, left + 40) + 1e-9)
          assert.ok(start - tall >= 30 * z - 1e-9 && end < height)
          const all = Object.values(strips)
          all.slice(1).forEach((strip, i) => assert.ok(strip.y >= all[i].y + all[i].height))
          assert.equal(all[3].y + all[3].height, end)
        }
})

test("a place is the key whose column or label is there", () => {
  const place = placed()
  const at = (x, y) => keyAt(place, 3, x, y)
  assert.deepEqual([at(126, 100), at(237, 100), at(238, 100), at(461, 100)], [0, 0, 1, 2])
  assert.deepEqual([at(125, 100), at(462, 100)], [null, null])
  assert.deepEqual([at(130, 29), at(130, 30), at(130, 312), at(130, 313)], [null, 0, 0, null])
})

test("a height is a dimension of the keys or of the products alone", () => {
  const at = (y) => dimensionAt(placed(), 16, y) // 5.5 pixels each
  assert.deepEqual([at(53), at(54), at(59.4), at(59.5), at(141.9)], [null, 0, 0, 1, 15])
  assert.deepEqual([at(142), at(151.9), at(152), at(239.9), at(240), at(260)], [null, null, 0, 15, null, null])
})
