import assert from "node:assert/strict"
import { test } from "node:test"
import {
  attentionOf,
  chosenAt,
  fieldsAt,
  headsOf,
  keyField,
  walkedOn,
} from "../../viz_transformer/figures/components/parts/whole_choices.js"
import { viewOf } from "./whole_fixture.js"

const at = (level, chosen = {}) =>
  viewOf({ chosen: { kind: "cross", layer: 0, heads: "mean", ...chosen, level }, firstRow: 0 })
const view = at("run")
const [encoder, decoder] = view.head.stacks
view.lastStack = decoder

test("a key has the second position of its side, and the source's in a cross-attention", () => {
  assert.equal(keyField({ kind: "cross" }, encoder), "i")
  assert.equal(keyField({ kind: "encoder" }, encoder), "j")
  assert.equal(keyField({ kind: "decoder" }, decoder), "u")
})

test("in the run a click chooses an attention, leaves a feed-forward alone, and else goes to the step of its lane", () => {
  const band = { name: "decoder" }
  const found = (more) => chosenAt(view, { band, lane: 0, block: null, strip: null, ...more })
  assert.deepEqual(found({ block: { index: 1 } }), { fields: { kind: "cross", layer: 0 }, only: true })
  assert.deepEqual(found({ block: { index: 2 } }), { fields: { kind: "decoder", layer: 0 }, only: false })
  assert.deepEqual(found({ lane: 0, pointed: 1 }), { to: 1 })
  assert.equal(found({ pointed: 2 }), null) // behind the last step
  assert.equal(found({ band: { name: "encoder" } }), null)
  assert.equal(chosenAt(view, null), null)
})

test("in a layer a click chooses an attention, or a head and a key of it, and looks at a feed-forward", () => {
  const group = { index: 1, part: { kind: "cross", layer: 0 } }
  const found = (more) => chosenAt(at("layer"), { group, head: null, key: null, ...more })
  assert.deepEqual(found(), { fields: { kind: "cross", layer: 0 } })
  assert.deepEqual(found({ head: 1, key: 2 }), { fields: { kind: "cross", layer: 0, heads: [1], i: 2 } })
  assert.deepEqual(found({ group: { index: 2, part: {} } }), { walk: 2 })
})

test("in an attention a click chooses a head, or the query or the key of a cell, or both", () => {
  const attention = Object.assign(at("attention"), { lastStack: null })
  const found = (more) => chosenAt(attention, more)?.fields
  assert.deepEqual(found({ head: 1 }), { heads: [1] })
  assert.deepEqual(found({ grid: "weights", row: 1, column: 2 }), { t: 1, i: 2 })
  assert.deepEqual(found({ grid: "query", row: 1, column: 3 }), { t: 1 })
  assert.deepEqual(found({ grid: "value", row: 1, column: 3 }), { i: 1 })
  assert.deepEqual(chosenAt(at("weight"), { key: 2 }), { fields: { i: 2 } })
  assert.equal(chosenAt(at("weight"), { dimension: 2 }), null)
})

test("rows of the second of two runs are told as those of the first", () => {
  const second = at("attention")
  Object.assign(second, { lastStack: second.head.stacks[1], firstRow: 4 })
  assert.deepEqual(chosenAt(second, { grid: "query", row: 1, column: 0 }), { fields: { t: 5 } })
})

test("who goes to an attention looks at one head, and where nothing was chosen yet the page's choice is kept", () => {
  assert.deepEqual(fieldsAt(at("layer"), "attention", {}), { kind: "cross", layer: 0, level: "attention", heads: [0] })
  const one = at("layer", { heads: [1] })
  assert.deepEqual(fieldsAt(one, "attention", {}), { kind: "cross", layer: 0, level: "attention" })
  assert.deepEqual(fieldsAt(at("layer"), "weight", { heads: [1] }).heads, [1])
  assert.deepEqual(fieldsAt(viewOf(), "layer", {}), { level: "layer" })
})

test("a feed-forward leads into its layer by the first attention there", () => {
  assert.deepEqual(attentionOf(decoder.parts, 2), { kind: "decoder", layer: 0 })
  assert.deepEqual(attentionOf(decoder.parts, 1), { kind: "cross", layer: 0 })
})

test("of a whole run and a layer there is a mean of heads, of an attention there is not", () => {
  assert.deepEqual(headsOf(at("run")), { count: 2, only: null, deep: false })
  assert.deepEqual(headsOf(at("weight", { heads: [1] })), { count: 2, only: 1, deep: true })
})

test("a walk begins at either end and stays between them", () => {
  assert.deepEqual([walkedOn(null, 1, 5), walkedOn(null, -1, 5)], [0, 4])
  assert.deepEqual([walkedOn(4, 1, 5), walkedOn(0, -1, 5), walkedOn(2, 1, 5)], [4, 0, 3])
})
