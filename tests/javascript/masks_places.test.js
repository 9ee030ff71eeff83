import assert from "node:assert/strict"
import test from "node:test"
import {
  masksBeside,
  masksStacked,
  widthsBeside,
  widthsStacked,
} from "../../viz_transformer/figures/components/parts/masks_places.js"

const PHONE = { width: 358, height: 420, rows: 14, columns: 14, names: 90, z: 1 }
const ABOVE = { lines: [2, 2], tall: 60 }
const bottomOf = (/** @type {any} */ mask, rows = 14) => mask.top + mask.rowHeight * rows

test("on a phone each large mask has the width that two had, and cells that a finger meets", () => {
  assert.ok(widthsBeside(PHONE).cell < 8)
  assert.ok(widthsStacked(PHONE).cell > 18)
})

test("on a phone no mask, title or sign covers another", () => {
  const { masks, signs, height } = masksStacked(PHONE, ABOVE)
  const [padding, causal, before, after] = masks
  assert.ok(padding.left + padding.room < signs[0].x && signs[0].x < causal.left)
  assert.ok(causal.left + causal.room <= PHONE.width)
  assert.ok(Math.max(bottomOf(padding), bottomOf(causal)) < signs[1].y && signs[1].y < before.top)
  assert.ok(bottomOf(before) < signs[2].y && signs[2].y < after.top && bottomOf(after) < height - 44)
  for (const { left, cell } of [before, after]) assert.ok(left + cell * PHONE.columns <= PHONE.width)
})

test("of many tokens a mask is little higher than wide", () => {
  const many = { ...PHONE, rows: 500, columns: 500 }
  const { masks, height } = masksStacked(many, ABOVE)
  assert.ok(masks[3].rowHeight * 500 <= 1.3 * PHONE.width + 1 && height < 1600)
})

test("beside each other they take the height that is there", () => {
  const { masks, height } = masksBeside({ ...PHONE, width: 992 }, ABOVE)
  assert.equal(height, 420)
  for (const mask of masks) assert.ok(bottomOf(mask) <= 420 - 44 + 1e-9)
  assert.ok(masks[2].left + masks[2].cell * 14 < masks[3].left)
})
