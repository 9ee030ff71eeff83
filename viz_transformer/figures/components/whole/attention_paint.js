import { ring } from "../parts/marks.js"
import { sans, wrappedTo } from "../parts/text.js"
import {
  cellNow,
  chosenHead,
  formulasOf,
  GRID_NAMES,
  GRID_ORDER,
  keyStackNow,
  numberBelow,
} from "../parts/whole_attention.js"
import { cellOf, rowIn } from "../parts/whole_attention_places.js"
import { siteOf } from "../parts/whole_levels.js"
import { leastName, namedAmong } from "../parts/whole_names.js"
import { drawCells, drawWay, say } from "./draw.js"

/** @import { Paper, Scale } from "../parts/colours.js" */
/** @import { Context, WholeStack } from "../parts/types.js" */
/** @import { AttentionDetail, Levels } from "../parts/whole_attention.js" */
/** @import { AttentionPlaces, Grid, GridName } from "../parts/whole_attention_places.js" */
/** @import { GridFound } from "../parts/whole_choices.js" */
/** @import { Box } from "../parts/whole_levels.js" */
/** @import { WholeView } from "./view.js" */

/** What an attention is drawn from.
 * @typedef {{view: WholeView, place: AttentionPlaces, paper: Paper, detail: ?AttentionDetail, levels: Levels}} AttentionLook */

const [LEAST_REMARK, REMARK_LINES] = [200, 4]
const ATTENTION_VEIL = 0.85 // how much of what is not computed yet is hidden

/** @param {Context} context @param {AttentionLook} look */
export function paintAttentionStill(context, look) {
  const { view, place, paper, detail, levels } = look
  const { z } = place
  const { stack } = siteOf(view.head, view.chosen)
  paintMaps(context, look)
  paintRemarks(context, look)
  for (const name of GRID_ORDER) {
    const cells = detail ? levels[name] : undefined
    if (cells) drawCells(context, paper, place[name], scaleOf(look, name), cells, restOf(name))
    else {
      const { x, y, width, height } = place[name]
      context.strokeStyle = paper.one("line")
      context.lineWidth = 1
      context.strokeRect(x, y, width, height)
    }
    paintGridTitle(context, look, name)
  }
  for (const { x, text } of place.signs)
    if (text)
      say(context, text, x, place.top + Math.min(place.query.height, place.key.height, 60 * z) / 2, {
        size: 16 * z,
        colour: paper.one("muted"),
        align: "center",
        weight: 600,
      })
  const { row, column } = cellNow(view)
  paintLabels(context, look, stack, { ...place.queryLabels, grid: place.query, now: row })
  paintLabels(context, look, keyStackNow(view), { ...place.keyLabels, grid: place.key, now: column })
}

/** The scale of a matrix; the mask has one colour. @param {AttentionLook} look @param {GridName} name @returns {Scale} */
function scaleOf({ view, paper }, name) {
  if (name === "mask") return { css: () => paper.one("line"), pixels: new Uint32Array(1024).fill(paper.pixel("line")) }
  return paper.scale(name === "weights" ? siteOf(view.head, view.chosen).part.kind : "diverging")
}
/** The level of a matrix that is farthest from being seen. @param {GridName} name */
const restOf = (name) => (name === "mask" || name === "weights" ? 0 : 0.5)

/** The maps of all heads, small. @param {Context} context @param {AttentionLook} look */
function paintMaps(context, { view, place, paper, detail }) {
  const { z } = place
  const array = detail?.arrays.maps
  const scale = paper.scale(siteOf(view.head, view.chosen).part.kind)
  const head = chosenHead(view)
  place.heads.forEach((box, n) => {
    context.fillStyle = scale.css(0)
    context.fillRect(box.x, box.y, box.width, box.height)
    if (array) {
      const [, rows, columns] = array.shape
      const from = n * rows * columns
      drawCells(context, paper, { ...box, rows, columns }, scale, array.values.subarray(from, from + rows * columns))
    }
    if (box.width >= 26 * z)
      say(context, `${box.width >= 54 * z ? "head " : ""}${n}`, box.x, 8 * z, {
        size: 12 * z,
        colour: paper.one(n === head ? "text" : "muted"),
        weight: n === head ? 600 : 400,
      })
  })
}

/** What is unusual in this model, beside the maps. @param {Context} context @param {AttentionLook} look */
function paintRemarks(context, { place, paper, detail }) {
  const { z } = place
  const last = place.heads[place.heads.length - 1]
  const x = last.x + last.width + 28 * z
  if (place.width - x < LEAST_REMARK * z) return
  const said = (detail?.header.remarks ?? []).join(" ")
  context.font = sans(13 * z)
  wrappedTo(context, said, place.width - x, REMARK_LINES).forEach((line, n) =>
    say(context, line, x, (22 + n * 17) * z, { size: 13 * z, colour: paper.one("muted") }),
  )
}

/** The name of a matrix, what it is, and the number of it that is looked at.
 * @param {Context} context
 * @param {AttentionLook} look
 * @param {GridName} name */
function paintGridTitle(context, { view, place, paper, detail }, name) {
  const { z } = place
  const grid = place[name]
  const next = GRID_ORDER[GRID_ORDER.indexOf(name) + 1]
  const width = (next ? place[next].x : place.width) - grid.x - 6 * z
  const colour = paper.one("text")
  say(context, GRID_NAMES[name], grid.x, grid.y - 30 * z, { size: 13 * z, colour, weight: 600, width })
  context.font = sans(12 * z)
  const formulas = formulasOf(detail, name)
  const formula = formulas.find((each) => context.measureText(each).width <= width) ?? formulas[formulas.length - 1]
  say(context, formula, grid.x, grid.y - 14 * z, { size: 12 * z, colour: paper.one("muted"), width })
  const said = numberBelow(view, detail, name)
  if (said) say(context, said, grid.x, grid.y + grid.height + 14 * z, { size: 14 * z, colour, weight: 600, code: true })
}

/**
 * The tokens beside a matrix, and always the one that is looked at.
 * @param {Context} context
 * @param {AttentionLook} look
 * @param {WholeStack} stack
 * @param {{x: number, width: number, grid: Grid, now: ?number}} where
 */
function paintLabels(context, { place: { z }, paper }, stack, { x, width, grid, now }) {
  const row = grid.height / grid.rows
  const least = leastName(z)
  const size = Math.min(13 * z, Math.max(row * 0.85, least))
  const first = now === null ? [] : [now]
  for (const n of namedAmong(stack.tokens.length, row, row * 0.85 < least ? size : 0, first)) {
    const marked = n === now
    say(context, stack.tokens[n].text, x + width, grid.y + (n + 0.5) * row, {
      size: marked ? Math.max(size, 12 * z) : size,
      colour: paper.one(stack.ink),
      weight: marked ? 600 : 400,
      align: "right",
      width,
      code: true,
    })
  }
}

/** @param {Context} context @param {AttentionLook} look */
export function paintAttentionNow(context, look) {
  const { view, place, paper } = look
  const around = (/** @type {Box} */ { x, y, width, height }) =>
    ring(context, paper, x - 1, y - 1, width + 2, height + 2)
  const frame = (/** @type {Box} */ { x, y, width, height }) => {
    context.strokeStyle = paper.one("text")
    context.lineWidth = 1
    context.strokeRect(x, y, width, height)
  }
  around(place.heads[chosenHead(view)])
  const { row, column } = cellNow(view)
  for (const name of /** @type {const} */ (["query", "output"])) around(rowIn(place[name], row))
  if (column !== null) for (const name of /** @type {const} */ (["key", "value"])) around(rowIn(place[name], column))
  for (const name of /** @type {const} */ (["scores", "mask", "weights"])) {
    frame(rowIn(place[name], row))
    if (column !== null) around(cellOf(place[name], row, column))
  }
  const hovered = /** @type {?GridFound} */ (view.hovered)
  if (hovered?.grid) frame(cellOf(place[hovered.grid], hovered.row, hovered.column))
  paintAttentionVeil(context, look)
}

/** What the step has not come to. @param {Context} context @param {AttentionLook} look */
function paintAttentionVeil(context, { view, place, paper }) {
  const through = view.through
  if (through >= 1) return
  context.globalAlpha = ATTENTION_VEIL
  context.fillStyle = paper.one("page")
  const front = through * place.width
  const top = place.top - 40 * place.z
  context.fillRect(front, top, place.width - front, place.height - top)
  context.globalAlpha = 1
  context.strokeStyle = paper.one("line")
  drawWay(context, [
    [front, top],
    [front, place.height],
  ])
}
