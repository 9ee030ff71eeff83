import assert from "node:assert/strict"
import { test } from "node:test"
import {
  advance,
  alongWay,
  frontAt,
  phaseAt,
  STEP,
} from "../../viz_transformer/figures/components/parts/whole_flight.js"
import {
  fitting,
  heightOf,
  laneOf,
  lanesFor,
  placeWhole,
  wholeAt,
} from "../../viz_transformer/figures/components/parts/whole_places.js"
import {
  detailSentences,
  inputSentence,
  layerSentence,
  partFacts,
  partName,
  partSentence,
  readSentence,
  stepSentence,
  story,
  streamFacts,
  streamSentence,
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
  placeWhole({
    z: 1,
    width: 1000,
    height: 560,
    top: 4,
    stacks: [ENCODER, DECODER],
    bars: true,
    answer: false,
    ...changes,
  })
/** All columns of a band from the left to the right: [x, width]. */
const columns = ({ label, token, position, strips, blocks }) =>
  [label, token, position, ...strips, ...blocks.flatMap(({ keys, ribbon, ...block }) => [keys, span(ribbon), block])]
    .filter(Boolean)
    .map(({ x, width }) => [x, width])
    .sort(([a], [b]) => a - b)
const span = (ribbon) => ribbon && { x: ribbon[0], width: ribbon[1] - ribbon[0] }
const layersOf = (stack, layers) => ({
  ...stack,
  layers,
  parts: partsOf(layers, stack.name === "encoder" ? ["self", "ffn"] : ["self", "cross", "ffn"]),
})

test("columns follow each other within the width, names and ribbons too, the candidates behind the last", () => {
  for (const stacks of [[ENCODER, DECODER], [DECODER], [ENCODER]])
    for (const width of [358, 612, 700, 1000, 1680])
      for (const layers of [1, 2, 3, 6]) {
        const given = stacks.map((each) => ({ ...layersOf(each, layers), sums: true, keys: 34, widest: width / 8 }))
        const { bands, bars, beside } = placed({ stacks: given, width })
        const rows = beside ? [bands] : bands.map((each) => [each])
        rows.forEach((row, n) => {
          const candidates = n === rows.length - 1 ? [[bars.x, bars.width]] : []
          const all = [...row.flatMap(columns), ...candidates]
          for (let n = 1; n < all.length; n++)
            assert.ok(all[n][0] >= all[n - 1][0] + all[n - 1][1] - 1e-9, `${width} ${layers} ${n}`)
          const [x, last] = all[all.length - 1]
          if (width > 358 || layers < 3) assert.ok(x + last <= width + 1e-9, `${width} ${layers}`)
        })
      }
})

test("the decoder stands beside the encoder where both have room for their ribbons, else below it", () => {
  const { bands, beside, base } = placed()
  assert.ok(beside && bands[1].top === bands[0].top && bands[1].left > bands[0].end)
  assert.ok(bands.every(({ bottom }) => bottom <= base))
  for (const given of [
    { width: 358 },
    ...[480, 612].map((width) => ({ width, stacks: [ENCODER, { ...DECODER, widest: 67, keys: 34 }] })),
    { stacks: [ENCODER, { ...DECODER, count: 6 }].map((each) => layersOf(each, 12)) },
  ]) {
    const { bands, bars, beside, base } = placed(given)
    assert.ok(!beside && bands[1].top > bands[0].bottom + 40 && bands[1].bottom <= base)
    assert.ok(bars.y >= bands[1].top && bars.y + bars.row * bars.most <= base)
  }
})

test("what a cross-attention reads has its names in front of its ribbons, at the heights where these begin", () => {
  for (const width of [600, 1000]) {
    const { bands, memory, beside } = placed({ width, stacks: [ENCODER, { ...DECODER, keys: 34 }] })
    const [encoder, decoder] = bands
    const crosses = decoder.blocks.filter(({ part }) => part === "cross")
    for (const { keys, ribbon } of crosses) assert.ok(keys.width >= 10 && keys.x + keys.width <= ribbon[0])
    assert.equal(decoder.reads.count, encoder.count)
    if (beside) assert.deepEqual([decoder.reads.top, decoder.reads.lane], [encoder.top, encoder.lane])
    assert.equal(memory.length, crosses.length)
    memory.forEach((way, n) => {
      const [x, y] = way.at(-1)
      assert.ok(x >= crosses[n].keys.x && x <= crosses[n].ribbon[0])
      assert.ok(beside ? y > laneOf(decoder.reads, encoder.count - 1) : y < decoder.reads.top)
    })
  }
})

test("the answer stands below all, where it is asked for, and takes its room from the lanes", () => {
  const tokens = [ENCODER, { ...DECODER, count: 26 }]
  for (const stacks of [tokens, [tokens[1]]]) {
    const [none, some] = [false, true].map((answer) => placed({ stacks, answer }))
    assert.equal(none.answer, null)
    assert.ok(some.answer.y > some.base && some.base < none.base)
    assert.ok(some.bands.at(-1).lane < none.bands.at(-1).lane)
    const both = placed({ stacks, answer: true, text: true }) // what is read stands above it
    assert.deepEqual(both.answer, some.answer)
    assert.ok(both.base <= some.base - 20)
  }
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

test("where there is room the strips that the input is the sum of have a sign between them, else they stand close", () => {
  const bandOf = (changes, given) => placed({ stacks: [{ ...DECODER, ...changes }], ...given }).bands[0]
  const { token, position, strips, signs } = bandOf({ sums: true })
  const gaps = [
    [token.x + token.width, position.x],
    [position.x + position.width, strips[0].x],
  ]
  gaps.forEach(([from, to], n) => {
    assert.ok(to - from >= 10)
    assert.ok(Math.abs(signs[n] - (from + to) / 2) < 1e-9)
  })
  for (const [changes, given] of [
    [{ sums: false }],
    [{ sums: true, positions: false }],
    [{ sums: true }, { width: 700 }],
  ])
    assert.equal(bandOf(changes, given).signs, null)
  assert.equal(bandOf({ sums: false }).position.x - token.x - token.width, 3)
})

test("in a large window everything is larger, by the side that is nearest to its end", () => {
  assert.equal(fitting(992, 460), 1)
  assert.equal(fitting(1632, 460), 1)
  assert.ok(Math.abs(fitting(1632, 700) - 1.25) < 1e-9)
  assert.ok(Math.abs(fitting(1320, 1000) - 1.2) < 1e-9)
  assert.equal(fitting(3000, 2000), 1.4)
})

test("a picture has all of the room, and is no tower; two have a half each where that is enough", () => {
  const height = (room, width, pictures = 1) => heightOf({ room, asked: 700, width, pictures })
  assert.equal(height(460, 992), 460)
  assert.equal(height(820, 1632), 820)
  assert.equal(height(1800, 992), 700)
  assert.equal(height(460, 992, 2), 460)
  assert.ok(2 * height(820, 1632, 2) < 820 && height(820, 1632, 2) > 380)
})

test("few tokens have high lanes, and all of a short answer have their own from the first step on", () => {
  const lanes = (count, rows, height = 375) =>
    placed({
      stacks: [
        { ...ENCODER, count },
        { ...DECODER, count, rows },
      ],
      height,
      width: 1200,
    }).bands
  assert.ok(lanes(3, 1).every(({ lane }) => lane === 60))
  for (const rows of [1, 7, 14]) for (const { lane, count } of lanes(14, rows)) assert.ok(lane >= 18 && count === 14)
  const [, decoder] = lanes(14, 1)
  assert.equal(laneOf(decoder, 0), decoder.top + decoder.lane / 2)
  assert.ok(Math.abs(laneOf(decoder, 13) + decoder.lane / 2 - decoder.bottom) < 1e-9)
})

test("below each other what a short text does not need of the height is the other one's", () => {
  const bands = (...counts) =>
    placed({ width: 358, stacks: [ENCODER, DECODER].map((each, n) => ({ ...each, count: counts[n] })) }).bands
  assert.equal(bands(1, 40)[0].lane, 60)
  assert.ok(bands(1, 40)[1].lane > 1.1 * bands(40, 40)[1].lane)
  const [upper, lower] = bands(14, 30)
  assert.ok(Math.abs(upper.lane - lower.lane) < 0.1)
})

test("candidates keep their room beside long texts", () => {
  for (const width of [358, 1000]) {
    const stacks = [ENCODER, DECODER].map((each) => ({ ...each, count: 60 }))
    const { bars, bands, base } = placed({ width, stacks, height: 460 })
    assert.ok(bars.y + 6 * bars.row <= base && bands[1].bottom <= base)
  }
})

test("a place is a lane of a band and the sub-layer there, its ribbons included", () => {
  const whole = placed()
  const [, decoder] = whole.bands
  const block = decoder.blocks[1]
  assert.equal(block.part, "cross")
  for (const x of [block.keys.x + 1, block.ribbon[0] + 1, block.x + block.width - 1]) {
    const found = wholeAt(whole, x, laneOf(decoder, 7))
    assert.deepEqual([found.band.name, found.lane, found.block.index], ["decoder", 7, 1])
  }
  assert.equal(wholeAt(whole, decoder.strips[1].x + 1, laneOf(decoder, 0)).block, null)
  assert.equal(wholeAt(whole, 5, whole.base), null)
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
/** Weights as they are sent: of each row those that are there, by key, and the sum of the others. */
function strongest(name, shape, rows, rest = rows.map(() => 0)) {
  const starts = [0]
  for (const row of rows) starts.push(starts[starts.length - 1] + Object.keys(row).length)
  const flat = (of) => numbers([starts[rows.length]], rows.flatMap(of))
  return {
    [`keys.${name}`]: flat(Object.keys),
    [`weights.${name}`]: flat(Object.values),
    [`starts.${name}`]: numbers([starts.length], starts),
    [`rest.${name}`]: numbers(shape, rest),
  }
}
const ARRAYS = {
  "position.decoder": numbers([2, 1], [0, 0]),
  "share.decoder": numbers([3, 2], [0.1, 0.25, 0.5, 0.5, 0.125, 0.75]),
  ...strongest("decoder", [1, 2], [{ 0: 1 }, { 0: 0.375, 1: 0.625 }]),
  ...strongest("cross", [1, 2], [{ 0: 0.25, 1: 0.75 }, { 0: 0.875 }], [0, 0.125]),
  log_probs: numbers([2, 2], [Math.log(0.75), Math.log(0.25), Math.log(0.5), Math.log(0.25)]),
}

test("a sentence says where a token looks most, and how much that adds", () => {
  const [, decoder] = HEAD.stacks
  const said = (index, row) => partSentence(HEAD, ARRAYS, decoder, index, row)
  assert.equal(
    said(1, 1),
    "Decoder layer 0, cross-attention, mean of 4 heads: “nine” puts 87.5 % of its attention on “9”; adds 50.0 %.",
  )
  assert.match(
    said(0, 1),
    /^Decoder layer 0, self-attention, mean of 4 heads: “nine” puts 62\.5 % of its attention on “nine”; adds 25\.0 %\.$/,
  )
  assert.match(
    said(2, 0),
    /feed-forward: at “<s>” adds 12\.5 % \(length of the addition relative to stream \+ addition\)\.$/,
  )
  assert.match(partName(decoder, decoder.parts[1], 3), /cross-attention, head 3$/)
  assert.match(said(1, 0), /: “<s>” puts 75\.0 % of its attention on “<\/s>”; adds 50\.0 %\.$/)
})

test("of a sub-layer the shapes are said, and how long its vector is beside the stream's", () => {
  const [encoder, decoder] = HEAD.stacks
  const [keys, count] = [encoder.tokens.length, decoder.tokens.length]
  const arrays = {
    "came.decoder": numbers([3, 2], [1, 2, 3, 4, 5, 6]),
    "added.decoder": numbers([3, 2], [0.5, 1.5, 2.5, 3.25, 4.5, 0.001]),
  }
  assert.deepEqual(partFacts(HEAD, arrays, decoder, 1, 1), [
    `weights [4, ${count}, ${keys}]`,
    `output [${count}, 64]`,
    "adds length 3.25 to 4.00",
  ])
  assert.deepEqual(partFacts(HEAD, arrays, decoder, 0, 0)[0], `weights [4, ${count}, ${count}]`)
  assert.deepEqual(partFacts(HEAD, arrays, decoder, 2, 1), [`output [${count}, 64]`, "adds length <0.01 to 6.00"])
})

test("of a column of the stream it is said where it is, its shape and how long its vector is", () => {
  const decoder = { ...HEAD.stacks[1], layers: 1 }
  const arrays = { "length.decoder": numbers([3, 2], [1, 2, 3, 4, 5, 6]) }
  assert.deepEqual(streamFacts(arrays, decoder, 2, 1), ["stream [2, 64]", "length 6.00"])
  assert.deepEqual(
    [0, 1, 2].map((point) => streamSentence(decoder, point, 1)),
    [
      "The decoder's residual stream before layer 0, at “nine”.",
      "The decoder's residual stream after layer 0, at “nine”.",
      "The decoder's residual stream after the final norm, at “nine”.",
    ],
  )
})

test("weights of a layer are those of that layer", () => {
  const [, decoder] = HEAD.stacks
  const second = { ...decoder, parts: [{ layer: 1, part: "cross", kind: "cross", heads: 4 }] }
  const arrays = { ...ARRAYS, ...strongest("cross", [2, 2], [{}, { 0: 1 }, { 0: 0.5 }, { 1: 0.625 }]) }
  assert.match(
    partSentence(HEAD, arrays, second, 0, 1),
    /^Decoder layer 1, cross-attention, .*“nine” puts 62\.5 % of its attention on “<\/s>”;/,
  )
})

test("a row without weights attends to nothing, and one that is not a number says so", () => {
  const none = { ...ARRAYS, ...strongest("cross", [1, 2], [{}, {}], [Number.NaN, 0]) }
  const said = [0, 1].map((row) => partSentence(HEAD, none, HEAD.stacks[1], 1, row))
  assert.match(said[0], /has weights that are not a number\.$/)
  assert.match(said[1], /attends to nothing\.$/)
  const some = { ...ARRAYS, ...strongest("cross", [1, 2], [{ 1: 0.5 }, {}], [Number.NaN, 0]) }
  const also = /puts 50\.0 % of its attention on “<\/s>”; other weights of this row are not a number; adds/
  assert.match(partSentence(HEAD, some, HEAD.stacks[1], 1, 0), also)
})

test("a mean is said of several heads alone", () => {
  const [, decoder] = HEAD.stacks
  const part = { layer: 0, part: "self", kind: "decoder", heads: 1 }
  assert.equal(partName(decoder, part, null), "Decoder layer 0, self-attention, its one head")
  assert.equal(partName(decoder, { ...part, heads: 2 }, null), "Decoder layer 0, self-attention, mean of 2 heads")
})

test("a step whose probabilities are not numbers has no most probable token", () => {
  const log_probs = { ...ARRAYS.log_probs, values: ARRAYS.log_probs.values.map(() => Number.NaN) }
  const said = writtenSentence(HEAD, { ...ARRAYS, log_probs }, 0)
  assert.equal(said, "Writes “nine” (its probability is not a number, so no token is the likeliest).")
})

test("a sentence says what is written, also where it is not the most probable", () => {
  assert.equal(writtenSentence(HEAD, ARRAYS, 0), "Writes “nine” (75.0 %, the likeliest of 5,892 tokens).")
  assert.equal(writtenSentence(HEAD, ARRAYS, 1), "Writes “ten” (25.0 %; likeliest: “nine”, 50.0 %).")
})

test("a step is counted from 1, and a special token in a sentence has no quotation marks", () => {
  const read = { text: "<s>", special: true }
  assert.equal(
    stepSentence(HEAD, ARRAYS, 0, read),
    "Step 1 of 2: reads <s>, writes “nine” (75.0 %, the likeliest of 5,892 tokens).",
  )
  assert.match(stepSentence(HEAD, ARRAYS, 1, { text: "<s>" }), /^Step 2 of 2: reads “<s>”, writes “ten” \(25\.0 %;/)
})

test("what is as probable as the written token is named beside it, and no other is called the most probable", () => {
  const equal = (written, candidates, shares) =>
    writtenSentence(
      { ...HEAD, tokens: [..."abcd"].map((text) => ({ text })), candidates: [candidates], written: [written] },
      { log_probs: numbers([1, shares.length], shares.map(Math.log)) },
      0,
    )
  const none = "none of 5,892 tokens is likelier)."
  assert.equal(equal(0, [0, 1], [0.25, 0.25]), `Writes “a” (25.0 %, as likely as “b”; ${none}`)
  assert.equal(equal(1, [0, 1, 2], [0.25, 0.25, 0.125]), `Writes “b” (25.0 %, as likely as “a”; ${none}`)
  const all = equal(1, [0, 1, 2, 3], [0.25, 0.25, 0.25, 0.25])
  assert.equal(all, `Writes “b” (25.0 %, as likely as “a”, “c” and others; ${none}`)
  const below = equal(2, [0, 1, 2], [0.25, 0.25, 0.125])
  assert.equal(below, "Writes “c” (12.5 %; likeliest: “a” and “b”, 25.0 % each).")
})

test("the story of a token is its input and each sub-layer in turn", () => {
  const [encoder, decoder] = HEAD.stacks
  assert.equal(inputSentence(encoder, 1, false), "“</s>” becomes a vector of 64 numbers.")
  const told = story(HEAD, ARRAYS, decoder, 1)
  assert.equal(told.length, 4)
  assert.equal(told[0], "“nine” becomes a vector of 64 numbers; the vector of position 1 is added to it.")
})

const LAYER = [
  { layer: 2, part: "self", kind: "decoder", heads: 2 },
  { layer: 2, part: "ffn", units: 256 },
]
const perToken = (values) =>
  Object.fromEntries(Object.entries(values).map(([name, pair]) => [name, numbers([2], pair)]))
const OF_LAYER = {
  ...perToken({
    "share.self": [0.1, 0.25],
    "came.self": [9, 6],
    "added.self": [9, 2],
    "read.self": [9, 8],
    "left.self": [9, 7],
    "mean.self": [9, 0.5],
    "scale.self": [9, 1.25],
    "share.ffn": [0.1, 0.5],
    "came.ffn": [9, 3],
    "added.ffn": [9, 3],
    "read.ffn": [9, 4],
    "left.ffn": [9, 5],
    "active.ffn": [0.75, 0.375],
  }),
  ...strongest("self", [2, 2], [{}, { 0: 0.25, 1: 0.75 }, { 0: 1 }, {}]),
}

test("a layer says what each of its sub-layers adds at a token", () => {
  const [, decoder] = HEAD.stacks
  assert.equal(
    layerSentence(decoder, LAYER, OF_LAYER, 1),
    "Decoder layer 2 at “nine” adds to the residual stream: self-attention 25.0 %, feed-forward 50.0 %.",
  )
  assert.match(
    layerSentence(decoder, LAYER.slice(1), OF_LAYER, 0),
    /at “<s>” adds to the residual stream: feed-forward 10\.0 %\.$/,
  )
})

test("a sub-layer is told in order: its norm, where each head looks most, what it adds", () => {
  const [, decoder] = HEAD.stacks
  assert.deepEqual(detailSentences(decoder, LAYER[0], OF_LAYER, 1, { post: false, keys: decoder.tokens }), [
    "Its input is “nine” after a norm (mean 0.5000, scale 1.2500), of length 8.00.",
    "Head 0: “nine” puts 75.0 % of its attention on “nine”.",
    "Head 1: “nine” attends to nothing.",
    "It adds a vector of length 2.00 to a stream of length 6.00: 25.0 % of both lengths together.",
  ])
})

test("heads look at the tokens that are their keys", () => {
  const [encoder, decoder] = HEAD.stacks
  const part = { layer: 2, part: "cross", kind: "cross", heads: 1 }
  const arrays = { ...perToken({ "share.cross": [0, 0], "came.cross": [0, 0], "added.cross": [0, 0] }) }
  const told = detailSentences(
    decoder,
    part,
    { ...arrays, ...strongest("cross", [1, 2], [{ 1: 0.5 }, { 0: 0.25 }]) },
    0,
    {
      post: false,
      keys: encoder.tokens,
    },
  )
  assert.equal(told[0], "Head 0: “<s>” puts 50.0 % of its attention on “</s>”.")
})

test("in a post-norm model the norm stands behind the addition, and what is told is what it leaves", () => {
  const [, decoder] = HEAD.stacks
  const told = detailSentences(decoder, LAYER[0], OF_LAYER, 1, { post: true, keys: decoder.tokens })
  assert.match(told[0], /^Head 0:/)
  assert.equal(told.at(-1), "A norm after it (mean 0.5000, scale 1.2500) rescales it to length 7.00.")
  assert.match(told.at(-2), /^It adds a vector of length 2\.00/)
})

test("a feed-forward says how many of its units are above 0; of a norm that is not told nothing is said", () => {
  const [, decoder] = HEAD.stacks
  const adds = "It adds a vector of length 3.00 to a stream of length 3.00: 50.0 % of both lengths together."
  for (const post of [false, true])
    assert.deepEqual(detailSentences(decoder, LAYER[1], OF_LAYER, 1, { post, keys: null }), [
      "37.5 % of its 256 hidden units are above 0.",
      adds,
    ])
  const { "active.ffn": _, ...untold } = OF_LAYER
  assert.deepEqual(detailSentences(decoder, LAYER[1], untold, 1, { post: false, keys: null }), [adds])
})

test("heads that are not told have no sentences", () => {
  const [, decoder] = HEAD.stacks
  const { heads: _, ...untold } = LAYER[0]
  const told = detailSentences(decoder, untold, OF_LAYER, 1, { post: false, keys: decoder.tokens })
  assert.equal(told.length, 2)
})

test("a decoder has as many lanes as can be read, and one more for each row behind them", () => {
  const lanes = (all, fits) => [1, 17, 18, 30, 126, 127, 128].map((rows) => lanesFor(Math.min(rows, all), all, fits))
  assert.deepEqual(lanes(128, 18), [18, 18, 19, 31, 127, 128, 128])
  for (const few of [5, 14, 27]) assert.deepEqual(new Set(lanes(few, 18)), new Set([few])) // nearly all can be read
  for (let rows = 1; rows < 128; rows++) assert.ok(lanesFor(rows, 128, 18) > rows)
})

const rounded = (/** @type {number[][][]} */ ways) => ways.map((way) => way.map((at) => at.map(Math.round)))

test("from step to step nothing moves but the lanes of a long answer, by less than one of them", () => {
  for (const width of [358, 1000]) {
    const at = (rows) =>
      placed({
        width,
        height: 460,
        stacks: [
          { ...ENCODER, count: 26 },
          { ...DECODER, count: 78, rows },
        ],
      })
    for (let rows = 1; rows < 78; rows++) {
      const [before, after] = [at(rows), at(rows + 1)]
      assert.deepEqual(before.bands[0], after.bands[0])
      assert.deepEqual(before.bars, after.bars)
      assert.deepEqual(rounded(before.memory), rounded(after.memory))
      const [a, b] = [before.bands[1], after.bands[1]]
      assert.deepEqual([a.top, a.blocks, a.reads], [b.top, b.blocks, b.reads])
      assert.ok(a.bottom <= before.base && Math.abs(a.bottom - b.bottom) < 1e-9)
      for (let row = 0; row < rows; row++) assert.ok(Math.abs(laneOf(a, row) - laneOf(b, row)) < b.lane)
    }
  }
})

test("what is read and not written on is said of one token as of many", () => {
  const of = (...texts) => readSentence({ tokens: texts.map((text) => ({ text })) })
  assert.equal(of("a"), "“a” is read alone; nothing is written.")
  assert.equal(of("a", "b"), "“a” and one more token are read, all at the same time; nothing is written.")
  assert.equal(of("a", "b", "c"), "“a” and 2 more tokens are read, all at the same time; nothing is written.")
})
