import assert from "node:assert/strict"
import { test } from "node:test"
import {
  MASKED_LEVEL,
  paintLevels,
  paintRow,
  steps,
  WITH_DOTS,
  WITH_LINES,
} from "../../viz_transformer/figures/components/parts/maps.js"

test("cells share the pixels without a gap, whichever there are more of", () => {
  for (const [size, count, first] of [
    [10, 3, 0],
    [3, 10, 0],
    [7, 7, 2],
    [1, 5, 4],
    [100, 1, 0],
    [640, 2048, 100],
  ]) {
    const { length, pixels, cells, most } = steps(size, count, first)
    assert.equal(length, Math.min(size, count))
    assert.deepEqual([pixels[0], pixels.at(-1), cells[0], cells.at(-1)], [0, size, first, first + count])
    for (let i = 0; i < length; i++) {
      assert.ok(pixels[i + 1] > pixels[i])
      assert.ok(cells[i + 1] > cells[i] && cells[i + 1] - cells[i] <= most)
    }
  }
})

const DOTS = { dot: 8, every: 3, size: 1 }

/** A map of 8 x 4 pixels with one row from `at` painted, line by line, a letter for each ink. */
function painted(at, size, inks, marked, marks) {
  const out = new Uint32Array(32)
  paintRow(out, 8, at, steps(size, inks.length), Uint32Array.from(inks), marked && Uint8Array.from(marked), {
    ...DOTS,
    ...marks,
  })
  return [0, 8, 16, 24].map((i) => Array.from(out.subarray(i, i + 8), (ink) => ".abcde|/:"[ink]).join(""))
}

test("a row is painted cell by cell where it stands, and not beyond the picture", () => {
  const plain = { line: 7, period: 2, thick: 1, seam: 0 }
  assert.deepEqual(painted({ left: 1, top: 1, y0: 0, y1: 2 }, 6, [1, 2, 3], null, plain), [
    "........",
    ".aabbcc.",
    ".aabbcc.",
    "........",
  ])
  assert.deepEqual(painted({ left: 5, top: 3, y0: 0, y1: 1 }, 6, [1, 2, 3], null, plain).at(-1), ".....aab")
})

test("lines are drawn over masked cells, seams between cells", () => {
  const seams = { line: 7, period: 2, thick: 1, seam: 6 }
  assert.deepEqual(painted({ left: 0, top: 0, y0: 1, y1: 3 }, 6, [1, 2], null, seams), [
    "........",
    "||||||..",
    "aaa|bb..",
    "........",
  ])
  const lines = { line: 7, period: 2, thick: 1, seam: 0 }
  assert.deepEqual(painted({ left: 0, top: 0, y0: 0, y1: 2 }, 6, [1, 2], [0, 1], lines), [
    "aaab/b..",
    "aaa/b/..",
    "........",
    "........",
  ])
})

test("what is not a number has dots, and lines between them where it is masked too", () => {
  const marks = { line: 7, period: 2, thick: 1, seam: 0 }
  const at = { left: 0, top: 0, y0: 0, y1: 4 }
  assert.deepEqual(painted(at, 8, [1, 2], [WITH_DOTS, WITH_LINES | WITH_DOTS], marks), [
    ":aa:/b:b",
    "aaaab/b/",
    "aaaa/b/b",
    ":aa:b/:/",
  ])
})

const FOUR = Uint32Array.from([10, 11, 12, 13])
const MARKS = { line: 7, period: 5, thick: 1, dot: 5, every: 2, size: 1 }
const PLAIN = { masked: 7, none: 4, marks: MARKS }

test("a map of levels has the colour of each cell, and lines where one is masked", () => {
  const out = new Uint32Array(4 * 2)
  const levels = [
    [0, 1],
    [1 / 3, MASKED_LEVEL],
  ]
  const cells = { rows: 2, columns: 2, levels: levels.flat(), rest: 0 }
  paintLevels(out, { width: 4, height: 2 }, cells, FOUR, { ...PLAIN, marks: { ...MARKS, line: 9, period: 2 } })
  assert.deepEqual([...out], [10, 10, 13, 13, 11, 11, 7, 9])
})

test("of cells that share a pixel the one farthest from rest is seen, never a mean", () => {
  const seen = (levels, rest) => {
    const out = new Uint32Array(1)
    const cells = { rows: 1, columns: levels.length, levels, rest }
    paintLevels(out, { width: 1, height: 1 }, cells, FOUR, PLAIN)
    return out[0]
  }
  assert.equal(seen([0, 1, 0], 0), 13)
  assert.equal(seen([0.6, 0, 0.7], 0.5), 10)
  assert.equal(seen([MASKED_LEVEL, 1 / 3, MASKED_LEVEL], 0), 11)
  assert.equal(seen([MASKED_LEVEL, MASKED_LEVEL], 0), 7)
  assert.equal(seen([1, Number.NaN, MASKED_LEVEL], 0), 5) // the first pixel is a dot
})
