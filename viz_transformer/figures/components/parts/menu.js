import { button, element, icon } from "./elements.js"

/** @import { Root } from "./stage.js" */
/** @typedef {{text: string, title: string, act: (more: HTMLElement) => void, there?: () => boolean}} Entry */

// A quiet "…" and the menu that it opens: in the browser's top layer, where no edge of a picture cuts it.

const DROP = 2 // pixels between the button and its menu
const RIM = 4

/** @type {Record<string, (at: number, count: number) => number>} */
const WALKS = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at <= 0 ? count : at) - 1,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/**
 * Whoever has the focus inside keeps it open; Escape gives it back to the button. Entries that are not `there` when it
 * opens are left out.
 * @param {string} title
 * @param {Entry[]} entries
 */
export function menu(title, entries) {
  const box = element("span", "menu")
  const list = element("div", "entries")
  const more = button("quiet", undefined, title, () => (isOpen() ? close() : open()))
  const items = entries.map(({ text, title: what, act }) => {
    const item = button("quiet", text, what, () => {
      close()
      act(more)
    })
    item.setAttribute("role", "menuitem")
    item.tabIndex = -1
    return item
  })
  more.append(icon("more"))
  more.setAttribute("aria-haspopup", "menu")
  more.setAttribute("aria-expanded", "false")
  list.popover = "manual"
  list.setAttribute("role", "menu")
  list.setAttribute("aria-label", title)
  list.append(...items)
  box.append(more, list)

  const isOpen = () => list.matches(":popover-open")
  /** @type {DOMRect} where the button is while the menu is open */
  let stood
  const leave = () => {
    const { left, top } = more.getBoundingClientRect()
    if (left !== stood.left || top !== stood.top) hide()
  }
  const hide = () => {
    if (!isOpen()) return
    list.hidePopover()
    more.setAttribute("aria-expanded", "false")
    window.removeEventListener("scroll", leave, true)
    window.removeEventListener("resize", leave)
  }
  const close = () => {
    more.focus({ preventScroll: true })
    hide()
  }
  function open(last = false) {
    items.forEach((item, i) => (item.hidden = entries[i].there?.() === false))
    list.showPopover()
    stood = more.getBoundingClientRect()
    const below = stood.bottom + DROP + list.offsetHeight + RIM <= window.innerHeight
    list.style.left = `${Math.max(RIM, stood.right - list.offsetWidth)}px`
    list.style.top = `${below ? stood.bottom + DROP : Math.max(RIM, stood.top - DROP - list.offsetHeight)}px`
    more.setAttribute("aria-expanded", "true")
    window.addEventListener("scroll", leave, true)
    window.addEventListener("resize", leave)
    shown()
      .at(last ? -1 : 0)
      ?.focus({ preventScroll: true })
  }
  const shown = () => items.filter((item) => !item.hidden)

  box.addEventListener("focusout", (event) => {
    if (!box.contains(/** @type {?Node} */ (event.relatedTarget))) hide()
  })
  box.addEventListener("keydown", (event) => {
    const move = WALKS[event.key]
    if (!isOpen()) {
      if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
      open(event.key === "ArrowUp")
    } else if (move) {
      const all = shown()
      all[move(all.indexOf(/** @type {HTMLButtonElement} */ (event.target)), all.length)].focus()
    } else if (event.key === "Escape") close()
    else {
      if (event.key !== "Tab") event.stopPropagation() // the page's own keys rest while a menu is open
      return
    }
    event.preventDefault()
    event.stopPropagation()
  })
  return box
}

/** @type {MutationObserver | undefined} */
let closing
/**
 * Gives the focus back when the dialog that will open has closed: Streamlit does not find it in a component.
 * @param {HTMLElement} more
 */
function returnsTo(more) {
  let opened = false
  closing?.disconnect()
  closing = new MutationObserver(() => {
    const there = document.querySelector("[role=dialog]") !== null
    if (opened && !there) {
      closing?.disconnect()
      requestAnimationFrame(() => document.activeElement === document.body && more.focus())
    }
    opened = there
  })
  closing.observe(document.body, { childList: true, subtree: true })
}

/**
 * The menu of a picture: save it as PNG or SVG and, where Python has said that there is one, open its table.
 * @param {Root} root
 * @param {{png: () => void, svg: () => void}} saves
 */
export const pictureMenu = (root, { png, svg }) =>
  menu("Save this picture or read its numbers", [
    { text: "PNG", title: "Save this picture as PNG", act: png },
    { text: "SVG", title: "Save this picture as SVG", act: svg },
    {
      text: "Table and CSV",
      title: "Table and CSV of all its numbers",
      act: (more) => {
        returnsTo(more)
        root.table?.()
      },
      there: () => Boolean(root.table),
    },
  ])
