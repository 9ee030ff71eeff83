import { paintCell, ring } from "../parts/marks.js"
import { number, share } from "../parts/numbers.js"
import { mention, mono, sans } from "../parts/text.js"
import { headOf, keyStackOf, siteOf } from "../parts/whole_levels.js"
import { dimensionIn, keyIn, placeWeight, workedOut } from "../parts/whole_weight_places.js"
import { largestIn, say, sayUpright } from "./draw.js"

// The last level: one weight. The products of query and key by dimension, their sum, the divisor, and what the softmax makes of
// the scores of the whole row.

const LINE_NAMES = ["q", "k", "q × k"]
const WEIGHT_VEIL = 0.9

export function weightScene(view) {
  let place

  const detail = () => view.detail("attention")
  const site = () => siteOf(view.head, view.chosen)
  const keyStack = () => keyStackOf(view.head, site())
  const rowNow = () => view.rowOf(site().stack)
  const keyNow = () => view.keyOf(keyStack()) ?? 0

  /** All numbers of the weight, or null where the model does not tell queries and keys. */
  function worked() {
    const found = detail()
    const { query, key, scores, weights, mask } = found?.arrays ?? {}
    if (!query || !key || !scores || !weights) return null
    const [row, at] = [rowNow(), keyNow()]
    const [E, K] = [query.shape[1], weights.shape[1]]
    const line = (array, n, count) => array.values.subarray(n * count, (n + 1) * count)
    const open = mask ? line(mask, row, K) : Array.from({ length: K }, () => 1)
    const given = { query: line(query, row, E), key: line(key, at, E), scores: line(scores, row, K), open, at }
    return {
      ...given,
      ...workedOut(given),
      weights: line(weights, row, K),
      bias: found.arrays.bias?.values[row * K + at],
    }
  }

  function lay(width, height) {
    const found = detail()
    place = placeWeight({
      z: view.z,
      width,
      height,
      dimensions: found?.arrays.query?.shape[1] ?? 16,
      keys: keyStack().tokens.length,
    })
  }

  function paintStill(context) {
    const paper = view.paper()
    const { z } = place
    const found = detail()
    const all = worked()
    if (!all) {
      if (found)
        say(context, (found.header.remarks ?? []).join(" "), 0, 20 * z, { size: 15 * z, colour: paper.one("text") })
      return
    }
    products(context, paper, all)
    sums(context, paper, all, found)
    row(context, paper, all)
  }

  function products(context, paper, { query, key, products: made }) {
    const { z, left, cell, row: high, dense } = place
    const scale = paper.scale("diverging")
    const [vectors, most] = [Math.max(largestIn(Array.from(query)), largestIn(Array.from(key))), largestIn(made)]
    const { stack } = site()
    const inks = [stack.ink, keyStack().ink, "text"]
    for (const block of place.blocks) {
      ;[query, key, made].forEach((values, n) => {
        const y = block.y + n * high
        say(context, LINE_NAMES[n], left - 8 * z, y + high / 2, {
          size: Math.max(9 * z, Math.min(13 * z, high)),
          colour: paper.one(inks[n]),
          align: "right",
          weight: 600,
        })
        for (let e = 0; e < block.count; e++) {
          const value = values[block.first + e]
          const level = 0.5 + value / (2 * (n === 2 ? most : vectors))
          const x = block.x + e * cell
          const colour = Number.isFinite(value) ? scale.css(level) : null
          paintCell(context, paper, colour, x, y, Math.max(0.5, cell - (cell > 4 ? 1 : 0)), high - 1)
          if (dense || colour === null) continue
          const dark = Math.abs(level - 0.5) > 0.27
          say(context, written(value), x + cell / 2, y + high / 2, {
            size: Math.min(13, Math.max(11.5, (cell / z - 6) / 4.4)) * z,
            colour: paper.one(dark ? "page" : "text"),
            align: "center",
            code: true,
          })
        }
      })
    }
  }

  /** From the products to the score, and from the score to the weight. */
  function sums(context, paper, { sum, score, most, powers, total, bias, at, weights }, found) {
    const { z, sums: y, last } = place
    const { divisor } = found.header
    const said = (parts, top) => {
      const line = (k, drawn) => {
        let x = 0
        for (const [text, strong] of parts) {
          const size = (strong ? 17 : 14) * z * k
          context.font = strong ? mono(size, 600) : sans(size)
          if (drawn)
            say(context, text, x, top, {
              size,
              colour: paper.one(strong ? "text" : "muted"),
              weight: strong ? 600 : 400,
              code: strong,
            })
          x += context.measureText(text).width + 7 * z * k
        }
        return x
      }
      line(Math.min(1, place.width / line(1, false)), true) // smaller where the line is too long
    }
    const parts = [
      ["the products add up to", false],
      [number(sum, 4), true],
    ]
    if (divisor) parts.push([`divided by ${number(divisor, 4)}`, false])
    if (bias !== undefined) parts.push([`plus the bias ${number(bias, 4)}`, false])
    said([...parts, ["is the score", false], [number(score, 4), true]], y + 16 * z)
    const share_of = powers[at]
    if (Number.isNaN(weights[at])) said([[whyNone(most), false]], last)
    else if (!Number.isFinite(most))
      said([["nothing may be read in this row: no key has a weight of its own", false]], last)
    else
      said(
        [
          [`e^(${number(score, 2)} − ${number(most, 2)}) =`, false],
          [number(share_of, 4), true],
          ["divided by the sum over all keys", false],
          [number(total, 4), true],
          ["is the weight", false],
          [share(weights[at]), true],
        ],
        last,
      )
  }

  /** The numbers of all keys in as many digits as fit, the first of these that do; null where none do. */
  function fitting(digits, written) {
    for (const each of digits) {
      const said = keyStack().tokens.map(written(each))
      if (said.every(({ length }) => length <= place.keys.signs)) return said
    }
    return null
  }

  /** The whole row: what the softmax makes of it. */
  function row(context, paper, { scores, open, powers, weights }) {
    const { z, left, keys } = place
    const scale = paper.scale(site().part.kind)
    const tokens = keyStack().tokens
    const ink = paper.one(keyStack().ink)
    const named = (text, y) =>
      say(context, text, left - 8 * z, y, { size: 12 * z, colour: paper.one("muted"), align: "right" })
    const score = fitting([2, 1], (digits) => (_, k) => (open[k] ? number(scores[k], digits) : ""))
    const part = fitting([3, 2], (digits) => (_, k) => share(weights[k], digits))
    if (score) named("score", keys.scores + 7 * z)
    named("e^(…)", keys.bars + keys.tall / 2)
    if (part) named("weight", keys.shares + 7 * z)
    tokens.forEach((token, k) => {
      const x = keys.x + k * keys.cell
      const middle = x + keys.cell / 2
      const now = k === keyNow()
      if (keys.cell >= 16 * z)
        say(context, token.text, middle, keys.labels + 6 * z, {
          size: 13 * z,
          colour: ink,
          weight: now ? 600 : 400,
          align: "center",
          width: keys.cell - 2,
          code: true,
        })
      const tall = Math.max(powers[k] > 0 ? 1 : 0, powers[k] * keys.tall)
      context.fillStyle = paper.one("surface")
      context.fillRect(x, keys.bars, Math.max(0.5, keys.cell - 2), keys.tall)
      context.fillStyle = scale.css(now ? 0.75 : 0.5)
      context.fillRect(x, keys.bars + keys.tall - tall, Math.max(0.5, keys.cell - 2), tall)
      const value = (text, y) =>
        say(context, text, middle, y, {
          size: 12 * z,
          colour: paper.one(now ? "text" : "muted"),
          weight: now ? 600 : 400,
          align: "center",
          code: true,
        })
      const masked = keys.signs >= 6 ? "masked" : ""
      if (score) value(open[k] ? score[k] : masked, keys.scores + 7 * z)
      if (part) value(part[k], keys.shares + 7 * z)
    })
    if (keys.cell < 16 * z) {
      const k = keyNow()
      sayUpright(context, tokens[k].text, keys.x + (k + 0.5) * keys.cell, keys.labels - 2 * z, {
        size: 12 * z,
        colour: ink,
        weight: 600,
      })
    }
  }

  function paintNow(context) {
    const paper = view.paper()
    const { z, keys } = place
    const all = worked()
    if (!all) return
    const x = keys.x + keyNow() * keys.cell
    ring(context, paper, x - 2, keys.labels - 6 * z, keys.cell + 2, keys.shares + 22 * z - keys.labels)
    const { hovered } = view
    if (hovered?.dimension !== undefined) {
      const block = place.blocks.find(({ first, count }) => hovered.dimension < first + count)
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

  function sentence() {
    const found = detail()
    if (!found) return view.lack("weight")
    const all = worked()
    if (!all) return (found.header.remarks ?? []).join(" ") || "This model does not tell queries and keys."
    const { hovered } = view
    if (hovered?.dimension !== undefined) {
      const e = hovered.dimension
      return `Dimension ${e}: ${number(all.query[e], 4)} × ${number(all.key[e], 4)} = ${number(all.products[e], 4)}.`
    }
    const k = hovered?.key ?? keyNow()
    const [query, key] = [mention(site().stack.tokens[rowNow()]), mention(keyStack().tokens[k])]
    if (Number.isNaN(all.weights[k]))
      return `${query} has a weight that is not a number, for ${key}: ${whyNone(all.most)}.`
    if (!all.open[k]) return `${query} may not look at ${key}: it is masked, weight ${share(all.weights[k])}.`
    return `Head ${headOf(view.chosen, site().part.heads)}: ${query} puts ${share(all.weights[k])} of its attention on ${key}, for a score of ${number(all.scores[k], 4)}.`
  }

  return {
    lay,
    paintStill,
    paintNow,
    size: () => ({ width: place.width, height: place.height }),
    state: () => {
      const { part } = site()
      return [rowNow(), keyNow(), detail() ? 1 : 0, part.kind, part.layer, headOf(view.chosen, part.heads)].join()
    },
    boxOf: () => null,
    sentence,
    sentences() {
      const all = worked()
      if (!all) return detail() ? [sentence()] : []
      const { divisor } = detail().header
      return [
        ...all.products.map(
          (each, e) =>
            `Dimension ${e}: ${number(all.query[e], 4)} times ${number(all.key[e], 4)} is ${number(each, 4)}.`,
        ),
        `The products add up to ${number(all.sum, 4)}; ${divisor ? `divided by ${number(divisor, 4)} ` : ""}the score is ${number(all.score, 4)}.`,
        sentence(),
      ]
    },
    at(x, y) {
      if (!worked()) return null
      const dimension = dimensionIn(place, x, y)
      if (dimension !== null) return { dimension }
      const key = keyIn(place, keyStack().tokens.length, x, y)
      return key === null ? null : { key }
    },
    update() {},
  }
}

/** Why a weight is not a number; most: the largest score that may be read. */
const whyNone = (most) =>
  Number.isFinite(most)
    ? "a score in this row is not a number, and so is the sum over all keys"
    : "each score in this row is −∞, so the softmax divides 0 by 0, which is not a number"

/** A number in at most seven signs. */
const written = (value) => number(value, Math.abs(value) >= 100 ? 2 : Math.abs(value) >= 10 ? 3 : 4)
