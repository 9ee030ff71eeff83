// The key that edits the text, pressed before the page hears its keys: it is kept until then, or until something else is done.

const EARLY = 60_000 // milliseconds

export const makeEarly = () => {
  let at = -Infinity
  return {
    press(/** @type {number} */ now) {
      at = now
    },
    /** Whether it was pressed; once. */
    take(/** @type {number} */ now) {
      const kept = now - at < EARLY
      at = -Infinity
      return kept
    },
  }
}
/** @type {ReturnType<typeof makeEarly>} */
export const early = (globalThis.vizTransformerEarly ??= makeEarly())
