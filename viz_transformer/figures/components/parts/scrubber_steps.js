import { exponential, logProbability, number, share } from "./numbers.js"
import { among, mention, quoted } from "./text.js"

/** @import { Numbers, Payload, ScrubberHeader, Token } from "./types.js" */

// All steps of a decode: what each wrote, its candidates and their odds, what a strategy made of them, and that in words.

/** @typedef {{head: ScrubberHeader, arrays: Record<string, Numbers>, count: number, most: number}} DecodeSteps */
/** @typedef {(decode: DecodeSteps, step: number, i: number) => number} OfCandidate */
/** @typedef {(decode: DecodeSteps, step: number) => string} StepWords */

/** What a tooltip says in full. @type {Record<string, string>} */
const SHORT = { "repeated n-gram": "repeated", "too short to end": "too short" }
const GIVEN = "This row reads what was given: it writes nothing of the answer."
const PADDING = "This row reads padding: it writes nothing of the answer."

/** @type {(payload: Payload) => DecodeSteps} */
export function decodeSteps({ header: head, arrays }) {
  const [count, most] = arrays.log_probs.shape
  return { head, arrays, count, most }
}

/** @type {(reason: string) => string} */
export const shortReason = (reason) => SHORT[reason] ?? reason

/**
 * Whether a row writes a step of the answer: it may lie just before the first or behind the last.
 * @type {(decode: DecodeSteps, step: number) => boolean}
 */
export const writesStep = ({ count }, step) => step >= 0 && step < count
/** @type {(decode: DecodeSteps, step: number) => Token[]} */
export const candidatesAt = ({ head }, step) => head.candidates[step].map((place) => head.tokens[place])
/** @type {(decode: DecodeSteps, step: number) => Token} */
export const writtenAt = (decode, step) => candidatesAt(decode, step)[decode.head.written[step]]
/** @type {(decode: DecodeSteps, step: number) => boolean} */
export const isForced = ({ head }, step) => head.forced.includes(step)

// ---- odds, by the model and after the strategy

/** @type {OfCandidate} */
const logProbOf = ({ arrays, most }, step, i) => arrays.log_probs.values[step * most + i]
/** @type {OfCandidate} */
export const probabilityOf = (decode, step, i) => exponential(logProbOf(decode, step, i))
/** @type {OfCandidate} */
const finalLogProbOf = ({ arrays, most }, step, i) => arrays.strategy_log_probs.values[step * most + i]
/** @type {OfCandidate} */
export const finalProbabilityOf = (decode, step, i) => exponential(finalLogProbOf(decode, step, i))
/**
 * Why the strategy removed a candidate; undefined if it did not.
 * @type {(decode: DecodeSteps, step: number, i: number) => string | undefined}
 */
export const reasonOf = ({ head: { strategy } }, step, i) => strategy?.reasons[strategy.removed[step][i] - 1]
/** @type {(decode: DecodeSteps, step: number) => number} */
export const othersAt = ({ head }, step) => head.vocabulary - head.candidates[step].length
/** @type {(decode: DecodeSteps, step: number) => number} */
export const restAt = ({ arrays }, step) => arrays.rest.values[step]
/** @type {(decode: DecodeSteps, step: number) => number} */
export const finalRestAt = ({ arrays }, step) => arrays.strategy_rest.values[step]
/**
 * How many rows a step has: its candidates and, together, all other tokens.
 * @type {(decode: DecodeSteps, step: number) => number}
 */
export const rowsAt = (decode, step) =>
  writesStep(decode, step) ? decode.head.candidates[step].length + (othersAt(decode, step) ? 1 : 0) : 0

/** @type {(decode: DecodeSteps, step: number, i: number) => boolean} */
export const canTake = (decode, step, i) =>
  decode.head.ids !== undefined &&
  writesStep(decode, step) &&
  i < decode.head.candidates[step].length &&
  i !== decode.head.written[step] &&
  reasonOf(decode, step, i) !== "banned"

// ---- words

/** @type {StepWords} */
export const othersWords = (decode, step) => {
  const count = othersAt(decode, step)
  return `other ${count.toLocaleString("en")} ${count === 1 ? "token" : "tokens"} together`
}
/** @type {StepWords} */
export const stepNumber = ({ count }, step) => `Step ${among(step, count)}`
/** @type {StepWords} */
export const writtenOdds = (decode, step) => share(probabilityOf(decode, step, decode.head.written[step]))
/** @type {(decode: DecodeSteps, step: number, i: number) => string} */
export const finalWords = (decode, step, i) => reasonOf(decode, step, i) ?? share(finalProbabilityOf(decode, step, i))

/** @type {StepWords} */
export function stepSentence(decode, step) {
  const { head } = decode
  if (!writesStep(decode, step)) return step < 0 ? GIVEN : PADDING
  const given = isForced(decode, step) ? ", given" : ""
  const odds = writtenOdds(decode, step)
  const said = head.strategy
    ? `${odds} by the model, ${share(finalProbabilityOf(decode, step, head.written[step]))} after the strategy`
    : odds
  const what = `reads ${mention(head.reads[step])}, writes ${mention(writtenAt(decode, step))}`
  return `${stepNumber(decode, step)}${given}: ${what}, probability ${said}`
}

/** @type {StepWords} */
export function spreadWords({ head, arrays }, step) {
  const uniform = `ln ${head.vocabulary.toLocaleString("en")} = ${number(Math.log(head.vocabulary), 2)}`
  return `entropy ${number(arrays.entropy.values[step], 2)} nats (uniform: ${uniform})`
}
/** @type {StepWords} */
export function sumsWords(decode, step) {
  const i = decode.head.written[step]
  const [raw, final] = [logProbOf(decode, step, i), finalLogProbOf(decode, step, i)]
  return `log-probability: model ${logProbability(raw)}, after the strategy ${logProbability(final)}`
}

/**
 * The rank of a candidate: equally probable ones share it.
 * @type {OfCandidate}
 */
function rankOf(decode, step, i) {
  const { strategy } = decode.head
  if (strategy) return strategy.ranks[step][i]
  let first = i
  while (first > 0 && logProbOf(decode, step, first - 1) === logProbOf(decode, step, i)) first -= 1
  return first
}

/** @type {(decode: DecodeSteps, step: number, i: number) => string[]} */
function oddsSentences(decode, step, i) {
  const log = logProbability(logProbOf(decode, step, i))
  const odds = share(probabilityOf(decode, step, i))
  if (!decode.head.strategy) return [`probability ${odds}`, `log-probability ${log}`]
  const reason = reasonOf(decode, step, i)
  if (reason !== undefined)
    return [`probability: model ${odds}`, `log-probability: model ${log}`, `removed by the strategy: ${reason}`]
  const final = logProbability(finalLogProbOf(decode, step, i))
  return [
    `probability: model ${odds}, after the strategy ${finalWords(decode, step, i)}`,
    `log-probability: model ${log}, after the strategy ${final}`,
  ]
}

/**
 * What the tooltip says of a candidate; behind the last one stand all other tokens.
 * @type {(decode: DecodeSteps, step: number, i: number) => string[]}
 */
export function candidateSentences(decode, step, i) {
  const { head } = decode
  if (i === head.candidates[step].length) {
    const odds = share(restAt(decode, step))
    const rest = head.strategy ? `: model ${odds}, after the strategy ${share(finalRestAt(decode, step))}` : ` ${odds}`
    return [othersWords(decode, step), `probability${rest}`]
  }
  const isWritten = i === head.written[step]
  const unlisted = isWritten && head.unlisted.includes(step)
  const name = unlisted ? "written" : `candidate ${rankOf(decode, step, i) + 1}`
  const lines = [`${name}: ${quoted(candidatesAt(decode, step)[i])}`, ...oddsSentences(decode, step, i)]
  if (unlisted) lines.push(`not among the ${head.candidates[step].length - 1} most probable`)
  if (isWritten) lines.push(isForced(decode, step) ? "written because it was given" : "written")
  if (canTake(decode, step, i)) lines.push("Enter takes it instead")
  return lines
}
