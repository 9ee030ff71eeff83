import assert from "node:assert/strict"
import { test } from "node:test"
import {
  barsOf,
  framed,
  frontIn,
  keysOf,
  lastBand,
  layerBox,
  lookedAt,
  markedBlock,
  namesIn,
  othersShare,
  placeRun,
  pointedAt,
  runSentence,
  runSentences,
  runState,
  siteNow,
  stripScales,
  strongestOf,
  throughLayer,
  writtenLine,
} from "../../viz_transformer/figures/components/parts/whole_run.js"
import { arrays, header, rows, viewOf } from "./whole_fixture.js"

const widest = () => 40
const room = { width: 1000, height: 500 }
const placed = (view) => placeRun(view, room, widest)

test("everything is in the room, and no name is wider than its share of it", () => {
  const place = placeRun(viewOf(), room, () => 1000)
  assert.equal(place.bands.length, 2)
  for (const band of place.bands) assert.equal(band.label.width, 96)
  assert.equal(placeRun(viewOf(), { width: 400, height: 500 }, () => 1000).bands[0].label.width, 48)
  assert.ok(lastBand(place).end < room.width)
})

test("candidates have bars in their order, and what is written has the last where it has none of its own", () => {
  const head = { candidates: [[5, 6, 7, 8]], written: [3] }
  assert.deepEqual(barsOf(head, 0, 9), [0, 1, 2, 3])
  assert.deepEqual(barsOf(head, 0, 2), [0, 3])
  assert.deepEqual(barsOf({ ...head, written: [1] }, 0, 2), [0, 1])
})

test("the share of all others is a sum, or a bound of it", () => {
  assert.equal(othersShare(0.25), "+ 25 %")
  assert.equal(othersShare(1.0000001), "+ 100 %")
  assert.match(othersShare(0.9999), /^>/)
})

test("an answer is shown on the line to which it is written, and what is to come behind it", () => {
  const text = "one two three four"
  const lines = ["one two", "three four"]
  assert.deepEqual(writtenLine(lines, text, 3), { strong: "one", rest: " two", more: true })
  assert.deepEqual(writtenLine(lines, text, 13), { strong: "…three", rest: " four", more: false })
  assert.deepEqual(writtenLine(lines, text, 18), { strong: "…three four", rest: "", more: false })
  assert.deepEqual(writtenLine([""], "", 0), { strong: "", rest: "", more: false })
})

test("low lanes have the names that are asked for, and a size that can be read", () => {
  const { size, named } = namesIn({ z: 1 }, { top: 0, lane: 4, count: 9 }, [4])
  assert.equal(size, 12)
  assert.deepEqual([...named], [4, 0, 7])
  assert.equal(namesIn({ z: 1 }, { top: 0, lane: 30, count: 9 }, []).size, 14)
})

test("of the keys of a row those count that have a large share, the largest first, once for each layer", () => {
  const view = viewOf()
  assert.deepEqual(strongestOf(view, lastBand(placed(view)), 1), [1, 0])
})

test("of what is read the keys of this step are strong, and the one that is chosen in this attention", () => {
  const view = viewOf({ chosen: { kind: "cross", layer: 0, i: 2 }, step: () => 1 })
  const place = placed(view)
  const band = lastBand(place)
  const cross = band.blocks.find(({ part }) => part === "cross")
  assert.deepEqual([...keysOf(view, place, band, cross).strong], [2, 0])
  assert.deepEqual([...keysOf(viewOf({ step: () => 1 }), place, band, cross).strong], [0])
})

test("a sub-layer of a decoder is framed down to this step, one of an encoder down to its end", () => {
  const view = viewOf({ step: () => 1 })
  const [encoder, decoder] = placed(view).bands
  assert.equal(framed(view, decoder, decoder.blocks[0])[3], 2 * decoder.lane + 2)
  assert.equal(framed(view, encoder, encoder.blocks[0])[3], 3 * encoder.lane + 2)
})

test("the pointer finds the row of this step in the decoder, and remembers its own", () => {
  const view = viewOf({ step: () => 1 })
  const [encoder, decoder] = placed(view).bands
  assert.deepEqual(pointedAt(view, { band: decoder, lane: 0 }), { band: decoder, lane: 1, pointed: 0 })
  assert.deepEqual(pointedAt(view, { band: encoder, lane: 0 }), { band: encoder, lane: 0 })
  assert.equal(pointedAt(view, null), null)
})

test("what is pointed at comes before what is walked to, and what a step passes before both", () => {
  const view = viewOf()
  const place = placed(view)
  const band = lastBand(place)
  assert.equal(lookedAt(view, place), null)
  assert.equal(markedBlock(view, band), null)
  view.walked = 2
  assert.equal(lookedAt(view, place).column, band.blocks[1])
  assert.equal(markedBlock(view, band), band.blocks[1])
  view.hovered = { band, block: band.blocks[0], strip: null, lane: 0 }
  assert.equal(lookedAt(view, place).column, band.blocks[0])
  assert.equal(markedBlock(view, band), band.blocks[0])
  view.flown = 0.69 // at the end of the layers
  assert.equal(markedBlock(view, band), band.blocks.at(-1))
  view.hovered = { band, block: null, strip: band.strips[0], lane: 0 }
  assert.match(lookedAt(view, place).facts[0], /^stream \[3, 4\]/)
})

test("a step comes through a layer from its first sub-layer to its last", () => {
  const view = viewOf()
  const place = placed(view)
  const site = siteNow(view)
  assert.equal(throughLayer(view, place, site), 1)
  view.flown = 0
  assert.equal(throughLayer(view, place, site), 0)
  assert.equal(frontIn(lastBand(place), 1), Infinity)
  view.flown = 0.4
  const part = throughLayer(view, place, site)
  assert.ok(part > 0 && part < 1)
  assert.equal(throughLayer(view, place, { ...site, stack: view.head.stacks[0] }), 1) // the encoder was read before
  const { x, width } = layerBox(place, site)
  assert.ok(x > lastBand(place).token.x && x + width < lastBand(place).end)
})

test("a sentence is of what is pointed at, of the walk, of the reading, or of this part of the step", () => {
  const view = viewOf()
  const place = placed(view)
  const band = lastBand(place)
  const said = (more) => runSentence(Object.assign(viewOf(), more), place)
  assert.match(said({}), /^Step 1 of 2: reads/)
  assert.match(said({ reading: 0.5 }), /^The text is read once: 3 tokens/)
  assert.match(said({ flown: 0.05 }), /becomes a vector of 4 numbers/)
  assert.match(said({ flown: 0.6 }), /^Decoder layer 0, /)
  assert.match(said({ flown: 0.9 }), /^Writes /)
  assert.match(said({ walked: 1 }), /^Decoder layer 0, self-attention/)
  assert.match(said({ hovered: { band, block: band.blocks[1], strip: null, lane: 0 } }), /cross-attention/)
  assert.match(said({ writes: () => false }), /nothing is written/)
  assert.equal(runSentences(viewOf()).length, 1 + 3 + 1)
  assert.equal(runSentences(viewOf({ writes: () => false })).length, 1 + 3)
})

test("the still picture is another one where the step, the choice or the playing is", () => {
  const place = placed(viewOf())
  const state = (more) => runState(viewOf(more), place)
  const all = [{}, { step: () => 1 }, { chosen: { i: 1 } }, { playing: true }, { reading: 0 }].map(state)
  assert.equal(new Set(all).size, all.length)
  assert.equal(state({ hovered: {} }), state({}))
})

test("each column of strips has a scale of its own", () => {
  const most = stripScales(arrays(), (values) => Math.max(...values))
  assert.deepEqual(Object.keys(most).sort(), ["stream.decoder", "stream.encoder", "token.decoder", "token.encoder"])
  assert.equal(most["stream.decoder"].length, 2)
  assert.equal(header().stacks.length, rows.length)
})
