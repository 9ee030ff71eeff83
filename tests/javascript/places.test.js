import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { choices, named, pointedIn, pointedOn } from "../../viz_transformer/figures/components/parts/places.js"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { tokenWords } from "../../viz_transformer/figures/components/parts/sentences.js"

const axis = (field, role, more) => ({
  field,
  role,
  axis: "",
  ink: "muted",
  starts: null,
  ends: null,
  tokens: [],
  ...more,
})
const features = named(axis("", "feature", { numbered: true, count: 4 }))
const positions = named(axis("i", "position", { numbered: true, count: 5, reach: 3 }))
const axes = { rows: positions, columns: features }

let [sent, drawn] = [[], 0]
beforeEach(() => {
  ;[sent, drawn] = [[], 0]
  selection.connect(({ fields }) => sent.push(fields))
  selection.receive({ i: 1 }, "")
})
const made = () => choices(() => drawn++)
const on = (places) => [places.on(positions, "row"), places.on(features, "column")]

test("places on which nothing stands are called by their numbers, and by the tokens else", () => {
  assert.deepEqual(
    features.tokens.map(({ text }) => text),
    ["0", "1", "2", "3"],
  )
  assert.equal(tokenWords(features, 3), "feature 3")
  const tokens = [{ text: "a" }, { text: "b" }]
  assert.equal(tokenWords(axis("i", "key", { tokens, starts: [2, 5], ends: [5, 6] }), 0), "key 2: “a”")
  const blocks = axis("", "features", { numbered: true, count: 2, blocks: true, starts: [0, 12], ends: [12, 13] })
  assert.deepEqual(
    [0, 1].map((place) => tokenWords(named(blocks), place)),
    ["features 0 to 11", "features 12"],
  )
})

test("what the selection has no word for is chosen in the picture alone, and Python is not asked", () => {
  const places = made()
  assert.deepEqual(on(places), [1, null])
  places.pick(axes, { r: 1, c: 2 }, 0)
  assert.deepEqual([on(places), drawn, selection.chosen], [[1, 2], 1, { i: 1 }])
})

test("a position of the run is picked on the page, one behind it in the picture until another is chosen", () => {
  const places = made()
  places.pick(axes, { r: 2, c: 0 }, 0)
  assert.deepEqual([on(places), selection.chosen.i, drawn], [[2, 0], 2, 0])
  places.pick(axes, { r: 4, c: 0 }, 0)
  assert.deepEqual([on(places), selection.chosen.i, drawn], [[4, 0], 2, 1])
  selection.pick({ i: 0 })
  assert.deepEqual(on(places), [0, 0])
})

test("pictures tell each other of a cell by what its rows and columns are", () => {
  const other = { rows: positions, columns: named(axis("", "dimension", { numbered: true, count: 4 })) }
  assert.deepEqual(pointedIn(axes, pointedOn(axes, { r: 2, c: 3 })), { r: 2, c: 3 })
  assert.equal(pointedIn(other, pointedOn(axes, { r: 2, c: 3 })), null)
  const alike = { rows: features, columns: features }
  assert.deepEqual(pointedIn(alike, pointedOn(alike, { r: 0, c: 3 })), { r: 0, c: 3 })
})
