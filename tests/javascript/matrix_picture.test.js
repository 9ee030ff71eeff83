// What a map says, and what it does at a gesture.
import assert from "node:assert/strict"
import { test } from "node:test"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { names, texts } from "./axis_fixture.js"
import { cellsOf, mapOf } from "./matrix_fixture.js"
import { choose, give, hovered, marksOn, placeOf, point, press, shown, tooltipOf } from "./page_fixture.js"
import { textsOn } from "./recording_context.js"

const { matrixPicture } = await import("../../viz_transformer/figures/components/matrix.js")

const VALUES = [
  [0.25, 0.75, 0, 1],
  [0.00001, 0.99999, 0.12345, 0.5],
  [0.2, 0.005, 0, 0.125],
]
const SHARES = [
  ["0.2500", "0.7500", "0.0000", "1.0000"],
  ["<0.0001", ">0.9999", "0.1235", "0.5000"],
  ["0.2000", "0.0050", "0.0000", "0.1250"],
]
const softmax = (side) =>
  Array.from({ length: side }, (_, r) => Array.from({ length: side }, (_, c) => ((r * side + c) % 7) / 21))
const matrix = (values = VALUES, changes = {}, how = {}) => shown(matrixPicture, mapOf(values, changes), how)
/** What is said of all cells that are seen, in order. */
const said = (map) => cellsOf(map).map(([r, c]) => hovered(map, { r, c }))
const click = (map, [r, c]) => {
  point(map, "onpointerdown", placeOf(map, { r, c }))
  point(map, "onpointerup", placeOf(map, { r, c }))
}
const rest = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds))

// ---- what is said

const MARKUP = "<b>&amp;<img/src=x/onerror=alert(1)>"

test("the tooltip of each cell says both tokens, their positions and the recorded value", () => {
  const [reads, keys, writes] = [
    ["one", MARKUP, "one"],
    ["zwei", "عالم", "🙂", "zwei"],
    ["w0", "w1", "w2"],
  ]
  const mask = [
    [1, 1, 1, 1],
    [1, 1, 1, 1],
    [1, 0, 0, 1],
  ]
  const axes = { rows: { tokens: texts(...reads) }, columns: { tokens: texts(...keys) }, writes: texts(...writes) }
  const map = matrix(VALUES, { ...axes, mask, fill: "-1e9" })
  for (const [r, c] of cellsOf(map))
    assert.deepEqual(hovered(map, { r, c }), [
      `query ${r}: reads “${reads[r]}”, writes “${writes[r]}”`,
      `key ${c}: “${c === 1 ? "\u2068عالم\u2069" : keys[c]}”`,
      `${mask[r][c] ? "" : "masked (-1e9), "}weight ${SHARES[r][c]}`,
    ])
})

test("a signed value keeps its sign, a norm may be above 1, and neither has a scale that it cannot have", () => {
  const map = matrix([[-0.25, 0.5]], { signed: true, scale: "diverging", quantity: "difference" })
  assert.deepEqual(
    said(map).map((lines) => lines[2]),
    ["difference -0.2500", "difference 0.5000"],
  )
  assert.equal(map.scales.box.hidden, true) // it has one scale
  give(map, mapOf([[2.5, 0.5]], { bounded: false, quantity: "norm" }))
  assert.deepEqual(
    said(map).map((lines) => lines[2]),
    ["norm 2.5000", "norm 0.5000"],
  )
  assert.equal(map.scales.box.hidden, false)
  assert.deepEqual(
    map.scales.buttons.filter(({ hidden }) => !hidden).map(({ textContent }) => textContent),
    ["row", "map"],
  )
})

test("a rounded value says that it is about so much", () => {
  const map = matrix([Array(600).fill(1 / 600)], { encoding: "sqrt-uint16" })
  press(map, "ArrowRight")
  assert.deepEqual(tooltipOf(map), ["query 0: “q0”", "key 0: “k0”", "weight ≈ 0.0017"])
  press(map, "End")
  assert.equal(tooltipOf(map)[1], "key 599: “k599”")
})

test("a token that the model does not know is said with what was typed", () => {
  const map = matrix([[0.5, 0.5]], { columns: { tokens: [{ text: "<unk>", note: "é" }, { text: "a" }] } })
  assert.deepEqual(
    said(map).map((lines) => lines[1]),
    ["key 0: “<unk>”, typed “é”", "key 1: “a”"],
  )
})

test("its label says what it is a map of, and names its keys", () => {
  const { label } = mapOf(VALUES).header
  const heard = matrix().stage.getAttribute("aria-label")
  assert.ok(heard.startsWith(`${label}.`))
  assert.match(heard, /Arrow keys choose a cell/)
})

const HIDDEN = [0.9, 0.95, 0.00001]

test("a row that has hidden keys says how much of it is hidden, a difference that it is of A or of B", () => {
  const map = matrix(
    [
      [1, 1],
      [1, 1],
      [1, 1],
    ],
    { hidden: HIDDEN },
  )
  const shares = ["0.9000", "0.9500", "<0.0001"]
  for (const [r, c] of cellsOf(map))
    assert.deepEqual(hovered(map, { r, c }).slice(3), [`${shares[r]} of this row's weight is hidden`])
  give(map, mapOf([[1, 1]]))
  assert.deepEqual(
    said(map).map((lines) => lines.length),
    [3, 3],
  )
  const difference = matrix([[0.5, -0.5]], { signed: true, scale: "diverging", hidden: [0.25] })
  for (const lines of said(difference)) assert.equal(lines[3], "0.2500 of this row's weight is hidden in A or in B")
})

// ---- choosing

test("a click chooses the cell", () => {
  const map = matrix()
  click(map, [1, 2])
  assert.deepEqual(map.picked, [{ t: 1, i: 2 }])
  assert.deepEqual(selection.chosen, { t: 1, i: 2 })
  point(map, "onpointerdown", placeOf(map, { r: 0, c: 0 }), { button: 2 })
  point(map, "onpointerup", placeOf(map, { r: 0, c: 0 }))
  assert.equal(map.picked.length, 1) // the other button opens the browser's menu
})

test("arrow keys alone reach each cell and stop at the edges, and are said", () => {
  const map = matrix(VALUES, {}, { chosen: { t: 1, i: 1 } })
  for (const [key, [r, c]] of [
    ["ArrowRight", [1, 2]],
    ["ArrowDown", [2, 2]],
    ["ArrowDown", [2, 2]],
    ["Home", [2, 0]],
    ["ArrowLeft", [2, 0]],
    ["ArrowUp", [1, 0]],
    ["End", [1, 3]],
    ["Shift+ArrowLeft", [1, 0]],
  ]) {
    press(map, key)
    assert.deepEqual(tooltipOf(map), [`query ${r}: “q${r}”`, `key ${c}: “k${c}”`, `weight ${SHARES[r][c]}`], key)
    assert.deepEqual(selection.chosen, { t: r, i: c })
    assert.equal(map.announced, tooltipOf(map).join(", "))
  }
})

test("a place stands for the position at which it begins", () => {
  const columns = { tokens: texts("ab", "cd", "e"), starts: [1, 3, 5], ends: [3, 5, 6] }
  const map = matrix([[0.5, 0.25, 0.25]], { columns }, { chosen: { t: 0, i: 4 } }) // within the second word
  press(map, "ArrowRight")
  assert.deepEqual(map.picked, [{ t: 0, i: 5 }])
  click(map, [0, 1])
  assert.deepEqual(map.picked[1], { t: 0, i: 3 })
  assert.deepEqual(
    said(map).map((lines) => lines[1]),
    ["key 1: “ab”", "key 3: “cd”", "key 5: “e”"],
  )
})

test("a position that is hidden marks no column", () => {
  const map = matrix([[0.5, 0.5]], { columns: { tokens: texts("a", "b"), starts: [1, 2], ends: [2, 3] } })
  const marks = [0, 2, 3].map((i) => {
    choose(map, { t: 0, i }) // the start token, b, the end token
    return marksOn(map)
  })
  assert.deepEqual([marks[0].length, marks[1].length], [2, 4]) // a ring of two lines around the row, and one around its cell
  assert.deepEqual(marks[0], marks[2])
})

test("a scale that is chosen is told, once", () => {
  const map = matrix()
  for (const each of map.scales.buttons) each.onclick()
  assert.deepEqual(map.picked, [{ scale: "fixed" }, { scale: "row" }, { scale: "map" }])
  map.draw()
  assert.deepEqual(
    map.scales.buttons.map((each) => each.getAttribute("aria-pressed")),
    ["false", "false", "true"],
  )
})

// ---- zooming

const areaOf = ({ seen: { r0, r1, c0, c1 } }) => [r0, r1, c0, c1]
const drag = (map, from, ...to) => {
  point(map, "onpointerdown", placeOf(map, from))
  for (const cell of to) point(map, "onpointermove", placeOf(map, cell))
}

test("dragging zooms to the cells and chooses nothing, and a double click shows all", () => {
  const map = matrix()
  const to = placeOf(map, { r: 1, c: 2 })
  drag(map, { r: 0, c: 1 }, { r: 1, c: 1 }, { r: 1, c: 2 })
  point(map, "onpointerup", to)
  assert.deepEqual(areaOf(map), [0, 2, 1, 3])
  assert.deepEqual(hovered(map, { r: 1, c: 2 }).slice(0, 2), ["query 1: “q1”", "key 2: “k2”"])
  assert.deepEqual(map.picked, [])
  map.stage.ondblclick()
  assert.deepEqual(areaOf(map), [0, 3, 0, 4])
})

test("the frame of a drag follows the pointer, and there is none when it is given up", () => {
  const map = matrix(softmax(6))
  const frames = [2, 3, 4].map((n) => {
    drag(map, { r: 1, c: 1 }, { r: n, c: n })
    return marksOn(map).at(-1)
  })
  const { cell, rowHeight } = map.place
  const sizes = [1, 2, 3].map((n) => [n * cell, n * rowHeight])
  assert.deepEqual(
    frames.map(({ w, h }) => [w, h].map(Math.round)),
    sizes.map((each) => each.map(Math.round)),
  )
  map.stage.onpointercancel()
  assert.deepEqual(marksOn(map), [])
})

test("plus zooms to the chosen cell and Escape shows all", () => {
  const map = matrix(softmax(8), {}, { chosen: { t: 6, i: 1 } })
  press(map, "+", "+")
  assert.deepEqual(areaOf(map), [5, 8, 0, 3])
  press(map, "-")
  assert.deepEqual(areaOf(map), [3, 8, 0, 5])
  press(map, "Escape")
  assert.deepEqual(areaOf(map), [0, 8, 0, 8])
})

// ---- a long map, which is scrolled

const LONG = softmax(64)
const scroll = (map, { top = map.scroller.scrollTop, left = map.scroller.scrollLeft }) => {
  Object.assign(map.scroller, { scrollTop: top, scrollLeft: left })
  map.scroller.onscroll()
}
/** The labels of the rows that are drawn. */
const rowsDrawn = (map) =>
  textsOn(map.base.getContext()).flatMap(({ text }) => (/^q\d+$/.test(text) ? [Number(text.slice(1))] : []))

test("a long map has rows of 18 pixels, is scrolled to the rest, and its labels come along", () => {
  const map = matrix(LONG, { height: 480 })
  const [top, bottom, left, right] = areaOf(map)
  assert.deepEqual([map.place.rowHeight, top, left, bottom, right], [18, 0, 0, 17, 34]) // 480 and 720 pixels less what is around
  assert.deepEqual([rowsDrawn(map)[0], rowsDrawn(map).at(-1)], [0, 16])
  scroll(map, { top: 10 * 18 })
  assert.deepEqual(areaOf(map), [10, bottom + 10, left, right])
  assert.deepEqual([rowsDrawn(map)[0], rowsDrawn(map).at(-1)], [10, 26])
  scroll(map, { top: (64 - bottom) * 18, left: (64 - right) * 18 })
  assert.deepEqual(areaOf(map), [64 - bottom, 64, 64 - right, 64])
})

test("what is chosen in a long map comes into view and what is scrolled away stays away", () => {
  const map = matrix(LONG)
  const [, down, , along] = areaOf(map)
  choose(map, { t: 40, i: 50 })
  assert.deepEqual(areaOf(map), [41 - down, 41, 51 - along, 51])
  assert.deepEqual([map.scroller.scrollTop, map.scroller.scrollLeft], [18 * (41 - down), 18 * (51 - along)])
  scroll(map, { top: 0 })
  assert.deepEqual(areaOf(map).slice(0, 2), [0, down])
  press(map, "ArrowDown", "ArrowRight")
  assert.deepEqual(tooltipOf(map).slice(0, 2), ["query 41: “q41”", "key 51: “k51”"])
  assert.deepEqual(areaOf(map), [42 - down, 42, 52 - along, 52])
  click(map, [30, 45])
  assert.deepEqual(map.picked.at(-1), { t: 30, i: 45 })
})

test("a long map can be made to fit, a short one fits", () => {
  const map = matrix(LONG)
  assert.deepEqual([map.fit.hidden, map.scroller.hidden], [false, false])
  map.fit.onclick()
  assert.deepEqual(
    [areaOf(map), map.scroller.hidden, map.fit.getAttribute("aria-pressed")],
    [[0, 64, 0, 64], true, "true"],
  )
  map.fit.onclick()
  assert.deepEqual(areaOf(map).slice(0, 2), [0, 17])
  assert.equal(matrix().fit.hidden, true)
})

// ---- the step that is shown

const NOT_YET = "not written yet at this step"
const growing = (side, chosen, more = {}) =>
  matrix(softmax(side), { writes: texts(...names("w", side)), grows: true, ...more }, { chosen })

test("a cell that is not written yet says so and nothing of its weight", () => {
  const map = growing(4, { t: 1, i: 0 })
  for (const [r, c] of cellsOf(map))
    assert.deepEqual(hovered(map, { r, c }).slice(2), [
      r > 1 ? NOT_YET : `weight ${(((r * 4 + c) % 7) / 21).toFixed(4)}`,
    ])
  assert.match(map.stage.getAttribute("aria-label"), /not written yet at that step/)
})

test("what is said of a cell follows the step", () => {
  const map = growing(4, { t: 1, i: 0 })
  hovered(map, { r: 2, c: 1 })
  const heard = [1, 2, 0].map((t) => {
    choose(map, { t, i: 0 })
    return tooltipOf(map)[2]
  })
  assert.deepEqual(heard, [NOT_YET, "weight 0.0952", NOT_YET]) // 9 % 7 / 21
  assert.deepEqual(map.picked, []) // Python was not asked
})

test("a row that is not written yet can be chosen and then is", () => {
  const map = growing(4, { t: 0, i: 1 })
  press(map, "ArrowDown")
  assert.equal(tooltipOf(map)[2], "weight 0.2381") // 5 / 21
  click(map, [3, 2])
  map.draw()
  assert.deepEqual(map.picked.at(-1), { t: 3, i: 2 })
  assert.equal(tooltipOf(map)[2], "weight 0.0000") // 14 % 7 / 21
  assert.equal(map.announced, tooltipOf(map).join(", "))
})

// ---- following the row

const FOLLOWED = ["i", "j", "u"]
const LOOKS = [
  [0.1, 0.7, 0.2],
  [0.6, 0.1, 0.3],
  [0.2, 0.2, 0.6],
]

test("a key that nobody chose is the heaviest open one of the row and Python is not told", () => {
  const mask = [
    [1, 1, 1],
    [0, 1, 1],
    [1, 1, 1],
  ]
  const map = matrix(LOOKS, { mask, follows: true })
  for (const [t, key] of [
    [0, 1],
    [1, 2],
    [2, 2],
  ]) {
    choose(map, { t, i: 0, followed: FOLLOWED })
    assert.equal(selection.chosen.i, key)
  }
  assert.deepEqual(map.picked, [])
})

test("a key that was chosen stays and one that is clicked is chosen", () => {
  const map = matrix(LOOKS, { follows: true }, { chosen: { t: 0, i: 2, followed: ["j", "u"] } })
  assert.equal(selection.chosen.i, 2)
  choose(map, { t: 0, i: 0, followed: FOLLOWED })
  click(map, [1, 2])
  assert.deepEqual(map.picked, [{ t: 1, i: 2 }])
  map.draw()
  assert.deepEqual(selection.chosen, { t: 1, i: 2, followed: ["j", "u"] })
})

test("only the page's own map is followed and says what its row looks at, while it is there", () => {
  matrix(LOOKS, {}, { chosen: { t: 0, i: 0, followed: FOLLOWED } })
  assert.deepEqual([selection.chosen.i, selection.look], [0, null])
  const map = matrix(LOOKS, { follows: true }, { chosen: { t: 1, i: 0, followed: FOLLOWED } })
  const weights = Object.fromEntries(LOOKS[1].map((weight, k) => [k, Math.fround(weight)]))
  assert.deepEqual(selection.look, { ink: "source-ink", kind: "cross", weights })
  map.remove()
  assert.equal(selection.look, null)
})

// ---- other pictures and pages

test("what is pointed at in one picture is marked in the other, where it has that", () => {
  const map = matrix(LOOKS)
  assert.deepEqual(marksOn(map), [])
  selection.points({}, { t: 1, i: 2 })
  const marks = marksOn(map)
  assert.equal(marks.length, 2) // around its row and its column
  selection.points({}, { t: 9, i: 2 })
  assert.deepEqual(marksOn(map), []) // not in this map
  hovered(map, { r: 1, c: 2 })
  assert.deepEqual(marksOn(map), marks)
})

/** A page with this link to why the chosen cell has its number; what was opened. */
function linked(href) {
  const opened = []
  const link = { href: `http://viz${href}`, click: () => opened.push(link.href.slice(10)) }
  document.querySelector = () => link
  selection.lead = (_, onwards) => onwards()
  return { link, opened }
}

test("Enter and a double click follow the link to why", () => {
  const map = matrix(LOOKS, {}, { chosen: { t: 1, i: 0 } })
  const { opened } = linked("/weight")
  press(map, "Enter")
  assert.equal(opened.length, 1)
  click(map, [2, 1])
  map.stage.ondblclick()
  assert.equal(opened.length, 2)
  assert.deepEqual(map.picked.at(-1), { t: 2, i: 1 })
})

test("a link that says the cell is followed once it says the chosen one", async () => {
  const map = matrix(LOOKS, { why: ["i", "j"] }, { chosen: { t: 1, i: 0 } })
  const { link, opened } = linked("/weight?kind=encoder&i=0&j=0")
  const now = globalThis.requestAnimationFrame
  globalThis.requestAnimationFrame = (work) => setTimeout(work, 1)
  click(map, [2, 1])
  map.stage.ondblclick()
  await rest(10)
  assert.deepEqual(opened, [])
  link.href = "http://viz/weight?kind=encoder&i=2&j=1"
  await rest(10)
  globalThis.requestAnimationFrame = now
  assert.deepEqual(opened, ["/weight?kind=encoder&i=2&j=1"])
})

test("a cell that nothing explains leads nowhere and does not say so", () => {
  const map = matrix(LOOKS, { why: [] }, { chosen: { t: 1, i: 0 } })
  const { opened } = linked("/weight")
  press(map, "Enter")
  click(map, [2, 1])
  map.stage.ondblclick()
  assert.deepEqual(opened, [])
  assert.doesNotMatch(map.stage.getAttribute("aria-label"), /Enter/)
})
