import { ahead } from "./parts/ahead.js"
import { element } from "./parts/elements.js"
import { makeLive } from "./parts/live.js"
import { rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { SliderData } from "./parts/types.js" */

// A slider over numbers: Python hears of each place while the thumb is dragged, and that it has settled, as `number`
// {value, settled, count}. data: {label, value, text, least, most, step, decimals, count}: `text` is how the number is
// written now, `value` null where it is none that the slider reaches; `count` is that of the last place that was answered. A run
// that is shown ahead of the page answers as well.
const REST = 120 // longer than a run takes that is shown ahead of the page
const SETTLE = 350

/** @param {Root} root */
const make = (root) => {
  const range = element("input")
  const said = element("output", "said")
  const box = element("div", "player")
  said.setAttribute("aria-hidden", "true")
  range.type = "range"
  box.append(range)
  root.append(said, box)
  let count = 0
  /** @type {SliderData} */
  let given
  const live = makeLive({
    tell: (/** @type {number} */ value, settled) => root.vt.tell({ value, settled, count: ++count }),
    rest: REST,
    settle: SETTLE,
  })
  const show = (/** @type {string} */ text) => {
    const part = (Number(range.value) - given.least) / (given.most - given.least)
    range.style.setProperty("--done", `${100 * part}%`)
    range.setAttribute("aria-valuetext", text)
    said.textContent = text
    said.style.setProperty("--at", String(part))
  }
  range.oninput = () => {
    const value = Number(range.value)
    const digits = { minimumFractionDigits: given.decimals, maximumFractionDigits: given.decimals }
    show((value + 0).toLocaleString("en", digits))
    live.move(value)
  }
  const alone = ahead.onAnswer((answered) => answered === count && live.answered())
  return {
    live,
    alone,
    update(/** @type {SliderData} */ data) {
      given = data
      range.min = String(data.least)
      range.max = String(data.most)
      range.step = String(data.step)
      range.setAttribute("aria-label", data.label)
      if (data.count === count) live.answered()
      if (live.busy || (count && data.count !== count)) return
      if (data.value !== null) range.value = String(data.value)
      show(data.value === null ? "" : data.text)
    },
  }
}

/** @param {Component} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const known = rootIn(parentElement, "slider")
  const root = known ?? /** @type {Root} */ (element("div", "component slider"))
  if (!known) {
    parentElement.append(root)
    root.vt = make(root)
  }
  root.vt.tell = (/** @type {unknown} */ number) => setTriggerValue("number", number)
  root.vt.update(data)
  return () => {
    root.vt.live.stop()
    root.vt.alone()
    root.remove()
  }
}
