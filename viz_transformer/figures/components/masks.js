import { cellBeside, cellIn, columnLabels, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { openWhy } from "./parts/links.js"
import {
  AFTER,
  BEFORE,
  LARGE,
  maskX,
  maskY,
  PANELS,
  paintMask,
  paintMaskChoice,
  paintMaskCrossings,
  paintMaskTitles,
  paintMaskTokens,
  SMALL,
} from "./parts/masks_painting.js"
import { masksBeside, masksStacked, widthsBeside, widthsStacked } from "./parts/masks_places.js"
import { roomOf } from "./parts/printing.js"
import { cellWith, fieldsOf, placeOn, selection } from "./parts/selection.js"
import { tokenWords } from "./parts/sentences.js"
import { contextOf, mount, pointIn, prepare, rootIn, sharpness, tallness, zoom } from "./parts/stage.js"
import { mono, sans, wrapped } from "./parts/text.js"
import { masksOf, turned, wordOf } from "./parts/toggled_cells.js"
import { alone } from "./parts/typing.js"

/** @import { Cell } from "./parts/cells.js" */
/** @import { MasksPlace, MasksView } from "./parts/masks_painting.js" */
/** @import { Component, Root } from "./parts/stage.js" */
/** @import { Masks } from "./parts/toggled_cells.js" */
/** @import { Context, Made, MasksHeader, Numbers, Payload, Token } from "./parts/types.js" */

// Masks side by side: small what padding leaves open and what causality leaves open, large both together before and after cells
// of it were turned round, which a click on the last one does. Arrays: padding, causal [Q, K], 1 = open. `cells` are words as
// "d3.5" and "d3" of all kinds; `letter` is this kind's. Python hears of all cells that are changed, with the token of the last click.

/**
 * `masks` says what is open in each of the four, and why. `clicked` is the cell that was turned last, until Python has
 * chosen it, with what was chosen then; `elsewhere` the cell that is pointed at in the masks beside these.
 * @typedef {Cell & {panel: number}} MaskCell
 * @typedef {{head: MasksHeader, arrays: Record<string, Numbers>, rows: number, columns: number, place: MasksPlace,
 *   cells: Set<string>, masks: Masks, clicked: ?(Cell & {from: {r: ?number, c: ?number}}), hovered: ?Cell, elsewhere: ?Cell,
 *   sent: string, sentAt: number}} State
 * @typedef {State & Made & ReturnType<typeof partsIn>} Grids
 */

const STACKED = 440 // pixels: in less room they are
const UNHEARD = 3000 // milliseconds: what Python says before has not heard of the last click

export default (/** @type {Component} */ component) => {
  const removed = mount(component, "masks", makeMasks)
  const root = /** @type {Root} */ (rootIn(component.parentElement, "masks"))
  root.vt.made.tell = (/** @type {object} */ value) => component.setTriggerValue("cells", value)
  return removed
}

/** @param {HTMLElement} root */
function partsIn(root) {
  const made = stageOf(["base", "over"])
  const foot = element("div", "foot")
  made.stage.classList.add("edits")
  root.append(made.stage, foot)
  return { root, ...made, foot, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeMasks(root) {
  /** @type {Partial<State>} */
  const state = { cells: new Set(), clicked: null, hovered: null, elsewhere: null, sent: "", sentAt: -Infinity }
  const grids = /** @type {Grids} */ (Object.assign(state, partsIn(root)))
  const saved = exports(root, {
    draw: (context) => {
      paintAll(grids, context)
      paintMaskChoice(context, colours(root), viewOf(grids))
    },
    size: () => ({ width: grids.place.width, height: grids.place.height }),
    caption: () => grids.head.caption,
    name: () => grids.head.name,
  })
  grids.foot.append(saved)
  listen(grids)
  const deaf = selection.onPoint(grids, (fields) => {
    const at = grids.head ? cellWith(grids.head, fields) : null
    if (!at && !grids.elsewhere) return
    grids.elsewhere = at
    if (grids.place) paintOver(grids)
  })
  return Object.assign(grids, {
    tell: () => {},
    again: true, // the same cells as before say that what was turned since was not heard
    update: (/** @type {Payload} */ payload) => update(grids, payload),
    draw: () => draw(grids),
    remove: () => deaf(),
  })
}

/** @type {(head: MasksHeader) => {r: ?number, c: ?number}} */
const chosenIn = ({ rows, columns }) => ({ r: placeOn(rows), c: placeOn(columns) })

/** @type {(grids: Grids) => MasksView} */
function viewOf(grids) {
  const { head, masks, rows, columns, place, clicked } = grids
  const now = chosenIn(head)
  if (clicked && (now.r !== clicked.from.r || now.c !== clicked.from.c)) grids.clicked = null
  return { head, masks, rows, columns, place, chosen: grids.clicked ?? now }
}

/** @type {(grids: Grids, words: Iterable<string>) => void} */
function understand(grids, words) {
  const { head, columns, arrays } = grids
  grids.cells = new Set(words)
  grids.masks = masksOf(arrays.padding.values, arrays.causal.values, columns, head.letter, words, head.reasons)
}

/** @type {(grids: Grids) => MasksPlace} */
function placed({ root, base, head, rows, columns }) {
  const [context, z, width] = [contextOf(base), zoom(root), root.clientWidth]
  context.font = mono(14 * z)
  const label = (/** @type {Token} */ token) => context.measureText(token.note ?? token.text).width
  const most = 11 * context.measureText("m").width
  const widest = (/** @type {Token[]} */ tokens) =>
    tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
  const names = 12 + Math.min(most, Math.max(widest(head.rows.tokens), 44 * z)) // of the rows, left of the large ones
  const given = { width, height: tallness(root, head.height), rows, columns, names, z }
  const isStacked = width < STACKED * z && !roomOf(root)
  const { small, room, cell } = (isStacked ? widthsStacked : widthsBeside)(given)
  const along = columnLabels(cell, widest(head.columns.tokens), most, z)
  context.font = sans(13 * z)
  const notes = head.panels.map(({ note }, panel) => wrapped(context, note, LARGE.includes(panel) ? room : small))
  const lines = [SMALL, LARGE].map((panels) => Math.max(...panels.map((panel) => notes[panel].length)))
  const all = (isStacked ? masksStacked : masksBeside)(given, { lines, tall: along.tall })
  return { z, width, names, notes, isStacked, ...along, ...all }
}

/** @type {(grids: Grids, context: Context) => void} */
function paintAll(grids, context) {
  const { root } = grids
  const [paper, view] = [colours(root), viewOf(grids)]
  for (const panel of PANELS) paintMask(context, paper, view, panel, sharpness(root))
  paintMaskTokens(context, paper, view)
  paintMaskTitles(context, paper, view, Boolean(roomOf(root)))
}

/** @param {Grids} grids */
function paintOver(grids) {
  const { root, over, place, hovered, elsewhere } = grids
  const [context, paper, view] = [prepare(over, place.width, place.height), colours(root), viewOf(grids)]
  paintMaskChoice(context, paper, view)
  const at = hovered ?? elsewhere
  if (at) paintMaskCrossings(context, paper, view, at)
}

// ---- hovering, choosing, turning round

/** @type {(grids: Grids, cell: MaskCell) => string[]} */
function sentences({ head, masks }, { panel, r, c }) {
  const state = `${head.panels[panel].title}: ${masks.open[panel](r, c) ? "open" : "closed"}`
  return [tokenWords(head.rows, r), tokenWords(head.columns, c), panel === AFTER ? masks.why(r, c) : state]
}

/**
 * The tooltip of a cell, over its own mask or beside all of them: the one next to it stays in view.
 * @type {(grids: Grids, cell: MaskCell, x: number, y: number) => void}
 */
function tell(grids, cell, x, y) {
  const { root, tip, place, columns } = grids
  tip.show(sentences(grids, cell), x, y)
  const box = /** @type {HTMLElement} */ (root.querySelector(":scope > .tooltip"))
  const { panel } = cell
  const [from, to] = LARGE.includes(panel)
    ? [maskX(place, panel, 0), maskX(place, panel, columns)]
    : [0, place.masks[BEFORE].left - 8]
  box.style.left = `${Math.max(from, Math.min(x + 16, to - box.offsetWidth))}px`
}

/**
 * The tooltip of a cell of the last mask, for the keyboard.
 * @type {(grids: Grids, cell: Cell) => void}
 */
function tellLast(grids, cell) {
  const { place } = grids
  const { cell: wide, rowHeight } = place.masks[AFTER]
  const [x, y] = [maskX(place, AFTER, cell.c) + wide / 2, maskY(place, AFTER, cell.r) + rowHeight / 2]
  tell(grids, { panel: AFTER, ...cell }, x, y)
}

/** @type {(grids: Grids, at: ?MaskCell, x?: number, y?: number) => void} */
function hover(grids, at, x = 0, y = 0) {
  const { head, hovered, tip } = grids
  if (at?.r !== hovered?.r || at?.c !== hovered?.c) selection.points(grids, at && fieldsOf(head, at))
  grids.hovered = at
  if (at) tell(grids, at, x, y)
  else tip.hide()
  paintOver(grids)
}

/** @type {(grids: Grids, cell: Cell) => void} */
function turn(grids, { r, c }) {
  const { head, cells, announce } = grids
  const words = turned(cells, wordOf(head.letter, r, c), head.most)
  if (words === null) {
    announce(`At most ${head.most} cells can be changed: undo some first.`)
    return
  }
  understand(grids, words)
  grids.sent = Math.random().toString(36).slice(2)
  grids.sentAt = performance.now()
  grids.clicked = { r, c, from: chosenIn(head) }
  grids.tell?.({ token: grids.sent, cells: words, fields: fieldsOf(head, { r, c }) })
  announce(sentences(grids, { panel: AFTER, r, c }).join(", "))
  grids.draw()
}

/** @param {Grids} grids */
function listen(grids) {
  const { stage, tip } = grids
  const pointed = (/** @type {MouseEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    for (const panel of PANELS) {
      const cell = cellIn(x, y, grids.place.masks[panel], wholeArea(grids.rows, grids.columns))
      if (cell) return { at: { panel, ...cell }, x, y }
    }
    return { at: null, x, y }
  }
  stage.onpointermove = (event) => {
    const { at, x, y } = pointed(event)
    hover(grids, at, x, y)
  }
  stage.onpointerleave = () => hover(grids, null)
  stage.onclick = (event) => {
    const { at, x, y } = pointed(event)
    if (!at) return
    if (at.panel === AFTER) turn(grids, at)
    else selection.pick(fieldsOf(grids.head, at), 0)
    hover(grids, at, x, y)
  }
  stage.ondblclick = (event) => {
    if (pointed(event).at?.panel === BEFORE) openWhy(grids.head.why, viewOf(grids).chosen)
  }
  stage.onkeydown = (event) => {
    if (alone(event) && press(grids, event)) event.preventDefault()
  }
  stage.onblur = () => tip.hide()
}

/**
 * Whether the key is one of this picture's.
 * @type {(grids: Grids, event: KeyboardEvent) => boolean}
 */
function press(grids, { key, shiftKey }) {
  const { head, rows, columns, announce, tip } = grids
  const { r, c } = viewOf(grids).chosen
  const to = cellBeside(key, { r, c }, rows, columns, { far: shiftKey ? 10 : 1 })
  if (to) {
    selection.pick(fieldsOf(head, to), 150)
    announce(sentences(grids, { panel: AFTER, ...to }).join(", "))
    grids.hovered = null
    tellLast(grids, to)
  } else if (key === "Enter" || key === " ") {
    if (r === null || c === null) return false
    turn(grids, { r, c })
    tellLast(grids, { r, c })
  } else {
    if (key === "Escape") tip.hide()
    return false
  }
  return true
}

/** @type {(grids: Grids, payload: Payload) => void} */
function update(grids, { header, arrays }) {
  const { head, sent, sentAt, cells } = grids
  const behind = sent !== "" && header.token !== sent && performance.now() - sentAt < UNHEARD
  const other = head && (head.letter !== header.letter || head.name !== header.name)
  if (other) grids.clicked = null
  const [rows, columns] = arrays.padding.shape
  Object.assign(grids, { head: header, arrays, rows, columns })
  understand(grids, behind && !other ? cells : header.cells)
  grids.stage.setAttribute("aria-label", `${header.label}. Arrow keys choose a cell, Enter opens or closes it.`)
}

/** @param {Grids} grids */
function draw(grids) {
  const { stage, base } = grids
  const place = placed(grids)
  grids.place = place
  stage.style.height = `${place.height}px`
  stage.classList.toggle("stacked", place.isStacked)
  paintAll(grids, prepare(base, place.width, place.height))
  paintOver(grids)
  stage.dataset.painted = String(performance.now())
}
