// The four levels of a whole run: the run, one layer, one attention, one weight. What the selection means at each of them, what
// lies beside it, and how the picture moves from one to the next.

/** @import { Fields } from "./selection.js" */
/** @import { WholeHeader, WholePart, WholeStack } from "./types.js" */

/** @typedef {"run" | "layer" | "attention" | "weight"} Level */
/** @type {readonly Level[]} */
export const LEVELS = ["run", "layer", "attention", "weight"]
/** How long a movement from one level to the next takes, in milliseconds. */
export const MOVE = 300
/** A box grows at most so many times: what it holds comes out of its middle then. */
const MAX_GROWN = 7

/** @param {Fields} chosen @returns {Level} */
export const levelOf = ({ level }) => (LEVELS.includes(level) ? level : "run")
/** @param {Level} level */
export const inward = (level) => LEVELS[Math.min(LEVELS.indexOf(level) + 1, LEVELS.length - 1)]
/** @param {Level} level */
export const outward = (level) => LEVELS[Math.max(LEVELS.indexOf(level) - 1, 0)]
/** Whether the second is deeper than the first. @param {Level} from @param {Level} to */
export const isDeeper = (from, to) => LEVELS.indexOf(to) > LEVELS.indexOf(from)

/** @typedef {WholePart & {kind: string, heads: number}} Attention */
/** @typedef {{stack: WholeStack, index: number, part: Attention}} Site */

/** @type {WeakMap<WholeHeader, Site[]>} */
const knownSites = new WeakMap()
/**
 * All attentions in the order of the forward pass; they are asked for many times in each frame.
 * @param {WholeHeader} head
 * @returns {readonly Site[]}
 */
export function sitesOf(head) {
  const known = knownSites.get(head)
  if (known) return known
  const sites = head.stacks.flatMap((stack) =>
    stack.parts.flatMap((part, index) => (part.kind ? [{ stack, index, part: /** @type {Attention} */ (part) }] : [])),
  )
  knownSites.set(head, sites)
  return sites
}

/**
 * The attention that is chosen; where this model has no such layer, the first of that kind, and where it has none of that
 * kind, the first of the last stack.
 * @param {WholeHeader} head
 * @param {Fields} chosen
 * @returns {Site}
 */
export function siteOf(head, { kind, layer }) {
  const sites = sitesOf(head)
  const last = head.stacks[head.stacks.length - 1]
  return (
    sites.find(({ part }) => part.kind === kind && part.layer === layer) ??
    sites.find(({ part }) => part.kind === kind) ??
    /** @type {Site} */ (sites.find(({ stack }) => stack === last))
  )
}

/**
 * The stack whose tokens are the keys of an attention.
 * @param {WholeHeader} head
 * @param {Site} site
 */
export const keyStackOf = ({ stacks }, { stack, part }) =>
  (part.kind === "cross" && stacks.find(({ name }) => name === "encoder")) || stack

/**
 * The head that is looked at on its own: the one that is chosen, or the first where none is or several are.
 * @param {Fields} chosen
 * @param {number} heads
 */
export function headOf({ heads: chosen }, heads) {
  const only = Array.isArray(chosen) && chosen.length === 1 ? chosen[0] : 0
  return only < heads ? only : 0
}

/** Where the detail of a layer is. @param {Site} site */
export const layerPlace = ({ stack, part }) => ({ stack: stack.name, layer: part.layer })
/** Where the detail of a head is. @param {Site} site @param {number} head */
export const headPlace = ({ part }, head) => ({ kind: part.kind, layer: part.layer, head })

/**
 * What is chosen so many layers further in the forward pass, from the first stack on into the next; the same kind of
 * attention where that stack has it. Null beyond the ends.
 * @param {WholeHeader} head
 * @param {Site} site
 * @param {number} by
 * @returns {?Fields}
 */
export function layerBeside(head, { stack, part }, by) {
  const layers = head.stacks.flatMap((each) => Array.from({ length: each.layers }, (_, layer) => ({ each, layer })))
  const at = layers.findIndex(({ each, layer }) => each === stack && layer === part.layer)
  const next = layers[at + by]
  if (!next) return null
  const there = sitesOf(head).filter((site) => site.stack === next.each && site.part.layer === next.layer)
  const found = there.find((site) => site.part.kind === part.kind) ?? there[0]
  return found ? { kind: found.part.kind, layer: next.layer } : null
}

/**
 * The attention so many places further in the forward pass; null beyond the ends.
 * @param {WholeHeader} head
 * @param {Site} site
 * @param {number} by
 * @returns {?Fields}
 */
export function attentionBeside(head, site, by) {
  const sites = sitesOf(head)
  const next = sites[sites.findIndex(({ part }) => part === site.part) + by]
  return next ? { kind: next.part.kind, layer: next.part.layer } : null
}

const ATTENTIONS = /** @type {Record<string, string>} */ ({ self: "Self-attention", cross: "Cross-attention" })

/**
 * The way from the whole run to what is looked at: each level that leads there, and what is seen on it.
 * @param {WholeHeader} head
 * @param {Fields} chosen
 * @param {{query: string, key: string}} words the tokens of the weight, quoted
 * @returns {{level: Level, text: string}[]}
 */
export function crumbs(head, chosen, { query, key }) {
  const site = siteOf(head, chosen)
  const { stack, part } = site
  const texts = {
    run: "Whole run",
    layer: `${stack.name[0].toUpperCase()}${stack.name.slice(1)} layer ${part.layer}`,
    attention: `${ATTENTIONS[part.part]}, head ${headOf(chosen, part.heads)}`,
    weight: `${query} takes from ${key}`,
  }
  return LEVELS.slice(0, LEVELS.indexOf(levelOf(chosen)) + 1).map((level) => ({ level, text: texts[level] }))
}

/** @typedef {{x: number, y: number, width: number, height: number}} Box */
/** Where a picture is drawn: `k` times as large, from x and y on. @typedef {{k: number, x: number, y: number}} View */

/**
 * Where the outer picture and the inner one stand when a part of the movement inwards is over: the box of the outer one
 * grows until it fills the room, and the inner one stands in it all the time. Around one fixed point, evenly to the eye.
 * @param {{width: number, height: number}} room
 * @param {Box} box
 * @param {number} part
 * @returns {{outer: View, inner: View}}
 */
export function zoomed(room, box, part) {
  const fitting = Math.min(room.width / Math.max(box.width, 1), room.height / Math.max(box.height, 1))
  const scale = Math.min(Math.max(fitting, 1.05), MAX_GROWN)
  const now = scale ** part
  const along = (/** @type {number} */ middle, /** @type {number} */ to) => {
    const fixed = (to - middle * scale) / (1 - scale)
    return { outer: fixed * (1 - now), inner: fixed + (middle - to / scale - fixed) * now }
  }
  const x = along(box.x + box.width / 2, room.width / 2)
  const y = along(box.y + box.height / 2, room.height / 2)
  return { outer: { k: now, x: x.outer, y: y.outer }, inner: { k: now / scale, x: x.inner, y: y.inner } }
}

/** Slow at both ends. @param {number} part */
export const eased = (part) => part * part * (3 - 2 * part)
/** How much of the inner picture is seen. @param {number} part */
export const seen = (part) => eased(Math.min(Math.max((part - 0.3) / 0.5, 0), 1))

/**
 * How a turned wheel or a pinch adds up to one level: `turned` says what there is to do, 1 inwards, -1 outwards, 0 not yet.
 * One turn is one level, however long it is: only after a pause there is another.
 * @param {{enough?: number, pause?: number}} [given]
 */
export function turning({ enough = 60, pause = 250 } = {}) {
  let [sum, last, over] = [0, -Infinity, true]
  return {
    /** @param {number} by @param {number} now milliseconds */
    turned(by, now) {
      if (now - last > pause) [sum, over] = [0, true]
      last = now
      if (!over) return 0
      if (Math.sign(by) !== Math.sign(sum)) sum = 0
      sum += by
      if (Math.abs(sum) < enough) return 0
      over = false
      return Math.sign(sum)
    },
  }
}
