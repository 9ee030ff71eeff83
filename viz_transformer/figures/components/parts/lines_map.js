import { hiddenWords, isFaint, NOT_THERE, NOT_YET } from "./hidden.js"
import { notFinite, percent, share, valued } from "./numbers.js"
import { placeIn, positionAt } from "./selection.js"
import { maskedWords, placeWords, tokenWords } from "./sentences.js"
import { countFrom, strongestFirst } from "./strongest.js"
import { quoted } from "./text.js"

/** @import { Side } from "./axes.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Lines } from "./strongest.js" */
/** @import { LinesHeader, Numbers, Payload } from "./types.js" */

// Maps whose weights are lines: which there are, which are seen, and what is said of them and of the tokens that they join.

/**
 * N maps of Q queries and K keys. `strange` is what weights are that are not finite.
 * @typedef {{head: LinesHeader, weights: Float32Array, mask?: Numbers, kept?: Numbers, N: number, Q: number, K: number,
 *   lines: Lines, strange: string}} LineMaps
 */
/**
 * What is chosen, from which weight on lines are seen, and the position behind which nothing is there yet.
 * @typedef {{q: ?number, k: ?number, threshold: number, until: number}} LinesNow
 */
/** @typedef {{q?: number, k?: number}} Looked a token has one of them, a line both */

/** @type {(whole: number) => string} */
export const countOf = (whole) => whole.toLocaleString("en-US")
/**
 * Part of a whole, which may be nothing, in percent.
 * @type {(some: number, whole: number) => string}
 */
const partOf = (some, whole) => percent(whole && some / whole)

/** @type {(header: LinesHeader, arrays: Payload["arrays"]) => LineMaps} */
export function lineMaps(head, { weights: given, mask, there: kept }) {
  const [N, Q, K] = given.shape
  const weights = /** @type {Float32Array} */ (given.values)
  const cells = kept && Uint8Array.from(weights, (_, i) => kept.values[i % (Q * K)])
  const maps = { head, weights, mask, kept, N, Q, K, strange: notFinite(weights, cells) }
  const may = (/** @type {number} */ n, /** @type {number} */ q, /** @type {number} */ k) => isOpenLine(maps, n, q, k)
  const there = (/** @type {number} */ q, /** @type {number} */ k) => isKeptLine(maps, q, k)
  return { ...maps, lines: strongestFirst(weights, given.shape, may, there) }
}

/** @type {(head: LinesHeader, chosen: Fields, plays: boolean, threshold: number) => LinesNow} */
export const linesNow = (head, chosen, plays, threshold) => ({
  q: placeIn(head.queries, chosen),
  k: placeIn(head.keys, chosen),
  threshold,
  until: plays ? chosen[head.queries.field] : Infinity,
})

/** @typedef {Omit<LineMaps, "lines">} Weights */
/** @type {(maps: Weights, n: number, q: number, k: number) => number} */
export const weightAt = ({ weights, Q, K }, n, q, k) => weights[(n * Q + q) * K + k]
/** @type {(maps: Weights, n: number, q: number, k: number) => boolean} */
const isOpenLine = ({ mask, Q, K }, n, q, k) =>
  !mask || mask.values[((mask.shape.length === 3 ? n * Q : 0) + q) * K + k] === 1
/** @type {(maps: Weights, q: number, k: number) => boolean} */
const isKeptLine = ({ kept, K }, q, k) => !kept || kept.values[q * K + k] === 1

/**
 * Whether a token of this side comes behind the chosen query: while the steps are played it is not there yet.
 * @type {(maps: LineMaps, now: LinesNow, side: Side, n: number) => boolean}
 */
export const isLater = ({ head }, { until }, side, n) =>
  head[side].ink === head.queries.ink && positionAt(head[side], n) > until
/** @type {(maps: LineMaps, now: LinesNow, q: number, k: number) => boolean} */
export const isJoined = (maps, now, q, k) => !isLater(maps, now, "queries", q) && !isLater(maps, now, "keys", k)
/** @type {(maps: LineMaps, now: LinesNow, n: number, q: number, k: number) => boolean} */
const isShown = (maps, now, n, q, k) => {
  const weight = weightAt(maps, n, q, k)
  return isOpenLine(maps, n, q, k) && isJoined(maps, now, q, k) && weight > 0 && weight >= Math.fround(now.threshold)
}

/**
 * How many lines a threshold leaves.
 * @type {(maps: LineMaps, smallest: number) => number}
 */
export const linesFrom = ({ weights, lines }, smallest) => countFrom(weights, lines.order, smallest)
/** @type {(maps: LineMaps, threshold: number) => number} */
export const shownLines = (maps, threshold) => Math.min(linesFrom(maps, threshold), maps.head.most_lines)
/**
 * The map, the query and the key of the i-th line, the strongest first.
 * @type {(maps: LineMaps, i: number) => [number, number, number]}
 */
export function lineAt({ lines: { order }, Q, K }, i) {
  const place = order[i]
  return [Math.floor(place / (Q * K)), Math.floor(place / K) % Q, place % K]
}

/**
 * What is not seen, in words.
 * @type {(maps: LineMaps, threshold: number) => string}
 */
export function unseenWords(maps, threshold) {
  const { lines, strange } = maps
  const shown = shownLines(maps, threshold)
  const total = lines.rest[0] + lines.masked
  const sentence = [
    `threshold ${threshold}: ${countOf(lines.all - shown)} of ${countOf(lines.all)} lines hidden, ${partOf(lines.rest[shown], total)} of the weight`,
  ]
  if (shown < linesFrom(maps, threshold)) sentence.push(`only the strongest ${countOf(shown)} are drawn`)
  if (lines.masked) sentence.push(`masked pairs, without a line, hold ${partOf(lines.masked, total)}`)
  const one = lines.unknown === 1
  if (lines.unknown)
    sentence.push(
      `${countOf(lines.unknown)} ${one ? "weight is" : "weights are"} ${strange} and ${one ? "has" : "have"} no line`,
    )
  return sentence.join("; ")
}

/**
 * The lines of one token, or of one pair, strongest last.
 * @type {(maps: LineMaps, now: LinesNow, looked: Looked) => [n: number, q: number, k: number, weight: number][]}
 */
export function linesOfToken(maps, now, { q, k }) {
  const { N, Q, K } = maps
  /** @type {[number, number, number, number][]} */
  const found = []
  for (let n = 0; n < N; n++)
    for (let from = q ?? 0; from < (q === undefined ? Q : q + 1); from++)
      for (let to = k ?? 0; to < (k === undefined ? K : k + 1); to++)
        if (isShown(maps, now, n, from, to)) found.push([n, from, to, weightAt(maps, n, from, to)])
  return found.sort((a, b) => a[3] - b[3])
}

/**
 * Whether some weight of a query is not a number, in any of the heads: no line can say so.
 * @type {(maps: LineMaps, q: number) => boolean}
 */
export function isUnknown(maps, q) {
  for (let n = 0; n < maps.N; n++)
    for (let k = 0; k < maps.K; k++)
      if (isKeptLine(maps, q, k) && !Number.isFinite(weightAt(maps, n, q, k))) return true
  return false
}
/** @type {(head: LinesHeader) => boolean} */
export const hasFaintRows = ({ hidden }) => Boolean(hidden?.some((rows) => rows.some(isFaint)))

// ---- sentences

/** @type {(maps: LineMaps, n: number, text: string) => string} */
const namedBy = ({ head, N }, n, text) => (N > 1 ? `${head.heads[n]}: ${text}` : text)

/** @type {(maps: LineMaps, q: number) => string[]} */
const hiddenOf = (maps, q) =>
  maps.head.heads.flatMap((_, n) => hiddenWords(maps.head.hidden?.[n][q]).map((words) => namedBy(maps, n, words)))

/**
 * What the tooltip says of a token or of a line.
 * @type {(maps: LineMaps, now: LinesNow, looked: Looked) => string[]}
 */
export function lineSentences(maps, now, { q, k }) {
  const { head } = maps
  if (q !== undefined && isLater(maps, now, "queries", q)) return [placeWords(head.queries, q), NOT_YET]
  if (k !== undefined && isLater(maps, now, "keys", k)) return [placeWords(head.keys, k), NOT_YET]
  if (q === undefined) return k === undefined ? [] : tokenSentences(maps, now, k, false)
  return k === undefined ? tokenSentences(maps, now, q, true) : pairSentences(maps, q, k)
}

/** @type {(maps: LineMaps, q: number, k: number) => string[]} */
function pairSentences(maps, q, k) {
  const { head } = maps
  const tokens = [tokenWords(head.queries, q, head.writes), tokenWords(head.keys, k)]
  if (!isKeptLine(maps, q, k)) return [...tokens, NOT_THERE]
  const values = head.heads.map((_, n) => {
    const weight = weightAt(maps, n, q, k)
    const masked = isOpenLine(maps, n, q, k) ? "" : maskedWords(head.fill)
    return namedBy(maps, n, masked + valued("weight", weight, share(weight)))
  })
  return [...tokens, ...values, ...hiddenOf(maps, q)]
}

/** @type {(maps: LineMaps, now: LinesNow, own: number, asQuery: boolean) => string[]} */
function tokenSentences(maps, now, own, asQuery) {
  const { head, Q, K } = maps
  const words = asQuery ? tokenWords(head.queries, own, head.writes) : tokenWords(head.keys, own)
  /** @type {[number, number][]} */
  const pairs = Array.from({ length: asQuery ? K : Q }, (_, m) => (asQuery ? [own, m] : [m, own]))
  if (!pairs.some((pair) => isKeptLine(maps, ...pair))) return [words, NOT_THERE]
  const sums = head.heads.map((_, n) => sumOf(maps, now, n, pairs))
  const add = (/** @type {"unseen" | "all" | "sum" | "total"} */ what) =>
    sums.reduce((sum, each) => sum + each[what], 0)
  const strongest = sums.map((each, n) => namedBy(maps, n, strongestWords(maps, each, asQuery)))
  const whose = `${partOf(add("sum"), add("total"))} of ${asQuery ? "its" : "their"} weight`
  const hides = `${add("unseen")} of ${add("all")} lines hidden, ${whose}`
  return [words, ...strongest, ...chosenWords(maps, now, own, asQuery), hides, ...(asQuery ? hiddenOf(maps, own) : [])]
}

/**
 * Of a token's pairs in map n: how many have a line and how many of these are not seen, the weight of those, of all, the
 * strongest, and how many are not numbers.
 * @param {LineMaps} maps
 * @param {LinesNow} now
 * @param {number} n
 * @param {[number, number][]} pairs
 */
function sumOf(maps, now, n, pairs) {
  let [unseen, all, sum, total, unknown] = [0, 0, 0, 0, 0]
  /** @type {?{m: number, weight: number}} */
  let best = null
  pairs.forEach(([q, k], m) => {
    const weight = weightAt(maps, n, q, k)
    if (Number.isFinite(weight)) total += weight
    else if (isKeptLine(maps, q, k) && isJoined(maps, now, q, k)) unknown++
    if (!isOpenLine(maps, n, q, k) || !isJoined(maps, now, q, k) || !Number.isFinite(weight)) return
    all++
    if (!isShown(maps, now, n, q, k)) [unseen, sum] = [unseen + 1, sum + weight]
    if (weight > 0 && (best === null || weight > best.weight)) best = { m, weight }
  })
  return { unseen, all, sum, total, unknown, best: /** @type {?{m: number, weight: number}} */ (best) }
}

/** @type {(maps: LineMaps, sums: ReturnType<typeof sumOf>, asQuery: boolean) => string} */
function strongestWords({ head, strange }, { best, unknown }, asQuery) {
  const others = unknown ? `${unknown === 1 ? "1 weight" : `${countOf(unknown)} weights`} ${strange}` : ""
  if (!best) return others || (asQuery ? "reads nothing" : "is read by nothing")
  const other = asQuery ? head.keys : head.queries
  const what = `${placeWords(other, best.m)} ${quoted(other.tokens[best.m])}, weight ${share(best.weight)}`
  return `${asQuery ? "reads most" : "most read by"}: ${what}${others && `; ${others}`}`
}

/**
 * What a token has with the chosen one of the other side, in a list: nothing where none is chosen.
 * @type {(maps: LineMaps, now: LinesNow, own: number, asQuery: boolean) => string[]}
 */
function chosenWords(maps, now, own, asQuery) {
  const { head, N } = maps
  const partner = asQuery ? now.k : now.q
  if (partner === null) return []
  const other = asQuery ? head.keys : head.queries
  const [q, k] = asQuery ? [own, partner] : [partner, own]
  const each = head.heads.map((name, n) => {
    if (!isKeptLine(maps, q, k)) return NOT_THERE
    const weight = weightAt(maps, n, q, k)
    const said = N > 1 ? `${share(weight)} (${name})` : valued("weight", weight, share(weight))
    return (isOpenLine(maps, n, q, k) ? "" : "masked, ") + said
  })
  return [`with the chosen ${placeWords(other, partner)} ${quoted(other.tokens[partner])}: ${each.join(", ")}`]
}
