import assert from "node:assert/strict"
import { test } from "node:test"
import {
  advance,
  alongWay,
  frontAt,
  phaseAt,
  STEP,
} from "../../viz_transformer/figures/components/parts/whole_flight.js"
import { laneOf, placeWhole, ribbonsOf, wholeAt } from "../../viz_transformer/figures/components/parts/whole_places.js"
import {
  inputSentence,
  partName,
  partSentence,
  story,
  writtenSentence,
} from "../../viz_transformer/figures/components/parts/whole_words.js"

const partsOf = (layers, parts) =>
  Array.from({ length: layers }, (_, layer) => parts.map((part) => ({ layer, part }))).flat()
const ENCODER = {
  name: "encoder",
  count: 5,
  layers: 2,
  parts: partsOf(2, ["self", "ffn"]),
  positions: true,
  final: true,
  widest: 40,
}
const DECODER = { ...ENCODER, name: "decoder", count: 20, layers: 3, parts: partsOf(3, ["self", "cross", "ffn"]) }
const placed = (changes = {}) =>
  placeWhole({ z: 1, width: 1000, height: 560, top: 26, stacks: [ENCODER, DECODER], bars: true, ...changes })
/** All columns of a band from the left to the right: [x, width]. */
const columns = ({ label, token, position, strips, blocks }) =>
  [label, token, position, ...strips, ...blocks]
    .filter(Boolean)
    .map(({ x, width, ribbon }) => (ribbon ? [ribbon[0], x + width - ribbon[0]] : [x, width]))
    .sort(([a], [b]) => a - b)

test("columns follow each other within the width, the candidates behind the last", () => {
  for (const stacks of [[ENCODER, DECODER], [DECODER], [ENCODER]])
    for (const width of [700, 1000, 1680]) {
      const { bands, bars } = placed({ stacks, width })
      const all = [...bands.flatMap(columns), [bars.x, bars.width]]
      for (let n = 1; n < all.length; n++) assert.ok(all[n][0] >= all[n - 1][0] + all[n - 1][1] - 1e-9, `${width} ${n}`)
      const [x, last] = all[all.length - 1]
      assert.ok(x + last <= width + 1e-9)
    }
})

test("the decoder stands below the encoder and to the right of it, the answer to the left of the decoder", () => {
  const { bands, answer, base } = placed()
  assert.ok(bands[1].top > bands[0].bottom && bands[1].left > bands[0].end)
  assert.ok(answer.x + answer.width < bands[1].left && answer.y > bands[0].bottom && answer.y + answer.height <= base)
  assert.ok(bands[1].bottom <= base)
})

test("a stack without positions has one strip for its input, one without a final norm ends behind its last layer", () => {
  const [band] = placed({ stacks: [{ ...DECODER, positions: false, final: false }] }).bands
  assert.equal(band.position, null)
  assert.deepEqual(
    band.strips.map(({ point }) => point),
    [0, 1, 2, 3],
  )
  assert.equal(band.strips[0].x, band.token.x)
  assert.deepEqual(
    placed({ stacks: [DECODER] }).bands[0].strips.map(({ point }) => point),
    [0, 1, 2, 3, 4],
  )
})

test("lanes share the height of their band, and are no higher than 24 pixels", () => {
  const { bands } = placed()
  assert.equal(bands[0].lane, 24)
  assert.ok(bands[1].lane < 24)
  assert.equal(laneOf(bands[0], 0), bands[0].top + 12)
  assert.ok(Math.abs(laneOf(bands[1], 19) + bands[1].lane / 2 - bands[1].bottom) < 1e-9)
})

test("what a short text does not need of the height is the other one's", () => {
  const short = placed({ stacks: [ENCODER, { ...DECODER, count: 40 }] }).bands
  const long = placed({
    stacks: [
      { ...ENCODER, count: 40 },
      { ...DECODER, count: 40 },
    ],
  }).bands
  assert.equal(short[0].lane, 24)
  assert.equal(long[0].lane, long[1].lane)
  assert.ok(short[1].lane > 1.2 * long[1].lane)
  const { bands, base } = placed({
    stacks: [
      { ...ENCODER, count: 2 },
      { ...DECODER, count: 2 },
    ],
  })
  assert.ok(bands[1].top - bands[0].bottom < 60 && bands[1].bottom < base)
})

test("a place is a lane of a band and the sub-layer there, its ribbons included", () => {
  const whole = placed()
  const [, decoder] = whole.bands
  const block = decoder.blocks[1]
  assert.equal(block.part, "cross")
  for (const x of [block.ribbon[0] + 1, block.x + block.width - 1]) {
    const found = wholeAt(whole, x, laneOf(decoder, 7))
    assert.deepEqual([found.band.name, found.lane, found.block.index], ["decoder", 7, 1])
  }
  assert.equal(wholeAt(whole, decoder.strips[1].x + 1, laneOf(decoder, 0)).block, null)
  assert.equal(wholeAt(whole, 5, whole.base), null)
})

test("ribbons are as wide as their weights and lie side by side; what is small is one", () => {
  const { ribbons, rest, restAt } = ribbonsOf([0.5, 0.01, 0, 0.25, 0.015, 0.225], 0.02)
  assert.deepEqual(
    ribbons.map(({ key }) => key),
    [5, 3, 0], // the strongest last
  )
  const at = Object.fromEntries(ribbons.map(({ key, at }) => [key, at]))
  assert.ok(Math.abs(at[0] + 0.25) < 1e-9) // from -0.5 to 0
  assert.ok(Math.abs(at[3] - 0.125) < 1e-9)
  assert.ok(Math.abs(rest - 0.025) < 1e-9)
  assert.ok(Math.abs(restAt - 0.4875) < 1e-9)
})

test("what is not a number has no ribbon", () => {
  assert.deepEqual(ribbonsOf([Number.NaN, 0, -1], 0.02), { ribbons: [], rest: 0, restAt: 0 })
})

test("a step is embedded, flows, becomes candidates and goes back", () => {
  assert.deepEqual(
    [0, 0.11, 0.12, 0.69, 0.7, 0.81, 0.82, 1].map((p) => phaseAt(p).phase),
    ["embed", "embed", "layers", "layers", "bars", "bars", "back", "back"],
  )
  assert.equal(phaseAt(0.06).part, 0.5)
  assert.equal(phaseAt(1).part, 1)
})

test("time leads through the steps and stops behind the last", () => {
  assert.deepEqual(advance({ t: 0, p: 0 }, STEP / 4, 2), { t: 0, p: 0.25, over: false })
  assert.deepEqual(advance({ t: 0, p: 0.75 }, STEP, 2), { t: 1, p: 0.75, over: false })
  assert.deepEqual(advance({ t: 2, p: 0.75 }, STEP, 2), { t: 2, p: 1, over: true })
})

test("the front is at the input while the token is embedded and behind the last layer from then on", () => {
  const places = { from: 100, input: 160, end: 500 }
  const front = (p) => frontAt(p, places)
  assert.equal(front(0), 100)
  assert.ok(Math.abs(front(0.12) - 160) < 1e-9)
  assert.ok(Math.abs(front(0.41) - 330) < 1e-9)
  assert.equal(front(0.75), 500)
  assert.equal(front(0.9), 500)
})

test("a way is walked at an even pace around its corners", () => {
  const way = [
    [0, 0],
    [30, 0],
    [30, 10],
  ]
  assert.deepEqual(
    [0, 0.5, 0.75, 0.875, 1].map((part) => alongWay(way, part)),
    [
      [0, 0],
      [20, 0],
      [30, 0],
      [30, 5],
      [30, 10],
    ],
  )
})

const HEAD = {
  head: null,
  vocabulary: 5892,
  tokens: [{ text: "nine" }, { text: "ten" }],
  candidates: [
    [0, 1],
    [0, 1],
  ],
  written: [0, 1],
  stacks: [
    { name: "encoder", tokens: [{ text: "9" }, { text: "</s>" }], parts: [{ layer: 0, part: "ffn" }], features: 64 },
    {
      name: "decoder",
      tokens: [{ text: "<s>" }, { text: "nine" }],
      parts: [
        { layer: 0, part: "self", kind: "decoder", heads: 4 },
        { layer: 0, part: "cross", kind: "cross", heads: 4 },
        { layer: 0, part: "ffn" },
      ],
      features: 64,
    },
  ],
}
const numbers = (shape, values) => ({ shape, values: Float32Array.from(values) })
const ARRAYS = {
  "position.decoder": numbers([2, 1], [0, 0]),
  "share.decoder": numbers([3, 2], [0.1, 0.25, 0.5, 0.5, 0.125, 0.75]),
  "weights.decoder": numbers([1, 2, 2], [1, 0, 0.375, 0.625]),
  "weights.cross": numbers([1, 2, 2], [0.25, 0.75, 0.875, 0.125]),
  log_probs: numbers([2, 2], [Math.log(0.75), Math.log(0.25), Math.log(0.5), Math.log(0.25)]),
}

test("a sentence says what a token takes most of, and what that adds", () => {
  const [, decoder] = HEAD.stacks
  const said = (index, row) => partSentence(HEAD, ARRAYS, decoder, index, row)
  assert.equal(
    said(1, 1),
    "Decoder layer 0, cross-attention, mean of 4 heads: “nine” takes 87.5 % from “9”; share added 50.0 %.",
  )
  assert.match(
    said(0, 1),
    /^Decoder layer 0, self-attention, mean of 4 heads: “nine” takes 62\.5 % from “nine”; share added 25\.0 %\.$/,
  )
  assert.match(said(2, 0), /^Decoder layer 0, feed-forward: at “<s>”, share added 12\.5 % of/)
  assert.match(partName(decoder, decoder.parts[1], 3), /cross-attention, head 3$/)
})

test("a row without weights takes nothing", () => {
  const none = { ...ARRAYS, "weights.cross": numbers([1, 2, 2], [Number.NaN, Number.NaN, 0, 0]) }
  for (const row of [0, 1]) assert.match(partSentence(HEAD, none, HEAD.stacks[1], 1, row), /takes nothing\.$/)
})

test("a sentence says what is written, also where it is not the most probable", () => {
  assert.equal(writtenSentence(HEAD, ARRAYS, 0), "Of 5,892 tokens “nine” is the most probable, 75.0 %, and is written.")
  assert.equal(writtenSentence(HEAD, ARRAYS, 1), "“ten” is written, 25.0 %; the most probable was “nine”, 50.0 %.")
})

test("the story of a token is its input and each sub-layer in turn", () => {
  const [encoder, decoder] = HEAD.stacks
  assert.equal(inputSentence(encoder, 1, false), "“</s>” becomes a vector of 64 numbers.")
  const told = story(HEAD, ARRAYS, decoder, 1)
  assert.equal(told.length, 4)
  assert.equal(told[0], "“nine” becomes a vector of 64 numbers, to which that of position 1 is added.")
})
