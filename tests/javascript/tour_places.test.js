import assert from "node:assert/strict"
import { test } from "node:test"
import { fits, GAP, placeOf, scrollOf } from "../../viz_transformer/figures/components/parts/tour_places.js"

const WINDOW = { width: 1280, height: 720, left: 240 }
const PANEL = { width: 360, height: 200 }
const box = (left, top, width, height) => ({ left, top, right: left + width, bottom: top + height })
const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top

test("without a ring the panel stands at the lower right", () => {
  assert.deepEqual(placeOf(null, PANEL, WINDOW, null), box(1280 - 360 - GAP, 720 - 200 - GAP, 360, 200))
})

test("the panel covers no ring for which there is a corner, and stays where it is if it can", () => {
  for (let left = 0; left < 1200; left += 100)
    for (let top = 0; top < 700; top += 100) {
      const ring = box(left, top, 200, 80)
      const first = placeOf(ring, PANEL, WINDOW, null)
      assert.ok(first && apart(first, ring))
      assert.deepEqual(placeOf(ring, PANEL, WINDOW, first), first)
    }
  const top = placeOf(box(900, 400, 300, 300), PANEL, WINDOW, null)
  assert.deepEqual(placeOf(box(300, 200, 50, 50), PANEL, WINDOW, top), top)
})

test("a ring over the whole window leaves no place", () => {
  assert.equal(placeOf(box(0, 0, 1280, 720), PANEL, WINDOW, null), null)
  assert.equal(fits(box(0, 0, 1280, 720), PANEL, WINDOW), false)
})

test("what fits can be scrolled to where the panel covers nothing of it, wherever it is on the page", () => {
  const windows = [WINDOW, { width: 390, height: 844, left: 0 }, { width: 900, height: 700, left: 240 }]
  for (const view of windows)
    for (const [left, width] of [
      [10, view.width - 20],
      [view.left + 20, 300],
      [view.width - 320, 300],
    ])
      for (const height of [30, 200, 400, 600])
        for (let top = -900; top < 2000; top += 90) {
          const ring = box(left, top, width, height)
          const panel = { width: Math.min(360, view.width - 2 * GAP), height: 200 }
          if (!fits(ring, panel, view)) continue
          const moved = box(left, top - scrollOf(ring, panel, view), width, height)
          const place = placeOf(moved, panel, view, null)
          assert.ok(place && apart(place, moved), JSON.stringify({ view, ring, moved }))
          assert.ok(moved.top >= 0 && moved.bottom <= view.height, JSON.stringify({ view, ring, moved }))
        }
})

test("what is in view beside the panel is not scrolled", () => {
  assert.equal(scrollOf(box(300, 100, 400, 300), PANEL, WINDOW), 0)
})
