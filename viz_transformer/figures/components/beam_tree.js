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
import { announcer, button, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { selection } from "./parts/selection.js"
import { contextOf, magnified, mount, onceAFrame, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { mono, sans, shorten } from "./parts/text.js"
import { clamp, firstSight, tallestRows, usualWidth } from "./parts/tree.js"
import { alone } from "./parts/typing.js"

/** @import { BeamPlace, BeamView } from "./parts/beam_places.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Made, Payload } from "./parts/types.js" */

// The tree of a beam search. Each step is a column; only what was kept reaches it, as a token; what was only looked at ends as a
// short hair behind what it would have extended. Header: penalties {|Y|: [number, formula]}; nodes: columns of one length, of
// which `row` is the row of what was kept, -1 for the rest, and the rows are such that no two lines cross.

/**
 * `view` is null until it is drawn; `shot` is the overview without its window, and what it was drawn for; `marked` is what
 * was scrolled to when it was chosen.
 * @typedef {{x: number, y: number, from: {x: number, y: number}, far: boolean, id: number}} Drag
 * @typedef {{shot: ?{looks: string, canvas: HTMLCanvasElement}, hovered: ?number, focused: ?number, drag: ?Drag,
 *   marked: unknown, repaint: () => void}} State
 * @typedef {BeamView & State & ReturnType<typeof partsIn>} Tree
 */

const STEP = 1.35 // how far a key or a button zooms
const OVERVIEW = 20 // pixels
const TITLE = 34 // pixels above a saved tree
const LEGEND =
  "Legend: the darker, the higher the score; the thicker a line, the more probable the token; the black line is the answer."
const KEYS =
  "Left and right arrow keys go to what a hypothesis extends and to what extends it, up and down along its step, End to the answer, Enter chooses, plus and minus zoom, 0 resets."

export default (/** @type {Component} */ component) => mount(component, "beam_tree", makeTree)

/** @param {HTMLElement} root */
function partsIn(root) {
  const heading = element("div", "head")
  const [title, part, controls] = ["title", "part", "choice"].map((name) => element("span", name))
  const { stage, base, over } = stageOf(["base", "over"])
  const [overview, legend] = ["overview", "legend"].map((name) => element("canvas", name))
  overview.setAttribute("aria-hidden", "true")
  legend.setAttribute("role", "img")
  root.append(heading, stage, overview, legend)
  const said = { tip: tooltip(root), announce: announcer(root) }
  return { root, heading, title, part, controls, stage, base, over, overview, legend, ...said }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeTree(root) {
  /** @type {Partial<State>} */
  const state = { hovered: null, focused: null }
  const tree = /** @type {Tree} */ (Object.assign(state, partsIn(root)))
  const { heading, title, part, controls } = tree
  controls.append(
    button("quiet", "−", "Narrower columns (key -)", () => zoomBy(tree, 1 / STEP)),
    button("quiet", "+", "Wider columns (key +)", () => zoomBy(tree, STEP)),
    button("quiet", "Reset", "As at the first sight (key 0, or a double click)", () => reset(tree)),
  )
  const saved = exports(root, {
    draw: (context) => paintSaved(tree, context),
    size() {
      const { width, height } = savedFrame(tree)
      const { z } = tree.place
      return { width, height: height + TITLE * z + placeBeamLegend(rulerOf(tree), tree.beams, width, z).height }
    },
    caption: () => `${tree.beams.head.caption}${isWhole(tree) ? "" : `; ${whatIsSeen(tree)}`}`,
    name: () => tree.beams.head.name,
  })
  heading.append(title, part, controls, saved)
  tree.repaint = onceAFrame(root, () => tree.place && paintAll(tree)) // not more often than the screen
  listen(tree)
  listenToKeys(tree)
  return { update: (payload) => update(tree, payload), draw: () => draw(tree) }
}

const rulerOf = (/** @type {Tree} */ { over }) => contextOf(over)
const chosenIn = (/** @type {Tree} */ { beams }) => nodeChosen(beams, selection.chosen.dec_node)
const paperOf = (/** @type {Tree} */ { root }) => inksOf(colours(root))

/** @type {(tree: Tree) => BeamPlace} */
function placed(tree) {
  const { root, heading, beams } = tree
  const { head, nodes, steps, rows } = beams
  const [z, width, ruler] = [zoom(root), root.clientWidth, rulerOf(tree)]
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
function paintAll(tree) {
  const { base, place, part, stage } = tree
  paintBeams(prepare(base, place.width, place.height), paperOf(tree), tree, place)
  drawOverview(tree)
  paintOver(tree)
  part.textContent = whatIsSeen(tree)
  stage.classList.toggle("wide", !isFitting(tree))
  stage.dataset.painted = String(performance.now())
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
function paintOver(tree) {
  const { over, place, beams, hovered, focused } = tree
  const { z, width, height } = place
  const context = prepare(over, width, height)
  const looked = hovered ?? focused
  if (looked !== null) {
    const paper = paperOf(tree)
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
  if (tree.focused === null) tree.tip.hide()
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

// ---- pointing, choosing, walking

/** @type {(tree: Tree, i: number) => void} */
function tell(tree, i) {
  const { beams, place, stage, tip } = tree
  const ruler = rulerOf(tree)
  const { x, y } = nodeAt(ruler, tree, i)
  const half = isKept(beams, i) && hasTokens(tree) ? boxOf(ruler, tree, i).tall / 2 : 4
  tip.show(nodeSentences(beams, i), clamp(x, 0, place.width), stage.offsetTop + y + half)
}
/** @type {(tree: Tree, i: ?number) => void} */
function look(tree, i) {
  tree.stage.classList.toggle("pointing", i !== null)
  if (i === tree.hovered) return
  tree.hovered = i
  if (i === null) tree.tip.hide()
  else tell(tree, i)
  paintOver(tree)
}
/** @type {(tree: Tree, i: number) => void} */
function pick({ beams, announce }, i) {
  selection.pick({ dec_node: i })
  announce(`chosen: ${nodeSentences(beams, i).join(", ")}`)
}
/** @type {(tree: Tree, i: number) => void} */
function walk(tree, i) {
  Object.assign(tree, { focused: i, hovered: null })
  reveal(tree, i)
  tell(tree, i)
  paintOver(tree)
  tree.announce(nodeSentences(tree.beams, i).join(", "))
}

/** @type {(tree: Tree, event: MouseEvent) => ?number} */
function under(tree, event) {
  const { x, y } = pointIn(tree.stage, event)
  return nodeUnder(rulerOf(tree), tree, x, y)
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
    look(tree, under(tree, event))
    return
  }
  const k = magnified(stage)
  const [right, down] = [(event.clientX - drag.from.x) / k, (event.clientY - drag.from.y) / k]
  if (!drag.far && Math.hypot(right, down) < 4) return
  if (!drag.far) {
    drag.far = true
    look(tree, null)
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
    look(tree, null)
    const { x, y } = pointIn(tree.stage, event)
    zoomBy(tree, Math.exp(-clamp(deltaY * unit, -120, 120) / 240), x, y)
    return
  }
  const across = shiftKey ? deltaY || deltaX : Math.abs(deltaX) > Math.abs(deltaY) ? deltaX : 0
  const was = tree.view.x
  if (across) moveTo(tree, tree.view.x + across * unit, tree.view.y)
  if (tree.view.x === was) return
  event.preventDefault()
  look(tree, null)
}

/** @param {Tree} tree */
function listen(tree) {
  const { stage, overview } = tree
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
    pick(tree, i)
  }
  stage.onpointercancel = () => drop(tree)
  stage.onpointerleave = () => {
    if (!tree.drag) look(tree, null)
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

/** @param {Tree} tree */
function listenToKeys(tree) {
  const { stage } = tree
  const here = () => tree.focused ?? chosenIn(tree) ?? tree.beams.head.answer
  stage.onfocus = () => {
    if (stage.matches(":focus-visible")) walk(tree, here())
  }
  stage.onblur = () => {
    tree.focused = null
    tree.tip.hide()
    if (tree.place) paintOver(tree)
  }
  stage.onkeydown = (event) => {
    if (!alone(event) || !press(tree, event.key, here())) return
    event.preventDefault()
    event.stopPropagation()
  }
}

/**
 * Whether the key is one of this picture's.
 * @type {(tree: Tree, key: string, here: number) => boolean}
 */
function press(tree, key, here) {
  const to = nodeBeside(tree.beams, here, key)
  if (to !== undefined) walk(tree, to)
  else if (key === "Enter" || key === " ") pick(tree, here)
  else if (key === "+" || key === "=") zoomBy(tree, STEP)
  else if (key === "-" || key === "_") zoomBy(tree, 1 / STEP)
  else if (key === "0") reset(tree)
  else {
    if (key !== "Escape") return false
    Object.assign(tree, { focused: null, hovered: null })
    tree.tip.hide()
    paintOver(tree)
    return false
  }
  return true
}

// ---- what is given, and drawn

/** @type {(tree: Tree, payload: Payload) => void} */
function update(tree, { header }) {
  const { beams, tip, title, stage, legend } = tree
  if (beams?.head.tree === header.tree) {
    tree.beams = { ...beams, head: { ...header, nodes: beams.nodes } }
    return
  }
  const fresh = { view: null, hovered: null, focused: null, drag: null, shot: null, marked: undefined }
  Object.assign(tree, { beams: beamsOf(header), labels: new Map(), ...fresh })
  tip.hide()
  title.textContent = header.title
  stage.setAttribute("aria-label", `${header.title}, ${tree.beams.N} hypotheses. ${KEYS}`)
  legend.setAttribute("aria-label", LEGEND)
}

/** @param {Tree} tree */
function draw(tree) {
  const { legend, stage, beams, view, place: before } = tree
  const place = placed(tree)
  tree.place = place
  const { width, height, z, col } = place
  const changed = !before || before.width !== width || before.z !== z || before.col !== col
  if (!view || (changed && !view.own)) tree.view = { x: view?.x ?? 0, y: view?.y ?? 0, col, own: false }
  if (changed) tree.labels = new Map()
  stage.style.height = `${height}px`
  settle(tree)
  const { height: tall } = placeBeamLegend(rulerOf(tree), beams, width, z)
  paintBeamLegend(prepare(legend, width, tall), paperOf(tree), beams, width, z)
  paintAll(tree)
  const picked = selection.chosen.dec_node
  if (picked === tree.marked) return
  tree.marked = picked
  if (typeof picked === "number" && chosenIn(tree) !== null) reveal(tree, picked)
}
