import assert from "node:assert/strict"
import { test } from "node:test"
import { doneWhen } from "../../viz_transformer/figures/components/parts/settle.js"

test("what cannot be done yet waits, and is done in its order once and no more", () => {
  let possible = false
  /** @type {string[]} */
  const done = []
  const later = doneWhen(() => possible)
  later.do(() => done.push("in"))
  later.do(() => done.push("out"))
  later.look()
  assert.deepEqual(done, [])
  possible = true
  later.look()
  later.look()
  assert.deepEqual(done, ["in", "out"])
  later.do(() => done.push("at once"))
  assert.deepEqual(done, ["in", "out", "at once"])
})

test("what is asked for by what is done is done behind what waits", () => {
  let possible = false
  /** @type {string[]} */
  const done = []
  const later = doneWhen(() => possible)
  later.do(() => {
    later.do(() => done.push("asked for"))
    done.push("first")
  })
  later.do(() => done.push("second"))
  possible = true
  later.look()
  assert.deepEqual(done.toSorted(), ["asked for", "first", "second"])
})
