import { isLight } from "./colours.js"
import { FAINT_ROWS, hiddenWords, isFaint, NOT_THERE, NOT_YET } from "./hidden.js"
import { notFinite, share, valued } from "./numbers.js"
import { placeIn, positionAt } from "./selection.js"
import { maskedWords, tokenWords } from "./sentences.js"
import { isolated, quoted } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Axis, Numbers, Payload, ShadingHeader, Token } from "./types.js" */

// A text whose tokens are shaded by weights: which weight each shows, in what colour, and what is said of it.

/** @typedef {"queries" | "keys"} TextSide */
/** A text; both sides are one where `axis` is null. @typedef {{axis: ?TextSide, side: Axis}} Shaded */
/** @typedef {{head: ShadingHeader, weights: Numbers, mask?: Numbers, kept?: Numbers, K: number}} ShadedMap */
/**
 * What is chosen; whether keys are shaded by what one query reads, or queries by what they give one key; whether full colour is
 * the largest weight that is shown; and the position behind which nothing is written yet.
 * @typedef {{map: ShadedMap, texts: Shaded[], chosen: Record<TextSide, ?number>, active: TextSide, byMost: boolean,
 *   plays: boolean, until: number}} ShadedNow
 */
/** What a token looks like. @typedef {{fill: string, ink: string, masked: boolean, unknown: boolean}} Look */

export const hasRightToLeft = (/** @type {string} */ text) => isolated(text) !== text
export const hasLeftToRight = (/** @type {string} */ text) =>
  /\p{L}/u.test(text.replace(/[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/g, ""))

/** @type {(payload: Payload) => ShadedMap} */
export const shadedMap = ({ header: head, arrays: { weights, mask, there: kept } }) => ({
  head,
  weights,
  mask,
  kept,
  K: weights.shape[1],
})

/** @type {(map: ShadedMap, texts: Shaded[], fields: Fields, how: {active: TextSide, byMost: boolean, playing: boolean}) => ShadedNow} */
export function shadedNow(map, texts, fields, { active, byMost, playing }) {
  const { head } = map
  const chosen = { queries: placeIn(head.queries, fields), keys: placeIn(head.keys, fields) }
  const plays = playing && head.writes !== null
  const until = (head.grows || plays) && chosen.queries !== null ? fields[head.queries.field] : Infinity
  return { map, texts, chosen, active, byMost, plays, until }
}

/**
 * The texts that a picture has: one where both sides are the same, else the one that was there first above.
 * @type {(head: ShadingHeader) => (Shaded & {words: string})[]}
 */
export function textsOf(head) {
  const { queries, keys } = head
  const words = queries.axis === keys.axis ? queries.axis : `${queries.axis}, ${keys.axis}`
  if (head.together) return [{ axis: null, side: queries, words }]
  /** @type {TextSide[]} */
  const order = keys.ink === "source-ink" ? ["keys", "queries"] : ["queries", "keys"]
  return order.map((axis) => ({ axis, side: head[axis], words: head[axis].axis }))
}

/**
 * Which way a text runs: as most of its tokens do.
 * @type {(tokens: Token[]) => "rtl" | "ltr"}
 */
export function directionOf(tokens) {
  const read = tokens.filter(({ special }) => !special).map(({ note, text }) => note ?? text)
  return read.filter(hasRightToLeft).length > read.filter(hasLeftToRight).length ? "rtl" : "ltr"
}

/** @type {(now: ShadedNow) => TextSide} */
export const shadedSide = ({ active }) => (active === "queries" ? "keys" : "queries")
/**
 * Whose place a token of this text is when it is chosen.
 * @type {(now: ShadedNow, text: Shaded) => TextSide}
 */
export const sideOf = (now, text) => text.axis ?? now.active
/**
 * Whether token n comes behind the chosen query, and so is not there yet at its step.
 * @type {(now: ShadedNow, text: Shaded, n: number) => boolean}
 */
export const isUnwritten = ({ map, until }, { side }, n) =>
  side.ink === map.head.queries.ink && positionAt(side, n) > until

/**
 * The query and the key whose weight token n shows, and that weight, if the run has it (`kept`); null if it shows none.
 * @typedef {{q: number, k: number, weight: number, kept: boolean, open: boolean}} ShownWeight
 */
/** @type {(now: ShadedNow, text: Shaded, n: number) => ?ShownWeight} */
export function shownBy(now, text, n) {
  const { map, chosen, active } = now
  const of = chosen[active]
  if (of === null || (text.axis && text.axis !== shadedSide(now)) || isUnwritten(now, text, n)) return null
  const [q, k] = active === "queries" ? [of, n] : [n, of]
  const cell = q * map.K + k
  const has = (/** @type {Numbers | undefined} */ bits) => !bits || bits.values[cell] === 1
  return { q, k, weight: map.weights.values[cell], kept: has(map.kept), open: has(map.mask) }
}

/**
 * Whether token n shows a weight of a row of which most is hidden.
 * @type {(now: ShadedNow, text: Shaded, n: number) => boolean}
 */
export const isPale = (now, text, n) => {
  const shown = shownBy(now, text, n)
  return shown !== null && isFaint(now.map.head.hidden?.[shown.q])
}

/** @type {(now: ShadedNow) => ShownWeight[]} */
const shownIn = (now) => now.texts.flatMap((text) => text.side.tokens.flatMap((_, n) => shownBy(now, text, n) ?? []))

/**
 * The weight that has full colour.
 * @type {(now: ShadedNow) => number}
 */
export function fullShade(now) {
  if (!now.byMost) return 1
  return shownIn(now).reduce((most, { weight }) => (weight > most && weight < Infinity ? weight : most), 0) || 1
}

/**
 * What the tokens of a text look like; `fill` is "" where nothing is shaded.
 * @type {(now: ShadedNow, text: Shaded, paper: Paper) => Look[]}
 */
export function looksOf(now, text, paper) {
  const palette = paper.scale(now.map.head.scale)
  const [surface, letters, page, muted, own] = ["surface", "text", "page", "muted", text.side.ink].map(paper.one)
  const [dark, light] = isLight(letters) ? [page, letters] : [letters, page]
  const most = fullShade(now)
  return text.side.tokens.map(({ special }, n) => {
    const shown = shownBy(now, text, n)
    if (!shown?.kept) return { fill: "", ink: special || shown ? muted : own, masked: false, unknown: false }
    const { weight } = shown
    const masked = !shown.open
    if (!Number.isFinite(weight)) return { fill: "", ink: letters, masked, unknown: true }
    if (masked && weight === 0) return { fill: surface, ink: muted, masked, unknown: false }
    const fill = palette.css(weight / most)
    return { fill, ink: isLight(fill) ? dark : light, masked, unknown: false }
  })
}

// ---- words

const approximately = (/** @type {ShadedMap} */ { weights }) => (weights.encoding === "float32" ? "" : "≈ ")
/** @type {(map: ShadedMap, side: TextSide, n: number) => string} */
const wordsOf = ({ head }, side, n) => tokenWords(head[side], n, side === "queries" ? head.writes : null)

/** @type {(now: ShadedNow, text: Shaded, n: number) => string[]} */
export function shadeSentences(now, text, n) {
  const { map, plays } = now
  const shown = shownBy(now, text, n)
  if (!shown) {
    const words = wordsOf(map, sideOf(now, text), n)
    return isUnwritten(now, text, n) ? [plays ? `${text.side.role} ${n}` : words, NOT_YET] : [words]
  }
  const { q, k, weight, kept, open } = shown
  const tokens = [wordsOf(map, "queries", q), wordsOf(map, "keys", k)]
  if (!kept) return [...tokens, NOT_THERE]
  const said = valued("weight", weight, approximately(map) + share(weight))
  return [...tokens, open ? said : maskedWords(map.head.fill) + said, ...hiddenWords(map.head.hidden?.[q])]
}

/**
 * What a screen reader calls a token.
 * @type {(now: ShadedNow, text: Shaded, n: number) => string}
 */
export function tokenLabel(now, text, n) {
  const later = isUnwritten(now, text, n) ? `, ${NOT_YET}` : ""
  const shown = shownBy(now, text, n)
  const strange = shown?.kept ? notFinite([shown.weight]) : ""
  return `${n}: ${quoted(text.side.tokens[n])}${later}${strange && `, ${strange}`}`
}

/**
 * What the shades are, in one sentence.
 * @type {(now: ShadedNow) => string}
 */
export function shadesWords({ map, chosen, active }) {
  const reads = active === "queries"
  const of = chosen[active]
  if (of === null) return `Choose a ${reads ? "query" : "key"}: click a token, or move to it with the arrow keys.`
  return `${reads ? "What it reads" : "What reads it"}: ${wordsOf(map, active, of)}`
}

/**
 * The legend's last word, and what it says of the shades.
 * @type {(now: ShadedNow) => {end: string, words: string}}
 */
export function legendWords(now) {
  const { map, texts, byMost, plays } = now
  const shown = shownIn(now)
  const notes = [map.head.unit]
  if (byMost) notes.push(`full colour is the largest shown${approximately(map) && ", rounded to 16 bits"}`)
  if (shown.some(({ kept, open }) => kept && !open)) notes.push("hatched: masked")
  const strange = notFinite(shown.flatMap(({ kept, weight }) => (kept ? weight : [])))
  if (strange) notes.push(`dotted: ${strange}`)
  if (!plays && texts.some((text) => text.side.tokens.some((_, n) => isUnwritten(now, text, n))))
    notes.push("faint: not written yet")
  if (shown.some(({ q }) => isFaint(map.head.hidden?.[q]))) notes.push(FAINT_ROWS)
  return { end: byMost ? share(fullShade(now)) : "1", words: notes.join(", ") }
}
