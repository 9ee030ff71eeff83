import { colours, isLight } from "./parts/colours.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { linesOf, onNextLine, placeSheet } from "./parts/flow.js"
import { FAINT, FAINT_ROWS, hiddenWords, isFaint, NOT_THERE, NOT_YET } from "./parts/hidden.js"
import { dotted, HATCH_EVERY, hatch } from "./parts/marks.js"
import { notFinite, share, valued } from "./parts/numbers.js"
import { fieldOf, placeOn, positionAt, selection } from "./parts/selection.js"
import { magnified, mount, zoom } from "./parts/stage.js"
import { isolated, mono, quoted, sans, shorten, wrapped } from "./parts/text.js"

/** @import { ShadingHeader } from "./parts/types.js" */

// The text, its tokens shaded by the weights of one query or to one key. Header: {title, label, name, caption, queries,
// keys: {field, role, axis, ink, tokens}, writes, together, scale, unit, fill}; arrays: weights [Q, K], mask [Q, K]
// where anything is masked. All rows are here: what is selected changes without Python. With `grows`, tokens of the
// queries' side behind the selected query are not written yet, as everywhere while the steps are played. hidden: [Q] where keys are left out.

const DIRECTIONS = [
  ["reads", "from this query", "Shade each key by the weight that the selected query gives it"],
  ["gives", "to this key", "Shade each query by the weight that it gives to the selected key"],
]
const SHADES = [
  ["fixed", "0–1", "Full colour is weight 1"],
  ["most", "max", "Full colour is the largest weight shown"],
]
const SEGMENTS = new Intl.Segmenter(undefined, { granularity: "grapheme" })
const hasRightToLeft = (text) => isolated(text) !== text
const hasLeftToRight = (text) => /\p{L}/u.test(text.replace(/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g, ""))

export default (component) => mount(component, "shading", makeShading)

function makeShading(root) {
  const title = element("div", "title")
  const bar = element("div", "bar")
  const about = element("div", "about")
  const stage = element("div", "stage")
  const legend = element("div", "legend")
  const directionChoice = element("span", "choice")
  const shadeChoice = element("span", "choice")
  stage.setAttribute("role", "group")
  root.append(title, bar, about, stage, legend)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {ShadingHeader} */
  let head
  let weights, mask, kept, K
  let direction = "reads"
  let shade = "fixed"
  let paragraphs = []
  let built = ""
  let sawBefore = ""
  let told = null // the token that the tooltip speaks of, {paragraph, n}

  const group = (choice, name, options, choose) => {
    choice.setAttribute("role", "group")
    choice.setAttribute("aria-label", name)
    const made = options.map(([word, text, hint]) => {
      const each = button("quiet", text, hint, () => {
        choose(word)
        hush()
        view.draw()
      })
      each.setAttribute("aria-label", text)
      return each
    })
    choice.append(...made)
    return made
  }
  const directions = group(directionChoice, "Direction", DIRECTIONS, (word) => {
    direction = word
  })
  const shades = group(shadeChoice, "Colour scale", SHADES, (word) => {
    shade = word
  })
  const tools = element("span", "tools")
  tools.append(
    shadeChoice,
    exports(root, {
      draw: (context) => paintAll(context),
      size: () => ({ width: root.clientWidth, height: sheet().height }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )
  bar.append(directionChoice, tools)

  const at = (q, k) => weights.values[q * K + k]
  const may = (q, k) => !mask || mask.values[q * K + k] === 1
  const there = (q, k) => !kept || kept.values[q * K + k] === 1
  const chosen = () => ({ queries: placeOn(head.queries), keys: placeOn(head.keys) })
  const active = () => (direction === "reads" ? "queries" : "keys")
  const shaded = () => (direction === "reads" ? "keys" : "queries")
  /** Whose place a token of this paragraph is when it is chosen. */
  const axisOf = (paragraph) => paragraph.axis ?? active()
  const plays = () => selection.playing && head.writes !== null
  /** Whether token n of this paragraph comes behind the selected query, and so is not there yet at its step. */
  const unwritten = ({ side }, n) =>
    (head.grows || plays()) &&
    side.ink === head.queries.ink &&
    chosen().queries !== null &&
    positionAt(side, n) > selection.chosen[head.queries.field]
  /** The query and the key whose weight token n of this paragraph shows, null if it shows none. */
  const pairOf = (paragraph, n) => {
    const of = chosen()[active()]
    if (of === null || (paragraph.axis && paragraph.axis !== shaded()) || unwritten(paragraph, n)) return null
    return direction === "reads" ? [of, n] : [n, of]
  }
  /** The weight that token n of this paragraph shows, in a list: none where it shows none. */
  const weightsOf = (paragraph, n) => {
    const pair = pairOf(paragraph, n)
    return pair && there(...pair) ? [at(...pair)] : []
  }
  /** Whether token n of this paragraph shows a weight of a row of which most is hidden. */
  const faint = (paragraph, n) => isFaint(head.hidden?.[pairOf(paragraph, n)?.[0]])

  // ---- the text, made once for the same tokens

  function tokenElement(token) {
    const made = element("span", token.special ? "token special" : "token")
    made.setAttribute("role", "option")
    made.tabIndex = -1
    if (token.note === undefined) made.textContent = token.text
    else
      for (const part of [element("span", "typed", token.note), element("span", "read", token.text)]) {
        part.dir = "auto"
        made.append(part)
      }
    // These stand for themselves; the letters of all others join those around them, so that a phrase runs one way.
    if (token.special || token.note !== undefined || (hasRightToLeft(token.text) && hasLeftToRight(token.text)))
      made.dir = "auto"
    return made
  }

  function build() {
    const tokens = JSON.stringify([head.queries, head.keys, head.together])
    if (tokens === built) return
    built = tokens
    const wanted = head.together ? [null] : head.keys.ink === "source-ink" ? ["keys", "queries"] : ["queries", "keys"]
    stage.classList.toggle("together", head.together)
    paragraphs = wanted.map((axis) => {
      const side = head[axis ?? "queries"]
      const words = axis
        ? side.axis
        : head.queries.axis === head.keys.axis
          ? side.axis
          : `${head.queries.axis}, ${head.keys.axis}`
      const label = element("div", "side", words)
      label.style.color = `var(--vt-${side.ink})`
      const box = element("div", "text")
      box.setAttribute("role", "listbox")
      box.setAttribute("aria-orientation", "horizontal")
      box.setAttribute("aria-label", words)
      const read = side.tokens.filter((token) => !token.special).map((token) => token.note ?? token.text)
      box.dir = read.filter(hasRightToLeft).length > read.filter(hasLeftToRight).length ? "rtl" : "ltr"
      const paragraph = { axis, side, box, label, focus: 0 }
      paragraph.cells = side.tokens.map(tokenElement)
      box.append(...paragraph.cells.flatMap((cell) => [cell, " "]))
      listen(paragraph)
      return paragraph
    })
    stage.replaceChildren(...paragraphs.flatMap(({ label, box }) => [label, box]))
    sawBefore = ""
  }

  // ---- shades

  /** The weight that has full colour. */
  function full() {
    if (shade === "fixed") return 1
    let most = 0
    for (const paragraph of paragraphs)
      paragraph.cells.forEach((_, n) => {
        const pair = pairOf(paragraph, n)
        if (pair && at(...pair) > most && at(...pair) < Infinity) most = at(...pair)
      })
    return most || 1
  }

  /** Of each token of a paragraph: {fill, ink, masked, unknown}; fill is "" where nothing is shaded. */
  function looks(paragraph, paper) {
    const palette = paper.scale(head.scale)
    const [surface, text, page, muted, own] = ["surface", "text", "page", "muted", paragraph.side.ink].map(paper.one)
    const [dark, light] = isLight(text) ? [page, text] : [text, page]
    const most = full()
    return paragraph.side.tokens.map((token, n) => {
      const pair = pairOf(paragraph, n)
      if (!pair || !there(...pair))
        return { fill: "", ink: token.special || pair ? muted : own, masked: false, unknown: false }
      const value = at(...pair)
      const masked = !may(...pair)
      if (!Number.isFinite(value)) return { fill: "", ink: text, masked, unknown: true }
      if (masked && value === 0) return { fill: surface, ink: muted, masked, unknown: false }
      const fill = palette.css(value / most)
      return { fill, ink: isLight(fill) ? dark : light, masked, unknown: false }
    })
  }

  function paint(paper) {
    const picked = chosen()
    stage.classList.toggle("plays", plays())
    for (const paragraph of paragraphs) {
      const axis = axisOf(paragraph)
      const mine = picked[axis]
      const other = paragraph.axis ? null : picked[shaded()]
      looks(paragraph, paper).forEach(({ fill, ink, masked, unknown }, n) => {
        const cell = paragraph.cells[n]
        if (cell.style.backgroundColor !== fill) cell.style.backgroundColor = fill
        if (cell.style.color !== ink) cell.style.color = ink
        cell.classList.toggle("masked", masked)
        cell.classList.toggle("no-number", unknown)
        const later = unwritten(paragraph, n)
        cell.classList.toggle("unwritten", later)
        cell.classList.toggle("faint", faint(paragraph, n))
        const label = `${n}: ${quoted(paragraph.side.tokens[n])}${later ? `, ${NOT_YET}` : ""}${unknown ? `, ${notFinite([at(...pairOf(paragraph, n))])}` : ""}`
        if (cell.getAttribute("aria-label") !== label) cell.setAttribute("aria-label", label)
        const selected = n === mine && (!paragraph.axis || axis === active())
        cell.classList.toggle("selected", selected)
        cell.classList.toggle("other", !selected && (n === other || n === mine))
        cell.setAttribute("aria-selected", String(n === mine))
      })
      rove(paragraph, paragraph.box.contains(focusedCell()) ? paragraph.focus : (mine ?? 0))
    }
    reveal(picked)
  }

  const focusedCell = () => root.getRootNode().activeElement
  function rove(paragraph, n) {
    const last = paragraph.cells[paragraph.focus]
    if (last) last.tabIndex = -1
    paragraph.focus = Math.min(n, paragraph.cells.length - 1)
    paragraph.cells[paragraph.focus].tabIndex = 0
  }

  /** Scroll a long paragraph to the token that was chosen, wherever that was; never the page. */
  function reveal(picked) {
    const sees = JSON.stringify([picked, direction])
    if (sees === sawBefore) return
    sawBefore = sees
    for (const { axis, box, cells } of paragraphs) {
      const n = picked[axis ?? active()]
      if (n === null || box.scrollHeight <= box.clientHeight) continue
      const [outer, inner] = [box.getBoundingClientRect(), cells[n].getBoundingClientRect()]
      if (inner.top < outer.top) box.scrollTop += (inner.top - outer.top) / magnified(box) - 8
      else if (inner.bottom > outer.bottom) box.scrollTop += (inner.bottom - outer.bottom) / magnified(box) + 8
    }
  }

  // ---- words

  const queryWords = (q) =>
    `${head.queries.role} ${positionAt(head.queries, q)}: ${head.writes ? "reads " : ""}${quoted(head.queries.tokens[q])}${head.writes ? `, writes ${quoted(head.writes[q])}` : ""}`
  const keyWords = (k) => `${head.keys.role} ${positionAt(head.keys, k)}: ${quoted(head.keys.tokens[k])}`
  const approximately = () => (weights.encoding === "float32" ? "" : "≈ ")

  function sentences(paragraph, n) {
    const pair = pairOf(paragraph, n)
    if (!pair) {
      const words = axisOf(paragraph) === "queries" ? queryWords(n) : keyWords(n)
      if (unwritten(paragraph, n)) return [plays() ? `${paragraph.side.role} ${n}` : words, NOT_YET]
      return [words]
    }
    if (!there(...pair)) return [queryWords(pair[0]), keyWords(pair[1]), NOT_THERE]
    const weight = valued("weight", at(...pair), approximately() + share(at(...pair)))
    const what = may(...pair) ? weight : `masked${head.fill ? ` (${head.fill})` : ""}, ${weight}`
    return [queryWords(pair[0]), keyWords(pair[1]), what, ...hiddenWords(head.hidden?.[pair[0]])]
  }

  /** What the shades are, in one sentence. */
  function said() {
    const of = chosen()[active()]
    if (of === null)
      return `Choose a ${direction === "reads" ? "query" : "key"}: click a token, or move to it with the arrow keys.`
    return direction === "reads" ? `What it reads: ${queryWords(of)}` : `What reads it: ${keyWords(of)}`
  }

  /** The legend's two ends, and what it says of them. */
  function key() {
    const notes = [head.unit]
    if (shade === "most") notes.push(`full colour is the largest shown${approximately() && ", rounded to 16 bits"}`)
    const hatched = paragraphs.some((paragraph) => paragraph.cells.some((cell) => cell.classList.contains("masked")))
    if (hatched) notes.push("hatched: masked")
    const strange = notFinite(
      paragraphs.flatMap((paragraph) => paragraph.cells.flatMap((_, n) => weightsOf(paragraph, n))),
    )
    if (strange) notes.push(`dotted: ${strange}`)
    const any = (found) => paragraphs.some((paragraph) => paragraph.cells.some((_, n) => found(paragraph, n)))
    if (any(unwritten) && !plays()) notes.push("faint: not written yet")
    if (any(faint)) notes.push(FAINT_ROWS)
    return { start: "0", end: shade === "most" ? share(full()) : "1", words: notes.join(", ") }
  }

  // ---- pointing, choosing, walking

  /** @returns {[number, number]} */
  const placeOf = (cell) => {
    const [outer, inner] = [root.getBoundingClientRect(), cell.getBoundingClientRect()]
    const k = magnified(root)
    return [(inner.left - outer.left + inner.width / 2) / k, (inner.bottom - outer.top) / k - 10]
  }

  function tell(paragraph, n) {
    told = { paragraph, n }
    tip.show(sentences(paragraph, n), ...placeOf(paragraph.cells[n]))
  }
  function hush() {
    told = null
    tip.hide()
  }

  function pick(paragraph, n, settle) {
    selection.pick(fieldOf(head[axisOf(paragraph)], n), settle)
    announce(sentences(paragraph, n).join(", "))
  }

  /**
   * @param {HTMLElement[]} cells
   * @param {number} n
   * @param {1 | -1} step
   */
  const onLine = (cells, n, step) => onNextLine((m) => cells[m].getBoundingClientRect(), cells.length, n, step)

  function listen(paragraph) {
    const { box, cells } = paragraph
    const numberOf = (event) => cells.indexOf(event.target.closest?.(".token"))
    box.onpointerover = (event) => {
      const n = numberOf(event)
      if (n < 0) hush()
      else tell(paragraph, n)
    }
    box.onpointerleave = hush
    box.onclick = (event) => {
      const n = numberOf(event)
      if (n < 0) return
      rove(paragraph, n)
      cells[n].focus({ preventScroll: true })
      pick(paragraph, n, 0)
      tell(paragraph, n)
    }
    box.addEventListener("focusin", (event) => {
      const n = numberOf(event)
      if (n < 0 || !cells[n].matches(":focus-visible")) return
      announce(sentences(paragraph, n).join(", "))
      tell(paragraph, n)
    })
    box.addEventListener("focusout", hush)
    box.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return
      const n = paragraph.focus
      const far = event.shiftKey ? 10 : 1
      const forward = box.dir === "rtl" ? -far : far
      const moves = {
        ArrowLeft: () => n - forward,
        ArrowRight: () => n + forward,
        Home: () => 0,
        End: () => cells.length - 1,
        ArrowUp: () => onLine(cells, n, -1),
        ArrowDown: () => onLine(cells, n, 1),
        Enter: () => n,
        " ": () => n,
      }
      if (moves[event.key]) {
        const to = Math.min(Math.max(moves[event.key](), 0), cells.length - 1)
        rove(paragraph, to)
        cells[to].focus()
        pick(paragraph, to, to === n ? 0 : 150)
        tell(paragraph, to)
      } else {
        if (event.key === "Escape") hush()
        return
      }
      event.preventDefault()
    }
  }

  // ---- saving: the same places, drawn on a canvas

  const ruler = element("canvas").getContext("2d")

  /** Where the parts of the picture are, from the top. */
  function sheet() {
    const z = zoom(root)
    const { end, words } = key()
    ruler.font = mono(12 * z)
    const wide = ruler.measureText(end).width
    ruler.font = sans(13 * z)
    return placeSheet({
      z,
      width: root.clientWidth,
      paragraphs: paragraphs.map(({ box }) => box.scrollHeight),
      end: wide,
      wrap: (room) => wrapped(ruler, words, room),
    })
  }

  /** The lines of a piece of text as the browser broke it: [{text, left, middle}]. */
  function textLines(node) {
    const range = document.createRange()
    range.selectNodeContents(node)
    const whole = range.getClientRects()
    if (whole.length === 1)
      return [{ text: node.data, left: whole[0].left, middle: whole[0].top + whole[0].height / 2 }]
    const boxOf = (from, to) => {
      range.setStart(node, from)
      range.setEnd(node, to)
      return range.getBoundingClientRect()
    }
    return linesOf(
      Array.from(SEGMENTS.segment(node.data), ({ segment, index }) => ({
        text: segment,
        box: boxOf(index, index + segment.length),
      })),
    )
  }

  function paintTokens(context, paper, paragraph, top) {
    const { box, cells } = paragraph
    const outer = box.getBoundingClientRect()
    const [dx, dy] = [-root.getBoundingClientRect().left, top - outer.top + box.scrollTop]
    const styles = looks(paragraph, paper)
    cells.forEach((cell, n) => {
      const { fill, ink, masked, unknown } = styles[n]
      context.globalAlpha = unwritten(paragraph, n) || faint(paragraph, n) ? FAINT : 1
      for (const { left, top: y, width, height } of cell.getClientRects()) {
        if (fill) {
          context.fillStyle = fill
          context.fillRect(left + dx, y + dy, width, height)
        }
        if (unknown) dotted(context, paper, left + dx, y + dy, width, height)
        context.strokeStyle = paper.one("line")
        if (masked) hatch(context, left + dx, y + dy, width, height, HATCH_EVERY)
        context.lineWidth = 1
        if (paragraph.side.tokens[n].special) context.strokeRect(left + dx + 0.5, y + dy + 0.5, width - 1, height - 1)
        if (cell.classList.contains("selected")) {
          context.lineWidth = 2
          context.strokeStyle = paper.one("page")
          context.strokeRect(left + dx - 1, y + dy - 1, width + 2, height + 2)
          context.strokeStyle = paper.one("text")
          context.strokeRect(left + dx - 3, y + dy - 3, width + 6, height + 6)
        }
        context.fillStyle = ink
        if (cell.classList.contains("other")) context.fillRect(left + dx + 4, y + dy + height - 3, width - 8, 2)
      }
      const pieces = cell.childElementCount ? [...cell.children] : [cell]
      for (const piece of pieces) {
        const size = parseFloat(getComputedStyle(piece).fontSize)
        context.font = mono(size)
        context.fillStyle = ink
        for (const { text, left, middle } of textLines(piece.firstChild)) {
          context.direction = hasRightToLeft(text) ? "rtl" : "ltr"
          context.fillText(text, left + dx, middle + dy)
        }
      }
    })
    context.direction = "ltr"
    context.globalAlpha = 1
  }

  function paintAll(context) {
    const paper = colours(root)
    const {
      z,
      places,
      legend: { y: low, left, lines },
    } = sheet()
    const width = root.clientWidth
    context.textAlign = "left"
    context.textBaseline = "middle"
    context.font = sans(16 * z, 600)
    context.fillStyle = paper.one("text")
    context.fillText(shorten(context, head.title, width - 8), 0, 14 * z)
    context.font = sans(14 * z)
    context.fillStyle = paper.one("muted")
    context.fillText(shorten(context, said(), width - 8), 0, 42 * z)
    paragraphs.forEach((paragraph, i) => {
      context.font = sans(13 * z)
      context.fillStyle = paper.one(paragraph.side.ink)
      context.textBaseline = "middle"
      context.fillText(paragraph.label.textContent, 0, places[i].label)
      paintTokens(context, paper, paragraph, places[i].text)
    })
    const { start, end } = key()
    const palette = paper.scale(head.scale)
    context.font = mono(12 * z)
    context.fillStyle = paper.one("muted")
    context.fillText(start, 0, low)
    context.fillText(end, 144 * z, low)
    for (let i = 0; i < 120 * z; i++) {
      context.fillStyle = palette.css(i / (120 * z - 1))
      context.fillRect(16 * z + i, low - 4 * z, 1.5, 8 * z)
    }
    context.font = sans(13 * z)
    context.fillStyle = paper.one("muted")
    lines.forEach((line, i) => context.fillText(line, left, low + 18 * z * i))
  }

  const ramp = element("span", "ramp")
  const [start, end, words] = [element("span", "end"), element("span", "end"), element("span")]
  legend.append(start, ramp, end, words)

  const view = {
    update({ header, arrays }) {
      head = header
      weights = arrays.weights
      mask = arrays.mask
      kept = arrays.there
      K = weights.shape[1]
      hush()
      title.textContent = head.title
      stage.setAttribute("aria-label", `${head.label}. Arrow keys choose a token.`)
      build()
    },
    draw() {
      directions.forEach((each, i) => each.setAttribute("aria-pressed", String(DIRECTIONS[i][0] === direction)))
      shades.forEach((each, i) => each.setAttribute("aria-pressed", String(SHADES[i][0] === shade)))
      paint(colours(root))
      if (told) tell(told.paragraph, told.n) // another query may have been selected
      const ends = key()
      about.textContent = said()
      start.textContent = ends.start
      end.textContent = ends.end
      words.textContent = ends.words
      ramp.style.background = `linear-gradient(to right, ${[0, 1, 2, 3, 4, 5, 6].map((i) => `var(--vt-${head.scale}-${i})`).join(", ")})`
      stage.dataset.painted = String(performance.now())
    },
  }
  return view
}
