import assert from "node:assert/strict"
import { test } from "node:test"
import { curve, curvesTo } from "../../viz_transformer/figures/components/parts/curves.js"

test("a curve leaves downwards and arrives from above, or bows over its own line", () => {
  assert.equal(curve({ x: 0, y: 10 }, { x: 50, y: 30 }), "M0,10 C0,30 50,10 50,30")
  assert.equal(curve({ x: 0, y: 30 }, { x: 50, y: 30 }), "M0,30 C0,16 50,16 50,30")
})

test("widths are in proportion to the weights, and less than a fiftieth is left out", () => {
  const at = { x: 0, y: 0 }
  const drawn = curvesTo(
    [0.5, 0.25, 0.02, 0.0199, 0, Number.NaN].map((weight) => ({ weight, at })),
    { x: 9, y: 9 },
  )
  assert.deepEqual(
    drawn.map(({ weight, width }) => [weight, width / drawn[0].width]),
    [
      [0.5, 1],
      [0.25, 0.5],
      [0.02, 0.04],
    ],
  )
})
