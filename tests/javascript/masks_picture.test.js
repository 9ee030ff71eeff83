// What the four masks show and say, and what a click on them does.
import assert from "node:assert/strict"
import { test } from "node:test"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { axis, names } from "./axis_fixture.js"
import { choose, give, hovered, inkOf, placeOf, point, press, shown, tooltipOf } from "./page_fixture.js"
import { boxesOn, textsOn } from "./recording_context.js"

const { masksPicture } = await import("../../viz_transformer/figures/components/masks.js")

const TOKENS = ["<s>", "a", "b", "<b>", "<pad>"]
const [PADDING, CAUSAL, BEFORE, AFTER] = [0, 1, 2, 3]
const MOST = 64

/** Masks as Python sends them, of tokens of which those that are not `kept` are padding. */
function masksOf(
  cells = [],
  { tokens = TOKENS, kept = tokens.length - 1, parts = ["Padding", "Causal"], notes, ...header } = {},
) {
  const count = tokens.length
  const bits = (open) => ({
    shape: [count, count],
    encoding: "bits",
    values: Uint8Array.from({ length: count * count }, (_, n) => Number(open(Math.floor(n / count), n % count))),
  })
  const panels = [...parts, "Before", "After"].map((title, n) => ({ title, note: notes?.[n] ?? "" }))
  const words = { label: "Masks", caption: "", name: "masks", reasons: ["padding", "causality"] }
  const sides = { rows: axis("t", "query", tokens, "target-ink"), columns: axis("u", "key", tokens, "target-ink") }
  const rest = { kind: "decoder", letter: "d", most: MOST, token: "", height: 640 }
  return {
    header: { ...words, ...sides, ...rest, cells, panels, ...header },
    arrays: { padding: bits((_, c) => c < kept), causal: bits((r, c) => c <= r) },
  }
}
const masks = (cells, changes, how) => shown(masksPicture, masksOf(cells, changes), how)
/** What is said of each cell of a mask, by "query key"; of the last one unless another is named. */
const said = (plot, panel = AFTER) =>
  Object.fromEntries(
    [...Array(plot.rows).keys()].flatMap((r) =>
      [...Array(plot.columns).keys()].map((c) => [`${r} ${c}`, hovered(plot, { panel, r, c })[2]]),
    ),
  )
const click = (plot, r, c, panel = AFTER) => point(plot, "onclick", placeOf(plot, { panel, r, c }))
/** What Python was told of cells, the last of it. */
const told = ({ picked }) => picked.findLast((each) => "cells" in each)?.cells
const counted = (all, state) => Object.values(all).filter((each) => each === state).length

test("each cell of the four says what it is", () => {
  const plot = masks()
  for (const [cell, state] of Object.entries(said(plot))) {
    const [r, c] = cell.split(" ").map(Number)
    const reasons = [c > 3 && "padding", c > r && "causality"].filter(Boolean).join(" and ")
    assert.equal(state, reasons ? `closed by ${reasons}` : "open", cell)
  }
  assert.equal(counted(said(plot, PADDING), "Padding: closed"), 5)
  assert.equal(counted(said(plot, CAUSAL), "Causal: closed"), 10)
  assert.equal(counted(said(plot, BEFORE), "Before: closed"), 11)
  assert.deepEqual(hovered(plot, { panel: AFTER, r: 3, c: 0 }), ["query 3: “<b>”", "key 0: “<s>”", "open"])
})

test("masks may have other names and reasons", () => {
  const plot = masks(["d0.1"], { parts: ["Keys", "Window"], reasons: ["the mask for all queries", "the window"] })
  const states = [said(plot), said(plot, CAUSAL), said(plot, PADDING)].flatMap(Object.values)
  for (const state of [
    "closed by the mask for all queries and the window",
    "closed by the window",
    "opened here, was closed by the window",
    "Window: closed",
    "Keys: open",
  ])
    assert.ok(states.includes(state), state)
})

test("cells that were turned and rows that were closed say so, those of other kinds do not", () => {
  const states = said(masks(["d1.2", "d3", "d3.1", "d2.0", "e0.0", "c1"]))
  const changed = Object.entries(states).filter(([, state]) => state.includes("here"))
  assert.deepEqual(Object.fromEntries(changed), {
    "1 2": "opened here, was closed by causality",
    "2 0": "closed here, was open",
    "3 0": "closed here with its row, was open",
    "3 2": "closed here with its row, was open",
    "3 3": "closed here with its row, was open",
  })
  assert.equal(states["3 1"], "open") // turned once more in its closed row
})

// ---- clicks and keys

test("a click turns a cell round at once and a second one back, and Python is believed when it has heard or is late", (t) => {
  const time = t.mock.method(performance, "now", () => 10_000)
  const plot = masks(["e0.0"])
  click(plot, 1, 3)
  assert.equal(said(plot)["1 3"], "opened here, was closed by causality")
  const first = told(plot)
  assert.deepEqual([first.cells, first.fields], [["e0.0", "d1.3"], { t: 1, u: 3 }])
  click(plot, 2, 0)
  assert.deepEqual(told(plot).cells, ["e0.0", "d1.3", "d2.0"])
  const answer = masksOf(["e0.0", "d1.3"], { token: first.token }) // to the first click: Python is behind
  for (const [now, state] of [
    [10_000, "closed here, was open"],
    [14_000, "open"], // Python has not heard of the second click
  ]) {
    time.mock.mockImplementation(() => now)
    give(plot, answer)
    assert.equal(said(plot)["2 0"], state)
  }
  give(plot, masksOf(["e0.0", "d1.3", "d2.0"], { token: told(plot).token }))
  click(plot, 1, 3)
  assert.deepEqual([told(plot).cells, said(plot)["1 3"]], [["e0.0", "d2.0"], "closed by causality"])
})

test("a cell that was turned is the chosen one until Python has chosen it, and not again when another is", () => {
  const plot = masks([], {}, { chosen: { t: 0, u: 0 } })
  const chosen = () => masksPicture.view(plot).chosen
  click(plot, 1, 3)
  assert.deepEqual([chosen().r, chosen().c], [1, 3])
  choose(plot, { t: 1, u: 3 })
  choose(plot, { t: 0, u: 0 })
  assert.deepEqual([chosen().r, chosen().c], [0, 0])
})

test("what Python has heard is believed again", () => {
  const plot = masks()
  click(plot, 2, 0)
  assert.equal(said(plot)["2 0"], "closed here, was open")
  give(plot, masksOf([], { token: told(plot).token }))
  assert.equal(said(plot)["2 0"], "open")
})

test("a click on padding or causal only chooses", () => {
  const plot = masks()
  click(plot, 1, 2, CAUSAL)
  assert.deepEqual(plot.picked, [{ t: 1, u: 2 }])
})

test("arrows choose and Enter turns round", () => {
  const plot = masks([], {}, { chosen: { t: 0, u: 0 } })
  press(plot, "ArrowDown", "ArrowRight")
  assert.deepEqual(tooltipOf(plot), ["query 1: “a”", "key 1: “a”", "open"])
  press(plot, "Enter")
  assert.deepEqual([told(plot).cells, tooltipOf(plot).at(-1)], [["d1.1"], "closed here, was open"])
  press(plot, " ")
  assert.deepEqual(told(plot).cells, [])
  assert.deepEqual(selection.chosen, { t: 1, u: 1 })
})

test("more cells than an address takes are not changed", () => {
  const plot = masks(Array.from({ length: MOST }, (_, row) => `e${row}.0`))
  click(plot, 2, 0)
  assert.deepEqual([said(plot)["2 0"], told(plot)], ["open", undefined])
  assert.equal(plot.announced, `At most ${MOST} cells can be changed: undo some first.`)
})

// ---- what is drawn, and where

test("what stands under the titles is whole in as many lines as it takes", () => {
  const notes = [
    "closed for padded keys and queries",
    "later keys are closed",
    "allowed where both allow",
    "passed to the softmax",
  ]
  const written = textsOn(masks([], { notes }).base.getContext()).map(({ text }) => text)
  for (const note of notes) assert.ok(written.join(" ").includes(note), note)
  for (const title of ["Padding", "Causal", "Before", "After"]) assert.ok(written.includes(title))
})

test("open, closed and changed cells have colours of their own", () => {
  const plot = masks(["d2.0"])
  const inkAt = (panel, r, c) => {
    const { x, y } = placeOf(plot, { panel, r, c })
    const over = boxesOn(plot.base.getContext()).filter(
      (box) => box.x <= x && x < box.x + box.w && box.y <= y && y < box.y + box.h,
    )
    return over.map(({ ink }) => ink)
  }
  const [closed, open] = [inkOf("surface"), inkOf("decoder-3")]
  assert.deepEqual(
    [inkAt(BEFORE, 2, 0), inkAt(BEFORE, 0, 2), inkAt(PADDING, 0, 2)],
    [[closed, open], [closed], [closed, open]],
  )
  assert.deepEqual(inkAt(AFTER, 2, 0), [closed, inkOf("text"), inkOf("page")]) // a box that is framed
})

test("one token and many have the height and the width that there are", () => {
  for (const [width, high, height] of [
    [720, 700, 400], // of 700 pixels 300 are above the picture
    [1660, 1080, 640],
  ])
    for (const count of [1, 5, 14, 64]) {
      const { place, columns } = masks([], { tokens: names("k", count) }, { width, high })
      const { left, cell } = place.masks[AFTER]
      assert.deepEqual([place.width, place.height], [width, height])
      assert.ok(left + cell * columns <= width)
      if (count >= 14 && width > 1000) assert.ok(left + cell * columns > 0.98 * width)
    }
})

test("on a phone the masks are below each other with cells for a finger", () => {
  const plot = masks([], {}, { width: 390 })
  const [, , before, after] = plot.place.masks
  assert.ok(plot.stage.classList.contains("stacked") && after.top > before.top + 5 * before.rowHeight)
  assert.ok(before.cell >= 24 && after.cell >= 24)
  click(plot, 0, 3)
  assert.deepEqual(told(plot).cells, ["d0.3"])
  choose(plot, { t: 0, u: 3 })
  assert.match(said(plot)["0 3"], /^opened here/)
})
