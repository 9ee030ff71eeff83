import assert from "node:assert/strict"
import { test } from "node:test"
import {
  blockBeside,
  isAt,
  leadFrom,
  placeLocator,
  placeOf,
  wordsOf,
} from "../../viz_transformer/figures/components/parts/locator.js"

const self = (kind) => ({ part: "self", name: "self-attention", kind })
const cross = { part: "cross", name: "cross-attention", kind: "cross" }
const ffn = { part: "ffn", name: "feed-forward" }
const encoder = (layers, given = {}) => ({
  name: "encoder",
  side: "source",
  layers,
  parts: [self("encoder"), ffn],
  final: true,
  output: false,
  ...given,
})
const decoder = (layers, given = {}) => ({
  name: "decoder",
  side: "target",
  layers,
  parts: [self("decoder"), cross, ffn],
  final: true,
  output: true,
  ...given,
})
const alone = (layers) => decoder(layers, { parts: [self("decoder"), ffn] })
const both = [encoder(3), decoder(2)]
const [WIDTH, HEIGHT] = [180, 142]
const placed = (stacks) => placeLocator({ stacks }, WIDTH, HEIGHT)
const titles = (blocks) => blocks.map(({ title }) => title)
const marked = (stacks, looks, chosen) => {
  const place = placeOf({ looks, stacks }, chosen)
  return placed(stacks).blocks.filter((block) => isAt(block, place))
}
const blockOf = (stacks, title) => placed(stacks).blocks.find((block) => block.title === title)

test("a block stands for each part, from the input of a stack down to what it ends with", () => {
  const { blocks, names } = placed([encoder(1), decoder(2, { final: false })])
  assert.deepEqual(titles(blocks), [
    "input of the encoder",
    "encoder layer 0, self-attention",
    "encoder layer 0, feed-forward",
    "final norm of the encoder",
    "input of the decoder",
    "decoder layer 0, self-attention",
    "decoder layer 0, cross-attention",
    "decoder layer 0, feed-forward",
    "decoder layer 1, self-attention",
    "decoder layer 1, cross-attention",
    "decoder layer 1, feed-forward",
    "output of the decoder",
  ])
  assert.deepEqual(
    names.map(({ text, side, x }) => [text, side, x]),
    [
      ["encoder", "source", 0],
      ["decoder", "target", 97],
    ],
  )
})

test("models of any depth are within the room, no two blocks overlap, and the names are free", () => {
  const models = [1, 2, 4, 6, 12, 24, 48, 256].flatMap((n) => [
    [encoder(n), decoder(n)],
    [encoder(2), decoder(n)],
    [alone(n)],
    [encoder(n, { output: true })],
  ])
  const near = 1e-6
  for (const stacks of models) {
    const { blocks } = placed(stacks)
    assert.equal(blocks.length, new Set(titles(blocks)).size)
    for (const { x, y, width, height } of blocks) {
      assert.ok(x >= 0 && x + width <= WIDTH + near && y >= 18 && y + height <= HEIGHT + near)
      assert.ok(width > 1.5 && height > 1.5)
    }
    for (const [n, a] of blocks.entries())
      for (const b of blocks.slice(n + 1))
        assert.ok(
          a.x + a.width <= b.x + near ||
            b.x + b.width <= a.x + near ||
            a.y + a.height <= b.y + near ||
            b.y + b.height <= a.y + near,
        )
  }
})

test("layers stand in one column while rows are high enough, then in the fewest in which they are", () => {
  const columns = (stacks) => new Set(placed(stacks).blocks.flatMap(({ kind, x }) => (kind ? [x] : []))).size
  const heights = (stacks) => placed(stacks).blocks.map(({ height }) => height)
  assert.deepEqual(
    [1, 4, 6, 12, 24, 48].map((n) => columns([alone(n)])),
    [1, 1, 1, 2, 4, 8],
  )
  assert.deepEqual(
    [4, 6, 12].map((n) => columns([encoder(n), decoder(n)])),
    [2, 3, 5],
  )
  for (const n of [1, 4, 6, 12, 24, 48]) assert.ok(heights([alone(n)]).every((height) => 7 <= height && height <= 16))
})

test("the memory leads from the encoder's last block to each cross-attention beside it", () => {
  const { blocks, memory } = placed(both)
  const middle = ({ y, height }) => y + height / 2
  const reading = blocks.filter(({ part }) => part === "cross")
  const last = blocks.find(({ title }) => title === "final norm of the encoder")
  assert.deepEqual(memory[0], [
    [83, middle(last)],
    [90, middle(last)],
  ])
  assert.deepEqual(
    memory.slice(2).map(([, end]) => end),
    reading.map((block) => [97, middle(block)]),
  )
  assert.deepEqual(placed([alone(2)]).memory, [])
  assert.deepEqual(placed([encoder(1), alone(1)]).memory, [])
})

test("what is looked at is the attention of the chosen kind and layer, on Masks of its own kind", () => {
  const chosen = { kind: "cross", layer: 1, mask_kind: "encoder" }
  assert.deepEqual(titles(marked(both, "kind", chosen)), ["decoder layer 1, cross-attention"])
  assert.deepEqual(titles(marked(both, "mask_kind", chosen)), ["encoder layer 1, self-attention"])
  assert.deepEqual(marked(both, "mask_kind", { ...chosen, mask_kind: null }), [])
  assert.deepEqual(marked([alone(4)], "kind", chosen), [])
  assert.deepEqual(marked(both, "kind", { kind: "cross", layer: 2 }), [])
  assert.deepEqual(marked(both, "", chosen), [])
})

test("on Layers it is the chosen part, of a recording the whole layer", () => {
  const of = (part, looks = "part") => marked(both, looks, { kind: "cross", layer: 1, part })
  assert.deepEqual(titles(of("attention")), ["decoder layer 1, cross-attention"])
  assert.deepEqual(titles(of("ffn")), ["decoder layer 1, feed-forward"])
  assert.deepEqual(titles(of("final")), ["final norm of the decoder"])
  assert.equal(of(undefined, "layer").length, 3)
  assert.equal(wordsOf(of(undefined, "layer")), "decoder layer 1")
  assert.deepEqual(marked([decoder(2, { final: false })], "part", { kind: "cross", layer: 1, part: "final" }), [])
})

test("on Input and Positions it is the input of the chosen side, or of the one stack there is", () => {
  assert.deepEqual(titles(marked(both, "input_side", { input_side: "target" })), ["input of the decoder"])
  assert.deepEqual(titles(marked(both, "input_side", { input_side: "source" })), ["input of the encoder"])
  assert.deepEqual(titles(marked([alone(2)], "input_side", { input_side: "source" })), ["input of the decoder"])
  assert.deepEqual(titles(marked(both, "pos_stack", { pos_stack: "decoder" })), ["input of the decoder"])
  assert.deepEqual(titles(marked(both, "pos_stack", { pos_stack: "" })), ["input of the encoder"])
  assert.deepEqual(titles(marked(both, "output", {})), ["output of the decoder"])
})

test("on Tensors it is where the point is", () => {
  for (const [point, words, count = 1] of [
    ["decoder.1.cross.weights", "decoder layer 1, cross-attention"],
    ["encoder.2.ffn.hidden", "encoder layer 2, feed-forward"],
    ["decoder.0.self.norm_mean", "decoder layer 0, self-attention"],
    ["encoder.1.residual_in", "encoder layer 1", 2],
    ["decoder.1.residual_after_cross_sum", "decoder layer 1", 3],
    ["decoder.embed.token", "input of the decoder"],
    ["encoder.out", "final norm of the encoder"],
    ["decoder.norm_scale", "final norm of the decoder"],
    ["logits", "output of the decoder"],
    ["decoder.7.self.weights", "", 0],
    ["modules.encoder.0", "", 0],
    ["", "decoder layer 1, self-attention"], // the page begins with the chosen attention
  ]) {
    const found = marked(both, "point", { point, kind: "decoder", layer: 1 })
    assert.deepEqual([wordsOf(found), found.length], [words, count], point)
  }
  const postNorm = [decoder(2, { final: false })]
  assert.equal(wordsOf(marked(postNorm, "point", { point: "decoder.out" })), "decoder layer 1")
})

test("an attention is chosen on a page that shows attentions, else on Attention", () => {
  const block = blockOf(both, "encoder layer 2, self-attention")
  const lead = (looks) => leadFrom(block, { looks, stacks: both }, { kind: "cross" })
  assert.deepEqual(lead("kind"), { page: "", fields: { kind: "encoder", layer: 2 } })
  assert.deepEqual(lead("mask_kind"), { page: "", fields: { mask_kind: "encoder", layer: 2 } })
  assert.deepEqual(lead("part"), { page: "", fields: { kind: "encoder", layer: 2, part: "attention" } })
  assert.deepEqual(lead("point"), {
    page: "",
    fields: { kind: "encoder", layer: 2, point: "encoder.2.self.weights" },
  })
  for (const looks of ["", "output", "input_side", "pos_stack"])
    assert.deepEqual(lead(looks), { page: "attention", fields: { kind: "encoder", layer: 2 } })
})

test("a feed-forward and a norm lead to Layers, input and output to theirs", () => {
  const lead = (title, chosen) => leadFrom(blockOf(both, title), { looks: "kind", stacks: both }, chosen)
  assert.deepEqual(lead("decoder layer 0, feed-forward", { kind: "encoder" }), {
    page: "layers",
    fields: { kind: "decoder", layer: 0, part: "ffn" },
  })
  assert.deepEqual(lead("decoder layer 0, feed-forward", { kind: "cross" }), {
    page: "layers",
    fields: { kind: "cross", layer: 0, part: "ffn" }, // what is of the same stack stays
  })
  assert.deepEqual(lead("final norm of the encoder", { kind: "cross" }), {
    page: "layers",
    fields: { kind: "encoder", part: "final" },
  })
  assert.deepEqual(lead("input of the decoder", {}), { page: "input", fields: { input_side: "target" } })
  assert.deepEqual(lead("output of the decoder", {}), { page: "decoding", fields: {} })
})

test("arrows go along a stack and to the nearest block beside it, and reach every block", () => {
  for (const stacks of [both, [encoder(12), decoder(12)], [alone(48)]]) {
    const { blocks } = placed(stacks)
    const reached = new Set([0])
    for (const index of reached)
      for (const key of ["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"])
        reached.add(blockBeside(blocks, index, key))
    assert.equal(reached.size, blocks.length)
  }
  const { blocks } = placed(both)
  const walk = (from, ...keys) =>
    blocks[
      keys.reduce(
        (at, key) => blockBeside(blocks, at, key),
        blocks.findIndex(({ title }) => title === from),
      )
    ].title
  assert.equal(walk("decoder layer 0, feed-forward", "ArrowDown"), "decoder layer 1, self-attention")
  assert.equal(walk("input of the decoder", "ArrowUp"), "input of the decoder")
  assert.equal(walk("final norm of the encoder", "ArrowDown"), "final norm of the encoder")
  assert.equal(walk("input of the encoder", "ArrowRight", "ArrowLeft"), "input of the encoder")
  assert.equal(walk("input of the decoder", "ArrowRight"), "input of the decoder")
  assert.equal(walk("decoder layer 1, cross-attention", "Home"), "input of the decoder")
  assert.equal(walk("input of the encoder", "End"), "final norm of the encoder")
  assert.equal(blockBeside(blocks, 0, "Enter"), undefined)
})
