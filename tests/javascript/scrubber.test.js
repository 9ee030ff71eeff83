import assert from "node:assert/strict"
import { test } from "node:test"
import {
  candidateSentences,
  canTake,
  decodeSteps,
  finalWords,
  othersWords,
  reasonOf,
  rowsAt,
  shortReason,
  spreadWords,
  stepSentence,
  sumsWords,
  writesStep,
} from "../../viz_transformer/figures/components/parts/scrubber_steps.js"

const array = (/** @type {number[]} */ values, shape = [values.length]) => ({
  shape,
  encoding: "float32",
  values: Float32Array.from(values),
})
const logs = (/** @type {number[]} */ odds) => odds.map((each) => Math.log(each))
const HEAD = {
  first_row: 0,
  vocabulary: 50,
  reads: [{ text: "<s>", special: true }, { text: "a" }],
  tokens: [{ text: "a" }, { text: "b" }, { text: "</s>", special: true }],
  candidates: [
    [0, 1],
    [2, 1],
  ],
  written: [0, 1],
  unlisted: [],
  forced: [1],
}
const made = (changes = {}, arrays = {}) =>
  decodeSteps({
    header: { ...HEAD, ...changes },
    arrays: { log_probs: array(logs([0.5, 0.25, 0.25, 0.25]), [2, 2]), rest: array([0.25, 0.5]), ...arrays },
  })
const STRATEGY = {
  strategy: {
    name: "top-k",
    reasons: ["banned", "too short to end"],
    removed: [
      [0, 2],
      [0, 1],
    ],
    ranks: [
      [0, 1],
      [0, 1],
    ],
  },
}
const FINAL = {
  strategy_log_probs: array([0, -Infinity, ...logs([0.75, 0.25])], [2, 2]),
  strategy_rest: array([0, 0]),
  entropy: array([1.5, 0]),
}

test("a row beside the answer writes nothing of it", () => {
  const decode = made()
  assert.deepEqual(
    [-1, 0, 1, 2].map((step) => writesStep(decode, step)),
    [false, true, true, false],
  )
  assert.equal(stepSentence(decode, -1), "This row reads what was given: it writes nothing of the answer.")
  assert.equal(stepSentence(decode, 2), "This row reads padding: it writes nothing of the answer.")
  assert.deepEqual(
    [0, 2].map((step) => rowsAt(decode, step)),
    [3, 0],
  )
  assert.equal(rowsAt(made({ vocabulary: 2 }), 0), 2)
})

test("a step says what it reads and writes, and how probable that was", () => {
  assert.equal(stepSentence(made(), 0), "Step 1 of 2: reads <s>, writes “a”, probability 0.5000")
  assert.equal(stepSentence(made(), 1), "Step 2 of 2, given: reads “a”, writes “b”, probability 0.2500")
  const decode = made(STRATEGY, FINAL)
  assert.match(stepSentence(decode, 0), /probability 0\.5000 by the model, 1\.0000 after the strategy$/)
  assert.equal(spreadWords(decode, 0), "entropy 1.50 nats (uniform: ln 50 = 3.91)")
  assert.equal(sumsWords(decode, 1), "log-probability: model -1.39, after the strategy -1.39")
})

test("a candidate says its rank, its odds and whether it was written", () => {
  assert.deepEqual(candidateSentences(made(), 0, 1), [
    "candidate 2: “b”",
    "probability 0.2500",
    "log-probability -1.39",
  ])
  const equal = candidateSentences(made(), 1, 1)
  assert.deepEqual([equal[0], equal.at(-1)], ["candidate 1: “b”", "written because it was given"]) // as probable as the first
  assert.equal(candidateSentences(made({ unlisted: [0] }), 0, 0)[0], "written: “a”")
  assert.equal(candidateSentences(made({ unlisted: [0] }), 0, 0)[3], "not among the 1 most probable")
  assert.deepEqual(candidateSentences(made(), 0, 2), ["other 48 tokens together", "probability 0.2500"])
  assert.equal(othersWords(made({ vocabulary: 3 }), 0), "other 1 token together")
})

test("what a strategy removed says why, and what it kept what came of it", () => {
  const decode = made(STRATEGY, FINAL)
  assert.equal(reasonOf(decode, 0, 1), "too short to end")
  assert.deepEqual(candidateSentences(decode, 0, 1).slice(1), [
    "probability: model 0.2500",
    "log-probability: model -1.39",
    "removed by the strategy: too short to end",
  ])
  assert.equal(candidateSentences(decode, 1, 0)[1], "probability: model 0.2500, after the strategy 0.7500")
  assert.deepEqual([finalWords(decode, 0, 1), finalWords(decode, 1, 0)], ["too short to end", "0.7500"])
  assert.equal(shortReason("too short to end"), "too short")
  assert.equal(shortReason("banned"), "banned")
})

test("another candidate can be taken, but not what was written or is banned", () => {
  const decode = made({ ...STRATEGY, ids: [5, 6, 7] }, FINAL)
  assert.deepEqual(
    [canTake(decode, 0, 0), canTake(decode, 0, 1), canTake(decode, 0, 2), canTake(decode, 1, 0), canTake(decode, 2, 0)],
    [false, true, false, true, false],
  )
  assert.equal(canTake(made({ ...STRATEGY, ids: [5, 6, 7], written: [0, 0] }, FINAL), 1, 1), false) // banned
  assert.equal(canTake(made(), 0, 1), false)
})
