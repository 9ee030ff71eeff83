/** @import { Paper } from "../parts/colours.js" */
/** @import { Fields } from "../parts/selection.js" */
/** @import { Numbers, Payload, WholeHeader, WholePart, WholeStack } from "../parts/types.js" */

/**
 * What is looked at of a whole run, and how: what all levels draw from.
 * @typedef {object} WholeView
 * @property {WholeHeader} head
 * @property {Record<string, Numbers>} arrays
 * @property {Fields} chosen
 * @property {number} z so many pixels are one
 * @property {any} hovered what the level has found under the pointer
 * @property {?number} walked the sub-layer of the walk by keys
 * @property {number} flown how much of the step is there
 * @property {boolean} playing
 * @property {?number} reading how much of the source is read, before the first step; null when it is
 * @property {number} through how far the step has come through the layer that is looked at
 * @property {boolean} saysAnswer whether the text of the answer is written: on a page it is directly above, in chips
 * @property {() => Paper} paper
 * @property {() => number} samples
 * @property {() => number} steps
 * @property {() => boolean} writes
 * @property {(step: number) => number} rowAt
 * @property {() => number} step
 * @property {(part: WholePart) => boolean} isChosen
 * @property {(stack: WholeStack) => number} rowOf the row of a stack that is looked at
 * @property {(stack: WholeStack) => ?number} keyOf the key that is looked at
 * @property {(of: "layer" | "attention") => ?Payload} detail
 * @property {(what: string) => string} lack what is said where the detail of this level is not there
 */

export {}
