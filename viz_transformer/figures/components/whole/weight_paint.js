import { paintCell, ring } from "../parts/marks.js"
import { number, share } from "../parts/numbers.js"
import { mono, sans } from "../parts/text.js"
import { keyStackNow } from "../parts/whole_attention.js"
import { siteOf } from "../parts/whole_levels.js"
import { fittingNumbers, keyNow, scoreLine, weightLine, written } from "../parts/whole_weight.js"
import { largestIn, say, sayUpright } from "./draw.js"

/** @import { Paper } from "../parts/colours.js" */
/** @import { Context } from "../parts/types.js" */
/** @import { AttentionDetail } from "../parts/whole_attention.js" */
/** @import { Line, Worked } from "../parts/whole_weight.js" */
/** @import { WeightPlaces } from "../parts/whole_weight_places.js" */
/** @import { WholeView } from "./view.js" */

/** What a weight is drawn from; `worked` is null where the model does not tell its queries and keys.
 * @typedef {{view: WholeView, place: WeightPlaces, paper: Paper, detail: ?AttentionDetail, worked: ?Worked}} WeightLook */
/** @typedef {WeightLook & {worked: Worked}} WorkedLook */
/** A line of products: its values, the end of their scale, and its colour.
 * @typedef {{name: string, values: ArrayLike<number>, most: number, ink: string}} ProductLine */

const WEIGHT_VEIL = 0.9 // how much of what is not computed yet is hidden
const DARK = 0.27 // so far from 0 in its scale a number is written in the colour of the page
const [NAMED_KEY, MASKED_SIGNS] = [16, 6] // pixels of a key that has a name above it; signs of "masked"
const [STRONG_SIZE, WORD_SIZE, WORDS_APART] = [17, 14, 7]

/** @param {Context} context @param {WeightLook} look */
export function paintWeightStill(context, look) {
  const { place, paper, detail, worked } = look
  const { z } = place
  if (!worked) {
    const colour = paper.one("text")
    if (detail) say(context, (detail.header.remarks ?? []).join(" "), 0, 20 * z, { size: 15 * z, colour })
    return
  }
  const known = { ...look, worked }
  paintProducts(context, known)
  paintLine(context, look, scoreLine(worked), place.sums + 16 * z)
  paintLine(context, look, weightLine(worked), place.last)
  paintSoftmax(context, known)
}

/** @param {Context} context @param {WorkedLook} look */
function paintProducts(context, { view, place, paper, worked: { query, key, products } }) {
  const most = Math.max(largestIn(Array.from(query)), largestIn(Array.from(key)))
  /** @type {ProductLine[]} */
  const lines = [
    { name: "q", values: query, most, ink: siteOf(view.head, view.chosen).stack.ink },
    { name: "k", values: key, most, ink: keyStackNow(view).ink },
    { name: "q × k", values: products, most: largestIn(products), ink: "text" },
  ]
  for (const block of place.blocks)
    lines.forEach((line, n) => paintProductLine(context, { place, paper }, block, line, block.y + n * place.row))
}

/**
 * @param {Context} context
 * @param {Pick<WeightLook, "place" | "paper">} look
 * @param {WeightPlaces["blocks"][number]} block
 * @param {ProductLine} line
 * @param {number} y
 */
function paintProductLine(context, { place, paper }, block, { name, values, most, ink }, y) {
  const { z, left, cell, row: high, dense } = place
  const scale = paper.scale("diverging")
  say(context, name, left - 8 * z, y + high / 2, {
    size: Math.max(9 * z, Math.min(13 * z, high)),
    colour: paper.one(ink),
    align: "right",
    weight: 600,
  })
  const width = Math.max(0.5, cell - (cell > 4 ? 1 : 0))
  const size = Math.min(13, Math.max(11.5, (cell / z - 6) / 4.4)) * z
  for (let e = 0; e < block.count; e++) {
    const value = values[block.first + e]
    const level = 0.5 + value / (2 * most)
    const x = block.x + e * cell
    const colour = Number.isFinite(value) ? scale.css(level) : null
    paintCell(context, paper, colour, x, y, width, high - 1)
    if (dense || colour === null) continue
    say(context, written(value), x + cell / 2, y + high / 2, {
      size,
      colour: paper.one(Math.abs(level - 0.5) > DARK ? "page" : "text"),
      align: "center",
      code: true,
    })
  }
}

/** Words and numbers in a line, smaller where it is too long.
 * @param {Context} context
 * @param {WeightLook} look
 * @param {Line} line
 * @param {number} y */
function paintLine(context, { place, paper }, line, y) {
  const { z } = place
  const go = (/** @type {number} */ k, /** @type {boolean} */ drawn) => {
    let x = 0
    for (const [text, strong] of line) {
      const size = (strong ? STRONG_SIZE : WORD_SIZE) * z * k
      const weight = strong ? 600 : 400
      context.font = strong ? mono(size, 600) : sans(size)
      if (drawn) say(context, text, x, y, { size, colour: paper.one(strong ? "text" : "muted"), weight, code: strong })
      x += context.measureText(text).width + WORDS_APART * z * k
    }
    return x
  }
  go(Math.min(1, place.width / go(1, false)), true)
}

/** The whole row: what the softmax makes of it. @param {Context} context @param {WorkedLook} look */
function paintSoftmax(context, look) {
  const { view, place, paper, worked } = look
  const { scores, open, weights } = worked
  const { z, left, keys } = place
  const { tokens, ink } = keyStackNow(view)
  const named = (/** @type {string} */ text, /** @type {number} */ y) =>
    say(context, text, left - 8 * z, y, { size: 12 * z, colour: paper.one("muted"), align: "right" })
  const score = fittingNumbers([2, 1], tokens.length, keys.signs, (k, digits) =>
    open[k] ? number(scores[k], digits) : "",
  )
  const part = fittingNumbers([3, 2], tokens.length, keys.signs, (k, digits) => share(weights[k], digits))
  if (score) named("score", keys.scores + 7 * z)
  named("e^(…)", keys.bars + keys.tall / 2)
  if (part) named("weight", keys.shares + 7 * z)
  const masked = keys.signs >= MASKED_SIGNS ? "masked" : ""
  for (let k = 0; k < tokens.length; k++) {
    const shown = score && (open[k] ? score[k] : masked)
    paintKey(context, look, k, { score: shown, part: part?.[k] ?? null })
  }
  if (keys.cell >= NAMED_KEY * z) return
  const k = keyNow(view)
  sayUpright(context, tokens[k].text, keys.x + (k + 0.5) * keys.cell, keys.labels - 2 * z, {
    size: 12 * z,
    colour: paper.one(ink),
    weight: 600,
  })
}

/**
 * One key: its name, what its score is raised to as a bar, and its numbers where they have room.
 * @param {Context} context
 * @param {WorkedLook} look
 * @param {number} k
 * @param {{score: ?string, part: ?string}} numbers
 */
function paintKey(context, { view, place, paper, worked: { powers } }, k, { score, part }) {
  const { z, keys } = place
  const { tokens, ink } = keyStackNow(view)
  const x = keys.x + k * keys.cell
  const middle = x + keys.cell / 2
  const now = k === keyNow(view)
  const weight = now ? 600 : 400
  if (keys.cell >= NAMED_KEY * z)
    say(context, tokens[k].text, middle, keys.labels + 6 * z, {
      size: 13 * z,
      colour: paper.one(ink),
      weight,
      align: "center",
      width: keys.cell - 2,
      code: true,
    })
  const tall = Math.max(powers[k] > 0 ? 1 : 0, powers[k] * keys.tall)
  const wide = Math.max(0.5, keys.cell - 2)
  context.fillStyle = paper.one("surface")
  context.fillRect(x, keys.bars, wide, keys.tall)
  context.fillStyle = paper.scale(siteOf(view.head, view.chosen).part.kind).css(now ? 0.75 : 0.5)
  context.fillRect(x, keys.bars + keys.tall - tall, wide, tall)
  const value = (/** @type {string} */ text, /** @type {number} */ y) =>
    say(context, text, middle, y, {
      size: 12 * z,
      colour: paper.one(now ? "text" : "muted"),
      weight,
      align: "center",
      code: true,
    })
  if (score !== null) value(score, keys.scores + 7 * z)
  if (part !== null) value(part, keys.shares + 7 * z)
}

/** What is looked at and pointed at, and what the step has not come to. @param {Context} context @param {WeightLook} look */
export function paintWeightNow(context, { view, place, paper, worked }) {
  const { z, keys } = place
  if (!worked) return
  const x = keys.x + keyNow(view) * keys.cell
  ring(context, paper, x - 2, keys.labels - 6 * z, keys.cell + 2, keys.shares + 22 * z - keys.labels)
  const { hovered } = view
  const block = place.blocks.find(({ first, count }) => hovered?.dimension < first + count)
  if (block) {
    context.strokeStyle = paper.one("text")
    context.lineWidth = 1
    context.strokeRect(block.x + (hovered.dimension - block.first) * place.cell, block.y, place.cell, 3 * place.row)
  }
  const through = view.through
  if (through >= 1) return
  context.globalAlpha = WEIGHT_VEIL
  context.fillStyle = paper.one("page")
  const front = through * place.height
  context.fillRect(0, front, place.width, place.height - front)
  context.globalAlpha = 1
}
