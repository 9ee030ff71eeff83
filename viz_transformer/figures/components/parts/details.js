import { unpack } from "./payload.js"

/** @import { Numbers, Payload } from "./types.js" */

// The deeper levels of the whole runs on the page, so far as Python has told them: one store for all pictures, which the
// component whole_detail.js fills.

/**
 * Where in a run a detail is: a layer of a stack, or a head of an attention.
 * @typedef {{stack: string, layer: number}} LayerPlace
 * @typedef {{kind: string, layer: number, head: number}} HeadPlace
 */

const MOST_BYTES = 64 * 2 ** 20

/**
 * One weight is a cell of its head, and has no detail of its own.
 * @param {string} of
 * @param {string} level
 * @param {LayerPlace | HeadPlace} place
 */
function keyOf(of, level, place) {
  if ("stack" in place && level === "layer") return JSON.stringify([of, place.stack, place.layer])
  if ("kind" in place && level !== "layer") return JSON.stringify([of, place.kind, place.layer, place.head])
  throw new Error(`the level ${level} is not at ${JSON.stringify(place)}`)
}

/**
 * At most so many bytes are kept; what was unused for longest goes first, and what came last stays.
 * @param {number} most
 */
export function makeDetails(most = MOST_BYTES) {
  const changes = new EventTarget()
  /** @type {Map<string, {detail: Payload, bytes: number}>} */
  const kept = new Map()
  let total = 0
  const drop = (/** @type {string} */ key) => {
    total -= kept.get(key)?.bytes ?? 0
    kept.delete(key)
  }
  const keep = (/** @type {Uint8Array<ArrayBuffer>} */ payload) => {
    const detail = unpack(payload)
    const key = keyOf(detail.header.of, detail.header.level, detail.header)
    const bytes = Object.values(detail.arrays).reduce((sum, { values }) => sum + values.byteLength, 0)
    drop(key)
    kept.set(key, { detail, bytes })
    total += bytes
    for (const oldest of kept.keys()) {
      if (total <= most || oldest === key) break
      drop(oldest)
    }
  }
  const tell = () => changes.dispatchEvent(new Event("change"))
  return {
    /** Keep what Python packed, and tell those who listen. */
    put(/** @type {Uint8Array<ArrayBuffer>} */ payload) {
      keep(payload)
      tell()
    },
    /** Keep all details that are arrays of a payload, detail.0 and so on, and tell those who listen once. */
    putAll(/** @type {Record<string, Numbers>} */ arrays) {
      for (const [name, { values }] of Object.entries(arrays))
        if (name.startsWith("detail.")) keep(/** @type {Uint8Array<ArrayBuffer>} */ (values))
      tell()
    },
    /**
     * The detail of a run at a level and a place, or null where it has not come yet.
     * @param {string} of
     * @param {string} level
     * @param {LayerPlace | HeadPlace} place
     */
    get(of, level, place) {
      const key = keyOf(of, level, place)
      const found = kept.get(key)
      if (!found) return null
      kept.delete(key)
      kept.set(key, found)
      return found.detail
    },
    listen(/** @type {() => void} */ callback) {
      changes.addEventListener("change", callback)
      return () => changes.removeEventListener("change", callback)
    },
  }
}
/** @type {ReturnType<typeof makeDetails>} */
export const details = (globalThis.vizTransformerDetails ??= makeDetails())
