import { percent } from "./numbers.js"
import { mention } from "./text.js"
import { headRows } from "./whole_layer_places.js"
import { keyStackOf, siteOf } from "./whole_levels.js"
import { isUnknown, mostOf, strongestIn } from "./whole_rows.js"
import { detailSentences, LEAST, layerSentence } from "./whole_words.js"

/** @import { WholeView } from "../whole/view.js" */
/** @import { Numbers, Token, WholeLayer, WholeLayerPart, WholePart } from "./types.js" */
/** @import { LayerFound } from "./whole_choices.js" */
/** @import { Group, LayerPlaces } from "./whole_layer_places.js" */
/** @import { Site } from "./whole_levels.js" */

// The second level, one layer at one token: what of it is shown, pointed at and said. Nothing is drawn here.

/** A layer as Python told it. @typedef {{header: WholeLayer, arrays: Record<string, Numbers>}} LayerDetail */
/** @typedef {WholePart & Partial<WholeLayerPart>} LayerPart */

/** @type {Record<string, string>} */
export const SUBLAYERS = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" }
const MIN_COLUMNS = 24 // so many keys have a column in any case

/** @param {WholeView} view */
export const stackNow = ({ head, chosen }) => siteOf(head, chosen).stack
/** @param {WholeView} view @returns {?LayerDetail} */
export const layerDetail = (view) => view.detail("layer")
/** @param {?LayerDetail} detail */
export const isPostNorm = (detail) => detail?.header.norm === "post"

/**
 * The sub-layers, as the run's picture knows them too, before the detail is there.
 * @param {WholeView} view
 * @param {?LayerDetail} detail
 * @returns {LayerPart[]}
 */
export function layerParts({ head, chosen }, detail) {
  const { stack, part } = siteOf(head, chosen)
  const mine = stack.parts.filter(({ layer }) => layer === part.layer)
  return mine.map((each) => ({ ...each, ...detail?.header.parts.find(({ part: name }) => name === each.part) }))
}

/** The sub-layer that is marked: walked to, or the attention that is chosen. @param {WholeView} view */
export function markedPart(view) {
  if (view.walked !== null) return view.walked
  const { part } = siteOf(view.head, view.chosen)
  return layerParts(view, null).findIndex((each) => each.part === part.part)
}

/**
 * The tokens that a sub-layer reads.
 * @param {WholeView} view
 * @param {WholePart} part
 * @returns {Token[]}
 */
export const keyTokens = ({ head, chosen }, part) =>
  keyStackOf(head, /** @type {Site} */ ({ stack: siteOf(head, chosen).stack, part })).tokens

/**
 * So many keys have a column: of a long text those behind the last one that the row may look at have none.
 * @param {WholeView} view
 * @param {?LayerDetail} detail
 * @param {WholePart} part
 */
export function keysSeen(view, detail, part) {
  const all = keyTokens(view, part).length
  const mask = detail?.arrays[`mask.${part.part}`]
  if (!mask || all <= MIN_COLUMNS) return all
  const row = view.rowOf(stackNow(view))
  return Math.max(MIN_COLUMNS, mask.values.subarray(row * all, (row + 1) * all).lastIndexOf(1) + 1)
}

/**
 * What a sub-layer's rows of heads are made of; null where it is no attention.
 * @param {WholeView} view
 * @param {?LayerDetail} detail
 * @param {LayerPart} part
 */
export const headCounts = (view, detail, part) =>
  part.kind ? { heads: part.heads ?? 0, keys: keysSeen(view, detail, part) } : null

/**
 * How the rows of heads are placed in a sub-layer.
 * @param {Group} group
 * @param {number} keys
 * @param {number} z
 */
export const rowsOfHeads = ({ content, part }, keys, z) => headRows(content, part.heads ?? 0, keys, z)

/**
 * The end of the scale of each vector, by array.
 * @param {LayerDetail} detail
 * @param {(values: Float32Array | Uint8Array) => number} largest
 * @returns {Record<string, number>}
 */
export const vectorScales = ({ arrays }, largest) =>
  Object.fromEntries(
    Object.entries(arrays)
      .filter(([name]) => /^(before|in|out|total|after|hidden)\./.test(name))
      .map(([name, { values }]) => [name, largest(values)]),
  )

// ---- words

/**
 * What one sub-layer does, in sentences.
 * @param {WholeView} view
 * @param {LayerDetail} detail
 * @param {LayerPart} part
 */
function partSentences(view, detail, part) {
  const stack = stackNow(view)
  return detailSentences(stack, part, detail.arrays, view.rowOf(stack), {
    post: isPostNorm(detail),
    keys: part.kind ? keyTokens(view, part) : null,
  })
}

/** @param {WholePart} part */
const partTitle = ({ part }) => `${SUBLAYERS[part][0].toUpperCase()}${SUBLAYERS[part].slice(1)}`

/**
 * What is pointed at, or walked to, or what the whole layer adds.
 * @param {WholeView} view
 * @param {LayerPlaces} place
 */
export function layerSentenceNow(view, place) {
  const detail = layerDetail(view)
  if (!detail) return view.lack("layer")
  const hovered = /** @type {?LayerFound} */ (view.hovered)
  if (hovered?.key !== null && hovered?.key !== undefined) return headSentence(view, detail, hovered, hovered.key)
  const group = hovered?.group ?? (view.walked === null ? null : place.groups[view.walked])
  if (group) return `${partTitle(group.part)}: ${partSummary(view, detail, group.part)}`
  const stack = stackNow(view)
  return layerSentence(stack, layerParts(view, detail), detail.arrays, view.rowOf(stack))
}

/**
 * How much of its attention a head puts on a key.
 * @param {WholeView} view
 * @param {LayerDetail} detail
 * @param {LayerFound} found
 * @param {number} key
 */
function headSentence(view, detail, { group: { part }, head }, key) {
  if (!(`rest.${part.part}` in detail.arrays)) return partSentences(view, detail, part).join(" ")
  const stack = stackNow(view)
  const row = view.rowOf(stack)
  const token = mention(stack.tokens[row])
  const there = strongestIn(detail.arrays, part.part, head ?? 0, row)
  const n = Array.from(there.keys).indexOf(key)
  if (n < 0 && isUnknown(there)) return `Head ${head}: ${token} has weights that are not a number.`
  const share = n < 0 ? `less than ${100 * LEAST} %` : percent(there.weights[n])
  return `Head ${head}: ${token} puts ${share} of its attention on ${mention(keyTokens(view, part)[key])}.`
}

/**
 * The most focused head of a sub-layer, and how much the sub-layer adds.
 * @param {WholeView} view
 * @param {LayerDetail} detail
 * @param {LayerPart} part
 */
function partSummary(view, detail, part) {
  const told = partSentences(view, detail, part)
  if (!part.kind || !(`rest.${part.part}` in detail.arrays)) return told.join(" ")
  const row = view.rowOf(stackNow(view))
  const rows = Array.from({ length: part.heads ?? 0 }, (_, head) => ({
    head,
    most: mostOf(strongestIn(detail.arrays, part.part, head, row)),
  }))
  const best = rows.reduce(
    (best, each) => (each.most && (!best.most || each.most.weight > best.most.weight) ? each : best),
    { head: 0, most: /** @type {ReturnType<typeof mostOf>} */ (null) },
  )
  const most = best.most
    ? `head ${best.head} is the most focused, with ${percent(best.most.weight)} of its attention on ${mention(keyTokens(view, part)[best.most.key])}. `
    : ""
  const added = told.find((each) => each.startsWith("It adds")) ?? ""
  return `${most}${added}`
}

/** All that the layer does at the token. @param {WholeView} view */
export function layerSentences(view) {
  const detail = layerDetail(view)
  if (!detail) return []
  const said = layerParts(view, detail).flatMap((part) =>
    partSentences(view, detail, part).map((each, n) => (n ? each : `${partTitle(part)}. ${each}`)),
  )
  return [...said, ...detail.header.remarks]
}

/** What the still picture of a layer depends on, beside its size and colours. @param {WholeView} view */
export function layerState(view) {
  const { stack, part } = siteOf(view.head, view.chosen)
  return [view.rowOf(stack), layerDetail(view) ? 1 : 0, part.layer, stack.name].join()
}
