import { middleOf, placeLegend, placeSides, shiftOf, takeApart } from "./axes.js"
import { tokenInk } from "./axis_labels.js"
import { rowLabels } from "./cells.js"
import { FAINT, FAINT_ROWS, isFaint } from "./hidden.js"
import { hasFaintRows, isJoined, isLater, isUnknown, lineAt, linesOfToken, shownLines } from "./lines_map.js"
import { dotted } from "./marks.js"
import { share } from "./numbers.js"
import { isolated, mono, sans, shorten, wrappedTo } from "./text.js"

/** @import { LegendPart, Side, Sides } from "./axes.js" */
/** @import { Paper } from "./colours.js" */
/** @import { LineMaps, LinesNow, Looked } from "./lines_map.js" */
/** @import { Axis, Context, Ruler, Token } from "./types.js" */

// Lines from queries to keys, as opaque as their weights, with the tokens at both sides and what they mean.

/** @typedef {Sides & {title: string[], legend: {parts: LegendPart[], rows: number}}} LinesPlace */
/**
 * `looked` is the token or the line that is looked at.
 * @typedef {{maps: LineMaps, now: LinesNow, place: LinesPlace, looked?: ?Looked}} LinesView
 */

const [FAINTEST, GAMMA] = [0.06, 0.7]
/** @type {(weight: number, hidden?: number) => number} */
const opacityOf = (weight, hidden) =>
  (FAINTEST + (1 - FAINTEST) * Math.min(1, weight) ** GAMMA) * (isFaint(hidden) ? FAINT : 1)

/** @type {(ruler: Ruler, maps: LineMaps, room: {z: number, width: number, height: number}) => LinesPlace} */
export function placeLines(ruler, { head, N, Q, K, strange }, { z, width, height }) {
  ruler.font = sans(16 * z, 600)
  const title = wrappedTo(ruler, head.title, width - 8, 2)
  ruler.font = mono(14 * z, 600)
  const wide = (/** @type {Token} */ { text, note }) =>
    ruler.measureText(note ?? text).width + (note === undefined ? 0 : ruler.measureText(text).width * 0.66 + 6)
  const widestOf = (/** @type {Axis} */ { tokens }) =>
    tokens.reduce((widest, token) => Math.max(widest, wide(token)), 0)
  const widest = { queries: widestOf(head.queries), keys: widestOf(head.keys) }
  const most = 14 * ruler.measureText("m").width
  ruler.font = sans(13 * z)
  const words = {
    heads: head.heads.map((text, n) => ({ text, colour: head.colours[n] })),
    scale: `${head.unit}: the more, the stronger the line`,
    dotted: strange,
    last: hasFaintRows(head) ? FAINT_ROWS : undefined,
  }
  const legend = placeLegend(words, ruler, z, width)
  const counts = { queries: Q, keys: K }
  const given = { z, width, height, widest, most, counts, heads: N, lines: title.length, legend: legend.rows }
  return { ...placeSides(given), title, legend }
}

/** @type {(context: Context, view: LinesView, n: number, q: number, k: number) => void} */
function strokeLine(context, { maps, place }, n, q, k) {
  const shift = shiftOf(place, n, maps.N)
  context.beginPath()
  context.moveTo(place.left, middleOf(place, "queries", q) + shift)
  context.lineTo(place.right, middleOf(place, "keys", k) + shift)
  context.stroke()
}

/** @type {(context: Context, paper: Paper, view: LinesView) => void} */
export function paintLines(context, paper, view) {
  const { maps, now, place } = view
  const { head, weights, lines, Q } = maps
  const inks = head.colours.map(paper.one)
  context.lineWidth = place.thick
  for (let i = shownLines(maps, now.threshold) - 1; i >= 0; i--) {
    const [n, q, k] = lineAt(maps, i)
    if (!isJoined(maps, now, q, k)) continue
    context.strokeStyle = inks[n]
    context.globalAlpha = opacityOf(weights[lines.order[i]], head.hidden?.[n][q])
    strokeLine(context, view, n, q, k)
  }
  context.globalAlpha = 1
  if (!maps.strange) return
  const { z, left, rows } = place
  const tall = Math.max(3, Math.min(12 * z, rows.queries - 1))
  for (let q = 0; q < Q; q++)
    if (isUnknown(maps, q) && !isLater(maps, now, "queries", q))
      dotted(context, paper, left + 1, middleOf(place, "queries", q) - tall / 2, 24 * z, tall)
}

/**
 * The tokens of one side; where rows are lower than letters, those that matter most are written first.
 * @type {(context: Context, paper: Paper, view: LinesView, side: Side) => void}
 */
function sideTokens(context, paper, view, side) {
  const { maps, now, place, looked } = view
  const { z, left, right, width, rows } = place
  const isQueries = side === "queries"
  const { tokens } = maps.head[side]
  const { size, every } = rowLabels(rows[side], z)
  const picked = isQueries ? now.q : now.k
  const own = isQueries ? looked?.q : looked?.k
  const partners = looked ? linesOfToken(maps, now, looked).map(([, q, k]) => (isQueries ? q : k)) : []
  partners.reverse()
  const bright = new Set(own === undefined ? partners : [own])
  const take = takeApart(tokens.length, every)
  context.textAlign = isQueries ? "right" : "left"
  context.textBaseline = "middle"
  const at = {
    sign: isQueries ? -1 : 1,
    edge: isQueries ? left : right,
    room: (isQueries ? left : width - right) - 14 * z,
  }
  const write = (/** @type {?number | undefined} */ n) => {
    if (n === undefined || n === null || isLater(maps, now, side, n) || !take(n)) return
    context.globalAlpha = !looked || bright.has(n) || n === picked ? 1 : 0.4
    const look = { ...at, z, size, ink: maps.head[side].ink, bold: n === picked, underlined: own === n }
    sideToken(context, paper, tokens[n], middleOf(place, side, n), look)
  }
  for (const n of [own, picked, ...(every > 1 && own === undefined ? partners : [])]) write(n)
  for (let n = 0; n < tokens.length; n += every) write(n)
  context.globalAlpha = 1
}

/**
 * @param {Context} context
 * @param {Paper} paper
 * @param {Token} token
 * @param {number} y
 * @param {{sign: number, edge: number, room: number, z: number, size: number, ink: string, bold: boolean,
 *   underlined: boolean}} look
 */
function sideToken(context, paper, token, y, { sign, edge, room, z, size, ink, bold, underlined }) {
  const { text, note } = token
  const x = edge + sign * 10 * z
  context.font = mono(size, bold ? 600 : 400)
  context.fillStyle = tokenInk(paper, token, bold ? "text" : ink)
  const main = isolated(shorten(context, note ?? text, note === undefined ? room : room * 0.7))
  context.fillText(main, x, y)
  const end = context.measureText(main).width
  if (bold) context.fillRect(edge + sign * 3 * z - z, y - size * 0.6, 2 * z, size * 1.2)
  if (underlined) context.fillRect(Math.min(x, x + sign * end), y + size * 0.62, end, 1)
  if (note === undefined) return
  context.font = mono(size * 0.66)
  context.fillStyle = paper.one("muted")
  context.fillText(isolated(shorten(context, text, room - end - 5)), x + sign * (end + 5), y)
}

/** @type {(context: Context, paper: Paper, view: LinesView) => void} */
function linesFrame(context, paper, { maps, place }) {
  const { z, width, title, top } = place
  const { queries, keys } = maps.head
  context.textBaseline = "alphabetic"
  context.textAlign = "left"
  context.font = sans(16 * z, 600)
  context.fillStyle = paper.one("text")
  title.forEach((line, i) => context.fillText(line, 0, (20 + 22 * i) * z))
  context.font = sans(13 * z)
  context.fillStyle = paper.one(queries.ink)
  context.fillText(shorten(context, queries.axis, width / 2 - 8), 0, top - 14 * z)
  context.textAlign = "right"
  context.fillStyle = paper.one(keys.ink)
  context.fillText(shorten(context, keys.axis, width / 2 - 8), width, top - 14 * z)
  context.textAlign = "left"
  context.textBaseline = "middle"
  const ink = maps.N > 1 ? "text" : maps.head.colours[0]
  for (const part of place.legend.parts) legendPart(context, paper, place, part, ink)
}

/** @type {(context: Context, paper: Paper, place: LinesPlace, part: LegendPart, ink: string) => void} */
function legendPart(context, paper, { z, height, legend }, { text, colour, ramp, dots, start, x, row, size }, ink) {
  const y = height - ((legend.rows - row) * 20 - 8) * z
  if (ramp) {
    context.font = mono(12 * z)
    context.fillStyle = paper.one("muted")
    context.fillText("0", x, y)
    context.fillText("1", x + 88 * z, y)
    context.fillStyle = paper.one(ink)
    for (let i = 0; i < 24; i++) {
      context.globalAlpha = opacityOf(i / 23)
      context.fillRect(x + (12 + 3 * i) * z, y - 4 * z, 3 * z, 8 * z)
    }
    context.globalAlpha = 1
  }
  if (dots) dotted(context, paper, x, y - 6 * z, 20 * z, 12 * z)
  if (colour) {
    context.fillStyle = paper.one(colour)
    context.fillRect(x, y - 1.5 * z, 20 * z, 3 * z)
  }
  context.font = sans(13 * z)
  context.fillStyle = paper.one(colour ? "text" : "muted")
  context.fillText(shorten(context, text, size - start), x + start, y)
}

/** @type {(context: Context, paper: Paper, view: LinesView) => void} */
export function paintSides(context, paper, view) {
  sideTokens(context, paper, view, "queries")
  sideTokens(context, paper, view, "keys")
  const { looked, maps } = view
  if (maps.N === 1 && looked && (looked.q === undefined || looked.k === undefined))
    farWeights(context, paper, view, looked)
  linesFrame(context, paper, view)
}

/**
 * The lines of what is looked at; those of one pair stand out from all others.
 * @type {(context: Context, paper: Paper, view: LinesView, looked: Looked) => void}
 */
export function paintLooked(context, paper, view, looked) {
  const { maps, now, place } = view
  const { head } = maps
  const isPair = looked.q !== undefined && looked.k !== undefined
  for (const [n, q, k, weight] of linesOfToken(maps, now, looked)) {
    if (isPair) {
      context.strokeStyle = paper.one("page")
      context.globalAlpha = 1
      context.lineWidth = place.thick * 4
      strokeLine(context, view, n, q, k)
    }
    context.lineWidth = place.thick * (isPair ? 2 : 1)
    context.strokeStyle = paper.one(head.colours[n])
    const opacity = opacityOf(weight, head.hidden?.[n][q])
    context.globalAlpha = isPair ? Math.max(0.6, opacity) : opacity
    strokeLine(context, view, n, q, k)
  }
  context.globalAlpha = 1
}

/**
 * The weights of one token's lines, at their far ends; where there is no room for all, the largest.
 * @type {(context: Context, paper: Paper, view: LinesView, looked: Looked) => void}
 */
function farWeights(context, paper, { maps, now, place }, looked) {
  const { z, left, right } = place
  const atKeys = looked.q !== undefined
  const far = atKeys ? "keys" : "queries"
  const size = 11 * z
  const take = takeApart(place.counts[far], Math.ceil((size + 3) / place.rows[far]))
  context.font = mono(size)
  context.textAlign = atKeys ? "right" : "left"
  context.textBaseline = "middle"
  for (const [, q, k, weight] of linesOfToken(maps, now, looked).reverse()) {
    const n = atKeys ? k : q
    if (!take(n)) continue
    const [text, y] = [share(weight), middleOf(place, far, n)]
    const wide = context.measureText(text).width
    const x = atKeys ? right - 8 * z : left + 8 * z
    context.fillStyle = paper.one("page")
    context.fillRect(atKeys ? x - wide - 3 : x - 3, y - size / 2 - 1, wide + 6, size + 2)
    context.fillStyle = paper.one("text")
    context.fillText(text, x, y)
  }
}
