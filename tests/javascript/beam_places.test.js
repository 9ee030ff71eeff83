import assert from "node:assert/strict"
import { test } from "node:test"
import { treePicture } from "../../viz_transformer/figures/components/beam_tree.js"
import { placeBeamLegend } from "../../viz_transformer/figures/components/parts/beam_painting.js"
import {
  beamsOf,
  boxOf,
  hasHairs,
  hasTokens,
  isFitting,
  nodeAt,
  nodeBeside,
  nodeChosen,
  nodeSentences,
  nodeUnder,
  ofStep,
  savedFrame,
  settle,
  shadeOf,
  stepX,
  whatIsSeen,
} from "../../viz_transformer/figures/components/parts/beam_places.js"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"

// Two beams: 0 and 1 are kept in the first step and 2 is not, 3 extends 0 and is the answer, 4 extends 1 and is not kept.
const HEAD = /** @type {any} */ ({
  answer: 3,
  tokens: [{ text: "a" }, { text: "b" }],
  start: { text: "<s>" },
  fates: ["went on", "pruned", "finished"],
  sentences: ["why"],
  penalties: { 1: [1, "1"], 2: [2, "|Y|"] },
  nodes: {
    parent: [-1, -1, -1, 0, 1],
    step: [0, 0, 0, 1, 1],
    token: [0, 1, 1, 1, 0],
    log_prob: [-0.5, -1, -3, -0.5, -4],
    total: [-0.5, -1, -3, -1, -5],
    length: [1, 1, 1, 2, 2],
    score: [-0.5, -1, -3, -0.5, -2.5],
    rank: [0, 1, 2, 0, 1],
    fate: [0, 0, 1, 2, 1],
    row: [0, 1, -1, 0, -1],
    why: [0, 0, 0, 0, 0],
  },
})
const PLACE = {
  z: 1,
  width: 600,
  height: 200,
  room: 160,
  row: 54,
  rowFit: 54,
  col: 132,
  least: 132,
  most: 528,
  usual: 52,
}
const ruler = { font: "", measureText: (/** @type {string} */ text) => ({ width: 10 * text.length }) }
const made = (changes = {}) => ({
  beams: beamsOf(HEAD),
  place: PLACE,
  view: { col: 132, x: 0, y: 0, own: false, ...changes },
  labels: new Map(),
})

test("the answer is chosen where nothing is, and nothing where there is none like it", () => {
  const beams = beamsOf(HEAD)
  assert.deepEqual(
    [undefined, null, 1, 5, -1, 0.5, "x"].map((picked) => nodeChosen(beams, picked)),
    [3, 3, 1, null, null, null, null],
  )
  assert.deepEqual(
    [0, 1, 3].map((i) => shadeOf(beams, i)),
    [1, 0, 1],
  )
})

test("arrows lead along a step, to what is extended and to what extends", () => {
  const beams = beamsOf(HEAD)
  assert.deepEqual(ofStep(beams, 0), [0, 2, 1]) // the hair begins between the rows
  const led = (/** @type {number} */ here) => (/** @type {string} */ key) => nodeBeside(beams, here, key)
  assert.deepEqual(["ArrowRight", "ArrowLeft", "ArrowDown", "End", "Home", "x"].map(led(0)), [3, 0, 2, 3, 0, undefined])
  assert.deepEqual(["ArrowRight", "ArrowLeft", "ArrowUp"].map(led(1)), [4, 1, 2])
  assert.equal(nodeBeside(beams, 4, "ArrowLeft"), 1)
})

test("a hypothesis says its numbers and what became of it", () => {
  assert.deepEqual(nodeSentences(beamsOf(HEAD), 3), [
    "step 2: “b”",
    "log-probability of the token -0.5000, probability 0.6065",
    "total -1.0000",
    "|Y| = 2, penalty |Y| = 2.0000",
    "score = total / penalty = -1.0000 / 2.0000 = -0.5000",
    "rank 1 of 2 in its step, kept",
    "why",
  ])
  assert.match(nodeSentences(beamsOf(HEAD), 4)[5], /considered, not kept$/)
})

test("what was kept stands in its column, and what was not at the end of a hair", () => {
  const view = made()
  assert.ok(hasTokens(view) && hasHairs(view) && isFitting(view))
  assert.equal(stepX(view, 0), 10 + 46 + 66)
  assert.deepEqual(nodeAt(ruler, view, 1), { x: 122, y: 26 + 1.5 * 54 })
  const start = boxOf(ruler, view, -1)
  assert.deepEqual(nodeAt(ruler, view, 2), { x: 10 + 46 * 0.42 + start.wide / 2 + 13, y: 26 + 27 + 5 + 0.5 * 5.5 })
  assert.equal(boxOf(ruler, view, -1), start) // made once
  assert.equal(nodeUnder(ruler, view, 123, 30 + 1.5 * 54), 1)
  assert.equal(nodeUnder(ruler, view, 122, 20), null) // above the first row are the steps' numbers
})

test("a tree that is zoomed into says what is seen of it, and stays inside the picture", () => {
  const wide = made({ col: 400, x: 9999 })
  settle(wide)
  assert.equal(wide.view.x, 66 + 800 - 600)
  assert.equal(whatIsSeen(wide), "steps 2 to 2 of 2")
  assert.equal(whatIsSeen(made()), "")
  assert.deepEqual(savedFrame(made()), { width: 480, height: 38 + 2 * 54 })
})

test("the legend has what the tree has, in as many rows as it needs", () => {
  const beams = beamsOf(HEAD)
  const broad = placeBeamLegend(ruler, beams, 2000, 1)
  assert.deepEqual(
    broad.items.map(({ kind }) => kind),
    ["score", "width", "answer", "finished", "pruned"],
  )
  assert.equal(broad.height, 28)
  assert.ok(placeBeamLegend(ruler, beams, 400, 1).height > 28)
})

// ---- what is pointed at, and where keys lead

/** @returns {any} */
const tree = (changes = {}) => ({ ...made(changes), over: { getContext: () => ruler }, stage: { offsetTop: 30 } })

test("under the pointer is a hypothesis, and its tooltip stands below its box and inside the picture", () => {
  const [{ x, y }, box] = [nodeAt(ruler, made(), 1), boxOf(ruler, made(), 1)]
  assert.equal(treePicture.hit(tree(), x + 1, y), 1)
  assert.equal(treePicture.hit(tree(), x, 10), null)
  assert.deepEqual(treePicture.at(tree(), 1), { x, y: 30 + y + box.tall / 2 })
  assert.equal(treePicture.at(tree({ x: 500 }), 1).x, 0) // it is scrolled away
  assert.deepEqual(treePicture.describe(tree(), 3), nodeSentences(beamsOf(HEAD), 3))
})

test("keys start at what is chosen, else at the answer, and lead along the tree", () => {
  const to = (/** @type {string} */ key, here = 3) => treePicture.keys(tree(), /** @type {any} */ ({ key }), here)
  selection.chosen = { dec_node: 1 }
  assert.equal(treePicture.start?.(tree()), 1)
  selection.chosen = { dec_node: 99 } // of another tree
  assert.equal(treePicture.start?.(tree()), 3)
  assert.deepEqual([to("ArrowLeft"), to("ArrowRight", 0), to("ArrowDown", 0), to("End", 0)], [0, 3, 2, 3])
  assert.deepEqual([to("Enter"), to("+"), to("x")], [null, null, null])
})
