import { areaAround, areaBetween, areaOnMap, areaWith, cellBeside, cellIn, partSeen, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { button, choiceOf, element } from "./parts/elements.js"
import { SCALES } from "./parts/legend.js"
import { openWhy } from "./parts/links.js"
import { paintPixels } from "./parts/maps.js"
import { cellSentences, matrixLabel, matrixMap, matrixNow, strongestKey, valueAt } from "./parts/matrix_map.js"
import { matrixNotes, paintAround, paintChosen, paintOverMatrix } from "./parts/matrix_painting.js"
import { matrixPixels, paintBoxes } from "./parts/matrix_pixels.js"
import { areaHas, ontoCells, placeMatrix, xOf, yOf } from "./parts/matrix_places.js"
import { isStill } from "./parts/motion.js"
import { choices, pointedIn, pointedOn } from "./parts/places.js"
import { choose, hover, hush, paintOver, plot, roomIn, takeLooks, tell } from "./parts/plot.js"
import { roomOf } from "./parts/printing.js"
import { fieldOf, positionAt, selection } from "./parts/selection.js"
import { pointIn, prepare, sharpness, tallness } from "./parts/stage.js"

/** @import { Area, Cell } from "./parts/cells.js" */
/** @import { Paper } from "./parts/colours.js" */
/** @import { MatrixMap } from "./parts/matrix_map.js" */
/** @import { MatrixView } from "./parts/matrix_painting.js" */
/** @import { MatrixPlace } from "./parts/matrix_places.js" */
/** @import { Picture, Plot } from "./parts/plot.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Payload } from "./parts/types.js" */

// A map of weights or of signed numbers: queries as rows, keys as columns. Arrays: values [R, C], mask [R, C] where anything
// is masked, there [R, C] where some cells have no number in the run. With `grows`, rows behind the chosen one are not written
// yet: empty paper until the step comes to them, as they are everywhere while the steps are played; then their names are not
// there either. hidden: [R] where keys are left out.

/**
 * `area` is zoomed to, of which `seen` is not scrolled out of view, from the cell `first` on. `fitted`: everything is made to
 * fit, however small. `revealed` is the cell that was scrolled to when it was chosen, `barred` the one
 * that the scroll bars were left at; `places` knows which is chosen.
 * @typedef {{map: MatrixMap, pixels: ImageData, area: Area, seen: Area, first: Cell, barred: Cell, fitted: boolean,
 *   places: ReturnType<typeof choices>, revealed: string, dragged: ?{x: number, y: number, cell: Cell, to?: {x: number, y: number}},
 *   scroller: HTMLElement, spacer: HTMLElement, scales: ReturnType<typeof choiceOf>, fit: HTMLButtonElement}} State
 * @typedef {Plot<MatrixPlace, Cell> & State} Matrix
 */

/** @type {Picture<Matrix, MatrixView, Cell>} */
export const matrixPicture = {
  name: "matrix",
  begin,
  read,
  head: ({ map }) => map.head,
  layout: placed,
  view: ({ map, places, place, area, seen }) => ({
    map,
    now: {
      ...matrixNow(map, selection.chosen, selection.playing),
      r: places.on(map.head.rows, "row"),
      c: places.on(map.head.columns, "column"),
    },
    place,
    area,
    seen,
  }),
  settle,
  paint,
  paintOver: (context, paper, view, cell, { dragged }) => paintOverMatrix(context, paper, view, cell, dragged),
  drawn(matrix) {
    const { told, map } = matrix
    if (told && (map.head.grows || nowIn(matrix).plays)) tell(matrix, told.item, told) // the step may have come to this row, or gone back
    pulse(matrix)
    follow(matrix)
  },
  save: (context, paper, matrix) =>
    unrolled(matrix, (view, pixels) => paintWhole(context, paper, matrix, view, pixels)),
  savedSize: (matrix) => unrolled(matrix, ({ place: { width, height } }) => ({ width, height })),
  hit: ({ place, seen }, x, y) => cellIn(x, y, place, seen),
  describe: ({ map, now }, { r, c }) => cellSentences(map, now, r, c),
  at: (view, { r, c }) => ({ x: xOf(view, c) + view.place.cell / 2, y: yOf(view, r) + view.place.rowHeight / 2 }),
  keys: ({ map, now, area: { r0, c0 } }, { key, shiftKey }) =>
    cellBeside(key, now, map.rows, map.columns, { far: shiftKey ? 10 : 1, r0, c0 }),
  fields: ({ map }, cell) => pointedOn(map.head, cell),
  find({ map, seen }, fields) {
    const cell = pointedIn(map.head, fields)
    return cell && areaHas(seen, cell) ? cell : null
  },
  found(matrix) {
    const { map, elsewhere } = matrix
    if (!map.head.paired) return
    if (elsewhere) tell(matrix, elsewhere, { x: xOf(matrix, elsewhere.c + 1), y: yOf(matrix, elsewhere.r + 1) })
    else hush(matrix)
  },
  choose: ({ places, map }, cell, settle) => places.pick(map.head, cell, settle),
  reveal(matrix, cell) {
    matrix.area = areaWith(matrix.area, cell)
    matrix.seen = partSeen(matrix.area, matrix.first, matrix.place.shown)
    reveal(matrix, cell)
  },
  press,
  listen,
  remove({ map }) {
    if (map?.head.follows) selection.looksAt(null)
  },
}

export default (/** @type {Component} */ component) => plot(component, matrixPicture)

/** @type {(matrix: Matrix, menu: HTMLElement) => void} */
function begin(matrix, menu) {
  const scroller = element("div", "scroller")
  const spacer = element("div")
  scroller.tabIndex = -1
  scroller.setAttribute("aria-hidden", "true")
  scroller.append(spacer)
  matrix.stage.append(scroller)
  const scales = choiceOf("Colour scale", SCALES, (scale) => selection.pick({ scale }, 150))
  const fit = button("quiet", "fit", "All cells at once, however small", () => {
    matrix.fitted = !matrix.fitted
    show(matrix)
  })
  matrix.foot.append(fit, scales.box, menu)
  const places = choices(() => matrix.draw())
  Object.assign(matrix, { scroller, spacer, scales, fit, places, first: { r: 0, c: 0 }, fitted: false, revealed: "" })
  matrix.barred = matrix.first
}

const nowIn = (/** @type {Matrix} */ matrix) => matrixPicture.view(matrix).now
const isZoomed = (/** @type {Matrix} */ { area, map: { rows, columns } }) =>
  area.r1 - area.r0 < rows || area.c1 - area.c0 < columns

/** @type {(matrix: Matrix, room: Parameters<typeof matrixPicture.layout>[1], whole?: boolean) => MatrixPlace} */
function placed({ root, map: { head }, area, fitted }, { z, width, ruler }, whole = false) {
  return placeMatrix(ruler, head, area, { z, width, height: tallness(root, head.height), fitted, whole })
}

// ---- saving: all cells in their places, those that are scrolled out of view too

const few = (/** @type {Area} */ { r0, r1, c0, c1 }) => (r1 - r0) * (c1 - c0) <= 10_000

/**
 * @template Made
 * @param {Matrix} matrix
 * @param {(view: MatrixView, pixels: ImageData) => Made} work
 */
function unrolled(matrix, work) {
  const view = { ...matrixPicture.view(matrix), place: placed(matrix, roomIn(matrix), true), seen: matrix.area }
  const remade = view.place.scrolls && !few(view.seen)
  return work(view, remade ? matrixPixels(view, colours(matrix.root), 2) : matrix.pixels)
}

/** @type {(context: Context, paper: Paper, matrix: Matrix, view: MatrixView, pixels: ImageData) => void} */
function paintWhole(context, paper, { root }, view, pixels) {
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
  matrix.barred = { r: seen.r0, c: seen.c0 }
  const { r, c } = scrolledTo(matrix)
  if (r === seen.r0 && c === seen.c0) return // somebody may be scrolling
  scroller.scrollTo({ left: (seen.c0 - area.c0) * cell, top: (seen.r0 - area.r0) * rowHeight, behavior: "instant" })
}

/** @param {Matrix} matrix */
function scroll(matrix) {
  const corner = scrolledTo(matrix)
  if (corner.r === matrix.barred.r && corner.c === matrix.barred.c) return // not by hand
  matrix.first = corner
  hover(matrix, null)
  matrix.draw()
}

// ---- pointing and choosing

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

const explain = (/** @type {Matrix} */ matrix) => openWhy(matrix.map.head.why, nowIn(matrix))

/** @param {Matrix} matrix */
function listen(matrix) {
  const { stage, scroller } = matrix
  scroller.onscroll = () => scroll(matrix)
  scroller.onfocus = () => stage.focus({ preventScroll: true })
  stage.onpointermove = (event) => move(matrix, pointIn(stage, event))
  stage.onpointerdown = (event) => {
    const { x, y } = pointIn(stage, event)
    const cell = event.button === 0 && cellIn(x, y, matrix.place, matrix.seen)
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
}

/** @type {(matrix: Matrix, at: {x: number, y: number}) => void} */
function move(matrix, { x, y }) {
  const { dragged, place, seen } = matrix
  if (dragged && Math.hypot(x - dragged.x, y - dragged.y) > 6) {
    dragged.to = ontoCells(place, x, y)
    hover(matrix, null)
    paintOver(matrix) // the frame has come further
  } else if (!dragged?.to) hover(matrix, cellIn(x, y, place, seen), { x, y })
}

/** @type {(matrix: Matrix, at: {x: number, y: number}) => void} */
function release(matrix, moved) {
  const { dragged, place, seen } = matrix
  if (!dragged) return
  matrix.dragged = null
  const { cell, to } = dragged
  if (!to) {
    choose(matrix, cell, 0)
    hover(matrix, cell, moved)
    return
  }
  const [x, y] = [Math.min(to.x, place.left + place.w - 0.01), Math.min(to.y, place.top + place.h - 0.01)]
  show(matrix, areaBetween(cell, /** @type {Cell} */ (cellIn(x, y, place, seen))))
}

/** @type {(matrix: Matrix, event: KeyboardEvent) => boolean} */
function press(matrix, { key }) {
  const { area } = matrix
  if (key === "Enter") explain(matrix)
  if (key === "+") show(matrix, areaAround(area, nowIn(matrix), 0.5))
  else if (key === "-") show(matrix, areaAround(area, nowIn(matrix), 2))
  else if (key === "Escape" && isZoomed(matrix)) show(matrix)
  else return false
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
  const { r } = nowIn(matrix)
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
  const { r } = nowIn(matrix)
  if (r === null || window.vizTransformerPulsed) return
  window.vizTransformerPulsed = true
  const { left, w, rowHeight } = matrix.place
  const light = element("div", "pulse")
  const box = { left, top: yOf(matrix, r), width: w, height: rowHeight }
  Object.assign(light.style, Object.fromEntries(Object.entries(box).map(([side, at]) => [side, `${at}px`])))
  light.onanimationend = () => light.remove()
  if (!isStill()) matrix.stage.append(light)
}

/** @type {(matrix: Matrix, payload: Payload) => void} */
function read(matrix, payload) {
  const before = matrix.map
  const map = matrixMap(payload)
  const { head, rows, columns } = map
  // what was scrolled to stays in view: partSeen keeps it inside a smaller map
  const resized = before?.rows !== rows || before?.columns !== columns
  Object.assign(matrix, { map, hovered: null })
  if (resized || before?.head.name !== head.name) matrix.area = wholeArea(rows, columns)
  if (resized) Object.assign(matrix, { fitted: false, revealed: "" })
  hush(matrix)
  matrix.scales.box.hidden = head.signed || head.names !== undefined
  matrix.scales.buttons[0].hidden = !head.bounded
  matrix.stage.setAttribute("aria-label", matrixLabel(head))
}

/**
 * Scrolls to what was chosen, and shows the scroll bars that are needed.
 * @param {Matrix} matrix
 */
function settle(matrix) {
  const { place, fit } = matrix
  matrix.seen = partSeen(matrix.area, matrix.first, place.shown)
  const now = nowIn(matrix)
  const cell = `${now.r} ${now.c}`
  if (place.scrolls && matrix.revealed !== cell) reveal(matrix, now)
  matrix.revealed = cell
  fit.hidden = !place.scrolls && !matrix.fitted
  fit.setAttribute("aria-pressed", String(matrix.fitted))
  drawBars(matrix)
  matrix.scales.press(now.scale)
}

/** @type {(matrix: Matrix, paper: Paper, view: MatrixView) => void} */
function paint(matrix, paper, view) {
  const { root, base, place } = matrix
  const ratio = sharpness(root)
  const { scale, written } = view.now
  if (takeLooks(matrix, paper, [scale, JSON.stringify(view.seen), written]))
    matrix.pixels = matrixPixels(view, paper, ratio)
  const context = prepare(base, place.width, place.height)
  context.putImageData(matrix.pixels, Math.round(place.left * ratio), Math.round(place.top * ratio))
  paintAround(context, paper, view, matrixNotes(view, ratio, Boolean(roomOf(root))))
}
