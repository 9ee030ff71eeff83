import { dotted, hatch } from "../parts/marks.js"
import { number, percent } from "../parts/numbers.js"
import { sans } from "../parts/text.js"
import { isPostNorm, keysSeen, keyTokens, rowsOfHeads, SUBLAYERS, stackNow } from "../parts/whole_layer.js"
import { groupWays } from "../parts/whole_layer_places.js"
import { leastName, namedAmong } from "../parts/whole_names.js"
import { isUnknown, strongestIn } from "../parts/whole_rows.js"
import { drawPlus, drawStrip, drawWay, say, sayUpright } from "./draw.js"

/** @import { Paper } from "../parts/colours.js" */
/** @import { Context, Numbers, Token } from "../parts/types.js" */
/** @import { LayerDetail } from "../parts/whole_layer.js" */
/** @import { Group, headRows, LayerPlaces } from "../parts/whole_layer_places.js" */
/** @import { Box } from "../parts/whole_levels.js" */
/** @import { WholeView } from "./view.js" */

// The sub-layers of a layer at one token: their ways, vectors, heads and hidden units.

/** What a layer is drawn from, at a row: where everything is, and the end of the scale of each vector.
 * @typedef {{view: WholeView, place: LayerPlaces, paper: Paper, detail: ?LayerDetail, most: Record<string, number>,
 *   row: number}} LayerLook */
/** @typedef {ReturnType<typeof headRows>} HeadRows */

const GAPPED = 6 // pixels: cells from here on have a gap between them
const HATCH = 5 // pixels between the lines where the row may not look

/**
 * A line in small muted letters.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {string} text
 * @param {number} x
 * @param {number} y
 * @param {{align?: CanvasTextAlign, width?: number}} [more]
 */
export function saySmall(context, { place, paper }, text, x, y, more = {}) {
  say(context, text, x, y, { size: 12 * place.z, colour: paper.one("muted"), ...more })
}

/**
 * The first of these lines that has room, else the last one in that room.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {string[]} lines
 * @param {{x: number, y: number, width: number}} room
 */
function sayFitting(context, { place, paper }, lines, { x, y, width }) {
  const size = 12 * place.z
  context.font = sans(size)
  const line = lines.find((each) => context.measureText(each).width <= width) ?? lines[lines.length - 1]
  say(context, line, x, y, { size, colour: paper.one("muted"), width })
}

/**
 * A vector of the row as a strip in its box, which is empty where the run does not tell it.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {string} name
 * @param {Box} box
 */
export function paintVector(context, { paper, detail, most, row }, name, box) {
  const array = detail?.arrays[name]
  context.fillStyle = paper.one("surface")
  context.fillRect(box.x, box.y, box.width, box.height)
  if (!array) return
  const count = array.shape[1]
  drawStrip(context, paper, box, array.values, { from: row * count, count, largest: most[name] })
}

/** A number of a sub-layer at the row. @param {LayerLook} look @param {Group} group @param {string} what */
const numberOf = ({ detail, row }, { part }, what) => detail?.arrays[`${what}.${part.part}`]?.values[row]

/**
 * A sub-layer at the row: its ways, its name and its norm, its vectors, and how much it adds.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 */
export function paintGroup(context, look, group) {
  const { part, read, out, before, total } = group
  const { place, paper } = look
  const { z } = place
  context.strokeStyle = paper.one("muted")
  context.lineWidth = 1.5
  for (const way of groupWays(group, place)) drawWay(context, way, 6 * z)
  const roomy = Math.max(40 * z, group.plus - read.x - 8 * z)
  context.font = sans(14 * z, 600)
  const whole = context.measureText(SUBLAYERS[part.part]).width <= roomy
  say(context, whole || part.kind ? SUBLAYERS[part.part] : "ff", read.x, before.y + before.height + 16 * z, {
    size: 14 * z,
    colour: paper.one("text"),
    weight: 600,
    width: roomy,
  })
  paintNorm(context, look, group)
  paintVector(context, look, `before.${part.part}`, before)
  paintVector(context, look, `in.${part.part}`, read)
  if (total) paintVector(context, look, `total.${part.part}`, total)
  paintVector(context, look, `out.${part.part}`, out)
  drawPlus(context, paper, group.plus, place.stream, 7 * z)
  paintAdded(context, look, group)
  if (part.kind) paintHeads(context, look, group)
  else paintUnits(context, look, group)
}

/**
 * How much a sub-layer adds.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 */
function paintAdded(context, look, group) {
  const { out, x, width } = group
  const [added, came, part] = ["added", "came", "share"].map((what) => numberOf(look, group, what))
  if (part === undefined) return
  const { z } = look.place
  const share = percent(part)
  const lines = [2, 1].map(
    (digits) =>
      `adds ${number(/** @type {number} */ (added), digits)} to ${number(/** @type {number} */ (came), digits)}: ${share}`,
  )
  const room = { x: out.x, y: out.y + out.height + 10 * z, width: x + width - out.x - 8 * z }
  sayFitting(context, look, [...lines, `adds ${share}`], room)
}

/**
 * Mean and scale of a norm, on one line or on two; on the stream only its name.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 */
function paintNorm(context, look, group) {
  const { norm: box, read, plus } = group
  const { z } = look.place
  const [centre, spread] = [numberOf(look, group, "mean"), numberOf(look, group, "scale")]
  if (centre === undefined) return
  const [mean, scale] = [`norm: mean ${number(centre, 2)}`, `scale ${number(/** @type {number} */ (spread), 2)}`]
  const width = plus - read.x - 8 * z
  context.font = sans(12 * z)
  if (isPostNorm(look.detail)) saySmall(context, look, "norm", box.x, box.y + box.height / 2)
  else if (context.measureText(`${mean}, ${scale}`).width <= width)
    saySmall(context, look, `${mean}, ${scale}`, read.x, read.y - 8 * z)
  else {
    sayFitting(context, look, [mean, mean.slice("norm: ".length)], { x: read.x, y: read.y - 22 * z, width })
    saySmall(context, look, scale, read.x, read.y - 8 * z, { width })
  }
}

/**
 * What each head takes from whom, a row for each head; below them the tokens of which any takes most.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 */
function paintHeads(context, look, group) {
  const { part } = group
  const { view, place, paper, detail } = look
  const { z } = place
  const heads = part.heads ?? 0
  const keys = keyTokens(view, part).slice(0, keysSeen(view, detail, part))
  const rows = rowsOfHeads(group, keys.length, z)
  const size = Math.max(leastName(z), Math.min(12 * z, rows.row * 0.9))
  const named = namedAmong(heads, rows.row, size * 0.95)
  const most = keys.map(() => 0)
  for (let head = 0; head < heads; head++) {
    const y = rows.y + head * rows.row
    if (named.has(head))
      say(context, `head ${head}`, rows.x - 5 * z, y + rows.row / 2, {
        size,
        colour: paper.one("muted"),
        align: "right",
      })
    paintHead(context, look, group, { head, rows, most })
  }
  paintKeys(context, look, keys, { rows, most, ink: part.kind === "cross" ? "source-ink" : stackNow(view).ink })
}

/**
 * One head's row; what each key has at most is written down.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 * @param {{head: number, rows: HeadRows, most: number[]}} what
 */
function paintHead(context, { paper, detail, row }, { part }, { head, rows, most }) {
  const scale = paper.scale(/** @type {string} */ (part.kind))
  const y = rows.y + head * rows.row
  context.fillStyle = scale.css(0)
  context.fillRect(rows.x, y, rows.cell * rows.keys, rows.row - 1)
  if (!detail || !(`rest.${part.part}` in detail.arrays)) return
  paintClosed(context, paper, detail.arrays[`mask.${part.part}`], { row, rows, y })
  const there = strongestIn(detail.arrays, part.part, head, row)
  if (isUnknown(there)) dotted(context, paper, rows.x, y, rows.cell * rows.keys, rows.row - 1)
  const width = Math.max(1, rows.cell - (rows.cell > GAPPED ? 1 : 0))
  for (let n = 0; n < there.keys.length; n++) {
    const key = there.keys[n]
    if (key >= rows.keys) continue
    context.fillStyle = scale.css(there.weights[n])
    context.fillRect(rows.x + key * rows.cell, y, width, rows.row - 1)
    most[key] = Math.max(most[key], there.weights[n])
  }
}

/**
 * The tokens below the rows of heads.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Token[]} keys
 * @param {{rows: HeadRows, most: number[], ink: string}} what
 */
function paintKeys(context, { place: { z }, paper }, keys, { rows, most, ink }) {
  const size = Math.min(13 * z, Math.max(leastName(z), rows.cell * 0.9))
  const strongest = keys.map((_, key) => key).sort((a, b) => most[b] - most[a])
  for (const key of namedAmong(keys.length, rows.cell, size * 0.95, strongest)) {
    const x = rows.x + (key + 0.5) * rows.cell
    sayUpright(context, keys[key].text, x, rows.labels, { size, colour: paper.one(ink), width: rows.below })
  }
}

/**
 * Where the row may not look.
 * @param {Context} context
 * @param {Paper} paper
 * @param {Numbers | undefined} mask
 * @param {{row: number, rows: HeadRows, y: number}} where
 */
function paintClosed(context, paper, mask, { row, rows, y }) {
  if (!mask) return
  const { keys: count } = rows
  const line = mask.values.subarray(row * mask.shape[1], row * mask.shape[1] + count)
  for (let from = 0; from < count; from++) {
    if (line[from]) continue
    let to = from
    while (to < count && !line[to]) to++
    context.fillStyle = paper.one("surface")
    context.fillRect(rows.x + from * rows.cell, y, (to - from) * rows.cell - 1, rows.row - 1)
    context.strokeStyle = paper.one("line")
    hatch(context, rows.x + from * rows.cell, y, (to - from) * rows.cell - 1, rows.row - 1, HATCH)
    from = to
  }
}

/**
 * What the hidden units of a feed-forward are.
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Group} group
 */
function paintUnits(context, look, group) {
  const { place, detail, row } = look
  const { content, part, plus } = group
  const hidden = detail?.arrays["hidden.ffn"]
  if (!hidden) return
  const { z } = place
  const count = hidden.shape[1]
  const top = content.y + 18 * z
  const height = Math.max(0, Math.min(content.height - 40 * z, 200 * z)) // 0 in a low window: words alone
  if (height) paintBarsOfUnits(context, look, hidden, { x: content.x, y: top, width: content.width, height })
  const said = (/** @type {string[]} */ lines, /** @type {number} */ y) =>
    sayFitting(context, look, lines, { x: content.x, y, width: plus - content.x - 8 * z })
  const of = `${count} of ${/** @type {{units?: number}} */ (part).units?.toLocaleString("en")}`
  said([`${of} hidden units`, `${of} units`, of], content.y + 6 * z)
  const active = detail.arrays["active.ffn"]
  if (!active) return
  const above = percent(active.values[row])
  const below = height ? top + height + 14 * z : content.y + 20 * z
  said([`${above} are above 0`, `${above} > 0`, `${percent(active.values[row], 0)} > 0`], below)
}

/**
 * @param {Context} context
 * @param {LayerLook} look
 * @param {Numbers} hidden
 * @param {Box} box
 */
function paintBarsOfUnits(context, { paper, most, row }, hidden, { x, y: top, width, height }) {
  const count = hidden.shape[1]
  const zero = top + height * 0.7
  const cell = width / count
  for (let n = 0; n < count; n++) {
    const value = hidden.values[row * count + n] / most["hidden.ffn"]
    if (!Number.isFinite(value)) {
      dotted(context, paper, x + n * cell, top, cell, height)
      continue
    }
    context.fillStyle = value > 0 ? paper.one("text") : paper.one("muted")
    const tall = Math.abs(value) * height * (value > 0 ? 0.7 : 0.3)
    context.fillRect(x + n * cell, value > 0 ? zero - tall : zero, Math.max(1, cell - 1), Math.max(0.6, tall))
  }
}
