import { areaAround, areaBetween, areaOnMap, areaWith, cellBeside, cellIn, partSeen, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, button, choiceOf, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { SCALES } from "./parts/legend.js"
import { openWhy } from "./parts/links.js"
import { paintPixels } from "./parts/maps.js"
import { cellSentences, matrixLabel, matrixMap, matrixNow, strongestKey, valueAt } from "./parts/matrix_map.js"
import { matrixNotes, paintAround, paintChosen, paintOverMatrix } from "./parts/matrix_painting.js"
import { matrixPixels, paintBoxes } from "./parts/matrix_pixels.js"
import { areaHas, ontoCells, placeMatrix, xOf, yOf } from "./parts/matrix_places.js"
import { choices, pointedIn, pointedOn } from "./parts/places.js"
import { roomOf } from "./parts/printing.js"
import { fieldOf, positionAt, selection } from "./parts/selection.js"
import { contextOf, mount, onceAFrame, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { alone } from "./parts/typing.js"

/** @import { Area, Cell } from "./parts/cells.js" */
/** @import { MatrixMap } from "./parts/matrix_map.js" */
/** @import { MatrixView } from "./parts/matrix_painting.js" */
/** @import { MatrixPlace } from "./parts/matrix_places.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Made, Payload } from "./parts/types.js" */

// A map of weights or of signed numbers: queries as rows, keys as columns. Arrays: values [R, C], mask [R, C] where anything
// is masked, there [R, C] where some cells have no number in the run. With `grows`, rows behind the chosen one are not written
// yet: empty paper until the step comes to them, as they are everywhere while the steps are played; then their names are not
// there either. hidden: [R] where keys are left out.

/**
 * `area` is zoomed to, of which `seen` is not scrolled out of view, from the cell `first` on. `fitted`: everything is made to
 * fit, however small. `revealed` is the cell that was scrolled to when it was chosen, `told` what the tooltip says, and
 * `elsewhere` the cell that is pointed at in another picture; `places` knows which is chosen.
 * @typedef {{map: MatrixMap, place: MatrixPlace, pixels: ImageData, area: Area, seen: Area, first: Cell, fitted: boolean,
 *   places: ReturnType<typeof choices>, revealed: string, painted: ?string, hovered: ?Cell, elsewhere: ?Cell, told: ?{r: number, c: number, x: number, y: number},
 *   dragged: ?{x: number, y: number, cell: Cell, to?: {x: number, y: number}}}} State
 * @typedef {State & Made & ReturnType<typeof partsIn>} Matrix
 */

export default (/** @type {Component} */ component) => mount(component, "matrix", makeMatrix)

/** @param {HTMLElement} root */
function partsIn(root) {
  const { stage, base, over } = stageOf(["base", "over"])
  const foot = element("div", "foot")
  const scroller = element("div", "scroller")
  const spacer = element("div")
  scroller.tabIndex = -1
  scroller.setAttribute("aria-hidden", "true")
  scroller.append(spacer)
  stage.append(scroller)
  root.append(stage, foot)
  const scales = choiceOf("Colour scale", SCALES, (scale) => selection.pick({ scale }, 150))
  return { root, stage, base, over, foot, scroller, spacer, scales, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeMatrix(root) {
  const parts = partsIn(root)
  /** @type {Partial<State>} */
  const state = { first: { r: 0, c: 0 }, fitted: false, revealed: "", hovered: null, elsewhere: null }
  state.places = choices(() => matrix.draw())
  const matrix = /** @type {Matrix} */ (Object.assign(state, parts))
  const fit = button("quiet", "fit", "All cells at once, however small", () => {
    matrix.fitted = !matrix.fitted
    show(matrix)
  })
  const saved = exports(root, {
    draw: (context) => unrolled(matrix, (view, pixels) => paintWhole(context, matrix, view, pixels)),
    size: () => unrolled(matrix, ({ place: { width, height } }) => ({ width, height })),
    caption: () => matrix.map.head.caption,
    name: () => matrix.map.head.name,
  })
  parts.foot.append(fit, parts.scales.box, saved)
  listen(matrix)
  const deaf = selection.onPoint(matrix, (fields) => {
    const head = matrix.map?.head
    const cell = fields && head ? pointedIn(head, fields) : null
    const elsewhere = cell && matrix.seen && areaHas(matrix.seen, cell) ? cell : null
    if (!elsewhere && !matrix.elsewhere) return
    matrix.elsewhere = elsewhere
    if (matrix.place) paintOver(matrix)
    if (!head?.paired) return
    if (elsewhere) tell(matrix, elsewhere, xOf(matrix, elsewhere.c + 1), yOf(matrix, elsewhere.r + 1))
    else hush(matrix)
  })
  return Object.assign(matrix, {
    update: (/** @type {Payload} */ payload) => update(matrix, payload),
    draw: () => draw(matrix, fit),
    remove() {
      deaf()
      if (matrix.map?.head.follows) selection.looksAt(null)
    },
  })
}

/** @type {(matrix: Matrix) => MatrixView} */
const viewOf = ({ map, places, place, area, seen }) => ({
  map,
  now: {
    ...matrixNow(map, selection.chosen, selection.playing),
    r: places.on(map.head.rows, "row"),
    c: places.on(map.head.columns, "column"),
  },
  place,
  area,
  seen,
})
const isZoomed = (/** @type {Matrix} */ { area, map: { rows, columns } }) =>
  area.r1 - area.r0 < rows || area.c1 - area.c0 < columns
const cellAt = (/** @type {Matrix} */ { place, seen }, /** @type {number} */ x, /** @type {number} */ y) =>
  cellIn(x, y, place, seen)

/** @param {Matrix} matrix */
function placed({ root, base, map: { head }, area, fitted }, whole = false) {
  const room = { z: zoom(root), width: root.clientWidth, height: tallness(root, head.height), fitted, whole }
  return placeMatrix(contextOf(base), head, area, room)
}

// ---- saving: all cells in their places, those that are scrolled out of view too

const few = (/** @type {Area} */ { r0, r1, c0, c1 }) => (r1 - r0) * (c1 - c0) <= 10_000

/**
 * @template Made
 * @param {Matrix} matrix
 * @param {(view: MatrixView, pixels: ImageData) => Made} work
 */
function unrolled(matrix, work) {
  const view = { ...viewOf(matrix), place: placed(matrix, true), seen: matrix.area }
  const remade = view.place.scrolls && !few(view.seen)
  return work(view, remade ? matrixPixels(view, colours(matrix.root), 2) : matrix.pixels)
}

/** @type {(context: Context, matrix: Matrix, view: MatrixView, pixels: ImageData) => void} */
function paintWhole(context, { root }, view, pixels) {
  const paper = colours(root)
  if (few(view.seen)) paintBoxes(context, paper, view)
  else paintPixels(context, pixels, view.place)
  paintAround(context, paper, view, matrixNotes(view, sharpness(root), Boolean(roomOf(root))))
  paintChosen(context, paper, view)
}

// ---- scrolling

/**
 * Scroll as little as brings this cell into view.
 * @type {(matrix: Matrix, cell: {r: ?number, c: ?number}) => void}
 */
function reveal(matrix, { r, c }) {
  const { seen, area } = matrix
  matrix.first = { r: seen.r0, c: seen.c0 }
  const inside = { r: r ?? seen.r0, c: c ?? seen.c0 }
  if (!areaHas(area, inside)) return
  const { r0, c0 } = areaWith(seen, inside)
  matrix.first = { r: r0, c: c0 }
  matrix.seen = partSeen(area, matrix.first, matrix.place.shown)
}

/** @type {(matrix: Matrix) => Cell} */
const scrolledTo = ({ area, scroller, place }) => ({
  r: area.r0 + Math.round(scroller.scrollTop / place.rowHeight),
  c: area.c0 + Math.round(scroller.scrollLeft / place.cell),
})

/**
 * The scroll bars, beside and below the cells.
 * @param {Matrix} matrix
 */
function drawBars(matrix) {
  const { scroller, spacer, area, seen } = matrix
  const { top, h, cell, rowHeight, scrolls, shown } = matrix.place
  scroller.hidden = !scrolls
  if (!scrolls) return
  Object.assign(scroller.style, { top: `${top}px`, height: `${h + 10}px` })
  spacer.style.width = `calc(100% + ${(area.c1 - area.c0 - shown.along) * cell}px)`
  spacer.style.height = `calc(100% + ${(area.r1 - area.r0 - shown.down) * rowHeight}px)`
  const { r, c } = scrolledTo(matrix)
  if (r === seen.r0 && c === seen.c0) return // somebody may be scrolling
  scroller.scrollTo({ left: (seen.c0 - area.c0) * cell, top: (seen.r0 - area.r0) * rowHeight, behavior: "instant" })
}

/** @param {Matrix} matrix */
function scroll(matrix) {
  const corner = scrolledTo(matrix)
  if (corner.r === matrix.seen.r0 && corner.c === matrix.seen.c0) return
  matrix.first = corner
  hover(matrix, null)
  matrix.draw()
}

// ---- pointing and choosing

/** @param {Matrix} matrix */
function paintOver(matrix) {
  const { root, over, place, hovered, elsewhere, dragged } = matrix
  const context = prepare(over, place.width, place.height)
  paintOverMatrix(context, colours(root), viewOf(matrix), hovered ?? elsewhere, dragged)
}

const said = (/** @type {Matrix} */ matrix, /** @type {Cell} */ { r, c }) =>
  cellSentences(matrix.map, viewOf(matrix).now, r, c)

/** @type {(matrix: Matrix, cell: Cell, x: number, y: number) => void} */
function tell(matrix, cell, x, y) {
  matrix.told = { ...cell, x, y }
  matrix.tip.show(said(matrix, cell), x, y)
}
/** @param {Matrix} matrix */
function hush(matrix) {
  matrix.told = null
  matrix.tip.hide()
}

/** @type {(matrix: Matrix, cell: ?Cell, x?: number, y?: number) => void} */
function hover(matrix, cell, x = 0, y = 0) {
  if (cell?.r !== matrix.hovered?.r || cell?.c !== matrix.hovered?.c)
    selection.points(matrix, cell && pointedOn(matrix.map.head, cell))
  matrix.hovered = cell
  if (cell) tell(matrix, cell, x, y)
  else hush(matrix)
  paintOver(matrix)
}

/** @type {(matrix: Matrix, cell: Cell, settle: number) => void} */
function pick(matrix, cell, settle) {
  matrix.places.pick(matrix.map.head, cell, settle)
  matrix.announce(said(matrix, cell).join(", "))
}

/**
 * Zoom to these cells, kept inside the map; without any, to all of it.
 * @type {(matrix: Matrix, cells?: Area) => void}
 */
function show(matrix, cells) {
  const { rows, columns } = matrix.map
  const area = areaOnMap(cells ?? wholeArea(rows, columns), rows, columns)
  Object.assign(matrix, { area, first: { r: area.r0, c: area.c0 }, revealed: "", painted: null })
  matrix.draw()
}

const explain = (/** @type {Matrix} */ matrix) => openWhy(matrix.map.head.why, viewOf(matrix).now)

/** @param {Matrix} matrix */
function listen(matrix) {
  const { root, stage, scroller } = matrix
  scroller.onscroll = onceAFrame(root, () => scroll(matrix))
  scroller.onfocus = () => stage.focus({ preventScroll: true })
  stage.onpointermove = (event) => move(matrix, pointIn(stage, event))
  stage.onpointerleave = () => hover(matrix, null)
  stage.onpointerdown = (event) => {
    const { x, y } = pointIn(stage, event)
    const cell = event.button === 0 && cellAt(matrix, x, y)
    if (!cell) return
    matrix.dragged = { x, y, cell }
    stage.setPointerCapture(event.pointerId)
  }
  stage.onpointerup = (event) => release(matrix, pointIn(stage, event))
  stage.onpointercancel = () => {
    matrix.dragged = null
    paintOver(matrix)
  }
  stage.ondblclick = () => (isZoomed(matrix) ? show(matrix) : explain(matrix))
  stage.onkeydown = (event) => {
    if (alone(event) && press(matrix, event)) event.preventDefault()
  }
  stage.onblur = () => hush(matrix)
}

/** @type {(matrix: Matrix, at: {x: number, y: number}) => void} */
function move(matrix, { x, y }) {
  const { dragged, place } = matrix
  if (dragged && Math.hypot(x - dragged.x, y - dragged.y) > 6) {
    dragged.to = ontoCells(place, x, y)
    hover(matrix, null)
  } else if (!dragged?.to) hover(matrix, cellAt(matrix, x, y), x, y)
}

/** @type {(matrix: Matrix, at: {x: number, y: number}) => void} */
function release(matrix, moved) {
  const { dragged, place } = matrix
  if (!dragged) return
  matrix.dragged = null
  const { cell, to } = dragged
  if (!to) {
    pick(matrix, cell, 0)
    hover(matrix, cell, moved.x, moved.y)
    return
  }
  const [x, y] = [Math.min(to.x, place.left + place.w - 0.01), Math.min(to.y, place.top + place.h - 0.01)]
  show(matrix, areaBetween(cell, /** @type {Cell} */ (cellAt(matrix, x, y))))
}

/**
 * Whether the key is one of this picture's.
 * @type {(matrix: Matrix, event: KeyboardEvent) => boolean}
 */
function press(matrix, { key, shiftKey }) {
  const { map, area, place } = matrix
  const { now } = viewOf(matrix)
  const to = cellBeside(key, now, map.rows, map.columns, { far: shiftKey ? 10 : 1, r0: area.r0, c0: area.c0 })
  if (to) {
    matrix.area = areaWith(area, to)
    matrix.seen = partSeen(matrix.area, matrix.first, place.shown)
    reveal(matrix, to)
    pick(matrix, to, 150)
    matrix.hovered = null
    tell(matrix, to, xOf(matrix, to.c) + place.cell / 2, yOf(matrix, to.r) + place.rowHeight / 2)
  } else if (key === "+") show(matrix, areaAround(area, now, 0.5))
  else if (key === "-") show(matrix, areaAround(area, now, 2))
  else {
    if (key === "Enter") explain(matrix)
    if (key !== "Escape") return false
    hush(matrix)
    if (!isZoomed(matrix)) return false
    show(matrix)
  }
  return true
}

// ---- what the page hears and shows of it

/**
 * Tell the page what the chosen row looks at, and take a key along that nobody chose.
 * @param {Matrix} matrix
 */
function follow(matrix) {
  const { map } = matrix
  const { head, columns } = map
  if (!head.follows) return
  const { r } = viewOf(matrix).now
  const key = r === null ? null : strongestKey(map, r)
  if (key !== null && selection.chosen.followed?.includes(head.columns.field))
    selection.follow(fieldOf(head.columns, key))
  const row =
    r === null ? [] : Array.from({ length: columns }, (_, c) => [positionAt(head.columns, c), valueAt(map, r, c)])
  selection.looksAt({ ink: head.columns.ink, kind: head.scale, weights: Object.fromEntries(row) })
}

/**
 * Once in a window, the chosen row of its first map lights up: that is where to look.
 * @param {Matrix} matrix
 */
function pulse(matrix) {
  const { r } = viewOf(matrix).now
  if (r === null || window.vizTransformerPulsed) return
  window.vizTransformerPulsed = true
  const { left, w, rowHeight } = matrix.place
  const light = element("div", "pulse")
  const box = { left, top: yOf(matrix, r), width: w, height: rowHeight }
  Object.assign(light.style, Object.fromEntries(Object.entries(box).map(([side, at]) => [side, `${at}px`])))
  light.onanimationend = () => light.remove()
  if (!matchMedia("(prefers-reduced-motion: reduce)").matches) matrix.stage.append(light)
}

/** @type {(matrix: Matrix, payload: Payload) => void} */
function update(matrix, payload) {
  const before = matrix.map
  const map = matrixMap(payload)
  const { head, rows, columns } = map
  // what was scrolled to stays in view: partSeen keeps it inside a smaller map
  const resized = before?.rows !== rows || before?.columns !== columns
  Object.assign(matrix, { map, painted: null, hovered: null })
  if (resized || before?.head.name !== head.name) matrix.area = wholeArea(rows, columns)
  if (resized) Object.assign(matrix, { fitted: false, revealed: "" })
  hush(matrix)
  matrix.scales.box.hidden = head.signed || head.names !== undefined
  matrix.scales.buttons[0].hidden = !head.bounded
  matrix.stage.setAttribute("aria-label", matrixLabel(head))
}

/** @type {(matrix: Matrix, fit: HTMLButtonElement) => void} */
function draw(matrix, fit) {
  const { root, base, stage, told } = matrix
  const place = placed(matrix)
  matrix.place = place
  matrix.seen = partSeen(matrix.area, matrix.first, place.shown)
  const { now } = viewOf(matrix)
  const cell = `${now.r} ${now.c}`
  if (place.scrolls && matrix.revealed !== cell) reveal(matrix, now)
  matrix.revealed = cell
  fit.hidden = !place.scrolls && !matrix.fitted
  fit.setAttribute("aria-pressed", String(matrix.fitted))
  drawBars(matrix)
  stage.style.height = `${place.height}px`
  matrix.scales.press(now.scale)
  const [view, paper, ratio] = [viewOf(matrix), colours(root), sharpness(root)]
  const { width, height, z } = place
  const looks = [
    root.clientWidth,
    height,
    z,
    now.scale,
    paper.one("page"),
    ratio,
    JSON.stringify(view.seen),
    now.written,
  ]
  if (matrix.painted !== looks.join()) matrix.pixels = matrixPixels(view, paper, ratio)
  matrix.painted = looks.join()
  const context = prepare(base, width, height)
  context.putImageData(matrix.pixels, Math.round(place.left * ratio), Math.round(place.top * ratio))
  paintAround(context, paper, view, matrixNotes(view, ratio, Boolean(roomOf(root))))
  paintOver(matrix)
  if (told && (view.map.head.grows || now.plays)) tell(matrix, told, told.x, told.y) // the step may have come to this row, or gone back
  pulse(matrix)
  follow(matrix)
  stage.dataset.painted = String(performance.now())
}
