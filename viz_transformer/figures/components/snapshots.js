import { cellBeside, cellIn, wholeArea } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { button, element } from "./parts/elements.js"
import { nearestPoint, placeLosses } from "./parts/losses.js"
import { makePlayer } from "./parts/player.js"
import { choose, hover, hush, plot } from "./parts/plot.js"
import { fieldsOf, placeOn, selection } from "./parts/selection.js"
import { lossWords, mapTitle, snapshotCell, snapshotNow, snapshotSentence, stepWords } from "./parts/snapshots_data.js"
import {
  paintLosses,
  paintSnapshot,
  paintSnapshotMarks,
  placeSnapshot,
  snapshotX,
  snapshotY,
} from "./parts/snapshots_painting.js"
import { magnified, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { alone } from "./parts/typing.js"

/** @import { Cell } from "./parts/cells.js" */
/** @import { Series } from "./parts/snapshots_data.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { SnapshotPlace, SnapshotView } from "./parts/snapshots_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Payload } from "./parts/types.js" */

// One sentence at every snapshot of a training. Arrays: losses [S], maps_i [S, L, H, Q, K] and mask_i [Q, K] of the i-th kind.
// The snapshot is the selection's field `model_snapshot`, a training step; kind, layer and heads are those of the page.

/**
 * @typedef {Series & {losses: {x: number, y: number}[], rows: HTMLElement[], player: ReturnType<typeof makePlayer>,
 *   controls: ReturnType<typeof playerControls>} & ReturnType<typeof partsIn>} State
 * @typedef {Plot<SnapshotPlace, Cell> & State} Snapshots
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

/** @type {Picture<Snapshots, SnapshotView, Cell>} */
export const snapshotsPicture = {
  name: "snapshots",
  begin,
  read,
  head(shown) {
    const { caption, name } = shown.head
    const { s } = nowIn(shown)
    return {
      caption: `${caption}, training step ${stepWords(shown, s)}`,
      name: `${name}-step-${shown.head.snapshots[s].step}`,
    }
  },
  layout,
  settle(shown) {
    const { hovered, place, list } = shown
    if (hovered && (hovered.r >= place.m || hovered.c >= place.n)) shown.hovered = null
    list.style.maxHeight = `${Math.max(160, place.height - CHART)}px` // both end where the map does
  },
  view(shown) {
    const now = nowIn(shown)
    return { now, place: shown.place, r: placeOn(now.kind.rows), c: placeOn(now.kind.columns) }
  },
  paint: ({ base, place }, paper, view) => paintSnapshot(prepare(base, place.width, place.height), paper, view),
  paintOver: paintSnapshotMarks,
  drawn(shown) {
    const { stage, list, rows, hovered, head } = shown
    const now = nowIn(shown)
    const { s } = now
    const title = `Map of ${mapTitle(now)} at training step ${head.snapshots[s].step}`
    stage.setAttribute("aria-label", `${title}. Arrow keys choose a cell.`)
    drawChart(shown, s)
    rows.forEach((row, i) => {
      row.classList.toggle("chosen", i === s)
      row.setAttribute("aria-selected", String(i === s))
    })
    list.setAttribute("aria-activedescendant", rows[s].id)
    if (hovered) hover(shown, hovered)
  },
  save(context, paper, _, view) {
    paintSnapshot(context, paper, view)
    paintSnapshotMarks(context, paper, view, null)
  },
  savedSize: ({ left, place }) => ({ width: left.clientWidth, height: place.height }),
  hit: ({ place }, x, y) => cellIn(x, y, place, wholeArea(place.m, place.n)),
  describe: ({ now }, { r, c }) => snapshotCell(now, r, c),
  at: ({ place }, cell) => cellMiddle(place, cell),
  show(shown, lines, cell) {
    const { root, stage, tip, place } = shown
    const [box, outer] = [stage.getBoundingClientRect(), root.getBoundingClientRect()]
    const k = magnified(root)
    const { x, y } = cellMiddle(place, cell)
    tip.show(lines, (box.left - outer.left) / k + x, (box.top - outer.top) / k + y)
  },
  keys: ({ r, c, place }, { key }) => cellBeside(key, { r, c }, place.m, place.n),
  choose: (shown, cell, settle) => selection.pick(fieldsOf(nowIn(shown).kind, cell), settle),
  click(shown, cell) {
    if (cell) choose(shown, cell, 0)
  },
  listen(shown) {
    const { stage } = shown
    stage.onblur = () => hover(shown, null)
    stage.addEventListener("keydown", (event) => {
      if (event.key === "Escape") hover(shown, null)
      else if (shown.told && event.defaultPrevented) hover(shown, shown.told.item) // the keys mark it, too
    })
  },
}

export default (/** @type {Component} */ component) => plot(component, snapshotsPicture)

/** @type {(place: SnapshotPlace, cell: Cell) => {x: number, y: number}} */
const cellMiddle = (place, { r, c }) => ({
  x: snapshotX(place, c) + place.cell / 2,
  y: snapshotY(place, r) + place.rowHeight / 2,
})

function partsIn() {
  const [answer, parts, left, right, picks, list] = ["answer", "parts", "left", "right", "picks", "list"].map((name) =>
    element("div", name),
  )
  const chart = element("canvas", "chart")
  list.tabIndex = 0
  list.setAttribute("role", "listbox")
  list.setAttribute("aria-label", "All snapshots: step, loss, answer. Arrow keys up and down choose one.")
  chart.setAttribute("role", "img")
  right.append(chart, list)
  parts.append(left, right)
  return { answer, parts, left, right, picks, list, chart, stepText: element("span", "step") }
}

/** @type {(shown: Snapshots, menu: HTMLElement) => void} */
function begin(shown, menu) {
  const { root, stage, foot } = shown
  Object.assign(shown, partsIn(), { rows: [] })
  const { answer, picks, parts, left, stepText } = shown
  const player = makePlayer({
    pace: PLAY,
    settle: SETTLE,
    isThere: () => root.isConnected,
    count: () => shown.head.snapshots.length,
    at: () => nowIn(shown).s,
    pick: (s, settle) => selection.pick({ model_snapshot: shown.head.snapshots[s].step }, settle),
    say: (s) => shown.announce(snapshotSentence(shown, s)),
    changed: () => drawControls(shown),
  })
  const toggle = () => {
    player.toggle()
    shown.draw()
  }
  const controls = playerControls(PLAYS, { move: (by) => player.move(by), toggle, choose: (s) => player.choose(s) })
  Object.assign(shown, { player, controls })
  controls.box.append(stepText)
  left.append(stage)
  foot.className = "last"
  foot.append(element("span", "", "loss: nats per token of the same target, end token included"), menu)
  foot.before(controls.box, answer, picks, parts)
  listenToSteps(shown, player)
}

/** @param {Snapshots} shown */
function drawControls(shown) {
  const { controls, player, stepText, head } = shown
  const { s } = nowIn(shown)
  controls.show(s, head.snapshots.length, { playing: player.playing, text: snapshotSentence(shown, s) })
  stepText.textContent = `step ${stepWords(shown, s)}`
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
  chart.onclick = (event) => player.choose(nearestPoint(shown.losses, pointIn(chart, event).x))
}

/** @type {(shown: Snapshots, s: number) => void} */
function drawChart(shown, s) {
  const { root, right, chart, head, arrays } = shown
  const [z, width] = [zoom(root), right.clientWidth]
  const given = { steps: head.snapshots.map(({ step }) => step), losses: [...arrays.losses.values] }
  const placed = placeLosses({ ...given, width, height: CHART * z, z })
  shown.losses = placed.points
  paintLosses(prepare(chart, width, CHART * z), colours(root), placed, { width, z, s })
}

/** @type {(shown: Snapshots, payload: Payload) => void} */
function read(shown, { header, arrays }) {
  const { head, chart, picks, player } = shown
  const other = !head || JSON.stringify(head) !== JSON.stringify(header)
  if (other) player.cancel()
  Object.assign(shown, { head: header, arrays })
  const count = `Loss of the target at ${header.snapshots.length} training steps`
  chart.setAttribute("aria-label", `${count}; the list below has the numbers`)
  if (!other) return
  shown.hovered = null
  hush(shown)
  delete picks.dataset.state
  makeRows(shown, (s) => player.choose(s))
}

/** @type {(shown: Snapshots, room: Room) => SnapshotPlace} */
function layout(shown, { z, ruler }) {
  const { root, left, player } = shown
  player.haltElsewhere()
  drawControls(shown)
  const { s, kind } = nowIn(shown)
  drawAnswer(shown, s)
  drawPicks(shown)
  root.classList.toggle("large", large(shown))
  const tall = tallness(root, 520) - (large(shown) ? ASIDE : 0)
  return placeSnapshot(ruler, kind, { z, width: left.clientWidth, tall })
}
