// The locator: where the parts of a model stand as small blocks, which of them a page looks at, and where each leads.

/** @import { Fields } from "./selection.js" */
/** @import { LocatorData, LocatorStack } from "./types.js" */

/**
 * What is looked at: all parts of the model that have each of these in common.
 * @typedef {{stack?: string, layer?: number, part?: string}} Place
 * A sub-layer, or what a stack begins or ends with: `part` is self, cross, ffn, input, final or output; an attention has
 * its kind.
 * @typedef {{stack: string, part: string, layer?: number, kind?: string, title: string, side: string, x: number, y: number,
 *   width: number, height: number}} Block
 * @typedef {[number, number]} Point
 * @typedef {{blocks: Block[], names: {x: number, width: number, text: string, side: string}[], memory: Point[][]}} Located
 * Where a block leads: the path of a page, "" for the one that is open, and what is chosen with it.
 * @typedef {{page: string, fields: Fields}} Lead
 */

const [NAME, CHANNEL] = [18, 14] // in pixels: a stack's name, and what is between two stacks
const [LEAST, MOST] = [7, 16] // in pixels: how low a row may be before the layers stand in more columns, and how high at most
const NARROWEST = 5 // in pixels: a column
const BETWEEN = 0.35 // in rows: what is between two layers
const NEAR = 0.01 // in pixels

/** The blocks above and below the layers of a stack. */
const endsOf = (/** @type {LocatorStack} */ { final, output }) => 1 + Number(final) + Number(output)
/** How many rows a stack is high whose layers stand in so many columns. */
const rowsOf = (/** @type {LocatorStack} */ stack, /** @type {number} */ columns) =>
  endsOf(stack) + Math.ceil(stack.layers / columns) * (stack.parts.length + BETWEEN)

/**
 * In how many columns, one behind the other, the layers of a stack stand: the fewest in which a row is high enough.
 * @param {LocatorStack} stack
 * @param {number} width
 * @param {number} height
 */
function columnsOf(stack, width, height) {
  const most = Math.max(1, Math.min(stack.layers, Math.floor(width / NARROWEST)))
  let columns = 1
  while (columns < most && height / rowsOf(stack, columns) < LEAST) columns++
  return columns
}

/**
 * All blocks within `width` x `height` pixels, the stacks side by side; `memory` are lines from what the encoder gives
 * out to cross-attentions that read it.
 * @param {Pick<LocatorData, "stacks">} data
 * @param {number} width
 * @param {number} height
 * @returns {Located}
 */
export function placeLocator({ stacks }, width, height) {
  const room = height - NAME
  const wide = (width - CHANNEL * (stacks.length - 1)) / Math.max(1, stacks.length)
  const columns = stacks.map((stack) => columnsOf(stack, wide, room))
  const row = Math.min(MOST, ...stacks.map((stack, n) => room / rowsOf(stack, columns[n])))
  const lefts = stacks.map((_, n) => n * (wide + CHANNEL))
  const blocks = stacks.flatMap((stack, n) =>
    placeStack(stack, { left: lefts[n], width: wide, row, columns: columns[n] }),
  )
  const names = stacks.map(({ name, side }, n) => ({ x: lefts[n], width: wide, text: name, side }))
  return { blocks, names, memory: stacks.length === 2 ? memoryOf(blocks, lefts[1]) : [] }
}

/**
 * The blocks of a stack, from the input down to what it ends with.
 * @param {LocatorStack} stack
 * @param {{left: number, width: number, row: number, columns: number}} given
 * @returns {Block[]}
 */
function placeStack({ name, side, layers, parts, final, output }, { left, width, row, columns }) {
  const deep = Math.ceil(layers / columns)
  const layer = (parts.length + BETWEEN) * row
  const narrow = width / columns
  const inLayers = Array.from({ length: layers }, (_, n) =>
    parts.map(({ part, name: called, kind }, below) => ({
      stack: name,
      side,
      part,
      layer: n,
      kind,
      title: `${name} layer ${n}, ${called}`,
      x: left + Math.floor(n / deep) * narrow,
      y: NAME + row + ((n % deep) + (0.5 * BETWEEN) / (parts.length + BETWEEN)) * layer + below * row,
      width: narrow,
      height: row,
    })),
  ).flat()
  const end = (/** @type {string} */ part, /** @type {string} */ called, /** @type {number} */ y) => ({
    stack: name,
    side,
    part,
    title: `${called} of the ${name}`,
    x: left,
    y,
    width,
    height: row,
  })
  const below = NAME + row + deep * layer
  return [
    end("input", "input", NAME),
    ...inLayers,
    ...(final ? [end("final", "final norm", below)] : []),
    ...(output ? [end("output", "output", below + Number(final) * row)] : []),
  ]
}

/**
 * Lines from the last block of the encoder to the channel between the stacks, along it, and to each cross-attention at the
 * left edge of the decoder.
 * @param {Block[]} blocks
 * @param {number} left
 * @returns {Point[][]}
 */
function memoryOf(blocks, left) {
  const middle = (/** @type {Block} */ { y, height }) => y + height / 2
  const channel = left - CHANNEL / 2
  const reading = blocks.filter(({ part, x }) => part === "cross" && x === left).map(middle)
  const last = blocks.filter(({ x }) => x < left).at(-1)
  if (!last || !reading.length) return []
  const from = middle(last)
  return [
    [
      [last.x + last.width, from],
      [channel, from],
    ],
    [
      [channel, Math.min(from, ...reading)],
      [channel, Math.max(from, ...reading)],
    ],
    .../** @type {Point[][]} */ (
      reading.map((y) => [
        [channel, y],
        [left, y],
      ])
    ),
  ]
}

/**
 * What is looked at by the field that `looks` names; null for nothing.
 * @param {LocatorData} data
 * @param {Fields} chosen
 * @returns {?Place}
 */
export function placeOf({ looks, stacks }, chosen) {
  const { kind, layer, part } = chosen
  const stack = stacks.find((each) => each.parts.some((of) => of.kind !== undefined && of.kind === kind))?.name
  switch (looks) {
    case "kind":
    case "mask_kind":
      return attentionOf(stacks, chosen[looks], layer)
    case "part":
      if (part === "attention") return attentionOf(stacks, kind, layer)
      return stack === undefined ? null : part === "final" ? { stack, part } : { stack, part, layer }
    case "layer":
      return stack === undefined ? null : { stack, layer }
    case "input_side":
      return { stack: (stacks.find(({ side }) => side === chosen.input_side) ?? stacks[0]).name, part: "input" }
    case "pos_stack":
      return { stack: (stacks.find(({ name }) => name === chosen.pos_stack) ?? stacks[0]).name, part: "input" }
    case "output":
      return { part: "output" }
    case "point":
      return chosen.point ? placeOfPoint(stacks, chosen.point) : attentionOf(stacks, kind, layer) // where Tensors begins
    default:
      return null
  }
}

/**
 * The attention of a kind in a layer.
 * @param {LocatorStack[]} stacks
 * @param {?string | undefined} wanted
 * @param {number} layer
 * @returns {?Place}
 */
function attentionOf(stacks, wanted, layer) {
  for (const { name, parts } of stacks)
    for (const { kind, part } of parts) if (kind !== undefined && kind === wanted) return { stack: name, layer, part }
  return null
}

/**
 * Where a point is: decoder.1.cross.weights in a sub-layer, decoder.1.residual_in in a layer, decoder.out at the end of all.
 * @param {LocatorStack[]} stacks
 * @param {string} point
 * @returns {?Place}
 */
function placeOfPoint(stacks, point) {
  if (point === "logits") return { part: "output" }
  const [name, second, third] = point.split(".")
  const stack = stacks.find((each) => each.name === name)
  if (!stack || !second) return null
  if (second === "embed") return { stack: name, part: "input" }
  if (/^\d+$/.test(second)) {
    const inLayer = { stack: name, layer: Number(second) }
    return stack.parts.some(({ part }) => part === third) ? { ...inLayer, part: third } : inLayer
  }
  return stack.final ? { stack: name, part: "final" } : { stack: name, layer: stack.layers - 1 }
}

/**
 * Whether a block is what is looked at, or a part of it.
 * @param {Block} block
 * @param {?Place} place
 */
export const isAt = (block, place) =>
  place !== null &&
  (place.stack === undefined || place.stack === block.stack) &&
  (place.layer === undefined || place.layer === block.layer) &&
  (place.part === undefined || place.part === block.part)

/**
 * What is looked at, in words: the title of the one block, or the layer of several.
 * @param {Block[]} marked
 */
export const wordsOf = (marked) => (marked.length > 1 ? marked[0].title.split(",")[0] : (marked[0]?.title ?? ""))

/**
 * Where a block leads: an attention is chosen on the open page if that shows attentions, else on Attention.
 * @param {Block} block
 * @param {LocatorData} data
 * @param {Fields} chosen
 * @returns {Lead}
 */
export function leadFrom({ stack, side, part, layer, kind }, { looks, stacks }, chosen) {
  if (part === "output") return { page: "decoding", fields: {} }
  if (part === "input") return { page: "input", fields: { input_side: side } }
  if (kind === undefined) {
    const kinds = stacks.find(({ name }) => name === stack)?.parts.flatMap((each) => each.kind ?? []) ?? []
    const own = kinds.includes(chosen.kind) ? chosen.kind : kinds[0]
    return { page: "layers", fields: { kind: own, ...(layer === undefined ? {} : { layer }), part } }
  }
  switch (looks) {
    case "mask_kind":
      return { page: "", fields: { mask_kind: kind, layer } }
    case "kind":
    case "layer":
      return { page: "", fields: { kind, layer } }
    case "part":
      return { page: "", fields: { kind, layer, part: "attention" } }
    case "point":
      return { page: "", fields: { kind, layer, point: `${stack}.${layer}.${part}.weights` } }
    default:
      return { page: "attention", fields: { kind, layer } }
  }
}

/**
 * The block that an arrow key leads to from the block at this index: along the stack, or the nearest of the next column.
 * @param {Block[]} blocks
 * @param {number} index
 * @param {string} key
 * @returns {number | undefined} nothing for another key
 */
export function blockBeside(blocks, index, key) {
  const from = blocks[index]
  const own = blocks.flatMap(({ stack }, n) => (stack === from.stack ? n : []))
  const along = (/** @type {number} */ n) => Math.min(Math.max(n, own[0]), own[own.length - 1])
  if (key === "ArrowUp") return along(index - 1)
  if (key === "ArrowDown") return along(index + 1)
  if (key === "Home") return own[0]
  if (key === "End") return own[own.length - 1]
  if (key !== "ArrowLeft" && key !== "ArrowRight") return undefined
  const gap = (/** @type {Block} */ to) => (key === "ArrowLeft" ? from.x - to.x - to.width : to.x - from.x - from.width)
  const beside = blocks.flatMap((to, n) => (gap(to) > -NEAR ? n : []))
  const next = Math.min(...beside.map((n) => gap(blocks[n])))
  const far = (/** @type {number} */ n) => Math.abs(blocks[n].y - from.y)
  const column = beside.filter((n) => gap(blocks[n]) < next + NEAR)
  return column.length ? column.reduce((best, n) => (far(n) < far(best) ? n : best)) : index
}
