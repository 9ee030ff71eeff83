import assert from "node:assert/strict"
import { test } from "node:test"
import { nearest } from "../../viz_transformer/figures/components/parts/whole_ahead.js"

const partsOf = (layers, kinds) =>
  Array.from({ length: layers }, (_, layer) => kinds.map(([part, kind]) => ({ layer, part, kind, heads: 2 }))).flat()
const ENCODER = { name: "encoder", layers: 2, parts: partsOf(2, [["self", "encoder"], ["ffn"]]) }
const DECODER = { name: "decoder", layers: 2, parts: partsOf(2, [["self", "decoder"], ["cross", "cross"], ["ffn"]]) }
const BOTH = { stacks: [ENCODER, DECODER] }
const short = ({ stack, kind, layer, head }) => (stack ? `${stack} ${layer}` : `${kind} ${layer}.${head}`)
const places = (chosen, head = BOTH) => nearest(head, chosen).map(short)

test("what is chosen is asked for first, then what is beside it, and in the end all, each once", () => {
  const all = places({ kind: "cross", layer: 1, heads: [1] })
  assert.deepEqual(all.slice(0, 3), ["decoder 1", "cross 1.1", "cross 1.0"])
  assert.equal(new Set(all).size, all.length)
  assert.equal(all.length, 4 + 2 * 2 + 2 * 2 * 2)
})

test("the layers come in the order of the ways to them, with the head that one would see there", () => {
  const all = places({ kind: "cross", layer: 1, heads: [1] })
  assert.deepEqual(all.slice(3, 11), [
    "decoder 1.1",
    "decoder 0",
    "decoder 0.1",
    "cross 0.1",
    "encoder 1",
    "encoder 1.1",
    "encoder 0",
    "encoder 0.1",
  ])
  const first = places({ kind: "encoder", layer: 0, heads: "mean" })
  assert.deepEqual(
    first.filter((each) => !each.includes(".")),
    ["encoder 0", "encoder 1", "decoder 0", "decoder 1"],
  )
  assert.ok(first.indexOf("cross 1.0") < first.indexOf("cross 1.1"))
})
