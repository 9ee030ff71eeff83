import { element } from "./parts/elements.js"
import { choose, hush, plot } from "./parts/plot.js"
import { keySentences, rowNumbers } from "./parts/row_numbers.js"
import { columnX, paintColumns, paintKey, paintNames } from "./parts/row_painting.js"
import { fieldOf, placeOn, selection } from "./parts/selection.js"
import { prepare, tallness } from "./parts/stage.js"
import { dimensionAt, isTight, keyAt, placeStrips, widthOf } from "./parts/strips.js"
import { mono } from "./parts/text.js"

/** @import { Paper } from "./parts/colours.js" */
/** @import { Picture, Plot, Room } from "./parts/plot.js" */
/** @import { RowNumbers } from "./parts/row_numbers.js" */
/** @import { RowView } from "./parts/row_painting.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Token } from "./parts/types.js" */

// One query against all keys: strips of the keys, of their products with the query, of scores and of weights, a column for each
// key. Arrays: query [E], keys [K, E], scores [K], weights [K], mask [K].

/**
 * A key, and the dimension of it that is pointed at.
 * @typedef {{k: number, dimension: ?number}} KeyItem
 * `aside` stays while columns are scrolled under it, `revealed` is the key that was scrolled to.
 * @typedef {{row: RowNumbers, aside: HTMLCanvasElement, revealed: ?number}} State
 * @typedef {Plot<RowView["place"], KeyItem> & State} Row
 */

const HIGHEST = 660 // pixels: no higher in a window of any height

/** @type {Picture<Row, RowView & {scrolled: number}, KeyItem>} */
export const rowPicture = {
  name: "row",
  begin(row, menu) {
    row.aside = element("canvas", "aside")
    row.stage.append(row.aside)
    row.foot.append(menu)
    row.revealed = null
  },
  read(row, payload) {
    row.row = rowNumbers(payload)
    row.hovered = null
    row.stage.setAttribute("aria-label", `${row.row.head.label}. Left and right choose a key, up and down the query.`)
  },
  head: ({ row }) => row.head,
  layout: placed,
  view: ({ row, place, stage }) => ({ row, place, chosen: placeOn(row.head.keys), scrolled: stage.scrollLeft }),
  paint,
  paintOver(context, paper, view, item) {
    paintKey(context, paper, view)
    if (!item) return
    const { start, end, cell } = view.place
    context.lineWidth = 1
    context.strokeStyle = paper.one("muted")
    context.strokeRect(columnX(view.place, item.k) + 0.5, start + 0.5, Math.max(2, cell - 2), end - start - 1)
  },
  drawn: (row) => reveal(row, rowPicture.view(row).chosen),
  save(context, paper, _, view) {
    paintColumns(context, paper, view)
    paintNames(context, paper, view, view.place.width)
    paintKey(context, paper, view)
  },
  hit({ row, place, scrolled }, x, y) {
    const k = keyAt(place, row.K, x < place.left ? x : x + scrolled, y) // under the names there is no key
    return k === null ? null : { k, dimension: dimensionAt(place, row.E, y) }
  },
  describe: ({ row }, { k, dimension }) => keySentences(row, k, dimension),
  at: ({ place, scrolled }, { k }) => ({ x: columnX(place, k) + place.cell / 2 - scrolled, y: place.strips.scores.y }),
  keys({ row: { K }, chosen }, { key, shiftKey }) {
    /** @type {Record<string, number>} */
    const along = { ArrowLeft: -1, ArrowRight: 1, Home: -K, End: K }
    if (!along[key]) return null
    const k = Math.min(Math.max((chosen ?? 0) + along[key] * (shiftKey ? 10 : 1), 0), K - 1)
    return { k, dimension: null }
  },
  choose: ({ row }, { k }, settle) => selection.pick(fieldOf(row.head.keys, k), settle),
  click(row, item) {
    if (item) choose(row, { ...item, dimension: null }, 0)
  },
  reveal: (row, { k }) => reveal(row, k),
  press(row, { key }) {
    /** @type {Record<string, number>} */
    const down = { ArrowUp: -1, ArrowDown: 1 }
    if (!down[key]) return false
    const { query, position } = row.row.head
    const now = selection.chosen[query.field] ?? position
    selection.pick({ [query.field]: Math.min(Math.max(now + down[key], 0), (query.count ?? 0) - 1) }, 150)
    hush(row)
    return true
  },
}

export default (/** @type {Component} */ component) => plot(component, rowPicture)

/** @type {(row: Row, room: Room) => RowView["place"]} */
function placed({ root, row: { head, K, E } }, { z, width: wide, ruler }) {
  const width = z > 1 ? wide : widthOf(wide, K)
  ruler.font = mono(14 * z)
  const label = (/** @type {Token} */ token) => ruler.measureText(token.note ?? token.text).width
  const widest = head.keys.tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
  const letter = ruler.measureText("m").width
  const height = tallness(root, HIGHEST)
  const room = z > 1 ? height : Number.POSITIVE_INFINITY // on a projector all of it is seen
  const tight = z === 1 && isTight(wide, K)
  return { ...placeStrips({ z, width, keys: K, dimensions: E, widest, letter, room, height, tight }), tight }
}

/** @type {(row: Row, paper: Paper, view: RowView) => void} */
function paint({ stage, base, aside }, paper, view) {
  const { z, left, width, height } = view.place
  paintColumns(prepare(base, width, height), paper, view)
  const wide = Math.min(width, stage.clientWidth)
  const context = prepare(aside, wide, height)
  context.fillStyle = paper.one("page")
  context.fillRect(0, 30 * z, left - 7 * z, height - 30 * z) // what is scrolled under it is not seen
  paintNames(context, paper, view, wide)
}

/**
 * Scroll as little as brings the column of a key into view, when it is another one.
 * @type {(row: Row, k: ?number) => void}
 */
function reveal(row, k) {
  const { stage, place, revealed } = row
  row.revealed = k
  if (k === null || k === revealed) return
  const [from, to] = [columnX(place, k) - place.left - 8, columnX(place, k) + place.cell + 8]
  if (from < stage.scrollLeft) stage.scrollLeft = from
  else if (to > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = to - stage.clientWidth
}
