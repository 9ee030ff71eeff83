import assert from "node:assert/strict"
import { test } from "node:test"
import { makeEarly } from "../../viz_transformer/figures/components/parts/preload.js"

test("a key that came early is taken once, unless it was long ago", () => {
  const early = makeEarly()
  assert.equal(early.take(0), false)
  early.press(100)
  assert.equal(early.take(60_000), true)
  assert.equal(early.take(60_000), false)
  early.press(100)
  assert.equal(early.take(60_100), false)
})
