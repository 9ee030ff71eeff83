import assert from "node:assert/strict"
import { test } from "node:test"
import { isLight } from "../../viz_transformer/figures/components/parts/colours.js"

test("dark letters stand on light colours", () => {
  assert.deepEqual(["rgb(255, 255, 255)", "rgb(0, 0, 0)", "rgb(253, 231, 37)", "rgb(68, 1, 84)"].map(isLight), [
    true,
    false,
    true,
    false,
  ])
})
