import assert from "node:assert/strict"
import { test } from "node:test"
import { placeSaved } from "../../viz_transformer/figures/components/parts/saved_bars.js"

const GIVEN = { width: 500, label: 116, most: 3, strategy: false, z: 1 }
const placed = (changes = {}) => placeSaved({ ...GIVEN, ...changes })

test("bars stand between names and numbers, a line for each candidate below the words", () => {
  const { left, right, top, line, rows, rest, bottom, height, numbers } = placed()
  assert.deepEqual([left, right, numbers], [132, 416, 490])
  assert.deepEqual([top, line, bottom, height], [60, 26, 176, 224]) // 3 lines of 26, 38 of the rest, 48 of the axis
  assert.deepEqual([rows, rest], [[73, 99, 125], 157])
})

test("a strategy has two more lines of words and two bars in each line", () => {
  const { top, line, rows, rest, bottom, height } = placed({ strategy: true })
  assert.deepEqual([top, line, rows, rest, bottom, height], [108, 36, [126, 162, 198], 235, 254, 302])
})

test("a bar is as long as its share, and a share that is not there has none", () => {
  const { long, ticks } = placed()
  assert.deepEqual([0, 0.5, 1, Number.NaN].map(long), [0, 142, 284, 0])
  assert.deepEqual(ticks, [
    { part: 0, x: 132 },
    { part: 0.5, x: 274 },
    { part: 1, x: 416 },
  ])
})

test("all of it grows with the text, but for the names, which have been measured", () => {
  const { left, right, top, line, height, numbers } = placed({ z: 2, width: 1000 })
  assert.deepEqual([left, right, top, line, height, numbers], [148, 832, 120, 52, 448, 980])
})
