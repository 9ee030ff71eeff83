// What is painted of a map: the colours of its cells, its marks and names, on the page and where it is saved.
import assert from "node:assert/strict"
import { test } from "node:test"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { names, texts } from "./axis_fixture.js"
import { cellsOf, coloursOf, emptyCells, mapOf } from "./matrix_fixture.js"
import { choose, give, hovered, inkOf, press, saved, shown, tooltipOf } from "./page_fixture.js"
import { boxesOn, framesOn, textsOn } from "./recording_context.js"

const { matrixPicture } = await import("../../viz_transformer/figures/components/matrix.js")

const matrix = (values, changes = {}, how = {}) => shown(matrixPicture, mapOf(values, changes), how)
const inksOf = (map) => cellsOf(map).map(([r, c]) => String(coloursOf(map, { r, c })))
const [FIRST, LAST] = [inkOf("cross-0"), inkOf("cross-6")]
const fullCells = (map) => inksOf(map).flatMap((ink, n) => (ink === LAST ? [cellsOf(map)[n].join(" ")] : []))
const channels = (ink) => ink.match(/\d+/g).map(Number)
const halfway = (one, other) => channels(one).map((channel, n) => (channel + channels(other)[n]) / 2)
/** Whether each channel of two colours is the same but for the rounding of one. */
const isAbout = (ink, wanted) => channels(ink).every((channel, n) => Math.abs(channel - wanted[n]) <= 1)
/** A colour of seven, `share` of the way from the first to the last. */
const between = (share, name) => {
  const at = Math.min(Math.floor(share * 6), 5)
  const [low, high] = [at, at + 1].map((n) => channels(inkOf(`${name}-${n}`)))
  return low.map((channel, n) => channel + (high[n] - channel) * (share * 6 - at))
}

// ---- values

test("0 and 1 have the first and the last colour of the scale", () => {
  for (const scale of ["encoder", "decoder", "cross", "derived"])
    assert.deepEqual(inksOf(matrix([[0, 1]], { scale })), [inkOf(`${scale}-0`), inkOf(`${scale}-6`)])
})

test("two differences share a scale if both are told where it ends, and 0 is in its middle", () => {
  const signed = { signed: true, scale: "diverging" }
  const ends = ([low, , high]) => [low === inkOf("diverging-0"), high === inkOf("diverging-6")]
  assert.deepEqual(ends(inksOf(matrix([[-1, 0, 2]], signed))), [false, true])
  assert.deepEqual(ends(inksOf(matrix([[-1, 0, 2]], { ...signed, most: 4 }))), [false, false])
  assert.deepEqual(ends(inksOf(matrix([[-4, 0, 2]], { ...signed, most: 4 }))), [true, false])
  const inks = inksOf(matrix([[-0.5, 0, 0.5]], signed))
  assert.deepEqual(ends(inks), [true, true])
  assert.ok(isAbout(inks[1], channels(inkOf("diverging-3")))) // of 1,024 colours none is exactly in the middle
})

test("full colour is 1, or the largest of the row or of the map", () => {
  const map = matrix([
    [0.125, 0.0625],
    [0.25, 0.5],
  ])
  const full = [null, 1, 2, 0].map((n) => {
    if (n !== null) map.scales.buttons[n].onclick()
    map.draw()
    return fullCells(map)
  })
  assert.deepEqual(full, [[], ["0 0", "1 1"], ["1 1"], []])
  assert.equal(selection.chosen.scale, "fixed")
})

test("masked is hatched, and masked with weight is hatched over its colour", () => {
  const map = matrix([[0, 0, 1]], { mask: [[1, 0, 0]] })
  const inks = [0, 1, 2].map((c) => coloursOf(map, { r: 0, c }, 12).sort())
  assert.deepEqual(inks, [[FIRST], [inkOf("line"), inkOf("surface")].sort(), [LAST, inkOf("line")].sort()])
})

test("a cell that no step had is empty paper and says so while a masked one keeps its weight", () => {
  const [mask, there] = [
    [
      [1, 0],
      [1, 0],
      [0, 0],
    ],
    [
      [1, 0],
      [1, 1],
      [0, 0],
    ],
  ]
  const map = matrix(
    [
      [0.5, Number.NaN],
      [0.25, 0.75],
      [Number.NaN, Number.NaN],
    ],
    { mask, there },
  )
  const none = "not there: no step had this number"
  const said = cellsOf(map).map(([r, c]) => hovered(map, { r, c })[2])
  assert.deepEqual(said, ["weight 0.5000", none, "weight 0.2500", "masked, weight 0.7500", none, none])
  assert.deepEqual(emptyCells(map), ["0 1", "2 0", "2 1"])
})

/** The colours of a row of pixels, or with `down` of a column. */
const lineOf = ({ pixels }, at, down = false) =>
  Array.from({ length: down ? pixels.height : pixels.width }, (_, n) => {
    const first = 4 * (down ? n * pixels.width + at : at * pixels.width + n)
    return `rgb(${Array.from(pixels.data.slice(first, first + 3)).join(", ")})`
  })

test("no thin stripe is lost where cells are smaller than pixels", () => {
  const row = Array.from({ length: 2048 }, (_, c) => Number(c % 34 === 17)) // 60 columns, each a third of a pixel wide
  const map = matrix(Array(8).fill(row))
  map.fit.onclick()
  const line = lineOf(map, map.pixels.height - 2)
  assert.equal(line.filter((ink, n) => ink === LAST && line[n - 1] !== LAST).length, 60)
  assert.deepEqual(new Set(line), new Set([FIRST, LAST]))
})

// ---- the step that is shown

const WEIGHTS = [
  [0.2, 0.3, 0.5],
  [0.1, 0.2, 0.7],
  [0.6, 0.3, 0.1],
  [0.25, 0.25, 0.5],
]
const behind = (t) => [0, 1, 2, 3].flatMap((r) => (r > t ? [0, 1, 2].map((c) => `${r} ${c}`) : []))

test("rows behind the step are empty paper and come with it", () => {
  const map = matrix(WEIGHTS, { grows: true, writes: texts(...names("w", 4)) })
  assert.deepEqual(emptyCells(map), []) // nothing is chosen yet
  for (const t of [1, 0, 3, 2]) {
    choose(map, { t, i: 0 })
    assert.deepEqual(emptyCells(map), behind(t), `step ${t}`)
  }
  assert.deepEqual(map.picked, [])
})

test("a zoomed map grows too", () => {
  const eight = Array(8).fill(Array(8).fill(0.5))
  const map = matrix(eight, { grows: true }, { chosen: { t: 4, i: 4 } })
  press(map, "+")
  assert.deepEqual([map.seen.r0, map.seen.r1], [2, 7])
  assert.deepEqual(new Set(emptyCells(map).map((cell) => cell[0])), new Set(["5", "6"]))
})

test("where rows are smaller than pixels only written ones are seen", () => {
  const map = matrix(
    Array.from({ length: 2048 }, (_, r) => [Number(r >= 1000), 0]),
    { grows: true },
  )
  choose(map, { t: 1023, i: 0 })
  map.fit.onclick()
  const column = lineOf(map, 10, true)
  const part = (from, to) => column.slice(from * column.length, to * column.length)
  assert.deepEqual(new Set(part(0, 0.48)), new Set([FIRST]))
  assert.ok(part(0.48, 0.51).includes(LAST) && !part(0.51, 1).includes(LAST))
  assert.ok(column.filter((ink) => ink === inkOf("page")).length > 0.48 * column.length)
})

const READS = texts("<s>", "one", "two")
const WRITES = texts("one", "two", ".")
const SAME = { rows: { tokens: READS }, columns: { field: "u", ink: "target-ink", tokens: READS }, scale: "decoder" }
const THREE = WEIGHTS.slice(0, 3)
const boxesIn = (context) => boxesOn(context).filter(({ w, h }) => w > 20 && h > 20)

test("what is not written yet is faint beside its row, in the saved picture too, whose cells have their colours", () => {
  const map = matrix(THREE, { ...SAME, writes: WRITES, grows: true }, { chosen: { t: 1, u: 0 } })
  const written = saved(map)
  for (const context of [map.base.getContext(), written]) {
    const faint = textsOn(context).filter(({ opacity }) => opacity < 1)
    assert.deepEqual(faint.map(({ text }) => text).sort(), [".", "two", "two"]) // two labels of the third row, and a key
    assert.ok(textsOn(context).some(({ text }) => text.includes("empty rows: not written yet")))
  }
  const cells = boxesIn(written)
  assert.equal(cells.length, 6) // of the third row there are none
  cells.forEach(({ ink }, n) => assert.ok(isAbout(ink, between(THREE.flat()[n], "decoder")), `cell ${n}: ${ink}`))
})

test("while the steps are played what is not written yet has no name and nothing moves", () => {
  for (const writes of [WRITES, null]) {
    const map = matrix(THREE, { ...SAME, writes }, { chosen: { t: 1, u: 0 } })
    const before = { ...map.place }
    const written = () => textsOn(saved(map)).filter(({ font }) => font.includes("Mono"))
    choose(map, selection.chosen, true)
    assert.deepEqual(map.place, before)
    assert.deepEqual(emptyCells(map), writes ? ["0 2", "1 2", "2 0", "2 1", "2 2"] : [])
    assert.equal(hovered(map, { r: 2, c: 1 }).join() === "query 2,not written yet at this step", writes !== null)
    // what two rows read and write, and two keys
    const seen = writes ? ["<s>", "one", "one", "two", "<s>", "one"] : [...READS, ...READS].map(({ text }) => text)
    assert.deepEqual(
      written()
        .map(({ text }) => text)
        .sort(),
      [...seen, "0", "1"].sort(),
    )
    choose(map, selection.chosen, false)
    assert.deepEqual(emptyCells(map), [])
  }
})

// ---- rows of which most is hidden

const ONES = [
  [1, 1],
  [1, 1],
  [1, 1],
]
const HIDDEN = [0.9, 0.95, 0.00001]
const FAINT = "faint: more than 0.9 of the row is hidden"

test("a row of which more than 0.9 is hidden is faint, in the saved picture too, and the legend says why", () => {
  const map = matrix(ONES, { hidden: HIDDEN })
  for (const [r, c] of cellsOf(map)) {
    const [ink] = coloursOf(map, { r, c })
    assert.ok(isAbout(ink, r === 1 ? halfway(LAST, inkOf("page")) : channels(LAST)), `row ${r}`)
  }
  const context = saved(map)
  assert.ok(textsOn(context).some(({ text }) => text === FAINT))
  assert.deepEqual(
    textsOn(context).flatMap(({ text, opacity }) => (opacity === 0.5 ? [text] : [])),
    ["q1"],
  )
  assert.equal(boxesOn(context).filter(({ opacity }) => opacity === 0.5).length, 2) // the row's cells
})

test("without faint rows the legend does not speak of them", () => {
  const map = matrix(ONES, { hidden: HIDDEN.map((share) => share * 0.9) })
  assert.ok(!textsOn(saved(map)).some(({ text }) => text.includes("faint")))
})

// ---- what is saved

test("the saved picture has what is chosen, and no mark of what is pointed at", () => {
  const map = matrix(WEIGHTS, {}, { chosen: { t: 1, i: 2 } })
  hovered(map, { r: 3, c: 0 })
  const rings = framesOn(saved(map)).filter(({ ink }) => ink === inkOf("text"))
  const { left, top, cell, rowHeight, w } = map.place
  assert.deepEqual(
    rings.map(({ x, y, w, h }) => [x, y, w, h]),
    [
      [left - 1, top + rowHeight - 1, w + 2, rowHeight + 2],
      [left + 2 * cell - 1, top + rowHeight - 1, cell + 2, rowHeight + 2],
    ],
  )
})

test("the saved picture of a long map has all of it, and nothing is scrolled for that", () => {
  const side = 64
  const map = matrix(Array.from({ length: side }, () => Array(side).fill(1 / side)))
  const before = { ...map.seen }
  const drawn = textsOn(saved(map)).map(({ text }) => text)
  for (const letter of ["q", "k"])
    for (const text of names(letter, side)) assert.equal(drawn.filter((name) => name === text).length, 1, text)
  const { width, height } = matrixPicture.savedSize(map)
  assert.ok(Math.min(width, height) > side * 18)
  assert.deepEqual(map.seen, before)
})

// ---- sides that are no tokens

const positions = (rows, columns, more = {}) =>
  mapOf(
    Array.from({ length: rows }, (_, r) => Array.from({ length: columns }, (_, c) => Math.sin(r * columns + c))),
    {
      rows: {
        field: "i",
        role: "position",
        tokens: [],
        numbered: true,
        count: rows,
        reach: 3,
        spans: [
          { start: 0, end: 3, look: "bar", text: "rows of this run", ink: "muted" },
          { start: 4, end: rows, look: "hatched", text: "never trained", ink: "muted" },
        ],
      },
      columns: {
        field: "",
        role: "dimension",
        tokens: [],
        numbered: true,
        count: columns,
        spans: [{ start: 1, end: 2, look: "mark", text: "", ink: "heads-0" }],
      },
      scale: "diverging",
      signed: true,
      unit: "value",
      quantity: "value",
      bounded: false,
      digits: 9,
      why: [],
      ...more,
    },
  )

test("keys walk through columns that the selection has no word for", () => {
  const map = shown(matrixPicture, positions(6, 8), { chosen: { i: 1 } })
  press(map, "ArrowRight", "ArrowRight", "ArrowRight")
  assert.deepEqual(tooltipOf(map).slice(0, 2), ["position 1", "dimension 2"])
  assert.equal(Math.fround(Number(tooltipOf(map)[2].replace("value ", ""))), Math.fround(Math.sin(8 + 2)))
  assert.deepEqual(map.picked, [])
  press(map, "ArrowDown")
  assert.deepEqual(map.picked, [{ i: 2 }])
  press(map, "ArrowDown", "ArrowDown") // behind the run, which has three rows
  assert.deepEqual([tooltipOf(map)[0], tooltipOf(map).at(-1)], ["position 4", "never trained"])
  assert.deepEqual(map.picked, [{ i: 2 }])
})

test("all columns are seen at once and have round numbers", () => {
  for (const columns of [12, 4000]) {
    const map = shown(matrixPicture, positions(6, columns), { chosen: { i: 0 } })
    const drawn = textsOn(map.base.getContext()).map(({ text }) => text)
    assert.equal(map.scroller.hidden, true)
    const across = drawn.filter((text) => /^\d+$/.test(text) && Number(text) > 5)
    assert.ok(across.length > 0 && across.every((text) => Number(text) % (columns === 12 ? 1 : 100) === 0))
    const said = drawn.join(" ")
    assert.ok(said.includes("▌rows of this run") && said.includes("never trained (hatched)"), said)
    assert.equal(said.includes("max-pooled"), columns === 4000)
  }
})

test("False and True are two tones and are called so", () => {
  const tones = ["False", "True: may attend"]
  const payload = positions(3, 3, { names: tones, signed: false, scale: "encoder" })
  payload.arrays.values.values = Float32Array.from([1, 0, 0, 0, 1, 0, 0, 0, 1])
  const map = shown(matrixPicture, payload, { chosen: { i: 0 } })
  const drawn = textsOn(map.base.getContext()).map(({ text }) => text)
  assert.deepEqual(
    tones.filter((name) => !drawn.includes(name)),
    [],
  )
  press(map, "ArrowRight", "ArrowRight")
  assert.deepEqual(tooltipOf(map), ["position 0", "dimension 1", "False"])
  press(map, "ArrowLeft")
  assert.deepEqual(tooltipOf(map), ["position 0", "dimension 0", "True: may attend"])
})

test("other data are drawn in its place", () => {
  const map = matrix([[0, 1]])
  give(map, mapOf([[1], [0]]))
  assert.deepEqual(inksOf(map), [LAST, FIRST])
})
