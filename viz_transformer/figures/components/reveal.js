import { element } from "./parts/elements.js"
import { rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */

// Scrolls a list that scrolls in itself to what is chosen in it, when that was not chosen there. data: {list: the class of
// its container, at: what is chosen}. It draws nothing.

const PATIENCE = 10_000 // milliseconds until the list is there: a browser fetches what it is made of later

/** @param {Component} component */
export default function ({ parentElement, data }) {
  const root = rootIn(parentElement, "reveal") ?? /** @type {Root} */ (element("span", "reveal"))
  if (!root.isConnected) parentElement.append(root)
  if (root.given === data.at) return
  root.given = data.at
  const until = performance.now() + PATIENCE
  const reveal = () => {
    const list = document.querySelector(`.${CSS.escape(data.list)}`)
    const chosen = list?.querySelector("label:has(:checked)")
    if (root.given !== data.at || performance.now() > until) return
    if (!list || !chosen) {
      requestAnimationFrame(reveal)
      return
    }
    const [box, line] = [list.getBoundingClientRect(), chosen.getBoundingClientRect()]
    if (line.top < box.top || line.bottom > box.bottom) list.scrollTop += line.top - box.top - box.height / 3
  }
  reveal()
}
