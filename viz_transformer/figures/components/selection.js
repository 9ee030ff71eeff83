import { listenToBoxes } from "./parts/boxes.js"
import { afterLosses } from "./parts/connection.js"
import { early } from "./parts/preload.js"
import { selection } from "./parts/selection.js"
import { alone, typing, writesIn } from "./parts/typing.js"

/** @import { Component } from "./parts/stage.js" */

// Joins the selection of the page's components to Python: draws nothing. It is there twice: with data {token, lost} it
// sends picks, and `lost` counts those that came to Python without their fields; with data {token, chosen} it hears what
// is chosen. A page draws the first before anything else, so that it keeps the key that edits the text until keys.js is there.

/** The link of this click, if it asks for another page of the app. */
const leads = (/** @type {MouseEvent} */ event) => {
  const link = event.composedPath().find((part) => part instanceof HTMLAnchorElement)
  const aside = event.ctrlKey || event.metaKey || event.shiftKey || link?.target || link?.hasAttribute("download")
  return link && !aside && link.origin === location.origin && link.pathname !== location.pathname ? link : null
}

const TOLD = 10 // milliseconds: what was written before a click has been told by then
let typed = false // the button of the pointer went down while somebody wrote
const clicked = (/** @type {MouseEvent} */ event) => {
  const link = leads(event)
  if (!link) return
  if (!selection.writing && !typed) {
    selection.leaves()
    return
  }
  // else Python would hear of the text behind the other page, as of this one, and come back to it
  typed = false
  event.preventDefault()
  event.stopImmediatePropagation()
  setTimeout(() => link.click(), TOLD)
}
const pointed = () => {
  done()
  let inside = document.activeElement
  while (inside?.shadowRoot?.activeElement) inside = inside.shadowRoot.activeElement
  typed = inside !== null && writesIn(inside)
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
    afterLosses(() => selection.again())
    document.addEventListener("click", clicked, true)
    document.addEventListener("keydown", pressed, true)
    document.addEventListener("pointerdown", pointed, true)
    listenToBoxes()
  }
  selection.connect((pick) => setTriggerValue("pick", pick))
  selection.lost(data.lost)
  selection.heard(data.token)
}
