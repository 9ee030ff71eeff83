import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { makePlayer } from "../../viz_transformer/figures/components/parts/player.js"

// Four places, of which 0 is shown; `heard` is what the picture heard: [place, settle], "says 2", "changed".
let shown, heard, there, player
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] })
  ;[shown, heard, there] = [0, [], true]
  player = makePlayer({
    pace: 100,
    settle: 20,
    isThere: () => there,
    count: () => 4,
    at: () => shown,
    pick: (place, settle) => {
      shown = place
      heard.push([place, settle])
    },
    say: (place) => heard.push(`says ${place}`),
    changed: () => heard.push("changed"),
  })
})
afterEach(() => mock.timers.reset())

const heardOf = (act) => {
  heard = []
  act()
  return heard
}

test("it goes on to the end, where the last place settles and is said", () => {
  shown = 1
  player.toggle()
  assert.deepEqual([player.playing, shown], [true, 2])
  mock.timers.tick(99)
  assert.equal(shown, 2)
  mock.timers.tick(1)
  assert.deepEqual([player.playing, shown], [false, 3])
  mock.timers.tick(1000)
  assert.deepEqual(heard, [[2, 300], [3, 20], "says 3"])
})

test("it begins anew behind the end, and at the first from before it", () => {
  for (const from of [3, 7, -1, -5]) {
    shown = from
    player.toggle()
    assert.equal(shown, 0)
    player.cancel()
  }
})

test("where it stops when it is toggled, the place settles and is said", () => {
  player.toggle()
  assert.deepEqual(
    heardOf(() => player.toggle()),
    ["changed", [1, 20], "says 1"],
  )
  assert.equal(player.playing, false)
  mock.timers.tick(1000)
  assert.equal(shown, 1)
})

test("it stops when it is told to, once, and says so unless it is cancelled", () => {
  player.toggle()
  player.halt()
  player.halt()
  mock.timers.tick(1000)
  assert.deepEqual(heard, [[1, 300], "changed"])
  player.toggle()
  player.cancel()
  assert.equal(player.playing, false)
  assert.deepEqual(heard, [[1, 300], "changed", [2, 300]])
})

test("it plays on where it played last, and stops where somebody chose another place", () => {
  player.toggle()
  player.haltElsewhere()
  assert.equal(player.playing, true)
  shown = 3
  player.haltElsewhere()
  assert.equal(player.playing, false)
  mock.timers.tick(1000)
  assert.equal(shown, 3)
})

test("it does not play on in a picture that is gone", () => {
  player.toggle()
  there = false
  mock.timers.tick(1000)
  assert.equal(shown, 1)
})

test("a step goes one place and says it, and at an end it neither goes nor speaks", () => {
  const steps = [
    [1, 1, [[2, 20], "says 2"]],
    [1, -1, [[0, 20], "says 0"]],
    [1, -9, [[0, 20], "says 0"]],
    [1, 9, [[3, 20], "says 3"]],
    [0, -1, []],
    [3, 1, []],
  ]
  for (const [from, by, expected] of steps) {
    shown = from
    assert.deepEqual(
      heardOf(() => player.move(by)),
      expected,
      `${by} from ${from}`,
    )
  }
})

test("a step from beside the places leads to the nearest end, and none leads away from it", () => {
  for (const [from, by, to] of [
    [-1, 1, 0],
    [-5, 1, 0],
    [4, -1, 3],
    [9, -1, 3],
    [-5, 2, 1],
    [9, -2, 2],
    [-5, -1, -5],
    [9, 1, 9],
  ]) {
    shown = from
    player.move(by)
    assert.equal(shown, to, `${by} from ${from}`)
  }
})

test("a step and a choice end the play; what is chosen is not said, nor picked where it is shown", () => {
  player.toggle()
  assert.deepEqual(
    heardOf(() => player.move(1)),
    ["changed", [2, 20], "says 2"],
  )
  player.toggle()
  assert.deepEqual(
    heardOf(() => player.choose(0)),
    [[0, 20]],
  ) // the end had been reached
  player.toggle()
  assert.deepEqual(
    heardOf(() => player.choose(2)),
    ["changed", [2, 20]],
  )
  assert.deepEqual(
    heardOf(() => player.choose(2)),
    [],
  )
})

test("one place alone is its own end", () => {
  const alone = []
  const one = makePlayer({
    pace: 100,
    settle: 20,
    isThere: () => true,
    count: () => 1,
    at: () => 0,
    pick: (place) => alone.push(place),
    say: (place) => alone.push(`says ${place}`),
    changed: () => alone.push("changed"),
  })
  one.toggle()
  one.move(1)
  one.move(-1)
  assert.deepEqual([one.playing, alone], [false, ["says 0"]])
})
