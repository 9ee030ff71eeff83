// What is chosen: one selection for all components of the page. The component selection.js joins it to Python.

/** @import { Axis } from "./types.js" */

/**
 * The fields that are chosen, by name; some are numbers, some words or lists. `followed` are the names of those that
 * nobody chose: they follow what has most weight in the chosen row.
 * @typedef {Record<string, any>} Fields
 * What the chosen row looks at: the weight of each position of a side, by its ink, in the colours of a kind of attention.
 * @typedef {{ink: string, kind: string, weights: Record<number, number>}} Look
 * What Python hears: `again` where the connection was lost and is there again.
 * @typedef {{token: string, fields: Fields, again?: boolean}} Picked
 */

const LEAVING = 3000 // milliseconds: a page that has not begun by then does not come
const BEHIND = 10_000 // milliseconds: a Python that is behind for longer has not heard, and is right

const makeSelection = () => {
  const changes = new EventTarget()
  const pointing = new EventTarget()
  /**
   * @type {{chosen: Fields, pending: Fields, unheard: Fields, token: ?string, sentAt: number,
   *   send: ?((pick: Picked) => void), timer: ReturnType<typeof setTimeout> | undefined, look: ?Look,
   *   playing: boolean, lost: ?number, left: ?{from: string, at: number}, heard: string, onwards: ?(() => void), writing: boolean}}
   */
  const store = {
    chosen: {},
    pending: {},
    unheard: {},
    token: "",
    sentAt: -Infinity,
    send: null,
    timer: undefined,
    look: null,
    playing: false,
    lost: null,
    left: null,
    heard: "",
    onwards: null,
    writing: false,
  }
  const tell = () => changes.dispatchEvent(new Event("change"))
  const send = (/** @type {{again?: boolean}} */ more) => {
    store.token = Math.random().toString(36).slice(2)
    store.sentAt = performance.now()
    store.unheard = { ...store.unheard, ...store.pending } // of two picks that wait, Python hears only the later
    store.pending = {}
    hand({ token: store.token, fields: store.unheard, ...more })
  }
  // what is told while another page has been asked for and has not begun would bring this one back
  const hand = (/** @type {Picked} */ pick) => {
    const { left } = store
    const leaving = left && left.from === location.pathname && performance.now() - left.at < LEAVING
    if (leaving) setTimeout(hand, 50, pick)
    else store.send?.(pick)
  }
  const flush = () => {
    if (store.send && Object.keys(store.pending).length) send({})
  }
  return {
    get chosen() {
      return store.chosen
    },
    /** What the chosen row looks at, as the page's map says; null where there is none. */
    get look() {
      return store.look
    },
    /** Whether the steps are being played: then what is not written yet is not there. */
    get playing() {
      return store.playing
    },
    /** Choose at once in the browser; Python hears of it when nothing else was chosen for `settle` milliseconds. */
    pick(/** @type {Fields} */ fields, settle = 0) {
      const { followed } = store.chosen
      const still = followed && { followed: followed.filter((/** @type {string} */ name) => !(name in fields)) }
      store.chosen = { ...store.chosen, ...fields, ...still }
      store.pending = { ...store.pending, ...fields }
      store.sentAt = performance.now()
      store.token = null
      tell()
      clearTimeout(store.timer)
      store.timer = setTimeout(flush, settle)
    },
    /**
     * Choose, and go on to another page once Python has heard of all that is chosen, which would forget it with this
     * page; at once where it has.
     */
    lead(/** @type {Fields} */ fields, /** @type {() => void} */ onwards) {
      if (Object.keys(fields).length) this.pick(fields)
      clearTimeout(store.timer)
      store.onwards = onwards
      flush()
      this.heard(store.heard)
    },
    /** Python has heard of this pick, though it may not have computed yet what is chosen then. */
    heard(/** @type {string} */ token) {
      store.heard = token
      const { onwards } = store
      if (!onwards || (store.token !== "" && token !== store.token)) return
      store.onwards = null
      onwards()
    },
    /** What follows has come to another place, as Python will find out by itself. */
    follow(/** @type {Fields} */ fields) {
      if (Object.entries(fields).every(([name, value]) => store.chosen[name] === value)) return
      store.chosen = { ...store.chosen, ...fields }
      tell()
    },
    looksAt(/** @type {?Look} */ look) {
      if (JSON.stringify(look) === JSON.stringify(store.look)) return
      store.look = look
      tell()
    },
    plays(/** @type {boolean} */ on) {
      if (store.playing === on) return
      store.playing = on
      tell()
    },
    /** What Python says is chosen. Until it has heard of the last pick it is behind, and not believed for a while. */
    receive(/** @type {Fields} */ chosen, /** @type {string} */ token) {
      const behind = store.token !== "" && token !== store.token
      if (!behind) store.unheard = {}
      if (behind && performance.now() - store.sentAt < BEHIND) return
      if (JSON.stringify(chosen) === JSON.stringify(store.chosen)) return
      store.chosen = chosen
      tell()
    },
    /** A text was written. Streamlit tells Python of it in a moment, as of the page that is open then: another page waits. */
    writes() {
      store.writing = true
      setTimeout(() => {
        store.writing = false
      })
    },
    get writing() {
      return store.writing
    },
    /** Another page was asked for. */
    leaves() {
      store.left = { from: location.pathname, at: performance.now() }
    },
    /** How many picks have come to Python without their fields: where there is another, all that it has not heard goes again. */
    lost(/** @type {number} */ count) {
      const another = store.lost !== null && count > store.lost
      store.lost = count
      if (another) send({})
    },
    /** The pointer is over these positions in a picture, or over none: pictures beside it mark the same. */
    points(/** @type {object} */ by, /** @type {?Fields} */ fields) {
      pointing.dispatchEvent(new CustomEvent("point", { detail: { by, fields } }))
    },
    /** Hear of what is pointed at in other pictures. */
    onPoint(/** @type {object} */ by, /** @type {(fields: ?Fields) => void} */ callback) {
      const heard = (/** @type {any} */ event) => event.detail.by !== by && callback(event.detail.fields)
      pointing.addEventListener("point", heard)
      return () => pointing.removeEventListener("point", heard)
    },
    /** What was chosen before anybody could be told is told now. */
    connect(/** @type {(pick: Picked) => void} */ send) {
      const waiting = store.send === null && Object.keys(store.pending).length > 0
      store.send = send
      if (waiting) setTimeout(flush)
    },
    get connected() {
      return store.send !== null
    },
    /** The connection was lost: Python is asked for the page again, and told what it may not have heard of. */
    again() {
      clearTimeout(store.timer)
      send({ again: true })
    },
    listen(/** @type {() => void} */ callback) {
      changes.addEventListener("change", callback)
      return () => changes.removeEventListener("change", callback)
    },
  }
}
/** @type {ReturnType<typeof makeSelection>} */
export const selection = (globalThis.vizTransformerSelection ??= makeSelection())

/**
 * The place on an axis that is chosen, or null. A place may be several tokens, from its start to its end.
 * @param {Axis} axis
 * @returns {?number}
 */
export const placeOn = (axis) => placeIn(axis, selection.chosen)
/**
 * The place on an axis of the position that some fields have, or null.
 * @param {Axis} axis
 * @param {Fields} fields
 * @returns {?number}
 */
export function placeIn({ field, tokens, starts, ends }, fields) {
  const position = fields[field]
  if (typeof position !== "number") return null
  if (!starts || !ends) return position < tokens.length ? position : null
  const place = starts.findIndex((start, i) => start <= position && position < ends[i])
  return place < 0 ? null : place
}
/**
 * The position in the run at which a place on an axis begins.
 * @param {Pick<Axis, "starts">} axis
 * @param {number} place
 */
export const positionAt = (axis, place) => (axis.starts ? axis.starts[place] : place)
/**
 * The selection's field and value for a place on an axis.
 * @param {Pick<Axis, "field" | "starts">} axis
 * @param {number} place
 */
export const fieldOf = (axis, place) => ({ [axis.field]: positionAt(axis, place) })
/**
 * The selection's fields and values for a cell of a map.
 * @param {{rows: Axis, columns: Axis}} map
 * @param {{r: number, c: number}} cell
 */
export const fieldsOf = ({ rows, columns }, { r, c }) => ({ ...fieldOf(rows, r), ...fieldOf(columns, c) })
/**
 * The cell of a map that some fields are of, null where it has none.
 * @param {{rows: Axis, columns: Axis}} map
 * @param {?Fields} fields
 */
export function cellWith({ rows, columns }, fields) {
  const [r, c] = fields ? [placeIn(rows, fields), placeIn(columns, fields)] : [null, null]
  return r === null || c === null ? null : { r, c }
}
