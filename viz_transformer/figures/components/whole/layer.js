import { ring } from "../parts/marks.js"
import { mention } from "../parts/text.js"
import {
  headCounts,
  isPostNorm,
  keysSeen,
  layerDetail,
  layerParts,
  layerSentenceNow,
  layerSentences,
  layerState,
  markedPart,
  rowsOfHeads,
  stackNow,
  vectorScales,
} from "../parts/whole_layer.js"
import { layerAt, placeLayer, titleLine } from "../parts/whole_layer_places.js"
import { siteOf } from "../parts/whole_levels.js"
import { drawWay, largestIn, say } from "./draw.js"
import { paintGroup, paintVector, saySmall } from "./layer_parts.js"

/** @import { Context } from "../parts/types.js" */
/** @import { LayerFound } from "../parts/whole_choices.js" */
/** @import { LayerDetail } from "../parts/whole_layer.js" */
/** @import { LayerPlaces } from "../parts/whole_layer_places.js" */
/** @import { LayerLook } from "./layer_parts.js" */
/** @import { WholeView } from "./view.js" */

const LAYER_VEIL = 0.825 // how much of what is not computed yet is hidden

/** The second level: one layer at one token. The stream along the top; what each sub-layer reads of it, does and adds. */
export class LayerScene {
  /** @type {WholeView} */
  #view
  /** @type {LayerPlaces | undefined} */
  #place
  /** The end of the scale of each vector, of the detail that was seen last. @type {Record<string, number>} */
  #most = {}
  /** @type {?LayerDetail} */
  #known = null

  /** @param {WholeView} view */
  constructor(view) {
    this.#view = view
  }
  get #laid() {
    return /** @type {LayerPlaces} */ (this.#place)
  }
  /** @returns {LayerLook} */
  get #look() {
    const view = this.#view
    const row = view.rowOf(stackNow(view))
    return { view, place: this.#laid, paper: view.paper(), detail: layerDetail(view), most: this.#most, row }
  }
  /** Another run. */
  update() {
    this.#known = null
  }
  /** @param {number} width @param {number} height */
  lay(width, height) {
    const view = this.#view
    const detail = layerDetail(view)
    this.#place = placeLayer({ z: view.z, width, height, parts: layerParts(view, detail), post: isPostNorm(detail) })
    if (!detail || detail === this.#known) return
    this.#known = detail
    this.#most = vectorScales(detail, largestIn)
  }
  /** @param {Context} context */
  paintStill(context) {
    paintLayerStill(context, this.#look)
  }
  /** @param {Context} context */
  paintNow(context) {
    paintLayerNow(context, this.#look)
  }
  size() {
    const { width, height } = this.#laid
    return { width, height }
  }
  state() {
    return layerState(this.#view)
  }
  boxOf() {
    const { groups } = this.#laid
    const { kind } = siteOf(this.#view.head, this.#view.chosen).part
    return (groups.find(({ part }) => part.kind === kind) ?? groups[0]).content
  }
  sentence() {
    return layerSentenceNow(this.#view, this.#laid)
  }
  sentences() {
    return layerSentences(this.#view)
  }
  /** The sub-layers that the arrow keys walk through. */
  walks() {
    return layerParts(this.#view, layerDetail(this.#view))
  }
  /** @param {number} x @param {number} y */
  at(x, y) {
    return layerAt(this.#laid, x, y, ({ part }) => headCounts(this.#view, layerDetail(this.#view), part))
  }
}

/** @param {Context} context @param {LayerLook} look */
function paintLayerStill(context, look) {
  const { place, paper } = look
  const { after, groups, z } = place
  context.strokeStyle = paper.one("muted")
  context.lineWidth = 2
  drawWay(context, [
    [0, place.stream],
    [after.x, place.stream],
  ])
  paintTitles(context, look)
  for (const group of groups) paintGroup(context, look, group)
  paintVector(context, look, `after.${groups[groups.length - 1].part.part}`, after)
  saySmall(context, look, "goes on", after.x + after.width, after.y + after.height + 12 * z, { align: "right" })
}

/** Above the stream: at which token it is, and what is unusual in this layer. @param {Context} context @param {LayerLook} look */
function paintTitles(context, look) {
  const { view, place, paper, detail, row } = look
  const { z, groups, width } = place
  const stack = stackNow(view)
  const y = titleLine(place) - 2 * z
  const titled = say(context, `stream at ${mention(stack.tokens[row])}`, 0, y, {
    size: 13 * z,
    colour: paper.one(stack.ink),
    weight: 600,
    width: groups[groups.length - 1].x,
  })
  const remarks = (detail?.header.remarks ?? []).join(" ")
  saySmall(context, look, remarks, width, y, { align: "right", width: width - titled - 24 * z })
}

/** What is marked and pointed at, and what the step has not come to. @param {Context} context @param {LayerLook} look */
function paintLayerNow(context, { view, place, paper, detail }) {
  const { z } = place
  const group = place.groups[markedPart(view)]
  if (group) {
    context.strokeStyle = paper.one("text")
    context.lineWidth = 1.5
    const { content } = group
    ring(context, paper, content.x - 6 * z, content.y - 6 * z, content.width + 10 * z, content.height + 6 * z)
  }
  const hovered = /** @type {?LayerFound} */ (view.hovered)
  if (typeof hovered?.head === "number" && hovered.key !== null) {
    const rows = rowsOfHeads(hovered.group, keysSeen(view, detail, hovered.group.part), z)
    context.strokeStyle = paper.one("text")
    context.lineWidth = 1
    context.strokeRect(rows.x + hovered.key * rows.cell, rows.y + hovered.head * rows.row, rows.cell, rows.row)
  }
  const through = view.through
  if (through >= 1) return
  context.globalAlpha = LAYER_VEIL
  context.fillStyle = paper.one("page")
  const front = through * place.width
  context.fillRect(front, 0, place.width - front, place.height)
  context.globalAlpha = 1
}
