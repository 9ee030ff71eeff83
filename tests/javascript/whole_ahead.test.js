import assert from "node:assert/strict"
import { test } from "node:test"
import {
  AGAIN,
  AT_REST,
  asking,
  askingAhead,
  isDue,
  lackSentence,
  NEXT,
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

test("of the whole run its layers come in the order of the ways to them, and the head that is chosen", () => {
  assert.deepEqual(places({ kind: "cross", layer: 1, heads: [1] }), [
    "decoder 1",
    "decoder 0",
    "encoder 1",
    "encoder 0",
    "cross 1.1",
  ])
  assert.deepEqual(places({ kind: "encoder", layer: 0, heads: "mean", level: "run" }), [
    "encoder 0",
    "encoder 1",
    "decoder 0",
    "decoder 1",
    "encoder 0.0",
  ])
})

test("of a layer its attentions come, the chosen one first, and the layers beside it", () => {
  assert.deepEqual(places({ kind: "cross", layer: 0, heads: [1], level: "layer" }), [
    "decoder 0",
    "cross 0.1",
    "decoder 0.1",
    "encoder 1",
    "decoder 1",
  ])
})

test("of an attention its heads come, the nearest first, its layer, and the attentions beside it, each once", () => {
  for (const level of ["attention", "weight"])
    assert.deepEqual(places({ kind: "decoder", layer: 1, heads: [1], level }), [
      "decoder 1.1",
      "decoder 1.0",
      "decoder 1",
      "cross 0.1",
      "cross 1.1",
    ])
  const [many] = [partsOf(1, [["self", "encoder"]]).map((part) => ({ ...part, heads: 6 }))]
  const all = places(
    { kind: "encoder", layer: 0, heads: [4], level: "attention" },
    { stacks: [{ ...ENCODER, parts: many }] },
  )
  assert.deepEqual(all, [
    "encoder 0.4",
    "encoder 0.3",
    "encoder 0.5",
    "encoder 0",
    "encoder 0.2",
    "encoder 0.1",
    "encoder 0.0",
  ])
})

/** What asks ahead for places a, b and c, with a clock: `after` lets time pass, `asked` says what was asked for and when. */
function asking3(t, given = {}) {
  t.mock.timers.enable({ apis: ["setTimeout"] })
  let now = 0
  const [asked, there, state] = [[], new Set(), { busy: false }]
  const ahead = askingAhead({
    next: (isVain) => ["a", "b", "c"].find((each) => !there.has(each) && !isVain(each)) ?? null,
    ask: (place) => asked.push([place, now]),
    isBusy: () => state.busy,
    now: () => now,
    ...given,
  })
  const after = (milliseconds) => {
    for (let n = 0; n < milliseconds; n += 10) {
      now += 10
      t.mock.timers.tick(10)
    }
  }
  const comes = (place) => {
    there.add(place)
    ahead.came()
  }
  return { ahead, asked, after, comes, state }
}

test("at rest one detail after the other is asked for, each when the one before it has come", (t) => {
  const { ahead, asked, after, comes } = asking3(t)
  ahead.looksAt("x")
  after(AT_REST - 10)
  assert.deepEqual(asked, [])
  after(10)
  assert.deepEqual(asked, [["a", AT_REST]])
  after(500)
  assert.equal(asked.length, 1)
  comes("a")
  after(NEXT)
  assert.deepEqual(asked[1], ["b", AT_REST + 500 + NEXT])
  comes("b")
  comes("c")
  after(10_000)
  assert.equal(asked.length, 2)
})

test("whoever does something is left alone until nothing happens again, and while a button is down", (t) => {
  const { ahead, asked, after, comes } = asking3(t)
  ahead.looksAt("x")
  after(AT_REST)
  ahead.moves()
  comes("a")
  after(AT_REST - 20)
  assert.equal(asked.length, 1)
  ahead.moves({ buttons: 1 })
  after(5000)
  assert.equal(asked.length, 1)
  ahead.moves({ buttons: 0 })
  after(AT_REST - 20)
  assert.equal(asked.length, 1)
  after(AT_REST)
  assert.equal(asked.length, 2)
})

test("what does not come is asked for once more and then passed over, until there is another run", (t) => {
  const { ahead, asked, after } = asking3(t)
  ahead.looksAt("x")
  after(AT_REST + 2 * AGAIN)
  assert.deepEqual(
    asked.map(([place]) => place),
    ["a", "a", "b"],
  )
  after(10 * AGAIN)
  assert.equal(asked.length, 6)
  ahead.looksAt("y")
  after(10 * AGAIN)
  assert.equal(asked.length, 6)
  ahead.anew()
  ahead.looksAt("y")
  after(AT_REST)
  assert.deepEqual(asked[6][0], "a")
})

test("while something moves by itself nothing is asked for, and behind its end nothing either", (t) => {
  const { ahead, asked, after, state } = asking3(t)
  state.busy = true
  ahead.looksAt("x")
  after(5 * AT_REST)
  state.busy = false
  after(5 * AT_REST)
  assert.deepEqual(asked, [])
  ahead.looksAt("x")
  after(AT_REST)
  assert.equal(asked.length, 1)
  ahead.end()
  ahead.came()
  after(10 * AGAIN)
  assert.equal(asked.length, 1)
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
