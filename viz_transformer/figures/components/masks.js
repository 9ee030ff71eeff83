import { cellBeside, cellIn, columnLabels, wholeArea } from "./parts/cells.js"
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
import { hover, plot, tell } from "./parts/plot.js"
import { roomOf } from "./parts/printing.js"
import { cellWith, fieldsOf, placeOn, selection } from "./parts/selection.js"
import { tokenWords } from "./parts/sentences.js"
import { pointIn, prepare, sharpness, tallness } from "./parts/stage.js"
import { mono, sans, wrapped } from "./parts/text.js"
import { masksOf, turned, wordOf } from "./parts/toggled_cells.js"

/** @import { Cell } from "./parts/cells.js" */
/** @import { Paper } from "./parts/colours.js" */
/** @import { MasksPlace, MasksView } from "./parts/masks_painting.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Masks } from "./parts/toggled_cells.js" */
/** @import { Context, MasksHeader, Numbers, Payload, Token } from "./parts/types.js" */

// Masks side by side: small what padding leaves open and what causality leaves open, large both together before and after cells
// of it were turned round, which a click on the last one does. Arrays: padding, causal [Q, K], 1 = open. `cells` are words as
// "d3.5" and "d3" of all kinds; `letter` is this kind's. Python hears of all cells that are changed, with the token of the last click.

/**
 * `masks` says what is open in each of the four, and why. `clicked` is the cell that was turned last, until Python has
 * chosen it, with what was chosen then.
 * @typedef {Cell & {panel: number}} MaskCell
 * @typedef {{head: MasksHeader, arrays: Record<string, Numbers>, rows: number, columns: number,
 *   cells: Set<string>, masks: Masks, clicked: ?(Cell & {from: {r: ?number, c: ?number}}), sent: string, sentAt: number}} State
 * @typedef {Plot<MasksPlace, MaskCell> & State} Grids
 */

const STACKED = 440 // pixels: in less room they are
const UNHEARD = 3000 // milliseconds: what Python says before has not heard of the last click

/** @type {Picture<Grids, MasksView, MaskCell>} */
export const masksPicture = {
  name: "masks",
  begin(grids, menu) {
    grids.stage.classList.add("edits")
    grids.foot.append(menu)
    Object.assign(grids, { cells: new Set(), clicked: null, sent: "", sentAt: -Infinity })
  },
  read,
  again: true, // the same cells as before say that what was turned since was not heard
  head: ({ head }) => head,
  layout: placed,
  settle(grids) {
    if (!isWaiting(grids)) grids.clicked = null
    grids.stage.classList.toggle("stacked", grids.place.isStacked)
  },
  view: (grids) => {
    const { head, masks, rows, columns, place, clicked } = grids
    return { head, masks, rows, columns, place, chosen: (isWaiting(grids) && clicked) || chosenIn(head) }
  },
  paint: ({ root, base, place }, paper, view) => paintAll(prepare(base, place.width, place.height), paper, view, root),
  paintOver(context, paper, view, cell) {
    paintMaskChoice(context, paper, view)
    if (cell) paintMaskCrossings(context, paper, view, cell)
  },
  save(context, paper, { root }, view) {
    paintAll(context, paper, view, root)
    paintMaskChoice(context, paper, view)
  },
  hit({ place, rows, columns }, x, y) {
    for (const panel of PANELS) {
      const cell = cellIn(x, y, place.masks[panel], wholeArea(rows, columns))
      if (cell) return { panel, ...cell }
    }
    return null
  },
  describe({ head, masks }, { panel, r, c }) {
    const state = `${head.panels[panel].title}: ${masks.open[panel](r, c) ? "open" : "closed"}`
    return [tokenWords(head.rows, r), tokenWords(head.columns, c), panel === AFTER ? masks.why(r, c) : state]
  },
  at({ place }, { panel, r, c }) {
    const { cell, rowHeight } = place.masks[panel]
    return { x: maskX(place, panel, c) + cell / 2, y: maskY(place, panel, r) + rowHeight / 2 }
  },
  show,
  keys({ chosen, rows, columns }, { key, shiftKey }) {
    const to = cellBeside(key, chosen, rows, columns, { far: shiftKey ? 10 : 1 })
    return to && { panel: AFTER, ...to }
  },
  fields: ({ head }, cell) => fieldsOf(head, cell),
  find({ head }, fields) {
    const cell = cellWith(head, fields)
    return cell && { panel: AFTER, ...cell }
  },
  choose: ({ head }, cell, settle) => selection.pick(fieldsOf(head, cell), settle),
  click(grids, cell, at) {
    if (!cell) return
    if (cell.panel === AFTER) turn(grids, cell)
    else masksPicture.choose(grids, cell, 0)
    hover(grids, cell, at)
  },
  press(grids, { key }) {
    const { r, c } = masksPicture.view(grids).chosen
    if ((key !== "Enter" && key !== " ") || r === null || c === null) return false
    turn(grids, { r, c })
    tell(grids, { panel: AFTER, r, c })
    return true
  },
  listen(grids) {
    const { stage } = grids
    stage.ondblclick = (event) => {
      const { x, y } = pointIn(stage, event)
      const view = masksPicture.view(grids)
      if (masksPicture.hit(view, x, y)?.panel === BEFORE) openWhy(grids.head.why, view.chosen)
    }
  },
}

export default (/** @type {Component} */ component) => plot(component, masksPicture)

/** @type {(head: MasksHeader) => {r: ?number, c: ?number}} */
const chosenIn = ({ rows, columns }) => ({ r: placeOn(rows), c: placeOn(columns) })

/** Whether Python has not chosen yet what was turned last. @param {Grids} grids */
function isWaiting({ clicked, head }) {
  const now = chosenIn(head)
  return clicked !== null && now.r === clicked.from.r && now.c === clicked.from.c
}

/** @type {(grids: Grids, words: Iterable<string>) => void} */
function understand(grids, words) {
  const { head, columns, arrays } = grids
  grids.cells = new Set(words)
  grids.masks = masksOf(arrays.padding.values, arrays.causal.values, columns, head.letter, words, head.reasons)
}

/** @type {(grids: Grids, room: Room) => MasksPlace} */
function placed({ root, head, rows, columns }, { z, width, ruler: context }) {
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

/** @type {(context: Context, paper: Paper, view: MasksView, root: HTMLElement) => void} */
function paintAll(context, paper, view, root) {
  for (const panel of PANELS) paintMask(context, paper, view, panel, sharpness(root))
  paintMaskTokens(context, paper, view)
  paintMaskTitles(context, paper, view, Boolean(roomOf(root)))
}

// ---- pointing, turning round

/**
 * The tooltip of a cell, over its own mask or beside all of them: the one next to it stays in view.
 * @type {(grids: Grids, lines: string[], cell: MaskCell, x: number, y: number) => void}
 */
function show({ root, tip, place, columns }, lines, { panel }, x, y) {
  tip.show(lines, x, y)
  const box = /** @type {HTMLElement} */ (root.querySelector(":scope > .tooltip"))
  const [from, to] = LARGE.includes(panel)
    ? [maskX(place, panel, 0), maskX(place, panel, columns)]
    : [0, place.masks[BEFORE].left - 8]
  box.style.left = `${Math.max(from, Math.min(x + 16, to - box.offsetWidth))}px`
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
  grids.send("cells", { token: grids.sent, cells: words, fields: fieldsOf(head, { r, c }) })
  announce(masksPicture.describe(masksPicture.view(grids), { panel: AFTER, r, c }).join(", "))
  grids.draw()
}

/** @type {(grids: Grids, payload: Payload) => void} */
function read(grids, { header, arrays }) {
  const { head, sent, sentAt, cells } = grids
  const behind = sent !== "" && header.token !== sent && performance.now() - sentAt < UNHEARD
  const other = head && (head.letter !== header.letter || head.name !== header.name)
  if (other) grids.clicked = null
  const [rows, columns] = arrays.padding.shape
  Object.assign(grids, { head: header, arrays, rows, columns })
  understand(grids, behind && !other ? cells : header.cells)
  grids.stage.setAttribute("aria-label", `${header.label}. Arrow keys choose a cell, Enter opens or closes it.`)
}
