import { headAt, headWords, isHeadChosen, isShrunk } from "./grid_maps.js"
import { placeInPlace, placeSorted, sharedKeys } from "./heads.js"
import { dotsNote, ramp, unitAndNotes } from "./legend.js"
import { ring } from "./marks.js"
import { number } from "./numbers.js"
import { mono, sans, shorten } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { ChosenHeads, GridMaps } from "./grid_maps.js" */
/** @import { Item } from "./heads.js" */
/** @import { Context, Score } from "./types.js" */

// What stands around the maps of all heads: title, labels, legend and rings.

/**
 * `rows` and `block` are those of heads in their layers.
 * @typedef {{items: Item[], size: number, z: number, width: number, height: number, byIndex: Map<number, Item>,
 *   rows?: number, block?: number}} GridPlace
 */
/**
 * The heads as they are drawn: sorted by a score or in place, full colour by row or fixed; onPaper: nothing is clicked.
 * @typedef {{maps: GridMaps, place: GridPlace, sorting: ?Score, chosen: ?ChosenHeads, scale: string, ratio: number,
 *   onPaper: boolean}} GridView
 */
/** @typedef {(context: Context, paper: Paper, view: GridView) => void} PaintGrid */

/**
 * The largest thumbnails that fit into the width and the room; on a projector they may have all of it. Beside a map they
 * are followed by what belongs to them.
 * @type {(maps: GridMaps, sorting: ?Score, sequence: number[], room: {z: number, width: number, tall: number}) => GridPlace}
 */
export function placeGrid({ head, layers, heads }, sorting, sequence, { z, width, tall }) {
  const { top, bottom } = head.sizes
  const room = tall - (top + bottom) * z
  const sizes = z > 1 ? { ...head.sizes, most: room / z } : head.sizes
  const given = { layers, heads, sequence, sizes, compact: head.compact }
  const found = sorting ? placeSorted(given, width, room, z) : placeInPlace(given, width, room, z)
  const used = found.used + (top + bottom) * z
  const height = head.compact && z === 1 ? used : Math.max(tall, used)
  return { ...found, z, width, height, byIndex: new Map(found.items.map((item) => [item.index, item])) }
}

/** @type {(place: GridPlace, index: number) => Item} */
export const itemOf = ({ byIndex }, index) => /** @type {Item} */ (byIndex.get(index))

/** @type {(context: Context, paper: Paper, size: number, bold: boolean | undefined, font?: typeof sans) => void} */
function pen(context, paper, size, bold, font = sans) {
  context.font = font(size, bold ? 600 : 400)
  context.fillStyle = paper.one(bold ? "text" : "muted")
}

/** @type {(context: Context, paper: Paper, view: GridView, room: number) => void} */
function heading(context, paper, { maps, place, sorting, onPaper }, room) {
  const { head, layers, heads } = maps
  const { z } = place
  context.textAlign = "left"
  context.textBaseline = "alphabetic"
  pen(context, paper, (head.compact ? 14 : 16) * z, true)
  const whole = context.measureText(head.title).width <= room
  const title = whole ? head.title : shorten(context, head.title.split(",")[0], room) // the kind stands in the bar too
  context.fillText(title, 0, 18 * z)
  const x = context.measureText(title).width + 16 * z
  pen(context, paper, 13 * z, false)
  let says = layers * heads === 1 || onPaper ? "" : "click chooses a head, Ctrl-click adds one of its layer"
  if (sorting) {
    const { layer, number } = headAt(maps, sorting.order[0])
    says = `${sorting.name} from high to low; ${layer}.${number} is ${headWords(maps, sorting.order[0])}`
  }
  if (context.measureText(says).width <= room - x) context.fillText(says, x, 18 * z)
}

/** @type {PaintGrid} */
function labelsInPlace(context, paper, view) {
  const { maps, place, chosen } = view
  const { z, size, rows = 1, block = 0 } = place
  const { head, heads, layers } = maps
  const { line, top, margin, gap, shared } = head.sizes
  const floor = (top + line - shared) * z
  const pitch = size + gap * z
  context.textBaseline = "alphabetic"
  pen(context, paper, 12 * z, false)
  const words = context.measureText(`head ${heads - 1}`).width <= pitch - 4 * z
  pen(context, paper, 12 * z, true)
  const first = context.measureText("head 0").width + context.measureText("1").width <= 2 * pitch - 8 * z
  context.textAlign = "right"
  for (let layer = 0; layer < layers; layer++) {
    pen(context, paper, 12 * z, chosen?.layer === layer)
    const { x, y } = itemOf(place, layer * heads)
    context.fillText(`layer ${layer}`, x - 8 * z, y + size / 2 + 4 * z)
  }
  context.textAlign = "center"
  for (let b = 0; b * rows < layers; b++)
    for (let h = 0; h < heads; h++) {
      const within = chosen && Math.floor(chosen.layer / rows) === b
      pen(context, paper, 12 * z, Boolean(within && (chosen.heads === null || chosen.heads.includes(h))))
      const text = words || (first && h === 0) ? `head ${h}` : String(h)
      context.fillText(text, b * block + margin * z + h * (size + gap * z) + size / 2, floor - 6 * z)
    }
  for (let b = 0; b * rows < layers; b++)
    for (const { key, first, last } of sharedKeys(heads, head.key_heads)) {
      const within = chosen && Math.floor(chosen.layer / rows) === b
      const bold = Boolean(within && chosen.heads?.some((h) => first <= h && h <= last))
      const left = b * block + margin * z + first * pitch
      const right = left + (last - first) * pitch + size
      bracket(context, paper, { z, left, right, floor, name: `key ${key}`, bold })
    }
}

/**
 * A line over the heads that share a head of keys, with its name in the middle where there is room.
 * @param {Context} context
 * @param {Paper} paper
 * @param {{z: number, left: number, right: number, floor: number, name: string, bold: boolean}} over
 */
function bracket(context, paper, { z, left, right, floor, name, bold }) {
  const y = Math.round(floor + 7 * z) + 0.5
  pen(context, paper, 11 * z, bold)
  const words = [name, name.split(" ")[1]].find((each) => context.measureText(each).width <= right - left - 12 * z)
  const room = words === undefined ? 0 : context.measureText(words).width / 2 + 4 * z
  const middle = (left + right) / 2
  context.lineWidth = bold ? 2 : 1
  context.strokeStyle = paper.one(bold ? "text" : "muted")
  context.beginPath()
  for (const [end, inner] of [
    [left, middle - room],
    [right, middle + room],
  ]) {
    context.moveTo(end, y + 5 * z)
    context.lineTo(end, y)
    context.lineTo(inner, y)
  }
  context.stroke()
  if (words === undefined) return
  context.textBaseline = "middle"
  context.fillText(words, middle, y)
  context.textBaseline = "alphabetic"
}

/** @type {(context: Context, paper: Paper, view: GridView, sorting: Score) => void} */
function labelsSorted(context, paper, { maps, place, chosen }, sorting) {
  const { z, size, items } = place
  const text = (size >= 44 * z ? 12 : size >= 36 * z ? 11 : 10) * z
  context.textAlign = "center"
  context.textBaseline = "alphabetic"
  for (const { index, x, y } of items) {
    const { layer, number } = headAt(maps, index)
    const all = chosen?.heads === null && chosen.layer === layer
    pen(context, paper, text, isHeadChosen(maps, index, chosen) || all, mono)
    context.fillText(`${layer}.${number}`, x + size / 2, y + size + 13 * z)
    context.fillStyle = paper.one("text")
    context.fillText(sorting.short[index], x + size / 2, y + size + 25 * z)
  }
}

/** @type {(context: Context, paper: Paper, view: GridView, room: number) => void} */
function legend(context, paper, { maps, place, scale, ratio }, room) {
  const { head, masked, missing, none } = maps
  const { z } = place
  const y = place.height - 13 * z
  context.font = sans(13 * z)
  const unit = context.measureText(head.unit).width
  const length = Math.max(24 * z, Math.min(120 * z, Math.max(60 * z, room - 56 * z - unit), room - 48 * z))
  context.textBaseline = "middle"
  context.textAlign = "left"
  pen(context, paper, 12 * z, false, mono)
  context.fillText("0", 0, y)
  let x = context.measureText("0").width + 8 * z
  ramp(context, paper.scale(head.kind), x, y, length, z)
  x += length + 8 * z
  const end = scale === "row" ? "row maximum" : "1"
  context.fillStyle = paper.one("muted")
  context.fillText(end, x, y)
  x += context.measureText(end).width + 16 * z
  context.font = sans(13 * z)
  const notes = []
  if (isShrunk(maps, place.size * ratio)) notes.push("max-pooled: a pixel shows its largest weight")
  if (scale === "fixed" && head.full > 1) notes.push(`weights above 1 (up to ${number(head.full, 2)}) as 1`)
  if (masked) notes.push("hatched: masked")
  if (missing) notes.push("blank: not there")
  if (none) x = dotsNote(context, paper, "not a number", x, y, z)
  if (unit <= room - x) context.fillText(unitAndNotes(context, head.unit, notes, room - x, "; "), x, y)
}

/** @type {(context: Context, paper: Paper, view: GridView, room: {top: number, bottom: number}) => void} */
export function paintGridWords(context, paper, view, { top, bottom }) {
  const { items, size } = view.place
  context.lineWidth = 1
  context.strokeStyle = paper.one("line")
  for (const { x, y } of items) context.strokeRect(x - 0.5, y - 0.5, size + 1, size + 1)
  if (view.sorting) labelsSorted(context, paper, view, view.sorting)
  else labelsInPlace(context, paper, view)
  heading(context, paper, view, top)
  legend(context, paper, view, bottom)
}

/**
 * Rings around what is chosen: heads, or the whole layer, of which the mean or the maximum is.
 * @type {PaintGrid}
 */
export function paintHeadsChosen(context, paper, { maps, place, sorting, chosen }) {
  if (!chosen) return
  const { items, size } = place
  if (chosen.heads) {
    for (const { index, x, y } of items) if (isHeadChosen(maps, index, chosen)) ring(context, paper, x, y, size, size)
  } else if (!sorting) {
    const { x, y } = itemOf(place, chosen.layer * maps.heads)
    ring(context, paper, x, y, itemOf(place, chosen.layer * maps.heads + maps.heads - 1).x + size - x, size)
  }
}
