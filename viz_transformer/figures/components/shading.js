import { colours } from "./parts/colours.js"
import { announcer, choiceOf, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { onNextLine, placeSheet } from "./parts/flow.js"
import { fieldOf, selection } from "./parts/selection.js"
import { paintSheet } from "./parts/shading_saved.js"
import {
  directionOf,
  hasLeftToRight,
  hasRightToLeft,
  isPale,
  isUnwritten,
  legendWords,
  looksOf,
  shadedMap,
  shadedNow,
  shadedSide,
  shadeSentences,
  shadesWords,
  sideOf,
  textsOf,
  tokenLabel,
} from "./parts/shading_text.js"
import { contextOf, magnified, mount, zoom } from "./parts/stage.js"
import { mono, sans, wrapped } from "./parts/text.js"
import { alone } from "./parts/typing.js"

/** @import { Paper } from "./parts/colours.js" */
/** @import { Paragraph } from "./parts/shading_saved.js" */
/** @import { ShadedMap, ShadedNow, TextSide } from "./parts/shading_text.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { Made, Payload, Token } from "./parts/types.js" */

// The text, its tokens shaded by the weights of one query or to one key. Arrays: weights [Q, K], mask [Q, K] where anything is
// masked. All rows are here: what is selected changes without Python. With `grows`, tokens of the queries' side behind the
// selected query are not written yet, as everywhere while the steps are played. hidden: [Q] where keys are left out.

/**
 * `active` is the side of which one token is chosen, `built` says for which tokens the paragraphs were made, `sawBefore` what
 * was scrolled to; the tooltip speaks of `told`.
 * @typedef {{map: ShadedMap, active: TextSide, byMost: boolean, paragraphs: Paragraph[], built: string, sawBefore: string,
 *   told: ?{paragraph: Paragraph, n: number}}} State
 * @typedef {State & ReturnType<typeof partsIn>} Shading
 */

/** @type {[word: string, text: string, title: string][]} */
const DIRECTIONS = [
  ["queries", "from this query", "Shade each key by the weight that the selected query gives it"],
  ["keys", "to this key", "Shade each query by the weight that it gives to the selected key"],
]
/** @type {[word: string, text: string, title: string][]} */
const SHADES = [
  ["fixed", "0–1", "Full colour is weight 1"],
  ["most", "max", "Full colour is the largest weight shown"],
]

export default (/** @type {Component} */ component) => mount(component, "shading", makeShading)

/** @param {HTMLElement} root */
function partsIn(root) {
  const [title, bar, about, stage, legend] = ["title", "bar", "about", "stage", "legend"].map((name) =>
    element("div", name),
  )
  const ramp = element("span", "ramp")
  const [start, end, words] = [element("span", "end", "0"), element("span", "end"), element("span")]
  stage.setAttribute("role", "group")
  root.append(title, bar, about, stage, legend)
  legend.append(start, ramp, end, words)
  return { root, title, bar, about, stage, ramp, end, words, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeShading(root) {
  /** @type {Partial<State>} */
  const state = { active: "queries", byMost: false, paragraphs: [], built: "", sawBefore: "", told: null }
  const shading = /** @type {Shading} */ (Object.assign(state, partsIn(root)))
  const choice = (
    /** @type {string} */ name,
    /** @type {typeof SHADES} */ options,
    /** @type {(word: string) => object} */ changes,
  ) => {
    const made = choiceOf(name, options, (word) => {
      Object.assign(shading, changes(word))
      hush(shading)
      redraw()
    })
    for (const each of made.buttons) each.setAttribute("aria-label", each.textContent ?? "")
    return made
  }
  const directions = choice("Direction", DIRECTIONS, (active) => ({ active }))
  const shades = choice("Colour scale", SHADES, (word) => ({ byMost: word === "most" }))
  const redraw = () => {
    directions.press(shading.active)
    shades.press(shading.byMost ? "most" : "fixed")
    draw(shading)
  }
  const saved = exports(root, {
    draw(context) {
      const at = { sheet: sheetOf(shading), left: root.getBoundingClientRect().left, width: root.clientWidth }
      paintSheet(context, colours(root), nowIn(shading), shading.paragraphs, at)
    },
    size: () => ({ width: root.clientWidth, height: sheetOf(shading).height }),
    caption: () => shading.map.head.caption,
    name: () => shading.map.head.name,
  })
  const tools = element("span", "tools")
  tools.append(shades.box, saved)
  shading.bar.append(directions.box, tools)
  return { update: (payload) => update(shading, payload), draw: redraw }
}

/** @type {(shading: Shading) => ShadedNow} */
const nowIn = ({ map, paragraphs, active, byMost }) =>
  shadedNow(map, paragraphs, selection.chosen, { active, byMost, playing: selection.playing })
const sentences = (/** @type {Shading} */ shading, /** @type {Paragraph} */ paragraph, /** @type {number} */ n) =>
  shadeSentences(nowIn(shading), paragraph, n)

// ---- the text, made once for the same tokens

/** @type {(token: Token) => HTMLElement} */
function tokenElement({ text, note, special }) {
  const made = element("span", special ? "token special" : "token")
  made.setAttribute("role", "option")
  made.tabIndex = -1
  if (note === undefined) made.textContent = text
  else
    for (const part of [element("span", "typed", note), element("span", "read", text)]) {
      part.dir = "auto"
      made.append(part)
    }
  // These stand for themselves; the letters of all others join those around them, so that a phrase runs one way.
  if (special || note !== undefined || (hasRightToLeft(text) && hasLeftToRight(text))) made.dir = "auto"
  return made
}

/** @type {(shading: Shading, text: ReturnType<typeof textsOf>[number]) => Paragraph} */
function paragraphOf(shading, { axis, side, words }) {
  const label = element("div", "side", words)
  label.style.color = `var(--vt-${side.ink})`
  const box = element("div", "text")
  box.setAttribute("role", "listbox")
  box.setAttribute("aria-orientation", "horizontal")
  box.setAttribute("aria-label", words)
  box.dir = directionOf(side.tokens)
  const cells = side.tokens.map(tokenElement)
  box.append(...cells.flatMap((cell) => [cell, " "]))
  const paragraph = { axis, side, box, label, cells, focus: 0 }
  listen(shading, paragraph)
  return paragraph
}

/** @type {(shading: Shading, payload: Payload) => void} */
function update(shading, payload) {
  const map = shadedMap(payload)
  const { head } = map
  shading.map = map
  hush(shading)
  shading.title.textContent = head.title
  shading.stage.setAttribute("aria-label", `${head.label}. Arrow keys choose a token.`)
  const tokens = JSON.stringify([head.queries, head.keys, head.together])
  if (tokens === shading.built) return
  shading.stage.classList.toggle("together", head.together)
  const paragraphs = textsOf(head).map((text) => paragraphOf(shading, text))
  shading.stage.replaceChildren(...paragraphs.flatMap(({ label, box }) => [label, box]))
  Object.assign(shading, { built: tokens, paragraphs, sawBefore: "" })
}

// ---- shades

/** @param {Shading} shading */
function draw(shading) {
  const { root, stage, about, ramp, end, words, told } = shading
  const [now, paper] = [nowIn(shading), colours(root)]
  stage.classList.toggle("plays", now.plays)
  for (const paragraph of shading.paragraphs) paintParagraph(root, now, paragraph, paper)
  reveal(shading, now)
  if (told) tell(shading, told.paragraph, told.n) // another query may have been selected
  const key = legendWords(now)
  about.textContent = shadesWords(now)
  end.textContent = key.end
  words.textContent = key.words
  const stops = [0, 1, 2, 3, 4, 5, 6].map((i) => `var(--vt-${now.map.head.scale}-${i})`)
  ramp.style.background = `linear-gradient(to right, ${stops.join(", ")})`
  stage.dataset.painted = String(performance.now())
}

/** @type {(root: HTMLElement, now: ShadedNow, paragraph: Paragraph, paper: Paper) => void} */
function paintParagraph(root, now, paragraph, paper) {
  const { axis, cells, box, focus } = paragraph
  const side = sideOf(now, paragraph)
  const mine = now.chosen[side]
  const other = axis ? null : now.chosen[shadedSide(now)]
  looksOf(now, paragraph, paper).forEach(({ fill, ink, masked, unknown }, n) => {
    const cell = cells[n]
    if (cell.style.backgroundColor !== fill) cell.style.backgroundColor = fill
    if (cell.style.color !== ink) cell.style.color = ink
    const selected = n === mine && side === now.active
    cell.classList.toggle("masked", masked)
    cell.classList.toggle("no-number", unknown)
    cell.classList.toggle("unwritten", isUnwritten(now, paragraph, n))
    cell.classList.toggle("faint", isPale(now, paragraph, n))
    const label = tokenLabel(now, paragraph, n)
    if (cell.getAttribute("aria-label") !== label) cell.setAttribute("aria-label", label)
    cell.classList.toggle("selected", selected)
    cell.classList.toggle("other", !selected && (n === other || n === mine))
    cell.setAttribute("aria-selected", String(n === mine))
  })
  const { activeElement } = /** @type {ShadowRoot} */ (root.getRootNode())
  rove(paragraph, box.contains(activeElement) ? focus : (mine ?? 0))
}

/** @type {(paragraph: Paragraph, n: number) => void} */
function rove(paragraph, n) {
  const { cells, focus } = paragraph
  if (cells[focus]) cells[focus].tabIndex = -1
  paragraph.focus = Math.min(n, cells.length - 1)
  cells[paragraph.focus].tabIndex = 0
}

/**
 * Scroll a long paragraph to the token that was chosen, wherever that was; never the page.
 * @type {(shading: Shading, now: ShadedNow) => void}
 */
function reveal(shading, now) {
  const sees = JSON.stringify([now.chosen, now.active])
  if (sees === shading.sawBefore) return
  shading.sawBefore = sees
  for (const paragraph of shading.paragraphs) {
    const { box, cells } = paragraph
    const n = now.chosen[sideOf(now, paragraph)]
    if (n === null || box.scrollHeight <= box.clientHeight) continue
    const [outer, inner] = [box.getBoundingClientRect(), cells[n].getBoundingClientRect()]
    if (inner.top < outer.top) box.scrollTop += (inner.top - outer.top) / magnified(box) - 8
    else if (inner.bottom > outer.bottom) box.scrollTop += (inner.bottom - outer.bottom) / magnified(box) + 8
  }
}

/**
 * Where the parts of the saved picture are, from the top.
 * @param {Shading} shading
 */
function sheetOf(shading) {
  const ruler = contextOf(element("canvas"))
  const [z, { end, words }] = [zoom(shading.root), legendWords(nowIn(shading))]
  ruler.font = mono(12 * z)
  const wide = ruler.measureText(end).width
  ruler.font = sans(13 * z)
  const paragraphs = shading.paragraphs.map(({ box }) => box.scrollHeight)
  const wrap = (/** @type {number} */ room) => wrapped(ruler, words, room)
  return placeSheet({ z, width: shading.root.clientWidth, paragraphs, end: wide, wrap })
}

// ---- pointing, choosing, walking

/** @type {(shading: Shading, paragraph: Paragraph, n: number) => void} */
function tell(shading, paragraph, n) {
  const { root, tip } = shading
  shading.told = { paragraph, n }
  const [outer, inner] = [root, paragraph.cells[n]].map((part) => part.getBoundingClientRect())
  const k = magnified(root)
  const x = (inner.left - outer.left + inner.width / 2) / k
  tip.show(sentences(shading, paragraph, n), x, (inner.bottom - outer.top) / k - 10)
}
/** @param {Shading} shading */
function hush(shading) {
  shading.told = null
  shading.tip.hide()
}

/** @type {(shading: Shading, paragraph: Paragraph, n: number, settle: number) => void} */
function pick(shading, paragraph, n, settle) {
  const now = nowIn(shading)
  selection.pick(fieldOf(now.map.head[sideOf(now, paragraph)], n), settle)
  shading.announce(sentences(shading, paragraph, n).join(", "))
}

/** @type {(shading: Shading, paragraph: Paragraph) => void} */
function listen(shading, paragraph) {
  const { box, cells } = paragraph
  const numberOf = (/** @type {Event} */ { target }) =>
    cells.indexOf(/** @type {HTMLElement} */ (/** @type {Element} */ (target).closest?.(".token")))
  box.onpointerover = (event) => {
    const n = numberOf(event)
    if (n < 0) hush(shading)
    else tell(shading, paragraph, n)
  }
  box.onpointerleave = () => hush(shading)
  box.onclick = (event) => {
    const n = numberOf(event)
    if (n < 0) return
    rove(paragraph, n)
    cells[n].focus({ preventScroll: true })
    pick(shading, paragraph, n, 0)
    tell(shading, paragraph, n)
  }
  box.addEventListener("focusin", (event) => {
    const n = numberOf(event)
    if (n < 0 || !cells[n].matches(":focus-visible")) return
    shading.announce(sentences(shading, paragraph, n).join(", "))
    tell(shading, paragraph, n)
  })
  box.addEventListener("focusout", () => hush(shading))
  box.onkeydown = (event) => {
    if (!alone(event)) return
    if (event.key === "Escape") hush(shading)
    const led = ledTo(paragraph, event)
    if (led === undefined) return
    const to = Math.min(Math.max(led, 0), cells.length - 1)
    const settle = to === paragraph.focus ? 0 : 150
    rove(paragraph, to)
    cells[to].focus()
    pick(shading, paragraph, to, settle)
    tell(shading, paragraph, to)
    event.preventDefault()
  }
}

/**
 * The token that a key leads to, which may lie beside the text; undefined for all other keys.
 * @type {(paragraph: Paragraph, event: KeyboardEvent) => number | undefined}
 */
function ledTo({ box, cells, focus: n }, { key, shiftKey }) {
  const far = shiftKey ? 10 : 1
  const forward = box.dir === "rtl" ? -far : far
  const onLine = (/** @type {1 | -1} */ step) =>
    onNextLine((m) => cells[m].getBoundingClientRect(), cells.length, n, step)
  /** @type {Record<string, () => number>} */
  const moves = {
    ArrowLeft: () => n - forward,
    ArrowRight: () => n + forward,
    Home: () => 0,
    End: () => cells.length - 1,
    ArrowUp: () => onLine(-1),
    ArrowDown: () => onLine(1),
    Enter: () => n,
    " ": () => n,
  }
  return moves[key]?.()
}
