/** @import { Fields, Picked } from "./parts/selection.js" */

// The widget of a picture, in the browser: joins the selection of each frame that shows its page to that of Python, whose
// end is widget.py. A frame is a window of its own, with its own selection: pictures share one where Python links them.

/**
 * What anywidget gives: the traits of the widget in Python, as this browser knows them.
 * @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 *   on: (event: string, heard: () => void) => void}} Model
 */

const selectionIn = (/** @type {HTMLIFrameElement} */ frame) =>
  /** @type {any} */ (frame.contentWindow)?.vizTransformerSelection

/**
 * Called when Python makes the widget, which need not be shown for that: the output of a cell is the page in a frame
 * with the widget's name, so that it stays when nothing runs any more. Returns what ends it.
 * @param {{model: Model}} given
 */
function initialize({ model }) {
  /** @type {Map<HTMLIFrameElement, string>} */
  const tokens = new Map() // of what was picked last in each frame
  const receive = () => {
    for (const [frame, token] of tokens) selectionIn(frame)?.receive(model.get("selection"), token)
  }
  const join = (/** @type {unknown} */ frame) => {
    if (!(frame instanceof HTMLIFrameElement) || frame.name !== model.get("name") || !selectionIn(frame)) return
    tokens.set(frame, "")
    receive()
    selectionIn(frame).connect((/** @type {Picked} */ pick) => {
      tokens.set(frame, pick.token)
      model.set("selection", { .../** @type {Fields} */ (model.get("selection")), ...pick.fields })
      model.save_changes()
      receive()
    })
  }
  const loaded = (/** @type {Event} */ event) => join(event.target)
  model.on("change:selection", receive)
  document.addEventListener("load", loaded, true) // also of a frame that the notebook puts elsewhere, which begins anew
  for (const frame of document.querySelectorAll("iframe")) join(frame)
  return () => document.removeEventListener("load", loaded, true)
}

/** A frame of its own, where widgets stand in others. @param {{model: Model, el: HTMLElement}} given */
function render({ model, el }) {
  const frame = document.createElement("iframe")
  frame.name = model.get("name")
  Object.assign(frame.style, { width: "100%", height: "600px", border: "0" })
  frame.srcdoc = model.get("html")
  el.append(frame)
}

export default () => ({ initialize, render })
