// Elements, the tooltip, and what a screen reader hears.

const ICONS = {
  back: "M3 2h2v12H3zM14 2v12L6 8z",
  next: "M11 2h2v12h-2zM2 2v12l8-6z",
  play: "M3 1v14l11-7z",
  pause: "M3 2h3.5v12H3zM9.5 2H13v12H9.5z",
  more: "M3 6.4a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2zM8 6.4a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2zM13 6.4a1.6 1.6 0 1 1 0 3.2 1.6 1.6 0 0 1 0-3.2z",
  edit: "M2 11.2 9.6 3.6l2.8 2.8L4.8 14H2zM10.5 2.7 12 1.2 14.8 4l-1.5 1.5z",
}

/**
 * An element of SVG.
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
export function drawing(name, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

/**
 * The sign of a button: back, next, play, pause, more or edit.
 * @param {keyof typeof ICONS} name
 */
export function icon(name) {
  const picture = drawing("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" })
  picture.append(drawing("path", { d: ICONS[name] }))
  return picture
}

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} [className]
 * @param {string} [text]
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, className, text) {
  const made = document.createElement(name)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

/**
 * @param {string} className
 * @param {string | undefined} text
 * @param {string} title
 * @param {(event: MouseEvent) => void} onClick
 */
export function button(className, text, title, onClick) {
  const made = element("button", className, text)
  made.type = "button"
  made.title = title
  made.setAttribute("aria-label", title)
  made.onclick = onClick
  return made
}

/**
 * A stage that takes the focus and keys, with canvases of these classes over each other.
 * @template {string} Name
 * @param {Name[]} names
 */
export function stageOf(names) {
  const stage = element("div", "stage")
  const made = /** @type {Record<Name, HTMLCanvasElement>} */ (
    Object.fromEntries(names.map((name) => [name, element("canvas", name)]))
  )
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(...names.map((name) => made[name]))
  return { stage, ...made }
}

/**
 * Buttons of which one is pressed: `options` has the word, the text and the title of each.
 * @param {string} label
 * @param {[word: string, text: string, title: string][]} options
 * @param {(word: string) => void} choose
 */
export function choiceOf(label, options, choose) {
  const box = element("span", "choice")
  box.setAttribute("role", "group")
  box.setAttribute("aria-label", label)
  const buttons = options.map(([word, text, title]) => button("quiet", text, title, () => choose(word)))
  box.append(...buttons)
  const press = (/** @type {string} */ pressed) =>
    buttons.forEach((each, i) => each.setAttribute("aria-pressed", String(options[i][0] === pressed)))
  return { box, buttons, press }
}

/**
 * A tooltip inside `root`: show(lines, x, y) beside a place in root's pixels, hide().
 * @param {HTMLElement} root
 */
export function tooltip(root) {
  const box = element("div", "tooltip")
  box.setAttribute("role", "tooltip")
  box.hidden = true
  root.append(box)
  return {
    show(/** @type {string[]} */ lines, /** @type {number} */ x, /** @type {number} */ y) {
      box.replaceChildren(...lines.map((line) => element("div", "", line)))
      box.hidden = false
      const right = x + 16 + box.offsetWidth <= root.clientWidth
      box.style.left = `${Math.max(0, right ? x + 16 : x - 12 - box.offsetWidth)}px`
      const below = y + 16 + box.offsetHeight <= root.clientHeight
      box.style.top = `${Math.max(0, below ? y + 16 : y - 12 - box.offsetHeight)}px`
    },
    hide() {
      box.hidden = true
    },
  }
}

/**
 * A place that screen readers read aloud when its text changes.
 * @param {HTMLElement} root
 */
export function announcer(root) {
  const place = element("div", "unseen")
  place.setAttribute("aria-live", "polite")
  root.append(place)
  return (/** @type {string} */ text) => {
    if (place.textContent !== text) place.textContent = text
  }
}
