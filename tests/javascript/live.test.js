import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { makeLive } from "../../viz_transformer/figures/components/parts/live.js"

let told, live
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] })
  told = []
  live = makeLive({ tell: (value, settled) => told.push(settled ? `${value} settled` : value), rest: 50, settle: 300 })
})
afterEach(() => mock.timers.reset())

test("the first is told at once, and of those that come before its answer the latest", () => {
  for (const value of [1, 2, 3]) {
    live.move(value)
    mock.timers.tick(20)
  }
  assert.deepEqual(told, [1])
  live.answered()
  assert.deepEqual(told, [1, 3])
  live.answered()
  assert.deepEqual(told, [1, 3])
})

test("one that rests does not wait for the answer to the one before", () => {
  live.move(1)
  live.move(2)
  mock.timers.tick(49)
  assert.deepEqual(told, [1])
  mock.timers.tick(1)
  assert.deepEqual(told, [1, 2])
})

test("it has settled once, some time after the last move, and is behind until then", () => {
  live.move(1)
  mock.timers.tick(299)
  live.move(2)
  live.answered()
  mock.timers.tick(299)
  assert.deepEqual([told, live.busy], [[1, 2], true])
  mock.timers.tick(1)
  assert.deepEqual([told, live.busy], [[1, 2, "2 settled"], false])
  mock.timers.tick(1000)
  assert.equal(told.length, 3)
})

test("after a stop nothing is told", () => {
  live.move(1)
  live.move(2)
  live.stop()
  mock.timers.tick(1000)
  assert.deepEqual(told, [1])
})
