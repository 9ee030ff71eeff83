import assert from "node:assert/strict"
import { test } from "node:test"
import { linesPicture } from "../../viz_transformer/figures/components/lines.js"
import {
  hasFaintRows,
  isJoined,
  isLater,
  isUnknown,
  lineAt,
  lineMaps,
  lineSentences,
  linesFrom,
  linesNow,
  linesOfToken,
  shownLines,
  unseenWords,
} from "../../viz_transformer/figures/components/parts/lines_map.js"
import { placeLines } from "../../viz_transformer/figures/components/parts/lines_painting.js"
import { axis, numbers } from "./axis_fixture.js"

/** @type {any} */
const HEAD = {
  title: "a title",
  unit: "attention weight",
  queries: axis("t", "query", "ab", "target-ink"),
  keys: axis("u", "key", "xyz", "target-ink"),
  writes: null,
  heads: ["head 0"],
  colours: ["cross-5"],
  fill: "-inf",
  most_lines: 2,
}
const WEIGHTS = [0.5, 0.25, 0.25, 0, 0.75, 0.25]
const made = (changes = {}, /** @type {object} */ marks = {}, values = WEIGHTS) =>
  lineMaps({ ...HEAD, ...changes }, { weights: numbers(values, [values.length / 6, 2, 3]), ...marks })
const now = (/** @type {object} */ chosen = {}, threshold = 0, plays = false) =>
  linesNow(HEAD, chosen, plays, threshold)

test("lines are counted from the strongest, and no more are drawn than are allowed", () => {
  const maps = made()
  assert.deepEqual(lineAt(maps, 0), [0, 1, 1])
  assert.equal(linesFrom(maps, 0.5), 2)
  assert.deepEqual([shownLines(maps, 0), shownLines(maps, 0.6)], [2, 1])
  const words = "threshold 0.6: 5 of 6 lines hidden, 62.5 % of the weight"
  assert.equal(unseenWords(maps, 0.6), words) // 2 of which 0.75 is seen
  assert.match(unseenWords(maps, 0), /; only the strongest 2 are drawn$/)
})

test("what is masked or not a number has no line, and that is said", () => {
  const mask = numbers([1, 1, 0, 1, 1, 1], [2, 3])
  const maps = made({ most_lines: 9 }, { mask }, [0.5, 0.25, 0.25, Number.NaN, 0.75, 0.25])
  assert.equal(maps.strange, "not a number")
  assert.match(
    unseenWords(maps, 0),
    /masked pairs, without a line, hold 12\.5 %; 1 weight is not a number and has no line$/,
  )
  assert.deepEqual([isUnknown(maps, 0), isUnknown(maps, 1)], [false, true])
  assert.deepEqual(
    linesOfToken(maps, now(), { q: 0 }).map(([, q, k]) => [q, k]),
    [
      [0, 1],
      [0, 0],
    ],
  )
})

test("while the steps are played nothing leads to what comes behind the chosen query", () => {
  const maps = made()
  const at = now({ t: 0 }, 0, true)
  assert.deepEqual([isLater(maps, at, "queries", 1), isLater(maps, at, "keys", 0)], [true, false])
  assert.deepEqual([isJoined(maps, at, 0, 0), isJoined(maps, at, 0, 1)], [true, false])
  assert.equal(isLater(maps, now({ t: 0 }), "queries", 1), false)
  assert.deepEqual(lineSentences(maps, at, { q: 1 }), ["query 1", "not written yet at this step"])
})

test("a token says what it reads most, what it has with the chosen one, and how much is not seen", () => {
  assert.deepEqual(lineSentences(made(), now({ u: 0 }, 0.3), { q: 0 }), [
    "query 0: “a”",
    "reads most: key 0 “x”, weight 0.5000",
    "with the chosen key 0 “x”: weight 0.5000",
    "2 of 3 lines hidden, 50.0 % of its weight",
  ])
  assert.deepEqual(lineSentences(made(), now(), { k: 2 }).slice(1), [
    "most read by: query 0 “a”, weight 0.2500",
    "0 of 2 lines hidden, 0 % of their weight",
  ])
})

test("a pair says the weight of each head", () => {
  const two = made({ heads: ["head 0", "head 3"] }, { mask: numbers([1, 1, 0, 1, 1, 1], [2, 3]) }, [
    ...WEIGHTS,
    ...WEIGHTS,
  ])
  assert.deepEqual(lineSentences(two, now(), { q: 0, k: 2 }).slice(2), [
    "head 0: masked (-inf), weight 0.2500",
    "head 3: masked (-inf), weight 0.2500",
  ])
  const lacking = made({}, { there: numbers([1, 1, 0, 1, 1, 1], [2, 3]) })
  assert.equal(lineSentences(lacking, now(), { q: 0, k: 2 }).at(-1), "not there: no step had this number")
})

test("the picture has room for its title, sides and legend", () => {
  const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 8 * text.length }) }
  const place = placeLines(ruler, made(), { z: 1, width: 600, height: 400 })
  assert.deepEqual([place.title, place.legend.rows, place.left, place.right], [["a title"], 1, 52, 548])
  assert.equal(hasFaintRows(made({ hidden: [[0.95, 0]] }).head), true)
  assert.equal(hasFaintRows(HEAD), false)
})

// ---- what is pointed at, and where keys lead

/** @returns {any} */
const view = (chosen = {}) => {
  const maps = made()
  const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 8 * text.length }) }
  return { maps, now: now(chosen), place: placeLines(ruler, maps, { z: 1, width: 600, height: 400 }) }
}

test("under the pointer is a token of a side, or a line between them", () => {
  const { place } = view()
  const y = (/** @type {number} */ row, /** @type {number} */ count) =>
    place.top + ((row + 0.5) * place.rows.queries * 2) / count
  assert.deepEqual(linesPicture.hit(view(), 10, y(1, 2)), { q: 1 })
  assert.deepEqual(linesPicture.hit(view(), 590, place.top + place.rows.keys * 2.5), { k: 2 })
  assert.equal(linesPicture.hit(view(), 10, 1), null)
  assert.deepEqual(linesPicture.describe(view(), { q: 1 }), lineSentences(made(), now(), { q: 1 }))
})

test("keys start at the chosen query, go along a side and to the other one, and choose nothing", () => {
  const to = (/** @type {string} */ key, here = /** @type {any} */ ({ q: 0 }), chosen = {}, shiftKey = false) =>
    linesPicture.keys(view(chosen), /** @type {any} */ ({ key, shiftKey }), here)
  assert.deepEqual([linesPicture.start?.(view()), linesPicture.start?.(view({ t: 1 }))], [{ q: 0 }, { q: 1 }])
  assert.deepEqual([to("ArrowDown"), to("ArrowUp"), to("End")], [{ q: 1 }, { q: 0 }, { q: 1 }])
  assert.deepEqual([to("ArrowDown", { k: 0 }, {}, true), to("Home", { k: 2 })], [{ k: 2 }, { k: 0 }])
  assert.deepEqual([to("ArrowRight", { q: 1 }), to("ArrowRight", { q: 1 }, { u: 2 })], [{ k: 1 }, { k: 2 }])
  assert.deepEqual(to("ArrowLeft", { k: 2 }), { q: 1 }) // there are two queries
  for (const [key, here] of [
    ["ArrowLeft", { q: 1 }],
    ["ArrowRight", { k: 1 }],
    ["Enter", { q: 1 }],
  ])
    assert.equal(to(/** @type {string} */ (key), here), null)
})
