// How chips look, which of them the chosen row looks at, and where keys lead.
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  chipBar,
  chipBeside,
  chipClasses,
  chipStop,
  chipsSeen,
  chipTints,
  isSeen,
  isWritten,
} from "../../viz_transformer/figures/components/parts/chips.js"

const chip = (/** @type {object} */ more = {}) => ({
  text: "a",
  title: "a",
  ink: "source",
  special: false,
  unknown: false,
  ...more,
})
const row = (/** @type {object} */ more = {}) => ({
  label: "reads",
  side: "source",
  at: 0,
  field: "i",
  chips: [chip(), chip(), chip(), chip()],
  ...more,
})
const READS = row()
const WRITES = row({ side: "target", at: 1, field: "t", chips: [chip({ share: 0.75 }), chip({ share: 0.25 })] })
const looks = (/** @type {string} */ side, /** @type {Record<number, number>} */ weights) => ({
  ink: `${side}-ink`,
  kind: "cross",
  weights,
})
const page = (/** @type {any} */ look, more = {}) => ({ look, playing: false, chosen: { t: 0 }, ...more })
const shares = (/** @type {any} */ of, /** @type {any} */ look) => chipTints(of, page(look)).map((tint) => tint.look)

test("a chip has the classes of what it is", () => {
  assert.equal(chipClasses(chip()), "chip source")
  assert.equal(
    chipClasses(chip({ special: true, unknown: true, differs: true })),
    "chip source special unknown differs",
  )
})

test("the line below a chip is as long as its probability, and says where that is not known or not sure", () => {
  assert.deepEqual(chipBar(chip({ share: 0.75, sure: true })), { wide: "75%", known: true, sure: true })
  assert.deepEqual(chipBar(chip({ share: 0.25, sure: false })), { wide: "25%", known: true, sure: false })
  assert.deepEqual(chipBar(chip({ share: null })), { wide: "100%", known: false, sure: false })
  assert.equal(chipBar(chip()), null) // a token that is read
})

test("keys are tinted by what the chosen row looks at and only those of its side", () => {
  const source = looks("source", { 1: 0.25, 2: 0.75 })
  assert.deepEqual(
    [shares(READS, source), shares(WRITES, source)],
    [
      ["0%", "25%", "75%", "0%"],
      ["0%", "0%"],
    ],
  )
  const target = looks("target", { 0: 0.5, 1: 0.125, 2: 0.375 })
  assert.deepEqual(shares(READS, target), ["0%", "0%", "0%", "0%"])
  assert.deepEqual(shares(WRITES, target), ["12.5%", "37.5%"]) // a written token is read by the next row
  assert.deepEqual([isSeen(WRITES, target), isSeen(READS, target), isSeen(READS, null)], [true, false, false])
  const [tint] = chipTints(READS, page(looks("source", { 0: Number.NaN })))
  assert.deepEqual(tint, { look: "0%", unknown: true, unwritten: false })
})

test("the answer of another run is not tinted by weights of this one, and no curve begins there", () => {
  const target = looks("target", { 1: 0.5, 2: 0.5 })
  const other = { ...WRITES, apart: true }
  assert.deepEqual(
    [shares(WRITES, target), shares(other, target)],
    [
      ["50%", "50%"],
      ["0%", "0%"],
    ],
  )
  assert.deepEqual([chipsSeen(WRITES, target).length, chipsSeen(other, target).length], [2, 0])
})

test("curves begin at the chips that have a weight, each with its own", () => {
  const look = looks("source", { 0: 0.0199, 1: 0.25, 3: 0.02 })
  assert.deepEqual(chipsSeen(READS, look), [
    { n: 0, weight: 0.0199 },
    { n: 1, weight: 0.25 },
    { n: 3, weight: 0.02 },
  ])
  assert.deepEqual(chipsSeen({ ...READS, at: 2 }, look), [{ n: 1, weight: 0.02 }])
  assert.deepEqual(chipsSeen(READS, null), [])
})

test("while the steps are played later tokens are not there", () => {
  const unwritten = (/** @type {any} */ of, more) => chipTints(of, page(null, more)).map((tint) => tint.unwritten)
  const from1 = { ...WRITES, first: 1 }
  assert.deepEqual(unwritten(from1, { playing: true, chosen: { t: 1 } }), [false, true])
  assert.deepEqual(unwritten(from1, { playing: true, chosen: { t: 2 } }), [false, false])
  assert.deepEqual(unwritten(from1, { playing: false, chosen: { t: 1 } }), [false, false])
  assert.deepEqual(unwritten(READS, { playing: true, chosen: { t: 0 } }), [false, false, false, false]) // what is read is there
  assert.deepEqual([isWritten(WRITES), isWritten(READS), isWritten({ ...WRITES, field: "u" })], [true, false, false])
})

test("arrow keys go from chip to chip and stop at the ends, others lead nowhere", () => {
  const to = (/** @type {number} */ from, /** @type {string} */ key) => chipBeside(4, from, key)
  assert.deepEqual([to(1, "ArrowRight"), to(1, "ArrowLeft"), to(2, "Home"), to(2, "End")], [2, 0, 0, 3])
  assert.deepEqual([to(3, "ArrowRight"), to(0, "ArrowLeft")], [null, null])
  assert.equal(to(1, "Enter"), undefined)
})

test("the tabulator stops at the chosen chip, or at the first where none of the row is chosen", () => {
  assert.deepEqual(
    [0, 3, -1, 4, Number.NaN].map((chosen) => chipStop(4, chosen)),
    [0, 3, 0, 0, 0],
  )
})
