import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { fieldOf, placeOn, positionAt, selection } from "../../viz_transformer/figures/components/parts/selection.js"

let sent = []
beforeEach(() => {
  sent = []
  selection.connect((pick) => sent.push(pick))
})

test("a pick is there at once, and sent when it has settled; of two that wait, all fields", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  let heard = 0
  const deaf = selection.listen(() => heard++)
  selection.pick({ i: 1 }, 100)
  selection.pick({ i: 2, j: 5 }, 100)
  assert.deepEqual([selection.chosen.i, selection.chosen.j, heard, sent.length], [2, 5, 2, 0])
  mock.timers.tick(100)
  assert.deepEqual(
    sent.map(({ fields }) => fields),
    [{ i: 2, j: 5 }],
  )
  deaf()
  selection.pick({ i: 3 })
  assert.equal(heard, 2)
  mock.timers.tick(0)
  assert.deepEqual(sent.at(-1).fields, { i: 3, j: 5 }) // Python has not said yet that it heard of j
  mock.timers.reset()
})

test("Python is not believed until it has heard of the last pick", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  selection.pick({ i: 4 })
  selection.receive({ i: 0 }, "")
  assert.equal(selection.chosen.i, 4)
  mock.timers.tick(0)
  selection.receive({ i: 0 }, "another")
  assert.equal(selection.chosen.i, 4)
  selection.receive({ i: 4, j: 1 }, sent.at(-1).token)
  assert.deepEqual(selection.chosen, { i: 4, j: 1 })
  mock.timers.reset()
})

test("another page is gone to when Python has heard of all that is chosen, and at once where it has", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  const gone = []
  selection.pick({ i: 1 }, 250)
  selection.lead({}, () => gone.push("why"))
  assert.deepEqual([sent.length, sent[0].fields.i, gone], [1, 1, []])
  selection.heard("an earlier one")
  assert.deepEqual(gone, [])
  selection.heard(sent[0].token)
  assert.deepEqual(gone, ["why"])
  selection.lead({}, () => gone.push("again"))
  assert.deepEqual([gone, sent.length], [["why", "again"], 1])
  selection.lead({ i: 2 }, () => gone.push("further"))
  assert.equal(gone.length, 2)
  selection.heard(sent[1].token)
  assert.deepEqual([gone.at(-1), sent[1].fields.i], ["further", 2])
  selection.heard(sent[1].token)
  assert.equal(gone.length, 3)
  mock.timers.reset()
})

test("what nobody chose follows without a word to Python, until it is picked", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  selection.pick({ t: 0 })
  mock.timers.tick(1)
  selection.receive({ i: 0, j: 0, t: 0, followed: ["i", "j"] }, sent.at(-1).token)
  let heard = 0
  const deaf = selection.listen(() => heard++)
  const before = sent.length
  selection.follow({ i: 3 })
  selection.follow({ i: 3 })
  mock.timers.tick(1000)
  assert.deepEqual([selection.chosen.i, heard, sent.length - before], [3, 1, 0])
  selection.pick({ i: 2 })
  assert.deepEqual(selection.chosen.followed, ["j"])
  mock.timers.tick(1)
  assert.equal(sent.at(-1).fields.i, 2)
  deaf()
  mock.timers.reset()
})

test("after a loss Python hears of all that it may not have heard, and of the loss where that is nothing", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  selection.pick({ i: 7 })
  mock.timers.tick(1)
  selection.pick({ j: 8 }, 100)
  selection.again()
  const { fields, again } = sent.at(-1)
  assert.deepEqual([sent.at(-2).fields.i, sent.at(-2).again, fields.i, fields.j, again], [7, undefined, 7, 8, true])
  mock.timers.tick(100)
  const { length } = sent
  selection.receive({ i: 7, j: 8 }, sent.at(-1).token)
  selection.again()
  assert.deepEqual([sent.length - length, sent.at(-1).fields, sent.at(-1).again], [1, {}, true])
  mock.timers.reset()
})

test("what came without its fields is told again, once for each time", () => {
  mock.timers.enable({ apis: ["setTimeout"] })
  selection.lost(2)
  selection.pick({ i: 9 })
  mock.timers.tick(1)
  const { length } = sent
  selection.lost(2)
  assert.equal(sent.length, length)
  selection.lost(3)
  assert.deepEqual([sent.length, sent.at(-1).fields.i, sent.at(-1).again], [length + 1, 9, undefined])
  mock.timers.reset()
})

test("a place on an axis is the token, or the word that holds the position", () => {
  const tokens = Array(3).fill({ text: "a" })
  const words = { field: "q", tokens, starts: [0, 2, 4], ends: [2, 3, 9] }
  const place = (axis, q) => {
    mock.timers.enable({ apis: ["setTimeout"] })
    selection.pick({ q })
    mock.timers.reset()
    return placeOn(axis)
  }
  assert.deepEqual(
    [0, 1, 2, 3, 8, 9, null].map((q) => place(words, q)),
    [0, 0, 1, null, 2, null, null],
  )
  assert.deepEqual(
    [2, 3].map((q) => place({ field: "q", tokens }, q)),
    [2, null],
  )
  assert.deepEqual([positionAt(words, 1), positionAt({ tokens }, 1), fieldOf(words, 2)], [2, 1, { q: 4 }])
})

test("what the chosen row looks at, and whether it plays, is told when it changes", () => {
  let heard = 0
  const deaf = selection.listen(() => heard++)
  const look = { ink: "source-ink", kind: "cross", weights: { 0: 0.5 } }
  selection.looksAt(look)
  selection.looksAt({ ...look })
  selection.plays(true)
  selection.plays(true)
  assert.deepEqual([selection.look, selection.playing, heard], [look, true, 2])
  selection.looksAt(null)
  selection.plays(false)
  deaf()
})
