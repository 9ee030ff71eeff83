// What the tokens of a shaded text look like, and what is said of them and of all shades.
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  isPale,
  isUnwritten,
  legendWords,
  looksOf,
  shadedMap,
  shadedNow,
  shadeSentences,
  shadesWords,
  textsOf,
  tokenLabel,
} from "../../viz_transformer/figures/components/parts/shading_text.js"
import { axis, names, numbers, texts } from "./axis_fixture.js"

const shade = (t) => `rgb(${255 - 200 * t}, ${255 - 100 * t}, 255)`
const paper = {
  one: (name) => ({ text: "rgb(0, 0, 0)", page: "rgb(255, 255, 255)" })[name] ?? name,
  scale: () => ({ css: shade }),
}
const FAINT = "attention weight, faint: more than 0.9 of the row is hidden"
const NOT_YET = "not written yet at this step"

const bits = (rows) => rows && { ...numbers(rows.flat()), values: Uint8Array.from(rows.flat()) }
/** A target that reads a source by these rows, or, `together`, itself; what is `chosen`, and which side is shaded. */
function of(rows, chosen, { queries, keys, mask, there, together = false, encoding = "float32", ...how } = {}) {
  const { active = "queries", byMost = false, playing = false, ...header } = how
  const [count, along] = [rows.length, rows[0].length]
  const head = {
    queries: axis("t", "query", queries ?? names(together ? "w" : "q", count), "target-ink"),
    keys: together
      ? axis("u", "key", names("w", along), "target-ink")
      : axis("i", "key", keys ?? names("k", along), "source-ink"),
    writes: null,
    unit: "attention weight",
    fill: "",
    scale: "cross",
    together,
    ...header,
  }
  const weights = { ...numbers(rows.flat(), [count, along]), encoding }
  const map = shadedMap({ header: head, arrays: { weights, mask: bits(mask), there: bits(there) } })
  const now = shadedNow(map, textsOf(head), chosen, { active, byMost, playing })
  const text = (n) => now.texts[n]
  return {
    now,
    fills: (n = 0) => looksOf(now, text(n), paper).map(({ fill }) => fill),
    masked: (n = 0) => looksOf(now, text(n), paper).flatMap(({ masked }, i) => (masked ? [i] : [])),
    unwritten: (n = 0) => text(n).side.tokens.flatMap((_, i) => (isUnwritten(now, text(n), i) ? [i] : [])),
    pale: (n = 0) => text(n).side.tokens.flatMap((_, i) => (isPale(now, text(n), i) ? [i] : [])),
    told: (i, n = 0) => shadeSentences(now, text(n), i),
    label: (i, n = 0) => tokenLabel(now, text(n), i),
    legend: legendWords(now),
  }
}
const WEIGHTS = [
  [0.5, 0.25, 0.25],
  [0.125, 0.125, 0.75],
  [0, 0.0625, 0.9375],
]
const NONE = ["", "", ""]

test("each key has the shade of the weight that the query gives it, and each query that of what it gives the key", () => {
  assert.deepEqual([of(WEIGHTS, {}).fills(0), of(WEIGHTS, {}).fills(1)], [NONE, NONE])
  const reads = of(WEIGHTS, { t: 1 })
  assert.deepEqual([reads.fills(0), reads.fills(1)], [WEIGHTS[1].map(shade), NONE])
  const gives = of(WEIGHTS, { t: 1, i: 2 }, { active: "keys" })
  assert.deepEqual([gives.fills(0), gives.fills(1)], [NONE, [0.25, 0.75, 0.9375].map(shade)])
  assert.equal(shadesWords(gives.now), "What reads it: key 2: “k2”")
  assert.deepEqual(of([[1]], { t: 0, u: 0 }, { together: true }).fills(), [shade(1)]) // one token alone
})

test("the scale can end at the largest weight, and the legend says so", () => {
  assert.deepEqual(of(WEIGHTS, { t: 0 }).legend, { end: "1", words: "attention weight" })
  const most = of(WEIGHTS, { t: 0 }, { byMost: true })
  assert.deepEqual(most.fills(), [1, 0.5, 0.5].map(shade))
  assert.deepEqual(most.legend, { end: "0.5000", words: "attention weight, full colour is the largest shown" })
})

test("masked tokens are hatched and said to be, and show their weight where they have any", () => {
  const rows = [
    [1, 0, 0],
    [0.25, 0.25, 0.5],
  ]
  const more = {
    mask: [
      [1, 0, 0],
      [1, 1, 0],
    ],
    fill: "-1e9",
  }
  const first = of(rows, { t: 0 }, more)
  assert.deepEqual(first.masked(), [1, 2])
  assert.match(first.legend.words, /hatched: masked/)
  assert.deepEqual(first.told(1), ["query 0: “q0”", "key 1: “k1”", "masked (-1e9), weight 0.0000"])
  assert.equal(first.fills()[1], "surface")
  const second = of(rows, { t: 1 }, more)
  assert.deepEqual([second.masked(), second.fills()[2]], [[2], shade(0.5)])
  assert.equal(second.told(2)[2], "masked (-1e9), weight 0.5000")
})

test("a token that no step could read has no shade, and says so", () => {
  const there = [
    [1, 0],
    [0, 0],
  ]
  const seen = of(
    [
      [1, NaN],
      [NaN, NaN],
    ],
    { t: 0 },
    { mask: there, there },
  )
  assert.deepEqual([seen.fills(), seen.masked()], [[shade(1), ""], []])
  assert.doesNotMatch(seen.legend.words, /hatched/)
  assert.deepEqual(seen.told(1), ["query 0: “q0”", "key 1: “k1”", "not there: no step had this number"])
})

test("the tooltip has both tokens with positions, and the weight", () => {
  const rows = [
    [0.00004, 0.99996, 0],
    [NaN, 0.25, 0.5],
  ]
  const more = { queries: ["a", "b"], keys: ["x", "<b>", "عالم"], writes: texts("b", "</s>") }
  const first = of(rows, { t: 0 }, more)
  assert.deepEqual(first.told(0), ["query 0: reads “a”, writes “b”", "key 0: “x”", "weight <0.0001"])
  assert.deepEqual(first.told(1).slice(1), ["key 1: “<b>”", "weight >0.9999"])
  assert.deepEqual(first.told(2).slice(1), ["key 2: “\u2068عالم\u2069”", "weight 0.0000"])
  assert.deepEqual(first.told(1, 1), ["query 1: reads “b”, writes “</s>”"])
  assert.equal(of(rows, { t: 1 }, more).told(0)[2], "weight: not a number")
  assert.equal(of(WEIGHTS, { t: 1 }, { encoding: "sqrt-uint16" }).told(0)[2], "weight ≈ 0.1250")
})

test("what the answer reads of itself is shaded up to the step, and nothing forbids the rest", () => {
  const rows = [
    [1, 0, 0],
    [0.5, 0.5, 0],
    [0.25, 0.25, 0.5],
  ]
  const more = {
    together: true,
    grows: true,
    mask: [
      [1, 0, 0],
      [1, 1, 0],
      [1, 1, 1],
    ],
  }
  assert.deepEqual(of(rows, { u: 0 }, more).unwritten(), []) // no step is chosen
  for (const [t, unwritten] of [
    [0, [1, 2]],
    [1, [2]],
    [2, []],
  ]) {
    const seen = of(rows, { t, u: 0 }, more)
    assert.deepEqual(seen.fills(), [...rows[t].slice(0, t + 1).map(shade), ...unwritten.map(() => "")])
    assert.deepEqual([seen.unwritten(), seen.masked()], [unwritten, []])
    const faint = unwritten.length ? ", faint: not written yet" : ""
    assert.equal(seen.legend.words, `attention weight${faint}`)
  }
  const later = of(rows, { t: 0, u: 0 }, more)
  assert.equal(later.label(2), `2: “w2”, ${NOT_YET}`)
  assert.deepEqual(later.told(2), ["query 2: “w2”", NOT_YET])
  const there = of(rows, { t: 2, u: 0 }, more)
  assert.deepEqual([there.label(2), there.told(2)[2]], ["2: “w2”", "weight 0.5000"])
})

test("the source is shaded by the step, and the answer behind it is not written yet", () => {
  for (const t of [0, 1]) {
    const seen = of(WEIGHTS, { t }, { grows: true })
    assert.deepEqual(seen.fills(), WEIGHTS[t].map(shade))
    assert.deepEqual([seen.unwritten(0), seen.unwritten(1)], [[], [1, 2].slice(t)])
  }
})

test("queries that are not written yet read no key, and do not set the scale", () => {
  const rows = [
    [0.25, 0.75],
    [0.125, 0.875],
    [0, 1],
  ]
  const more = { active: "keys", byMost: true, grows: true }
  assert.deepEqual(of(rows, { t: 1, i: 0 }, more).fills(1), [shade(1), shade(0.5), ""])
  assert.equal(of(rows, { t: 1, i: 1 }, more).legend.end, "0.8750")
})

test("shades of a row of which more than 0.9 is hidden are faint, and the legend says so", () => {
  const more = { hidden: [0.9, 0.95, 0.1] }
  const first = of(WEIGHTS, { t: 0, i: 0 }, more)
  assert.deepEqual([first.pale(), first.legend.words], [[], "attention weight"])
  const second = of(WEIGHTS, { t: 1, i: 0 }, more)
  assert.deepEqual([second.pale(0), second.pale(1), second.legend.words], [[0, 1, 2], [], FAINT])
  assert.equal(second.told(2)[3], "0.9500 of this row's weight is hidden")
  const gives = of(WEIGHTS, { t: 1, i: 0 }, { ...more, active: "keys" })
  assert.deepEqual([gives.pale(0), gives.pale(1)], [[], [1]])
})
