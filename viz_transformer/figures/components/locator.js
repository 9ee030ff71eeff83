import { button, drawing, element } from "./parts/elements.js"
import { openPage } from "./parts/links.js"
import { blockBeside, isAt, leadFrom, placeLocator, placeOf, wordsOf } from "./parts/locator.js"
import { selection } from "./parts/selection.js"
import { ending, rootIn } from "./parts/stage.js"

/** @import { Block } from "./parts/locator.js" */
/** @import { Component, Root } from "./parts/stage.js" */
/** @import { LocatorData } from "./parts/types.js" */

/** @typedef {{block: Block, made: HTMLButtonElement}} Drawn */

// The map of the model in the sidebar: its parts as small blocks, each of which leads to a page that shows it. That which
// the open page looks at is marked, and said below; so is what the pointer or the keyboard is at. data: {looks, stacks,
// chosen}: `chosen` are fields of the selection as they are before the page has said them.

/** What a block of this size leaves free at each of its edges. */
const gapOf = (/** @type {number} */ size) => Math.min(1, size / 8)

/**
 * @param {HTMLElement} plan
 * @param {LocatorData} data
 * @param {(block: Block) => void} go
 * @returns {Drawn[]}
 */
function draw(plan, data, go) {
  const [width, height] = [plan.clientWidth, plan.clientHeight]
  const { blocks, names, memory } = placeLocator(data, width, height)
  const lines = drawing("svg", { class: "wires", width, height, "aria-hidden": "true" })
  lines.append(drawing("path", { class: "memory", d: memory.map((points) => `M${points.join(" L")}`).join(" ") }))
  const heads = names.map(({ x, width, text, side }) => {
    const head = element("div", `name ${side}`, text)
    Object.assign(head.style, { left: `${x}px`, width: `${width}px` })
    return head
  })
  const drawn = blocks.map((block) => {
    const { x, y, width, height, part, kind, side, title } = block
    const made = button(`block ${kind ?? part} ${side}`, "", title, () => go(block))
    Object.assign(made.style, { left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` })
    const seen = element("span", "seen")
    seen.style.inset = `${gapOf(height)}px ${gapOf(width)}px`
    made.append(seen)
    return { block, made }
  })
  plan.replaceChildren(lines, ...heads, ...drawn.map(({ made }) => made))
  return drawn
}

/**
 * Where the ring around these blocks is.
 * @param {Block[]} blocks
 */
function around(blocks) {
  const [left, top] = [Math.min(...blocks.map(({ x }) => x)), Math.min(...blocks.map(({ y }) => y))]
  const right = Math.max(...blocks.map(({ x, width }) => x + width))
  const bottom = Math.max(...blocks.map(({ y, height }) => y + height))
  return { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` }
}

/** @param {Root} root */
function make(root) {
  const [plan, ring, words] = [element("div", "plan"), element("div", "ring"), element("div", "words")]
  plan.setAttribute("role", "toolbar")
  plan.setAttribute("aria-label", "Map of the model")
  words.setAttribute("aria-hidden", "true") // each block says so itself
  root.append(plan, words)
  /** @type {Drawn[]} */
  let drawn = []
  /** @type {LocatorData} */
  let data
  let given = ""
  let [pointed, focused] = [-1, -1]
  const chosen = () => ({ ...data.chosen, ...selection.chosen })
  const mark = () => {
    const place = placeOf(data, chosen())
    const marked = drawn.filter(({ block }) => isAt(block, place))
    const stop = drawn[focused] ?? marked[0] ?? drawn[0]
    for (const each of drawn) {
      if (marked.includes(each)) each.made.setAttribute("aria-current", "location")
      else each.made.removeAttribute("aria-current")
      each.made.tabIndex = each === stop ? 0 : -1
    }
    ring.hidden = !marked.length
    Object.assign(ring.style, around(marked.map(({ block }) => block)))
    const said = drawn[pointed] ?? drawn[focused]
    words.textContent = said ? said.block.title : wordsOf(marked.map(({ block }) => block))
  }
  const go = (/** @type {Block} */ block) => {
    const { page, fields } = leadFrom(block, data, chosen())
    if (!page) selection.pick(fields)
    else selection.lead(fields, () => openPage(page))
  }
  const indexOf = (/** @type {Event} */ event) => drawn.findIndex(({ made }) => event.composedPath().includes(made))
  plan.onpointerover = (event) => {
    pointed = indexOf(event)
    mark()
  }
  plan.onpointerleave = () => {
    pointed = -1
    mark()
  }
  plan.addEventListener("focusin", (event) => {
    focused = indexOf(event)
    mark()
  })
  plan.addEventListener("focusout", () => {
    focused = -1
    mark()
  })
  plan.onkeydown = (event) => {
    const from = indexOf(event)
    const to =
      from < 0
        ? undefined
        : blockBeside(
            drawn.map(({ block }) => block),
            from,
            event.key,
          )
    if (to === undefined) return
    event.preventDefault()
    event.stopPropagation()
    drawn[to].made.focus()
  }
  return {
    mark,
    show(/** @type {LocatorData} */ now) {
      data = now
      const stacks = JSON.stringify([data.stacks, plan.clientHeight])
      if (stacks !== given) {
        drawn = draw(plan, data, go)
        plan.append(ring)
        ;[given, pointed, focused] = [stacks, -1, -1]
      }
      mark()
    },
  }
}

/** @param {Component} component */
export default function ({ data, parentElement }) {
  const known = rootIn(parentElement, "locator")
  const root = known ?? /** @type {Root} */ (element("div", "component locator"))
  if (!known) {
    const { mark, show } = make(root)
    parentElement.append(root)
    const deaf = selection.listen(mark)
    const again = () => show(root.vt.data) // in a low window the plan is lower
    window.addEventListener("resize", again)
    const leave = () => {
      deaf()
      window.removeEventListener("resize", again)
    }
    root.vt = { show, leave }
  }
  root.vt.data = data
  root.vt.show(data)
  return ending(root, () => {
    root.vt.leave()
    root.remove()
  })
}
