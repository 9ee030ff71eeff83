import { headOf, headPlace, layerPlace, siteOf, sitesOf } from "./whole_levels.js"

/** @import { HeadPlace, LayerPlace } from "./details.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Site } from "./whole_levels.js" */
/** @import { WholeHeader } from "./types.js" */

// Which details are asked for before anybody looks into them, while nothing else happens.

/** So many bytes of a run are there at most without being asked for one by one. */
export const AHEAD_BYTES = 8_000_000
/** So long nothing has to be chosen, in milliseconds. */
export const AT_REST = 600
/** So long after an answer the next question is asked. */
export const NEXT = 150
/** So many details are asked for at once. */
export const AT_ONCE = 12

/**
 * The places of all details of a run, nearest to what is chosen first: its layer, its head and those beside it, then of each
 * layer that one comes to by fewer steps its own detail and the head that would be looked at there, and last all others.
 * @param {WholeHeader} head
 * @param {Fields} chosen
 * @returns {(LayerPlace | HeadPlace)[]}
 */
export function nearest(head, chosen) {
  const site = siteOf(head, chosen)
  const layers = head.stacks.flatMap((stack) => Array.from({ length: stack.layers }, (_, layer) => ({ stack, layer })))
  const at = layers.findIndex(({ stack, layer }) => stack === site.stack && layer === site.part.layer)
  const around = layers
    .map((each, n) => ({ ...each, far: Math.abs(n - at) }))
    .sort((a, b) => a.far - b.far)
    .map(({ stack, layer }) => sitesOf(head).filter((each) => each.stack === stack && each.part.layer === layer))
    .filter((sites) => sites.length)
  const all = (/** @type {Site} */ each) => Array.from({ length: each.part.heads }, (_, n) => headPlace(each, n))
  const first = (/** @type {Site} */ each) => headPlace(each, headOf(chosen, each.part.heads))
  const places = [
    layerPlace(site),
    first(site),
    ...all(site),
    ...around.flatMap((sites) => [layerPlace(sites[0]), ...sites.map(first)]),
    ...around.flat().flatMap(all),
  ]
  return [...new Map(places.map((place) => [JSON.stringify(place), place])).values()]
}
