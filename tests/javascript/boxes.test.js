import assert from "node:assert/strict"
import { test } from "node:test"
import { leavesBox, runsBox } from "../../viz_transformer/figures/components/parts/boxes.js"

const pressed = (/** @type {string} */ key, more = {}) =>
  /** @type {KeyboardEvent} */ ({ key, shiftKey: false, isComposing: false, keyCode: 0, ...more })

test("Enter runs the text of a box, with Shift it breaks the line, and Escape leaves the box", () => {
  assert.deepEqual([runsBox(pressed("Enter")), leavesBox(pressed("Enter"))], [true, false])
  assert.deepEqual([runsBox(pressed("Escape")), leavesBox(pressed("Escape"))], [false, true])
  assert.equal(runsBox(pressed("Enter", { shiftKey: true })), false)
  assert.deepEqual([runsBox(pressed("a")), leavesBox(pressed("a"))], [false, false])
})

test("while a character is put together its keys are its own", () => {
  for (const composing of [{ isComposing: true }, { keyCode: 229 }]) {
    assert.equal(runsBox(pressed("Enter", composing)), false)
    assert.equal(leavesBox(pressed("Escape", composing)), false)
  }
})
