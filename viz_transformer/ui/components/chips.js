// Rows of token chips. data: {rows: [{label, chips: [{text, note, title, ink, special, unknown, share, sure}]}],
// picks, selected}: `picks` is the row whose chips can be picked, `selected` the chip that is.
const make = (name, className, text) => {
  const element = document.createElement(name)
  element.className = className
  if (text !== undefined) element.textContent = text
  return element
}

const chipOf = (chip, pickable, selected) => {
  const kinds = ["chip", chip.ink, chip.special && "special", chip.unknown && "unknown", selected && "selected"]
  const element = make(pickable ? "button" : "span", kinds.filter(Boolean).join(" "))
  element.title = chip.title
  if (chip.note) element.append(make("span", "note", chip.note))
  element.append(make("bdi", "token", chip.text))
  if (chip.share !== undefined) {
    const bar = make("span", chip.sure ? "share" : "share unsure")
    const part = make("span", "part")
    part.style.width = `${100 * chip.share}%`
    bar.append(part)
    element.append(bar)
    if (!chip.sure) element.append(make("span", "mark", "!"))
  }
  if (pickable) {
    element.type = "button"
    element.setAttribute("aria-label", chip.title)
    element.setAttribute("aria-pressed", String(selected))
    element.tabIndex = selected ? 0 : -1
  }
  return element
}

export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  let root = parentElement.querySelector(".strip")
  if (!root) {
    root = make("div", "strip")
    parentElement.append(root)
  }
  const hadFocus = root.contains(parentElement.activeElement ?? document.activeElement)
  const rows = data.rows.map((row, number) => {
    const element = make("div", "row")
    const chips = make("div", "chips")
    const pickable = number === data.picks
    chips.setAttribute("role", "group")
    chips.setAttribute("aria-label", row.label)
    chips.append(...row.chips.map((chip, i) => chipOf(chip, pickable, pickable && i === data.selected)))
    element.append(make("span", "label", row.label), chips)
    return element
  })
  root.replaceChildren(...rows)
  if (data.picks === undefined) return

  const buttons = [...root.querySelectorAll("button")]
  if (hadFocus) buttons[data.selected]?.focus()
  const pick = (i) => i >= 0 && i < buttons.length && i !== data.selected && setTriggerValue("pick", i)
  buttons.forEach((button, i) => {
    button.onclick = () => pick(i)
    button.onkeydown = (event) => {
      const to = { ArrowLeft: i - 1, ArrowRight: i + 1, Home: 0, End: buttons.length - 1 }[event.key]
      if (to === undefined) return
      event.preventDefault()
      pick(to)
    }
  })
}
