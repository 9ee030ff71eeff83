import { button, element } from "../parts/elements.js"
import { selection } from "../parts/selection.js"
import { headsOf } from "../parts/whole_choices.js"

/** @import { Level } from "../parts/whole_levels.js" */
/** @import { WholeView } from "./view.js" */

// The way from the whole run to what is looked at, and the heads to choose from.

const [MAX_BUTTONS, MAX_SLIM] = [12, 4] // more heads than these are chosen from a list; in a slim picture

/** What a way is drawn in: it, its links, its heads, and what has the focus where a link that had it is gone.
 * @typedef {{way: HTMLElement, path: HTMLElement, whose: HTMLElement, stage: HTMLElement}} WayElements */

/** What draws the way anew where it is another one. @param {WayElements} elements @param {(to: Level) => void} go */
export function wayDrawer({ way, path, whose, stage }, go) {
  let drawn = ""
  return (/** @type {WholeView} */ view, /** @type {boolean} */ slim) => {
    const { crumbs, head, level, hasOwnHeads } = view
    const heads = headsOf(view)
    const said = JSON.stringify([crumbs, heads, head.title, slim, hasOwnHeads])
    if (said === drawn) return
    drawn = said
    const focused = /** @type {ShadowRoot | Document} */ (way.getRootNode()).activeElement
    const held = focused && way.contains(focused) ? /** @type {HTMLElement} */ (focused).dataset.name : null
    const links = crumbs.flatMap(({ level: to, text }, n) => {
      const last = n === crumbs.length - 1
      const link = button("quiet", text, last ? text : `Back to: ${text}`, () => to !== level && go(to))
      link.dataset.name = to
      if (last) link.setAttribute("aria-current", "true")
      return n ? [element("span", "to", "›"), link] : [link]
    })
    path.replaceChildren(...(head.title ? [element("b", "", head.title)] : []), ...links)
    whose.replaceChildren(...(hasOwnHeads ? headChoices(heads, slim) : []))
    if (held) /** @type {HTMLElement} */ (way.querySelector(`[data-name="${held}"]`) ?? stage).focus()
  }
}

const choose = (/** @type {"mean" | number[]} */ heads) => selection.pick({ heads })

/**
 * The heads to choose from; on the levels that show many of them also their mean.
 * @param {ReturnType<typeof headsOf>} heads
 * @param {boolean} slim
 */
function headChoices({ count, only, deep }, slim) {
  if (count > (slim ? MAX_SLIM : MAX_BUTTONS)) return [headList({ count, only, deep })]
  const one = (/** @type {string} */ name, /** @type {string} */ title, /** @type {"mean" | number[]} */ heads) => {
    const made = button("quiet", name, title, () => choose(heads))
    made.setAttribute("aria-pressed", String(heads === "mean" ? only === null : heads[0] === only))
    return made
  }
  const made = Array.from({ length: count }, (_, n) => {
    const each = one(String(n), `Head ${n}`, [n])
    each.dataset.name = `head-${n}`
    return each
  })
  const mean = one("mean", "Mean of the heads", "mean")
  mean.dataset.name = "mean"
  return [element("span", "word", "Head"), ...made, ...(deep || count === 1 ? [] : [mean])]
}

/** @param {ReturnType<typeof headsOf>} heads */
function headList({ count, only, deep }) {
  const list = element("select", "quiet")
  list.setAttribute("aria-label", "Head")
  list.dataset.name = "heads"
  const names = [...(deep ? [] : ["mean"]), ...Array.from({ length: count }, (_, n) => String(n))]
  list.append(...names.map((name) => new Option(name === "mean" ? "mean of heads" : `head ${name}`, name)))
  list.value = only === null ? "mean" : String(only)
  list.onchange = () => choose(list.value === "mean" ? "mean" : [Number(list.value)])
  return list
}
