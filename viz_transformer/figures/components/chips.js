import { element } from "./parts/elements.js"
import { selection } from "./parts/selection.js"
import { rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { Chip, ChipRow } from "./parts/types.js" */

// Rows of token chips. data: {rows: [{label, field, first, chips: [{text, note, title, ink, special, unknown, share,
// sure}]}]}; a chip of a row with a `field` of the selection can be picked, it stands for position first, first + 1, ...
/**
 * @param {Chip} chip
 * @param {boolean} pickable
 */
const chipOf = (chip, pickable) => {
  const kinds = ["chip", chip.ink, chip.special && "special", chip.unknown && "unknown"]
  const made = element(pickable ? "button" : "span", kinds.filter(Boolean).join(" "))
  made.title = chip.title
  if (chip.note) made.append(element("span", "note", chip.note))
  made.append(element("bdi", "token", chip.text))
  if (chip.share !== undefined) {
    const bar = element("span", chip.sure ? "share" : "share unsure")
    const part = element("span", "part")
    part.style.width = `${100 * chip.share}%`
    bar.append(part)
    made.append(bar)
    if (!chip.sure) made.append(element("span", "mark", "!"))
  }
  if (made instanceof HTMLButtonElement) {
    made.type = "button"
    made.setAttribute("aria-label", chip.title)
  }
  return made
}

/** @param {ChipRow} row */
const rowOf = (row) => {
  const { field, first = 0 } = row
  const line = element("div", "row")
  const chips = element("div", "chips")
  chips.setAttribute("role", "group")
  chips.setAttribute("aria-label", row.label)
  chips.append(...row.chips.map((chip) => chipOf(chip, field !== undefined)))
  line.append(element("span", "label", row.label), chips)
  if (field === undefined) return { line, mark() {} }

  const buttons = /** @type {HTMLElement[]} */ ([...chips.children])
  const pick = (/** @type {number} */ i, /** @type {number} */ settle) => {
    if (i < 0 || i >= buttons.length) return
    selection.pick({ [field]: first + i }, settle)
    buttons[i].focus()
  }
  buttons.forEach((button, i) => {
    button.onclick = () => pick(i, 0)
    button.onkeydown = (event) => {
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: buttons.length - 1 }[event.key]
      if (to === undefined) return
      event.preventDefault()
      pick(to, 150)
    }
  })
  return {
    line,
    mark() {
      const chosen = selection.chosen[field] - first
      buttons.forEach((button, i) => {
        button.classList.toggle("selected", i === chosen)
        button.setAttribute("aria-pressed", String(i === chosen))
        button.tabIndex = i === chosen || (i === 0 && !(chosen >= 0 && chosen < buttons.length)) ? 0 : -1
      })
    },
  }
}

/** @param {Component} component */
export default function ({ data, parentElement }) {
  const known = rootIn(parentElement, "strip")
  const root = known ?? /** @type {Root} */ (element("div", "strip"))
  /** @type {() => ReturnType<typeof rowOf>[]} */
  const rows = () => root.vt.rows
  if (!known) {
    parentElement.append(root)
    root.vt = { rows: [], given: "" }
    root.vt.deaf = selection.listen(() => rows().forEach((row) => row.mark()))
  }
  const given = JSON.stringify(data)
  if (given !== root.vt.given) {
    root.vt.rows = data.rows.map(rowOf)
    root.replaceChildren(...rows().map((row) => row.line))
  }
  root.vt.given = given
  rows().forEach((row) => row.mark())
  return () => {
    root.vt.deaf()
    root.remove()
  }
}
