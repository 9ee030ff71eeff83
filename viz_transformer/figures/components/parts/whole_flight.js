// How a step is played: its token is embedded, flows through the layers, becomes candidates, and what is written goes back to
// the left as the next input. Places and lengths move, no number does.

/** How long a step takes, in milliseconds. */
export const STEP = 2000
/** The step before the first: the encoder reads the whole text, once. */
export const READING = -1

/** A phase ends at this part of the step. */
const ENDS = /** @type {const} */ ([
  ["embed", 0.12],
  ["layers", 0.7],
  ["bars", 0.82],
  ["back", 1],
])

/** @typedef {{t: number, p: number}} Moment A step, and how much of it is over. */

/**
 * The phase of a step at the part `p` of it, and how much of the phase is over.
 * @param {number} p
 * @returns {{phase: "embed" | "layers" | "bars" | "back", part: number}}
 */
export function phaseAt(p) {
  let from = 0
  for (const [phase, to] of ENDS) {
    if (p < to || to === 1) return { phase, part: Math.min(Math.max((p - from) / (to - from), 0), 1) }
    from = to
  }
  return { phase: "back", part: 1 }
}

/**
 * The moment so many milliseconds later, and whether the last step is over.
 * @param {Moment} moment
 * @param {number} milliseconds
 * @param {number} last
 * @param {number} [pace]
 * @returns {Moment & {over: boolean}}
 */
export function advance({ t, p }, milliseconds, last, pace = STEP) {
  const whole = t + p + milliseconds / pace
  if (whole >= last + 1) return { t: last, p: 1, over: true }
  const step = Math.floor(whole)
  return { t: step, p: whole - step, over: false }
}

/**
 * How far the step has come, in the pixels of its band: all that begins left of it is there.
 * @param {number} p
 * @param {{from: number, input: number, end: number}} places
 */
export function frontAt(p, { from, input, end }) {
  const { phase, part } = phaseAt(p)
  if (phase === "embed") return from + (input - from) * part
  return phase === "layers" ? input + (end - input) * part : end
}

/**
 * The place at a part of the way along these points, by its length.
 * @param {[number, number][]} points
 * @param {number} part
 * @returns {[number, number]}
 */
export function alongWay(points, part) {
  const lengths = points.slice(1).map(([x, y], n) => Math.hypot(x - points[n][0], y - points[n][1]))
  let left = part * lengths.reduce((sum, each) => sum + each, 0)
  for (let n = 0; n < lengths.length; n++) {
    if (left > lengths[n]) {
      left -= lengths[n]
      continue
    }
    const share = lengths[n] ? left / lengths[n] : 0
    const [[x, y], [x1, y1]] = [points[n], points[n + 1]]
    return [x + (x1 - x) * share, y + (y1 - y) * share]
  }
  return points[points.length - 1]
}
