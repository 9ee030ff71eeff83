// Playing: one place after the other, as fast as `pace` says, until somebody chooses another.

/**
 * Plays places from 0 to count() - 1. at() is the place that is shown, go(place, settle) shows one, which is settled after
 * so many milliseconds: while it plays none is. last(place) hears of the end, changed() of a stop before it.
 * @param {{pace: number, settle: number, isThere: () => boolean, count: () => number, at: () => number,
 *   go: (place: number, settle: number) => void, last: (place: number) => void, changed: () => void}} given
 */
export function makePlayer({ pace, settle, isThere, count, at, go, last, changed }) {
  /** @type {0 | ReturnType<typeof setTimeout>} */
  let timer = 0
  /** @type {?number} */
  let place = null
  function advance(/** @type {number} */ to) {
    const ends = to >= count() - 1
    place = to
    timer = ends
      ? 0
      : setTimeout(() => {
          if (isThere()) advance(to + 1)
        }, pace)
    go(to, ends ? settle : pace + 200)
    if (ends) last(to)
  }
  return {
    get playing() {
      return timer !== 0
    },
    /** The place that was played last, or null. */
    get place() {
      return place
    },
    /** On from the place behind the one that is shown, or from the first behind the last. */
    play() {
      advance(at() >= count() - 1 ? 0 : Math.max(at(), -1) + 1)
    },
    /** Stop without a word. */
    cancel() {
      clearTimeout(timer)
      timer = 0
    },
    halt() {
      if (!timer) return
      this.cancel()
      changed()
    },
  }
}
