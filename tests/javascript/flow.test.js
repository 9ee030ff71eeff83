import assert from "node:assert/strict"
import { test } from "node:test"
import { linesOf, onNextLine, placeSheet } from "../../viz_transformer/figures/components/parts/flow.js"

// Three lines of tokens 20 pixels high, 30 apart; the second has a wide token, the last a single one.
const BOXES = [
  { left: 0, top: 0, width: 40, height: 20 },
  { left: 50, top: 0, width: 40, height: 20 },
  { left: 100, top: 0, width: 40, height: 20 },
  { left: 0, top: 30, width: 90, height: 20 },
  { left: 100, top: 38, width: 40, height: 20 }, // a little lower, as letters of another script are
  { left: 0, top: 60, width: 40, height: 20 },
]
const next = (n, step) => onNextLine((m) => BOXES[m], BOXES.length, n, step)

test("the token on the next line is the one whose middle is nearest", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((n) => next(n, 1)),
    [3, 3, 4, 5, 5], // middles at 20, 70 and 120 over 45 and 120
  )
  assert.deepEqual(
    [5, 4, 3].map((n) => next(n, -1)),
    [3, 2, 1], // 45 is as near to 20 as to 70: the one nearer in the text
  )
})

test("there is none above the first line and below the last", () => {
  assert.deepEqual([next(0, -1), next(2, -1), next(5, 1)], [0, 2, 5])
})

test("tokens of any height and width count by their middles", () => {
  const boxes = [
    { left: 30, top: 0, width: 40, height: 20 }, // its middle is at 50
    { left: 80, top: -30, width: 40, height: 80 }, // on the same line, though it is tall
    { left: 0, top: 60, width: 60, height: 20 }, // at 30
    { left: 64, top: 60, width: 20, height: 20 }, // at 74
  ]
  assert.deepEqual([onNextLine((m) => boxes[m], 4, 0, 1), onNextLine((m) => boxes[m], 4, 2, -1)], [2, 0])
})

test("only the tokens of one line are asked where they stand", () => {
  const asked = []
  const boxOf = (m) => {
    asked.push(m)
    return { left: 10 * (m % 10), top: 30 * Math.floor(m / 10), width: 8, height: 20 }
  }
  assert.equal(onNextLine(boxOf, 10_000, 15, 1), 25)
  assert.ok(Math.max(...asked) === 30 && Math.min(...asked) === 15)
})

test("signs of one line are one text from its left end, in the order in which they are read", () => {
  const at = (text, left, top) => ({ text, box: { left, top, height: 16 } })
  assert.deepEqual(linesOf([at("a", 5, 0), at("b", 15, 7), at("c", 5, 20)]), [
    { text: "ab", left: 5, middle: 8 },
    { text: "c", left: 5, middle: 28 },
  ])
  assert.deepEqual(linesOf([at("ع", 30, 0), at("ا", 20, 0), at("ل", 10, 0)]), [{ text: "عال", left: 10, middle: 8 }])
  assert.deepEqual(linesOf([]), [])
})

test("a sheet has title and sentence, each paragraph under its label, and the legend below", () => {
  const rooms = []
  const wrap = (room) => {
    rooms.push(room)
    return ["one", "two"]
  }
  const sheet = placeSheet({ z: 1, width: 600, paragraphs: [100, 50], end: 8, wrap })
  assert.deepEqual(sheet.places, [
    { label: 76, text: 84 },
    { label: 208, text: 216 }, // 84 + 100 + 8 + 24
  ])
  assert.deepEqual([sheet.legend.y, sheet.legend.left, rooms[0]], [286, 160, 432])
  assert.equal(sheet.height, 274 + 10 + 2 * 18)
})

test("twice the zoom is twice the sheet around its paragraphs", () => {
  const at = (z) => placeSheet({ z, width: 900, paragraphs: [100 * z, 50 * z], end: 8 * z, wrap: () => ["a", "b"] })
  const [one, two] = [at(1), at(2)]
  assert.deepEqual(
    two.places,
    one.places.map(({ label, text }) => ({ label: 2 * label, text: 2 * text })),
  )
  assert.deepEqual([two.legend.y, two.legend.left, two.height], [2 * one.legend.y, 2 * one.legend.left, 2 * one.height])
})

test("nothing on a sheet overlaps, at any size of letters", () => {
  for (const z of [1, 1.5, 2])
    for (const paragraphs of [[20], [400, 20]]) {
      const { places, legend, height } = placeSheet({ z, width: 900, paragraphs, end: 30, wrap: () => ["a", "b", "c"] })
      const half = 6.5 * z // of a line of 13 pixels
      let below = (42 + 7) * z // the sentence
      places.forEach(({ label, text }, i) => {
        assert.ok(label - half >= below && text >= label + half)
        below = text + paragraphs[i]
      })
      assert.ok(legend.y - half >= below && legend.y + 2 * 18 * z + half <= height)
    }
})
