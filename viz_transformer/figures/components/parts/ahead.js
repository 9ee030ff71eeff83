// What is shown ahead of the page: while something is dragged, Python does not run the page but tells what its pictures would
// draw. The component ahead.js hands each its own; when the page has caught up, all draw what the page gave them.

/** What each component draws, by its class; null when the page has caught up. @typedef {?Record<string, any>} Ahead */

export const makeAhead = () => {
  const events = new EventTarget()
  const tell = (/** @type {string} */ type, /** @type {any} */ detail) =>
    events.dispatchEvent(new CustomEvent(type, { detail }))
  const listen = (/** @type {string} */ type, /** @type {(detail: any) => void} */ callback) => {
    const heard = (/** @type {any} */ event) => callback(event.detail)
    events.addEventListener(type, heard)
    return () => events.removeEventListener(type, heard)
  }
  return {
    show: (/** @type {Ahead} */ given) => tell("change", given),
    listen: (/** @type {(given: Ahead) => void} */ callback) => listen("change", callback),
    /** The run of a move, by its count, has come, and is about to be shown. */
    answer: (/** @type {number} */ count) => tell("answer", count),
    onAnswer: (/** @type {(count: number) => void} */ callback) => listen("answer", callback),
  }
}
/** @type {ReturnType<typeof makeAhead>} */
export const ahead = (globalThis.vizTransformerAhead ??= makeAhead())
