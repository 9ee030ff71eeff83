import assert from "node:assert/strict"
import { test } from "node:test"
import { placeHeadings } from "../../viz_transformer/figures/components/parts/whole_headings.js"

const LETTER = 10
const measure = (text) => text.length * LETTER
const block = (part, layer, x, width, from = x) => ({
  part,
  layer,
  index: 0,
  x,
  width,
  ribbon: part === "ffn" ? null : [from, x],
  keys: null,
})
const strip = (x, point) => ({ x, width: 20, point })
/** A layer of three sub-layers, each with so much room. */
const band = (room) => ({
  token: { x: 0, width: 20 },
  position: { x: 30, width: 20 },
  strips: [strip(60, 0), strip(100 + 3 * room, 1)],
  blocks: [
    block("self", 0, 100 + room / 2, room / 2, 100),
    block("cross", 0, 100 + 1.5 * room, room / 2, 100 + room),
    block("ffn", 0, 100 + 2 * room, room),
  ],
})
const about = { layers: 1, final: false, memory: null, z: 1, right: 1000, measure }
const texts = (found, up) => found.filter((each) => each.up === up).map(({ text }) => text)

test("where there is room, sub-layers are called by their whole names, over their middle, and layers above them", () => {
  const found = placeHeadings(band(200), about)
  assert.deepEqual(texts(found, 6), ["input", "cross-attention", "self-attention", "feed-forward"])
  assert.deepEqual(texts(found, 22), ["layer 0"])
  for (const { text, x, width } of found) assert.equal(width, measure(text), `${text} at ${x}`)
  const cross = found.find(({ text }) => text === "cross-attention")
  assert.equal(cross.x + cross.width / 2, 400)
})

test("where there is less, by short ones, and none touches another", () => {
  for (const room of [60, 45, 30, 20, 8]) {
    const found = placeHeadings(band(room), about)
    assert.ok(texts(found, 6).every((text) => ["input", "cross", "self", "ff"].includes(text)))
    for (const up of [6, 22]) {
      const row = found.filter((each) => each.up === up).toSorted((a, b) => a.x - b.x)
      for (let n = 1; n < row.length; n++) assert.ok(row[n].x >= row[n - 1].x + row[n - 1].width + 4, `${room}: ${up}`)
    }
  }
})

test("a layer that is narrower than its name is called by its number", () => {
  assert.deepEqual(texts(placeHeadings(band(20), about), 22), ["0"])
})

test("a stack without positions has no sum over its strips", () => {
  assert.ok(!texts(placeHeadings({ ...band(200), position: null }, about), 6).includes("input"))
})

test("over the last strip stands its norm, or the memory where the readers are below", () => {
  assert.equal(texts(placeHeadings(band(200), { ...about, final: true }), 6).at(-1), "norm")
  assert.equal(texts(placeHeadings(band(200), { ...about, final: true }), 22).at(-1), "final") // above it
  const below = { ...about, memory: { beside: false } }
  assert.deepEqual(texts(placeHeadings(band(200), below), 22), ["layer 0", "memory"])
  assert.deepEqual(texts(placeHeadings(band(20), { ...below, right: 175 }), 36), ["memory"]) // above the layer's name
  const beside = placeHeadings(band(200), { ...about, final: true, memory: { beside: true } })
  assert.ok(!beside.some(({ text }) => text === "memory" || text === "norm"))
})

test("the memory's name ends where the picture does", () => {
  const found = placeHeadings(band(200), { ...about, memory: { beside: false }, right: 730 })
  const { x, width } = found.find(({ text }) => text === "memory")
  assert.equal(x + width, 730)
})
