import { button, element } from "./parts/elements.js"
import { playButton } from "./parts/playing.js"
import { early } from "./parts/preload.js"
import { selection } from "./parts/selection.js"
import { ending, rootIn } from "./parts/stage.js"
import { alone, focused, typing } from "./parts/typing.js"

/** @import { Root } from "./parts/stage.js" */
/** @import { KeysData } from "./parts/types.js" */

// The keys of the whole page, the overlay that lists them under a short guide, and the choice of the theme. data:
// {projector, scene, scenes, rows, guide, groups}: `rows` is the first and the last target position with a step,
// `guide` is [[title, sentences]], `groups` is [[title, [[keys, what they do]]]].

// Streamlit keeps the chosen theme for each page's path, reads it when the page is loaded, and offers no call for it.
const themeOf = (/** @type {string} */ path) => `stActiveTheme-${path}-v2`
/** @type {[string, ?string, string][]} */
const THEMES = [
  ["auto", null, "Light or dark as this computer is set"],
  ["light", "Light", "Light"],
  ["dark", "Dark", "Dark"],
]

const themes = (/** @type {() => string[]} */ paths) => {
  const group = element("div", "choice")
  group.setAttribute("role", "group")
  group.setAttribute("aria-label", "Theme")
  const kept = localStorage.getItem(themeOf(location.pathname))
  for (const [name, value, what] of THEMES) {
    const choose = button("quiet", name, what, () => {
      for (const path of new Set([location.pathname, ...paths()]))
        if (value) localStorage.setItem(themeOf(path), JSON.stringify(value))
        else localStorage.removeItem(themeOf(path))
      location.reload()
    })
    choose.setAttribute(
      "aria-pressed",
      String((value && JSON.stringify(value)) === kept || (!value && kept === '"System"')),
    )
    group.append(choose)
  }
  return group
}
const linked = () =>
  [.../** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll('[data-testid="stSidebarNavLink"]'))].map(
    (link) => new URL(link.href).pathname,
  )

// A clicker sends nothing but these two keys: a scene that is taller than the screen is first shown to its end.
const screen = () => /** @type {Element} */ (document.querySelector('[data-testid="stMain"]'))
/** @type {Record<string, number>} */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 }
/** @type {Record<string, number>} */
const TURNS = { PageUp: -1, PageDown: 1 }
const SEEN = 0.02,
  KEPT = 0.2 // of the height: less does not count as a rest, and what stays in sight of the part before
const restOfScene = (/** @type {number} */ turn) => {
  const main = screen()
  const rest = turn > 0 ? main.scrollHeight - main.clientHeight - main.scrollTop : main.scrollTop
  if (rest <= SEEN * main.clientHeight) return false
  main.scrollBy({ top: turn * (1 - KEPT) * main.clientHeight })
  return true
}

// What has the focus, which after a click is whatever stood there: a key that it takes itself is none of the page's. One
// that it has acted upon is default-prevented; so Escape, where it only takes a hint away, leaves the projector as well.
const ARROWS = "input, [role=application], [role=listbox], [role=grid], [role=radio], [role=slider], [role=tab]"
// What takes the space bar for itself while it has the focus.
const PRESSED =
  "button, summary, input, select, textarea, [role=button], [role=radio], [role=tab], [role=option], [role=slider]"
const edit = () => {
  early.edit.press(performance.now())
  document.dispatchEvent(new CustomEvent("vt-edit"))
}

// A dialog of Streamlit's hears keys only while the focus is inside of it. A button that rests while its file is made
// loses the focus to the page, and Escape would find nobody.
const CLOSE = '[role="dialog"] button[aria-label="Close"]'

/** @param {{data: KeysData, parentElement: ParentNode}} component */
export default function ({ data, parentElement }) {
  const known = rootIn(parentElement, "keys")
  const root = known ?? /** @type {Root} */ (element("div", "component keys"))
  if (!known) {
    const dialog = element("dialog", "overlay")
    dialog.setAttribute("aria-label", "Guide and keys")
    dialog.onclick = (event) => event.target === dialog && dialog.close()
    const help = button("quiet help", "Help", "Guide and keys (?)", () => dialog.showModal())
    help.append(element("kbd", "", "?"))
    root.append(help, themes(linked), dialog)
    parentElement.append(root)
    root.vt = { dialog, data: null }
    root.vt.onKey = (/** @type {KeyboardEvent} */ event) => {
      early.key.take(performance.now())
      if (!alone(event) || typing(event)) return
      const close = /** @type {?HTMLElement} */ (document.querySelector(CLOSE))
      if (close) return event.key === "Escape" && focused(event) === document.body && close.click()
      const { projector, scene, scenes, rows } = root.vt.data
      const step = STEPS[event.key]
      const turn = TURNS[event.key]
      if (event.key === "?") dialog.open ? dialog.close() : dialog.showModal()
      else if (dialog.open) return
      else if (event.key === "p") selection.pick({ projector: projector ? "off" : "on" })
      else if (event.key === "e" && !projector) edit()
      else if (event.key === "Escape" && projector && !event.defaultPrevented) selection.pick({ projector: "off" })
      else if (turn && projector)
        restOfScene(turn) || (scenes > 1 && selection.pick({ scene: (scene + turn + scenes) % scenes }))
      else if (step && rows && !event.defaultPrevented && !focused(event).matches(ARROWS)) {
        const to = Math.min(Math.max((selection.chosen.t ?? rows[0]) + step, rows[0]), rows[1])
        selection.pick({ t: to }, 250)
      } else if (event.key === " " && !event.defaultPrevented && !focused(event).matches(PRESSED)) {
        const play = playButton()
        if (!play) return
        play.click()
      } else return
      event.preventDefault()
    }
    window.addEventListener("keydown", root.vt.onKey)
    if (early.key.take(performance.now()) && !data.projector) edit()
  }
  const { dialog } = root.vt
  if (data.projector && root.vt.data && root.vt.data.scene !== data.scene) screen().scrollTo({ top: 0 })
  root.vt.data = data
  const close = button("quiet close", "Close", "Close (Escape)", () => dialog.close())
  const guide = data.guide.flatMap(([title, sentences]) => [element("h3", "", title), element("p", "", sentences)])
  dialog.replaceChildren(
    element("h2", "", "Guide"),
    close,
    ...guide,
    element("h2", "", "Keys"),
    ...data.groups.flatMap(([title, keys]) => {
      const list = element("dl")
      for (const [names, what] of keys) {
        const term = element("dt")
        term.append(...names.flatMap((name, i) => [i ? " " : "", element("kbd", "", name)]))
        list.append(term, element("dd", "", what))
      }
      return [element("h3", "", title), list]
    }),
  )
  return ending(root, () => {
    window.removeEventListener("keydown", root.vt.onKey)
    root.remove()
  })
}
