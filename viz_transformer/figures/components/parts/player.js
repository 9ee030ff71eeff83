// A run through places: one after the other as fast as `pace` says, step by step, or to one that somebody chooses.

/**
 * Runs through the places from 0 to count() - 1. at() is the place that is shown, which may lie before the first or behind
 * the last; pick(place, settle) shows one, which is settled after so many milliseconds: while it plays none is. say(place)
 * tells one who hears the picture where a step, a stop or the end has led; changed() hears of a stop before the end.
 * @param {{pace: number, settle: number, isThere: () => boolean, count: () => number, at: () => number,
 *   pick: (place: number, settle: number) => void, say: (place: number) => void, changed: () => void}} given
 */
export function makePlayer({ pace, settle, isThere, count, at, pick, say, changed }) {
  /** @type {0 | ReturnType<typeof setTimeout>} */
  let timer = 0
  /** @type {?number} */
  let played = null
  function go(/** @type {number} */ to, wait = settle) {
    if (to !== at()) pick(to, wait)
  }
  function advance(/** @type {number} */ to) {
    const ends = to >= count() - 1
    played = to
    timer = ends
      ? 0
      : setTimeout(() => {
          if (isThere()) advance(to + 1)
        }, pace)
    go(to, ends ? settle : pace + 200)
    if (ends) say(to)
  }
  /** Stop without a word. */
  function cancel() {
    clearTimeout(timer)
    timer = 0
  }
  function halt() {
    if (!timer) return
    cancel()
    changed()
  }
  /** On from the place behind the one that is shown, or from the first behind the last. */
  function play() {
    advance(at() >= count() - 1 ? 0 : Math.max(at(), -1) + 1)
  }
  function pause() {
    halt()
    pick(at(), settle)
    say(at())
  }
  return {
    get playing() {
      return timer !== 0
    },
    cancel,
    halt,
    /** Stop where somebody chose another place than the one that was played last. */
    haltElsewhere() {
      if (at() !== played) halt()
    },
    toggle() {
      if (timer) pause()
      else play()
    },
    /** To a place, without a word: it was pointed at. */
    choose(/** @type {number} */ place) {
      halt()
      go(place)
    },
    /** So many places on or back, to the last or the first at most; from beside the places to the nearest one. */
    move(/** @type {number} */ by) {
      halt()
      const last = count() - 1
      if (by < 0 ? at() <= 0 : at() >= last) return
      const from = Math.min(Math.max(at(), -1), last + 1)
      const to = Math.min(Math.max(from + by, 0), last)
      go(to)
      say(to)
    },
  }
}
