import { afterLosses } from "./parts/connection.js"
import { early } from "./parts/early.js"
import { selection } from "./parts/selection.js"
import { alone, typing } from "./parts/typing.js"

/** @import { Component } from "./parts/stage.js" */

// Joins the selection of the page's components to Python: draws nothing. It is there twice: with data {token, lost} it
// sends picks, and `lost` counts those that came to Python without their fields; with data {token, chosen} it hears what
// is chosen. A page draws the first before anything else, so that it keeps the key that edits the text until keys.js is there.

/** Whether this click asks for another page of the app. */
const leads = (/** @type {MouseEvent} */ event) => {
  const link = event.composedPath().find((part) => part instanceof HTMLAnchorElement)
  const aside = event.ctrlKey || event.metaKey || event.shiftKey || link?.target || link?.hasAttribute("download")
  return link && !aside && link.origin === location.origin && link.pathname !== location.pathname
}

const pressed = (/** @type {KeyboardEvent} */ event) => {
  if (event.key === "e" && alone(event) && !typing(event)) early.key.press(performance.now())
  else done()
}
const done = () => Object.values(early).forEach((each) => each.take(performance.now()))

/** @param {Component} component */
export default function ({ data, setTriggerValue }) {
  if (data.chosen) {
    selection.receive(data.chosen, data.token)
    return
  }
  if (!selection.connected) {
    afterLosses(selection.again)
    document.addEventListener("click", (event) => leads(event) && selection.leaves(), true)
    document.addEventListener("keydown", pressed, true)
    document.addEventListener("pointerdown", done, true)
  }
  selection.connect((pick) => setTriggerValue("pick", pick))
  selection.lost(data.lost)
  selection.heard(data.token)
}
