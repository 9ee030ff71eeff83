import { button, element } from "./parts/elements.js"
import { selection } from "./parts/selection.js"
import { rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { RailData, Stack, SubLayer } from "./parts/types.js" */

/** @typedef {{node: SubLayer, made: HTMLElement}} Choice */

// The stacks side by side, from the embedding down to what they give out. The residual stream is a vertical line; each
// sub-layer reads from it and adds to it, its norm in front (pre) or on the line behind the sum (post). The decoder is
// mirrored, so that the memory reaches its cross-attentions without crossing a stream.
// data: {norm, stacks: [{name, ink, end, final, layers: [[{name, kinds, layer, part, cross, share, title}]]}]}
const WIDTH = 266,
  CHANNEL = 20,
  LINE = 8,
  GAP = 16,
  STEP = 52,
  HEAD = 18,
  BOX = 26,
  NORM = 15
const SVG = "http://www.w3.org/2000/svg"

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 */
const shape = (name, attributes) => {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value))
  return made
}

/** @param {SubLayer} node */
const isChosen = (node) => {
  const { kind, layer, part } = selection.chosen
  return node.kinds.includes(kind) && part === node.part && (node.layer === undefined || layer === node.layer)
}
/** @param {SubLayer} node */
const pick = (node) => {
  const { kind } = selection.chosen
  const place = node.layer === undefined ? {} : { layer: node.layer }
  selection.pick({ kind: node.kinds.includes(kind) ? kind : node.kinds[0], ...place, part: node.part }, 0)
}

/**
 * One stack: `at` is its left edge, `mirrored` puts its line at the right. Adds elements to `root` and lines to `lines`.
 * @param {Stack} stack
 * @param {{norm: string, at: number, width: number, mirrored: boolean, root: HTMLElement, lines: Element}} place
 */
const drawStack = (stack, { norm, at, width, mirrored, root, lines }) => {
  const ink = `stream ${stack.ink}`
  const stream = mirrored ? at + width - LINE : at + LINE
  const left = mirrored ? at : at + LINE + GAP
  const room = width - LINE - GAP
  const edge = mirrored ? left + room : left // the side of a box that faces the line
  /** @type {Choice[]} */
  const nodes = []
  /** @type {{x: number, y: number}[]} */
  const crosses = []
  /** @type {(made: HTMLElement, x: number, y: number, w: number, h: number) => HTMLElement} */
  const place = (made, x, y, w, h) => {
    Object.assign(made.style, { left: `${x}px`, top: `${y}px`, width: `${w}px`, height: `${h}px` })
    root.append(made)
    return made
  }
  /** @type {(text: string, className: string, y: number, h: number) => HTMLElement} */
  const label = (text, className, y, h) => place(element("div", className, text), left, y, room, h)
  const branch = (/** @type {number} */ y, /** @type {boolean} */ inwards) => {
    lines.append(shape("path", { class: "branch", d: `M${stream},${y} H${edge}` }))
    const [tip, back] = inwards ? [edge, mirrored ? 5 : -5] : [stream + (mirrored ? -6 : 6), mirrored ? -5 : 5]
    lines.append(shape("path", { class: "tip", d: `M${tip},${y} l${back},-3 v6 z` }))
  }
  const sum = (/** @type {number} */ y) => {
    lines.append(shape("circle", { class: "sum", cx: stream, cy: y, r: 6 }))
    lines.append(shape("path", { class: "plus", d: `M${stream - 3},${y} h6 M${stream},${y - 3} v6` }))
  }
  /** @type {(node: SubLayer, className: string, x: number, y: number, w: number, h: number) => HTMLElement} */
  const choice = (node, className, x, y, w, h) => {
    const made = button(className, "", node.title, () => pick(node))
    made.append(element("span", "name", node.name))
    if (node.share !== undefined && node.share !== null) {
      const bar = element("span", "share")
      bar.style.width = `${100 * node.share}%`
      made.append(bar)
    }
    place(made, x, y, w, h)
    nodes.push({ node, made })
    return made
  }
  let y = 0
  label(stack.name, `stack ${stack.ink}`, y, 20)
  y += 22
  label("embedding", "end", y, 22)
  const top = y + 11
  lines.append(shape("path", { class: ink, d: `M${edge},${top} H${stream}` }))
  y += 26
  stack.layers.forEach((layer, index) => {
    label(`layer ${index}`, "layer", y, HEAD)
    y += HEAD
    for (const node of layer) {
      let box = y
      if (norm === "pre") {
        label("norm", "norm", y, NORM)
        branch(y + NORM / 2, true)
        box = y + NORM + 2
        branch(box + BOX / 2, false)
        sum(box + BOX / 2)
      } else {
        branch(y + 6, true)
        branch(y + 20, false)
        sum(y + 20)
        place(element("div", "norm onLine", "norm"), mirrored ? stream - 30 : stream - 10, y + 30, 40, NORM)
      }
      choice(node, "part", left, box, room, BOX)
      if (node.cross) crosses.push({ x: mirrored ? left : left + room, y: box + BOX / 2 })
      y += STEP
    }
    y += 2
  })
  const nearest = mirrored ? Math.min(left + room, stream) : left
  if (stack.final) {
    choice(stack.final, "part final", left, y, room, 24)
    lines.append(shape("path", { class: ink, d: `M${stream},${top} V${y + 12} H${nearest}` }))
    y += 30
    label(stack.end, `end ${stack.end === "memory" ? "source" : ""}`, y, 22)
    const middle = left + room / 2
    lines.append(shape("path", { class: ink, d: `M${middle},${y - 6} V${y}` }))
  } else {
    label(stack.end, `end ${stack.end === "memory" ? "source" : ""}`, y + 4, 22)
    lines.append(shape("path", { class: ink, d: `M${stream},${top} V${y + 15} H${nearest}` }))
    y += 4
  }
  return { nodes, crosses, bottom: y + 22, exit: { x: left + room, y: y + 11 } }
}

/**
 * @param {HTMLElement} root
 * @param {RailData} data
 */
const draw = (root, data) => {
  const lines = shape("svg", { class: "lines", "aria-hidden": "true" })
  root.replaceChildren(lines)
  const two = data.stacks.length === 2
  const width = two ? (WIDTH - CHANNEL) / 2 : 190
  const made = data.stacks.map((stack, i) =>
    drawStack(stack, { norm: data.norm, at: i * (width + CHANNEL), width, mirrored: i === 1, root, lines }),
  )
  if (two) {
    const channel = width + CHANNEL / 2
    const { exit } = made[0]
    const ends = made[1].crosses
    const ys = [exit.y, ...ends.map((end) => end.y)]
    const d = `M${exit.x},${exit.y} H${channel} M${channel},${Math.min(...ys)} V${Math.max(...ys)}`
    lines.append(
      shape("path", { class: "memory", d: d + ends.map((end) => ` M${channel},${end.y} H${end.x}`).join("") }),
    )
    for (const end of ends) lines.append(shape("path", { class: "memoryTip", d: `M${end.x},${end.y} l-5,-3 v6 z` }))
  }
  const height = Math.max(...made.map((stack) => stack.bottom)) + 4
  const wide = two ? WIDTH : width
  lines.setAttribute("viewBox", `0 0 ${wide} ${height}`)
  lines.setAttribute("width", String(wide))
  lines.setAttribute("height", String(height))
  Object.assign(root.style, { width: `${wide}px`, height: `${height}px` })
  return made.map((stack) => stack.nodes)
}

/** @param {Choice[][]} columns */
const withKeys = (columns) => {
  const go = (/** @type {number} */ column, /** @type {number} */ row) => {
    const there = columns[column]?.[row]
    if (!there) return
    pick(there.node)
    there.made.focus()
  }
  columns.forEach((nodes, column) =>
    nodes.forEach(({ made }, row) => {
      made.onkeydown = (event) => {
        /** @type {Record<string, [number, number]>} */
        const to = {
          ArrowUp: [column, row - 1],
          ArrowDown: [column, row + 1],
          Home: [column, 0],
          End: [column, nodes.length - 1],
        }
        const across = { ArrowLeft: column - 1, ArrowRight: column + 1 }[event.key]
        if (across !== undefined)
          to[event.key] = columns[across] ? [across, Math.min(row, columns[across].length - 1)] : [column, row]
        if (!to[event.key]) return
        event.preventDefault()
        event.stopPropagation()
        go(...to[event.key])
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
  if (inner.top < outer.top + 40) root.scrollTop -= outer.top + 40 - inner.top
  else if (inner.bottom > outer.bottom - 40) root.scrollTop += inner.bottom - outer.bottom + 40
}

/** @param {Component} component */
export default function ({ data, parentElement }) {
  const known = rootIn(parentElement, "rail")
  const root = known ?? /** @type {Root} */ (element("div", "rail"))
  const mark = () => {
    /** @type {Choice[]} */
    const all = root.vt.columns.flat()
    const any = all.some(({ node }) => isChosen(node))
    all.forEach(({ node, made }, i) => {
      const chosen = isChosen(node)
      made.classList.toggle("selected", chosen)
      made.setAttribute("aria-pressed", String(chosen))
      made.tabIndex = chosen || (!any && i === 0) ? 0 : -1
      if (chosen) reveal(root, made)
    })
  }
  if (!known) {
    root.setAttribute("role", "group")
    root.setAttribute("aria-label", "Sub-layers of the model")
    root.append(element("div", "drawing"))
    parentElement.append(root)
    root.vt = { columns: [], given: "" }
    root.vt.deaf = selection.listen(() => root.vt.mark())
  }
  root.vt.mark = mark
  const given = JSON.stringify(data)
  if (given !== root.vt.given) {
    root.vt.columns = draw(/** @type {HTMLElement} */ (root.querySelector(".drawing")), data)
    withKeys(root.vt.columns)
  }
  root.vt.given = given
  mark()
  return () => {
    root.vt.deaf()
    root.remove()
  }
}
