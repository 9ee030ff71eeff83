import {
  edge,
  hair,
  inksOf,
  node,
  paintBeamLegend,
  paintBeams,
  paintOverview,
  paintWindow,
  placeBeamLegend,
  ringAround,
  thickness,
} from "./parts/beam_painting.js"
import {
  AXIS,
  BETWEEN,
  beamsOf,
  boxOf,
  EDGE,
  hasHairs,
  hasTokens,
  isFitting,
  isKept,
  isWhole,
  nodeAt,
  nodeBeside,
  nodeChosen,
  nodeSentences,
  nodeUnder,
  ROOT,
  rowHeightOf,
  savedFrame,
  settle,
  whatIsSeen,
  wholeHeight,
  wholeWidth,
} from "./parts/beam_places.js"
import { colours } from "./parts/colours.js"
import { button, element } from "./parts/elements.js"
import { choose, hover, hush, paintOver, plot, tell } from "./parts/plot.js"
import { selection } from "./parts/selection.js"
import { contextOf, magnified, onceAFrame, pointIn, prepare, sharpness, tallness } from "./parts/stage.js"
import { mono, sans, shorten } from "./parts/text.js"
import { clamp, firstSight, tallestRows, usualWidth } from "./parts/tree.js"

/** @import { BeamPlace, BeamView } from "./parts/beam_places.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Payload } from "./parts/types.js" */

// The tree of a beam search. Each step is a column; only what was kept reaches it, as a token; what was only looked at ends as a
// short hair behind what it would have extended. Header: penalties {|Y|: [number, formula]}; nodes: columns of one length, of
// which `row` is the row of what was kept, -1 for the rest, and the rows are such that no two lines cross.

/**
 * `view` is null until it is drawn; `shot` is the overview without its window, and what it was drawn for; `marked` is what
 * was scrolled to when it was chosen.
 * @typedef {{x: number, y: number, from: {x: number, y: number}, far: boolean, id: number}} Drag
 * @typedef {{shot: ?{looks: string, canvas: HTMLCanvasElement}, drag: ?Drag, marked: unknown, repaint: () => void,
 *   title: HTMLElement, part: HTMLElement, overview: HTMLCanvasElement, legend: HTMLCanvasElement}} State
 * @typedef {BeamView & State & Plot<BeamPlace, number>} Tree
 */

const STEP = 1.35 // how far a key or a button zooms
const OVERVIEW = 20 // pixels
const TITLE = 34 // pixels above a saved tree
const LEGEND =
  "Legend: the darker, the higher the score; the thicker a line, the more probable the token; the black line is the answer."
const KEYS =
  "Left and right arrow keys go to what a hypothesis extends and to what extends it, up and down along its step, End to the answer, Enter chooses, plus and minus zoom, 0 resets."

/** @type {Picture<Tree, Tree, number>} */
export const treePicture = {
  name: "beam_tree",
  begin,
  read,
  head(tree) {
    const { head } = tree.beams
    return isWhole(tree) ? head : { ...head, caption: `${head.caption}; ${whatIsSeen(tree)}` }
  },
  layout,
  settle,
  view: (tree) => tree,
  paint(tree, paper) {
    const { legend, beams } = tree
    const { width, z } = tree.place
    const { height } = placeBeamLegend(rulerOf(tree), beams, width, z)
    paintBeamLegend(prepare(legend, width, height), inksOf(paper), beams, width, z)
    paintTree(tree)
  },
  paintOver(context, colours, tree, looked) {
    const { place, beams } = tree
    const { z, width } = place
    const paper = inksOf(colours)
    if (looked !== null) {
      const path = []
      for (let i = looked; i >= 0; i = beams.nodes.parent[i]) if (isKept(beams, i)) path.push(i)
      context.strokeStyle = paper.one("text")
      for (const i of path) edge(context, tree, i, Math.max(1.5 * z, thickness(tree, i)))
      if (!isKept(beams, looked) && hasHairs(tree)) hair(context, tree, looked)
      for (const i of path) node(context, paper, tree, i)
      context.clearRect(0, 0, width, (AXIS - 3) * z)
      if (isKept(beams, looked) || hasHairs(tree)) ringAround(context, paper, tree, looked, 1)
    }
    markChosen(tree, context)
  },
  drawn(tree) {
    const picked = selection.chosen.dec_node
    if (picked === tree.marked) return
    tree.marked = picked
    if (typeof picked === "number" && chosenIn(tree) !== null) reveal(tree, picked)
  },
  save: (context, _, tree) => paintSaved(tree, context),
  savedSize(tree) {
    const { width, height } = savedFrame(tree)
    const { z } = tree.place
    return { width, height: height + TITLE * z + placeBeamLegend(rulerOf(tree), tree.beams, width, z).height }
  },
  hit: (tree, x, y) => nodeUnder(rulerOf(tree), tree, x, y),
  describe: ({ beams }, i) => nodeSentences(beams, i),
  at(tree, i) {
    const { beams, place, stage } = tree
    const ruler = rulerOf(tree)
    const { x, y } = nodeAt(ruler, tree, i)
    const half = isKept(beams, i) && hasTokens(tree) ? boxOf(ruler, tree, i).tall / 2 : 4
    return { x: clamp(x, 0, place.width), y: stage.offsetTop + y + half }
  },
  start: (tree) => chosenIn(tree) ?? tree.beams.head.answer,
  keys: ({ beams }, { key }, here) => nodeBeside(beams, here, key) ?? null,
  choose: (_, i) => selection.pick({ dec_node: i }),
  reveal,
  press(tree, { key }) {
    if (key === "+" || key === "=") zoomBy(tree, STEP)
    else if (key === "-" || key === "_") zoomBy(tree, 1 / STEP)
    else if (key === "0") reset(tree)
    else return false
    return true
  },
  listen,
}

export default (/** @type {Component} */ component) => plot(component, treePicture)

/** @type {(tree: Tree, menu: HTMLElement) => void} */
function begin(tree, menu) {
  const { root, stage, foot: heading } = tree
  const [title, part, controls] = ["title", "part", "choice"].map((name) => element("span", name))
  const [overview, legend] = ["overview", "legend"].map((name) => element("canvas", name))
  heading.className = "head"
  overview.setAttribute("aria-hidden", "true")
  legend.setAttribute("role", "img")
  controls.append(
    button("quiet", "−", "Narrower columns (key -)", () => zoomBy(tree, 1 / STEP)),
    button("quiet", "+", "Wider columns (key +)", () => zoomBy(tree, STEP)),
    button("quiet", "Reset", "As at the first sight (key 0, or a double click)", () => reset(tree)),
  )
  heading.append(title, part, controls, menu)
  stage.before(heading)
  stage.after(overview, legend)
  const repaint = onceAFrame(root, () => tree.place && paintAll(tree)) // not more often than the screen
  Object.assign(tree, { title, part, overview, legend, repaint })
}

const rulerOf = (/** @type {Tree} */ { over }) => contextOf(over)
const chosenIn = (/** @type {Tree} */ { beams }) => nodeChosen(beams, selection.chosen.dec_node)
const paperOf = (/** @type {Tree} */ { root }) => inksOf(colours(root))

/** @type {(tree: Tree, room: Room) => BeamPlace} */
function placed({ root, foot: heading, beams }, { z, width, ruler }) {
  const { head, nodes, steps, rows } = beams
  const below = heading.offsetHeight + OVERVIEW * z + placeBeamLegend(ruler, beams, width, z).height
  const most = Math.max(200, Math.floor(tallness(root, head.height * z) - below))
  const height = Math.min(most, Math.ceil((AXIS + 12) * z + tallestRows(rows, z)))
  const room = height - (AXIS + 12) * z
  const inside = width - (2 * EDGE + ROOT) * z
  ruler.font = mono(13.5 * z)
  const widths = head.tokens.map(({ text }) => ruler.measureText(text).width + 12 * z)
  const token = usualWidth(nodes, widths) + BETWEEN * z
  return { z, width, height, room, ...firstSight({ rows, steps, inside, room, token, z }) }
}

/** @type {(tree: Tree, room: Room) => BeamPlace} */
function layout(tree, room) {
  const { view, place: before } = tree
  const place = placed(tree, { ...room, ruler: rulerOf(tree) })
  const { width, z, col } = place
  const changed = !before || before.width !== width || before.z !== z || before.col !== col
  if (!view || (changed && !view.own)) tree.view = { x: view?.x ?? 0, y: view?.y ?? 0, col, own: false }
  if (changed) tree.labels = new Map()
  return place
}

// ---- painting

/**
 * For a file: the whole tree at the present width of the columns, or what is seen of it if that is too large.
 * @type {(tree: Tree, context: Context) => void}
 */
function paintSaved(tree, context) {
  const { beams, place, view } = tree
  const { z } = place
  const [frame, paper] = [savedFrame(tree), paperOf(tree)]
  context.font = sans(16 * z, 600)
  context.textAlign = "left"
  context.textBaseline = "middle"
  context.fillStyle = paper.one("text")
  context.fillText(shorten(context, beams.head.title, frame.width), 0, 12 * z)
  const whole = { ...tree, view: isWhole(tree) ? { ...view, x: 0, y: 0 } : view }
  context.save()
  context.translate(0, TITLE * z)
  paintBeams(context, paper, whole, frame)
  markChosen(whole, context)
  context.restore()
  context.save()
  context.translate(0, TITLE * z + frame.height)
  paintBeamLegend(context, paper, beams, frame.width, z)
  context.restore()
}

/** @param {Tree} tree */
function paintTree(tree) {
  const { base, place, part, stage } = tree
  paintBeams(prepare(base, place.width, place.height), paperOf(tree), tree, place)
  drawOverview(tree)
  part.textContent = whatIsSeen(tree)
  stage.classList.toggle("wide", !isFitting(tree))
}

/** @param {Tree} tree */
function paintAll(tree) {
  paintTree(tree)
  paintOver(tree)
  tree.stage.dataset.painted = String(performance.now())
}

/**
 * The ring of what is chosen.
 * @type {(tree: Tree, context: Context) => void}
 */
function markChosen(tree, context) {
  const i = chosenIn(tree)
  if (i !== null && (isKept(tree.beams, i) || hasHairs(tree))) ringAround(context, paperOf(tree), tree, i, 2)
}

/** @param {Tree} tree */
function drawOverview(tree) {
  const { overview, stage, beams, place } = tree
  const { z, width } = place
  const height = OVERVIEW * z
  const idle = isFitting(tree)
  overview.classList.toggle("idle", idle)
  const context = prepare(overview, width, height)
  if (idle) return
  const paper = paperOf(tree)
  const looks = [beams.head.tree, width, z, paper.one("page"), sharpness(stage)].join()
  if (tree.shot?.looks !== looks) {
    const canvas = element("canvas")
    paintOverview(prepare(canvas, width, height), paper, beams, { width, height, z })
    tree.shot = { looks, canvas }
  }
  context.drawImage(tree.shot.canvas, 0, 0, width, height)
  paintWindow(context, paper, tree, height)
}

// ---- moving

/** @type {(tree: Tree, x: number, y: number) => void} */
function moveTo(tree, x, y) {
  Object.assign(tree.view, { x, y })
  settle(tree)
  tree.hovered = null
  if (tree.focused === null) hush(tree)
  else tell(tree, tree.focused)
  tree.repaint()
}
/**
 * Zoom so that what is at this place of the stage stays there.
 * @type {(tree: Tree, factor: number, x?: number, y?: number) => void}
 */
function zoomBy(tree, factor, x = tree.place.width / 2, y = tree.place.height / 2) {
  const { place, view } = tree
  const { z } = place
  const column = (x + view.x - (EDGE + ROOT) * z) / view.col
  const row = (y + view.y - AXIS * z) / rowHeightOf(tree)
  view.col = clamp(view.col * factor, place.least, place.most)
  tree.labels = new Map()
  moveTo(tree, (EDGE + ROOT) * z + column * view.col - x, AXIS * z + row * rowHeightOf(tree) - y)
  view.own = true
}
/** @param {Tree} tree */
function reset(tree) {
  tree.view = { col: tree.place.col, x: 0, y: 0, own: false }
  tree.labels = new Map()
  moveTo(tree, 0, 0)
}
/**
 * Scroll so far that this one is on the picture.
 * @type {(tree: Tree, i: number) => void}
 */
function reveal(tree, i) {
  const { place, view } = tree
  const { x, y } = nodeAt(rulerOf(tree), tree, i)
  const [aside, above] = [Math.min(view.col, place.width / 3), rowHeightOf(tree)]
  const right = x < aside ? x - aside : x > place.width - aside ? x - place.width + aside : 0
  const [top, bottom] = [AXIS * place.z + above / 2, place.height - above / 2]
  const down = y < top ? y - AXIS * place.z - above / 2 : y > bottom ? y - place.height + above / 2 : 0
  if (!right && !down) return
  view.x += right
  view.y += down
  settle(tree)
  paintAll(tree)
}

// ---- pointing and dragging

/** @type {(tree: Tree, event: MouseEvent) => ?number} */
function under(tree, event) {
  const { x, y } = pointIn(tree.stage, event)
  return treePicture.hit(tree, x, y)
}

/**
 * The tree is let go of; whether it was dragged.
 * @param {Tree} tree
 */
function drop(tree) {
  const far = tree.drag?.far
  tree.drag = null
  tree.stage.classList.remove("dragged")
  return far
}

/** @type {(tree: Tree, event: PointerEvent) => void} */
function move(tree, event) {
  const { stage } = tree
  if (tree.drag && !(event.buttons & 1)) drop(tree) // it was let go of outside
  const { drag } = tree
  if (!drag) {
    hover(tree, under(tree, event))
    return
  }
  const k = magnified(stage)
  const [right, down] = [(event.clientX - drag.from.x) / k, (event.clientY - drag.from.y) / k]
  if (!drag.far && Math.hypot(right, down) < 4) return
  if (!drag.far) {
    drag.far = true
    hover(tree, null)
    stage.setPointerCapture(drag.id)
    stage.classList.add("dragged")
  }
  moveTo(tree, drag.x - right, drag.y - down)
}

/** @type {(tree: Tree, event: WheelEvent) => void} */
function wheel(tree, event) {
  const { deltaX, deltaY, shiftKey } = event
  const unit = event.deltaMode === 1 ? 16 : 1
  if (event.ctrlKey || event.metaKey) {
    event.preventDefault()
    hover(tree, null)
    const { x, y } = pointIn(tree.stage, event)
    zoomBy(tree, Math.exp(-clamp(deltaY * unit, -120, 120) / 240), x, y)
    return
  }
  const across = shiftKey ? deltaY || deltaX : Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : 0
  const was = tree.view.x
  if (across) moveTo(tree, tree.view.x + across * unit, tree.view.y)
  if (tree.view.x === was) return
  event.preventDefault()
  hover(tree, null)
}

/** @param {Tree} tree */
function listen(tree) {
  const { stage, overview } = tree
  stage.addEventListener("keydown", (event) => event.defaultPrevented && event.stopPropagation())
  stage.onpointerdown = ({ button, clientX, clientY, pointerId }) => {
    if (button || !tree.view) return
    const { x, y } = tree.view
    tree.drag = { from: { x: clientX, y: clientY }, x, y, far: false, id: pointerId }
  }
  stage.onpointermove = (event) => move(tree, event)
  stage.onpointerup = (event) => {
    if (!tree.drag || drop(tree)) return
    const i = under(tree, event)
    if (i === null) return
    tree.focused = null // the keys go on from what is chosen
    choose(tree, i)
  }
  stage.onpointercancel = () => drop(tree)
  stage.onpointerleave = () => {
    if (!tree.drag) hover(tree, null)
  }
  stage.ondblclick = (event) => {
    if (under(tree, event) === null) reset(tree)
  }
  stage.onwheel = (event) => wheel(tree, event)
  overview.onpointerdown = overview.onpointermove = (event) => {
    if (!(event.buttons & 1) || isFitting(tree)) return
    if (event.type === "pointerdown") overview.setPointerCapture(event.pointerId)
    const corner = overview.getBoundingClientRect()
    const across = (event.clientX - corner.left) / corner.width
    const down = (event.clientY - corner.top) / corner.height
    const { width, height } = tree.place
    moveTo(tree, across * wholeWidth(tree) - width / 2, down * wholeHeight(tree) - height / 2)
  }
}

// ---- what is given, and kept

/** @type {(tree: Tree, payload: Payload) => void} */
function read(tree, { header }) {
  const { beams, title, stage, legend } = tree
  if (beams?.head.tree === header.tree) {
    tree.beams = { ...beams, head: { ...header, nodes: beams.nodes } }
    return
  }
  const fresh = { view: null, hovered: null, focused: null, drag: null, shot: null, marked: undefined }
  Object.assign(tree, { beams: beamsOf(header), labels: new Map(), ...fresh })
  hush(tree)
  title.textContent = header.title
  stage.setAttribute("aria-label", `${header.title}, ${tree.beams.N} hypotheses. ${KEYS}`)
  legend.setAttribute("aria-label", LEGEND)
}
