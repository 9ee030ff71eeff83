// The rail: where the sub-layers of a model stand beside the residual stream, the lines that join them, and which is chosen.

/** @import { Fields } from "./selection.js" */
/** @import { RailData, Stack, SubLayer } from "./types.js" */

/**
 * A box is a sub-layer that can be chosen, or words.
 * @typedef {{x: number, y: number, w: number, h: number, className: string, text?: string, node?: SubLayer}} Box
 * @typedef {[number, number]} Point
 */
/**
 * Lines in the order in which they are drawn: a part of the residual stream; what a sub-layer reads or adds, with a tip
 * that is `back` pixels long; and the sum on the stream.
 * @typedef {{kind: "stream", points: Point[]} | {kind: "branch", points: Point[], tip: Point, back: number}
 *   | {kind: "sum", at: Point}} Mark
 */
/** @typedef {{boxes: Box[], marks: Mark[], crosses: Point[], bottom: number, exit: Point}} PlacedStack */

const [WIDTH, CHANNEL, ALONE] = [266, 20, 190]
const [LINE, GAP, STEP, HEAD, BOX, NORM] = [8, 16, 52, 18, 26, 15]

/**
 * One stack: `at` is its left edge, `mirrored` puts its stream at the right. `crosses` is where its cross-attentions are
 * reached from beside, `exit` where what it gives out leaves it.
 * @param {Stack} stack
 * @param {{norm: string, at: number, width: number, mirrored: boolean}} given
 * @returns {PlacedStack}
 */
export function placeStack(stack, { norm, at, width, mirrored }) {
  const stream = mirrored ? at + width - LINE : at + LINE
  const left = mirrored ? at : at + LINE + GAP
  const room = width - LINE - GAP
  const edge = mirrored ? left + room : left // the side of a box that faces the stream
  /** @type {Box[]} */
  const boxes = []
  /** @type {Mark[]} */
  const marks = []
  /** @type {Point[]} */
  const crosses = []
  const label = (/** @type {string} */ text, /** @type {string} */ className, /** @type {number} */ y, h = 22) =>
    boxes.push({ x: left, y, w: room, h, className, text })
  const end = (/** @type {number} */ y) => label(stack.end, `end ${stack.end === "memory" ? "source" : ""}`, y)
  const reads = (/** @type {number} */ y) =>
    marks.push({ kind: "branch", points: line(stream, edge, y), tip: [edge, y], back: mirrored ? 5 : -5 })
  const adds = (/** @type {number} */ y) => {
    const tip = stream + (mirrored ? -6 : 6)
    marks.push({ kind: "branch", points: line(stream, edge, y), tip: [tip, y], back: mirrored ? -5 : 5 })
    marks.push({ kind: "sum", at: [stream, y] })
  }
  label(stack.name, `stack ${stack.ink}`, 0, 20)
  label("embedding", "end", 22)
  const top = 33
  marks.push({ kind: "stream", points: line(edge, stream, top) })
  let y = 48
  stack.layers.forEach((layer, index) => {
    label(`layer ${index}`, "layer", y, HEAD)
    y += HEAD
    for (const node of layer) {
      const box = norm === "pre" ? y + NORM + 2 : y
      if (norm === "pre") {
        label("norm", "norm", y, NORM)
        reads(y + NORM / 2)
        adds(box + BOX / 2)
      } else {
        reads(y + 6)
        adds(y + 20)
        const x = mirrored ? stream - 30 : stream - 10
        boxes.push({ x, y: y + 30, w: 40, h: NORM, className: "norm onLine", text: "norm" })
      }
      boxes.push({ x: left, y: box, w: room, h: BOX, className: "part", node })
      if (node.cross) crosses.push([mirrored ? left : left + room, box + BOX / 2])
      y += STEP
    }
    y += 2
  })
  const nearest = mirrored ? Math.min(left + room, stream) : left
  const out = (/** @type {number} */ low) =>
    marks.push({
      kind: "stream",
      points: [
        [stream, top],
        [stream, low],
        [nearest, low],
      ],
    })
  if (stack.final) {
    boxes.push({ x: left, y, w: room, h: 24, className: "part final", node: stack.final })
    out(y + 12)
    y += 30
    end(y)
    const middle = left + room / 2
    marks.push({
      kind: "stream",
      points: [
        [middle, y - 6],
        [middle, y],
      ],
    })
  } else {
    y += 4
    end(y)
    out(y + 11)
  }
  return { boxes, marks, crosses, bottom: y + 22, exit: [left + room, y + 11] }
}

/**
 * All stacks side by side, the second mirrored, so that the memory reaches its cross-attentions without crossing a stream:
 * `memory` has its lines and tips, null where there is one stack.
 * @param {RailData} data
 */
export function placeRail({ norm, stacks }) {
  const two = stacks.length === 2
  const width = two ? (WIDTH - CHANNEL) / 2 : ALONE
  const placed = stacks.map((stack, i) =>
    placeStack(stack, { norm, at: i * (width + CHANNEL), width, mirrored: i === 1 }),
  )
  return {
    width: two ? WIDTH : width,
    height: Math.max(...placed.map(({ bottom }) => bottom)) + 4,
    stacks: placed,
    memory: two ? placeMemory(placed[0].exit, placed[1].crosses, width + CHANNEL / 2) : null,
  }
}

/**
 * From what one stack gives out to a channel, up or down in it, and to each place that reads it.
 * @param {Point} exit
 * @param {Point[]} ends
 * @param {number} channel
 * @returns {{lines: Point[][], tips: Point[]}}
 */
function placeMemory(exit, ends, channel) {
  const heights = [exit, ...ends].map(([, y]) => y)
  /** @type {Point[]} */
  const along = [
    [channel, Math.min(...heights)],
    [channel, Math.max(...heights)],
  ]
  return { lines: [line(exit[0], channel, exit[1]), along, ...ends.map(([x, y]) => line(channel, x, y))], tips: ends }
}

/**
 * @param {number} from
 * @param {number} to
 * @param {number} y
 * @returns {Point[]}
 */
const line = (from, to, y) => [
  [from, y],
  [to, y],
]

// ---- choosing

/**
 * Whether a sub-layer is chosen: an attention is by its kind, and what is in no layer by its part alone.
 * @type {(node: SubLayer, chosen: Fields) => boolean}
 */
export const isChosen = (node, { kind, layer, part }) =>
  node.kinds.includes(kind) && part === node.part && (node.layer === undefined || layer === node.layer)

/**
 * The fields that choose a sub-layer: one that belongs to the chosen kind too leaves that as it is.
 * @type {(node: SubLayer, chosen: Fields) => Fields}
 */
export const fieldsChoosing = ({ kinds, layer, part }, { kind }) => ({
  kind: kinds.includes(kind) ? kind : kinds[0],
  ...(layer !== undefined && { layer }),
  part,
})

/**
 * The column and the row of the sub-layer that a key leads to, in columns of so many; null where it is none of the rail's.
 * @type {(counts: number[], from: {column: number, row: number}, key: string) => ?{column: number, row: number}}
 */
export function subLayerBeside(counts, { column, row }, key) {
  const last = counts[column] - 1
  const beside = (/** @type {number} */ to) =>
    to in counts ? { column: to, row: Math.min(row, counts[to] - 1) } : { column, row }
  /** @type {Record<string, {column: number, row: number}>} */
  const moves = {
    ArrowUp: { column, row: Math.max(row - 1, 0) },
    ArrowDown: { column, row: Math.min(row + 1, last) },
    Home: { column, row: 0 },
    End: { column, row: last },
    ArrowLeft: beside(column - 1),
    ArrowRight: beside(column + 1),
  }
  return moves[key] ?? null
}
