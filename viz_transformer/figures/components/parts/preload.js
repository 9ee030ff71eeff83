// The key that edits the text, pressed while a page is still being drawn: it is kept until the page hears its keys, and what it
// asks for until there is a text to edit. Components are drawn in any order. Whatever else is done meanwhile ends it.

const EARLY = 60_000 // milliseconds

export const makeEarly = () => {
  let at = -Infinity
  return {
    press(/** @type {number} */ now) {
      at = now
    },
    waits: (/** @type {number} */ now) => now - at < EARLY,
    /** Whether it waits; once. */
    take(/** @type {number} */ now) {
      const kept = this.waits(now)
      at = -Infinity
      return kept
    },
  }
}
/** @type {{key: ReturnType<typeof makeEarly>, edit: ReturnType<typeof makeEarly>}} */
export const early = (globalThis.vizTransformerEarly ??= { key: makeEarly(), edit: makeEarly() })
