// What is asked for before it can be done is kept, and done in its order.

/** @param {() => boolean} isPossible whether it can be done */
export function doneWhen(isPossible) {
  /** @type {(() => void)[]} */
  const waiting = []
  const look = () => {
    while (waiting.length && isPossible()) waiting.shift()?.()
  }
  return {
    /** Now, where it can be done, else when somebody looks and it can. @param {() => void} act */
    do(act) {
      waiting.push(act)
      look()
    },
    /** Does what waits, if it can be done by now. */
    look,
  }
}
