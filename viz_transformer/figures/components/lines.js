import { foundAt, middleOf, placeLegend, placeSides, shiftOf, takeApart } from "./parts/axes.js"
import { rowLabels } from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { FAINT, FAINT_ROWS, hiddenWords, isFaint, NOT_THERE, NOT_YET } from "./parts/hidden.js"
import { dotted } from "./parts/marks.js"
import { notFinite, percent, share, valued } from "./parts/numbers.js"
import { fieldOf, placeOn, positionAt, selection } from "./parts/selection.js"
import { mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { countFrom, firstThreshold, strongestFirst } from "./parts/strongest.js"
import { isolated, mono, quoted, sans, shorten, wrappedTo } from "./parts/text.js"

/** @import { LinesHeader } from "./parts/types.js" */

// A line from each query to each key, as opaque as the weight. Header: {title, label, name, caption, queries, keys:
// {field, role, axis, ink, tokens}, writes, heads, colours, unit, fill, most_tokens, most_lines, height}; arrays:
// weights [N, Q, K], none if there are too many tokens, mask [Q, K] or [N, Q, K] where anything is masked. hidden: [N, Q]
// where keys are left out.

const THRESHOLDS = [
  0, 0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04,
  0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1,
]
const [FAINTEST, GAMMA] = [0.06, 0.7]
const opacityOf = (weight, hidden) =>
  (FAINTEST + (1 - FAINTEST) * Math.min(1, weight) ** GAMMA) * (isFaint(hidden) ? FAINT : 1)
const MANY = 600
const count = (whole) => whole.toLocaleString("en-US")

/** Part of a whole, which may be nothing, in percent. */
const part = (some, whole) => percent(whole && some / whole)

export default (component) => mount(component, "lines", makeLines)

function makeLines(root) {
  const stage = element("div", "stage")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const controls = element("div", "controls")
  const slider = element("input", "threshold")
  const said = element("output")
  const instead = element("p", "instead")
  const label = element("label", "", "threshold")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  slider.type = "range"
  slider.min = "0"
  slider.max = String(THRESHOLDS.length - 1)
  slider.step = "1"
  slider.setAttribute("aria-label", "Threshold: lines of smaller weights are hidden")
  label.append(slider)
  root.append(stage, instead, controls)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {LinesHeader} */
  let head
  let weights, mask, kept, N, Q, K, lines, place, painted
  let strange = "" // what weights are that are not finite
  let threshold = 0
  let touched = false
  let hovered = null // {q, k}: a token has one of them, a line both
  let focused = null

  controls.append(
    label,
    exports(root, {
      draw: (context) => paintAll(context),
      size: () => ({ width: place.width, height: place.height + 8 * place.z + 18 * place.z * hiddenLines().length }),
      caption: () => head.caption,
      name: () => head.name,
    }),
    said,
  )

  const at = (n, q, k) => weights.values[(n * Q + q) * K + k]
  const may = (n, q, k) => !mask || mask.values[((mask.shape.length === 3 ? n * Q : 0) + q) * K + k] === 1
  const there = (q, k) => !kept || kept.values[q * K + k] === 1
  const chosen = () => ({ q: placeOn(head.queries), k: placeOn(head.keys) })
  const plays = () => selection.playing && head.writes !== null
  /** Whether a token of this side comes behind the chosen query: while the steps are played it is not there yet. */
  const isLater = (side, n) =>
    plays() && head[side].ink === head.queries.ink && positionAt(head[side], n) > selection.chosen[head.queries.field]
  const isThere = (q, k) => !isLater("queries", q) && !isLater("keys", k)
  const shows = (n, q, k) => may(n, q, k) && isThere(q, k) && at(n, q, k) > 0 && at(n, q, k) >= Math.fround(threshold)

  // ---- which lines there are: strongest first, with the weight of all that follow

  const sortLines = () => {
    lines = strongestFirst(weights.values, weights.shape, may, there)
  }
  /** How many lines a threshold leaves. */
  const leaves = (smallest) => countFrom(weights.values, lines.order, smallest)
  const shownLines = () => Math.min(leaves(threshold), head.most_lines)

  /** What is not seen, in words. */
  function hidden() {
    const shown = shownLines()
    const total = lines.rest[0] + lines.masked
    const sentence = [
      `threshold ${threshold}: ${count(lines.all - shown)} of ${count(lines.all)} lines hidden, ${part(lines.rest[shown], total)} of the weight`,
    ]
    if (shown < leaves(threshold)) sentence.push(`only the strongest ${count(shown)} are drawn`)
    if (lines.masked) sentence.push(`masked pairs, without a line, hold ${part(lines.masked, total)}`)
    if (lines.unknown)
      sentence.push(
        `${count(lines.unknown)} ${lines.unknown === 1 ? "weight is" : "weights are"} ${strange} and ${lines.unknown === 1 ? "has" : "have"} no line`,
      )
    return sentence.join("; ")
  }

  /** The lines of one token, or of one pair: [n, q, k, weight], strongest last. */
  function linesOf({ q, k }) {
    const found = []
    for (let n = 0; n < N; n++)
      for (let from = q ?? 0; from < (q === undefined ? Q : q + 1); from++)
        for (let to = k ?? 0; to < (k === undefined ? K : k + 1); to++)
          if (shows(n, from, to)) found.push([n, from, to, at(n, from, to)])
    return found.sort((a, b) => a[3] - b[3])
  }

  /** Whether some weight of a query is not a number, in any of the heads: no line can say so. */
  const isUnknown = (q) =>
    head.heads.some((_, n) =>
      Array.from({ length: K }, (_, k) => k).some((k) => there(q, k) && !Number.isFinite(at(n, q, k))),
    )

  // ---- where things are

  function hiddenLines() {
    const context = base.getContext("2d")
    context.font = sans(13 * place.z)
    return wrappedTo(context, hidden(), place.width - 8, 3)
  }

  /** What the legend says. */
  const legendWords = () => ({
    heads: head.heads.map((text, n) => ({ text, colour: head.colours[n] })),
    scale: `${head.unit}: the more, the stronger the line`,
    dotted: strange,
    last: head.hidden?.some((rows) => rows.some(isFaint)) ? FAINT_ROWS : undefined,
  })

  function measure(context) {
    const z = zoom(root)
    const width = root.clientWidth
    const height = Math.max(240, Math.floor(tallness(root, head.height * z) - controls.offsetHeight - 8))
    context.font = sans(16 * z, 600)
    const title = wrappedTo(context, head.title, width - 8, 2)
    context.font = mono(14 * z, 600)
    const wide = ({ text, note }) =>
      context.measureText(note ?? text).width + (note === undefined ? 0 : context.measureText(text).width * 0.66 + 6)
    const widestOf = ({ tokens }) => tokens.reduce((widest, token) => Math.max(widest, wide(token)), 0)
    const widest = { queries: widestOf(head.queries), keys: widestOf(head.keys) }
    const most = 14 * context.measureText("m").width
    context.font = sans(13 * z)
    const legend = placeLegend(legendWords(), context, z, width)
    const counts = { queries: Q, keys: K }
    const given = { z, width, height, widest, most, counts, heads: N, lines: title.length, legend: legend.rows }
    return { ...placeSides(given), title, legend }
  }
  const yOf = (side, n) => middleOf(place, side, n)
  const shift = (n) => shiftOf(place, n, N)

  /** What is at this point: a token, the nearest line, or nothing. */
  const found = (x, y) => foundAt(place, x, y, { heads: N, count: shownLines(), lineAt: (i) => split(lines.order[i]) })
  const split = (i) => [Math.floor(i / (Q * K)), Math.floor(i / K) % Q, i % K]

  // ---- painting

  function stroke(context, n, q, k) {
    context.beginPath()
    context.moveTo(place.left, yOf("queries", q) + shift(n))
    context.lineTo(place.right, yOf("keys", k) + shift(n))
    context.stroke()
  }

  function paintLines(context, paper) {
    const inks = head.colours.map(paper.one)
    context.lineWidth = place.thick
    for (let i = shownLines() - 1; i >= 0; i--) {
      const [n, q, k] = split(lines.order[i])
      if (!isThere(q, k)) continue
      context.strokeStyle = inks[n]
      context.globalAlpha = opacityOf(weights.values[lines.order[i]], head.hidden?.[n][q])
      stroke(context, n, q, k)
    }
    context.globalAlpha = 1
    if (!strange) return
    const { z, left, rows } = place
    const tall = Math.max(3, Math.min(12 * z, rows.queries - 1))
    for (let q = 0; q < Q; q++)
      if (isUnknown(q) && !isLater("queries", q))
        dotted(context, paper, left + 1, yOf("queries", q) - tall / 2, 24 * z, tall)
  }

  /** The labels of one side; where rows are lower than letters, those that matter most are written first. */
  function labels(context, paper, side, looked) {
    const { z, left, right, width, rows } = place
    const { tokens, ink } = head[side]
    const mine = side === "queries" ? "q" : "k"
    const { size, every } = rowLabels(rows[side], z)
    const picked = chosen()[mine]
    const partners = looked
      ? linesOf(looked)
          .map((line) => line[side === "queries" ? 1 : 2])
          .reverse()
      : []
    const bright = new Set(looked?.[mine] === undefined ? partners : [looked[mine]])
    const first = [looked?.[mine], picked, ...(every > 1 && looked?.[mine] === undefined ? partners : [])]
    const take = takeApart(tokens.length, every)
    const room = (side === "queries" ? left : width - right) - 14 * z
    const sign = side === "queries" ? -1 : 1
    const edge = side === "queries" ? left : right
    context.textAlign = side === "queries" ? "right" : "left"
    context.textBaseline = "middle"
    const write = (n) => {
      if (n === undefined || n === null || isLater(side, n) || !take(n)) return
      const token = tokens[n]
      const y = yOf(side, n)
      const x = edge + sign * 10 * z
      context.globalAlpha = !looked || bright.has(n) || n === picked ? 1 : 0.4
      context.font = mono(size, n === picked ? 600 : 400)
      context.fillStyle = paper.one(token.special ? "muted" : n === picked ? "text" : ink)
      const main = isolated(shorten(context, token.note ?? token.text, token.note === undefined ? room : room * 0.7))
      context.fillText(main, x, y)
      const end = context.measureText(main).width
      if (n === picked) context.fillRect(edge + sign * 3 * z - z, y - size * 0.6, 2 * z, size * 1.2)
      if (looked?.[mine] === n) context.fillRect(Math.min(x, x + sign * end), y + size * 0.62, end, 1)
      if (token.note !== undefined) {
        context.font = mono(size * 0.66)
        context.fillStyle = paper.one("muted")
        context.fillText(isolated(shorten(context, token.text, room - end - 5)), x + sign * (end + 5), y)
      }
    }
    first.forEach(write)
    for (let n = 0; n < tokens.length; n += every) write(n)
    context.globalAlpha = 1
  }

  function frame(context, paper) {
    const { z, width, height, title, legend, top } = place
    context.textBaseline = "alphabetic"
    context.textAlign = "left"
    context.font = sans(16 * z, 600)
    context.fillStyle = paper.one("text")
    title.forEach((line, i) => context.fillText(line, 0, (20 + 22 * i) * z))
    context.font = sans(13 * z)
    context.fillStyle = paper.one(head.queries.ink)
    context.fillText(shorten(context, head.queries.axis, width / 2 - 8), 0, top - 14 * z)
    context.textAlign = "right"
    context.fillStyle = paper.one(head.keys.ink)
    context.fillText(shorten(context, head.keys.axis, width / 2 - 8), width, top - 14 * z)
    context.textAlign = "left"
    context.textBaseline = "middle"
    for (const { text, colour, ramp, dots, start, x, row, size } of legend.parts) {
      const y = height - ((legend.rows - row) * 20 - 8) * z
      if (ramp) {
        context.font = mono(12 * z)
        context.fillStyle = paper.one("muted")
        context.fillText("0", x, y)
        context.fillText("1", x + 88 * z, y)
        context.fillStyle = N > 1 ? paper.one("text") : paper.one(head.colours[0])
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
  }

  /** Everything on one canvas, as it is saved: with all lines, and what is hidden in words. */
  function paintAll(context) {
    const paper = colours(root)
    paintLines(context, paper)
    labels(context, paper, "queries", null)
    labels(context, paper, "keys", null)
    frame(context, paper)
    context.font = sans(13 * place.z)
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.fillStyle = paper.one("muted")
    hiddenLines().forEach((line, i) => context.fillText(line, 0, place.height + (14 + 18 * i) * place.z))
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = colours(root)
    const looked = hovered ?? focused
    const pair = looked && looked.q !== undefined && looked.k !== undefined
    base.classList.toggle("faded", Boolean(looked && !pair))
    if (looked) {
      context.lineWidth = place.thick
      for (const [n, q, k, weight] of linesOf(looked)) {
        if (pair) {
          context.strokeStyle = paper.one("page")
          context.globalAlpha = 1
          context.lineWidth = place.thick * 4
          stroke(context, n, q, k)
          context.lineWidth = place.thick * 2
        }
        context.strokeStyle = paper.one(head.colours[n])
        const opacity = opacityOf(weight, head.hidden?.[n][q])
        context.globalAlpha = pair ? Math.max(0.6, opacity) : opacity
        stroke(context, n, q, k)
      }
      context.globalAlpha = 1
    }
    labels(context, paper, "queries", looked)
    labels(context, paper, "keys", looked)
    if (looked && !pair && N === 1) values(context, paper, looked)
    frame(context, paper)
  }

  /** The weights of one token's lines, at their far ends; where there is no room for all, the largest. */
  function values(context, paper, looked) {
    const { z, left, right } = place
    const far = looked.q === undefined ? "queries" : "keys"
    const size = 11 * z
    const every = Math.ceil((size + 3) / place.rows[far])
    const take = takeApart(place.counts[far], every)
    context.font = mono(size)
    context.textAlign = far === "keys" ? "right" : "left"
    context.textBaseline = "middle"
    for (const [, q, k, weight] of linesOf(looked).reverse()) {
      const n = far === "keys" ? k : q
      if (!take(n)) continue
      const text = share(weight)
      const wide = context.measureText(text).width
      const x = far === "keys" ? right - 8 * z : left + 8 * z
      context.fillStyle = paper.one("page")
      context.fillRect(far === "keys" ? x - wide - 3 : x - 3, yOf(far, n) - size / 2 - 1, wide + 6, size + 2)
      context.fillStyle = paper.one("text")
      context.fillText(text, x, yOf(far, n))
    }
  }

  // ---- words

  const queryWords = (q) =>
    `${head.queries.role} ${positionAt(head.queries, q)}: ${head.writes ? "reads " : ""}${quoted(head.queries.tokens[q])}${head.writes ? `, writes ${quoted(head.writes[q])}` : ""}`
  const keyWords = (k) => `${head.keys.role} ${positionAt(head.keys, k)}: ${quoted(head.keys.tokens[k])}`
  const named = (n, text) => (N > 1 ? `${head.heads[n]}: ${text}` : text)

  const hiddenOf = (q) => head.heads.flatMap((_, n) => hiddenWords(head.hidden?.[n][q]).map((words) => named(n, words)))

  function sentences({ q, k }) {
    for (const [side, n] of Object.entries({ queries: q, keys: k }))
      if (n !== undefined && isLater(side, n)) return [`${head[side].role} ${positionAt(head[side], n)}`, NOT_YET]
    if (q !== undefined && k !== undefined) {
      if (!there(q, k)) return [queryWords(q), keyWords(k), NOT_THERE]
      const values = head.heads.map((_, n) => {
        const weight = valued("weight", at(n, q, k), share(at(n, q, k)))
        return named(n, may(n, q, k) ? weight : `masked${head.fill ? ` (${head.fill})` : ""}, ${weight}`)
      })
      return [queryWords(q), keyWords(k), ...values, ...hiddenOf(q)]
    }
    const asQuery = q !== undefined
    const own = asQuery ? q : k
    const [other, size] = asQuery ? [head.keys, K] : [head.queries, Q]
    const words = asQuery ? queryWords(q) : keyWords(k)
    if (kept && !Array.from({ length: size }, (_, m) => (asQuery ? there(own, m) : there(m, own))).some(Boolean))
      return [words, NOT_THERE]
    let [unseen, all, sum, total] = [0, 0, 0, 0]
    const strongest = head.heads.map((_, n) => {
      let best = null
      let unknown = 0
      for (let m = 0; m < size; m++) {
        const pair = asQuery ? [n, own, m] : [n, m, own]
        const weight = at(...pair)
        if (Number.isFinite(weight)) total += weight
        else if (there(...pair.slice(1)) && isThere(...pair.slice(1))) unknown++
        if (!may(...pair) || !isThere(...pair.slice(1)) || !Number.isFinite(weight)) continue
        all++
        if (!shows(...pair)) [unseen, sum] = [unseen + 1, sum + weight]
        if (weight > 0 && (best === null || weight > best.weight)) best = { m, weight }
      }
      const others = unknown ? `${unknown === 1 ? "1 weight" : `${count(unknown)} weights`} ${strange}` : ""
      if (!best && unknown) return named(n, others)
      if (!best) return named(n, asQuery ? "reads nothing" : "is read by nothing")
      const what = `${other.role} ${positionAt(other, best.m)} ${quoted(other.tokens[best.m])}, weight ${share(best.weight)}`
      return named(n, `${asQuery ? "reads most" : "most read by"}: ${what}${others && `; ${others}`}`)
    })
    const partner = chosen()[asQuery ? "k" : "q"]
    const beside = []
    if (partner !== null) {
      const each = head.heads.map((name, n) => {
        const pair = asQuery ? [n, own, partner] : [n, partner, own]
        if (!there(...pair.slice(1))) return NOT_THERE
        const weight = share(at(...pair))
        return `${may(...pair) ? "" : "masked, "}${N > 1 ? weight : valued("weight", at(...pair), weight)}${N > 1 ? ` (${name})` : ""}`
      })
      beside.push(
        `with the chosen ${other.role} ${positionAt(other, partner)} ${quoted(other.tokens[partner])}: ${each.join(", ")}`,
      )
    }
    const hides = `${unseen} of ${all} lines hidden, ${part(sum, total)} of ${asQuery ? "its" : "their"} weight`
    return [words, ...strongest, ...beside, hides, ...(asQuery ? hiddenOf(q) : [])]
  }

  // ---- pointing, choosing, walking

  /** Beside the pointer for a line; under the picture for a token, whose lines are to be seen. */
  function tell(looked, x, y) {
    if (looked.k === undefined) tip.show(sentences(looked), -16, root.clientHeight + 12)
    else if (looked.q === undefined) tip.show(sentences(looked), root.clientWidth + 12, root.clientHeight + 12)
    else tip.show(sentences(looked), x, y)
  }

  function look(looked, x, y) {
    const before = hovered
    hovered = looked
    stage.classList.toggle("pointing", Boolean(looked))
    if (looked) tell(looked, x, y)
    else tip.hide()
    if (before?.q !== looked?.q || before?.k !== looked?.k) paintOver()
  }

  /** @param {{q?: number, k?: number}} token */
  function pick({ q, k }) {
    selection.pick({
      ...(q !== undefined && fieldOf(head.queries, q)),
      ...(k !== undefined && fieldOf(head.keys, k)),
    })
    announce(`chosen: ${sentences({ q, k }).join(", ")}`)
  }

  const point = (event) => {
    const { x, y } = pointIn(stage, event)
    return [x, y]
  }
  stage.onpointermove = (event) => look(found(...point(event)), ...point(event))
  stage.onpointerleave = () => look(null)
  stage.onclick = (event) => {
    const token = found(...point(event))
    focused = token && (token.q === undefined || token.k === undefined) ? token : null
    if (token) pick(token)
    look(token, ...point(event))
    paintOver()
  }
  stage.onfocus = () => {
    if (!stage.matches(":focus-visible")) return
    walk({ q: chosen().q ?? 0 })
  }
  stage.onblur = () => {
    focused = null
    tip.hide()
    paintOver()
  }

  function walk(token) {
    focused = token
    hovered = null
    announce(sentences(token).join(", "))
    tell(token)
    paintOver()
  }

  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const here = focused ?? { q: chosen().q ?? 0 }
    const asQuery = here.q !== undefined
    const size = asQuery ? Q : K
    const move = (to) => {
      const n = Math.min(Math.max(to, 0), size - 1)
      walk(asQuery ? { q: n } : { k: n })
    }
    const own = asQuery ? here.q : here.k
    const far = event.shiftKey ? 10 : 1
    if (event.key === "ArrowUp") move(own - far)
    else if (event.key === "ArrowDown") move(own + far)
    else if (event.key === "Home") move(0)
    else if (event.key === "End") move(size - 1)
    else if (event.key === "ArrowLeft") {
      if (!asQuery) walk({ q: chosen().q ?? Math.min(own, Q - 1) })
    } else if (event.key === "ArrowRight") {
      if (asQuery) walk({ k: chosen().k ?? Math.min(own, K - 1) })
    } else if (event.key === "Enter" || event.key === " ") pick(here)
    else {
      if (event.key !== "Escape") return
      focused = hovered = null
      tip.hide()
      paintOver()
      return
    }
    event.preventDefault()
  }

  function setThreshold(to) {
    threshold = to
    slider.value = String(THRESHOLDS.indexOf(to))
    said.textContent = hidden()
    slider.setAttribute("aria-valuetext", said.textContent)
  }
  let moving = false
  slider.oninput = () => {
    touched = true
    setThreshold(THRESHOLDS[Number(slider.value)])
    if (moving) return
    moving = true
    requestAnimationFrame(() => {
      // not more often than the screen, however fast the slider is moved
      moving = false
      if (weights && root.isConnected) made.draw()
    })
  }

  const made = {
    update({ header, arrays }) {
      head = header
      weights = arrays.weights
      mask = arrays.mask
      kept = arrays.there
      painted = null
      hovered = null
      tip.hide()
      const few = Boolean(weights)
      stage.hidden = !few
      controls.hidden = !few
      instead.hidden = few
      if (!few) {
        instead.replaceChildren(
          element("strong", "", head.title),
          document.createTextNode(
            `Here are ${count(head.queries.count)} queries and ${count(head.keys.count)} keys: lines are drawn for up to ${head.most_tokens} tokens, the matrix shows all.`,
          ),
        )
        return
      }
      ;[N, Q, K] = weights.shape
      const cells = kept && Uint8Array.from(weights.values, (_, i) => kept.values[i % (Q * K)])
      strange = notFinite(weights.values, cells)
      if (focused && (focused.q >= Q || focused.k >= K)) focused = null
      sortLines()
      setThreshold(touched ? threshold : firstThreshold(THRESHOLDS, K, MANY, leaves))
      stage.setAttribute(
        "aria-label",
        `${head.label}. Up and down arrow keys move among the tokens of one side, left and right change the side, Enter chooses.`,
      )
    },
    draw() {
      root.style.height = weights ? `${tallness(root, head.height)}px` : ""
      if (weights) {
        const probe = base.getContext("2d")
        place = measure(probe)
        stage.style.height = `${place.height}px`
        const paper = colours(root)
        const step = plays() && selection.chosen[head.queries.field]
        const state = [place.width, place.height, place.z, threshold, paper.one("page"), sharpness(root), step].join()
        if (painted !== state) paintLines(prepare(base, place.width, place.height), paper)
        painted = state
        paintOver()
      }
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
