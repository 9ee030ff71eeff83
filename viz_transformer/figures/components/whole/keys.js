import { selection } from "../parts/selection.js"
import { attentionOf, keyField, walkedOn } from "../parts/whole_choices.js"
import { attentionBeside, keyStackOf, layerBeside } from "../parts/whole_levels.js"
import { SETTLE } from "./playing.js"

/** @import { Fields } from "../parts/selection.js" */
/** @import { WholePicture } from "./picture.js" */

// What the keys do at each level of a whole run.

/** @typedef {(picture: WholePicture) => void} Act */

/** @type {Record<string, Record<string, Act>>} */
const KEYS = {
  run: {
    ArrowRight: (picture) => stepOrRow(picture, 1),
    ArrowLeft: (picture) => stepOrRow(picture, -1),
    ArrowDown: (picture) => walk(picture, 1),
    ArrowUp: (picture) => walk(picture, -1),
    Home: ({ view, playing }) => view.writes() && playing.step(0),
    End: ({ view, playing }) => view.writes() && playing.step(view.count - 1),
  },
  layer: {
    ArrowRight: (picture) => beside(picture, layerBeside(picture.view.head, picture.view.site, 1)),
    ArrowLeft: (picture) => beside(picture, layerBeside(picture.view.head, picture.view.site, -1)),
    ArrowDown: (picture) => walkParts(picture, 1),
    ArrowUp: (picture) => walkParts(picture, -1),
  },
  attention: {
    ArrowRight: (picture) => beside(picture, attentionBeside(picture.view.head, picture.view.site, 1)),
    ArrowLeft: (picture) => beside(picture, attentionBeside(picture.view.head, picture.view.site, -1)),
    ArrowDown: (picture) => besideHead(picture, 1),
    ArrowUp: (picture) => besideHead(picture, -1),
  },
  weight: {
    ArrowRight: (picture) => besideKey(picture, 1),
    ArrowLeft: (picture) => besideKey(picture, -1),
    ArrowDown: (picture) => besideRow(picture, 1),
    ArrowUp: (picture) => besideRow(picture, -1),
  },
}
/** At every level. @type {Record<string, Act>} */
const ALL_KEYS = {
  Enter: (picture) => enterByKey(picture, "Enter"),
  "+": (picture) => enterByKey(picture, "+"),
  "=": (picture) => enterByKey(picture, "="),
  "-": (picture) => picture.leave(),
  " ": ({ playing }) => playing.toggle(),
}

/** @param {WholePicture} picture @param {KeyboardEvent} event */
export function actOnKey(picture, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  const act = KEYS[picture.view.level][event.key] ?? ALL_KEYS[event.key]
  if (act) act(picture)
  else if (event.key !== "Escape" || !comeOut(picture)) return
  event.preventDefault()
  event.stopPropagation()
}

/** Out of a walk, else one level outwards; whether there was anything to come out of. @param {WholePicture} picture */
function comeOut(picture) {
  const { view } = picture
  if (view.walked !== null) {
    view.walked = null
    picture.draw()
  } else if (view.level === "run") return false
  else picture.leave()
  return true
}

/** Inwards: to the sub-layer that was walked to, if it is one. @param {WholePicture} picture @param {string} key */
function enterByKey(picture, key) {
  const { level, walked, lastStack } = picture.view
  if (level === "run" && walked) {
    if (lastStack.parts[walked - 1]) picture.enter(attentionOf(lastStack.parts, walked - 1))
  } else if (level === "layer" && walked !== null) picture.say(picture.scene.sentence())
  else if (level !== "weight" || key === "Enter") picture.enter()
}

/** @param {WholePicture} picture @param {number} by */
function stepOrRow(picture, by) {
  const { view, playing } = picture
  if (view.writes()) playing.step(view.chosenStep + by)
  else besideRow(picture, by)
}

/** From sentence to sentence of a step, which are its sub-layers. @param {WholePicture} picture @param {number} by */
function walk(picture, by) {
  const sentences = picture.scene.sentences()
  if (!sentences.length) return
  const next = walkedOn(picture.view.walked, by, sentences.length)
  picture.walkTo(next)
  picture.say([sentences[next], ...picture.scenes.run.facts()].join(" "))
}

/** The sub-layers of a layer: an attention is chosen at once, a feed-forward is looked at.
 * @param {WholePicture} picture
 * @param {number} by */
function walkParts(picture, by) {
  const { view, scenes } = picture
  const parts = scenes.layer.walks()
  const from = view.walked ?? parts.findIndex((each) => each.part === view.site.part.part)
  const next = walkedOn(from, by, parts.length)
  const { kind, layer } = parts[next]
  picture.walkTo(kind ? null : next)
  if (kind) selection.pick({ kind, layer }, SETTLE)
  picture.say(picture.scene.sentence())
}

/** @param {WholePicture} picture @param {?Fields} fields */
function beside(picture, fields) {
  picture.view.walked = null
  picture.fetching.onwards = false
  if (fields) selection.pick(fields)
  picture.say(picture.where)
}

/** @param {WholePicture} picture @param {number} by */
function besideHead(picture, by) {
  const { view } = picture
  const next = view.headNow + by
  if (next >= 0 && next < view.site.part.heads) selection.pick({ heads: [next] })
  picture.say(`Head ${view.headNow}`)
}

/** @param {WholePicture} picture @param {number} by */
function besideKey(picture, by) {
  const { view } = picture
  const keys = keyStackOf(view.head, view.site)
  const next = view.keyOf(keys) + by
  if (next >= 0 && next < keys.tokens.length) selection.pick({ [keyField(view.site.part, keys)]: next }, SETTLE)
  picture.say(picture.scene.sentence())
}

/** @param {WholePicture} picture @param {number} by */
function besideRow(picture, by) {
  const { view, playing } = picture
  const { stack } = view.site
  if (stack === view.lastStack && view.writes()) {
    playing.step(view.chosenStep + by)
    return
  }
  selection.pick({ [stack.field]: view.within(view.rowOf(stack) + by, stack) }, SETTLE)
  picture.say(picture.scene.sentence())
}
