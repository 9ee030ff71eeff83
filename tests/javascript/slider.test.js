// What a slider shows, and what Python hears of it.
import assert from "node:assert/strict"
import { afterEach, beforeEach, mock, test } from "node:test"
import { partOf } from "./page_fixture.js"

const { default: slider } = await import("../../viz_transformer/figures/components/slider.js")

const data = (value = 1234.5, text = "1,234.50", count = 0) => {
  const bounds = { least: -100_000, most: 100_000, step: 0.1, decimals: 2 }
  return { label: "A number", value, text, count, ...bounds }
}
/** A slider on a page: what it shows, what it has told, and how it is given data or moved. */
function made(given) {
  const [parentElement, told] = [partOf(), []]
  const give = (next) => slider({ data: next, parentElement, setTriggerValue: (_, number) => told.push(number) })
  give(given)
  const [name, track] = parentElement.children[0].children
  const [said, box] = track.children
  const [range] = box.children
  return {
    give,
    name,
    range,
    root: parentElement.children[0],
    told: () => told.map(({ value, settled }) => [value, settled]),
    shows: () => [range.value, range.getAttribute("aria-valuetext"), said.textContent],
    move(value) {
      range.value = String(value)
      range.oninput()
    },
  }
}
beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }))
afterEach(() => mock.timers.reset())

test("it says the number as it is written and follows it", () => {
  const view = made(data())
  assert.deepEqual(view.shows(), ["1234.5", "1,234.50", "1,234.50"])
  view.give(data(3.21987, "3.21987"))
  assert.deepEqual(view.shows().slice(1), ["3.21987", "3.21987"])
  view.give(data(null, "hello"))
  assert.deepEqual(view.shows(), ["3.21987", "no number", ""])
  assert.deepEqual(view.told(), [])
})

test("it has a name and bounds, and no number leaves it without thumb until it is moved", () => {
  const view = made(data())
  assert.deepEqual([view.name.textContent, view.range.getAttribute("aria-label")], ["A number", "A number"])
  assert.deepEqual([view.range.min, view.range.max, view.range.step], ["-100000", "100000", "0.1"])
  const isEmpty = () => view.root.classList.contains("empty")
  assert.equal(isEmpty(), false)
  view.give(data(null, "hello"))
  assert.equal(isEmpty(), true)
  view.move(0)
  assert.deepEqual([isEmpty(), view.range.style["--done"]], [false, "50%"])
})

test("Python hears of each place and of the last that it has settled", () => {
  const view = made(data(0, "0.00"))
  view.move(-0.1)
  assert.deepEqual(view.shows(), ["-0.1", "-0.10", "-0.10"])
  assert.deepEqual(view.told(), [[-0.1, false]])
  view.move(100_000)
  assert.equal(view.shows()[1], "100,000.00")
  mock.timers.tick(400)
  assert.deepEqual(view.told(), [
    [-0.1, false],
    [100_000, false],
    [100_000, true],
  ])
})

test("an answer that is behind does not move the thumb back", () => {
  const view = made(data(0, "0.00"))
  view.move(-100_000)
  view.move(-99_999.9)
  view.give(data(-100_000, "-100,000.00", 1))
  assert.equal(view.shows()[1], "-99,999.90")
  assert.deepEqual(view.told(), [
    [-100_000, false],
    [-99_999.9, false],
  ])
  view.give(data(5, "5")) // of a page that was run for something else
  assert.equal(view.shows()[1], "-99,999.90")
  mock.timers.tick(400)
  assert.equal(view.told().length, 3)
  view.give(data(-100_000, "-100,000.00", 1))
  assert.equal(view.shows()[1], "-99,999.90")
  view.give(data(7, "7", 3))
  assert.deepEqual(view.shows(), ["7", "7", "7"])
})

test("what has settled and was lost is told again", () => {
  const view = made(data(0, "0.00"))
  view.move(0.1)
  mock.timers.tick(400)
  assert.equal(view.told().length, 2)
  view.give(data(0, "0.00")) // a run of something else that was picked
  mock.timers.tick(1000)
  assert.deepEqual(view.told(), [
    [0.1, false],
    [0.1, true],
    [0.1, true],
  ])
  view.give(data(0.1, "0.10", 3))
  assert.deepEqual(view.shows(), ["0.1", "0.10", "0.10"])
})

test("a text that somebody wrote comes before what was lost", () => {
  const view = made(data(0, "0.00"))
  view.move(0.1)
  mock.timers.tick(400)
  view.give(data(7, "7"))
  assert.deepEqual(view.shows(), ["7", "7", "7"])
  mock.timers.tick(1000)
  view.move(7.1)
  mock.timers.tick(400)
  assert.deepEqual(view.told().slice(2), [
    [7.1, false],
    [7.1, true],
  ])
})
