import { unpack } from "./payload.js"

/** @import { Numbers, Payload } from "./types.js" */

// The deeper levels of the whole runs on the page, so far as Python has told them: one store for all pictures, which the
// component whole_detail.js fills.

/**
 * Where in a run a detail is: a layer of a stack, or a head of an attention.
 * @typedef {{stack: string, layer: number}} LayerPlace
 * @typedef {{kind: string, layer: number, head: number}} HeadPlace
 */

/** What a picture asks for. @typedef {{of: string} & (LayerPlace | HeadPlace)} Asked */

const MAX_BYTES = 64 * 2 ** 20

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
export function makeDetails(most = MAX_BYTES) {
  const changes = new EventTarget()
  /** @type {Map<string, {detail: Payload, bytes: number}>} */
  const kept = new Map()
  let total = 0
  /** @type {?((places: Asked[]) => void)} */
  let send = null
  /** @type {Asked[]} */
  let asked = []
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
  const tell = (answered = false) => changes.dispatchEvent(new CustomEvent("change", { detail: answered }))
  return {
    /** Keep what Python packed, and tell those who listen. */
    put(/** @type {Uint8Array<ArrayBuffer>} */ payload) {
      keep(payload)
      tell()
    },
    /**
     * Keep all details that are arrays of a payload, detail.0 and so on, and tell those who listen once, if there are any.
     * @param {Record<string, Numbers>} arrays
     * @param {boolean} [answered] whether they were asked for
     */
    putAll(arrays, answered) {
      const found = Object.entries(arrays).filter(([name]) => name.startsWith("detail."))
      for (const [, { values }] of found) keep(/** @type {Uint8Array<ArrayBuffer>} */ (values))
      if (found.length) tell(answered)
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
    /** Whether a place has its detail; to ask does not make it the last one used. */
    has(/** @type {string} */ of, /** @type {LayerPlace | HeadPlace} */ place) {
      return kept.has(keyOf(of, "stack" in place ? "layer" : "attention", place))
    },
    /** How many bytes of a run are there. @param {string} of */
    bytesOf: (of) => {
      let sum = 0
      for (const { detail, bytes } of kept.values()) if (detail.header.of === of) sum += bytes
      return sum
    },
    /** Whether anybody answers: a picture that stands alone has all that there is. */
    get connected() {
      return send !== null
    },
    /**
     * Who answers what is asked for; gives back what ends it.
     * @param {(places: Asked[]) => void} answering
     */
    connect(answering) {
      send = answering
      return () => {
        if (send === answering) send = null
      }
    },
    /**
     * Ask for details, the most urgent first. What all pictures ask for at once is one question.
     * @param {string} of
     * @param {(LayerPlace | HeadPlace)[]} places
     */
    ask(of, places) {
      if (!asked.length)
        setTimeout(() => {
          const all = asked
          asked = []
          send?.(all)
        })
      asked.push(...places.map((place) => ({ of, ...place })))
    },
    listen(/** @type {(answered: boolean) => void} */ callback) {
      const heard = (/** @type {any} */ event) => callback(event.detail)
      changes.addEventListener("change", heard)
      return () => changes.removeEventListener("change", heard)
    },
  }
}
/** @type {ReturnType<typeof makeDetails>} */
export const details = (globalThis.vizTransformerDetails ??= makeDetails())
