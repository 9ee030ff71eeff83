import { headOf, levelOf, siteOf } from "./whole_levels.js"

/** @import { WholeView } from "../whole/view.js" */
/** @import { Fields } from "./selection.js" */
/** @import { WholePart, WholeStack } from "./types.js" */
/** @import { GridName } from "./whole_attention_places.js" */
/** @import { Group } from "./whole_layer_places.js" */
/** @import { Level } from "./whole_levels.js" */
/** @import { RunPlace } from "./whole_run.js" */

// What a click or a key chooses in the picture of a whole run.

/** A click chooses these fields, a step, or a sub-layer that is looked at; `only` is false for what a click leaves alone and
 * a double click goes into.
 * @typedef {{fields?: Fields, only?: boolean, to?: number, walk?: number}} Choice */
/** @typedef {{group: Group, head: ?number, key: ?number}} LayerFound */
/** @typedef {{grid: GridName, row: number, column: number}} GridFound */

/**
 * The field of a key on a side: the second position of an attention of a stack with itself.
 * @param {WholePart} part
 * @param {WholeStack} stack
 */
export function keyField({ kind }, { name }) {
  if (kind === "cross") return "i"
  return name === "encoder" ? "j" : "u"
}

/**
 * What a click chooses of what the level has found under the pointer: an attention, a step, a head, a cell; the same with
 * what goes one level inwards.
 * @param {WholeView} view
 * @param {any} found
 * @returns {?Choice}
 */
export function chosenAt(view, found) {
  if (!found) return null
  const level = levelOf(view.chosen)
  if (level === "run") return chosenInRun(view, found)
  const { stack, part } = siteOf(view.head, view.chosen)
  if (level === "layer") return chosenInLayer(stack, found)
  if (found.head !== undefined) return { fields: { heads: [found.head] } }
  if (found.key !== undefined) return { fields: { [keyField(part, stack)]: found.key } }
  return found.grid ? { fields: cellFields(view, found) } : null
}

/**
 * @param {WholeView} view
 * @param {RunPlace} found
 * @returns {?Choice}
 */
function chosenInRun({ head }, { band, block, lane, pointed }) {
  if (!block) {
    const to = (pointed ?? lane) - head.first_row
    return band.name === "decoder" && to >= 0 && to < head.candidates.length ? { to } : null
  }
  const { parts } = /** @type {WholeStack} */ (head.stacks.find(({ name }) => name === band.name))
  const { kind } = parts[block.index]
  return { fields: attentionOf(parts, block.index), only: Boolean(kind) }
}

/**
 * The attention of a sub-layer; of a feed-forward the first of its layer.
 * @param {WholePart[]} parts
 * @param {number} index
 */
export function attentionOf(parts, index) {
  const { kind, layer } = parts[index]
  return { kind: kind ?? parts.find((each) => each.layer === layer)?.kind, layer }
}

/**
 * @param {WholeStack} stack
 * @param {LayerFound} found
 * @returns {Choice}
 */
function chosenInLayer(stack, { group, head, key }) {
  const { kind, layer } = group.part
  if (!kind) return { walk: group.index }
  if (head === null) return { fields: { kind, layer } }
  return { fields: { kind, layer, heads: [head], [keyField(group.part, stack)]: key } }
}

/**
 * What a cell of an attention's matrices is about: its query, its key or both.
 * @param {WholeView} view
 * @param {GridFound} found
 * @returns {Fields}
 */
function cellFields(view, { grid, row, column }) {
  const { stack, part } = siteOf(view.head, view.chosen)
  const key = keyField(part, stack)
  const rows = { [stack.field]: chosenRow(view, stack, row) }
  if (grid === "scores" || grid === "mask" || grid === "weights") return { ...rows, [key]: column }
  return grid === "key" || grid === "value" ? { [key]: row } : rows
}

/**
 * The selection's row for a row of this picture.
 * @param {WholeView} view
 * @param {WholeStack} stack
 * @param {number} row
 */
const chosenRow = ({ head, lastStack, firstRow }, stack, row) =>
  stack === lastStack && head.candidates.length ? Math.max(row - head.first_row + firstRow, 0) : row

/**
 * What is chosen when one goes to a level, to what is chosen or to these fields: from an attention on it is one head.
 * @param {WholeView} view
 * @param {Level} level
 * @param {Fields} fields
 */
export function fieldsAt({ head, chosen }, level, fields) {
  const { part } = siteOf(head, { ...chosen, ...fields })
  /** @type {Fields} */
  const all = { ...(chosen.kind && { kind: part.kind, layer: part.layer }), ...fields, level }
  const { heads } = chosen
  const isOne = (Array.isArray(heads) && heads.length === 1) || "heads" in fields
  if ((level === "attention" || level === "weight") && !isOne) all.heads = [headOf(chosen, part.heads)]
  return all
}

/**
 * The heads there are to choose from: how many, the one that is looked at, and whether the level shows only one.
 * @param {WholeView} view
 */
export function headsOf({ head, chosen }) {
  const { part } = siteOf(head, chosen)
  const deep = ["attention", "weight"].includes(levelOf(chosen))
  const all = head.stacks.flatMap(({ parts }) => parts.flatMap(({ heads }) => heads ?? [0]))
  return { count: deep ? part.heads : Math.max(...all), only: deep ? headOf(chosen, part.heads) : head.head, deep }
}

/**
 * The next place of a walk through so many, from one of them, or from before the first or behind the last.
 * @param {?number} from
 * @param {number} by
 * @param {number} count
 */
export const walkedOn = (from, by, count) => Math.min(Math.max((from ?? (by > 0 ? -1 : count)) + by, 0), count - 1)
