import { element } from "./parts/elements.js"
import { ending, rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */

// What the pointer is over in one of two plotly charts has its tooltip in the other too. data: {charts: the classes of the
// containers of both}. It draws nothing: the other chart is told of a pointer over the same place on its own axes.

/** @typedef {Element & {layout: Record<string, {range: [number, number]}>}} Chart */
/** @typedef {{plot: Element, chart: Chart}} Place */

/** @param {Component} component */
export default function ({ parentElement, data }) {
  const known = rootIn(parentElement, "twins")
  const root = known ?? /** @type {Root} */ (element("span", "twins"))
  root.given = data.charts
  if (!known) {
    parentElement.append(root)
    root.vt = { stop: listen(root) }
  }
  return ending(root, () => {
    root.vt.stop()
    root.remove()
  })
}

/**
 * Tells one of both charts of a pointer over the other, until what it returns is called.
 * @param {Root} root
 */
function listen(root) {
  let told = /** @type {?Element} */ (null)

  /** @param {string} name @returns {?Place} */
  const placeOf = (name) => {
    const chart = /** @type {?Chart} */ (document.querySelector(`.${CSS.escape(name)} .js-plotly-plot`))
    const plot = chart?.querySelector(".nsewdrag")
    return chart && plot ? { chart, plot } : null
  }
  /** Where a part of an axis of one chart lies on the same axis of the other: from 0 to 1, or beside it. */
  const moved = (
    /** @type {Chart} */ from,
    /** @type {Chart} */ to,
    /** @type {string} */ axis,
    /** @type {number} */ part,
  ) => {
    const [[a, b], [c, d]] = [from.layout[axis].range, to.layout[axis].range]
    return (a + part * (b - a) - c) / (d - c)
  }
  const point = (/** @type {MouseEvent} */ event) => {
    if (!event.isTrusted) return
    const target = /** @type {Element} */ (event.target)
    const [a, b] = root.given.map(placeOf)
    const [from, to] = target === b?.plot ? [b, a] : [a, b]
    let next = null
    if (from && to && target === from.plot) {
      const [here, there] = [from.plot.getBoundingClientRect(), to.plot.getBoundingClientRect()]
      const x = moved(from.chart, to.chart, "xaxis", (event.clientX - here.left) / here.width)
      const y = 1 - moved(from.chart, to.chart, "yaxis", 1 - (event.clientY - here.top) / here.height)
      if (x >= 0 && x < 1 && y >= 0 && y < 1) {
        next = to.plot
        const [clientX, clientY] = [there.left + x * there.width, there.top + y * there.height]
        next.dispatchEvent(new MouseEvent("mousemove", { bubbles: true, clientX, clientY }))
      }
    }
    if (told && told !== next) told.dispatchEvent(new MouseEvent("mouseout", { bubbles: true }))
    told = next
  }
  document.addEventListener("mousemove", point, true)
  return () => document.removeEventListener("mousemove", point, true)
}
