import { ahead } from "./parts/ahead.js"
import { details } from "./parts/details.js"
import { element } from "./parts/elements.js"
import { unpack } from "./parts/payload.js"
import { selection } from "./parts/selection.js"

/** @import { Component } from "./parts/stage.js" */
/** @import { AheadHeader, AheadParagraph, Numbers } from "./parts/types.js" */

// Shows a run ahead of its page: draws nothing itself. data: what ui/components/ahead.py packed, the text and a run of it, with
// the payloads of pictures by their classes; without a run the page has caught up. What it is told is done behind the turn in
// which it is told: the parts of a page that has caught up may get what they show later in that turn.
const AHEAD = "vtAhead" // page.css hides what is of the run before
const BOX = ".st-key-run_text textarea"

/** What the page made a paragraph say, by its element. @type {Map<Element, {style: string, nodes: ChildNode[]}>} */
const replaced = new Map()
let turn = 0

const put = (/** @type {AheadParagraph} */ { place, style, lead, text }) => {
  const found = document.querySelector(place)
  if (!found) return
  if (!replaced.has(found)) replaced.set(found, { style: found.className, nodes: [...found.childNodes] })
  found.className = style
  found.replaceChildren(...(lead ? [element("span", "vt-lead", lead)] : []), text)
}

/** Paragraphs that the page has not made anew say again what it made them say. */
const putBack = () => {
  for (const [found, { style, nodes }] of replaced) {
    found.className = style
    found.replaceChildren(...nodes)
  }
  replaced.clear()
}

/** What is run stands in the page's own box, unless somebody writes there; without a text the page's own. */
const write = (/** @type {string | undefined} */ text) => {
  const box = document.querySelector(BOX)
  if (box instanceof HTMLTextAreaElement && box !== document.activeElement) box.value = text ?? box.defaultValue
}

/** @param {string} [text] */
const catchUp = (text) => {
  turn++
  if (!(AHEAD in document.documentElement.dataset)) return
  delete document.documentElement.dataset[AHEAD]
  putBack()
  write(text)
  ahead.show(null)
}

/**
 * @param {string} text
 * @param {NonNullable<AheadHeader["run"]>} run
 * @param {Record<string, Numbers>} arrays
 */
const show = (text, run, arrays) => {
  // what changes the page first, then what measures it: else a browser works out its style once for each of them
  document.documentElement.dataset[AHEAD] = ""
  run.paragraphs.forEach(put)
  write(text)
  details.putAll(arrays)
  const pictures = Object.fromEntries(Object.entries(arrays).map(([name, { values }]) => [name, values]))
  ahead.show({ ...pictures, strip: { rows: run.rows } })
  selection.receive(run.chosen, run.token)
}

/** @param {Component} component */
export default function ({ data }) {
  const { header, arrays } = unpack(data)
  const { text, run } = /** @type {AheadHeader} */ (header)
  const now = ++turn
  if (run) ahead.answer(run.count) // the next is asked for before this is drawn, so that both go on at once
  setTimeout(() => {
    if (now !== turn) return
    if (run) show(text, run, arrays)
    else catchUp(text)
  })
  // Streamlit calls this too for what it was overtaken with, while its module was fetched
  return () => {
    if (now === turn) catchUp()
  }
}
