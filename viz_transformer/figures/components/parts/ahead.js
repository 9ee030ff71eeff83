// What is shown ahead of the page: while something is dragged, Python does not run the page but tells what its pictures would
// draw. The component ahead.js hands each its own; when the page has caught up, all draw what the page gave them.

/** What each component draws, by its class, and `count`, the move that it answers; null when the page has caught up. @typedef {?Record<string, any>} Ahead */

export const makeAhead = () => {
  const changes = new EventTarget()
  return {
    show(/** @type {Ahead} */ given) {
      changes.dispatchEvent(new CustomEvent("change", { detail: given }))
    },
    listen(/** @type {(given: Ahead) => void} */ callback) {
      const heard = (/** @type {any} */ event) => callback(event.detail)
      changes.addEventListener("change", heard)
      return () => changes.removeEventListener("change", heard)
    },
  }
}
/** @type {ReturnType<typeof makeAhead>} */
export const ahead = (globalThis.vizTransformerAhead ??= makeAhead())
