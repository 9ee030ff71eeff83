import assert from "node:assert/strict"
import { test } from "node:test"
import {
  AGAIN,
  asking,
  isDue,
  lackSentence,
  NO_QUESTION,
  nearest,
} from "../../viz_transformer/figures/components/parts/whole_ahead.js"

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

/** When one place is asked for, of all draws at these times, and what is thought of it at the last one. */
function questions(times, of = () => "a") {
  let question = NO_QUESTION
  const asked = []
  for (const now of times) {
    if (isDue(question, of(now), now) !== "ask") continue
    question = asking(question, of(now), now)
    asked.push([of(now), now])
  }
  return { asked, last: isDue(question, of(times.at(-1)), times.at(-1)) }
}

test("what is looked at and never comes is asked for twice, and not again however often the picture is drawn", () => {
  const [second, third] = [AGAIN + 50, 2 * (AGAIN + 50)]
  assert.deepEqual(questions([0, 16, AGAIN]), { asked: [["a", 0]], last: "wait" })
  const twice = [
    ["a", 0],
    ["a", second],
  ]
  assert.deepEqual(questions([0, second, second + 16]), { asked: twice, last: "wait" })
  assert.deepEqual(questions([0, second, third]), { asked: twice, last: "vain" })
  assert.deepEqual(questions(Array.from({ length: 100 }, (_, n) => n * second)).asked, twice)
})

test("what was asked for in vain is asked for again when something else was looked at meanwhile", () => {
  const { asked } = questions([0, 3000, 6000, 7000, 8000], (now) => (now === 7000 ? "b" : "a"))
  assert.deepEqual(asked, [
    ["a", 0],
    ["a", 3000],
    ["b", 7000],
    ["a", 8000],
  ])
})

test("a detail that is not there is not said to be fetched when it will not come", () => {
  assert.match(lackSentence("layer", { alone: false, vain: false }), /^This layer is being fetched/)
  assert.match(
    lackSentence("layer", { alone: false, vain: true }),
    /of this layer have not come.*choose the text again/,
  )
  for (const vain of [false, true])
    assert.match(lackSentence("weight", { alone: true, vain }), /stands alone.*this weight is not in it/)
})
