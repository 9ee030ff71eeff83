// What the rows of a step's candidates show, say and let be taken, and the picture that is saved of them.
import assert from "node:assert/strict"
import { test } from "node:test"
import { numbers } from "./axis_fixture.js"
import { inkOf, partOf } from "./page_fixture.js"
import { recordingContext, textsOn } from "./recording_context.js"

const { drawRows, makeRows } = await import("../../viz_transformer/figures/components/parts/scrubber_rows.js")
const { paintStep } = await import("../../viz_transformer/figures/components/parts/scrubber_saved.js")
const { placeSaved } = await import("../../viz_transformer/figures/components/parts/saved_bars.js")
const { candidateSentences, canTake, decodeSteps, spreadWords, stepSentence, sumsWords } = await import(
  "../../viz_transformer/figures/components/parts/scrubber_steps.js"
)

const MARKUP = "<b>bold</b>"
const SPECIAL = new Set(["</s>"])
const paper = { one: inkOf, scale: (name) => ({ css: (t) => `${name} ${t}` }) }

/** A decode whose steps have `listed` candidates, [text, log-probability, after the strategy, why removed, rank] each. */
function decodeOf(steps, { vocabulary = 50, strategy = null, takes = false } = {}) {
  const texts = [...new Set(steps.flatMap(({ listed }) => listed.map(([text]) => text)))]
  const most = Math.max(...steps.map(({ listed }) => listed.length))
  const padded = (at) => steps.flatMap(({ listed }) => Array.from({ length: most }, (_, i) => listed[i]?.[at] ?? NaN))
  const rest = ({ listed }) => Math.max(0, 1 - listed.reduce((sum, [, log]) => sum + Math.exp(log), 0))
  const reasons = ["top-p", "banned"]
  const of = (each) => steps.map(({ listed }) => listed.map(each))
  return decodeSteps({
    header: {
      first_row: 0,
      vocabulary,
      reads: steps.map(() => ({ text: "read" })),
      tokens: texts.map((text) => ({ text, ...(SPECIAL.has(text) && { special: true }) })),
      candidates: of(([text]) => texts.indexOf(text)),
      written: steps.map(({ written = 0 }) => written),
      unlisted: steps.flatMap(({ unlisted }, s) => (unlisted ? [s] : [])),
      forced: steps.flatMap(({ forced }, s) => (forced ? [s] : [])),
      ...(takes && { ids: texts.map((_, n) => n) }),
      ...(strategy && {
        strategy: {
          name: strategy,
          reasons,
          removed: of(([, , , why]) => reasons.indexOf(why) + 1),
          ranks: of(([, , , , rank], i) => rank ?? i),
        },
      }),
    },
    arrays: {
      log_probs: numbers(padded(1), [steps.length, most]),
      rest: { ...numbers([]), values: Float64Array.from(steps.map((step) => step.rest ?? rest(step))) },
      strategy_log_probs: numbers(padded(2), [steps.length, most]),
      strategy_rest: numbers(steps.map(({ strategyRest = 0 }) => strategyRest)),
      entropy: numbers(steps.map(({ entropy = 0 }) => entropy)),
    },
  })
}
const { log } = Math
const EXAMPLE = [
  {
    listed: [
      ["one", log(0.75)],
      ["two", log(0.125)],
    ],
  },
  {
    listed: [
      [MARKUP, log(0.5)],
      ["</s>", log(0.25)],
      ["عالم", log(0.125)],
    ],
    written: 1,
  },
  {
    listed: [
      ["one", log(0.5)],
      [" ", log(0.25)],
      ["two", log(1e-5)],
    ],
    written: 2,
    forced: true,
    unlisted: true,
  },
]
const SAMPLED = [
  {
    listed: [
      ["one", log(0.5), log(0.75), null, 0],
      ["two", log(0.25), log(0.25), null, 1],
      [MARKUP, log(0.125), -Infinity, "top-p", 2],
    ],
    entropy: 1.25,
  },
  {
    listed: [
      ["</s>", log(0.5), -Infinity, "banned", 0],
      ["one", log(0.5), log(0.75), null, 1],
      ["two", log(0.0625), -Infinity, "top-p", 11],
    ],
    written: 2,
    forced: true,
    entropy: 0.5,
    strategyRest: 0.25,
  },
]
const sampled = (more = {}) => decodeOf(SAMPLED, { strategy: "sampling, top-p 0.7", takes: true, ...more })

/** The rows of a step as they are drawn, and what is taken by their buttons. */
function drawn(decode, step, active = null) {
  const taken = []
  const stage = partOf()
  const rows = makeRows(stage, decode, "id", (i) => taken.push(i))
  drawRows(rows, decode, step, active)
  const there = rows.bars.filter(({ row }) => !row.className.includes("empty"))
  const bars = there.map(({ token, value, part }) => [token.textContent, value.textContent, part.style.width])
  const { text, value, part, row } = rows.rest
  const rest = row.className.includes("empty") ? null : [text.textContent, value.textContent, part.style.width]
  return { rows, there, bars, rest, taken }
}

test("each candidate has its token, its number and a bar as long, and so have all others together", () => {
  const { bars, rest } = drawn(decodeOf(EXAMPLE), 0)
  assert.deepEqual(
    bars.map(([token, value]) => [token, value]),
    [
      ["one", "0.7500"],
      ["two", "0.1250"],
    ],
  )
  assert.ok(
    Math.abs(Number.parseFloat(bars[0][2]) - 75) < 1e-4 && Math.abs(Number.parseFloat(bars[1][2]) - 12.5) < 1e-4,
  )
  assert.deepEqual(rest.slice(0, 2), ["other 48 tokens together", "0.1250"])
  assert.ok(Math.abs(Number.parseFloat(rest[2]) - 12.5) < 1e-4)
})

test("given, unlisted and special tokens are marked", () => {
  const decode = decodeOf(EXAMPLE)
  const { bars, there } = drawn(decode, 1)
  assert.deepEqual(
    bars.map(([token]) => token),
    [MARKUP, "</s>", "عالم"],
  )
  assert.deepEqual(
    there.map(({ token }) => token.className),
    ["token", "token special", "token"],
  )
  assert.deepEqual(
    there.map(({ row }) => row.className),
    ["candidate", "candidate written", "candidate"],
  )
  assert.deepEqual(drawn(decode, 2).bars.at(-1).slice(0, 2), ["two", "<0.0001"])
  assert.deepEqual(candidateSentences(decode, 2, 2), [
    "written: “two”",
    "probability <0.0001",
    "log-probability -11.51",
    "not among the 2 most probable",
    "written because it was given",
  ])
  assert.match(stepSentence(decode, 2), /^Step 3 of 3, given: reads “read”, writes “two”, probability <0\.0001$/)
})

test("a row says what its tooltip says, and that of a step beside the answer is empty", () => {
  const decode = decodeOf(EXAMPLE)
  const { there, rows } = drawn(decode, 0, 1)
  assert.deepEqual(candidateSentences(decode, 0, 0), [
    "candidate 1: “one”",
    "probability 0.7500",
    "log-probability -0.29",
    "written",
  ])
  assert.equal(there[1].row.attributes["aria-label"], candidateSentences(decode, 0, 1).join(", "))
  assert.equal(there[1].row.className, "candidate active")
  assert.equal(rows.rest.row.attributes["aria-label"], "other 48 tokens together, probability 0.1250")
  for (const step of [-1, 3]) assert.deepEqual([drawn(decode, step).bars, drawn(decode, step).rest], [[], null])
})

test("numbers that are none are said, and have a short dotted bar", () => {
  const decode = decodeOf([
    {
      listed: [
        ["one", NaN],
        ["two", -Infinity],
      ],
      rest: NaN,
    },
  ])
  assert.equal(stepSentence(decode, 0), "Step 1 of 1: reads “read”, writes “one”, probability not a number")
  const { bars, rest, there } = drawn(decode, 0)
  assert.deepEqual(bars, [
    ["one", "not a number", "24px"],
    ["two", "0.0000", "0%"],
  ])
  assert.deepEqual(
    there.map(({ part }) => part.classList.contains("no-number")),
    [true, false],
  )
  assert.deepEqual(rest.slice(1), ["not a number", "24px"])
  assert.equal(candidateSentences(decode, 0, 1).at(-1), "log-probability -∞")
})

test("a token that is all but sure is not called certain, nor others that are too few to be seen none", () => {
  const decode = decodeOf([
    {
      listed: [
        ["one", -1e-60],
        ["two", -800],
        ["three", -Infinity],
      ],
      rest: 1e-60,
    },
  ])
  decode.arrays.log_probs.values = Float64Array.from([-1e-30, -800, -Infinity]) // 1e-60 is 0 as a float32
  assert.deepEqual(
    drawn(decode, 0).bars.map(([, value]) => value),
    [">0.9999", "<0.0001", "0.0000"],
  )
  assert.deepEqual(candidateSentences(decode, 0, 0).slice(1, 3), ["probability >0.9999", "log-probability about 0"])
  const sure = (more) => drawn(decodeOf([{ listed: [["one", 0]], rest: 1e-60 }], more), 0).rest
  assert.deepEqual(sure().slice(0, 2), ["other 49 tokens together", "<0.0001"])
  assert.equal(sure({ vocabulary: 1 }), null)
})

test("equally probable candidates share their rank", () => {
  const decode = decodeOf([
    {
      listed: [
        ["one", -1],
        ["two", -1],
        ["three", -2],
      ],
      written: 1,
    },
  ])
  assert.deepEqual(
    [0, 1, 2].map((i) => candidateSentences(decode, 0, i)[0]),
    ["candidate 1: “one”", "candidate 1: “two”", "candidate 3: “three”"],
  )
})

test("a candidate shows its probability before and after the strategy, or why it was removed", () => {
  const { there, rows } = drawn(sampled(), 0)
  assert.deepEqual(
    there.map(({ after }) => after.value.textContent),
    ["0.7500", "0.2500", "top-p"],
  )
  assert.deepEqual(
    there.map(({ after }) => Math.round(1e4 * Number.parseFloat(after.part.style.width)) / 1e4),
    [75, 25, 0],
  )
  assert.deepEqual(
    there.map(({ part }) => part.classList.contains("removed")),
    [false, false, true],
  )
  assert.equal(rows.rest.after.value.textContent, "0.0000")
  assert.equal(spreadWords(sampled(), 0), "entropy 1.25 nats (uniform: ln 50 = 3.91)")
  assert.equal(sumsWords(sampled(), 0), "log-probability: model -0.69, after the strategy -0.29")
})

test("the tooltip never mixes the model and the strategy", () => {
  const decode = sampled()
  assert.deepEqual(candidateSentences(decode, 0, 1), [
    "candidate 2: “two”",
    "probability: model 0.2500, after the strategy 0.2500",
    "log-probability: model -1.39, after the strategy -1.39",
    "Enter takes it instead",
  ])
  assert.deepEqual(candidateSentences(decode, 0, 2).slice(1, 4), [
    "probability: model 0.1250",
    "log-probability: model -2.08",
    "removed by the strategy: top-p",
  ])
  assert.deepEqual(candidateSentences(decode, 0, 3), [
    "other 47 tokens together",
    "probability: model 0.1250, after the strategy 0.0000",
  ])
  const last = candidateSentences(decode, 1, 2)
  assert.equal(last[0], "candidate 12: “two”")
  assert.deepEqual(last.slice(-2), ["removed by the strategy: top-p", "written because it was given"])
  assert.match(stepSentence(decode, 1), /probability 0\.0625 by the model, 0\.0000 after the strategy$/)
})

test("what is written or banned has no button, and without takes there is none", () => {
  const buttons = (step, more) =>
    drawn(sampled(more), step).rows.bars.flatMap(({ taker }, i) => (taker.hidden ? [] : [i]))
  assert.deepEqual(
    [0, 1, 7].map((step) => buttons(step)),
    [[1, 2], [1], []],
  )
  assert.deepEqual(
    [3, 4].map((i) => canTake(sampled(), 0, i)),
    [false, false],
  ) // all others together are no token
  assert.deepEqual(buttons(0, { takes: false }), [])
  const { rows } = drawn(sampled({ takes: false }), 0)
  assert.ok(rows.bars.every(({ row, taker }) => !row.children.some((part) => part.children.includes(taker))))
})

test("a button takes its candidate once, and says which token stands there instead", () => {
  const { rows, taken } = drawn(sampled(), 0)
  const { taker } = rows.bars[2]
  for (const detail of [1, 2]) taker.onclick({ detail })
  assert.deepEqual(taken, [2]) // a double click is one
  assert.equal(taker.attributes["aria-label"], `Take “${MARKUP}” instead of “one”`)
})

test("rows of a run without a strategy have nothing of one", () => {
  const classes = (decode) =>
    drawn(decode, 0).rows.bars.flatMap(({ row }) => row.children.map(({ className }) => className))
  assert.ok(classes(sampled()).includes("final"))
  for (const name of ["final", "final-bar", "taking"]) assert.ok(!classes(decodeOf(EXAMPLE)).includes(name))
})

/** The texts of a step's saved picture. */
function textsSaved(decode, step) {
  const context = recordingContext()
  const given = { width: 720, label: 120, most: decode.most, strategy: decode.head.strategy !== undefined, z: 1 }
  const place = placeSaved(given)
  paintStep(context, paper, { decode, step, place, z: 1, width: 720 })
  return textsOn(context)
}
const wordsOf = (found) => found.map(({ text }) => text.replace(/[\u2068\u2069]/g, "")).join(" ")

test("the saved picture has a step's sentence, its candidates and all others", () => {
  const words = wordsOf(textsSaved(decodeOf(EXAMPLE), 1))
  for (const part of ["Step 2 of 3", "writes </s>", "0.5000", "0.2500", "عالم", "other 47 tokens"])
    assert.ok(words.includes(part), part)
})

test("what all other tokens have stands beside the axis of the saved picture", () => {
  const found = textsSaved(decodeOf(EXAMPLE, { vocabulary: 123_456 }), 0)
  const axis = found.find(({ text }) => text === "0").x
  const others = found.filter(({ text }) => text.startsWith("other 1") || text.endsWith("together"))
  assert.equal(others.length, 2)
  assert.ok(others.every(({ align, x }) => align === "right" && x < axis))
})

test("the saved picture has the strategy too", () => {
  const words = wordsOf(textsSaved(sampled(), 0))
  for (const part of [
    "entropy 1.25 nats (uniform: ln 50 = 3.91)",
    "log-probability: model -0.69, after the strategy -0.29",
    "one 0.5000 0.7500 two 0.2500 0.2500",
    "0.1250 top-p",
    "other 47 tokens together 0.1250 0.0000",
    "removed, and why",
  ])
    assert.ok(words.includes(part), part)
})
