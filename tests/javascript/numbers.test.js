// tests/figures/components/test_source.py holds these against numerals.py with many numbers; here are the rules.
import assert from "node:assert/strict"
import { test } from "node:test"
import {
  exponential,
  fewestDigits,
  fixed,
  logProbability,
  notFinite,
  number,
  percent,
  share,
  valued,
} from "../../viz_transformer/figures/components/parts/numbers.js"

test("a tie is rounded to the even digit, as Python does", () => {
  const given = [
    [0.03125, 4],
    [0.09375, 4],
    [0.5, 0],
    [1.5, 0],
    [2.5, 0],
    [-0.5, 0],
    [-2.5, 0],
    [0.125, 2],
    [1e21, 2],
    [-1e21, 0],
  ]
  const said = [
    "0.0312",
    "0.0938",
    "0",
    "2",
    "2",
    "-0",
    "-2",
    "0.12",
    "1000000000000000000000.00",
    "-1000000000000000000000",
  ]
  assert.deepEqual(
    given.map(([value, digits]) => fixed(value, digits)),
    said,
  )
})

test("a log-probability that its digits cannot show is about 0, and 0 is said only of 0", () => {
  assert.deepEqual(
    [-0.004, -0.01, 0, -2.5, -Infinity, Number.NaN].map((value) => logProbability(value)),
    ["about 0", "-0.01", "0.00", "-2.50", "-∞", "not a number"],
  )
  assert.equal(logProbability(-0.004, 4), "-0.0040")
})

test("a value follows its name, and what is not a number is no value", () => {
  assert.equal(valued("weight", 0.25, share(0.25)), "weight 0.2500")
  assert.equal(valued("weight", Number.NaN, share(Number.NaN)), "weight: not a number")
  assert.equal(valued("norm", Infinity, number(Infinity)), "norm ∞")
})

test("what is not finite is named, where it counts", () => {
  assert.equal(notFinite([0, 1, -2]), "")
  assert.equal(notFinite([0, Number.NaN]), "not a number")
  assert.equal(notFinite([-Infinity, 1]), "infinite")
  assert.equal(notFinite([Infinity, 1, Number.NaN]), "not a number or infinite")
  assert.equal(notFinite([Infinity, 1, Number.NaN], [1, 1, 0]), "infinite")
})

test("a float32 has the digits that tell it from others, and no more", () => {
  assert.deepEqual(
    [0, 0.5, Math.fround(0.1), Math.fround(1 / 3), -Math.fround(1.2e-7), 123456, Math.fround(3e12)].map((value) =>
      fewestDigits(value),
    ),
    ["0", "0.5", "0.1", "0.33333334", "-1.2e-07", "123456", "3e+12"],
  )
  assert.deepEqual(
    [7.31815, 0.00012345, Number.NaN, -Infinity].map((value) => fewestDigits(value, 3)),
    ["7.32", "0.000123", "not a number", "-∞"],
  )
})

test("nothing but 0 is written as 0, and what is no number is said", () => {
  assert.deepEqual(
    [0, 0.00004, -0.00004, 0.25].map((value) => number(value)),
    ["0.0000", "<0.0001", ">-0.0001", "0.2500"],
  )
  assert.deepEqual(
    [NaN, Infinity, -Infinity].map((value) => number(value)),
    ["not a number", "∞", "-∞"],
  )
})

test("nothing but 1 is written as 1, and nothing but all as 100 %", () => {
  assert.deepEqual(
    [1, 0.99999, 1.00001, -0.99999].map((value) => share(value)),
    ["1.0000", ">0.9999", "<1.0001", "<-0.9999"],
  )
  assert.deepEqual(
    [0, 1, 0.5, 0.9999, 0.0001].map((value) => percent(value)),
    ["0 %", "100 %", "50.0 %", ">99.9 %", "<0.1 %"],
  )
})

test("a probability from its logarithm is neither 0 nor 1 by rounding", () => {
  assert.equal(exponential(-Infinity), 0)
  assert.equal(exponential(0), 1)
  assert.equal(exponential(-1000), Number.MIN_VALUE)
  assert.ok(exponential(-1e-20) < 1 && exponential(1e-20) > 1)
})
