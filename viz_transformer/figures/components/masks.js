import { cellBeside, cellIn, columnLabels, hasLabel, rowLabels, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { openWhy } from "./parts/links.js"
import { hatch, ring } from "./parts/marks.js"
import { masksBeside, masksStacked, widthsBeside, widthsStacked } from "./parts/masks_places.js"
import { roomOf } from "./parts/printing.js"
import { fieldOf, placeIn, placeOn, positionAt, selection } from "./parts/selection.js"
import { mount, pointIn, prepare, rootIn, sharpness, tallness, zoom } from "./parts/stage.js"
import { isolated, mono, quoted, sans, shorten, wrapped } from "./parts/text.js"
import { masksOf, turned, wordOf } from "./parts/toggled_cells.js"

/** @import { MasksHeader } from "./parts/types.js" */

// Masks side by side: small what padding leaves open and what causality leaves open, large both together before and after
// cells of it were turned round, which a click on the last one does. Header: {label, caption, name, rows, columns, kind, letter, cells, most, token,
// height, reasons, panels: [{title, note}]}; arrays: padding, causal [Q, K], 1 = open. `cells` are words as "d3.5" and "d3" of
// all kinds; `letter` is this kind's. Python hears of all cells that are changed, with the token of the last click.

const HATCH = 5
const CLOSED = 0.7 // of the hatch's ink: closed cells are seen in both themes, and open ones first
const SIGNS = ["and", "=", "→"] // behind each mask
const [BEFORE, AFTER] = [2, 3]
const CHANGED = "changed by you: a click on the right mask opens or closes a cell"
const DOWN = ["and", "=", "↓"] // where they are below each other
const STACKED = 440 // pixels: in less room they are

export default (component) => {
  const removed = mount(component, "masks", makeMasks)
  rootIn(component.parentElement, "masks").vt.made.tell = (value) => component.setTriggerValue("cells", value)
  return removed
}

function makeMasks(root) {
  const stage = element("div", "stage edits")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const foot = element("div", "foot")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  root.append(stage, foot)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {MasksHeader} */
  let head
  let padding, causal, rows, columns, place
  let cells = new Set()
  let masks // what is open in each of the four, and why
  let clicked = null // the cell that was turned last, until Python has chosen it; from: what was chosen then
  let hovered = null
  let elsewhere = null // the cell that the pointer is over in the masks beside these
  let sent = ""
  let sentAt = -Infinity

  foot.append(
    exports(root, {
      draw: (context) => paintAll(context, true),
      size: () => ({ width: place.width, height: place.height }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )

  // ---- what is open

  function understand(words) {
    cells = new Set(words)
    masks = masksOf(padding, causal, columns, head.letter, words, head.reasons)
  }

  // ---- where things are

  function chosen() {
    const now = { r: placeOn(head.rows), c: placeOn(head.columns) }
    if (clicked && (now.r !== clicked.from.r || now.c !== clicked.from.c)) clicked = null
    return clicked ?? now
  }

  function measure(context) {
    const z = zoom(root)
    const width = root.clientWidth
    context.font = mono(14 * z)
    const label = (token) => context.measureText(token.note ?? token.text).width
    const most = 11 * context.measureText("m").width
    const widest = (tokens) => tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
    const names = 12 + Math.min(most, Math.max(widest(head.rows.tokens), 44 * z)) // of the rows, left of the large ones
    const given = { width, height: tallness(root, head.height), rows, columns, names, z }
    const isStacked = width < STACKED * z && !roomOf(root)
    const { small, room, cell } = (isStacked ? widthsStacked : widthsBeside)(given)
    const along = columnLabels(cell, widest(head.columns.tokens), most, z)
    context.font = sans(13 * z)
    const notes = head.panels.map(({ note }, panel) => wrapped(context, note, LARGE.includes(panel) ? room : small))
    const lines = [SMALL, LARGE].map((panels) => Math.max(...panels.map((panel) => notes[panel].length)))
    const placed = (isStacked ? masksStacked : masksBeside)(given, { lines, tall: along.tall })
    return { z, width, names, notes, isStacked, ...along, ...placed }
  }
  const PANELS = [0, 1, BEFORE, AFTER]
  const [SMALL, LARGE] = [
    [0, 1],
    [BEFORE, AFTER],
  ]
  const xOf = (panel, c) => place.masks[panel].left + c * place.masks[panel].cell
  const yOf = (panel, r) => place.masks[panel].top + r * place.masks[panel].rowHeight
  function cellAt(x, y) {
    for (const panel of PANELS) {
      const cell = cellIn(x, y, place.masks[panel], wholeArea(rows, columns))
      if (cell) return { panel, ...cell }
    }
    return null
  }

  // ---- drawing

  /** The pattern of a box; it begins where x + y is a multiple of its step, in all boxes alike. */
  function hatched(context, line, x, y, w, h) {
    context.strokeStyle = line
    context.globalAlpha = CLOSED
    hatch(context, x, y, w, h, HATCH, HATCH - ((x + y) % HATCH))
    context.globalAlpha = 1
  }

  function cellsOf(context, paper, panel) {
    const { cell, rowHeight } = place.masks[panel]
    const gap = Math.min(cell, rowHeight) >= 5 ? 1 : 0
    const fill = paper.scale(head.kind).css(0.5)
    const [surface, line, text, page, muted] = ["surface", "line", "text", "page", "muted"].map(paper.one)
    const ratio = sharpness(root)
    const snap = (value) => Math.round(value * ratio) / ratio // no seams where cells are smaller than pixels
    const [left, top] = [snap(xOf(panel, 0)), snap(yOf(panel, 0))]
    const [wide, high] = [snap(xOf(panel, columns)) - left, snap(yOf(panel, rows)) - top]
    context.fillStyle = surface
    context.fillRect(left, top, wide - gap, high - gap)
    hatched(context, muted, left, top, wide - gap, high - gap)
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) {
        const [x, y] = [snap(xOf(panel, c)), snap(yOf(panel, r))]
        const [w, h] = [snap(xOf(panel, c + 1)) - x - gap, snap(yOf(panel, r + 1)) - y - gap]
        const isOpen = masks.open[panel](r, c)
        context.fillStyle = fill
        if (isOpen) context.fillRect(x, y, w, h)
        if (gap) {
          context.fillStyle = page
          context.fillRect(x + w, y, gap, h + gap)
          context.fillRect(x, y + h, w + gap, gap)
        }
        if (panel === AFTER && masks.changed(r, c)) {
          const side = Math.max(3, Math.min(w, h) * 0.36)
          context.fillStyle = text
          context.fillRect(x + (w - side) / 2 - 1, y + (h - side) / 2 - 1, side + 2, side + 2)
          context.fillStyle = isOpen ? fill : page
          context.fillRect(x + (w - side) / 2 + 1, y + (h - side) / 2 + 1, side - 2, side - 2)
        }
      }
    context.lineWidth = 1
    context.strokeStyle = line
    context.strokeRect(left - 0.5, top - 0.5, wide + 1 - gap, high + 1 - gap)
  }

  const inkOf = (paper, axis, token) => paper.one(token.special ? "muted" : axis.ink)

  function labels(context, paper, bold) {
    const { z, names, upright, size, tall } = place
    const { left, cell, rowHeight } = place.masks[2]
    const { size: rowSize, every } = rowLabels(rowHeight, z)
    context.textBaseline = "middle"
    context.textAlign = "right"
    for (const panel of place.isStacked ? LARGE : [BEFORE])
      for (let r = 0; r < rows; r++) {
        if (!hasLabel(r, every, bold.r)) continue
        const token = head.rows.tokens[r]
        context.font = mono(rowSize, r === bold.r ? 600 : 400)
        context.fillStyle = inkOf(paper, head.rows, token)
        const name = isolated(shorten(context, token.note ?? token.text, names - 12))
        context.fillText(name, left - 8, yOf(panel, r) + rowHeight / 2)
      }
    for (const panel of LARGE)
      for (let c = 0; c < columns; c++) {
        if (!hasLabel(c, place.every, bold.c)) continue
        const token = head.columns.tokens[c]
        context.font = mono(size, c === bold.c ? 600 : 400)
        context.fillStyle = inkOf(paper, head.columns, token)
        const x = xOf(panel, c) + cell / 2
        const { top } = place.masks[panel]
        if (upright) {
          context.save()
          context.translate(x, top - 6)
          context.rotate(-Math.PI / 2)
          context.textAlign = "left"
          context.fillText(isolated(shorten(context, token.note ?? token.text, tall - 4)), 0, 0)
          context.restore()
        } else {
          context.textAlign = "center"
          context.fillText(isolated(shorten(context, token.note ?? token.text, cell)), x, top - 11 * z)
        }
      }
  }

  function frame(context, paper) {
    const { z, width, height } = place
    head.panels.forEach(({ title }, panel) => {
      const { left: x, head: up, room } = place.masks[panel]
      context.textBaseline = "alphabetic"
      context.textAlign = "left"
      context.font = sans(16 * z, 600)
      context.fillStyle = paper.one("text")
      context.fillText(shorten(context, title, room), x, up + 16 * z)
      context.font = sans(13 * z)
      context.fillStyle = paper.one("muted")
      for (const [n, line] of place.notes[panel].entries()) context.fillText(line, x, up + (34 + 17 * n) * z)
      if (panel === AFTER) return
      context.font = sans(15 * z, 600)
      context.textAlign = "center"
      context.textBaseline = "middle"
      context.fillText(place.isStacked ? DOWN[panel] : SIGNS[panel], place.signs[panel].x, place.signs[panel].y)
    })
    context.textBaseline = "middle"
    context.textAlign = "left"
    let y = height - (place.isStacked ? 38 : 16) * z
    let x = 8
    const key = (draw, text) => {
      context.font = sans(13 * z)
      if (x > 8 && x + 20 * z + context.measureText(text).width > width) [x, y] = [8, y + 22 * z]
      draw(x, y - 6 * z, 14 * z, 12 * z)
      context.fillStyle = paper.one("muted")
      context.fillText(text, x + 20 * z, y)
      x += 36 * z + context.measureText(text).width
    }
    const box = (colour) => (bx, by, w, h) => {
      context.fillStyle = colour
      context.fillRect(bx, by, w, h)
    }
    key(box(paper.scale(head.kind).css(0.5)), "open: may attend")
    key((bx, by, w, h) => {
      box(paper.one("surface"))(bx, by, w, h)
      hatched(context, paper.one("muted"), bx, by, w, h)
    }, "closed")
    key(
      (bx, by, w, h) => {
        context.strokeStyle = paper.one("text")
        context.lineWidth = 2
        context.strokeRect(bx + w / 2 - 4 * z, by + h / 2 - 4 * z, 8 * z, 8 * z)
      },
      width > 720 * z && !roomOf(root) ? CHANGED : "changed by a click", // on paper nothing is clicked
    )
  }

  function marks(context, paper) {
    const { r, c } = chosen()
    for (const panel of PANELS) {
      const { cell, rowHeight, top } = place.masks[panel]
      if (r !== null && c !== null && LARGE.includes(panel))
        ring(context, paper, xOf(panel, c), yOf(panel, r), Math.max(4, cell), Math.max(4, rowHeight))
      context.fillStyle = paper.one("text")
      if (c !== null) context.fillRect(xOf(panel, c) + 1, top - 4, Math.max(3, cell - 3), 2)
      if (r !== null) context.fillRect(xOf(panel, 0) - 5, yOf(panel, r) + 1, 2, Math.max(3, rowHeight - 3))
    }
  }

  function paintAll(context, exported) {
    const paper = colours(root)
    for (const panel of PANELS) cellsOf(context, paper, panel)
    labels(context, paper, chosen())
    frame(context, paper)
    if (exported) marks(context, paper)
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = colours(root)
    marks(context, paper)
    const at = hovered ?? elsewhere
    if (!at) return
    context.lineWidth = 1
    context.strokeStyle = paper.one("muted")
    for (const panel of PANELS) {
      const { left, top, cell, rowHeight } = place.masks[panel]
      context.strokeRect(left + 0.5, yOf(panel, at.r) + 0.5, cell * columns - 1, Math.max(2, rowHeight - 1))
      context.strokeRect(xOf(panel, at.c) + 0.5, top + 0.5, Math.max(2, cell - 1), rowHeight * rows - 1)
    }
  }

  // ---- hovering, choosing, turning round

  function sentences(panel, r, c) {
    const { rows: down, columns: along } = head
    const state =
      panel === AFTER
        ? masks.why(r, c)
        : masks.open[panel](r, c)
          ? `${head.panels[panel].title}: open`
          : `${head.panels[panel].title}: closed`
    return [
      `${down.role} ${positionAt(down, r)}: ${quoted(down.tokens[r])}`,
      `${along.role} ${positionAt(along, c)}: ${quoted(along.tokens[c])}`,
      state,
    ]
  }
  /** The tooltip of a cell, over its own mask or beside all of them: the one next to it stays in view. */
  function tell({ panel, r, c }, x, y) {
    tip.show(sentences(panel, r, c), x, y)
    const box = root.querySelector(":scope > .tooltip")
    const [from, to] = LARGE.includes(panel) ? [xOf(panel, 0), xOf(panel, columns)] : [0, place.masks[2].left - 8]
    box.style.left = `${Math.max(from, Math.min(x + 16, to - box.offsetWidth))}px`
  }
  function hover(at, x, y) {
    if (at?.r !== hovered?.r || at?.c !== hovered?.c)
      selection.points(made, at && { ...fieldOf(head.rows, at.r), ...fieldOf(head.columns, at.c) })
    hovered = at
    if (at) tell(at, x, y)
    else tip.hide()
    paintOver()
  }

  /** The tooltip of a cell of the last mask, for the keyboard. */
  function tellAt(r, c) {
    const { cell, rowHeight } = place.masks[AFTER]
    tell({ panel: AFTER, r, c }, xOf(AFTER, c) + cell / 2, yOf(AFTER, r) + rowHeight / 2)
  }

  function turn(r, c) {
    const words = turned(cells, wordOf(head.letter, r, c), head.most)
    if (words === null) {
      announce(`At most ${head.most} cells can be changed: undo some first.`)
      return
    }
    understand(words)
    sent = Math.random().toString(36).slice(2)
    sentAt = performance.now()
    clicked = { r, c, from: { r: placeOn(head.rows), c: placeOn(head.columns) } }
    made.tell({ token: sent, cells: words, fields: { ...fieldOf(head.rows, r), ...fieldOf(head.columns, c) } })
    announce(sentences(AFTER, r, c).join(", "))
    made.draw()
  }

  stage.onpointermove = (event) => {
    const { x, y } = pointIn(stage, event)
    hover(cellAt(x, y), x, y)
  }
  stage.onpointerleave = () => hover(null)
  stage.onclick = (event) => {
    const { x, y } = pointIn(stage, event)
    const at = cellAt(x, y)
    if (!at) return
    if (at.panel === AFTER) turn(at.r, at.c)
    else selection.pick({ ...fieldOf(head.rows, at.r), ...fieldOf(head.columns, at.c) }, 0)
    hover(at, x, y)
  }
  stage.ondblclick = (event) => {
    const { x, y } = pointIn(stage, event)
    if (cellAt(x, y)?.panel === BEFORE) openWhy(head.why, chosen())
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { r, c } = chosen()
    const to = cellBeside(event.key, { r, c }, rows, columns, { far: event.shiftKey ? 10 : 1 })
    if (to) {
      selection.pick({ ...fieldOf(head.rows, to.r), ...fieldOf(head.columns, to.c) }, 150)
      announce(sentences(AFTER, to.r, to.c).join(", "))
      hovered = null
      tellAt(to.r, to.c)
    } else if (event.key === "Enter" || event.key === " ") {
      if (r === null || c === null) return
      turn(r, c)
      tellAt(r, c)
    } else {
      if (event.key === "Escape") tip.hide()
      return
    }
    event.preventDefault()
  }
  stage.onblur = () => tip.hide()

  const made = {
    /** @type {(changed: object) => void} */
    tell: () => {},
    again: true, // the same cells as before say that what was turned since was not heard
    update({ header, arrays }) {
      const behind = sent !== "" && header.token !== sent && performance.now() - sentAt < 3000
      const other = head && (head.letter !== header.letter || head.name !== header.name)
      if (other) clicked = null
      head = header
      padding = arrays.padding.values
      causal = arrays.causal.values
      ;[rows, columns] = arrays.padding.shape
      understand(behind && !other ? [...cells] : header.cells)
      stage.setAttribute("aria-label", `${head.label}. Arrow keys choose a cell, Enter opens or closes it.`)
    },
    draw() {
      place = measure(base.getContext("2d"))
      stage.style.height = `${place.height}px`
      stage.classList.toggle("stacked", place.isStacked)
      paintAll(prepare(base, place.width, place.height), false)
      paintOver()
      stage.dataset.painted = String(performance.now())
    },
    remove: () => deaf(),
  }
  const deaf = selection.onPoint(made, (fields) => {
    const [r, c] = fields && head ? [placeIn(head.rows, fields), placeIn(head.columns, fields)] : [null, null]
    const at = r !== null && c !== null ? { r, c } : null
    if (!at && !elsewhere) return
    elsewhere = at
    if (place) paintOver()
  })
  return made
}
