import assert from "node:assert/strict"
import { test } from "node:test"
import { hatchedAs, paintSpans, roomAbove, spanNotes } from "../../viz_transformer/figures/components/parts/spans.js"

const axis = (...spans) => ({ spans, tokens: [], starts: null, ends: null })
const rows = axis(
  { start: 0, end: 3, look: "bar", text: "rows of this run", ink: "muted" },
  { start: 6, end: 9, look: "hatched", text: "never trained", ink: "muted" },
)
const columns = axis({ start: 4, end: 5, look: "mark", text: "", ink: "heads-1" })
const cells = { z: 1, left: 100, top: 50, w: 80, h: 60, cell: 10, rowHeight: 10 }

function painted(seen) {
  const [boxes, lines] = [[], []]
  const context = {
    fillRect(...box) {
      boxes.push([this.fillStyle, ...box])
    },
    strokeRect: (...box) => lines.push(box),
    beginPath() {},
    stroke() {},
    moveTo() {},
    lineTo() {},
  }
  paintSpans(context, { one: (name) => name }, { rows, columns }, cells, seen)
  return { boxes, lines }
}

test("a bar stands beside its rows, a mark over its column, and lines over their rows", () => {
  assert.deepEqual(painted({ r0: 0, r1: 9, c0: 0, c1: 8 }), {
    boxes: [
      ["muted", 95, 50, 3, 30],
      ["heads-1", 143.5, 34, 3, 12],
    ],
    lines: [[100.5, 110.5, 79, 29]],
  })
})

test("of a span only what is seen is drawn", () => {
  assert.deepEqual(painted({ r0: 2, r1: 6, c0: 5, c1: 8 }), { boxes: [["muted", 95, 50, 3, 10]], lines: [] })
})

test("the legend says what spans are, the tooltip why a cell has lines, and marks have room", () => {
  assert.deepEqual(spanNotes({ rows, columns }), ["▌rows of this run", "never trained (hatched)"])
  assert.deepEqual([hatchedAs(rows, 6), hatchedAs(rows, 5), hatchedAs(columns, 4)], ["never trained", "", ""])
  assert.deepEqual([roomAbove(columns, 2), roomAbove({ tokens: [] }, 2)], [32, 0])
})
