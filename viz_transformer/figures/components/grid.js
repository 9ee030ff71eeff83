import { choiceOf, element } from "./parts/elements.js"
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
import { hover, hush, plot, takeLooks, tell } from "./parts/plot.js"
import { roomOf } from "./parts/printing.js"
import { selection } from "./parts/selection.js"
import { prepare, sharpness, tallness } from "./parts/stage.js"

/** @import { Paper } from "./parts/colours.js" */
/** @import { GridMaps } from "./parts/grid_maps.js" */
/** @import { GridPlace, GridView } from "./parts/grid_painting.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Payload, Score } from "./parts/types.js" */

// All heads of one kind of attention as small maps. Header: tokens [Q, K] before pooling; key_heads, how many heads of keys the
// heads of a layer share. Arrays: tops [L, H, Q'], the largest of each row as a share of `full`; roots [L, H, Q', K'], `most`
// times the root of each cell's share of that; masked, missing (no number in the run) and none (not a number) [Q', K'] or
// [L, H, Q', K'].

/**
 * `sorting` is a score, or null for in place; the selection's `sort` names it. A head is layer * heads + head; the one under
 * the pointer or the keys is `hovered`, and `cursor` the one that the arrow keys go on from.
 * @typedef {{maps: GridMaps, pixels: ImageData, sorting: ?Score, cursor: ?number, options: HTMLElement, order: HTMLElement,
 *   select: HTMLSelectElement, scales: ReturnType<typeof choiceOf>}} State
 * @typedef {Plot<GridPlace, number> & State} Grid
 */

const IN_PLACE = "in place"
const KEYS = "Arrow keys move, Enter chooses a head, Control and Enter adds or removes one of the same layer."

/** @type {Picture<Grid, GridView, number>} */
export const gridPicture = {
  name: "grid",
  begin,
  read,
  head: ({ maps }) => maps.head,
  layout,
  view: ({ root, maps, place, sorting }) => ({
    maps,
    place,
    sorting,
    chosen: headsChosen(maps, selection.chosen),
    scale: scaleNow(),
    ratio: sharpness(root),
    onPaper: Boolean(roomOf(root)),
  }),
  paint,
  paintOver(context, paper, view, index) {
    paintHeadsChosen(context, paper, view)
    const { maps, place, chosen } = view
    const item = index === null ? null : place.byIndex.get(index)
    if (!item) return
    const out = isHeadChosen(maps, item.index, chosen) ? 2.5 : 0.5
    context.lineWidth = 1
    context.strokeStyle = paper.one("text")
    context.strokeRect(item.x - out, item.y - out, place.size + 2 * out, place.size + 2 * out)
  },
  save(context, paper, _, view) {
    const { width: w, height: h } = view.place
    const pixels = gridPixels(view.maps, paper, view.place, 2, view.scale === "row")
    paintPixels(context, pixels, { left: 0, top: 0, w, h })
    paintGridWords(context, paper, { ...view, ratio: 2 }, { top: w, bottom: w })
    paintHeadsChosen(context, paper, view)
  },
  savedSize: ({ root, place }) => ({ width: root.clientWidth, height: place.height }),
  hit: ({ place: { items, size, z }, sorting }, x, y) => itemAt(items, size, sorting ? 24 * z : 1, x, y)?.index ?? null,
  describe: ({ maps, sorting }, index) => headSentences(maps, sorting, index),
  at({ place }, index) {
    const { x, y } = itemOf(place, index)
    return { x: x + place.size - 8, y: y + place.size - 8 }
  },
  show(grid, lines, index, x, y) {
    grid.cursor = index
    grid.stage.setAttribute("aria-activedescendant", idOf(index))
    grid.tip.show(lines, x, y)
  },
  keys({ place }, event, from) {
    if (adds(event) || !/^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) return null
    return headBeside(place.items, itemOf(place, from), place.size, event.key)
  },
  choose: (grid, index) => pick(grid, index, false),
  click(grid, index, _, event) {
    if (index !== null) pick(grid, index, adds(event))
  },
  listen(grid) {
    const { stage } = grid
    stage.addEventListener("pointermove", () => {
      stage.style.cursor = grid.hovered === null ? "default" : "pointer"
    })
    stage.onkeydown = (event) => {
      if (!event.altKey && press(grid, event)) event.preventDefault()
    }
    stage.onfocus = () => {
      if (stage.matches(":focus-visible")) hover(grid, start(grid))
    }
    stage.onblur = () => hover(grid, null)
  },
}

export default (/** @type {Component} */ component) => plot(component, gridPicture)

/** @type {(grid: Grid, menu: HTMLElement) => void} */
function begin(grid, menu) {
  const { stage, base, over, foot } = grid
  const options = element("div", "unseen")
  const order = element("label", "order", "sort ")
  const select = element("select", "quiet")
  options.setAttribute("role", "presentation")
  stage.setAttribute("role", "listbox")
  stage.setAttribute("aria-multiselectable", "true")
  for (const canvas of [base, over]) canvas.setAttribute("aria-hidden", "true")
  stage.append(options)
  order.append(select)
  stage.before(order)
  const scales = choiceOf("Colour scale", SCALES.slice(0, 2), (scale) => selection.pick({ scale }, 150))
  foot.append(scales.box, menu)
  select.onchange = () => {
    selection.pick({ sort: select.value === IN_PLACE ? "" : select.value }, 150)
    sort(grid)
    grid.announce(grid.sorting ? `Sorted by ${grid.sorting.name}, high to low` : "In place")
  }
  Object.assign(grid, { options, order, select, scales, sorting: null, cursor: null })
}

const scaleNow = () => (selection.chosen.scale === "row" ? "row" : "fixed")
const idOf = (/** @type {number} */ index) => `head-${index}`

/**
 * Follow the selection's `sort`.
 * @param {Grid} grid
 */
function sort(grid) {
  const wanted = grid.maps.head.scores.find(({ name }) => name === selection.chosen.sort) ?? null
  if (wanted?.name === grid.sorting?.name) return
  Object.assign(grid, { sorting: wanted, hovered: null })
  hush(grid)
  grid.select.value = wanted?.name ?? IN_PLACE
  list(grid)
}

/**
 * One hidden option for each head, in the order that is seen: what screen readers walk through.
 * @param {Grid} grid
 */
function list(grid) {
  const made = sequenceOf(grid.maps, grid.sorting).map((index) => {
    const option = element("div", "", headSentences(grid.maps, grid.sorting, index).join(", "))
    option.id = idOf(index)
    option.setAttribute("role", "option")
    return option
  })
  grid.options.replaceChildren(...made)
}

// ---- choosing

/** @type {(grid: Grid, index: number, more: boolean) => void} */
function pick(grid, index, more) {
  const { head } = grid.maps
  const { layer } = headAt(grid.maps, index)
  const wanted = headsWith(grid.maps, index, headsChosen(grid.maps, selection.chosen), more)
  if (wanted.length > head.most_heads) {
    const full = `${head.most_heads} heads at most can be chosen together`
    hover(grid, index)
    const view = gridPicture.view(grid)
    const { x, y } = gridPicture.at(view, index)
    grid.tip.show([...gridPicture.describe(view, index), full], x, y)
    grid.announce(full)
    return
  }
  selection.pick({ ...(selection.chosen.kind !== head.kind && { kind: head.kind }), layer, heads: wanted })
  grid.announce(`${wanted.length > 1 ? "heads" : "head"} ${wanted.join(", ")} of layer ${layer} chosen`)
}

/** @param {Grid} grid */
function start({ maps, cursor, sorting }) {
  if (cursor !== null) return cursor
  const what = headsChosen(maps, selection.chosen)
  return what ? what.layer * maps.heads + Math.min(what.heads?.[0] ?? 0, maps.heads - 1) : sequenceOf(maps, sorting)[0]
}

const adds = (/** @type {MouseEvent | KeyboardEvent} */ event) => event.ctrlKey || event.metaKey || event.shiftKey

/**
 * Whether the key is one of this picture's.
 * @type {(grid: Grid, event: KeyboardEvent) => boolean}
 */
function press(grid, event) {
  const here = start(grid)
  const to = gridPicture.keys(gridPicture.view(grid), event, here)
  if (event.key === "Enter" || event.key === " ") {
    hover(grid, here)
    pick(grid, here, adds(event))
  } else if (to !== null) hover(grid, to)
  else {
    if (event.key === "Escape") hover(grid, null)
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
function read(grid, payload) {
  const before = grid.maps
  const maps = gridMaps(payload)
  const same = before?.layers === maps.layers && before.heads === maps.heads && before.head.kind === maps.head.kind
  grid.maps = maps
  if (!same) {
    Object.assign(grid, { hovered: null, cursor: null })
    hush(grid)
  }
  grid.sorting = maps.head.scores.find(({ name }) => name === grid.sorting?.name) ?? null
  offer(grid)
  grid.stage.setAttribute("aria-label", `${maps.head.label}. ${KEYS}`)
  list(grid)
  grid.scales.press(scaleNow())
  if (grid.hovered !== null) tell(grid, grid.hovered, grid.told ?? undefined)
}

/** @type {(grid: Grid, room: Room) => GridPlace} */
function layout(grid, { z, width }) {
  sort(grid)
  grid.scales.press(scaleNow())
  const { root, maps, sorting, select } = grid
  select.title = sorting ? `${sorting.name}: ${sorting.explanation}` : "Sort the heads by a score"
  const tall = z > 1 || maps.head.compact ? tallness(root, maps.head.height) : maps.head.height
  return placeGrid(maps, sorting, sequenceOf(maps, sorting), { z, width, tall })
}

/** @type {(grid: Grid, paper: Paper, view: GridView) => void} */
function paint(grid, paper, view) {
  const { base, maps, order, foot, options } = grid
  const { width, height, z } = view.place
  const room = {
    top: width - (maps.head.scores.length ? order.offsetWidth + 12 * z : 0),
    bottom: width - foot.offsetWidth - 8 * z,
  }
  if (takeLooks(grid, paper, [view.scale, view.sorting?.name]))
    grid.pixels = gridPixels(maps, paper, view.place, view.ratio, view.scale === "row")
  const context = prepare(base, width, height)
  context.putImageData(grid.pixels, 0, 0)
  paintGridWords(context, paper, view, room)
  for (const option of options.children) {
    const index = Number(option.id.slice("head-".length))
    option.setAttribute("aria-selected", String(isHeadChosen(maps, index, view.chosen)))
  }
}
