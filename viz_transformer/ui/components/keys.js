import { selection, element, button, rootIn } from "./shared.js"

// The keys of the whole page, and the overlay that lists them. data: {projector, scene, scenes, rows, groups}: `rows` is
// the first and the last target position with a step, `groups` is [[title, [[keys, what they do]]]].

const typing = (event) => {
  const [target] = event.composedPath()
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName)
}

export default function ({ data, parentElement }) {
  let root = rootIn(parentElement, "keys")
  if (!root) {
    root = element("div", "component keys")
    const dialog = element("dialog", "overlay")
    dialog.setAttribute("aria-label", "Keys")
    dialog.onclick = (event) => event.target === dialog && dialog.close()
    root.append(button("quiet", "Keys", "Show all keys (?)", () => dialog.showModal()), dialog)
    parentElement.append(root)
    root.vt = { dialog, data: null }
    root.vt.onKey = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || typing(event)) return
      const { projector, scene, scenes, rows } = root.vt.data
      const onPage = event.composedPath()[0] === document.body
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
      const turn = { PageUp: -1, PageDown: 1 }[event.key]
      if (event.key === "?") dialog.open ? dialog.close() : dialog.showModal()
      else if (dialog.open) return
      else if (event.key === "p") selection.pick({ projector: projector ? "off" : "on" })
      else if (!projector) return
      else if (event.key === "Escape" && onPage) selection.pick({ projector: "off" })
      else if (turn) selection.pick({ scene: (scene + turn + scenes) % scenes })
      else if (step && onPage && rows) {
        const to = Math.min(Math.max((selection.chosen.t ?? rows[0]) + step, rows[0]), rows[1])
        selection.pick({ t: to }, 250)
      } else return
      event.preventDefault()
    }
    window.addEventListener("keydown", root.vt.onKey)
  }
  const { dialog } = root.vt
  root.vt.data = data
  const close = button("quiet close", "Close", "Close (Escape)", () => dialog.close())
  dialog.replaceChildren(element("h2", "", "Keys"), close, ...data.groups.flatMap(([title, keys]) => {
    const list = element("dl")
    for (const [names, what] of keys) {
      const term = element("dt")
      term.append(...names.flatMap((name, i) => [i ? " " : "", element("kbd", "", name)]))
      list.append(term, element("dd", "", what))
    }
    return [element("h3", "", title), list]
  }))
  return () => { window.removeEventListener("keydown", root.vt.onKey); root.remove() }
}
