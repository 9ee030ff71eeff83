import { colours } from "./parts/colours.js"
import { announcer, choiceOf, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import {
  gridMaps,
  gridPixels,
  headAt,
  headSentences,
  headsChosen,
  headsWith,
  isHeadChosen,
  sequenceOf,
} from "./parts/grid_maps.js"
import { itemOf, paintGridWords, paintHeadsChosen, placeGrid } from "./parts/grid_painting.js"
import { headBeside, itemAt } from "./parts/heads.js"
import { SCALES } from "./parts/legend.js"
import { paintPixels } from "./parts/maps.js"
import { roomOf } from "./parts/printing.js"
import { selection } from "./parts/selection.js"
import { mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"

/** @import { GridMaps } from "./parts/grid_maps.js" */
/** @import { GridPlace, GridView } from "./parts/grid_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Context, Made, Payload, Score } from "./parts/types.js" */

// All heads of one kind of attention as small maps. Header: tokens [Q, K] before pooling; key_heads, how many heads of keys the
// heads of a layer share. Arrays: tops [L, H, Q'], the largest of each row as a share of `full`; roots [L, H, Q', K'], `most`
// times the root of each cell's share of that; masked, missing (no number in the run) and none (not a number) [Q', K'] or
// [L, H, Q', K'].

/**
 * `sorting` is a score, or null for in place; the selection's `sort` names it. `pointed` is the head under the pointer or
 * the keys, as layer * heads + head, and `cursor` the one that the arrow keys go on from.
 * @typedef {{maps: GridMaps, place: GridPlace, pixels: ImageData, painted: ?string, sorting: ?Score, pointed: ?number,
 *   pointedAt: [number, number], cursor: ?number}} State
 * @typedef {State & ReturnType<typeof partsIn>} Grid
 */

const IN_PLACE = "in place"
const KEYS = "Arrow keys move, Enter chooses a head, Control and Enter adds or removes one of the same layer."

export default (/** @type {Component} */ component) => mount(component, "grid", makeGrid)

/** @param {HTMLElement} root */
function partsIn(root) {
  const { stage, base, over } = stageOf(["base", "over"], "listbox")
  const options = element("div", "unseen")
  const order = element("label", "order", "sort ")
  const select = element("select", "quiet")
  const foot = element("div", "foot")
  options.setAttribute("role", "presentation")
  stage.setAttribute("aria-multiselectable", "true")
  for (const canvas of [base, over]) canvas.setAttribute("aria-hidden", "true")
  stage.append(options)
  order.append(select)
  root.append(order, stage, foot)
  const scales = choiceOf("Colour scale", SCALES.slice(0, 2), (scale) => selection.pick({ scale }, 150))
  const said = { tip: tooltip(root), announce: announcer(root) }
  return { root, stage, base, over, options, order, select, foot, scales, ...said }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeGrid(root) {
  /** @type {Partial<State>} */
  const state = { sorting: null, pointed: null, pointedAt: [0, 0], cursor: null }
  const grid = /** @type {Grid} */ (Object.assign(state, partsIn(root)))
  const { scales, select, foot, announce } = grid
  const saved = exports(root, {
    draw: (context) => paintExport(grid, context),
    size: () => ({ width: root.clientWidth, height: grid.place.height }),
    caption: () => grid.maps.head.caption,
    name: () => grid.maps.head.name,
  })
  foot.append(scales.box, saved)
  select.onchange = () => {
    selection.pick({ sort: select.value === IN_PLACE ? "" : select.value }, 150)
    sort(grid)
    announce(grid.sorting ? `Sorted by ${grid.sorting.name}, high to low` : "In place")
  }
  listen(grid)
  return { update: (payload) => update(grid, payload), draw: () => draw(grid) }
}

const scaleNow = () => (selection.chosen.scale === "row" ? "row" : "fixed")
const chosenIn = (/** @type {Grid} */ { maps }) => headsChosen(maps, selection.chosen)
const sentences = (/** @type {Grid} */ { maps, sorting }, /** @type {number} */ index) =>
  headSentences(maps, sorting, index)
const idOf = (/** @type {number} */ index) => `head-${index}`

/** @type {(grid: Grid, ratio: number) => GridView} */
const viewOf = (grid, ratio) => ({
  maps: grid.maps,
  place: grid.place,
  sorting: grid.sorting,
  chosen: chosenIn(grid),
  scale: scaleNow(),
  ratio,
  onPaper: Boolean(roomOf(grid.root)),
})

/**
 * Follow the selection's `sort`.
 * @param {Grid} grid
 */
function sort(grid) {
  const wanted = grid.maps.head.scores.find(({ name }) => name === selection.chosen.sort) ?? null
  if (wanted?.name === grid.sorting?.name) return
  Object.assign(grid, { sorting: wanted, pointed: null })
  grid.tip.hide()
  grid.select.value = wanted?.name ?? IN_PLACE
  list(grid)
}

/**
 * One hidden option for each head, in the order that is seen: what screen readers walk through.
 * @param {Grid} grid
 */
function list(grid) {
  const made = sequenceOf(grid.maps, grid.sorting).map((index) => {
    const option = element("div", "", sentences(grid, index).join(", "))
    option.id = idOf(index)
    option.setAttribute("role", "option")
    return option
  })
  grid.options.replaceChildren(...made)
}

// ---- painting

/** @type {(grid: Grid, context: Context) => void} */
function paintExport(grid, context) {
  const [paper, view] = [colours(grid.root), viewOf(grid, 2)]
  const { width, height } = grid.place
  paintPixels(context, gridPixels(grid.maps, paper, grid.place, 2, view.scale === "row"), {
    left: 0,
    top: 0,
    w: width,
    h: height,
  })
  paintGridWords(context, paper, view, { top: width, bottom: width })
  paintHeadsChosen(context, paper, view)
}

/** @param {Grid} grid */
function paintOver(grid) {
  const { root, over, maps, place, pointed } = grid
  const [context, paper] = [prepare(over, place.width, place.height), colours(root)]
  paintHeadsChosen(context, paper, viewOf(grid, 1))
  const item = pointed === null ? null : place.byIndex.get(pointed)
  if (!item) return
  const out = isHeadChosen(maps, item.index, chosenIn(grid)) ? 2.5 : 0.5
  context.lineWidth = 1
  context.strokeStyle = paper.one("text")
  context.strokeRect(item.x - out, item.y - out, place.size + 2 * out, place.size + 2 * out)
}

// ---- pointing and choosing

/** @type {(grid: Grid, index: ?number, x?: number, y?: number) => void} */
function point(grid, index, x = 0, y = 0) {
  grid.pointed = index
  if (index === null) grid.tip.hide()
  else {
    Object.assign(grid, { cursor: index, pointedAt: [x, y] })
    grid.stage.setAttribute("aria-activedescendant", idOf(index))
    grid.tip.show(sentences(grid, index), x, y)
  }
  paintOver(grid)
}

/** @type {(grid: Grid, index: number, more?: string[]) => void} */
function pointTo(grid, index, more) {
  const { x, y } = itemOf(grid.place, index)
  const inside = grid.place.size - 8
  point(grid, index, x + inside, y + inside)
  if (more) grid.tip.show([...sentences(grid, index), ...more], x + inside, y + inside)
}

/** @type {(grid: Grid, index: number, more: boolean) => void} */
function pick(grid, index, more) {
  const { head } = grid.maps
  const { layer } = headAt(grid.maps, index)
  const wanted = headsWith(grid.maps, index, chosenIn(grid), more)
  if (wanted.length > head.most_heads) {
    const full = `${head.most_heads} heads at most can be chosen together`
    pointTo(grid, index, [full])
    grid.announce(full)
    return
  }
  selection.pick({ ...(selection.chosen.kind !== head.kind && { kind: head.kind }), layer, heads: wanted })
  grid.announce(`${wanted.length > 1 ? "heads" : "head"} ${wanted.join(", ")} of layer ${layer} chosen`)
}

/** @param {Grid} grid */
function start(grid) {
  const { maps, cursor, sorting } = grid
  if (cursor !== null) return cursor
  const what = chosenIn(grid)
  return what ? what.layer * maps.heads + Math.min(what.heads?.[0] ?? 0, maps.heads - 1) : sequenceOf(maps, sorting)[0]
}

const adds = (/** @type {MouseEvent | KeyboardEvent} */ event) => event.ctrlKey || event.metaKey || event.shiftKey

/** @param {Grid} grid */
function listen(grid) {
  const { stage } = grid
  const under = (/** @type {MouseEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    const { items, size, z } = grid.place
    return { item: itemAt(items, size, grid.sorting ? 24 * z : 1, x, y), x, y }
  }
  stage.onpointermove = (event) => {
    const { item, x, y } = under(event)
    stage.style.cursor = item ? "pointer" : "default"
    point(grid, item?.index ?? null, x, y)
  }
  stage.onpointerleave = () => point(grid, null)
  stage.onclick = (event) => {
    const { item } = under(event)
    if (item) pick(grid, item.index, adds(event))
  }
  stage.onkeydown = (event) => {
    if (!event.altKey && press(grid, event)) event.preventDefault()
  }
  stage.onfocus = () => {
    if (stage.matches(":focus-visible")) pointTo(grid, start(grid))
  }
  stage.onblur = () => point(grid, null)
}

/**
 * Whether the key is one of this picture's.
 * @type {(grid: Grid, event: KeyboardEvent) => boolean}
 */
function press(grid, event) {
  const { items, size } = grid.place
  if (event.key === "Enter" || event.key === " ") {
    pointTo(grid, start(grid))
    pick(grid, start(grid), adds(event))
  } else if (!adds(event) && /^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) {
    pointTo(grid, headBeside(items, itemOf(grid.place, start(grid)), size, event.key))
  } else {
    if (event.key === "Escape") point(grid, null)
    return false
  }
  return true
}

// ---- what is given, and drawn

/**
 * The scores that the heads can be sorted by.
 * @type {(grid: Grid) => void}
 */
function offer({ maps, select, sorting, order }) {
  const texts = [IN_PLACE, ...maps.head.scores.map(({ name }) => name)]
  if (texts.join() !== Array.from(select.options, ({ value }) => value).join()) {
    const made = texts.map((text) => {
      const option = element("option", "", text === IN_PLACE ? text : `by ${text}`)
      option.value = text
      return option
    })
    select.replaceChildren(...made)
  }
  select.value = sorting?.name ?? IN_PLACE
  order.hidden = !maps.head.scores.length
}

/** @type {(grid: Grid, payload: Payload) => void} */
function update(grid, payload) {
  const before = grid.maps
  const maps = gridMaps(payload)
  const same = before?.layers === maps.layers && before.heads === maps.heads && before.head.kind === maps.head.kind
  Object.assign(grid, { maps, painted: null })
  if (!same) {
    Object.assign(grid, { pointed: null, cursor: null })
    grid.tip.hide()
  }
  grid.sorting = maps.head.scores.find(({ name }) => name === grid.sorting?.name) ?? null
  offer(grid)
  grid.stage.setAttribute("aria-label", `${maps.head.label}. ${KEYS}`)
  list(grid)
  grid.scales.press(scaleNow())
  if (grid.pointed !== null) grid.tip.show(sentences(grid, grid.pointed), ...grid.pointedAt)
}

/** @param {Grid} grid */
function draw(grid) {
  sort(grid)
  grid.scales.press(scaleNow())
  const { root, stage, base, maps, sorting, select, order, foot, options } = grid
  const { head } = maps
  const [z, wide] = [zoom(root), root.clientWidth]
  const tall = z > 1 || head.compact ? tallness(root, head.height) : head.height
  grid.place = placeGrid(maps, sorting, sequenceOf(maps, sorting), { z, width: wide, tall })
  const { width, height } = grid.place
  const room = {
    // asked before anything changes that the browser would have to lay out anew
    top: width - (head.scores.length ? order.offsetWidth + 12 * z : 0),
    bottom: width - foot.offsetWidth - 8 * z,
  }
  const [paper, ratio] = [colours(root), sharpness(root)]
  const view = viewOf(grid, ratio)
  stage.style.height = `${height}px`
  select.title = sorting ? `${sorting.name}: ${sorting.explanation}` : "Sort the heads by a score"
  const looks = [width, height, z, view.scale, sorting?.name, paper.one("page"), ratio].join()
  if (grid.painted !== looks) grid.pixels = gridPixels(maps, paper, grid.place, ratio, view.scale === "row")
  grid.painted = looks
  const context = prepare(base, width, height)
  context.putImageData(grid.pixels, 0, 0)
  paintGridWords(context, paper, view, room)
  for (const option of options.children) {
    const index = Number(option.id.slice("head-".length))
    option.setAttribute("aria-selected", String(isHeadChosen(maps, index, view.chosen)))
  }
  paintOver(grid)
  stage.dataset.painted = String(performance.now())
}
