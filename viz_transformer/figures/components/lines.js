import { foundAt } from "./parts/axes.js"
import { element } from "./parts/elements.js"
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
import { choose, hover, hush, paintOver, plot, roomIn, takeLooks } from "./parts/plot.js"
import { fieldOf, selection } from "./parts/selection.js"
import { onceAFrame, prepare, tallness } from "./parts/stage.js"
import { firstThreshold } from "./parts/strongest.js"
import { sans, wrappedTo } from "./parts/text.js"

/** @import { LineMaps, Looked } from "./parts/lines_map.js" */
/** @import { LinesPlace, LinesView } from "./parts/lines_painting.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { LinesHeader, Payload } from "./parts/types.js" */

// A line from each query to each key, as opaque as the weight. Arrays: weights [N, Q, K], none if there are too many tokens,
// mask [Q, K] or [N, Q, K] where anything is masked. hidden: [N, Q] where keys are left out.

/**
 * `touched`: the threshold was chosen.
 * @typedef {{header: LinesHeader, maps: ?LineMaps, threshold: number, touched: boolean, slider: HTMLInputElement,
 *   said: HTMLOutputElement, instead: HTMLElement}} State
 * @typedef {Plot<LinesPlace, Looked> & State} Lines
 */

const THRESHOLDS = [
  0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04,
  0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
]
const MANY = 600

/** @type {Picture<Lines, LinesView, Looked>} */
export const linesPicture = {
  name: "lines",
  begin,
  read,
  head: ({ header }) => header,
  layout,
  view: (lines) => ({ maps: /** @type {LineMaps} */ (lines.maps), now: nowIn(lines), place: lines.place }),
  paint(lines, paper, view) {
    const step = plays(lines) && selection.chosen[lines.header.queries.field]
    const { width, height } = view.place
    if (takeLooks(lines, paper, [lines.threshold, step])) paintLines(prepare(lines.base, width, height), paper, view)
  },
  paintOver(context, paper, view, looked, { base }) {
    base.classList.toggle("faded", looked !== null && isToken(looked))
    if (looked) paintLooked(context, paper, { ...view, looked }, looked)
    paintSides(context, paper, { ...view, looked })
  },
  save(context, paper, lines, view) {
    const { height, z } = view.place
    paintLines(context, paper, view)
    paintSides(context, paper, view)
    context.font = sans(13 * z)
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.fillStyle = paper.one("muted")
    unseenLines(lines).forEach((line, i) => context.fillText(line, 0, height + (14 + 18 * i) * z))
  },
  savedSize(lines) {
    const { width, height, z } = lines.place
    return { width, height: height + 8 * z + 18 * z * unseenLines(lines).length }
  },
  hit({ maps, now, place }, x, y) {
    const count = shownLines(maps, now.threshold)
    return foundAt(place, x, y, { heads: maps.N, count, lineAt: (i) => lineAt(maps, i) })
  },
  describe: ({ maps, now }, looked) => lineSentences(maps, now, looked),
  at: () => ({ x: 0, y: 0 }), // the tooltip of a token is below the picture
  show({ root, tip }, lines, looked, x, y) {
    const below = root.clientHeight + 12
    if (looked.k === undefined) tip.show(lines, -16, below)
    else if (looked.q === undefined) tip.show(lines, root.clientWidth + 12, below)
    else tip.show(lines, x, y)
  },
  start: ({ now }) => ({ q: now.q ?? 0 }),
  keys({ maps, now }, { key, shiftKey }, here) {
    const asQuery = here.q !== undefined
    const last = (asQuery ? maps.Q : maps.K) - 1
    const own = (asQuery ? here.q : here.k) ?? 0
    const far = shiftKey ? 10 : 1
    /** @type {Record<string, number>} */
    const moves = { ArrowUp: own - far, ArrowDown: own + far, Home: 0, End: last }
    if (key in moves) {
      const n = Math.min(Math.max(moves[key], 0), last)
      return asQuery ? { q: n } : { k: n }
    }
    if (key === "ArrowLeft" && !asQuery) return { q: now.q ?? Math.min(own, maps.Q - 1) }
    if (key === "ArrowRight" && asQuery) return { k: now.k ?? Math.min(own, maps.K - 1) }
    return null
  },
  press: (_, { key }) => key === "ArrowLeft" || key === "ArrowRight", // there is no side beyond
  choose({ header: { queries, keys } }, { q, k }) {
    selection.pick({ ...(q !== undefined && fieldOf(queries, q)), ...(k !== undefined && fieldOf(keys, k)) })
  },
  click(lines, found, at) {
    lines.focused = found && isToken(found) ? found : null
    if (found) choose(lines, { q: found.q, k: found.k })
    hover(lines, found, at)
    paintOver(lines)
  },
}

export default (/** @type {Component} */ component) => plot(component, linesPicture)

const isToken = (/** @type {Looked} */ { q, k }) => q === undefined || k === undefined

/** @type {(lines: Lines, menu: HTMLElement) => void} */
function begin(lines, menu) {
  const { root, stage, foot } = lines
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
  stage.after(instead)
  foot.className = "controls"
  foot.append(label, menu, said)
  const redraw = onceAFrame(root, () => lines.maps && lines.draw()) // not more often than the screen
  slider.oninput = () => {
    lines.touched = true
    if (lines.maps) setThreshold(lines, lines.maps, THRESHOLDS[Number(slider.value)])
    redraw()
  }
  Object.assign(lines, { slider, said, instead, maps: null, threshold: 0, touched: false })
}

const plays = (/** @type {Lines} */ { header }) => selection.playing && header.writes !== null
const nowIn = (/** @type {Lines} */ lines) => linesNow(lines.header, selection.chosen, plays(lines), lines.threshold)

/** @param {Lines} lines */
function unseenLines(lines) {
  const { ruler } = roomIn(lines)
  const { z, width } = lines.place
  ruler.font = sans(13 * z)
  return wrappedTo(ruler, unseenWords(/** @type {LineMaps} */ (lines.maps), lines.threshold), width - 8, 3)
}

/** @type {(lines: Lines, room: Room) => ?LinesPlace} */
function layout({ root, foot, header, maps }, { z, width, ruler }) {
  root.style.height = maps ? `${tallness(root, header.height)}px` : ""
  if (!maps) return null
  const height = Math.max(240, Math.floor(tallness(root, header.height * z) - foot.offsetHeight - 8))
  return placeLines(ruler, maps, { z, width, height })
}

/** @type {(lines: Lines, maps: LineMaps, threshold: number) => void} */
function setThreshold(lines, maps, threshold) {
  const { slider, said } = lines
  lines.threshold = threshold
  slider.value = String(THRESHOLDS.indexOf(threshold))
  said.textContent = unseenWords(maps, threshold)
  slider.setAttribute("aria-valuetext", said.textContent)
}

/** @type {(lines: Lines, payload: Payload) => void} */
function read(lines, { header, arrays }) {
  const { stage, foot, instead, touched, threshold } = lines
  const maps = arrays.weights ? lineMaps(header, arrays) : null
  Object.assign(lines, { header, maps, hovered: null })
  hush(lines)
  stage.hidden = foot.hidden = !maps
  instead.hidden = Boolean(maps)
  if (!maps) {
    const { title, queries, keys, most_tokens: most } = header
    const many = `${countOf(queries.count)} queries and ${countOf(keys.count)} keys`
    const words = `Here are ${many}: lines are drawn for up to ${most} tokens, the matrix shows all.`
    instead.replaceChildren(element("strong", "", title), document.createTextNode(words))
    return
  }
  const { focused } = lines
  if (focused && ((focused.q ?? 0) >= maps.Q || (focused.k ?? 0) >= maps.K)) lines.focused = null
  const first = () => firstThreshold(THRESHOLDS, maps.K, MANY, (smallest) => linesFrom(maps, smallest))
  setThreshold(lines, maps, touched ? threshold : first())
  const keys =
    "Up and down arrow keys move among the tokens of one side, left and right change the side, Enter chooses."
  stage.setAttribute("aria-label", `${header.label}. ${keys}`)
}
