import assert from "node:assert/strict"
import { test } from "node:test"
import { makeDetails } from "../../viz_transformer/figures/components/parts/details.js"

/** A detail of so many bytes, as whole_detail.py packs one. */
function packed(header, bytes = 8) {
  const arrays = { a: { encoding: "bytes", shape: [bytes], offset: 0, length: bytes } }
  const text = new TextEncoder().encode(JSON.stringify({ ...header, arrays }))
  const all = new Uint8Array(4 + text.length + bytes)
  new DataView(all.buffer).setUint32(0, text.length, true)
  all.set(text, 4)
  return all
}
const layer = (number, of = "run") => ({ of, level: "layer", stack: "decoder", layer: number })
const head = (number) => ({ of: "run", level: "attention", kind: "cross", layer: 1, head: number })
const has = (details, { of, level, ...place }) => details.get(of, level, place) !== null

test("a detail is found by its run, its level and its place alone", () => {
  const details = makeDetails()
  assert.equal(has(details, layer(1)), false)
  details.put(packed(layer(1)))
  details.put(packed(head(2)))
  assert.equal(details.get("run", "layer", { stack: "decoder", layer: 1 }).header.layer, 1)
  assert.equal(details.get("run", "attention", { kind: "cross", layer: 1, head: 2 }).header.head, 2)
  for (const other of [layer(0), layer(1, "other"), { ...layer(1), stack: "encoder" }, head(1)])
    assert.equal(has(details, other), false)
})

test("one weight is in the detail of its head", () => {
  const details = makeDetails()
  details.put(packed(head(2)))
  const place = { kind: "cross", layer: 1, head: 2 }
  assert.equal(details.get("run", "weight", place), details.get("run", "attention", place))
})

test("a place that does not fit its level is an error", () => {
  const details = makeDetails()
  assert.throws(() => details.get("run", "layer", { kind: "cross", layer: 1, head: 0 }), /the level layer is not at/)
  assert.throws(() => details.get("run", "attention", { stack: "decoder", layer: 1 }), /the level attention is not at/)
})

test("who listens hears of each detail, until no longer", () => {
  const details = makeDetails()
  let heard = 0
  const deaf = details.listen(() => heard++)
  details.put(packed(layer(0)))
  details.put(packed(layer(0)))
  assert.equal(heard, 2)
  deaf()
  details.put(packed(layer(1)))
  assert.equal(heard, 2)
})

test("details that come together are told of once", () => {
  const details = makeDetails()
  let heard = 0
  details.listen(() => heard++)
  const bytes = (values) => ({ encoding: "bytes", shape: [values.length], values })
  details.putAll({
    "detail.0": bytes(packed(layer(0))),
    other: bytes(packed(layer(1))),
    "detail.1": bytes(packed(head(2))),
  })
  assert.equal(heard, 1)
  assert.deepEqual(
    [layer(0), layer(1), head(2)].map((each) => has(details, each)),
    [true, false, true],
  )
})

test("where nothing comes nobody is told", () => {
  const details = makeDetails()
  let heard = 0
  details.listen(() => heard++)
  details.putAll({ other: { encoding: "bytes", shape: [0], values: new Uint8Array() } })
  assert.equal(heard, 0)
})

test("what was unused for longest goes first when there are too many bytes", () => {
  const details = makeDetails(100)
  for (const number of [0, 1, 2]) details.put(packed(layer(number), 32))
  assert.ok(has(details, layer(0))) // and so it is used
  details.put(packed(layer(3), 32))
  assert.deepEqual(
    [0, 1, 2, 3].map((number) => has(details, layer(number))),
    [true, false, true, true],
  )
})

test("the same detail anew takes the place of the old one, also in the count of bytes", () => {
  const details = makeDetails(100)
  details.put(packed(layer(0), 40))
  for (let again = 0; again < 5; again++) details.put(packed(layer(1), 40))
  assert.ok(has(details, layer(0)))
  assert.equal(details.get("run", "layer", { stack: "decoder", layer: 1 }).arrays.a.values.length, 40)
})

test("what came last stays, however large it is", () => {
  const details = makeDetails(100)
  details.put(packed(layer(0), 40))
  details.put(packed(layer(1), 400))
  assert.deepEqual(
    [0, 1].map((number) => has(details, layer(number))),
    [false, true],
  )
})

test("all modules of a page share one store", async () => {
  const { details } = await import("../../viz_transformer/figures/components/parts/details.js")
  assert.equal(globalThis.vizTransformerDetails, details)
})

test("what all pictures ask for at once is one question, to who answers now", async () => {
  const details = makeDetails()
  const heard = []
  assert.equal(details.connected, false)
  const end = details.connect((places) => heard.push(places))
  details.ask("a", [{ stack: "decoder", layer: 1 }])
  details.ask("b", [{ kind: "cross", layer: 0, head: 2 }])
  await new Promise((done) => setTimeout(done, 5))
  assert.deepEqual(heard, [
    [
      { of: "a", stack: "decoder", layer: 1 },
      { of: "b", kind: "cross", layer: 0, head: 2 },
    ],
  ])
  details.connect(() => heard.push("the next page's"))
  end() // of the page before
  assert.equal(details.connected, true)
  details.ask("a", [{ stack: "decoder", layer: 1 }])
  await new Promise((done) => setTimeout(done, 5))
  assert.deepEqual(heard.slice(1), ["the next page's"])
})

test("it is known what is there, and how many bytes of a run", () => {
  const details = makeDetails()
  details.put(packed(layer(0), 8))
  details.put(packed(layer(1), 16))
  details.put(packed(layer(0, "other"), 32))
  assert.equal(details.bytesOf("run"), 24)
  assert.equal(details.has("run", { stack: "decoder", layer: 1 }), true)
  assert.equal(details.has("run", { stack: "decoder", layer: 2 }), false)
  assert.equal(details.has("run", { kind: "cross", layer: 1, head: 0 }), false)
})
