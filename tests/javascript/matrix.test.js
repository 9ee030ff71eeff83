import assert from "node:assert/strict"
import { test } from "node:test"
import { matrixPicture } from "../../viz_transformer/figures/components/matrix.js"
import {
  cellSentences,
  fullColour,
  matrixLabel,
  matrixMap,
  matrixNow,
  scaleEnds,
  strongestKey,
} from "../../viz_transformer/figures/components/parts/matrix_map.js"
import { matrixNotes } from "../../viz_transformer/figures/components/parts/matrix_painting.js"
import {
  areaHas,
  isBare,
  ontoCells,
  placeMatrix,
  xOf,
  yOf,
} from "../../viz_transformer/figures/components/parts/matrix_places.js"
import { axis, numbers, texts } from "./axis_fixture.js"

const LETTERS = "abcdefgh".repeat(40)
const letters = (/** @type {number} */ count) => texts(...LETTERS.slice(0, count))
const side = (
  /** @type {string} */ field,
  /** @type {string} */ role,
  /** @type {number} */ count,
  ink = "target-ink",
) => axis(field, role, LETTERS.slice(0, count), ink)
const VALUES = [1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25]
/** @returns {any} */
const header = (/** @type {object} */ changes = {}) => ({
  rows: side("t", "query", 3),
  columns: side("u", "key", 3),
  writes: null,
  signed: false,
  bounded: true,
  quantity: "weight",
  fill: "-1e9",
  label: "Map",
  ...changes,
})
const array = (/** @type {number[]} */ values) => numbers(values, [3, 3])
/** @param {any} more */
const made = (changes = {}, more = {}) =>
  matrixMap({ header: header(changes), arrays: { values: array(more.values ?? VALUES), ...more.marks } })

test("what is not written yet begins behind the chosen row where a map grows or the steps are played", () => {
  const still = matrixNow(made(), { t: 1, u: 2 }, true)
  assert.deepEqual(still, { r: 1, c: 2, plays: false, scale: "fixed", written: 3, later: 3, readable: 3 })
  const grown = matrixNow(made({ grows: true }), { t: 1 }, false)
  assert.deepEqual(grown, { r: 1, c: null, plays: false, scale: "fixed", written: 2, later: 2, readable: 3 })
  const played = matrixNow(made({ writes: letters(3) }), { t: 0 }, true)
  assert.deepEqual([played.written, played.later, played.readable], [1, 1, 1])
  const unchosen = matrixNow(made({ writes: letters(3) }), {}, true)
  assert.deepEqual([unchosen.written, unchosen.readable], [3, 3])
  const source = matrixNow(made({ writes: letters(3), columns: side("i", "key", 3, "source-ink") }), { t: 0 }, true)
  assert.deepEqual([source.written, source.readable], [1, 3]) // keys of another text are all there
})

test("full colour is 1, the largest of the row or of the map, and a scale that does not end at 1 is the map's", () => {
  const map = made()
  assert.deepEqual(
    ["fixed", "row", "map"].map((scale) => fullColour(map, scale, 2)),
    [1, 0.5, 1],
  )
  assert.equal(fullColour(made({ most: 4 }), "map", 2), 4)
  assert.equal(fullColour(made({}, { values: Array(9).fill(0) }), "map", 0), 1) // nothing has a colour anyway
  assert.equal(matrixNow(made({ bounded: false }), {}, false).scale, "map")
  assert.equal(matrixNow(made(), { scale: "row" }, false).scale, "row")
  assert.equal(matrixNow(made(), { scale: "other" }, false).scale, "fixed")
  assert.deepEqual(scaleEnds(map, "fixed"), ["0", "1"])
  assert.deepEqual(scaleEnds(map, "row"), ["0", "row maximum"])
  assert.deepEqual(scaleEnds(made({ signed: true }, { values: VALUES.map((value) => -2 * value) }), "fixed"), [
    "−2.00",
    "2.00",
  ])
})

test("a cell says both tokens, what it holds and why not", () => {
  const marks = { mask: array([1, 0, 0, 1, 1, 0, 1, 1, 1]), there: array([1, 1, 1, 1, 1, 1, 0, 1, 1]) }
  const map = made({ writes: letters(3), hidden: [0.5, 0, 0] }, { marks })
  const now = matrixNow(map, { t: 2 }, false)
  assert.deepEqual(cellSentences(map, now, 0, 1), [
    "query 0: reads “a”, writes “a”",
    "key 1: “b”",
    "masked (-1e9), weight 0.0000",
    "0.5000 of this row's weight is hidden",
  ])
  assert.equal(cellSentences(map, now, 2, 0).at(-1), "not there: no step had this number")
  assert.deepEqual(cellSentences(map, matrixNow(map, { t: 0 }, true), 1, 0), [
    "query 1",
    "not written yet at this step",
  ])
  const grown = made({ grows: true })
  assert.deepEqual(cellSentences(grown, matrixNow(grown, { t: 0 }, false), 1, 0), [
    "query 1: “b”",
    "key 0: “a”",
    "not written yet at this step",
  ])
})

test("the strongest key of a row is open and there", () => {
  const mask = array([1, 1, 1, 1, 0, 1, 1, 1, 1])
  const there = array([1, 1, 1, 1, 1, 1, 0, 1, 1])
  assert.deepEqual(
    [0, 1, 2].map((r) => strongestKey(made({}, { marks: { mask, there } }), r)),
    [0, 0, 1],
  )
  assert.equal(strongestKey(made({}, { values: Array(9).fill(0) }), 0), null)
})

test("its label names Enter only where it leads somewhere", () => {
  assert.match(matrixLabel(header()), /Enter opens why it is so/)
  assert.doesNotMatch(matrixLabel(header({ why: [] })), /Enter/)
  assert.match(matrixLabel(header({ grows: true })), /not written yet at that step\.$/)
})

const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 10 * text.length }) }
const room = { z: 1, width: 700, height: 500, fitted: false, whole: false }
const whole = { r0: 0, r1: 3, c0: 0, c1: 3 }

test("a short map fills its room, beside margins for its labels", () => {
  const place = placeMatrix(ruler, header(), whole, room)
  assert.deepEqual([place.left, place.right], [84, 12]) // 24 + 60 at least; nothing at the right
  assert.deepEqual([place.cell, place.rowHeight], [128, 96]) // no larger than that
  assert.equal(place.top, 86) // 66 + 20 of letters that are not turned
  assert.deepEqual([place.w, place.h, place.width, place.height, place.scrolls], [384, 288, 700, 500, false])
  const written = placeMatrix(ruler, header({ writes: letters(3), bare: ["left"] }), whole, room)
  assert.deepEqual([written.left, written.right], [12, 84])
  assert.ok(isBare(header({ bare: ["left"] }), "left") && !isBare(header(), "left"))
})

test("a long map keeps its cells large, and all of them are saved", () => {
  const long = header({ rows: side("t", "query", 300), columns: side("u", "key", 300) })
  const area = { r0: 0, r1: 300, c0: 0, c1: 300 }
  const seen = placeMatrix(ruler, long, area, room)
  assert.deepEqual([seen.cell, seen.rowHeight, seen.scrolls], [18, 18, true])
  assert.deepEqual(seen.shown, { along: 33, down: Math.floor((500 - seen.top - 68) / 18) }) // (700 - 84 - 12) / 18
  const all = placeMatrix(ruler, long, area, { ...room, whole: true })
  assert.deepEqual([all.cell, all.shown.along, all.width], [10, 300, 84 + 3000 + 12]) // 3,000 pixels at most
  const fitted = placeMatrix(ruler, long, area, { ...room, fitted: true })
  assert.deepEqual([fitted.scrolls, fitted.cell], [false, (700 - 84 - 12) / 300])
})

test("cells stand where they are seen, and a frame ends at them", () => {
  const place = placeMatrix(ruler, header(), whole, room)
  const view = { place, seen: { r0: 1, r1: 3, c0: 2, c1: 3 } }
  assert.deepEqual([xOf(view, 2), yOf(view, 2)], [84, 86 + 96])
  assert.deepEqual(ontoCells(place, 0, 9999), { x: 84, y: 86 + 288 })
  assert.ok(areaHas(view.seen, { r: 1, c: 2 }) && !areaHas(view.seen, { r: 0, c: 2 }))
})

test("the legend says what is not seen, and how to see it only where one can", () => {
  const map = made({ grows: true })
  const place = placeMatrix(ruler, map.head, whole, room)
  const view = { map, now: matrixNow(map, { t: 0 }, false), place, area: whole, seen: { ...whole, r1: 2, c0: 1 } }
  assert.deepEqual(matrixNotes(view, 1, false), ["empty rows: not written yet", "rows 0–1 of 3", "keys 1–2 of 3"])
  const small = { ...view, place: { ...place, cell: 0.5 }, now: { ...view.now, written: 3 }, seen: whole }
  assert.deepEqual(matrixNotes(small, 1, false), ["max-pooled: a pixel shows its largest cell, drag to zoom"])
  assert.deepEqual(matrixNotes(small, 1, true), ["max-pooled: a pixel shows its largest cell"])
})

const features = (/** @type {number} */ count, more = {}) => ({
  ...side("", "feature", 0, "muted"),
  numbered: true,
  count,
  ...more,
})

test("of numbered places the number alone is told, and a value with all its digits", () => {
  const spans = [{ start: 1, end: 2, look: "hatched", text: "behind the run", ink: "muted" }]
  const changes = { columns: features(3), rows: features(3, { role: "position", spans }), bounded: false, digits: 9 }
  const map = made(changes, { values: [Math.fround(0.1), 0, 0, Math.fround(1 / 3), 0, 0, 0, 0, 0] })
  const now = matrixNow(map, {}, false)
  assert.deepEqual(cellSentences(map, now, 0, 0).slice(0, 2), ["position 0", "feature 0"])
  assert.match(cellSentences(map, now, 0, 0)[2], /0\.1$/)
  assert.deepEqual(cellSentences(map, now, 1, 0).slice(2), ["weight 0.33333334", "behind the run"])
  assert.deepEqual(scaleEnds(map, "map"), ["0", "0.333"])
})

test("of False and True the words are told, and the stronger tone is no full colour", () => {
  const map = made({ names: ["may not", "may"] }, { values: [1, 0, 0, 1, 1, 0, 1, 1, 1] })
  const now = matrixNow(map, {}, false)
  assert.equal(cellSentences(map, now, 0, 0)[2], "may")
  assert.equal(cellSentences(map, now, 0, 1)[2], "may not")
  assert.equal(fullColour(map, "fixed", 0), 1.2)
})

// ---- what is pointed at, and where keys lead

const VIEW = () => {
  const map = made({ mask: null })
  return { map, now: matrixNow(map, { t: 1, u: 0 }, false), place: placeMatrix(ruler, map.head, whole, room) }
}
const key = (/** @type {string} */ name, more = {}) => /** @type {any} */ ({ key: name, shiftKey: false, ...more })

test("what is under the pointer is a cell that is seen, and its tooltip for the keys stands in its middle", () => {
  const view = { ...VIEW(), area: whole, seen: { r0: 1, r1: 3, c0: 0, c1: 3 } }
  const { left, top } = view.place
  assert.deepEqual(matrixPicture.hit(view, left + 130, top + 1), { r: 1, c: 1 }) // cells are 128 by 96
  assert.equal(matrixPicture.hit(view, left - 1, top + 1), null)
  assert.deepEqual(matrixPicture.at(view, { r: 1, c: 1 }), { x: left + 192, y: top + 48 })
  assert.equal(matrixPicture.hit(view, left + 192, top + 48)?.c, 1)
  assert.deepEqual(matrixPicture.describe(view, { r: 1, c: 1 }), cellSentences(view.map, view.now, 1, 1))
})

test("arrows lead from the chosen cell, ten cells with Shift, and other keys nowhere", () => {
  const view = { ...VIEW(), area: whole, seen: whole }
  const to = (/** @type {string} */ name, more = {}) => matrixPicture.keys(view, key(name, more), { r: 0, c: 0 })
  assert.deepEqual(
    [to("ArrowDown"), to("End")],
    [
      { r: 2, c: 0 },
      { r: 1, c: 2 },
    ],
  )
  assert.deepEqual(to("ArrowRight", { shiftKey: true }), { r: 1, c: 2 })
  assert.equal(to("+"), null)
  const unchosen = { ...view, now: matrixNow(view.map, {}, false), area: { r0: 1, r1: 3, c0: 1, c1: 3 } }
  assert.deepEqual(matrixPicture.keys(unchosen, key("ArrowDown"), { r: 0, c: 0 }), { r: 1, c: 1 })
})

test("a cell that is pointed at elsewhere is marked where it is seen", () => {
  const view = { ...VIEW(), area: whole, seen: { ...whole, r0: 1 } }
  assert.deepEqual(matrixPicture.fields?.(view, { r: 2, c: 1 }), { t: 2, u: 1 })
  assert.deepEqual(matrixPicture.find?.(view, { t: 2, u: 1 }), { r: 2, c: 1 })
  assert.equal(matrixPicture.find?.(view, { t: 0, u: 1 }), null) // scrolled away
  assert.equal(matrixPicture.find?.(view, { t: 2 }), null)
})
