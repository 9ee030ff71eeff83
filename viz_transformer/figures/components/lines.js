import { foundAt } from "./parts/axes.js"
import { colours } from "./parts/colours.js"
import { announcer, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import {
  countOf,
  lineAt,
  lineMaps,
  lineSentences,
  linesFrom,
  linesNow,
  shownLines,
  unseenWords,
} from "./parts/lines_map.js"
import { paintLines, paintLooked, paintSides, placeLines } from "./parts/lines_painting.js"
import { fieldOf, selection } from "./parts/selection.js"
import { contextOf, mount, onceAFrame, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { firstThreshold } from "./parts/strongest.js"
import { sans, wrappedTo } from "./parts/text.js"
import { alone } from "./parts/typing.js"

/** @import { LineMaps, Looked } from "./parts/lines_map.js" */
/** @import { LinesPlace, LinesView } from "./parts/lines_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, LinesHeader, Made, Payload } from "./parts/types.js" */

// A line from each query to each key, as opaque as the weight. Arrays: weights [N, Q, K], none if there are too many tokens,
// mask [Q, K] or [N, Q, K] where anything is masked. hidden: [N, Q] where keys are left out.

/**
 * `touched`: the threshold was chosen. What is pointed at is `hovered`, where the arrow keys go on from `focused`.
 * @typedef {{head: LinesHeader, maps: ?LineMaps, place: LinesPlace, painted: ?string, threshold: number, touched: boolean,
 *   hovered: ?Looked, focused: ?Looked}} State
 * @typedef {State & ReturnType<typeof partsIn>} LinesPicture
 * @typedef {LinesPicture & {maps: LineMaps}} Drawn
 */

const THRESHOLDS = [
  0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04,
  0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
]
const MANY = 600

export default (/** @type {Component} */ component) => mount(component, "lines", makeLines)

/** @param {HTMLElement} root */
function partsIn(root) {
  const made = stageOf(["base", "over"])
  const controls = element("div", "controls")
  const slider = element("input", "threshold")
  const said = element("output")
  const instead = element("p", "instead")
  const label = element("label", "", "threshold")
  slider.type = "range"
  slider.min = "0"
  slider.max = String(THRESHOLDS.length - 1)
  slider.step = "1"
  slider.setAttribute("aria-label", "Threshold: lines of smaller weights are hidden")
  label.append(slider)
  root.append(made.stage, instead, controls)
  return { root, ...made, controls, slider, said, instead, label, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeLines(root) {
  /** @type {Partial<State>} */
  const state = { maps: null, threshold: 0, touched: false, hovered: null, focused: null }
  const picture = /** @type {Drawn} */ (Object.assign(state, partsIn(root)))
  const { controls, label, said, slider } = picture
  const saved = exports(root, {
    draw: (context) => paintAll(picture, context),
    size() {
      const { width, height, z } = picture.place
      return { width, height: height + 8 * z + 18 * z * unseenLines(picture).length }
    },
    caption: () => picture.head.caption,
    name: () => picture.head.name,
  })
  controls.append(label, saved, said)
  listen(picture)
  const redraw = onceAFrame(root, () => picture.maps && draw(picture)) // not more often than the screen
  slider.oninput = () => {
    picture.touched = true
    setThreshold(picture, THRESHOLDS[Number(slider.value)])
    redraw()
  }
  return { update: (payload) => update(picture, payload), draw: () => draw(picture) }
}

const plays = (/** @type {LinesPicture} */ { head }) => selection.playing && head.writes !== null
const nowIn = (/** @type {LinesPicture} */ picture) =>
  linesNow(picture.head, selection.chosen, plays(picture), picture.threshold)
/** @type {(picture: Drawn) => LinesView} */
const viewOf = (picture) => ({ maps: picture.maps, now: nowIn(picture), place: picture.place })
const sentences = (/** @type {Drawn} */ picture, /** @type {Looked} */ looked) =>
  lineSentences(picture.maps, nowIn(picture), looked)

// ---- painting

/** @param {Drawn} picture */
function unseenLines({ base, maps, place, threshold }) {
  const context = contextOf(base)
  context.font = sans(13 * place.z)
  return wrappedTo(context, unseenWords(maps, threshold), place.width - 8, 3)
}

/**
 * Everything on one canvas, as it is saved: with all lines, and what is hidden in words.
 * @type {(picture: Drawn, context: Context) => void}
 */
function paintAll(picture, context) {
  const [paper, view] = [colours(picture.root), viewOf(picture)]
  const { height, z } = picture.place
  paintLines(context, paper, view)
  paintSides(context, paper, view)
  context.font = sans(13 * z)
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  context.fillStyle = paper.one("muted")
  unseenLines(picture).forEach((line, i) => context.fillText(line, 0, height + (14 + 18 * i) * z))
}

/** @param {Drawn} picture */
function paintOver(picture) {
  const { root, base, over, place, hovered, focused } = picture
  const [context, paper] = [prepare(over, place.width, place.height), colours(root)]
  const looked = hovered ?? focused
  const view = { ...viewOf(picture), looked }
  base.classList.toggle("faded", Boolean(looked && (looked.q === undefined || looked.k === undefined)))
  if (looked) paintLooked(context, paper, view, looked)
  paintSides(context, paper, view)
}

// ---- pointing, choosing, walking

/**
 * Beside the pointer for a line; under the picture for a token, whose lines are to be seen.
 * @type {(picture: Drawn, looked: Looked, x: number, y: number) => void}
 */
function tell(picture, looked, x, y) {
  const { root, tip } = picture
  const below = root.clientHeight + 12
  const lines = sentences(picture, looked)
  if (looked.k === undefined) tip.show(lines, -16, below)
  else if (looked.q === undefined) tip.show(lines, root.clientWidth + 12, below)
  else tip.show(lines, x, y)
}

/** @type {(picture: Drawn, looked: ?Looked, x?: number, y?: number) => void} */
function look(picture, looked, x = 0, y = 0) {
  const before = picture.hovered
  picture.hovered = looked
  picture.stage.classList.toggle("pointing", Boolean(looked))
  if (looked) tell(picture, looked, x, y)
  else picture.tip.hide()
  if (before?.q !== looked?.q || before?.k !== looked?.k) paintOver(picture)
}

/** @type {(picture: Drawn, looked: Looked) => void} */
function pick(picture, { q, k }) {
  const { queries, keys } = picture.head
  selection.pick({ ...(q !== undefined && fieldOf(queries, q)), ...(k !== undefined && fieldOf(keys, k)) })
  picture.announce(`chosen: ${sentences(picture, { q, k }).join(", ")}`)
}

/** @type {(picture: Drawn, token: Looked) => void} */
function walk(picture, token) {
  Object.assign(picture, { focused: token, hovered: null })
  picture.announce(sentences(picture, token).join(", "))
  tell(picture, token, 0, 0)
  paintOver(picture)
}

/** @param {Drawn} picture */
function listen(picture) {
  const { stage, tip } = picture
  const pointed = (/** @type {MouseEvent} */ event) => {
    const { maps, place, threshold } = picture
    const { x, y } = pointIn(stage, event)
    const lines = {
      heads: maps.N,
      count: shownLines(maps, threshold),
      lineAt: (/** @type {number} */ i) => lineAt(maps, i),
    }
    return { found: foundAt(place, x, y, lines), x, y }
  }
  stage.onpointermove = (event) => {
    const { found, x, y } = pointed(event)
    look(picture, found, x, y)
  }
  stage.onpointerleave = () => look(picture, null)
  stage.onclick = (event) => {
    const { found, x, y } = pointed(event)
    picture.focused = found && (found.q === undefined || found.k === undefined) ? found : null
    if (found) pick(picture, found)
    look(picture, found, x, y)
    paintOver(picture)
  }
  stage.onfocus = () => {
    if (stage.matches(":focus-visible")) walk(picture, { q: nowIn(picture).q ?? 0 })
  }
  stage.onblur = () => {
    picture.focused = null
    tip.hide()
    paintOver(picture)
  }
  stage.onkeydown = (event) => {
    if (alone(event) && press(picture, event)) event.preventDefault()
  }
}

/**
 * Whether the key is one of this picture's.
 * @type {(picture: Drawn, event: KeyboardEvent) => boolean}
 */
function press(picture, { key, shiftKey }) {
  const { maps, focused, tip } = picture
  const now = nowIn(picture)
  const here = focused ?? { q: now.q ?? 0 }
  const asQuery = here.q !== undefined
  const last = (asQuery ? maps.Q : maps.K) - 1
  const own = (asQuery ? here.q : here.k) ?? 0
  const far = shiftKey ? 10 : 1
  /** @type {Record<string, number>} */
  const moves = { ArrowUp: own - far, ArrowDown: own + far, Home: 0, End: last }
  if (key in moves) {
    const n = Math.min(Math.max(moves[key], 0), last)
    walk(picture, asQuery ? { q: n } : { k: n })
  } else if (key === "ArrowLeft") {
    if (!asQuery) walk(picture, { q: now.q ?? Math.min(own, maps.Q - 1) })
  } else if (key === "ArrowRight") {
    if (asQuery) walk(picture, { k: now.k ?? Math.min(own, maps.K - 1) })
  } else if (key === "Enter" || key === " ") pick(picture, here)
  else {
    if (key !== "Escape") return false
    Object.assign(picture, { focused: null, hovered: null })
    tip.hide()
    paintOver(picture)
    return false
  }
  return true
}

// ---- what is given, and drawn

/** @type {(picture: Drawn, threshold: number) => void} */
function setThreshold(picture, threshold) {
  const { maps, slider, said } = picture
  picture.threshold = threshold
  slider.value = String(THRESHOLDS.indexOf(threshold))
  said.textContent = unseenWords(maps, threshold)
  slider.setAttribute("aria-valuetext", said.textContent)
}

/** @type {(picture: LinesPicture, payload: Payload) => void} */
function update(picture, { header, arrays }) {
  const { stage, controls, instead, tip, touched, threshold } = picture
  const maps = arrays.weights ? lineMaps(header, arrays) : null
  Object.assign(picture, { head: header, maps, painted: null, hovered: null })
  tip.hide()
  stage.hidden = !maps
  controls.hidden = !maps
  instead.hidden = Boolean(maps)
  if (!maps) {
    const { title, queries, keys, most_tokens: most } = header
    const many = `${countOf(queries.count)} queries and ${countOf(keys.count)} keys`
    const words = `Here are ${many}: lines are drawn for up to ${most} tokens, the matrix shows all.`
    instead.replaceChildren(element("strong", "", title), document.createTextNode(words))
    return
  }
  const { focused } = picture
  if (focused && ((focused.q ?? 0) >= maps.Q || (focused.k ?? 0) >= maps.K)) picture.focused = null
  const first = () => firstThreshold(THRESHOLDS, maps.K, MANY, (smallest) => linesFrom(maps, smallest))
  setThreshold(/** @type {Drawn} */ (picture), touched ? threshold : first())
  const keys =
    "Up and down arrow keys move among the tokens of one side, left and right change the side, Enter chooses."
  stage.setAttribute("aria-label", `${header.label}. ${keys}`)
}

/** @param {LinesPicture} picture */
function draw(picture) {
  const { root, stage, base, controls, head, maps } = picture
  root.style.height = maps ? `${tallness(root, head.height)}px` : ""
  if (maps) {
    const [z, width] = [zoom(root), root.clientWidth]
    const height = Math.max(240, Math.floor(tallness(root, head.height * z) - controls.offsetHeight - 8))
    picture.place = placeLines(contextOf(base), maps, { z, width, height })
    stage.style.height = `${height}px`
    const drawn = /** @type {Drawn} */ (picture)
    const [paper, view] = [colours(root), viewOf(drawn)]
    const step = plays(picture) && selection.chosen[head.queries.field]
    const looks = [width, height, z, picture.threshold, paper.one("page"), sharpness(root), step].join()
    if (picture.painted !== looks) paintLines(prepare(base, width, height), paper, view)
    picture.painted = looks
    paintOver(drawn)
  }
  stage.dataset.painted = String(performance.now())
}
