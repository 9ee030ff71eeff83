import { element } from "./parts/elements.js"
import { rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */

// Brings a page's picture into view after another view of the page was chosen where the page was scrolled to. data:
// {place: the class of the picture's container, at: how often another was chosen}. It draws nothing.

/** @param {Component} component */
export default function ({ parentElement, data }) {
  const root = rootIn(parentElement, "in-view") ?? /** @type {Root} */ (element("span", "in-view"))
  if (!root.isConnected) parentElement.append(root)
  if (root.given === data.at) return
  root.given = data.at
  const page = document.querySelector("[data-testid=stMain]")
  if (page) page.scrollTop = 0
  const place = document.querySelector(`.${CSS.escape(data.place)}`)
  if (place && place.getBoundingClientRect().top > window.innerHeight / 2) place.scrollIntoView()
}
