import assert from "node:assert/strict"
import { test } from "node:test"
import {
  directionOf,
  fullShade,
  isPale,
  isUnwritten,
  legendWords,
  shadedMap,
  shadedNow,
  shadeSentences,
  shadesWords,
  shownBy,
  textsOf,
  tokenLabel,
} from "../../viz_transformer/figures/components/parts/shading_text.js"

const axis = (/** @type {string} */ field, /** @type {string} */ role, ink = "target-ink") => ({
  field,
  role,
  axis: `${role}s`,
  ink,
  tokens: [{ text: "a" }, { text: "b" }],
  starts: null,
  ends: null,
})
const array = (/** @type {number[]} */ values, encoding = "float32") => ({
  shape: [2, 2],
  encoding,
  values: Float32Array.from(values),
})
/** @returns {any} */
const header = (/** @type {object} */ changes = {}) => ({
  queries: axis("t", "query"),
  keys: axis("u", "key"),
  writes: null,
  together: false,
  unit: "attention weight",
  fill: "",
  ...changes,
})
/** @param {any} how */
function made(changes = {}, chosen = {}, { active = "queries", byMost = false, playing = false, ...marks } = {}) {
  const map = shadedMap({ header: header(changes), arrays: { weights: array([0.5, 0.25, 0.125, 0.875]), ...marks } })
  return shadedNow(map, textsOf(map.head), chosen, { active, byMost, playing })
}

test("the source stands above, and what reads itself is one text", () => {
  assert.deepEqual(
    textsOf(header()).map(({ axis, words }) => [axis, words]),
    [
      ["queries", "querys"],
      ["keys", "keys"],
    ],
  )
  assert.equal(textsOf(header({ keys: axis("i", "key", "source-ink") }))[0].axis, "keys")
  assert.deepEqual(
    textsOf(header({ together: true })).map(({ axis, words }) => [axis, words]),
    [[null, "querys, keys"]],
  )
})

test("a text runs as most of its tokens do, special ones aside", () => {
  assert.equal(directionOf([{ text: "عالم" }, { text: "a" }, { text: "سلام" }]), "rtl")
  assert.equal(directionOf([{ text: "عالم" }, { text: "a" }]), "ltr")
  assert.equal(directionOf([{ text: "عالم" }, { text: "<s>", special: true }]), "rtl")
})

test("the other side is shaded by the weights of what is chosen", () => {
  const reads = made({}, { t: 1 })
  assert.deepEqual(shownBy(reads, reads.texts[1], 0), { q: 1, k: 0, weight: 0.125, kept: true, open: true })
  assert.equal(shownBy(reads, reads.texts[0], 0), null)
  const gives = made({}, { u: 1 }, { active: "keys" })
  assert.equal(shownBy(gives, gives.texts[0], 1)?.weight, 0.875)
  assert.equal(shownBy(made(), made().texts[1], 0), null)
})

test("full colour is 1, or the largest weight that is shown", () => {
  assert.equal(fullShade(made({}, { t: 0 })), 1)
  assert.equal(fullShade(made({}, { t: 0 }, { byMost: true })), 0.5)
  assert.equal(fullShade(made({}, {}, { byMost: true })), 1)
})

test("what comes behind the chosen query is not written yet where the text grows or is played", () => {
  const grown = made({ grows: true, together: true }, { t: 0 })
  assert.deepEqual(
    [0, 1].map((n) => isUnwritten(grown, grown.texts[0], n)),
    [false, true],
  )
  assert.deepEqual(shadeSentences(grown, grown.texts[0], 1), ["query 1: “b”", "not written yet at this step"])
  assert.match(legendWords(grown).words, /, faint: not written yet$/)
  const played = made({ writes: [{ text: "b" }, { text: "c" }], together: true }, { t: 0 }, { playing: true })
  assert.deepEqual(shadeSentences(played, played.texts[0], 1), ["query 1", "not written yet at this step"])
  assert.doesNotMatch(legendWords(played).words, /not written/)
})

test("a token says what it reads and how much, and what it cannot show", () => {
  const now = made({ fill: "-inf" }, { t: 1 }, { mask: array([1, 1, 0, 1]), there: array([1, 1, 1, 0]) })
  const [, keys] = now.texts
  assert.deepEqual(shadeSentences(now, keys, 0), ["query 1: “b”", "key 0: “a”", "masked (-inf), weight 0.1250"])
  assert.deepEqual(shadeSentences(now, keys, 1).at(-1), "not there: no step had this number")
  assert.equal(legendWords(now).words, "attention weight, hatched: masked")
  assert.equal(tokenLabel(now, keys, 0), "0: “a”")
  const strange = made({}, { t: 0 }, { weights: array([Number.NaN, 0.5, 0, 0]) })
  assert.equal(tokenLabel(strange, strange.texts[1], 0), "0: “a”, not a number")
  assert.equal(legendWords(strange).words, "attention weight, dotted: not a number")
})

test("rows of which most is hidden are pale, and what is rounded says so", () => {
  const now = made({ hidden: [0, 0.95] }, { t: 1 }, { byMost: true, weights: array([0, 0, 0.25, 0.5], "sqrt-uint16") })
  assert.ok(isPale(now, now.texts[1], 0) && !isPale(now, now.texts[0], 0))
  const { end, words } = legendWords(now)
  assert.equal(end, "0.5000")
  assert.match(words, /full colour is the largest shown, rounded to 16 bits, faint:/)
  assert.match(shadeSentences(now, now.texts[1], 1)[2], /^weight ≈ 0\.5000$/)
})

test("a sentence says whose weights are shown, or how to choose one", () => {
  assert.equal(shadesWords(made({}, { t: 1 })), "What it reads: query 1: “b”")
  assert.equal(shadesWords(made({}, { u: 0 }, { active: "keys" })), "What reads it: key 0: “a”")
  assert.match(shadesWords(made()), /^Choose a query: click a token/)
})
