import { colours } from "../parts/colours.js"
import { details } from "../parts/details.js"
import { isStill } from "../parts/motion.js"
import { selection } from "../parts/selection.js"
import { zoom } from "../parts/stage.js"
import { quoted } from "../parts/text.js"
import { ownMoment, stepsAt, together } from "../parts/together.js"
import { lackSentence } from "../parts/whole_ahead.js"
import { keyField } from "../parts/whole_choices.js"
import { READING } from "../parts/whole_flight.js"
import { crumbs, headOf, headPlace, keyStackOf, layerPlace, levelOf, siteOf } from "../parts/whole_levels.js"
import { strongestKey } from "../parts/whole_rows.js"

/** @import { Root } from "../parts/stage.js" */
/** @import { Numbers, Payload, WholeHeader, WholePart, WholeStack } from "../parts/types.js" */
/** @import { Site } from "../parts/whole_levels.js" */

/** How far a step has come through the layer of an attention, and whether the detail that is looked at was asked for in vain.
 * @typedef {{through: (site: Site) => number, isVain: () => boolean}} Asked */

/** What is looked at of a whole run, and how: what all levels draw from. */
export class WholeView {
  /** @type {WholeHeader} */
  head = /** @type {any} */ ({})
  /** @type {Record<string, Numbers>} */
  arrays = {}
  fit = 1 // how many times as large everything is in a large window
  saving = false // whether a picture to be saved is drawn
  /** What the level has found under the pointer. @type {any} */
  hovered = null
  /** The sub-layer of the walk by keys. @type {?number} */
  walked = null
  walkedStep = 0 // and the step in which it was walked to
  #root
  #asked

  /** @param {Root} root @param {Asked} asked */
  constructor(root, asked) {
    this.#root = root
    this.#asked = asked
  }
  get chosen() {
    return selection.chosen
  }
  get level() {
    return levelOf(selection.chosen)
  }
  get z() {
    return zoom(this.#root) * this.fit
  }
  paper() {
    return colours(this.#root)
  }
  samples() {
    return this.arrays[`stream.${this.head.stacks[0].name}`].shape[2]
  }

  // ---- steps

  steps() {
    return this.head.candidates.length
  }
  writes() {
    return this.steps() > 0
  }
  get lastStack() {
    return this.head.stacks[this.head.stacks.length - 1]
  }
  /** Of the longer of two runs, which are stepped and played together: its steps, and the row of A that is the first. */
  get count() {
    return this.head.along?.steps ?? this.steps()
  }
  get firstRow() {
    return this.head.along?.first_row ?? this.head.first_row
  }
  /** The step that is chosen, and the one that is shown of it: the first or the last where the selection is beside them. */
  #chosenSteps() {
    const { firstRow, count } = this
    return stepsAt(this.chosen[this.lastStack.field], { firstRow, count, own: this.steps() })
  }
  get chosenStep() {
    return this.writes() ? this.#chosenSteps().shared : 0
  }
  /** What is shown of what plays; without motion all of a step is there at once. */
  get moment() {
    return ownMoment(together.moment, { last: this.steps() - 1, reads: this.head.stacks.length > 1 })
  }
  get plays() {
    return together.moment !== null
  }
  /** Whether this answer is over, and the other goes on. */
  get isOver() {
    return this.writes() && (together.moment?.t ?? this.chosenStep) >= this.steps()
  }
  rowAt(/** @type {number} */ step) {
    return this.head.first_row + step
  }
  step() {
    return Math.max(this.moment?.t ?? (this.writes() ? this.#chosenSteps().own : 0), 0)
  }
  /** How much of the step is there. */
  get flown() {
    return isStill() ? 1 : (this.moment?.p ?? 1)
  }
  get playing() {
    return this.plays && !this.isOver && !isStill()
  }
  /** How much of the source is read, before the first step; null when it is. */
  get reading() {
    return this.moment?.t === READING && !isStill() ? (together.moment?.p ?? null) : null
  }
  /** How far the step has come through the layer that is looked at. */
  get through() {
    if (this.reading !== null) return this.site.stack === this.lastStack ? 0 : this.reading
    return this.#asked.through(this.site)
  }

  // ---- what is looked at

  get site() {
    return siteOf(this.head, this.chosen)
  }
  get headNow() {
    return headOf(this.chosen, this.site.part.heads)
  }
  isChosen(/** @type {WholePart} */ part) {
    return Boolean(part.kind) && part.kind === this.chosen.kind && part.layer === this.chosen.layer
  }
  within(/** @type {number | undefined} */ position, /** @type {WholeStack} */ stack) {
    return Math.min(Math.max(position ?? 0, 0), stack.tokens.length - 1)
  }
  /** The row of a stack that is looked at. */
  rowOf(/** @type {WholeStack} */ stack) {
    if (stack === this.lastStack && this.writes()) return this.rowAt(this.step())
    return this.within(this.chosen[stack.field], stack)
  }
  /** The key that is looked at; where no page says which, and nobody has chosen any, the one with most weight. */
  keyOf(/** @type {WholeStack} */ stack) {
    const { site } = this
    const position = this.chosen[keyField(site.part, stack)]
    const found = position === undefined ? this.detail("attention") : null
    if (!found?.arrays.weights) return this.within(position, stack)
    return strongestKey(found.arrays, this.rowOf(site.stack))
  }
  /** @param {"layer" | "attention"} of @returns {?Payload} */
  detail(of) {
    const { site, headNow } = this
    return details.get(this.head.of, of, of === "layer" ? layerPlace(site) : headPlace(site, headNow))
  }
  /** Where the detail is that is looked at. */
  get detailPlace() {
    return this.level === "layer" ? layerPlace(this.site) : headPlace(this.site, this.headNow)
  }
  /** What is said where the detail of this level is not there. */
  lack(/** @type {string} */ what) {
    return lackSentence(what, { alone: !details.connected && this.isAlone, vain: this.#asked.isVain() })
  }
  get crumbs() {
    const { head, site } = this
    const { stack } = site
    const keys = keyStackOf(head, site)
    return crumbs(head, this.chosen, {
      query: quoted(stack.tokens[this.rowOf(stack)]),
      key: quoted(keys.tokens[this.keyOf(keys)]),
    })
  }

  // ---- where the picture is

  /** Whether the picture is on no page, where nothing is chosen by others. */
  get isAlone() {
    return this.#root.getRootNode() === document
  }
  get isProjected() {
    return zoom(this.#root) > 1
  }
  /** A page has the control of layer and head that all pages have; what is alone or projected has none. */
  get hasOwnHeads() {
    return this.isAlone || this.isProjected
  }
  /** Whether the text of the answer is written: on a page it is directly above, in chips. */
  get saysAnswer() {
    return this.saving || this.hasOwnHeads
  }
}
