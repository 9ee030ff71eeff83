import { hasLabel } from "./parts/cells.js"
import { colours, isLight } from "./parts/colours.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { dotsNote, ramp } from "./parts/legend.js"
import { HATCH_EVERY, hatch, paintCell, ring } from "./parts/marks.js"
import { notFinite, number, share, valued } from "./parts/numbers.js"
import { fieldOf, placeOn, positionAt, selection } from "./parts/selection.js"
import { mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { dimensionAt, isTight, keyAt, NUMBERED, placeStrips, widthOf } from "./parts/strips.js"
import { isolated, mono, quoted, sans, shorten } from "./parts/text.js"

/** @import { RowHeader } from "./parts/types.js" */

// One query against all keys: strips of the keys, of their products with the query, of scores and of weights, a column
// for each key. Header: {title, label, name, caption, query, keys: {field, role, axis, ink, tokens, count}, token,
// position, writes, scale, fill}; arrays: query [E], keys [K, E], scores [K], weights [K], mask [K].

const HIGHEST = 660 // pixels: no higher in a window of any height

export default (component) => mount(component, "row", makeRow)

function makeRow(root) {
  const stage = element("div", "stage")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const aside = element("canvas", "aside") // stays while columns are scrolled under it
  const foot = element("div", "foot")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over, aside)
  root.append(stage, foot)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {RowHeader} */
  let head
  let query, keys, scores, weights, mask, K, E, most, top, place
  let strange = "" // what numbers are that are not finite
  let hovered = null
  let revealed = null // the key that was scrolled to

  foot.append(
    exports(root, {
      draw: (context) => {
        paint(context)
        names(context, place.width)
        marks(context)
      },
      size: () => ({ width: place.width, height: place.height }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )

  const chosen = () => placeOn(head.keys)
  const finite = (values) =>
    values.reduce((largest, value) => (Number.isFinite(value) ? Math.max(largest, Math.abs(value)) : largest), 0)

  // ---- where things are

  function measure(context) {
    const z = zoom(root)
    const width = z > 1 ? root.clientWidth : widthOf(root.clientWidth, K)
    context.font = mono(14 * z)
    const label = (token) => context.measureText(token.note ?? token.text).width
    const widest = head.keys.tokens.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
    const letter = context.measureText("m").width
    const tall = tallness(root, HIGHEST)
    const room = z > 1 ? tall : Number.POSITIVE_INFINITY // on a projector all of it is seen
    const tight = z === 1 && isTight(root.clientWidth, K)
    return { ...placeStrips({ z, width, keys: K, dimensions: E, widest, letter, room, height: tall, tight }), tight }
  }
  const xOf = (k) => place.left + k * place.cell

  // ---- what is drawn

  const signed = (value, largest) => 0.5 + value / (2 * (largest || 1))

  function paint(context) {
    const paper = colours(root)
    const { z, cell, strips } = place
    const diverging = paper.scale("diverging")
    const own = paper.scale(head.scale)
    const gap = cell >= 6 ? 1 : 0
    const block = (name, at) => {
      const { y, height } = strips[name]
      const tall = height / E
      for (let k = 0; k < K; k++)
        for (let e = 0; e < E; e++) {
          const level = at(k, e)
          const colour = Number.isFinite(level) ? diverging.css(level) : null
          paintCell(context, paper, colour, xOf(k), y + e * tall, cell - gap, tall >= 4 ? tall - 1 : tall + 0.3)
        }
    }
    block("keys", (k, e) => signed(keys[k * E + e], most.vectors))
    block("products", (k, e) => signed(query[e] * keys[k * E + e], most.products))
    const strip = (name, values, level, palette, text) => {
      const { y: at, height: tall } = strips[name]
      for (let k = 0; k < K; k++) {
        const value = values[k]
        const empty = !mask[k] && (name === "scores" || value === 0)
        const own = Number.isFinite(value) ? palette.css(level(value)) : null
        const colour = empty ? paper.one("surface") : own
        paintCell(context, paper, colour, xOf(k), at, cell - gap, tall)
        if (!mask[k]) {
          context.strokeStyle = paper.one("line")
          hatch(context, xOf(k), at, cell - gap, tall, HATCH_EVERY)
        } else if (colour !== null && cell >= NUMBERED * z) {
          context.font = mono(12 * z)
          context.textAlign = "center"
          context.textBaseline = "middle"
          context.fillStyle = paper.one(isLight(colour) === isLight(paper.one("page")) ? "text" : "page")
          const said = [2, 1, 0].map((n) => text(value, n)).find((each) => context.measureText(each).width <= cell - 3)
          context.fillText(said ?? "", xOf(k) + (cell - gap) / 2, at + tall / 2 + 1)
        }
      }
    }
    strip("scores", scores, (value) => signed(value, most.scores), diverging, number)
    strip("weights", weights, (value) => value, own, share)
    if (!place.tight) words(context, paper)
    tokens(context, paper)
  }

  /** What the colours mean, at the right; under the names where there is no room for that. */
  function words(context, paper) {
    const { z, left, w, strips, tight } = place
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    const x = tight ? 0 : left + w + 14 * z
    const bar = 48 * z
    const legend = (name, palette, ends) => {
      const { y, height } = strips[name]
      const below = height > 40 * z ? 50 * z : 24 * z // the lines of a name
      const at = tight ? y + below : height > 40 * z ? y + 12 * z : y + height / 2
      const scale = paper.scale(palette)
      ramp(context, scale, x, at, bar, z)
      context.font = mono(12 * z)
      context.textBaseline = "middle"
      context.fillStyle = paper.one("muted")
      context.fillText(ends, x + bar + 6 * z, at)
      context.textBaseline = "alphabetic"
    }
    legend("keys", "diverging", `±${number(most.vectors, 2)}`)
    legend("products", "diverging", `±${number(most.products, 2)}`)
    legend("scores", "diverging", `±${number(most.scores, 2)}`)
    legend("weights", head.scale, "0–1")
  }

  /** The title in so many pixels, the strips' names at the left, and the query, once, as a column of its own. */
  function names(context, wide) {
    const paper = colours(root)
    const { z, left, strips, tight } = place
    const { y, height } = strips.keys
    for (let e = 0; e < E; e++) {
      const tall = height / E
      const own = Number.isFinite(query[e]) ? paper.scale("diverging").css(signed(query[e], most.vectors)) : null
      paintCell(context, paper, own, left - 22 * z, y + e * tall, 14 * z, tall >= 4 ? tall - 1 : tall + 0.3)
    }
    dotsNote(context, paper, strange, 0, place.height - 12 * z, z)
    const lines = {
      keys: ["keys k", "and query q"],
      products: ["q × k", "by dimension"],
      scores: ["score"],
      weights: ["weight"],
    }
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans(16 * z, 600)
    context.fillStyle = paper.one("text")
    context.fillText(shorten(context, head.title, wide - 8), 0, 18 * z)
    for (const [name, said] of Object.entries(lines)) {
      const strip = strips[name]
      const middle = said.length > 1 ? strip.y + 14 * z : tight ? strip.y + 10 * z : strip.y + strip.height / 2 + 5 * z
      said.forEach((line, n) => {
        context.font = n ? sans(13 * z) : sans(14 * z, 600)
        context.fillStyle = paper.one(n ? "muted" : "text")
        context.fillText(line, 0, middle + 18 * z * n)
      })
    }
    context.font = sans(13 * z)
    context.fillStyle = paper.one("muted")
    if (height >= 70 * z) context.fillText("q", left - 19 * z, y - 4 * z)
    if (tight) words(context, paper)
  }

  function paintAside() {
    const { z, left, width, height } = place
    const wide = Math.min(width, stage.clientWidth)
    const context = prepare(aside, wide, height)
    context.fillStyle = colours(root).one("page")
    context.fillRect(0, 30 * z, left - 7 * z, height - 30 * z) // what is scrolled under it is not seen
    names(context, wide)
  }

  function tokens(context, paper) {
    const { z, cell, start, upright, size, tall, every } = place
    const picked = chosen()
    for (let k = 0; k < K; k++) {
      if (!hasLabel(k, every, picked)) continue
      const token = head.keys.tokens[k]
      context.font = mono(size, k === picked ? 600 : 400)
      context.fillStyle = paper.one(token.special ? "muted" : head.keys.ink)
      context.textBaseline = "middle"
      const x = xOf(k) + cell / 2
      const text = token.note ?? token.text
      if (upright) {
        context.save()
        context.translate(x, start - 8)
        context.rotate(-Math.PI / 2)
        context.textAlign = "left"
        context.fillText(isolated(shorten(context, text, tall - 8)), 0, 0)
        context.restore()
      } else {
        context.textAlign = "center"
        context.fillText(isolated(shorten(context, text, Math.max(cell - 2, size))), x, start - 14 * z)
      }
    }
  }

  function marks(context) {
    const paper = colours(root)
    const k = chosen()
    if (k === null) return
    const width = Math.max(3, place.cell - (place.cell >= 6 ? 1 : 0))
    const [x, y, height] = [xOf(k), place.start - 2, place.end - place.start + 4]
    ring(context, paper, x, y, width, height)
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    marks(context)
    if (hovered === null) return
    context.lineWidth = 1
    context.strokeStyle = colours(root).one("muted")
    context.strokeRect(xOf(hovered) + 0.5, place.start + 0.5, Math.max(2, place.cell - 2), place.end - place.start - 1)
  }

  // ---- hovering and choosing

  /** What the tooltip says of a key, and of one of its dimensions. */
  function sentences(k, e) {
    const { token, writes, keys: axis } = head
    const lines = [
      `query ${head.position}: ${writes ? "reads " : ""}${quoted(token)}${writes ? `, writes ${quoted(writes)}` : ""}`,
      `key ${positionAt(axis, k)}: ${quoted(axis.tokens[k])}`,
    ]
    if (e !== null)
      lines.push(
        `dimension ${e}: ${number(query[e])} × ${number(keys[k * E + e])} = ${number(query[e] * keys[k * E + e])}`,
      )
    const below =
      Number.isFinite(top - scores[k]) && mask[k] ? `, ${number(top - scores[k], 2)} below the row's largest` : ""
    lines.push(`${valued("score", scores[k], number(scores[k]))}${below}`)
    const masked = mask[k] ? "" : `masked${head.fill ? ` (${head.fill})` : ""}, `
    lines.push(masked + valued("weight", weights[k], share(weights[k])))
    return lines
  }

  function hover(k, x, y) {
    hovered = k
    if (k === null) tip.hide()
    else tip.show(sentences(k, dimensionAt(place, E, y)), x - stage.scrollLeft, y)
    paintOver()
  }
  function pick(k, settle) {
    selection.pick(fieldOf(head.keys, k), settle)
    announce(sentences(k, null).join(", "))
  }
  const pointed = (event) => {
    const { x, y } = pointIn(stage, event)
    return { x: x < place.left ? x : x + stage.scrollLeft, y } // under the names there is no key
  }
  /** Scroll as little as brings the column of the chosen key into view, when it is another one. */
  function reveal() {
    const k = chosen()
    if (k === revealed) return
    revealed = k
    if (k === null) return
    const [from, to] = [xOf(k) - place.left - 8, xOf(k) + place.cell + 8]
    if (from < stage.scrollLeft) stage.scrollLeft = from
    else if (to > stage.scrollLeft + stage.clientWidth) stage.scrollLeft = to - stage.clientWidth
  }
  stage.onpointermove = (event) => {
    const { x, y } = pointed(event)
    hover(keyAt(place, K, x, y), x, y)
  }
  stage.onpointerleave = () => hover(null)
  stage.onclick = (event) => {
    const { x, y } = pointed(event)
    const k = keyAt(place, K, x, y)
    if (k !== null) pick(k, 0)
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const along = { ArrowLeft: -1, ArrowRight: 1, Home: -K, End: K }[event.key]
    const down = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (along) {
      const far = event.shiftKey ? 10 : 1
      const k = Math.min(Math.max((chosen() ?? 0) + along * far, 0), K - 1)
      pick(k, 150)
      hovered = null
      reveal()
      tip.show(sentences(k, null), xOf(k) + place.cell / 2 - stage.scrollLeft, place.strips.scores.y)
    } else if (down) {
      const now = selection.chosen[head.query.field] ?? head.position
      const to = Math.min(Math.max(now + down, 0), head.query.count - 1)
      selection.pick({ [head.query.field]: to }, 150)
      tip.hide()
    } else {
      if (event.key === "Escape") tip.hide()
      return
    }
    event.preventDefault()
  }
  stage.onblur = () => tip.hide()

  const made = {
    update({ header, arrays }) {
      head = header
      query = arrays.query.values
      keys = arrays.keys.values
      scores = arrays.scores.values
      weights = arrays.weights.values
      mask = arrays.mask.values
      ;[K, E] = arrays.keys.shape
      const products = Float32Array.from(keys, (value, i) => value * query[i % E])
      most = {
        vectors: Math.max(finite(keys), finite(query)),
        products: finite(products),
        scores: finite(mask.some(Boolean) ? scores.filter((_, k) => mask[k]) : scores),
      }
      top = scores.reduce((largest, value, k) => (mask[k] && value > largest ? value : largest), -Infinity)
      const drawn = [query, keys, scores.map((score, k) => (mask[k] ? score : 0)), weights]
      strange = notFinite(drawn.flatMap((values) => [...values]))
      hovered = null
      stage.setAttribute("aria-label", `${head.label}. Left and right choose a key, up and down the query.`)
    },
    draw() {
      place = measure(base.getContext("2d"))
      stage.style.height = `${place.height}px`
      paint(prepare(base, place.width, place.height))
      paintAside()
      paintOver()
      reveal()
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
