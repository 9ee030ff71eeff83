// What the row of one query shows and does.
import assert from "node:assert/strict"
import { test } from "node:test"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { axis, numbers, texts } from "./axis_fixture.js"
import { choose, give, inkOf, marksOn, point, press, saved, shown, tooltipOf } from "./page_fixture.js"
import { boxesOn, linesOn, textsOn } from "./recording_context.js"

const { rowPicture } = await import("../../viz_transformer/figures/components/row.js")

const MARKUP = "<b>&amp;<img/src=x/onerror=alert(1)>"

/** A row as Python sends it: by default of three keys, the last of which is masked. */
function rowOf(tokens = ["zwei", MARKUP, "zwei"], { arrays = {}, ...header } = {}) {
  const given = {
    query: [1, -2],
    keys: [1, 0.5, 0.25, -1, 3, 0],
    scores: [0, 2.25 / Math.SQRT2, 3 / Math.SQRT2],
    weights: [0.17, 0.83, 0],
    mask: [1, 1, 0],
    ...arrays,
  }
  const read = Object.entries(given).map(([name, values]) => [
    name,
    numbers(values, name === "keys" ? [tokens.length, 2] : [values.length]),
  ])
  const [query, keys] = [axis("t", "query", "abc"), axis("i", "key", tokens, "source-ink")]
  return {
    header: {
      title: "a title",
      caption: "a caption",
      name: "picture",
      label: `Row: one query against ${tokens.length} keys`,
      query: { ...query, count: 3 },
      keys,
      token: texts("b")[0],
      position: 1,
      writes: texts("w")[0],
      scale: "cross",
      fill: "-1e9",
      ...header,
    },
    arrays: Object.fromEntries(read),
  }
}
/** So many keys of equal weight. */
const many = (count) => {
  const arrays = { keys: Array(2 * count).fill(1), scores: Array(count).fill(0), weights: Array(count).fill(1 / count) }
  return rowOf(Array(count).fill("x"), { arrays: { ...arrays, mask: Array(count).fill(1) } })
}
const row = (payload = rowOf(), how = {}) => shown(rowPicture, payload, how)
/** A place in the column of a key, in the first dimension of the keys. */
const inColumn = ({ place }, k) => ({ x: place.left + place.cell * (k + 0.5), y: place.strips.keys.y + 10 })
const hover = (plot, k) => {
  point(plot, "onpointermove", inColumn(plot, k))
  return tooltipOf(plot)
}

test("the tooltip says query, key, product, score and weight", () => {
  const plot = row()
  assert.deepEqual(hover(plot, 1), [
    "query 1: reads “b”, writes “w”",
    `key 1: “${MARKUP}”`,
    "dimension 0: 1.0000 × 0.2500 = 0.2500",
    "score 1.5910, 0.00 below the row's largest",
    "weight 0.8300",
  ])
  assert.deepEqual(hover(plot, 2).slice(-2), ["score 2.1213", "masked (-1e9), weight 0.0000"])
  assert.equal(hover(plot, 0).at(-2), "score 0.0000, 1.59 below the row's largest")
})

test("a click and the arrow keys choose a key and the query", () => {
  const plot = row(rowOf(), { chosen: { t: 1, i: 0 } })
  point(plot, "onclick", inColumn(plot, 2))
  press(plot, "ArrowLeft", "ArrowDown", "ArrowDown", "ArrowDown", "Home")
  assert.deepEqual(plot.picked, [{ i: 2 }, { i: 1 }, { t: 2 }, { t: 2 }, { t: 2 }, { i: 0 }]) // the last of three queries
  assert.deepEqual(selection.chosen, { t: 2, i: 0 })
  assert.ok(plot.announced.includes("key 0"))
})

test("its label names its keys, and where it is drawn", () => {
  const { stage } = row()
  assert.equal(stage.getAttribute("role"), "application")
  assert.equal(
    stage.getAttribute("aria-label"),
    "Row: one query against 3 keys. Left and right choose a key, up and down the query.",
  )
})

test("many keys fit, and a key that is chosen is scrolled into view", () => {
  const plot = row()
  give(plot, many(300))
  assert.ok(plot.place.width <= 720)
  give(plot, many(60))
  assert.ok(plot.place.width > 720)
  choose(plot, { t: 1, i: 50 })
  const [from, to] = [50, 51].map((k) => plot.place.left + plot.place.cell * k - plot.stage.scrollLeft)
  assert.ok(from > plot.place.left && to <= 720, `${from} to ${to}`)
})

test("the legends of a row that is scrolled stand with what stays", () => {
  for (const [keys, where] of [
    [3, "base"],
    [30, "aside"],
    [65, "base"],
  ]) {
    const plot = row(many(keys))
    const written = ["base", "aside"].filter((canvas) =>
      textsOn(plot[canvas].getContext()).some(({ text }) => text === "0–1"),
    )
    assert.deepEqual(written, [where], `${keys} keys`)
  }
})

const cellsIn = (plot, strip) => {
  const { y, height } = plot.place.strips[strip]
  return boxesOn(plot.base.getContext()).filter((box) => box.y === y && box.h === height)
}

test("a weight of 1 has the last colour of its scale and a masked one is hatched", () => {
  const plot = row(rowOf(["a", "b", "c"], { arrays: { weights: [1, 0, 0] } }))
  assert.deepEqual(
    cellsIn(plot, "weights").map(({ ink }) => ink),
    [inkOf("cross-6"), inkOf("cross-0"), inkOf("surface")],
  )
  const { left, cell, strips } = plot.place
  const hatches = linesOn(plot.base.getContext()).filter(({ ink }) => ink === inkOf("line"))
  const corners = hatches.flatMap(({ points }) => points).filter(([, y]) => y >= strips.weights.y)
  assert.ok(corners.length > 0 && corners.every(([x]) => x >= left + 2 * cell && x <= left + 3 * cell)) // those of the last key alone
})

test("scores and products are as dark as they are large, with their sign", () => {
  const plot = row(
    rowOf(["a", "b"], { arrays: { keys: [1, 0, 0, 1], scores: [-2, 2], weights: [0, 1], mask: [1, 1] } }),
  )
  assert.deepEqual(
    cellsIn(plot, "scores").map(({ ink }) => ink),
    [inkOf("diverging-0"), inkOf("diverging-6")],
  )
})

test("what is chosen has a ring around its column", () => {
  const plot = row(rowOf(), { chosen: { i: 2 } })
  const [{ x, w }] = marksOn(plot)
  assert.ok(Math.abs(x + w / 2 - inColumn(plot, 2).x) < 2)
  choose(plot, { i: null })
  assert.deepEqual(marksOn(plot), [])
})

test("the saved picture has its title and tokens, and a weight beside 1 is not called 1", () => {
  const plot = row(rowOf(["a", MARKUP, "c"], { arrays: { weights: [1 - 2 ** -20, 1, 0], mask: [1, 1, 1] } }))
  const written = textsOn(saved(plot)).map(({ text }) => text)
  for (const text of ["a title", "a", "c", ">0.99", "keys k", "q × k", "score", "weight"])
    assert.ok(written.includes(text), text)
  assert.equal(written.filter((text) => text === "1.00").length, 1)
})
