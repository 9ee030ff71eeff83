import assert from "node:assert/strict"
import { test } from "node:test"
import {
  headCounts,
  keysSeen,
  layerParts,
  layerSentenceNow,
  layerSentences,
  layerState,
  markedPart,
  vectorScales,
} from "../../viz_transformer/figures/components/parts/whole_layer.js"
import { placeLayer } from "../../viz_transformer/figures/components/parts/whole_layer_places.js"
import { looking, numbers } from "./whole_fixture.js"

const layer = {
  header: { norm: "pre", remarks: ["A remark."], samples: [0], parts: [{ part: "ffn", units: 8 }] },
  arrays: {
    "share.cross": numbers([3], [0.1, 0.25, 0.5]),
    "added.cross": numbers([3], [1, 2, 3]),
    "came.cross": numbers([3], [1, 6, 3]),
    "rest.cross": numbers([2, 3], [0, 0, 0, 0, 0, 0]),
    "starts.cross": numbers([7], [0, 1, 2, 3, 4, 5, 6]),
    "keys.cross": numbers([6], [0, 1, 2, 0, 2, 1]),
    "weights.cross": numbers([6], [1, 0.7, 1, 1, 0.9, 1]),
    "in.cross": numbers([3, 2], [1, -4, 2, 0, 0, 3]),
  },
}

test("a layer's sub-layers are those of the run, with what its detail knows", () => {
  assert.deepEqual(
    layerParts(looking(layer), layer).map(({ part, units }) => [part, units]),
    [
      ["self", undefined],
      ["cross", undefined],
      ["ffn", 8],
    ],
  )
  assert.equal(markedPart(looking(layer)), 1)
  assert.equal(markedPart(looking(layer, { walked: 2 })), 2)
})

test("keys that a row may not look at have columns in a short text, and none behind the last one in a long text", () => {
  const part = { kind: "cross", part: "cross", heads: 2 }
  const long = looking(layer)
  long.head.stacks[0].tokens = Array.from({ length: 40 }, () => ({ text: "a" }))
  const mask = (last) => ({
    ...layer,
    arrays: {
      "mask.cross": numbers(
        [3, 40],
        Array.from({ length: 120 }, (_, n) => (n % 40 <= last ? 1 : 0)),
      ),
    },
  })
  assert.equal(keysSeen(looking(layer), layer, part), 3)
  assert.equal(keysSeen(long, layer, part), 40)
  assert.equal(keysSeen(long, mask(30), part), 31)
  assert.equal(keysSeen(long, mask(3), part), 24)
  assert.deepEqual(headCounts(looking(layer), layer, part), { heads: 2, keys: 3 })
  assert.equal(headCounts(looking(layer), layer, { part: "ffn" }), null)
})

test("only vectors have a scale", () => {
  assert.deepEqual(
    vectorScales(layer, (values) => Math.max(...values.map(Math.abs))),
    { "in.cross": 4 },
  )
})

test("a layer says what is pointed at, what is walked to, or what all of it adds", () => {
  const place = placeLayer({ z: 1, width: 900, height: 400, parts: layerParts(looking(layer), layer), post: false })
  const said = (more) => layerSentenceNow(looking(layer, more), place)
  assert.match(said({}), /^Decoder layer 0 at “x” adds to the residual stream: cross-attention 25.0 %/)
  assert.match(said({ walked: 1 }), /^Cross-attention: head 1 is the most focused, with 90.0 % .* on “c”/)
  const pointed = (head, key) => said({ hovered: { group: place.groups[1], head, key } })
  assert.equal(pointed(0, 1), "Head 0: “x” puts 70.0 % of its attention on “b”.")
  assert.equal(pointed(0, 2), "Head 0: “x” puts less than 2 % of its attention on “c”.")
  assert.equal(layerSentenceNow(looking(null), place), "no layer")
  assert.deepEqual(layerSentences(looking(null)), [])
  assert.equal(layerSentences(looking(layer)).at(-1), "A remark.")
  assert.notEqual(layerState(looking(layer)), layerState(looking(null)))
})
