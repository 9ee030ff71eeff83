import { cellBeside, cellIn, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { announcer, button, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { nearestPoint, placeLosses } from "./parts/losses.js"
import { makePlayer } from "./parts/player.js"
import { fieldsOf, placeOn, selection } from "./parts/selection.js"
import { lossWords, mapTitle, snapshotCell, snapshotNow, snapshotSentence, stepWords } from "./parts/snapshots_data.js"
import { paintLosses, paintSnapshot, placeSnapshot, snapshotX, snapshotY } from "./parts/snapshots_painting.js"
import { contextOf, magnified, mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { alone } from "./parts/typing.js"

/** @import { Cell } from "./parts/cells.js" */
/** @import { Series } from "./parts/snapshots_data.js" */
/** @import { SnapshotPlace } from "./parts/snapshots_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Made, Payload } from "./parts/types.js" */

// One sentence at every snapshot of a training. Arrays: losses [S], maps_i [S, L, H, Q, K] and mask_i [Q, K] of the i-th kind.
// The snapshot is the selection's field `model_snapshot`, a training step; kind, layer and heads are those of the page.

/**
 * @typedef {Series & {place: SnapshotPlace, plot: {x: number, y: number}[], rows: HTMLElement[], hovered: ?Cell}} State
 * @typedef {State & ReturnType<typeof partsIn>} Snapshots
 */
/** @typedef {[text: string, title: string, on: boolean, fields: object]} Pick */

const SETTLE = 400
const PLAY = 450
const CHART = 168
const ASIDE = 175 // pixels on a projector, where the map has the room and the list stays away
const PLAYS = {
  back: "Previous snapshot",
  play: "Play the training",
  next: "Next snapshot",
  slider: "Snapshot of the training",
}

export default (/** @type {Component} */ component) => mount(component, "snapshots", makeSnapshots)

/** @param {HTMLElement} root */
function partsIn(root) {
  const tip = tooltip(root)
  const announce = announcer(root)
  const [answer, parts, left, right, picks, list, foot] = [
    "answer",
    "parts",
    "left",
    "right",
    "picks",
    "list",
    "last",
  ].map((name) => element("div", name))
  const { stage, "": map } = stageOf([""])
  const chart = element("canvas", "chart")
  list.tabIndex = 0
  list.setAttribute("role", "listbox")
  list.setAttribute("aria-label", "All snapshots: step, loss, answer. Arrow keys up and down choose one.")
  chart.setAttribute("role", "img")
  left.append(stage)
  right.append(chart, list)
  parts.append(left, right)
  const stepText = element("span", "step")
  return { root, tip, announce, answer, parts, left, right, picks, list, foot, stage, map, chart, stepText }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeSnapshots(root) {
  /** @type {Partial<State>} */
  const state = { rows: [], hovered: null }
  const shown = /** @type {Snapshots} */ (Object.assign(state, partsIn(root)))
  const at = () => nowIn(shown).s
  const player = makePlayer({
    pace: PLAY,
    settle: SETTLE,
    isThere: () => root.isConnected,
    count: () => shown.head.snapshots.length,
    at,
    pick: (s, settle) => selection.pick({ model_snapshot: shown.head.snapshots[s].step }, settle),
    say: (s) => shown.announce(snapshotSentence(shown, s)),
    changed: () => drawControls(),
  })
  const toggle = () => {
    player.toggle()
    made.draw()
  }
  const controls = playerControls(PLAYS, { move: (by) => player.move(by), toggle, choose: (s) => player.choose(s) })
  controls.box.append(shown.stepText)
  const drawControls = () => {
    const text = snapshotSentence(shown, at())
    controls.show(at(), shown.head.snapshots.length, { playing: player.playing, text })
    shown.stepText.textContent = `step ${stepWords(shown, at())}`
  }
  const saved = exports(root, {
    draw: (context) => paintMap(shown, context, null),
    size: () => ({ width: shown.left.clientWidth, height: shown.place.height }),
    caption: () => `${shown.head.caption}, training step ${stepWords(shown, at())}`,
    name: () => `${shown.head.name}-step-${shown.head.snapshots[at()].step}`,
  })
  shown.foot.append(element("span", "", "loss: nats per token of the same target, end token included"), saved)
  root.append(controls.box, shown.answer, shown.picks, shown.parts, shown.foot)
  listenToMap(shown)
  listenToSteps(shown, player)
  /** @type {Made} */
  const made = {
    update(payload) {
      if (update(shown, payload, () => player.cancel())) makeRows(shown, (s) => player.choose(s))
    },
    draw() {
      player.haltElsewhere()
      drawControls()
      draw(shown)
    },
  }
  return made
}

const nowIn = (/** @type {Series} */ series) => snapshotNow(series, selection.chosen)
const large = (/** @type {Snapshots} */ { root }) => zoom(root) > 1

// ---- the page

/** @type {(right: boolean) => HTMLElement} */
function markOf(right) {
  const mark = element("span", right ? "mark ok" : "mark", right ? "✓" : "")
  mark.setAttribute("aria-hidden", "true")
  return mark
}

/** @type {(shown: Snapshots, choose: (s: number) => void) => void} */
function makeRows(shown, choose) {
  const { root, list, head } = shown
  root.id ||= `snapshots-${Math.random().toString(36).slice(2)}`
  shown.rows = head.snapshots.map(({ text, complete, right }, s) => {
    const row = element("div", "row")
    row.setAttribute("role", "option")
    row.id = `${root.id}-${s}`
    row.append(
      element("span", "at", stepWords(shown, s)),
      element("span", "loss", lossWords(shown, s)),
      markOf(right),
      element("bdi", "text", complete ? text : `${text} …`),
    )
    row.setAttribute("aria-label", snapshotSentence(shown, s))
    row.title = complete ? text : `${text} (cut off here)`
    row.onclick = () => choose(s)
    return row
  })
  const heading = element("div", "row heading")
  for (const [name, words] of Object.entries({ at: "step", loss: "loss", mark: undefined, text: "answer" }))
    heading.append(element("span", name, words))
  heading.setAttribute("aria-hidden", "true")
  list.replaceChildren(heading, ...shown.rows)
}

/** @type {(shown: Snapshots, s: number) => void} */
function drawAnswer(shown, s) {
  const { text, complete, right } = shown.head.snapshots[s]
  const cut = element("span", "cut", complete ? "" : " … cut off here")
  shown.answer.replaceChildren(markOf(right), element("bdi", "", text || "(nothing)"), cut)
  shown.answer.title = snapshotSentence(shown, s)
}

/** @type {(label: string, choices: Pick[]) => HTMLElement} */
function pickGroup(label, choices) {
  const box = element("span", "choice")
  box.setAttribute("role", "group")
  box.setAttribute("aria-label", label)
  box.append(element("span", "name", label))
  for (const [text, title, on, fields] of choices) {
    const each = button("quiet", text, title, () => selection.pick(fields, SETTLE))
    each.setAttribute("aria-pressed", String(on))
    box.append(each)
  }
  return box
}

/**
 * Kind, layer and head; who has the focus there keeps it.
 * @param {Snapshots} shown
 */
function drawPicks(shown) {
  const { root, picks, head } = shown
  const { kindAt, layer, one, maps } = nowIn(shown)
  const [, layers, heads] = maps.shape
  const state = [kindAt, layer, one, layers, heads, head.name].join()
  if (picks.dataset.state === state) return
  const { activeElement } = /** @type {ShadowRoot} */ (root.getRootNode())
  const before = picks.contains(activeElement) ? activeElement?.getAttribute("aria-label") : null
  picks.dataset.state = state
  /** @type {Pick[]} */
  const kinds = head.kinds.map(({ kind, name }, i) => [name, name, i === kindAt, { kind }])
  /** @type {Pick[]} */
  const inLayers = Array.from({ length: layers }, (_, l) => [String(l), `Layer ${l}`, l === layer, { layer: l }])
  /** @type {Pick[]} */
  const ofHeads = Array.from({ length: heads }, (_, h) => [String(h), `Head ${h}`, h === one, { heads: [h] }])
  if (heads > 1) ofHeads.push(["mean", "Mean of all heads", one === null, { heads: "mean" }])
  picks.replaceChildren(pickGroup("", kinds), pickGroup("layer", inLayers), pickGroup("head", ofHeads))
  if (before) [...picks.querySelectorAll("button")].find((each) => each.getAttribute("aria-label") === before)?.focus()
}

/** @type {(shown: Snapshots, player: ReturnType<typeof makePlayer>) => void} */
function listenToSteps(shown, player) {
  const { list, chart } = shown
  list.onkeydown = (event) => {
    if (!alone(event) || event.shiftKey) return
    const count = shown.head.snapshots.length
    /** @type {Record<string, number>} */
    const moves = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1, Home: -count, End: count }
    if (moves[event.key] === undefined) return
    event.preventDefault()
    player.move(moves[event.key])
  }
  chart.onclick = (event) => player.choose(nearestPoint(shown.plot, pointIn(chart, event).x))
}

// ---- the map

/** @type {(shown: Snapshots, context: Context, hovered: ?Cell) => void} */
function paintMap(shown, context, hovered) {
  const now = nowIn(shown)
  const view = { now, place: shown.place, r: placeOn(now.kind.rows), c: placeOn(now.kind.columns) }
  paintSnapshot(context, colours(shown.root), view, hovered)
}

/** @param {Snapshots} shown */
function drawMap(shown) {
  const { map, place, hovered } = shown
  paintMap(shown, prepare(map, place.width, place.height), hovered)
}

/** @type {(shown: Snapshots, cell: ?Cell) => void} */
function hover(shown, cell) {
  const { root, stage, tip, place, hovered } = shown
  const changed = cell?.r !== hovered?.r || cell?.c !== hovered?.c
  shown.hovered = cell
  if (cell) {
    const [box, outer] = [stage.getBoundingClientRect(), root.getBoundingClientRect()]
    tip.show(
      snapshotCell(nowIn(shown), cell.r, cell.c),
      (box.left - outer.left) / magnified(root) + snapshotX(place, cell.c) + place.cell / 2,
      (box.top - outer.top) / magnified(root) + snapshotY(place, cell.r) + place.rowHeight / 2,
    )
  } else tip.hide()
  if (changed) drawMap(shown)
}

/** @type {(shown: Snapshots, cell: Cell, settle: number) => void} */
function pick(shown, cell, settle) {
  const now = nowIn(shown)
  selection.pick(fieldsOf(now.kind, cell), settle)
  shown.announce(snapshotCell(now, cell.r, cell.c).join(", "))
}

/** @param {Snapshots} shown */
function listenToMap(shown) {
  const { stage } = shown
  const cellAt = (/** @type {MouseEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    return cellIn(x, y, shown.place, wholeArea(shown.place.m, shown.place.n))
  }
  stage.onpointermove = (event) => hover(shown, cellAt(event))
  stage.onpointerleave = () => hover(shown, null)
  stage.onblur = () => hover(shown, null)
  stage.onclick = (event) => {
    const cell = cellAt(event)
    if (cell) pick(shown, cell, 0)
  }
  stage.onkeydown = (event) => {
    if (!alone(event)) return
    if (event.key === "Escape") hover(shown, null)
    const { rows, columns } = nowIn(shown).kind
    const to = cellBeside(event.key, { r: placeOn(rows), c: placeOn(columns) }, shown.place.m, shown.place.n)
    if (!to) return
    event.preventDefault()
    pick(shown, to, 150)
    hover(shown, to)
  }
}

/** @type {(shown: Snapshots, s: number) => void} */
function drawChart(shown, s) {
  const { root, right, chart, head, arrays } = shown
  const [z, width] = [zoom(root), right.clientWidth]
  const given = { steps: head.snapshots.map(({ step }) => step), losses: [...arrays.losses.values] }
  const plot = placeLosses({ ...given, width, height: CHART * z, z })
  shown.plot = plot.points
  paintLosses(prepare(chart, width, CHART * z), colours(root), plot, { width, z, s })
}

/**
 * Whether these are others than before.
 * @type {(shown: Snapshots, payload: Payload, cancel: () => void) => boolean}
 */
function update(shown, { header, arrays }, cancel) {
  const { head, chart, picks, tip } = shown
  const other = !head || JSON.stringify(head) !== JSON.stringify(header)
  if (other) cancel()
  Object.assign(shown, { head: header, arrays })
  if (other) {
    shown.hovered = null
    tip.hide()
    delete picks.dataset.state
  }
  const count = `Loss of the target at ${header.snapshots.length} training steps`
  chart.setAttribute("aria-label", `${count}; the list below has the numbers`)
  return other
}

/** @param {Snapshots} shown */
function draw(shown) {
  const { root, map, left, stage, list, rows } = shown
  const now = nowIn(shown)
  const { s } = now
  drawAnswer(shown, s)
  drawPicks(shown)
  root.classList.toggle("large", large(shown))
  const tall = tallness(root, 520) - (large(shown) ? ASIDE : 0)
  const place = placeSnapshot(contextOf(map), now.kind, { z: zoom(root), width: left.clientWidth, tall })
  shown.place = place
  if (shown.hovered && (shown.hovered.r >= place.m || shown.hovered.c >= place.n)) shown.hovered = null
  stage.style.height = `${place.height}px`
  list.style.maxHeight = `${Math.max(160, place.height - CHART)}px` // both end where the map does
  const title = `Map of ${mapTitle(now)} at training step ${shown.head.snapshots[s].step}`
  stage.setAttribute("aria-label", `${title}. Arrow keys choose a cell.`)
  drawMap(shown)
  drawChart(shown, s)
  rows.forEach((row, i) => {
    row.classList.toggle("chosen", i === s)
    row.setAttribute("aria-selected", String(i === s))
  })
  list.setAttribute("aria-activedescendant", rows[s].id)
  if (shown.hovered) hover(shown, shown.hovered)
  stage.dataset.painted = String(performance.now())
}
