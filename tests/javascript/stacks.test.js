import assert from "node:assert/strict"
import { test } from "node:test"
import {
  fieldsChoosing,
  isChosen,
  placeRail,
  placeStack,
  subLayerBeside,
} from "../../viz_transformer/figures/components/parts/stacks.js"

const node = (name, cross = false) => ({ name, kinds: [], part: name, title: name, cross })
const encoder = (layers) => ({
  name: "encoder",
  ink: "source",
  end: "memory",
  final: node("final norm"),
  layers: Array.from({ length: layers }, () => [node("self"), node("ffn")]),
})
const decoder = (layers) => ({
  name: "decoder",
  ink: "target",
  end: "logits",
  final: node("final norm"),
  layers: Array.from({ length: layers }, () => [node("self"), node("cross", true), node("ffn")]),
})
const partsOf = ({ boxes }) => boxes.filter((box) => box.node)
const marksOf = ({ marks }, kind) => marks.filter((mark) => mark.kind === kind)
const middle = ({ y, h }) => y + h / 2

test("a layer has its name, and below each norm a box that reads above it and adds beside itself", () => {
  const stack = placeStack(encoder(1), { norm: "pre", at: 0, width: 100, mirrored: false })
  assert.deepEqual(
    stack.boxes.map(({ text, node, y, h }) => [text ?? node.name, y, y + h]),
    [
      ["encoder", 0, 20],
      ["embedding", 22, 44],
      ["layer 0", 48, 66],
      ["norm", 66, 81],
      ["self", 83, 109],
      ["norm", 118, 133],
      ["ffn", 135, 161],
      ["final norm", 172, 196],
      ["memory", 202, 224],
    ],
  )
  assert.ok(stack.boxes.every(({ x, w }) => x === 24 && w === 76))
  assert.deepEqual([stack.bottom, stack.exit], [224, [100, 213]])
  assert.deepEqual(
    marksOf(stack, "sum").map(({ at }) => at),
    [
      [8, 96], // the middle of self
      [8, 148],
    ],
  )
  assert.deepEqual(
    marksOf(stack, "branch").map(({ tip, back }) => [...tip, back]),
    [
      [24, 73.5, -5], // into the norm, from the left
      [14, 96, 5], // onto the sum, from the right
      [24, 125.5, -5],
      [14, 148, 5],
    ],
  )
  assert.deepEqual(
    marksOf(stack, "stream").map(({ points }) => points),
    [
      [
        [24, 33],
        [8, 33],
      ], // from the embedding
      [
        [8, 33],
        [8, 184],
        [24, 184],
      ], // down to the middle of the final norm
      [
        [62, 196],
        [62, 202],
      ], // from it to the memory
    ],
  )
})

test("a norm behind the sum stands on the stream, below the sum", () => {
  for (const [mirrored, stream, left] of [
    [false, 8, -2],
    [true, 92, 62],
  ]) {
    const stack = placeStack(encoder(1), { norm: "post", at: 0, width: 100, mirrored })
    assert.deepEqual(
      partsOf(stack).map(({ y, h }) => [y, y + h]),
      [
        [66, 92],
        [118, 144],
        [172, 196],
      ],
    )
    assert.deepEqual(
      marksOf(stack, "branch").map(({ points }) => points[0]),
      [72, 86, 124, 138].map((y) => [stream, y]), // into the box and out of it, twice
    )
    assert.deepEqual(
      marksOf(stack, "sum").map(({ at }) => at),
      [
        [stream, 86],
        [stream, 138],
      ],
    )
    assert.deepEqual(
      stack.boxes.filter(({ className }) => className === "norm onLine").map(({ x, y, w, h }) => [x, y, w, h]),
      [
        [left, 96, 40, 15],
        [left, 148, 40, 15],
      ],
    )
  }
})

test("a stack without a final norm ends in what it gives out", () => {
  const stack = placeStack({ ...encoder(1), final: null }, { norm: "post", at: 0, width: 100, mirrored: false })
  const last = stack.boxes.at(-1)
  assert.deepEqual([last.text, last.className, last.y], ["memory", "end source", 176])
  assert.deepEqual(marksOf(stack, "stream").at(-1).points.at(-1), [24, middle(last)])
  assert.deepEqual([stack.bottom, stack.exit], [198, [100, 187]])
})

test("a mirrored stack is the other one turned round", () => {
  const given = { norm: "pre", at: 0, width: 100 }
  const [straight, mirrored] = [false, true].map((turn) => placeStack(decoder(2), { ...given, mirrored: turn }))
  straight.boxes.forEach(({ x, y, w, h }, i) => {
    const other = mirrored.boxes[i]
    assert.deepEqual([other.x, other.y, other.w, other.h], [100 - x - w, y, w, h])
  })
  const turned = ([x, y]) => [100 - x, y]
  straight.marks.forEach((mark, i) => {
    const other = mirrored.marks[i]
    if (mark.kind === "sum") assert.deepEqual(other.at, turned(mark.at))
    else assert.deepEqual(other.points, mark.points.map(turned))
    if (mark.kind === "branch") assert.deepEqual([other.tip, other.back], [turned(mark.tip), -mark.back])
  })
  assert.equal(straight.crosses.length, 2)
  assert.deepEqual(mirrored.crosses, straight.crosses.map(turned))
})

test("two stacks stand beside each other with the memory between them", () => {
  const { width, height, stacks, memory } = placeRail({ norm: "pre", stacks: [encoder(2), decoder(3)] })
  assert.equal(width, 266)
  assert.equal(height, stacks[1].bottom + 4) // the decoder is the longer one
  const [right, left] = [
    Math.max(...stacks[0].boxes.map(({ x, w }) => x + w)),
    Math.min(...stacks[1].boxes.map(({ x }) => x)),
  ]
  assert.deepEqual([right, left], [123, 143])
  const crosses = partsOf(stacks[1]).filter(({ node }) => node.cross)
  assert.deepEqual(
    memory.tips,
    crosses.map((box) => [143, middle(box)]),
  )
  const [exit, along, ...ends] = memory.lines
  assert.deepEqual(exit, [stacks[0].exit, [133, stacks[0].exit[1]]])
  assert.deepEqual(along, [
    [133, Math.min(exit[0][1], ...memory.tips.map(([, y]) => y))],
    [133, Math.max(exit[0][1], ...memory.tips.map(([, y]) => y))],
  ])
  assert.deepEqual(
    ends,
    memory.tips.map(([x, y]) => [
      [133, y],
      [x, y],
    ]),
  )
})

test("one stack has no memory, and is wider", () => {
  const { width, height, memory } = placeRail({ norm: "pre", stacks: [encoder(1)] })
  assert.deepEqual([width, height, memory], [190, 228, null])
})

test("nothing overlaps and nothing leaves the rail, with any norm and number of layers", () => {
  for (const norm of ["pre", "post"])
    for (const layers of [1, 2, 12])
      for (const stacks of [[encoder(layers), decoder(layers)], [{ ...decoder(layers), final: null }]]) {
        const placed = placeRail({ norm, stacks })
        const boxes = placed.stacks.flatMap((stack) => stack.boxes)
        boxes.forEach((box, i) => {
          const beyond = box.className === "norm onLine" ? 2 : 0 // into the 4 pixels around the drawing
          assert.ok(box.x >= -beyond && box.x + box.w <= placed.width + beyond)
          assert.ok(box.y >= 0 && box.y + box.h <= placed.height)
          for (const other of boxes.slice(i + 1))
            assert.ok(
              box.x + box.w <= other.x ||
                other.x + other.w <= box.x ||
                box.y + box.h <= other.y ||
                other.y + other.h <= box.y,
              `${box.className} ${other.className}`,
            )
        })
      }
})

test("a model has every sub-layer once with its norm and its sum", () => {
  const { stacks, memory } = placeRail({ norm: "pre", stacks: [encoder(2), decoder(3)] })
  const boxes = stacks.flatMap((stack) => stack.boxes)
  const counted = (name) => boxes.filter(({ node, className }) => (node ? node.name : className) === name).length
  assert.deepEqual(["self", "cross", "ffn", "final norm", "norm"].map(counted), [5, 3, 5, 2, 13])
  assert.equal(stacks.flatMap((stack) => marksOf(stack, "sum")).length, 13)
  const ends = boxes.flatMap(({ className, text }) => (className.split(" ")[0] === "end" ? [text] : []))
  assert.deepEqual(ends, ["embedding", "memory", "embedding", "logits"])
  assert.equal(memory.tips.length, 3)
  const alone = placeRail({ norm: "post", stacks: [{ ...encoder(3), end: "logits", final: null }] })
  assert.deepEqual(
    partsOf(alone.stacks[0]).map(({ node }) => node.name),
    ["self", "ffn", "self", "ffn", "self", "ffn"],
  )
  assert.equal(alone.stacks[0].boxes.filter(({ className }) => className === "norm onLine").length, 6)
})

// ---- choosing

const attention = { kinds: ["cross"], layer: 1, part: "attention" }
const ffn = { kinds: ["decoder", "cross"], layer: 2, part: "ffn" }
const last = { kinds: ["decoder", "cross"], part: "final" }

test("an attention is chosen by its kind, a feed-forward by each of its kinds, a final norm in any layer", () => {
  assert.ok(isChosen(attention, { kind: "cross", layer: 1, part: "attention" }))
  for (const other of [{ kind: "decoder" }, { layer: 0 }, { part: "ffn" }])
    assert.ok(!isChosen(attention, { kind: "cross", layer: 1, part: "attention", ...other }))
  for (const kind of ["decoder", "cross"]) assert.ok(isChosen(ffn, { kind, layer: 2, part: "ffn" }))
  assert.ok(isChosen(last, { kind: "decoder", layer: 7, part: "final" }))
})

test("a click selects kind, layer and part, and leaves a kind that the part has too", () => {
  const chosen = { kind: "cross", layer: 1, part: "attention" }
  assert.deepEqual(fieldsChoosing({ kinds: ["encoder"], layer: 0, part: "ffn" }, chosen), {
    kind: "encoder",
    layer: 0,
    part: "ffn",
  })
  assert.deepEqual(fieldsChoosing(ffn, chosen), { kind: "cross", layer: 2, part: "ffn" })
  assert.deepEqual(fieldsChoosing(ffn, { ...chosen, kind: "encoder" }).kind, "decoder")
  assert.deepEqual(fieldsChoosing(last, { ...chosen, kind: "decoder" }), { kind: "decoder", part: "final" }) // the layer stays
})

test("arrow keys walk along the stream and to the stack beside it, and stop at the ends", () => {
  const to = (column, row, key, counts = [5, 10]) => {
    const found = subLayerBeside(counts, { column, row }, key)
    return found && [found.column, found.row]
  }
  assert.deepEqual(
    [to(1, 0, "ArrowDown"), to(1, 0, "ArrowUp"), to(1, 9, "ArrowDown")],
    [
      [1, 1],
      [1, 0],
      [1, 9],
    ],
  )
  assert.deepEqual(
    [to(1, 4, "Home"), to(1, 4, "End"), to(0, 0, "End")],
    [
      [1, 0],
      [1, 9],
      [0, 4],
    ],
  )
  assert.deepEqual(
    [to(1, 0, "ArrowLeft"), to(1, 7, "ArrowLeft"), to(0, 3, "ArrowRight")],
    [
      [0, 0],
      [0, 4],
      [1, 3],
    ],
  )
  assert.deepEqual(
    [to(0, 3, "ArrowLeft"), to(1, 3, "ArrowRight"), to(0, 3, "ArrowLeft", [7])],
    [
      [0, 3],
      [1, 3],
      [0, 3],
    ],
  )
  assert.equal(to(0, 0, "Enter"), null)
})
