// What lines show of maps, what is said of them, and what they do at a gesture.
import assert from "node:assert/strict"
import { test } from "node:test"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { axis, names, numbers, texts } from "./axis_fixture.js"
import { choose, give, inkOf, point, press, saved, shown, tooltipOf } from "./page_fixture.js"
import { boxesOn, linesOn, textsOn } from "./recording_context.js"

const { linesPicture } = await import("../../viz_transformer/figures/components/lines.js")

/** Maps as Python sends them: [N, Q, K], none of which is drawn where there are `none`. */
function linesOf(maps, { mask, there, queries, keys, none = false, ...header } = {}) {
  const [N, Q, K] = [maps.length, maps[0].length, maps[0][0].length]
  const bits = (grid) => numbers(grid.flat().map(Number), [Q, K])
  const given = {
    title: "a title",
    caption: "a caption",
    name: "picture",
    label: "Lines",
    unit: "attention weight",
    queries: axis("t", "query", queries ?? names("q", Q), "target-ink"),
    keys: axis("i", "key", keys ?? names("k", K), "source-ink"),
    writes: null,
    heads: Array.from(maps, (_, n) => `head ${n}`),
    colours: N > 1 ? Array.from(maps, (_, n) => `heads-${n}`) : ["cross-5"],
    fill: "",
    most_tokens: 256,
    most_lines: 20_000,
    height: 560,
    ...header,
  }
  const arrays = { weights: numbers(maps.flat(2), [N, Q, K]), ...(mask && { mask: bits(mask) }) }
  if (there) arrays.there = bits(there)
  return { header: given, arrays: none ? {} : arrays }
}
const lines = (maps, changes = {}, how = {}) => shown(linesPicture, linesOf(maps, changes), { width: 600, ...how })
const unseen = ({ said }) => said.textContent

/** Moves the slider, as a hand does, to where it says this threshold. */
function setThreshold(plot, threshold) {
  const { slider } = plot
  for (let place = 0; place <= Number(slider.max); place++) {
    slider.value = String(place)
    slider.oninput()
    if (plot.threshold === threshold) break
  }
  assert.ok(unseen(plot).startsWith(`threshold ${threshold}:`))
  assert.equal(slider.getAttribute("aria-valuetext"), unseen(plot))
}

/** Rows that sum to 1, of numbers that are drawn by a rule. */
function someWeights(N, Q, K, seed = 1) {
  let state = seed
  const draw = () => Math.exp(12 * ((state = (state * 48271) % 2147483647) / 2147483647 - 0.5))
  return Array.from({ length: N }, () =>
    Array.from({ length: Q }, () => {
      const scores = Array.from({ length: K }, draw)
      const sum = scores.reduce((a, b) => a + b)
      return scores.map((score) => Math.fround(score / sum))
    }),
  )
}
const counted = (count) => count.toLocaleString("en-US")
/** What has to be said of maps without masks, counted one by one. */
function hiddenSentence(maps, threshold) {
  const all = maps.flat(2)
  const hidden = all.filter((weight) => !(weight >= Math.fround(threshold) && weight > 0))
  const sum = (weights) => weights.reduce((a, b) => a + b, 0)
  const share = ((100 * sum(hidden)) / sum(all)).toFixed(1)
  return `threshold ${threshold}: ${counted(hidden.length)} of ${counted(all.length)} lines hidden, ${share} % of the weight`
}

// ---- the threshold

test("the hidden share is that of the lines under the threshold", () => {
  const maps = someWeights(3, 16, 16)
  const plot = lines(maps)
  assert.equal(unseen(plot), hiddenSentence(maps, 0.05))
  for (const threshold of [0.1, 0.25, 0.5, 0.45]) {
    setThreshold(plot, threshold)
    assert.equal(unseen(plot), hiddenSentence(maps, threshold))
  }
  setThreshold(plot, 0)
  assert.equal(unseen(plot), "threshold 0: 0 of 768 lines hidden, 0 % of the weight")
  setThreshold(plot, 1)
  assert.equal(unseen(plot), "threshold 1: 768 of 768 lines hidden, 100 % of the weight")
})

test("a weight that is the threshold is shown", () => {
  const plot = lines([
    [
      [0.7, 0.3],
      [0.3, 0.7],
    ],
  ])
  setThreshold(plot, 0.7)
  assert.equal(unseen(plot), "threshold 0.7: 2 of 4 lines hidden, 30.0 % of the weight")
  assert.equal(linesOn(plot.base.getContext()).length, 2)
  setThreshold(plot, 0.8)
  assert.equal(unseen(plot), "threshold 0.8: 4 of 4 lines hidden, 100 % of the weight")
  assert.equal(linesOn(plot.base.getContext()).length, 0)
})

test("the threshold that was set stays for the next head", () => {
  const plot = lines(someWeights(1, 8, 8))
  setThreshold(plot, 0.2)
  const maps = someWeights(1, 8, 8, 2)
  give(plot, linesOf(maps))
  assert.equal(unseen(plot), hiddenSentence(maps, 0.2))
})

test("masked pairs get no line and their weight is named, and so it is with what is not a number", () => {
  const mask = [0, 1, 2, 3].map((q) => [0, 1, 2, 3].map((k) => k <= q))
  const plot = lines([Array(4).fill(Array(4).fill(0.25))], { mask, fill: "-1e9" })
  assert.equal(
    unseen(plot),
    "threshold 0.05: 0 of 10 lines hidden, 0 % of the weight; masked pairs, without a line, hold 37.5 %",
  )
  assert.equal(linesOn(plot.base.getContext()).length, 10)
  give(
    plot,
    linesOf([
      [
        [0.5, 0.5],
        [Number.NaN, Number.NaN],
      ],
    ]),
  )
  assert.equal(
    unseen(plot),
    "threshold 0.05: 0 of 2 lines hidden, 0 % of the weight; 2 weights are not a number and have no line",
  )
})

const leave = (plot) => plot.stage.onpointerleave()
/** Where a token stands, at the left or at the right, or the middle of a line that is level. */
const at = ({ place }, side, n) => ({
  x: { queries: 20, keys: 590, both: 300 }[side],
  y: place.top + (n + 0.5) * place.rows[side === "keys" ? "keys" : "queries"],
})
const move = (plot, side, n) => {
  point(plot, "onpointermove", at(plot, side, n))
  return tooltipOf(plot)
}
const isFaded = ({ base }) => base.classList.contains("faded")

test("pairs that no step had are neither counted nor called masked", () => {
  const there = [
    [1, 0, 0],
    [1, 1, 0],
    [0, 0, 0],
  ]
  const none = Number.NaN
  const plot = lines(
    [
      [
        [1, none, none],
        [0.25, 0.75, none],
        [none, none, none],
      ],
    ],
    { mask: there, there },
  )
  assert.equal(unseen(plot), "threshold 0.05: 0 of 3 lines hidden, 0 % of the weight")
  assert.deepEqual(move(plot, "queries", 2), ["query 2: “q2”", "not there: no step had this number"])
  choose(plot, { t: 0, i: 1 })
  assert.ok(move(plot, "queries", 0).includes("with the chosen key 1 “k1”: not there: no step had this number"))
})

test("too many lines are cut to the strongest and it is said, and at first they can be told apart", () => {
  const maps = someWeights(1, 200, 200)
  const plot = lines(maps)
  const left = Number(
    unseen(plot)
      .match(/: ([\d,]+) of/)[1]
      .replaceAll(",", ""),
  )
  assert.ok(40_000 - left > 0 && 40_000 - left <= 600)
  setThreshold(plot, 0)
  const strongest = maps.flat(2).sort((a, b) => b - a)
  const sum = (weights) => weights.reduce((a, b) => a + b, 0)
  const share = ((100 * sum(strongest.slice(20_000))) / sum(strongest)).toFixed(1)
  assert.equal(
    unseen(plot),
    `threshold 0: 20,000 of 40,000 lines hidden, ${share} % of the weight; only the strongest 20,000 are drawn`,
  )
  assert.equal(linesOn(plot.base.getContext()).length, 20_000)
})

test("even weights are never all hidden at first", () => {
  const plot = lines([Array(100).fill(Array(100).fill(0.01))])
  assert.equal(unseen(plot), "threshold 0.01: 0 of 10,000 lines hidden, 0 % of the weight")
})

test("above 256 tokens a sentence stands in place of the picture", () => {
  const many = linesOf([[[1]]], { none: true })
  Object.assign(many.header.queries, { count: 300 })
  Object.assign(many.header.keys, { count: 20 })
  const plot = shown(linesPicture, many)
  const [title, words] = plot.instead.children
  assert.equal(title.textContent, "a title")
  assert.equal(words, "Here are 300 queries and 20 keys: lines are drawn for up to 256 tokens, the matrix shows all.")
  assert.deepEqual([plot.stage.hidden, plot.foot.hidden, plot.instead.hidden], [true, true, false])
  give(plot, linesOf(someWeights(1, 3, 3)))
  assert.deepEqual([plot.stage.hidden, plot.foot.hidden, plot.instead.hidden], [false, false, true])
})

test("one token and one pair can be drawn", () => {
  const plot = lines([[[1]]], { queries: ["x"], keys: ["y"] })
  assert.equal(unseen(plot), "threshold 0.05: 0 of 1 lines hidden, 0 % of the weight")
  assert.equal(move(plot, "queries", 0)[0], "query 0: “x”")
})

// ---- lines

const LEVEL = [
  [0.9, 0.05, 0.05],
  [0.3, 0.3, 0.4],
  [0.02, 0.08, 0.9],
]
const EYE = [
  [1, 0, 0],
  [0, 1, 0],
  [0, 0, 1],
]
const lifted = (weight) => 0.06 + 0.94 * weight ** 0.7
const rounded = (numbers) => numbers.map((number) => Math.round(1e6 * number))

test("opacity is the weight lifted as the legend says, half of it in a row of which more than 0.9 is hidden", () => {
  const plot = lines([LEVEL], { mask: EYE, hidden: [[0.5, 0.1, 0.95]] }) // three level lines
  const drawn = linesOn(plot.base.getContext()).sort((a, b) => a.points[0][1] - b.points[0][1])
  assert.deepEqual(
    rounded(drawn.map(({ opacity }) => opacity)),
    rounded([lifted(Math.fround(0.9)), lifted(Math.fround(0.3)), 0.5 * lifted(Math.fround(0.9))]),
  )
  assert.deepEqual(new Set(drawn.map(({ ink }) => ink)), new Set([inkOf("cross-5")]))
  const { left, right } = plot.place
  assert.deepEqual(
    drawn.map(({ points }) => points),
    [0, 1, 2].map((n) => [
      [left, at(plot, "queries", n).y],
      [right, at(plot, "keys", n).y],
    ]),
  )
  assert.equal(move(plot, "queries", 2).at(-1), "0.9500 of this row's weight is hidden")
  const faint = ({ text }) => text === "faint: more than 0.9 of the row is hidden"
  assert.ok(textsOn(saved(plot)).some(faint))
  assert.ok(!textsOn(saved(lines([LEVEL], { mask: EYE }))).some(faint))
})

test("each head has its colour and its own place", () => {
  const drawn = linesOn(lines(Array(6).fill([[1]])).base.getContext())
  assert.deepEqual(drawn.map(({ ink }) => ink).sort(), names("heads-", 6).map(inkOf).sort())
  assert.equal(new Set(drawn.map(({ points }) => points[0][1])).size, 6)
})

test("over the picture are exactly the lines of the token", () => {
  const plot = lines([Array(3).fill([1 / 3, 1 / 3, 1 / 3])])
  move(plot, "queries", 1)
  const drawn = linesOn(plot.over.getContext())
  assert.deepEqual(
    drawn.map(({ points }) => points[1][1]).sort((a, b) => a - b),
    [0, 1, 2].map((n) => at(plot, "keys", n).y),
  )
  assert.ok(drawn.every(({ points, ink }) => points[0][1] === at(plot, "queries", 1).y && ink === inkOf("cross-5")))
  assert.ok(isFaded(plot))
  leave(plot)
  assert.ok(!isFaded(plot) && linesOn(plot.over.getContext()).length === 0)
})

test("what is chosen elsewhere is marked", () => {
  const plot = lines(someWeights(1, 3, 3))
  const bold = () =>
    textsOn(plot.over.getContext()).flatMap(({ text, font }) =>
      font.startsWith("600") && /^[qk]\d/.test(text) ? [text] : [],
    )
  const bars = () => boxesOn(plot.over.getContext()).filter(({ w }) => w === 2).length
  assert.deepEqual([bold(), bars()], [[], 0])
  choose(plot, { t: 2, i: 0 })
  assert.deepEqual([bold().sort(), bars()], [["k0", "q2"], 2])
  choose(plot, { t: 99, i: null })
  assert.deepEqual([bold(), bars()], [[], 0])
})

// ---- tokens and pairs

const MARKUP = "<b>bold</b> & <img src=x onerror=alert(1)>"
const [QUERIES, KEYS] = [
  ["one", MARKUP, "three"],
  ["vier", "عالم", "sechs", "sieben"],
]

test("a token that is pointed at keeps its lines and a line tells its pair, and a click chooses either", () => {
  const maps = [
    [
      [0.5, 0.25, 0.25, 0],
      [0, 0, 1, 0],
      [0.25, 0.25, 0.25, 0.25],
    ],
    [
      [1, 0, 0, 0],
      [0, 1, 0, 0],
      [0, 0, 0, 1],
    ],
  ]
  const mask = [
    [1, 1, 1, 1],
    [1, 1, 1, 0],
    [1, 1, 1, 1],
  ]
  const plot = lines(maps, { queries: QUERIES, keys: KEYS, writes: texts("a", "b", "c"), mask, fill: "-1e9" })
  assert.ok(!isFaded(plot))
  assert.deepEqual(move(plot, "queries", 1), [
    `query 1: reads “${MARKUP}”, writes “b”`,
    "head 0: reads most: key 2 “sechs”, weight 1.0000",
    "head 1: reads most: key 1 “\u2068عالم\u2069”, weight 1.0000",
    "4 of 6 lines hidden, 0 % of its weight",
  ])
  assert.ok(isFaded(plot))
  assert.deepEqual(move(plot, "keys", 3), [
    "key 3: “sieben”",
    "head 0: most read by: query 2 “three”, weight 0.2500",
    "head 1: most read by: query 2 “three”, weight 1.0000",
    "2 of 4 lines hidden, 0 % of their weight",
  ])
  assert.ok(isFaded(plot))
  assert.deepEqual(move(plot, "both", 0), [
    "query 0: reads “one”, writes “a”",
    "key 0: “vier”",
    "head 0: weight 0.5000",
    "head 1: weight 1.0000",
  ])
  assert.ok(!isFaded(plot))
  for (const [side, n] of [
    ["both", 0],
    ["queries", 2],
    ["keys", 1],
  ])
    point(plot, "onclick", at(plot, side, n))
  assert.deepEqual(plot.picked, [{ t: 0, i: 0 }, { t: 2 }, { i: 1 }])
})

test("keys alone suffice", () => {
  const maps = [
    [
      [0.5, 0.25, 0.25, 0],
      [0.25, 0.25, 0.25, 0.25],
      [0, 0, 1, 0],
    ],
  ]
  const plot = lines(maps, { queries: QUERIES, keys: KEYS }, { chosen: { t: 1, i: 2 } })
  plot.stage.matches = (selector) => selector === ":focus-visible"
  plot.stage.onfocus()
  assert.deepEqual(tooltipOf(plot), [
    `query 1: “${MARKUP}”`,
    "reads most: key 0 “vier”, weight 0.2500",
    "with the chosen key 2 “sechs”: weight 0.2500",
    "0 of 4 lines hidden, 0 % of its weight",
  ])
  assert.ok(isFaded(plot))
  press(plot, "ArrowUp", "ArrowUp")
  assert.equal(tooltipOf(plot)[0], "query 0: “one”")
  assert.deepEqual(plot.picked, [])
  press(plot, "Enter", "ArrowRight")
  assert.deepEqual(
    [tooltipOf(plot)[0], tooltipOf(plot)[2]],
    ["key 2: “sechs”", "with the chosen query 0 “one”: weight 0.2500"],
  )
  press(plot, "End", "Enter")
  assert.equal(tooltipOf(plot)[0], "key 3: “sieben”")
  press(plot, "ArrowLeft")
  assert.equal(tooltipOf(plot)[0], "query 0: “one”")
  assert.deepEqual(plot.picked, [{ t: 0 }, { i: 3 }])
  assert.ok(plot.announced.startsWith("query 0: “one”"))
  press(plot, "Escape")
  assert.deepEqual([tooltipOf(plot), isFaded(plot)], [[], false])
})

test("values are written as everywhere", () => {
  const plot = lines([[[0.00004, 0.99996, 0, 0]]])
  setThreshold(plot, 0)
  for (const [key, said] of ["<0.0001", ">0.9999", "0.0000", "0.0000"].entries()) {
    choose(plot, { t: 0, i: key })
    press(plot, "Home")
    assert.equal(tooltipOf(plot)[2], `with the chosen key ${key} “k${key}”: weight ${said}`)
  }
})

// ---- what is saved, and the step that is played

test("the saved picture has legend, sides and what is hidden", () => {
  const maps = someWeights(2, 3, 4)
  const plot = lines(maps, { queries: QUERIES, keys: KEYS })
  const context = saved(plot)
  const seen = maps.flat(2).filter((weight) => weight >= Math.fround(0.05)).length
  assert.equal(linesOn(context).length, seen)
  const written = textsOn(context).map(({ text }) => text)
  for (const text of ["a title", "head 0", "head 1", "query", "key", "\u2068عالم\u2069"])
    assert.ok(written.includes(text), text)
  assert.ok(written.join(" ").includes(unseen(plot)))
})

test("while the steps are played what is not written yet has no name and no line", () => {
  const plot = lines([Array(3).fill([0.5, 0.5])], { writes: texts("w0", "w1", "w2") }, { chosen: { t: 1, i: 0 } })
  choose(plot, selection.chosen, true)
  const context = saved(plot)
  assert.equal(linesOn(context).length, 4)
  const written = textsOn(context).map(({ text }) => text)
  assert.deepEqual(
    ["q0", "q1", "q2", "k0", "k1"].filter((name) => written.includes(name)),
    ["q0", "q1", "k0", "k1"],
  )
})
