// Whether a key is meant for what has the focus.

const TYPED = "input:not([type=range], [type=radio], [type=checkbox], [type=button]), textarea, select"

/** What has the focus when a key is pressed, inside a component too. */
export const focused = (/** @type {Event} */ event) => /** @type {HTMLElement} */ (event.composedPath()[0])
/** Whether it is something that one writes in. */
export const writesIn = (/** @type {Element} */ part) =>
  part.matches(TYPED) || (part instanceof HTMLElement && part.isContentEditable)
/** Whether somebody writes there. */
export const typing = (/** @type {Event} */ event) => writesIn(focused(event))
/** Whether a key stands alone: with others it is the browser's. */
export const alone = (/** @type {KeyboardEvent} */ event) => !event.ctrlKey && !event.metaKey && !event.altKey
