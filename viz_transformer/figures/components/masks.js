import { cellBeside, cellIn, columnLabels, hasLabel, rowLabels, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { hatch, ring } from "./parts/marks.js"
import { fieldOf, placeOn, positionAt, selection } from "./parts/selection.js"
import { mount, pointIn, prepare, rootIn, tallness, zoom } from "./parts/stage.js"
import { isolated, mono, quoted, sans, shorten } from "./parts/text.js"
import { masksOf, turned, wordOf } from "./parts/turned.js"

/** @import { MasksHeader } from "./parts/types.js" */

// Masks side by side: what padding leaves open, what causality leaves open, and both together with the cells that were
// turned round, which a click on it does. Header: {label, caption, name, rows, columns, kind, letter, cells, most, token,
// height, panels: [{title, note}]}; arrays: padding, causal [Q, K], 1 = open. `cells` are words as "d3.5" and "d3" of
// all kinds; `letter` is this kind's. Python hears of all cells that are changed, with the token of the last click.

const HATCH = 5
const SIGNS = ["and", "="]

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
  let masks // what is open in each of the three, and why
  let hovered = null
  let sent = ""
  let sentAt = -Infinity

  foot.append(
    exports(root, {
      draw: (context) => paintAll(context, true),
      size: () => ({ width: root.clientWidth, height: tallness(root, head.height) }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )

  // ---- what is open

  function understand(words) {
    cells = new Set(words)
    masks = masksOf(padding, causal, columns, head.letter, words)
  }

  // ---- where things are

  const chosen = () => ({ r: placeOn(head.rows), c: placeOn(head.columns) })

  function measure(context) {
    const z = zoom(root)
    const width = root.clientWidth
    const height = tallness(root, head.height)
    context.font = mono(14 * z)
    const label = (token) => context.measureText(token.note ?? token.text).width
    const most = 11 * context.measureText("m").width
    const widest = (tokens) => tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
    const left = 20 + Math.min(most, Math.max(widest(head.rows.tokens), 44 * z))
    const gap = 56 * z
    const room = (width - left - 2 * gap - 4) / 3
    const cell = Math.min(room / columns, 40 * z)
    const along = columnLabels(cell, widest(head.columns.tokens), most, z)
    const top = 50 * z + along.tall
    const bottom = 44 * z
    const rowHeight = Math.min((height - top - bottom) / rows, 32 * z)
    return {
      z,
      width,
      height,
      left,
      gap,
      room,
      cell,
      ...along,
      top,
      rowHeight,
      w: cell * columns,
      h: rowHeight * rows,
    }
  }
  const xOf = (panel, c) => place.left + panel * (place.room + place.gap) + c * place.cell
  const yOf = (r) => place.top + r * place.rowHeight
  function cellAt(x, y) {
    for (let panel = 0; panel < 3; panel++) {
      const cell = cellIn(x, y, { ...place, left: xOf(panel, 0) }, wholeArea(rows, columns))
      if (cell) return { panel, ...cell }
    }
    return null
  }

  // ---- drawing

  /** The pattern of a box; it begins where x + y is a multiple of its step, in all boxes alike. */
  function hatched(context, line, x, y, w, h) {
    context.strokeStyle = line
    hatch(context, x, y, w, h, HATCH, HATCH - ((x + y) % HATCH))
  }

  function cellsOf(context, paper, panel) {
    const gap = Math.min(place.cell, place.rowHeight) >= 5 ? 1 : 0
    const fill = paper.scale(head.kind).css(0.5)
    const [surface, line, text, page] = ["surface", "line", "text", "page"].map(paper.one)
    const ratio = window.devicePixelRatio || 1
    const snap = (value) => Math.round(value * ratio) / ratio // no seams where cells are smaller than pixels
    const [left, top] = [snap(xOf(panel, 0)), snap(yOf(0))]
    context.fillStyle = surface
    context.fillRect(left, top, snap(xOf(panel, columns)) - left - gap, snap(yOf(rows)) - top - gap)
    hatched(context, line, left, top, snap(xOf(panel, columns)) - left - gap, snap(yOf(rows)) - top - gap)
    for (let r = 0; r < rows; r++)
      for (let c = 0; c < columns; c++) {
        const [x, y] = [snap(xOf(panel, c)), snap(yOf(r))]
        const [w, h] = [snap(xOf(panel, c + 1)) - x - gap, snap(yOf(r + 1)) - y - gap]
        const isOpen = masks.open[panel](r, c)
        context.fillStyle = fill
        if (isOpen) context.fillRect(x, y, w, h)
        if (gap) {
          context.fillStyle = page
          context.fillRect(x + w, y, gap, h + gap)
          context.fillRect(x, y + h, w + gap, gap)
        }
        if (panel === 2 && masks.changed(r, c)) {
          const side = Math.max(3, Math.min(w, h) * 0.36)
          context.fillStyle = text
          context.fillRect(x + (w - side) / 2 - 1, y + (h - side) / 2 - 1, side + 2, side + 2)
          context.fillStyle = isOpen ? fill : page
          context.fillRect(x + (w - side) / 2 + 1, y + (h - side) / 2 + 1, side - 2, side - 2)
        }
      }
    context.lineWidth = 1
    context.strokeStyle = line
    context.strokeRect(
      left - 0.5,
      top - 0.5,
      snap(xOf(panel, columns)) - left + 1 - gap,
      snap(yOf(rows)) - top + 1 - gap,
    )
  }

  const inkOf = (paper, axis, token) => paper.one(token.special ? "muted" : axis.ink)

  function labels(context, paper, bold) {
    const { z, left, top, cell, rowHeight, upright, size, tall } = place
    const { size: rowSize, every } = rowLabels(rowHeight, z)
    context.textBaseline = "middle"
    context.textAlign = "right"
    for (let r = 0; r < rows; r++) {
      if (!hasLabel(r, every, bold.r)) continue
      const token = head.rows.tokens[r]
      context.font = mono(rowSize, r === bold.r ? 600 : 400)
      context.fillStyle = inkOf(paper, head.rows, token)
      context.fillText(
        isolated(shorten(context, token.note ?? token.text, left - 12)),
        left - 8,
        yOf(r) + rowHeight / 2,
      )
    }
    for (let panel = 0; panel < 3; panel++)
      for (let c = 0; c < columns; c++) {
        if (!hasLabel(c, place.every, bold.c)) continue
        const token = head.columns.tokens[c]
        context.font = mono(size, c === bold.c ? 600 : 400)
        context.fillStyle = inkOf(paper, head.columns, token)
        const x = xOf(panel, c) + cell / 2
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
    const { z, top, tall, room, gap, height } = place
    head.panels.forEach(({ title, note }, panel) => {
      const x = xOf(panel, 0)
      context.textBaseline = "alphabetic"
      context.textAlign = "left"
      context.font = sans(16 * z, 600)
      context.fillStyle = paper.one("text")
      context.fillText(shorten(context, title, room + gap - 8), x, 16 * z)
      context.font = sans(13 * z)
      context.fillStyle = paper.one("muted")
      context.fillText(shorten(context, note, room + gap - 8), x, top - tall - 14 * z)
      if (panel === 2) return
      context.font = sans(15 * z, 600)
      context.textAlign = "center"
      context.textBaseline = "middle"
      context.fillText(
        SIGNS[panel],
        xOf(panel, columns) + (xOf(panel + 1, 0) - xOf(panel, columns)) / 2,
        top + place.h / 2,
      )
    })
    context.textBaseline = "middle"
    context.textAlign = "left"
    const y = height - 16 * z
    let x = place.left
    const key = (draw, text) => {
      draw(x, y - 6 * z, 14 * z, 12 * z)
      context.font = sans(13 * z)
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
      hatched(context, paper.one("line"), bx, by, w, h)
    }, "closed")
    key((bx, by, w, h) => {
      context.strokeStyle = paper.one("text")
      context.lineWidth = 2
      context.strokeRect(bx + w / 2 - 4 * z, by + h / 2 - 4 * z, 8 * z, 8 * z)
    }, "changed by you: a click on the right mask opens or closes a cell")
  }

  function marks(context, paper) {
    const { r, c } = chosen()
    for (let panel = 0; panel < 3; panel++) {
      if (r !== null && c !== null && panel === 2)
        ring(context, paper, xOf(panel, c), yOf(r), Math.max(4, place.cell), Math.max(4, place.rowHeight))
      if (c !== null) {
        context.fillStyle = paper.one("text")
        context.fillRect(xOf(panel, c) + 1, place.top - 4, Math.max(3, place.cell - 3), 2)
      }
      if (r !== null) {
        context.fillStyle = paper.one("text")
        context.fillRect(xOf(panel, 0) - 5, yOf(r) + 1, 2, Math.max(3, place.rowHeight - 3))
      }
    }
  }

  function paintAll(context, exported) {
    const paper = colours(root)
    for (let panel = 0; panel < 3; panel++) cellsOf(context, paper, panel)
    labels(context, paper, chosen())
    frame(context, paper)
    if (exported) marks(context, paper)
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = colours(root)
    marks(context, paper)
    if (!hovered) return
    context.lineWidth = 1
    context.strokeStyle = paper.one("muted")
    for (let panel = 0; panel < 3; panel++) {
      context.strokeRect(xOf(panel, 0) + 0.5, yOf(hovered.r) + 0.5, place.w - 1, Math.max(2, place.rowHeight - 1))
      context.strokeRect(xOf(panel, hovered.c) + 0.5, place.top + 0.5, Math.max(2, place.cell - 1), place.h - 1)
    }
  }

  // ---- hovering, choosing, turning round

  function sentences(panel, r, c) {
    const { rows: down, columns: along } = head
    const state =
      panel === 2
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
  function hover(at, x, y) {
    hovered = at
    if (at) tip.show(sentences(at.panel, at.r, at.c), x, y)
    else tip.hide()
    paintOver()
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
    made.tell({ token: sent, cells: words, fields: { ...fieldOf(head.rows, r), ...fieldOf(head.columns, c) } })
    announce(sentences(2, r, c).join(", "))
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
    if (at.panel === 2) turn(at.r, at.c)
    else selection.pick({ ...fieldOf(head.rows, at.r), ...fieldOf(head.columns, at.c) }, 0)
    hover(at, x, y)
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const { r, c } = chosen()
    const to = cellBeside(event.key, { r, c }, rows, columns, { far: event.shiftKey ? 10 : 1 })
    if (to) {
      selection.pick({ ...fieldOf(head.rows, to.r), ...fieldOf(head.columns, to.c) }, 150)
      announce(sentences(2, to.r, to.c).join(", "))
      hovered = null
      tip.show(sentences(2, to.r, to.c), xOf(2, to.c) + place.cell / 2, yOf(to.r) + place.rowHeight / 2)
    } else if (event.key === "Enter" || event.key === " ") {
      if (r === null || c === null) return
      turn(r, c)
      tip.show(sentences(2, r, c), xOf(2, c) + place.cell / 2, yOf(r) + place.rowHeight / 2)
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
    update({ header, arrays }) {
      const behind = sent !== "" && header.token !== sent && performance.now() - sentAt < 3000
      const other = head && (head.letter !== header.letter || head.name !== header.name)
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
      paintAll(prepare(base, place.width, place.height), false)
      paintOver()
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
