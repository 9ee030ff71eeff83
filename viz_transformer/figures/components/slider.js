import { ahead } from "./parts/ahead.js"
import { element } from "./parts/elements.js"
import { makeLive } from "./parts/live.js"
import { ending, rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { SliderData } from "./parts/types.js" */

// A slider over numbers: Python hears of each place while the thumb is dragged, and that it has settled, as `number`
// {value, settled, count}. data: {label, value, text, least, most, step, decimals, count}: `text` is how the number is
// written now, `value` null where it is none that the slider reaches; `count` is that of the last place that was answered. A run
// that is shown ahead of the page answers as well.
const REST = 120 // longer than a run takes that is shown ahead of the page
const SETTLE = 350
const LOST = 1000 // so long after an answer to another place nothing has come to what has settled: it is told again

/** @param {Root} root */
const make = (root) => {
  const range = element("input")
  const said = element("output", "said")
  const box = element("div", "player")
  const name = element("span", "name")
  const track = element("div", "track")
  said.setAttribute("aria-hidden", "true")
  name.setAttribute("aria-hidden", "true") // the range has it
  range.type = "range"
  box.append(range)
  track.append(said, box)
  root.append(name, track)
  let count = 0
  /** @type {SliderData} */
  let given
  /** What was told since the last answer, as it is written. @type {Set<string>} */
  const told = new Set()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let lost
  const tell = (/** @type {number} */ value, /** @type {boolean} */ settled) => {
    told.add(said.textContent)
    root.vt.tell({ value, settled, count: ++count })
  }
  // Streamlit forgets what it is told if something else is picked before it has begun with that
  const tellAgain = () => {
    lost = undefined
    if (!live.busy) tell(Number(range.value), true)
  }
  const live = makeLive({
    tell,
    rest: REST,
    settle: SETTLE,
  })
  /** @param {string} text of the number; "" for none, and then there is no thumb */
  const show = (text) => {
    root.classList.toggle("empty", text === "")
    const part = (Number(range.value) - given.least) / (given.most - given.least)
    range.style.setProperty("--done", `${100 * part}%`)
    range.setAttribute("aria-valuetext", text || "no number")
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
    stop() {
      clearTimeout(lost)
      live.stop()
      alone()
    },
    update(/** @type {SliderData} */ data) {
      told.add(given?.text)
      given = data
      range.min = String(data.least)
      range.max = String(data.most)
      range.step = String(data.step)
      range.setAttribute("aria-label", data.label)
      name.textContent = data.label
      if (data.count === count) live.answered()
      if (live.busy) return
      if (count && data.count !== count && told.has(data.text)) {
        lost ??= setTimeout(tellAgain, LOST)
        return
      }
      clearTimeout(lost) // it is answered, or somebody has written another text
      lost = undefined
      count = Math.max(count, data.count)
      told.clear()
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
  return ending(root, () => {
    root.vt.stop()
    root.remove()
  })
}
