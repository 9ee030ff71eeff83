import { button, drawing, element } from "./parts/elements.js"
import { onSheets } from "./parts/printing.js"
import { selection } from "./parts/selection.js"
import { fieldsChoosing, isChosen, placeRail, subLayerBeside } from "./parts/stacks.js"
import { ending, magnified, rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { PlacedStack } from "./parts/stacks.js" */
/** @import { RailData, SubLayer } from "./parts/types.js" */

/** @typedef {{node: SubLayer, made: HTMLElement}} Choice */

// The stacks side by side, from the embedding down to what they give out. The residual stream is a vertical line; each
// sub-layer reads from it and adds to it, its norm in front (pre) or on the line behind the sum (post). The decoder is
// mirrored, so that the memory reaches its cross-attentions without crossing a stream.
// data: {norm, stacks: [{name, ink, end, final, layers: [[{name, kinds, layer, part, cross, share, title}]]}]}
/** @param {SubLayer} node */
const pick = (node) => selection.pick(fieldsChoosing(node, selection.chosen), 0)

/** @param {[number, number][]} points */
const path = (points) => `M${points.join(" L")}`

/**
 * Adds the boxes of a stack to `root` and its lines to `lines`; the sub-layers that can be chosen.
 * @param {PlacedStack} placed
 * @param {{ink: string, root: HTMLElement, lines: Element}} given
 */
const drawStack = ({ boxes, marks }, { ink, root, lines }) => {
  /** @type {Choice[]} */
  const nodes = []
  for (const { x, y, w, h, className, text, node } of boxes) {
    const made = node ? choice(node, className) : element("div", className, text)
    Object.assign(made.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` })
    root.append(made)
    if (node) nodes.push({ node, made })
  }
  for (const mark of marks)
    if (mark.kind === "stream") lines.append(drawing("path", { class: `stream ${ink}`, d: path(mark.points) }))
    else if (mark.kind === "branch") {
      lines.append(drawing("path", { class: "branch", d: path(mark.points) }))
      lines.append(drawing("path", { class: "tip", d: `M${mark.tip} l${mark.back},-3 v6 z` }))
    } else {
      const [x, y] = mark.at
      lines.append(drawing("circle", { class: "sum", cx: x, cy: y, r: 6 }))
      lines.append(drawing("path", { class: "plus", d: `M${x - 3},${y} h6 M${x},${y - 3} v6` }))
    }
  return nodes
}

/**
 * @param {SubLayer} node
 * @param {string} className
 */
const choice = (node, className) => {
  const made = button(className, "", node.title, () => pick(node))
  made.append(element("span", "name", node.name))
  if (node.share !== undefined) {
    const bar = element("span", node.share === null ? "share no-number" : "share")
    bar.style.width = node.share === null ? "100%" : `${100 * node.share}%`
    made.append(bar)
  }
  return made
}

/**
 * @param {HTMLElement} root
 * @param {RailData} data
 */
const draw = (root, data) => {
  const lines = drawing("svg", { class: "lines", "aria-hidden": "true" })
  root.replaceChildren(lines)
  const { width, height, stacks, memory } = placeRail(data)
  const columns = stacks.map((placed, i) => drawStack(placed, { ink: data.stacks[i].ink, root, lines }))
  if (memory) {
    lines.append(drawing("path", { class: "memory", d: memory.lines.map(path).join(" ") }))
    for (const tip of memory.tips) lines.append(drawing("path", { class: "memoryTip", d: `M${tip} l-5,-3 v6 z` }))
  }
  lines.setAttribute("viewBox", `0 0 ${width} ${height}`)
  lines.setAttribute("width", String(width))
  lines.setAttribute("height", String(height))
  Object.assign(root.style, { width: `${width}px`, height: `${height}px` })
  return columns
}

/** @param {Choice[][]} columns */
const withKeys = (columns) => {
  const counts = columns.map((nodes) => nodes.length)
  columns.forEach((nodes, column) =>
    nodes.forEach(({ made }, row) => {
      made.onkeydown = (event) => {
        const to = subLayerBeside(counts, { column, row }, event.key)
        if (!to) return
        event.preventDefault()
        event.stopPropagation()
        const there = columns[to.column][to.row]
        pick(there.node)
        there.made.focus()
      }
    }),
  )
}

/**
 * Scroll the rail, where it is taller than the screen, so that this sub-layer is on it; the page stays.
 * @param {HTMLElement} root
 * @param {HTMLElement} made
 */
const reveal = (root, made) => {
  const [outer, inner] = [root.getBoundingClientRect(), made.getBoundingClientRect()]
  if (inner.top < outer.top + 40) root.scrollTop -= (outer.top + 40 - inner.top) / magnified(root)
  else if (inner.bottom > outer.bottom - 40) root.scrollTop += (inner.bottom - outer.bottom + 40) / magnified(root)
}

/**
 * Fade out at the lower edge where there is more below it, and at the upper one where there is more above.
 * @param {HTMLElement} root
 */
const fade = (root) => {
  root.classList.toggle("more", root.scrollHeight - root.clientHeight - root.scrollTop > 4)
  root.classList.toggle("above", root.scrollTop > 4)
}

/** @param {Component} component */
export default function ({ data, parentElement }) {
  const known = rootIn(parentElement, "rail")
  const root = known ?? /** @type {Root} */ (element("div", "rail"))
  const mark = () => {
    /** @type {Choice[]} */
    const all = root.vt.columns.flat()
    const any = all.some(({ node }) => isChosen(node, selection.chosen))
    all.forEach(({ node, made }, i) => {
      const chosen = isChosen(node, selection.chosen)
      made.classList.toggle("selected", chosen)
      made.setAttribute("aria-pressed", String(chosen))
      made.tabIndex = chosen || (!any && i === 0) ? 0 : -1
      if (chosen) reveal(root, made)
    })
    fade(root)
  }
  if (!known) {
    root.setAttribute("role", "group")
    root.setAttribute("aria-label", "Sub-layers of the model")
    root.append(element("div", "drawing"))
    parentElement.append(root)
    root.vt = { columns: [], given: "" }
    root.vt.deaf = selection.listen(() => root.vt.mark())
    root.onscroll = () => fade(root)
    root.vt.sizes = new ResizeObserver(() => fade(root))
    root.vt.sizes.observe(root)
    root.vt.unprinted = onSheets(root, () => {})
  }
  root.vt.mark = mark
  const given = JSON.stringify(data)
  if (given !== root.vt.given) {
    root.vt.columns = draw(/** @type {HTMLElement} */ (root.querySelector(".drawing")), data)
    withKeys(root.vt.columns)
  }
  root.vt.given = given
  mark()
  return ending(root, () => {
    root.vt.deaf()
    root.vt.sizes.disconnect()
    root.vt.unprinted()
    root.remove()
  })
}
