import { cellBeside, cellIn, columnLabels, rowLabels, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { dotsNote, ramp } from "./parts/legend.js"
import { nearestPoint, placeLosses } from "./parts/losses.js"
import { HATCH_EVERY, hatch, paintCell, ring } from "./parts/marks.js"
import { notFinite, number, share, valued } from "./parts/numbers.js"
import { makePlayer } from "./parts/player.js"
import { fieldOf, placeOn, positionAt, selection } from "./parts/selection.js"
import { magnified, mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { isolated, mono, quoted, sans, shorten } from "./parts/text.js"

/** @import { SnapshotsHeader } from "./parts/types.js" */

// One sentence at every snapshot of a training. Header: {snapshots: {step, text, complete, right}, kinds: {kind, name,
// rows, columns, writes}, caption, name}; arrays: losses [S], maps_i [S, L, H, Q, K] and mask_i [Q, K] of the i-th kind.
// The snapshot is the selection's field `model_snapshot`, a training step; kind, layer and heads are those of the page.

const SETTLE = 400
const PLAY = 450
const CHART = 168

export default (component) => mount(component, "snapshots", makeSnapshots)

function makeSnapshots(root) {
  const stepText = element("span", "step")
  const answer = element("div", "answer")
  const parts = element("div", "parts")
  const [left, right] = [element("div", "left"), element("div", "right")]
  const picks = element("div", "picks")
  const stage = element("div", "stage")
  const canvas = element("canvas")
  const chart = element("canvas", "chart")
  const list = element("div", "list")
  const foot = element("div", "last")
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {SnapshotsHeader} */
  let head
  let arrays, losses, place, plot
  let rows = []
  let hovered = null

  const controls = playerControls(
    {
      back: "Previous snapshot",
      play: "Play the training",
      next: "Next snapshot",
      slider: "Snapshot of the training",
    },
    { move: (by) => player.move(by), toggle, choose: (s) => player.choose(s) },
  )
  controls.box.append(stepText)
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(canvas)
  list.tabIndex = 0
  list.setAttribute("role", "listbox")
  list.setAttribute("aria-label", "All snapshots: step, loss, answer. Arrow keys up and down choose one.")
  chart.setAttribute("role", "img")
  left.append(stage)
  right.append(chart, list)
  parts.append(left, right)
  foot.append(
    element("span", "", "loss: nats per token of the same target, end token included"),
    exports(root, {
      draw: (context) => paintMap(context, true),
      size: () => ({ width: left.clientWidth, height: place.height }),
      caption: () => `${head.caption}, training step ${stepOf(at()).toLocaleString("en")}`,
      name: () => `${head.name}-step-${stepOf(at())}`,
    }),
  )
  root.append(controls.box, answer, picks, parts, foot)

  // ---- what is chosen

  /** On a projector the map has the room; the list stays away. */
  const large = () => zoom(root) > 1
  const count = () => head.snapshots.length
  const stepOf = (s) => head.snapshots[s].step
  /** The last snapshot whose step is not above the chosen one; without one, the last of all. */
  const at = () => {
    const wanted = selection.chosen.model_snapshot
    if (typeof wanted !== "number") return count() - 1
    const later = head.snapshots.findIndex(({ step }) => step > wanted)
    return later < 0 ? count() - 1 : Math.max(later - 1, 0)
  }
  const kindAt = () =>
    Math.max(
      0,
      head.kinds.findIndex(({ kind }) => kind === selection.chosen.kind),
    )
  const kind = () => head.kinds[kindAt()]
  const maps = () => arrays[`maps_${kindAt()}`]
  const mask = () => arrays[`mask_${kindAt()}`]
  const layerAt = () => Math.min(Math.max(selection.chosen.layer ?? 0, 0), maps().shape[1] - 1)
  /** A head's number, or null for the mean of all, where there are several. */
  const headAt = () => {
    const chosen = selection.chosen.heads
    if (maps().shape[2] === 1) return 0
    if (!Array.isArray(chosen)) return null
    return Math.min(chosen[0] ?? 0, maps().shape[2] - 1)
  }
  const value = (s, r, c) => {
    const {
      values,
      shape: [, layers, heads, queries, keys],
    } = maps()
    const cell = (h) => values[(((s * layers + layerAt()) * heads + h) * queries + r) * keys + c]
    const one = headAt()
    if (one !== null) return cell(one)
    let sum = 0
    for (let h = 0; h < heads; h++) sum += cell(h)
    return sum / heads
  }
  const may = (r, c) => !mask() || mask().values[r * maps().shape[4] + c] === 1
  const lossText = (s) => number(losses.values[s], 4)
  const titleText = () =>
    `${kind().name}, layer ${layerAt()}, ${headAt() === null ? "mean of all heads" : `head ${headAt()}`}`
  const sentence = (s) => {
    const { text, complete, right } = head.snapshots[s]
    const end = complete ? "" : ", cut off"
    return `Step ${stepOf(s).toLocaleString("en")}, loss ${lossText(s)}: writes “${isolated(text)}”${end}${right ? ", which is the target" : ""}`
  }

  // ---- moving

  const player = makePlayer({
    pace: PLAY,
    settle: SETTLE,
    isThere: () => root.isConnected,
    count,
    at,
    pick: (s, settle) => selection.pick({ model_snapshot: stepOf(s) }, settle),
    say: (s) => announce(sentence(s)),
    changed: () => drawControls(at()),
  })
  function toggle() {
    player.toggle()
    made.draw()
  }
  list.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const by = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -count(), End: count() }[event.key]
    if (by === undefined) return
    event.preventDefault()
    player.move(by)
  }

  // ---- the page

  function makeRows() {
    rows = head.snapshots.map(({ text, complete, right }, s) => {
      const row = element("div", "row")
      row.setAttribute("role", "option")
      row.id = `${(root.id ||= `snapshots-${Math.random().toString(36).slice(2)}`)}-${s}`
      const mark = element("span", right ? "mark ok" : "mark", right ? "✓" : "")
      mark.setAttribute("aria-hidden", "true")
      const written = element("bdi", "text", complete ? text : `${text} …`)
      row.append(
        element("span", "at", stepOf(s).toLocaleString("en")),
        element("span", "loss", lossText(s)),
        mark,
        written,
      )
      row.setAttribute("aria-label", sentence(s))
      row.title = complete ? text : `${text} (cut off here)`
      row.onclick = () => player.choose(s)
      return row
    })
    const heading = element("div", "row heading")
    heading.append(
      element("span", "at", "step"),
      element("span", "loss", "loss"),
      element("span", "mark"),
      element("span", "text", "answer"),
    )
    heading.setAttribute("aria-hidden", "true")
    list.replaceChildren(heading, ...rows)
  }

  function drawControls(s) {
    controls.show(s, count(), { playing: player.playing, text: sentence(s) })
    stepText.textContent = `step ${stepOf(s).toLocaleString("en")}`
  }

  function drawAnswer(s) {
    const { text, complete, right } = head.snapshots[s]
    const mark = element("span", right ? "mark ok" : "mark", right ? "✓" : "")
    mark.setAttribute("aria-hidden", "true")
    answer.replaceChildren(
      mark,
      element("bdi", "", text || "(nothing)"),
      element("span", "cut", complete ? "" : " … cut off here"),
    )
    answer.title = sentence(s)
  }

  function drawPicks() {
    const group = (label, choices) => {
      const box = element("span", "choice")
      box.setAttribute("role", "group")
      box.setAttribute("aria-label", label)
      box.append(
        element("span", "name", label),
        ...choices.map(([text, title, on, fields]) => {
          const each = button("quiet", text, title, () => selection.pick(fields, SETTLE))
          each.setAttribute("aria-pressed", String(on))
          return each
        }),
      )
      return box
    }
    const [, layers, heads] = maps().shape
    const numbers = (n) => Array.from({ length: n }, (_, i) => i)
    const state = [kindAt(), layerAt(), headAt(), layers, heads, head.name].join()
    if (picks.dataset.state === state) return
    const focused = root.getRootNode().activeElement
    const before = picks.contains(focused) ? focused.getAttribute("aria-label") : null
    picks.dataset.state = state
    picks.replaceChildren(
      group(
        "",
        head.kinds.map(({ kind, name }, i) => [name, name, i === kindAt(), { kind }]),
      ),
      group(
        "layer",
        numbers(layers).map((l) => [String(l), `Layer ${l}`, l === layerAt(), { layer: l }]),
      ),
      group("head", [
        ...numbers(heads).map((h) => [String(h), `Head ${h}`, h === headAt(), { heads: [h] }]),
        ...(heads > 1 ? [["mean", "Mean of all heads", headAt() === null, { heads: "mean" }]] : []),
      ]),
    )
    if (before)
      [...picks.querySelectorAll("button")].find((each) => each.getAttribute("aria-label") === before)?.focus()
  }

  // ---- the map

  function measure() {
    const z = zoom(root)
    const width = left.clientWidth
    const context = canvas.getContext("2d")
    context.font = mono(14 * z)
    const { rows: down, columns: along, writes } = kind()
    const wide = (token) => context.measureText(token.note ?? token.text).width
    const most = 11 * context.measureText("m").width
    const margin = (tokens) =>
      20 +
      Math.min(
        most,
        tokens.reduce((w, token) => Math.max(w, wide(token)), 50 * z),
      )
    const [l, r] = [margin(down.tokens), writes ? margin(writes) : 12]
    const [n, m] = [along.tokens.length, down.tokens.length]
    const cell = Math.min(Math.max(40, width - l - r) / n, 56 * z)
    const widest = along.tokens.reduce((w, token) => Math.max(w, wide(token)), 0)
    const labels = columnLabels(cell, widest, most, z, { least: 8 })
    const top = 48 * z + labels.tall
    const room = tallness(root, 520) - (large() ? 175 : 0) - top - 40 * z
    const rowHeight = Math.min(room / m, 34 * z, Math.max(cell, 16 * z))
    const height = top + rowHeight * m + 40 * z
    return { z, width, height, left: l, right: r, top, cell, rowHeight, ...labels, n, m }
  }
  const xOf = (c) => place.left + c * place.cell
  const yOf = (r) => place.top + r * place.rowHeight

  function paintMap(context, exported) {
    const paper = colours(root)
    const s = at()
    const { z, width, height, left: l, top, cell, rowHeight, upright, size, tall, n, m } = place
    const { rows: down, columns: along, writes } = kind()
    const scale = paper.scale(headAt() === null ? "derived" : kind().kind)
    const gap = Math.min(cell, rowHeight) >= 6 ? 0.5 : 0
    const [closed, unknown] = [[], []]
    for (let r = 0; r < m; r++)
      for (let c = 0; c < n; c++) {
        const open = may(r, c)
        const weight = value(s, r, c)
        if (!open) closed.push([r, c])
        const known = Number.isFinite(weight)
        if (!known) unknown.push(weight)
        const colour = !open && weight === 0 ? paper.one("surface") : known ? scale.css(weight) : null
        paintCell(context, paper, colour, xOf(c) + gap, yOf(r) + gap, cell - 2 * gap, rowHeight - 2 * gap)
      }
    context.strokeStyle = paper.one("line")
    for (const [r, c] of closed) hatch(context, xOf(c), yOf(r), cell, rowHeight, HATCH_EVERY)

    const [chosenRow, chosenColumn] = [placeOn(down), placeOn(along)]
    context.textBaseline = "middle"
    const { size: rowSize, every } = rowLabels(rowHeight, z, 8)
    const label = (token, x, y, align, ink, room, bold) => {
      context.font = mono(rowSize, bold ? 600 : 400)
      context.textAlign = align
      context.fillStyle = paper.one(token.special ? "muted" : ink)
      context.fillText(isolated(shorten(context, token.note ?? token.text, room)), x, y)
    }
    for (let r = 0; r < m; r++) {
      if (r % every) continue
      const y = yOf(r) + rowHeight / 2
      label(down.tokens[r], l - 8, y, "right", down.ink, l - 14, r === chosenRow)
      if (writes) label(writes[r], l + n * cell + 8, y, "left", down.ink, place.right - 14, r === chosenRow)
    }
    for (let c = 0; c < n; c += place.every) {
      const token = along.tokens[c]
      context.font = mono(size, c === chosenColumn ? 600 : 400)
      context.fillStyle = paper.one(token.special ? "muted" : along.ink)
      const text = token.note ?? token.text
      if (!upright) {
        context.textAlign = "center"
        context.fillText(isolated(text), xOf(c) + cell / 2, top - 11 * z)
        continue
      }
      context.save()
      context.translate(xOf(c) + cell / 2, top - 6)
      context.rotate(-Math.PI / 2)
      context.textAlign = "left"
      context.fillText(isolated(shorten(context, text, tall - 4)), 0, 0)
      context.restore()
    }
    context.textAlign = "left"
    context.font = sans(15 * z, 600)
    context.fillStyle = paper.one("text")
    context.fillText(shorten(context, titleText(), width - 8), 0, 14 * z)
    context.font = sans(13 * z)
    const y = top - tall - 8 * z
    context.fillStyle = paper.one(along.ink)
    context.fillText(shorten(context, along.axis, n * cell), l, y)
    context.textAlign = "right"
    context.fillStyle = paper.one(down.ink)
    context.fillText(shorten(context, down.axis, l - 12), l - 8, y)
    if (writes) {
      context.textAlign = "left"
      context.fillText(shorten(context, "writes", place.right - 8), l + n * cell + 8, y)
    }
    const bar = height - 16 * z
    context.textAlign = "right"
    context.font = mono(12 * z)
    context.fillStyle = paper.one("muted")
    context.fillText("0", l - 8, bar)
    ramp(context, scale, l, bar, 120 * z, z)
    context.textAlign = "left"
    context.fillStyle = paper.one("muted")
    context.fillText("1", l + 128 * z, bar)
    context.font = sans(13 * z)
    const unit = headAt() === null ? "mean attention weight (derived)" : "attention weight"
    const from = dotsNote(context, paper, notFinite(unknown), l + 148 * z, bar, z)
    context.fillText(shorten(context, unit, width - from - 4 * z), from, bar)
    if (chosenRow !== null) ring(context, paper, l, yOf(chosenRow), n * cell, rowHeight)
    if (chosenRow !== null && chosenColumn !== null)
      ring(context, paper, xOf(chosenColumn), yOf(chosenRow), cell, rowHeight)
    if (!exported && hovered) {
      context.lineWidth = 1
      context.strokeStyle = paper.one("muted")
      context.strokeRect(l + 0.5, yOf(hovered.r) + 0.5, n * cell - 1, Math.max(2, rowHeight - 1))
      context.strokeRect(xOf(hovered.c) + 0.5, top + 0.5, Math.max(2, cell - 1), m * rowHeight - 1)
    }
  }
  function cellSentences(r, c) {
    const { rows: down, columns: along, writes } = kind()
    const query = `${down.role} ${positionAt(down, r)}: ${writes ? "reads " : ""}${quoted(down.tokens[r])}${writes ? `, writes ${quoted(writes[r])}` : ""}`
    const about = maps().encoding === "float32" ? "" : "≈ "
    const weight = value(at(), r, c)
    const text = valued("weight", weight, about + share(weight))
    return [
      query,
      `${along.role} ${positionAt(along, c)}: ${quoted(along.tokens[c])}`,
      may(r, c) ? text : `masked, ${text}`,
      `training step ${stepOf(at()).toLocaleString("en")}`,
    ]
  }
  const cellAt = (event) => {
    const { x, y } = pointIn(stage, event)
    return cellIn(x, y, place, wholeArea(place.m, place.n))
  }
  function hover(cell) {
    const changed = JSON.stringify(cell) !== JSON.stringify(hovered)
    hovered = cell
    if (cell) {
      const [box, outer] = [stage.getBoundingClientRect(), root.getBoundingClientRect()]
      tip.show(
        cellSentences(cell.r, cell.c),
        (box.left - outer.left) / magnified(root) + xOf(cell.c) + place.cell / 2,
        (box.top - outer.top) / magnified(root) + yOf(cell.r) + place.rowHeight / 2,
      )
    } else tip.hide()
    if (changed) drawMap()
  }
  function pick(r, c, settle) {
    selection.pick({ ...fieldOf(kind().rows, r), ...fieldOf(kind().columns, c) }, settle)
    announce(cellSentences(r, c).join(", "))
  }
  stage.onpointermove = (event) => hover(cellAt(event))
  stage.onpointerleave = () => hover(null)
  stage.onblur = () => hover(null)
  stage.onclick = (event) => {
    const cell = cellAt(event)
    if (cell) pick(cell.r, cell.c, 0)
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Escape") {
      hover(null)
      return
    }
    const chosen = { r: placeOn(kind().rows), c: placeOn(kind().columns) }
    const to = cellBeside(event.key, chosen, place.m, place.n)
    if (!to) return
    event.preventDefault()
    pick(to.r, to.c, 150)
    hover(to)
  }
  function drawMap() {
    paintMap(prepare(canvas, place.width, place.height), false)
  }

  // ---- the curve of the losses: both axes logarithmic, step 0 at the left edge

  function drawChart(s) {
    const z = zoom(root)
    const [width, height] = [right.clientWidth, CHART * z]
    const context = prepare(chart, width, height)
    const paper = colours(root)
    const steps = head.snapshots.map(({ step }) => step)
    const given = { steps, losses: [...losses.values], width, height, z }
    const { left: from, right: to, bottom, decades, ticks, points } = placeLosses(given)
    plot = points
    context.font = mono(12 * z)
    context.textBaseline = "middle"
    context.textAlign = "right"
    for (const { text, y } of decades) {
      context.fillStyle = paper.one("line")
      context.fillRect(from, y, to - from, 1)
      context.fillStyle = paper.one("muted")
      context.fillText(text, from - 6 * z, y)
    }
    context.textAlign = "center"
    for (const { text, x } of ticks)
      context.fillText(text, Math.min(x, width - context.measureText(text).width / 2), bottom + 14 * z)
    context.textAlign = "left"
    context.font = sans(13 * z)
    context.fillText(shorten(context, "loss of the target by step", width - 8), 0, 9 * z)
    context.strokeStyle = paper.one("text")
    context.lineWidth = 1.5 * z
    context.beginPath()
    plot.forEach((point, i) => (i ? context.lineTo(point.x, point.y) : context.moveTo(point.x, point.y)))
    context.stroke()
    context.fillStyle = paper.one("text")
    for (const point of plot) context.fillRect(point.x - 2 * z, point.y - 2 * z, 4 * z, 4 * z)
    context.lineWidth = 2
    context.strokeStyle = paper.one("page")
    context.strokeRect(plot[s].x - 5 * z, plot[s].y - 5 * z, 10 * z, 10 * z)
    context.strokeStyle = paper.one("text")
    context.strokeRect(plot[s].x - 7 * z, plot[s].y - 7 * z, 14 * z, 14 * z)
  }
  chart.onclick = (event) => {
    const from = pointIn(chart, event).x
    player.choose(nearestPoint(plot, from))
  }

  const made = {
    update({ header, arrays: given }) {
      const other = !head || JSON.stringify(head) !== JSON.stringify(header)
      if (other) player.cancel()
      head = header
      arrays = given
      losses = given.losses
      if (other) {
        hovered = null
        tip.hide()
        makeRows()
        delete picks.dataset.state
      }
      chart.setAttribute(
        "aria-label",
        `Loss of the target at ${count()} training steps; the list below has the numbers`,
      )
    },
    draw() {
      const s = at()
      player.haltElsewhere()
      drawControls(s)
      drawAnswer(s)
      drawPicks()
      root.classList.toggle("large", large())
      place = measure()
      if (hovered && (hovered.r >= place.m || hovered.c >= place.n)) hovered = null
      stage.style.height = `${place.height}px`
      list.style.maxHeight = `${Math.max(160, place.height - CHART)}px` // both end where the map does
      stage.setAttribute("aria-label", `Map of ${titleText()} at training step ${stepOf(s)}. Arrow keys choose a cell.`)
      drawMap()
      drawChart(s)
      rows.forEach((row, i) => {
        row.classList.toggle("chosen", i === s)
        row.setAttribute("aria-selected", String(i === s))
      })
      list.setAttribute("aria-activedescendant", rows[s].id)
      if (hovered) hover(hovered)
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
