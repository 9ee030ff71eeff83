import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { makePlayer } from "../../viz_transformer/figures/components/parts/player.js"

let shown, shows, player
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] })
  ;[shown, shows] = [0, []]
  const go = (place, settle) => {
    shown = place
    shows.push([place, settle])
  }
  player = makePlayer({
    pace: 100,
    settle: 20,
    isThere: () => true,
    count: () => 4,
    at: () => shown,
    go,
    last: (place) => shows.push(`end ${place}`),
    changed: () => shows.push("halted"),
  })
})
afterEach(() => mock.timers.reset())

test("it goes on to the end, where the last place settles", () => {
  shown = 1
  player.play()
  assert.deepEqual([player.playing, player.place, shown], [true, 2, 2])
  mock.timers.tick(100)
  assert.deepEqual([player.playing, player.place], [false, 3])
  mock.timers.tick(1000)
  assert.deepEqual(shows, [[2, 300], [3, 20], "end 3"])
})

test("it begins anew behind the end, and at the first from before it", () => {
  for (const from of [3, 7, -1, -5]) {
    shown = from
    player.play()
    assert.equal(shown, 0)
    player.cancel()
  }
})

test("it stops when it is told to, once, and says so unless it is cancelled", () => {
  player.play()
  player.halt()
  player.halt()
  mock.timers.tick(1000)
  assert.deepEqual(shows, [[1, 300], "halted"])
  player.play()
  player.cancel()
  assert.equal(player.playing, false)
  assert.deepEqual(shows, [[1, 300], "halted", [2, 300]])
})
