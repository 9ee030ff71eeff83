// The drawing of a model: which box is where, where keys lead, and what is painted.
import assert from "node:assert/strict"
import { test } from "node:test"
import { boxAt, boxBeside, paintDrawing } from "../../viz_transformer/figures/components/parts/drawing.js"
import { boxesOn, framesOn, linesOn, recordingContext, textsOn } from "./recording_context.js"

const box = (/** @type {object} */ more) => ({
  part: "",
  width: 100,
  height: 40,
  label: "a box",
  detail: "",
  fill: "",
  tip: [],
  ...more,
})
const DRAWING = {
  boxes: [
    box({ x: 50, y: 200, label: "embedding", detail: "9 × 4\nshared", fill: "encoder" }),
    box({ x: 50, y: 100, label: "<b>norm</b>" }),
    box({ x: 250, y: 100, label: "cross", fill: "cross" }),
  ],
  lines: [
    {
      points: [
        [100, 200],
        [100, 140],
      ],
      arrow: true,
    },
    {
      points: [
        [0, 0],
        [0, 9],
      ],
      arrow: false,
    },
  ],
  signs: [{ x: 100, y: 60 }],
  frames: [{ x: 40, y: 90, width: 120, height: 60 }],
  texts: [{ x: 30, y: 20, text: "N ×", align: "right", ink: "muted", strong: true }],
}
const WHOLE = { across: 1, down: 1, letters: 1 }
const PAPER = /** @type {any} */ ({ one: (name) => name, scale: (name) => ({ css: (t) => `${name} ${t}` }) })

/** What is painted where a box is pointed at. */
function painted(pointed = null, scale = WHOLE) {
  const context = recordingContext()
  paintDrawing(context, PAPER, /** @type {any} */ (DRAWING), scale, pointed)
  return context
}

test("a box is at each place of it, its edges too, however large it is drawn, and none beside it", () => {
  for (const scale of [WHOLE, { across: 0.5, down: 0.25, letters: 0.25 }])
    for (const [i, { x, y, width, height }] of DRAWING.boxes.entries())
      for (const [u, v] of [
        [0, 0],
        [0.5, 0.5],
        [1, 1],
      ]) {
        const at = [(x + u * width) * scale.across, (y + v * height) * scale.down]
        assert.equal(boxAt(DRAWING, scale, at[0], at[1]), i)
      }
  assert.equal(boxAt(DRAWING, WHOLE, 2, 2), null)
  assert.equal(boxAt(DRAWING, WHOLE, 151, 110), null)
})

test("keys go from box to box as data flow, from the first one, to the last one, and Escape to none", () => {
  const to = (from, key) => boxBeside(DRAWING, from, key)
  assert.deepEqual([to(null, "ArrowUp"), to(null, "ArrowDown"), to(0, "ArrowUp"), to(1, "ArrowDown")], [0, 0, 1, 0])
  assert.deepEqual([to(2, "ArrowUp"), to(0, "ArrowDown"), to(2, "Home"), to(0, "End")], [2, 0, 0, 2])
  assert.deepEqual([to(1, "Escape"), to(1, "ArrowLeft"), to(1, "x")], [null, undefined, undefined])
})

test("boxes have the colour of their part, their words, and a strong frame where they are pointed at", () => {
  const context = painted(1)
  const at = ({ x, y, w, h }) =>
    DRAWING.boxes.findIndex((each) => each.x === x && each.y === y && each.width === w && each.height === h)
  assert.deepEqual(
    boxesOn(context).flatMap((each) => (at(each) < 0 ? [] : [[at(each), each.ink]])),
    [
      [0, `encoder ${1 / 6}`],
      [1, "page"],
      [2, `cross ${1 / 6}`],
    ],
  )
  assert.deepEqual(
    framesOn(context).flatMap((each) => (at(each) < 0 ? [] : [[at(each), each.ink]])),
    [
      [0, "muted"],
      [1, "text"],
      [2, "muted"],
    ],
  )
  assert.deepEqual(
    textsOn(context).map(({ text, x, y }) => [text, x, y]),
    [
      ["embedding", 100, 214],
      ["9 × 4", 100, 232],
      ["shared", 100, 248],
      ["<b>norm</b>", 100, 120],
      ["cross", 300, 120],
      ["N ×", 30, 20],
    ],
  )
})

test("lines go where they were drawn, an arrow at the end of those that have one, and a sum is a plus", () => {
  const paths = linesOn(painted()).map(({ points }) => points)
  const has = (points) => paths.some((path) => JSON.stringify(path) === JSON.stringify(points))
  assert.ok(
    has([
      [100, 200],
      [100, 140],
    ]) &&
      has([
        [0, 0],
        [0, 9],
      ]),
  )
  assert.equal(paths.filter((path) => path.length === 3).length, 1)
  assert.ok(
    has([
      [96, 60],
      [104, 60],
    ]) &&
      has([
        [100, 56],
        [100, 64],
      ]),
  )
  assert.deepEqual(framesOn(painted())[0], { x: 40, y: 90, w: 120, h: 60, ink: "line" })
})

test("in less room all places are nearer, and no number is missing", () => {
  const context = painted(null, { across: 0.5, down: 0.5, letters: 0.5 })
  assert.deepEqual(boxesOn(context)[1], { x: 25, y: 100, w: 50, h: 20, ink: `encoder ${1 / 6}`, opacity: 1 })
  for (const { name, given } of context.calls)
    assert.ok(
      given.every((each) => typeof each === "string" || Number.isFinite(each)),
      `${name} ${given}`,
    )
})
