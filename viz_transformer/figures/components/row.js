import { colours } from "./parts/colours.js"
import { announcer, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { keySentences, rowNumbers } from "./parts/row_numbers.js"
import { columnX, paintColumns, paintKey, paintNames } from "./parts/row_painting.js"
import { fieldOf, placeOn, selection } from "./parts/selection.js"
import { contextOf, mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { dimensionAt, isTight, keyAt, placeStrips, widthOf } from "./parts/strips.js"
import { mono } from "./parts/text.js"
import { alone } from "./parts/typing.js"

/** @import { RowNumbers } from "./parts/row_numbers.js" */
/** @import { RowView } from "./parts/row_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Made, Token } from "./parts/types.js" */

// One query against all keys: strips of the keys, of their products with the query, of scores and of weights, a column for each
// key. Arrays: query [E], keys [K, E], scores [K], weights [K], mask [K].

/**
 * `revealed` is the key that was scrolled to.
 * @typedef {{row: RowNumbers, place: RowView["place"], hovered: ?number, revealed: ?number}} State
 * @typedef {State & ReturnType<typeof partsIn>} Row
 */

const HIGHEST = 660 // pixels: no higher in a window of any height

export default (/** @type {Component} */ component) => mount(component, "row", makeRow)

/** @param {HTMLElement} root */
function partsIn(root) {
  const made = stageOf(["base", "over", "aside"]) // the last one stays while columns are scrolled under it
  const foot = element("div", "foot")
  root.append(made.stage, foot)
  return { root, ...made, foot, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeRow(root) {
  const state = /** @type {State} */ ({ hovered: null, revealed: null })
  const row = Object.assign(state, partsIn(root))
  const saved = exports(root, {
    draw: (context) => {
      const [paper, view] = [colours(root), viewOf(row)]
      paintColumns(context, paper, view)
      paintNames(context, paper, view, view.place.width)
      paintKey(context, paper, view)
    },
    size: () => ({ width: row.place.width, height: row.place.height }),
    caption: () => row.row.head.caption,
    name: () => row.row.head.name,
  })
  row.foot.append(saved)
  listen(row)
  return {
    update(payload) {
      row.row = rowNumbers(payload)
      row.hovered = null
      row.stage.setAttribute("aria-label", `${row.row.head.label}. Left and right choose a key, up and down the query.`)
    },
    draw: () => draw(row),
  }
}

/** @type {(row: Row) => RowView} */
const viewOf = ({ row, place }) => ({ row, place, chosen: placeOn(row.head.keys) })

/** @type {(row: Row) => RowView["place"]} */
function placed({ root, base, row: { head, K, E } }) {
  const [z, ruler] = [zoom(root), contextOf(base)]
  const width = z > 1 ? root.clientWidth : widthOf(root.clientWidth, K)
  ruler.font = mono(14 * z)
  const label = (/** @type {Token} */ token) => ruler.measureText(token.note ?? token.text).width
  const widest = head.keys.tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
  const letter = ruler.measureText("m").width
  const height = tallness(root, HIGHEST)
  const room = z > 1 ? height : Number.POSITIVE_INFINITY // on a projector all of it is seen
  const tight = z === 1 && isTight(root.clientWidth, K)
  return { ...placeStrips({ z, width, keys: K, dimensions: E, widest, letter, room, height, tight }), tight }
}

/** @param {Row} row */
function draw(row) {
  const { root, stage, base, aside } = row
  row.place = placed(row)
  const [paper, view] = [colours(root), viewOf(row)]
  const { z, left, width, height } = row.place
  stage.style.height = `${height}px`
  paintColumns(prepare(base, width, height), paper, view)
  const wide = Math.min(width, stage.clientWidth)
  const context = prepare(aside, wide, height)
  context.fillStyle = paper.one("page")
  context.fillRect(0, 30 * z, left - 7 * z, height - 30 * z) // what is scrolled under it is not seen
  paintNames(context, paper, view, wide)
  paintOver(row)
  reveal(row)
  stage.dataset.painted = String(performance.now())
}

/** @param {Row} row */
function paintOver(row) {
  const { root, over, place, hovered } = row
  const [context, paper] = [prepare(over, place.width, place.height), colours(root)]
  paintKey(context, paper, viewOf(row))
  if (hovered === null) return
  const { start, end, cell } = place
  context.lineWidth = 1
  context.strokeStyle = paper.one("muted")
  context.strokeRect(columnX(place, hovered) + 0.5, start + 0.5, Math.max(2, cell - 2), end - start - 1)
}

/**
 * Scroll as little as brings the column of the chosen key into view, when it is another one.
 * @param {Row} row
 */
function reveal(row) {
  const { stage, place, revealed } = row
  const { chosen: k } = viewOf(row)
  if (k === revealed) return
  row.revealed = k
  if (k === null) return
  const [from, to] = [columnX(place, k) - place.left - 8, columnX(place, k) + place.cell + 8]
  if (from < stage.scrollLeft) stage.scrollLeft = from
  else if (to > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = to - stage.clientWidth
}

/** @type {(row: Row, k: ?number, x?: number, y?: number) => void} */
function hover(row, k, x = 0, y = 0) {
  row.hovered = k
  if (k === null) row.tip.hide()
  else row.tip.show(keySentences(row.row, k, dimensionAt(row.place, row.row.E, y)), x - row.stage.scrollLeft, y)
  paintOver(row)
}

/** @type {(row: Row, k: number, settle: number) => void} */
function pick({ row, announce }, k, settle) {
  selection.pick(fieldOf(row.head.keys, k), settle)
  announce(keySentences(row, k, null).join(", "))
}

/** @param {Row} row */
function listen(row) {
  const { stage, tip } = row
  const pointed = (/** @type {MouseEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    const at = x < row.place.left ? x : x + stage.scrollLeft // under the names there is no key
    return { k: keyAt(row.place, row.row.K, at, y), x: at, y }
  }
  stage.onpointermove = (event) => {
    const { k, x, y } = pointed(event)
    hover(row, k, x, y)
  }
  stage.onpointerleave = () => hover(row, null)
  stage.onclick = (event) => {
    const { k } = pointed(event)
    if (k !== null) pick(row, k, 0)
  }
  stage.onkeydown = (event) => {
    if (alone(event) && press(row, event)) event.preventDefault()
  }
  stage.onblur = () => tip.hide()
}

/**
 * Whether the key is one of this picture's.
 * @type {(row: Row, event: KeyboardEvent) => boolean}
 */
function press(row, { key, shiftKey }) {
  const { row: numbers, place, tip } = row
  const { head, K } = numbers
  /** @type {Record<string, number>} */
  const along = { ArrowLeft: -1, ArrowRight: 1, Home: -K, End: K }
  /** @type {Record<string, number>} */
  const down = { ArrowUp: -1, ArrowDown: 1 }
  if (along[key]) {
    const k = Math.min(Math.max((viewOf(row).chosen ?? 0) + along[key] * (shiftKey ? 10 : 1), 0), K - 1)
    pick(row, k, 150)
    row.hovered = null
    reveal(row)
    const x = columnX(place, k) + place.cell / 2 - row.stage.scrollLeft
    tip.show(keySentences(numbers, k, null), x, place.strips.scores.y)
  } else if (down[key]) {
    const now = selection.chosen[head.query.field] ?? head.position
    const to = Math.min(Math.max(now + down[key], 0), (head.query.count ?? 0) - 1)
    selection.pick({ [head.query.field]: to }, 150)
    tip.hide()
  } else {
    if (key === "Escape") tip.hide()
    return false
  }
  return true
}
