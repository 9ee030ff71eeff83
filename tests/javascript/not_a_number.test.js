// What is not a number is dotted in a map and in a query's row, named in the legend and said as such, neither 0 nor masked.
import assert from "node:assert/strict"
import { test } from "node:test"
import { axis, names, numbers } from "./axis_fixture.js"
import { coloursOf, mapOf } from "./matrix_fixture.js"
import { give, hovered, inkOf, placeOf, press, saved, shown, tooltipOf } from "./page_fixture.js"
import { boxesOn, textsOn } from "./recording_context.js"

const { matrixPicture } = await import("../../viz_transformer/figures/components/matrix.js")
const { rowPicture } = await import("../../viz_transformer/figures/components/row.js")

const { NaN: NONE } = Number
const WEIGHTS = [
  [0.25, 0.75, 0],
  [NONE, NONE, NONE],
  [0, 0, 0],
]
const MASK = [
  [1, 1, 0],
  [1, 1, 0],
  [0, 0, 0],
]
const DOTS = [inkOf("no-number"), inkOf("no-number-dot")].sort()
const matrix = (values = WEIGHTS, more = {}) => mapOf(values, { mask: MASK, ...more })
const written = ({ base }) =>
  textsOn(base.getContext())
    .map(({ text }) => text)
    .join(" ")
const around = (plot, r, c) => coloursOf(plot, { r, c }, 40).sort()

test("a cell of a map has dots, and where it is masked lines too", () => {
  const plot = shown(matrixPicture, matrix(WEIGHTS, { fill: "-inf" }))
  const said = (r, c) => hovered(plot, { r, c })[2]
  assert.deepEqual(
    [0, 1, 2].map((r) => [0, 1, 2].map((c) => said(r, c))),
    [
      ["weight 0.2500", "weight 0.7500", "masked (-inf), weight 0.0000"],
      ["weight: not a number", "weight: not a number", "masked (-inf), weight: not a number"],
      Array(3).fill("masked (-inf), weight 0.0000"),
    ],
  )
  for (const c of [0, 1]) assert.deepEqual(around(plot, 1, c), DOTS)
  const middle = placeOf(plot, { r: 1, c: 0 })
  const [x, y] = [middle.x - plot.place.left, middle.y - plot.place.top].map((each) => Math.floor(each) - 20)
  let dots = 0
  for (let v = y; v < y + 40; v++)
    for (let u = x; u < x + 40; u++) dots += Number(plot.pixels.data[4 * (v * plot.pixels.width + u)] === 20)
  assert.ok(Math.abs(dots - (1600 * 4) / 25) < 26, `${dots} of 1600 pixels`)
  assert.deepEqual(around(plot, 1, 2), [...DOTS, inkOf("line")].sort())
  assert.deepEqual(around(plot, 2, 1), [inkOf("surface"), inkOf("line")].sort())
})

test("the legend says what dots are where there are any", () => {
  const plot = shown(matrixPicture, matrix())
  assert.match(written(plot), /not a number/)
  give(plot, matrix(WEIGHTS.map((row) => row.map((each) => each || 0))))
  assert.doesNotMatch(written(plot), /not a number/)
  const there = WEIGHTS.map((row) => row.map((each) => Number(!Number.isNaN(each)))) // what no step had is empty
  give(plot, matrix(WEIGHTS, { there }))
  assert.doesNotMatch(written(plot), /not a number/)
})

test("a screen reader hears that it is not a number", () => {
  const plot = shown(matrixPicture, matrix(), { chosen: { t: 1, i: 1 } })
  press(plot, "ArrowLeft")
  assert.equal(plot.announced, "query 1: “q1”, key 0: “k0”, weight: not a number")
})

test("what is infinite is dotted, and leaves the scale to the others", () => {
  const values = [
    [Infinity, -1, 0.5],
    [1, -Infinity, 0],
    [0, 0, NONE],
  ]
  for (const scale of ["row", "map"]) {
    const more = { mask: undefined, scale: "diverging", quantity: "difference", signed: true, bounded: false }
    const plot = shown(matrixPicture, mapOf(values, more), { chosen: { scale } })
    assert.deepEqual(
      [0, 1, 2].map((n) => hovered(plot, { r: n, c: n })[2]),
      ["difference ∞", "difference -∞", "difference: not a number"],
    )
    for (const n of [0, 1, 2]) assert.deepEqual(coloursOf(plot, { r: n, c: n }, 20).sort(), DOTS)
    assert.deepEqual(coloursOf(plot, { r: 0, c: 1 }, 4), [inkOf("diverging-0")])
    assert.deepEqual(coloursOf(plot, { r: 1, c: 0 }, 4), [inkOf("diverging-6")])
    assert.match(written(plot), /not a number or infinite/)
  }
})

test("a row that is not a number is seen where cells are smaller than pixels", () => {
  const values = Array.from({ length: 2000 }, (_, r) => Array(3).fill(r === 1000 ? NONE : 1 / 3))
  const { pixels } = shown(matrixPicture, mapOf(values))
  const found = new Set()
  for (let i = 0; i < pixels.data.length; i += 4)
    found.add(`rgb(${Array.from(pixels.data.slice(i, i + 3)).join(", ")})`)
  assert.ok(DOTS.some((each) => found.has(each)))
})

test("a saved map has the dots and the words", () => {
  const context = saved(shown(matrixPicture, matrix()))
  assert.ok(textsOn(context).some(({ text }) => text === "not a number"))
  const inks = boxesOn(context).map(({ ink }) => ink)
  assert.equal(inks.filter((ink) => ink === inkOf("no-number")).length, 4) // three cells and the legend
  assert.ok(inks.filter((ink) => ink === inkOf("no-number-dot")).length > 100)
})

const KEYS = [1, 1, 1, 1, 1, 1]
/** The row of one query over three keys of two numbers each, the last of them masked. */
const rowOf = ({ query = [1, -1], keys = KEYS, scores = [1, -Infinity, 0.5], weights = [NONE, NONE, NONE] } = {}) => ({
  header: {
    position: 1,
    token: { text: "q1" },
    writes: null,
    fill: "-inf",
    keys: axis("i", "key", names("k", 3), "source-ink"),
    queries: axis("t", "query", names("q", 3), "target-ink"),
    title: "",
    label: "",
    caption: "",
    name: "",
    divisor: 1,
    height: 400,
  },
  arrays: {
    query: numbers(query),
    keys: numbers(keys, [3, 2]),
    scores: numbers(scores),
    weights: numbers(weights),
    mask: { ...numbers([1, 1, 0]), values: Uint8Array.from([1, 1, 0]) },
  },
})
const inksOf = ({ base }) => boxesOn(base.getContext()).map(({ ink }) => ink)
const wordsSaved = (plot) =>
  textsOn(saved(plot))
    .map(({ text }) => text)
    .join(" ")

test("the strips of a row have dots, and the legend says why", () => {
  const plot = shown(rowPicture, rowOf(), { chosen: { i: 0 } })
  for (const each of DOTS) assert.ok(inksOf(plot).includes(each))
  assert.match(wordsSaved(plot), /not a number or infinite/)
  const said = ["Home", "ArrowRight", "ArrowRight"].map((key) => {
    press(plot, key)
    return tooltipOf(plot).slice(-2)
  })
  assert.deepEqual(said, [
    ["score 1.0000, 0.00 below the row's largest", "weight: not a number"],
    ["score -∞", "weight: not a number"],
    ["score 0.5000", "masked (-inf), weight: not a number"],
  ])
})

test("a row of keys that are not numbers is drawn, and one of numbers has no dots", () => {
  const strange = { query: [NONE, 1], keys: [1, 1, NONE, Infinity, 0, 0], scores: [NONE, NONE, 0] }
  const plot = shown(rowPicture, rowOf(strange), { chosen: { i: 0 } })
  assert.match(wordsSaved(plot), /not a number/)
  press(plot, "Home")
  assert.equal(tooltipOf(plot).at(-2), "score: not a number")
  give(plot, rowOf({ scores: [1, 0, -Infinity], weights: [0.7, 0.3, 0] }))
  assert.ok(!inksOf(plot).includes(inkOf("no-number")))
})
