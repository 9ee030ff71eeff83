import { tellPlaying } from "./playing.js"
import { advance, READING, STEP } from "./whole_flight.js"

/** @import { Moment } from "./whole_flight.js" */

// The whole runs on a page are played together: one flight through the steps of the longest, of which each shows what it has.

/** How many times as fast, one after the other. */
export const PACES = [1, 2, 0.5]
const LONGEST_FRAME = 100 // milliseconds: after a pause of the browser it goes on where it was

/**
 * What plays the steps, for all pictures; each listens, and draws its own part of the moment.
 * @param {object} [given]
 * @param {(next: (time: number) => void) => number} [given.frame]
 * @param {(frame: number) => void} [given.cancel]
 * @param {() => number} [given.now]
 * @param {(on: boolean) => void} [given.tell] what else on the page has to know whether it plays
 */
export function makeTogether({
  frame = (next) => requestAnimationFrame(next),
  cancel = (number) => cancelAnimationFrame(number),
  now = () => performance.now(),
  tell = tellPlaying,
} = {}) {
  const changes = new EventTarget()
  /** @type {?Moment} */
  let moment = null
  let [frames, earlier, pace] = [0, 0, 0]
  const changed = () => changes.dispatchEvent(new Event("change"))
  function stop() {
    if (!moment) return
    cancel(frames)
    moment = null
    tell(false)
    changed()
  }
  return {
    /** How far it has come, in the steps of the longest; null when it does not play. */
    get moment() {
      return moment
    },
    get pace() {
      return PACES[pace]
    },
    /** Faster, or slower again. */
    hurry() {
      pace = (pace + 1) % PACES.length
      changed()
    },
    stop,
    /**
     * From a step, or from the reading of the text before the first, to the last one.
     * @param {{from: number, last: number, isThere: () => boolean, pick: (step: number, ends: boolean) => void}} given
     *   pick hears of each step that begins, and of the last one again when it ends
     */
    start({ from, last, isThere, pick }) {
      const fly = (/** @type {number} */ time) => {
        if (!moment) return
        if (!isThere()) {
          stop()
          return
        }
        const gone = Math.min(Math.max(time - earlier, 0), LONGEST_FRAME) // a frame may have begun before
        const { over, t, p } = advance(moment, gone, last, STEP / PACES[pace])
        earlier = time
        if (over) {
          stop()
          pick(last, true)
          return
        }
        const turned = t !== moment.t
        moment = { t, p }
        if (turned) pick(t, false)
        changed()
        frames = frame(fly)
      }
      cancel(frames)
      moment = { t: from, p: 0 }
      tell(true)
      pick(Math.max(from, 0), false)
      earlier = now()
      frames = frame(fly)
      changed()
    },
    listen(/** @type {() => void} */ callback) {
      changes.addEventListener("change", callback)
      return () => changes.removeEventListener("change", callback)
    },
  }
}
/** @type {ReturnType<typeof makeTogether>} */
export const together = (globalThis.vizTransformerTogether ??= makeTogether())

/**
 * What a picture shows of a moment: where others go on behind its last step, that step, over; where others read a text
 * first and it reads none, its first step, not begun.
 * @param {?Moment} moment
 * @param {{last: number, reads: boolean}} picture
 * @returns {?Moment}
 */
export function ownMoment(moment, { last, reads }) {
  if (moment === null || last < 0) return null
  if (moment.t === READING && !reads) return { t: 0, p: 0 }
  return moment.t > last ? { t: last, p: 1 } : moment
}

/**
 * Which step is chosen by a row of the run whose rows the selection has: of the longest, and of this picture's own.
 * @param {number | undefined} row
 * @param {{firstRow: number, count: number, own: number}} steps
 */
export function stepsAt(row, { firstRow, count, own }) {
  const shared = Math.min(Math.max((row ?? firstRow) - firstRow, 0), count - 1)
  return { shared, own: Math.min(shared, own - 1) }
}
