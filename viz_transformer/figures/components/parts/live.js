// The values of something that is dragged, told while it moves: the next when the one before is answered, always the
// latest, and at once where it rests. So what is on its way is seldom given up for a newer one, and the last never waits.

/**
 * tell(value, settled) sends a value. One that stays for `rest` milliseconds no longer waits for the answer to the one
 * before; one that stays for `settle` has settled, and is told again as that.
 * @template Value
 * @param {{tell: (value: Value, settled: boolean) => void, rest: number, settle: number}} given
 */
export function makeLive({ tell, rest, settle }) {
  let waiting = false
  /** @type {{value: Value} | null} */
  let next = null
  /** @type {ReturnType<typeof setTimeout>[]} */
  let timers = []
  function go() {
    if (!next) return
    const { value } = next
    next = null
    waiting = true
    tell(value, false)
  }
  const stop = () => {
    for (const timer of timers) clearTimeout(timer)
    timers = []
  }
  return {
    /** Whether what is shown elsewhere is behind. */
    get busy() {
      return timers.length > 0
    },
    move(/** @type {Value} */ value) {
      stop()
      next = { value }
      const settled = () => {
        timers = []
        tell(value, true)
      }
      timers = [setTimeout(go, rest), setTimeout(settled, settle)]
      if (!waiting) go()
    },
    /** The value that was told last is shown. */
    answered() {
      waiting = false
      go()
    },
    stop,
  }
}
