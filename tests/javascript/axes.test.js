import assert from "node:assert/strict"
import { test } from "node:test"
import {
  foundAt,
  middleOf,
  placeLegend,
  placeSides,
  shiftOf,
  takeApart,
} from "../../viz_transformer/figures/components/parts/axes.js"

// A title of one line takes 62 pixels, a legend of one 32: of 302, 208 are left for rows.
const GIVEN = {
  z: 1,
  width: 600,
  height: 302,
  widest: { queries: 50, keys: 100 },
  most: 150,
  counts: { queries: 4, keys: 8 },
  heads: 1,
  lines: 1,
  legend: 1,
}
const placed = (changes = {}) => placeSides({ ...GIVEN, ...changes })

test("each side has the room of its widest label, and rows fill what title and legend leave", () => {
  const sides = placed()
  assert.deepEqual([sides.left, sides.right], [66, 484])
  assert.deepEqual([sides.top, sides.bottom], [62, 32])
  assert.deepEqual(sides.rows, { queries: 40, keys: 26 }) // 208 / 4 = 52 would be higher than 40
  assert.deepEqual([sides.gap, sides.thick], [0, 2])
  assert.deepEqual([placed({ lines: 2, legend: 3 }).top, placed({ lines: 2, legend: 3 }).bottom], [84, 72])
})

test("labels get 36 pixels at least, and at most what is allowed or three tenths of the picture", () => {
  const { left, right } = placed({ widest: { queries: 1, keys: 900 } })
  assert.deepEqual([left, right], [16 + 36, 600 - 16 - 150])
  assert.equal(placed({ width: 400, widest: { queries: 900, keys: 1 } }).left, 16 + 120)
})

test("all rows and lines are inside the picture, however many tokens and heads there are", () => {
  for (const z of [1, 1.5, 2])
    for (const queries of [1, 7, 256])
      for (const keys of [1, 30, 256])
        for (const heads of [1, 2, 6]) {
          const sides = placed({ z, width: 640 * z, height: 420 * z, counts: { queries, keys }, heads })
          assert.ok(sides.left < sides.right)
          for (const side of /** @type {const} */ (["queries", "keys"])) {
            const half = ((heads - 1) / 2) * sides.gap + sides.thick / 2
            const last = middleOf(sides, side, sides.counts[side] - 1)
            assert.ok(last + sides.rows[side] / 2 <= sides.height - sides.bottom + 1e-9)
            assert.ok(middleOf(sides, side, 0) - half >= sides.top - 1) // half a line of the thinnest, in rows of a pixel
            assert.ok(sides.gap * heads <= 0.7 * sides.rows[side] + 1e-9) // no line is nearer to the next row than to its own
          }
        }
})

test("lines are the thinner the lower the rows, and those of several heads lie around the middle of a row", () => {
  const thick = (keys) => placed({ counts: { queries: 1, keys } }).thick
  assert.deepEqual([14, 15, 34, 35].map(thick), [2, 1.4, 1.4, 1]) // rows of 14.9, 13.9, 6.1 and 5.9 pixels
  const sides = placed({ heads: 3 })
  assert.equal(sides.gap, 3)
  assert.deepEqual(
    [0, 1, 2].map((n) => shiftOf(sides, n, 3)),
    [-3, 0, 3],
  )
  assert.equal(placed({ heads: 6, counts: { queries: 1, keys: 52 } }).gap, (0.7 * 4) / 6) // rows of 4 pixels
})

test("beside the lines a place is a token, and nothing above the first or below the last", () => {
  const sides = placed()
  const none = { heads: 1, count: 0, lineAt: () => [] }
  assert.deepEqual(foundAt(sides, 3, 62, none), { q: 0 })
  assert.deepEqual(foundAt(sides, 66, 62 + 159, none), { q: 3 })
  assert.equal(foundAt(sides, 66, 62 + 160, none), null) // four rows of 40
  assert.deepEqual(foundAt(sides, 599, 62 + 207, none), { k: 7 })
  assert.equal(foundAt(sides, 599, 61, none), null)
  assert.equal(foundAt(sides, 67, 100, none), null)
})

test("between the sides it is the nearest line within five pixels, and where two cross the stronger one", () => {
  const sides = placed({ counts: { queries: 4, keys: 4 } })
  // From the middle of query 0 (82) to that of key 1 (122), and from query 1 to key 0: they cross half-way, at 102.
  const strongest = [
    [0, 1, 0],
    [0, 0, 1],
  ]
  const at = (along, y, all = strongest) =>
    foundAt(sides, 66 + along * 418, y, { heads: 1, count: all.length, lineAt: (i) => all[i] })
  assert.deepEqual(at(0.01, 82), { q: 0, k: 1 })
  assert.deepEqual(at(0.01, 122), { q: 1, k: 0 })
  assert.equal(at(0.01, 102), null)
  assert.deepEqual([at(0.01, 82.4 - 4.9), at(0.01, 82.4 - 5.1)], [{ q: 0, k: 1 }, null])
  assert.deepEqual(at(0.5, 102), { q: 1, k: 0 })
  assert.deepEqual(at(0.5, 102, strongest.toReversed()), { q: 0, k: 1 })
})

test("twice the zoom is twice the picture, and five pixels are ten", () => {
  for (const heads of [1, 2, 6]) {
    const [one, two] = [1, 2].map((z) =>
      placed({ z, width: 600 * z, height: 302 * z, widest: { queries: 9 * z, keys: 90 * z }, most: 150 * z, heads }),
    )
    for (const key of ["top", "bottom", "left", "right", "gap", "thick"]) assert.equal(two[key], 2 * one[key], key)
    assert.deepEqual(two.rows, { queries: 2 * one.rows.queries, keys: 2 * one.rows.keys })
    if (heads > 1) assert.ok(one.gap > 0)
    const lines = { heads: 1, count: 1, lineAt: () => [0, 0, 0] }
    assert.deepEqual(foundAt(two, two.left + 1, middleOf(two, "queries", 0) + 9, lines), { q: 0, k: 0 })
  }
})

test("what counts is how far a steep line is at right angles", () => {
  const sides = placed({ width: 148, widest: { queries: 0, keys: 0 } })
  assert.deepEqual([sides.left, sides.right], [52, 96]) // the sides are 44 pixels apart
  const lines = { heads: 1, count: 1, lineAt: () => [0, 0, 7] } // from 82 down to 257, which is at 169.5 half-way
  assert.deepEqual(foundAt(sides, 74, 169.5 + 20, lines), { q: 0, k: 7 }) // 20 / sqrt(1 + (175 / 44)²) = 4.88
  assert.equal(foundAt(sides, 74, 169.5 + 21, lines), null) // 5.12
  assert.deepEqual(foundAt(sides, 96, 100, lines), { k: 1 })
})

test("a line of one of several heads is found where that head's lines are", () => {
  const sides = placed({ heads: 6 })
  const lines = { heads: 6, count: 1, lineAt: () => [5, 0, 0] }
  assert.equal(shiftOf(sides, 5, 6), 7.5)
  assert.deepEqual(foundAt(sides, 67, 82 + 7.5, lines), { q: 0, k: 0 })
  assert.equal(foundAt(sides, 67, 82, lines), null)
})

test("what is written is so many rows apart, and what comes first has its place", () => {
  const take = takeApart(10, 3)
  assert.deepEqual(
    [4, 0, 1, 2, 3, 4, 5, 6, 7, 9].filter((n) => take(n)),
    [4, 0, 7],
  )
  const first = takeApart(4, 2)
  assert.deepEqual(
    [1, 0, 2, 3].filter((n) => first(n)),
    [1, 3],
  )
  const each = takeApart(3, 1)
  assert.deepEqual(
    [0, 1, 2, 1].filter((n) => each(n)),
    [0, 1, 2],
  )
})

// Ten pixels a sign.
const RULER = { measureText: (/** @type {string} */ text) => ({ width: 10 * text.length }) }
const HEADS = [
  { text: "head 0", colour: "heads-0" },
  { text: "head 1", colour: "heads-1" },
]

test("a legend that fits stands in one row, one part behind the other", () => {
  const { parts, rows } = placeLegend({ heads: HEADS, scale: "opacity: w", last: "faint" }, RULER, 1, 600)
  assert.equal(rows, 1)
  assert.deepEqual(
    parts.map(({ x, size, start }) => [x, size, start]),
    [
      [0, 86, 26], // 26 and six signs
      [102, 86, 26],
      [204, 204, 104], // 104 and ten signs
      [424, 51, 1],
    ],
  )
  assert.deepEqual(
    parts.map(({ colour, ramp }) => colour ?? ramp),
    ["heads-0", "heads-1", true, undefined],
  )
})

test("what does not fit begins a row, and a long scale takes up to three behind its ramp", () => {
  const scale = "opacity of a line is its weight, and so on and on"
  const { parts, rows } = placeLegend({ heads: HEADS, scale }, RULER, 1, 304) // 200 pixels behind the ramp
  assert.deepEqual(
    parts.map(({ text, row }) => [text, row]),
    [
      ["head 0", 0],
      ["head 1", 0],
      ["opacity of a line is", 1],
      ["its weight, and so", 2],
      ["on and on", 3],
    ],
  )
  assert.equal(rows, 4)
  assert.deepEqual(
    parts.slice(2).map(({ ramp, start }) => [ramp, start]),
    [
      [true, 104],
      [false, 104],
      [false, 104],
    ],
  )
})

test("a legend twice as large stands in the same rows, and the last line of a long scale is shortened", () => {
  const given = {
    heads: HEADS,
    scale: "opacity of a line is its weight and so on and on and on and so on and on",
  }
  const [one, two] = [1, 2].map((z) =>
    placeLegend(given, { measureText: (text) => ({ width: 10 * z * text.length }) }, z, 304 * z),
  )
  assert.deepEqual(
    two.parts.map(({ text, x, size, start, row }) => [text, x, size, start, row]),
    one.parts.map(({ text, x, size, start, row }) => [text, 2 * x, 2 * size, 2 * start, row]),
  )
  assert.equal(one.parts.filter(({ start }) => start === 104).length, 3)
  assert.ok(one.parts[4].text.endsWith("…"))
})

test("no part of a legend reaches beyond the picture or over the next", () => {
  const heads = Array.from({ length: 6 }, (_, n) => ({ text: `head ${"1".repeat(n + 1)}`, colour: "heads-0" }))
  for (const width of [60, 150, 300, 700, 2000]) {
    const { parts, rows } = placeLegend({ heads, scale: "opacity of a line is its weight" }, RULER, 1, width)
    assert.equal(parts.at(-1).row, rows - 1)
    parts.forEach(({ x, row, size }, i) => {
      assert.ok(x + size <= width, `${width}`)
      const next = parts[i + 1]
      if (next) assert.ok(next.row > row ? next.row === row + 1 && next.x === 0 : next.x >= x + size)
    })
  }
})
