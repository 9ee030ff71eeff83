import assert from "node:assert/strict"
import { test } from "node:test"
import { Movement } from "../../viz_transformer/figures/components/whole/movement.js"

/** A canvas of which only what is drawn on it, how strongly, is kept. */
const canvas = () => {
  const drawn = []
  const context = {
    globalAlpha: 1,
    drawn,
    setTransform() {},
    clearRect: () => drawn.splice(0),
    drawImage: (picture) => drawn.push([picture, context.globalAlpha]),
  }
  return { width: 0, height: 0, style: {}, context, getContext: () => context }
}

/** A movement at a clock of its own; how often each level was painted, and what is on the canvas. */
function moved(from, to) {
  let [now, next] = [0, () => {}]
  globalThis.window = { devicePixelRatio: 1 }
  globalThis.document = { createElement: canvas, documentElement: {} }
  globalThis.getComputedStyle = () => ({ getPropertyValue: () => "" })
  globalThis.requestAnimationFrame = (callback) => (next = callback)
  performance.now = () => now
  const painted = { run: 0, layer: 0 }
  const scene = (level) => ({
    boxOf: () => ({ x: 0, y: 0, width: 10, height: 10 }),
    state: () => "",
    paintStill: () => painted[level]++,
    paintNow() {},
  })
  const elements = { base: canvas(), over: canvas() }
  const room = { width: 100, height: 100 }
  const movement = new Movement(elements, {
    draw: () => movement.paint(room),
    isThere: () => true,
    lay() {},
    scenes: { run: scene("run"), layer: scene("layer") },
  })
  movement.start(from, to)
  const at = (time) => {
    now = time
    next()
  }
  movement.paint(room)
  return { movement, painted, at, shown: () => elements.base.context.drawn.map(([, alpha]) => alpha) }
}

for (const [from, to] of [
  ["run", "layer"],
  ["layer", "run"],
])
  test(`from ${from} to ${to}, what nothing is seen of in the first frame is painted in the second, once`, () => {
    const { movement, painted, at, shown } = moved(from, to)
    assert.deepEqual([painted[to], shown().filter(Boolean)], [0, [1]])
    at(16)
    assert.equal(painted[to], 1)
    at(150)
    assert.equal(shown().length, 2)
    at(290)
    assert.deepEqual([painted[from], painted[to]], [0, 1])
    assert.ok(movement.isOn)
    at(300)
    assert.ok(!movement.isOn)
  })
