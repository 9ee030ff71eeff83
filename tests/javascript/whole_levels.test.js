import assert from "node:assert/strict"
import { test } from "node:test"
import {
  attentionBeside,
  crumbs,
  eased,
  headOf,
  headPlace,
  inward,
  isDeeper,
  LEVELS,
  layerBeside,
  layerPlace,
  levelOf,
  outward,
  seen,
  siteOf,
  sitesOf,
  turning,
  zoomed,
} from "../../viz_transformer/figures/components/parts/whole_levels.js"

const partsOf = (layers, kinds) =>
  Array.from({ length: layers }, (_, layer) =>
    kinds.map(([part, kind, heads]) => (kind ? { layer, part, kind, heads } : { layer, part })),
  ).flat()
const ENCODER = {
  name: "encoder",
  layers: 2,
  parts: partsOf(2, [["self", "encoder", 8], ["ffn"]]),
}
const DECODER = {
  name: "decoder",
  layers: 3,
  parts: partsOf(3, [["self", "decoder", 8], ["cross", "cross", 4], ["ffn"]]),
}
const BOTH = { stacks: [ENCODER, DECODER] }
const ALONE = { stacks: [{ ...DECODER, parts: partsOf(3, [["self", "decoder", 8], ["ffn"]]) }] }
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)
/** Kind and layer of what is chosen, or null. */
const short = (fields) => fields && [fields.kind, fields.layer]

test("in and out lead one level further and stop at the ends", () => {
  assert.deepEqual(LEVELS, ["run", "layer", "attention", "weight"])
  assert.deepEqual(LEVELS.map(inward), ["layer", "attention", "weight", "weight"])
  assert.deepEqual(LEVELS.map(outward), ["run", "run", "layer", "attention"])
})

test("what is not a level is the run", () => {
  for (const level of LEVELS) assert.equal(levelOf({ level }), level)
  for (const level of [undefined, null, "", "weights", 2]) assert.equal(levelOf({ level }), "run")
})

test("a level is deeper than those that lead to it, and not than itself", () => {
  LEVELS.forEach((from, n) => {
    LEVELS.forEach((to, m) => assert.equal(isDeeper(from, to), m > n))
  })
})

test("attentions stand in the order of the forward pass, and name their stack and place in it", () => {
  assert.equal(sitesOf(BOTH), sitesOf(BOTH)) // found once: each frame asks for them many times
  const sites = sitesOf(BOTH)
  assert.deepEqual(
    sites.map(({ part }) => [part.kind, part.layer]),
    [
      ["encoder", 0],
      ["encoder", 1],
      ["decoder", 0],
      ["cross", 0],
      ["decoder", 1],
      ["cross", 1],
      ["decoder", 2],
      ["cross", 2],
    ],
  )
  for (const { stack, index, part } of sites) assert.equal(stack.parts[index], part)
  assert.deepEqual(layerPlace(sites[1]), { stack: "encoder", layer: 1 })
  assert.deepEqual(layerPlace(sites[5]), { stack: "decoder", layer: 1 })
  assert.deepEqual(headPlace(sites[5], 3), { kind: "cross", layer: 1, head: 3 })
})

test("what is chosen is found; where the model lacks it, there is another attention", () => {
  for (const site of sitesOf(BOTH))
    assert.deepEqual(siteOf(BOTH, { kind: site.part.kind, layer: site.part.layer }), site)
  const chosen = (head, fields) => {
    const { stack, part } = siteOf(head, fields)
    return [stack.name, part.kind, part.layer]
  }
  assert.deepEqual(chosen(BOTH, { kind: "encoder", layer: 9 }), ["encoder", "encoder", 0])
  assert.deepEqual(chosen(ALONE, { kind: "cross", layer: 1 }), ["decoder", "decoder", 0])
  assert.deepEqual(chosen(BOTH, {}), ["decoder", "decoder", 0])
  assert.deepEqual(chosen({ stacks: [ENCODER] }, {}), ["encoder", "encoder", 0])
})

test("one head that is chosen is looked at; of none, several or one that is not there, the first", () => {
  assert.equal(headOf({ heads: [3] }, 8), 3)
  assert.equal(headOf({ heads: [7] }, 8), 7)
  assert.equal(headOf({ heads: [8] }, 8), 0)
  assert.equal(headOf({ heads: [3, 5] }, 8), 0)
  assert.equal(headOf({ heads: [] }, 8), 0)
  assert.equal(headOf({}, 8), 0)
})

/** Everything from one site on, one beside the other, until there is nothing more. */
function walk(head, from, by, beside) {
  const way = [short({ kind: from.part.kind, layer: from.part.layer })]
  for (let site = from; ; ) {
    const next = beside(head, site, by)
    if (!next) return way
    way.push(short(next))
    site = siteOf(head, next)
  }
}

test("beside an attention are the one before it and the one behind it; at the ends there is none", () => {
  const sites = sitesOf(BOTH)
  const all = sites.map(({ part }) => short(part))
  assert.deepEqual(walk(BOTH, sites[0], 1, attentionBeside), all)
  assert.deepEqual(walk(BOTH, sites[sites.length - 1], -1, attentionBeside), all.toReversed())
  assert.equal(attentionBeside(BOTH, sites[0], -1), null)
  assert.equal(attentionBeside(BOTH, sites[sites.length - 1], 1), null)
})

test("beside a layer are those of its stack and then of the next one, at the same kind where it is there", () => {
  const last = siteOf(BOTH, { kind: "cross", layer: 2 })
  assert.deepEqual(walk(BOTH, sitesOf(BOTH)[0], 1, layerBeside), [
    ["encoder", 0],
    ["encoder", 1],
    ["decoder", 0],
    ["decoder", 1],
    ["decoder", 2],
  ])
  assert.deepEqual(walk(BOTH, last, -1, layerBeside), [
    ["cross", 2],
    ["cross", 1],
    ["cross", 0],
    ["encoder", 1],
    ["encoder", 0],
  ])
  assert.equal(layerBeside(BOTH, sitesOf(BOTH)[0], -1), null)
  assert.equal(layerBeside(BOTH, last, 1), null)
})

test("the way names each level that leads to what is seen, and no deeper one", () => {
  const chosen = { kind: "cross", layer: 1, heads: [2] }
  const texts = (fields, head = BOTH) => crumbs(head, fields, { query: "“ten”", key: "“10”" }).map(({ text }) => text)
  const all = ["Whole run", "Decoder layer 1", "Cross-attention, head 2", "“ten” takes from “10”"]
  LEVELS.forEach((level, n) => assert.deepEqual(texts({ ...chosen, level }), all.slice(0, n + 1)))
  assert.deepEqual(
    crumbs(BOTH, { ...chosen, level: "weight" }, { query: "", key: "" }).map(({ level }) => level),
    LEVELS,
  )
  assert.deepEqual(texts(chosen), ["Whole run"])
  assert.deepEqual(texts({ level: "attention", kind: "encoder", layer: 0, heads: [1, 2] }), [
    "Whole run",
    "Encoder layer 0",
    "Self-attention, head 0",
  ])
  // head 6 is one of 8 in a self-attention, but not of 4 in a cross-attention
  assert.equal(texts({ level: "attention", kind: "decoder", layer: 1, heads: [6] })[2], "Self-attention, head 6")
  assert.equal(texts({ level: "attention", kind: "cross", layer: 1, heads: [6] })[2], "Cross-attention, head 0")
})

const ROOMS = [
  { width: 992, height: 370 },
  { width: 650, height: 330 },
  { width: 1240, height: 560 },
]
/** Boxes of a room: wide, high, in a corner, hardly there, as large as the room, and at the edge of it. */
const boxesIn = ({ width, height }) => [
  { x: 100, y: 80, width: 300, height: 90 },
  { x: width - 150, y: 20, width: 100, height: height - 30 },
  { x: 0, y: 0, width: width / 2, height: height / 3 },
  { x: 37, y: 51, width: 0, height: 0 },
  { x: 300, y: 200, width: 4, height: 3 },
  { x: 0, y: 0, width, height },
  { x: width - 40, y: height - 20, width: 40, height: 20 },
]
const cases = ROOMS.flatMap((room) => boxesIn(room).map((box) => ({ room, box })))
const isAt = ({ k, x, y }, [ofK, ofX, ofY]) => {
  near(k, ofK)
  near(x, ofX)
  near(y, ofY)
}

test("before a movement the outer picture is as it was, behind it the inner one is over the whole room", () => {
  for (const { room, box } of cases) {
    isAt(zoomed(room, box, 0).outer, [1, 0, 0])
    isAt(zoomed(room, box, 1).inner, [1, 0, 0])
  }
})

test("the middle of the inner picture is the middle of the box all the time, and they grow alike", () => {
  for (const { room, box } of cases) {
    const smaller = zoomed(room, box, 0).inner.k
    for (const part of [0, 0.1, 0.5, 0.9, 1]) {
      const { outer, inner } = zoomed(room, box, part)
      near(inner.x + (inner.k * room.width) / 2, outer.x + outer.k * (box.x + box.width / 2))
      near(inner.y + (inner.k * room.height) / 2, outer.y + outer.k * (box.y + box.height / 2))
      near(inner.k / outer.k, smaller)
    }
  }
})

test("a box grows until it just fits the room, in its middle", () => {
  for (const room of ROOMS) {
    const [box] = boxesIn(room)
    const { k, x, y } = zoomed(room, box, 1).outer
    near(Math.max((k * box.width) / room.width, (k * box.height) / room.height), 1)
    near(x + k * (box.x + box.width / 2), room.width / 2)
    near(y + k * (box.y + box.height / 2), room.height / 2)
  }
})

test("even a box without size grows only so much, and one as large as the room a little", () => {
  for (const { room, box } of cases) {
    const { k } = zoomed(room, box, 1).outer
    assert.ok(k >= 1.04 && k <= 8, `${k}`)
    for (const part of [0, 0.5, 1])
      for (const view of Object.values(zoomed(room, box, part)))
        assert.ok([view.k, view.x, view.y].every(Number.isFinite))
  }
})

test("one point of the outer picture stays where it is", () => {
  for (const { room, box } of cases) {
    const fixed = ({ k, x, y }) => [x / (1 - k), y / (1 - k)]
    const [x, y] = fixed(zoomed(room, box, 1).outer)
    for (const part of [0.2, 0.5, 0.8]) {
      const { outer } = zoomed(room, box, part)
      near(outer.x + outer.k * x, x)
      near(outer.y + outer.k * y, y)
    }
  }
})

test("equal parts of a movement enlarge equally many times", () => {
  const sizes = [0, 0.25, 0.5, 0.75, 1].map((part) => zoomed(ROOMS[0], boxesIn(ROOMS[0])[0], part).outer.k)
  for (let n = 1; n < sizes.length; n++) near(sizes[n] / sizes[n - 1], sizes[1])
  assert.ok(sizes[1] > 1)
})

test("a movement is slow at both ends and never goes back", () => {
  assert.deepEqual([0, 0.5, 1].map(eased), [0, 0.5, 1])
  assert.ok(eased(0.1) < 0.05 && eased(0.9) > 0.95)
  for (let n = 0; n < 100; n++) assert.ok(eased(n / 100) < eased((n + 1) / 100))
})

test("the inner picture is not seen at the beginning and alone at the end", () => {
  for (const part of [0, 0.1, 0.3]) assert.equal(seen(part), 0)
  for (const part of [0.81, 0.9, 1]) assert.equal(seen(part), 1)
  assert.ok(seen(0.4) > 0 && seen(0.4) < seen(0.7) && seen(0.7) < 1)
})

test("small turns add up to a level, exactly at what is enough", () => {
  const { turned } = turning({ enough: 60, rest: 400 })
  assert.deepEqual([turned(20, 0), turned(20, 16), turned(19, 32), turned(1, 48)], [0, 0, 0, 1])
  const outwards = turning({ enough: 60, rest: 400 })
  assert.deepEqual([outwards.turned(-30, 0), outwards.turned(-30, 16)], [0, -1])
})

test("one notch of a wheel is a level, and a hand at rest is none", () => {
  assert.equal(turning().turned(100, 0), 1)
  assert.equal(turning().turned(-100, 0), -1)
  const still = turning()
  for (let n = 0; n < 100; n++) assert.equal(still.turned(0, 16 * n), 0)
})

test("one turn is one level, however long it is, and after a pause there is another", () => {
  const { turned } = turning({ enough: 60, pause: 250 })
  assert.equal(turned(60, 1000), 1)
  for (let at = 1016; at < 4000; at += 16) assert.equal(turned(50, at), 0)
  assert.deepEqual([turned(59, 4300), turned(1, 4316)], [0, 1])
  assert.deepEqual([turned(-60, 4500), turned(-60, 4751)], [0, -1])
})

test("who turns round or pauses begins anew", () => {
  const round = turning({ enough: 60, pause: 250 })
  assert.deepEqual([round.turned(59, 0), round.turned(-59, 16), round.turned(-1, 32)], [0, 0, -1])
  const paused = turning({ enough: 60, pause: 250 })
  assert.deepEqual([paused.turned(59, 0), paused.turned(59, 251), paused.turned(1, 501)], [0, 0, 1])
})
