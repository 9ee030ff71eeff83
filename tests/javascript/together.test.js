import assert from "node:assert/strict"
import { test } from "node:test"
import { makeTogether, ownMoment, PACES, stepsAt } from "../../viz_transformer/figures/components/parts/together.js"
import { READING, STEP } from "../../viz_transformer/figures/components/parts/whole_flight.js"

/** Two pictures of so many steps that play together; `after` lets time pass in frames of 20 ms. */
function playing(...counts) {
  let [time, next] = [0, null]
  const [picks, told, state] = [[], [], { there: true }]
  const together = makeTogether({
    frame: (callback) => {
      next = callback
      return 1
    },
    cancel: () => {
      next = null
    },
    now: () => time,
    tell: (on) => told.push(on),
  })
  const last = Math.max(...counts) - 1
  const start = (from) =>
    together.start({ from, last, isThere: () => state.there, pick: (step, ends) => picks.push([step, ends]) })
  const after = (milliseconds) => {
    for (let n = 0; n < milliseconds; n += 20) {
      time += 20
      const call = next
      next = null
      call?.(time)
    }
  }
  const shown = () => counts.map((count) => ownMoment(together.moment, { last: count - 1, reads: true }))
  return { together, start, after, shown, picks, told, state }
}

test("both pictures show the same moment, and the shorter one its last step while the longer goes on", () => {
  for (const counts of [
    [2, 4],
    [4, 2],
  ]) {
    const { start, after, shown, picks, told, together } = playing(...counts)
    start(0)
    after(1.5 * STEP)
    assert.deepEqual(shown()[0], shown()[1])
    assert.equal(shown()[0].t, 1)
    after(STEP)
    const [shorter, longer] = counts[0] < counts[1] ? shown() : shown().reverse()
    assert.deepEqual(shorter, { t: 1, p: 1 })
    assert.equal(longer.t, 2)
    after(2 * STEP)
    assert.equal(together.moment, null)
    assert.deepEqual(
      picks.map(([step]) => step),
      [0, 1, 2, 3, 3],
    )
    assert.deepEqual(picks.at(-1), [3, true])
    assert.deepEqual(told, [true, false])
  }
})

test("a stop, by whichever picture, stops both where they are, and the next start begins there", () => {
  const { start, after, shown, together, picks } = playing(3, 5)
  start(1)
  after(1.25 * STEP)
  together.stop()
  assert.deepEqual(shown(), [null, null])
  const heard = picks.length
  after(5 * STEP)
  assert.equal(picks.length, heard)
  assert.deepEqual(picks.at(-1), [2, false])
  start(2)
  after(20)
  assert.equal(together.moment.t, 2)
})

test("every picture hears of the speed, of each frame and of the end", () => {
  const { start, after, together } = playing(2, 2)
  let heard = 0
  const deaf = together.listen(() => {
    heard += 1
  })
  assert.equal(together.pace, 1)
  together.hurry()
  assert.deepEqual([together.pace, heard], [2, 1])
  start(0)
  after(STEP)
  assert.equal(together.moment, null)
  assert.ok(heard > 10)
  deaf()
  for (const _ of PACES.slice(1)) together.hurry()
  assert.equal(together.pace, 1)
})

test("it stops where the picture that began it is gone", () => {
  const { start, after, together, state, told } = playing(4, 4)
  start(0)
  after(100)
  state.there = false
  after(20)
  assert.equal(together.moment, null)
  assert.deepEqual(told, [true, false])
})

test("what reads no text first waits with its first step, and what writes nothing is not played", () => {
  const reading = { t: READING, p: 0.5 }
  assert.deepEqual(ownMoment(reading, { last: 3, reads: true }), reading)
  assert.deepEqual(ownMoment(reading, { last: 3, reads: false }), { t: 0, p: 0 })
  assert.equal(ownMoment(reading, { last: -1, reads: true }), null)
  assert.equal(ownMoment(null, { last: 3, reads: true }), null)
})

test("a row of A is one step in both, clipped to the longest and to each one's own", () => {
  const steps = { firstRow: 5, count: 4, own: 2 }
  assert.deepEqual(stepsAt(undefined, steps), { shared: 0, own: 0 })
  assert.deepEqual(stepsAt(3, steps), { shared: 0, own: 0 })
  assert.deepEqual(stepsAt(6, steps), { shared: 1, own: 1 })
  assert.deepEqual(stepsAt(8, steps), { shared: 3, own: 1 })
  assert.deepEqual(stepsAt(99, steps), { shared: 3, own: 1 })
})
