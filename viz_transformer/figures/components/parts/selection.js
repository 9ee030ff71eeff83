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

/** One for the page; its modules share it. What is not private is read by all and set here alone. */
class PageSelection {
  /** @type {Fields} */
  chosen = {}
  /**
   * What the chosen row looks at, as the page's map says; null where there is none.
   * @type {?Look}
   */
  look = null
  /** Whether the steps are being played: then what is not written yet is not there. */
  playing = false
  writing = false
  #changes = new EventTarget()
  #pointing = new EventTarget()
  /** @type {Fields} */
  #pending = {}
  /** @type {Fields} */
  #unheard = {}
  /** @type {?string} */
  #token = ""
  #sentAt = -Infinity
  /** @type {?((pick: Picked) => void)} */
  #send = null
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer
  /** @type {?number} */
  #lost = null
  /** @type {?{from: string, at: number}} */
  #left = null
  #heard = ""
  /** @type {?(() => void)} */
  #onwards = null

  #tell() {
    this.#changes.dispatchEvent(new Event("change"))
  }
  #sendAll(/** @type {{again?: boolean}} */ more) {
    this.#token = Math.random().toString(36).slice(2)
    this.#sentAt = performance.now()
    this.#unheard = { ...this.#unheard, ...this.#pending } // of two picks that wait, Python hears only the later
    this.#pending = {}
    this.#hand({ token: this.#token, fields: this.#unheard, ...more })
  }
  // what is told while another page has been asked for and has not begun would bring this one back
  #hand(/** @type {Picked} */ pick) {
    const left = this.#left
    const leaving = left && left.from === location.pathname && performance.now() - left.at < LEAVING
    if (leaving) setTimeout(() => this.#hand(pick), 50)
    else this.#send?.(pick)
  }
  #flush = () => {
    if (this.#send && Object.keys(this.#pending).length) this.#sendAll({})
  }

  /** Choose at once in the browser; Python hears of it when nothing else was chosen for `settle` milliseconds. */
  pick(/** @type {Fields} */ fields, settle = 0) {
    const { followed } = this.chosen
    const still = followed && { followed: followed.filter((/** @type {string} */ name) => !(name in fields)) }
    this.chosen = { ...this.chosen, ...fields, ...still }
    this.#pending = { ...this.#pending, ...fields }
    this.#sentAt = performance.now()
    this.#token = null
    this.#tell()
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#flush, settle)
  }
  /**
   * Choose, and go on to another page once Python has heard of all that is chosen, which would forget it with this
   * page; at once where it has.
   */
  lead(/** @type {Fields} */ fields, /** @type {() => void} */ onwards) {
    if (Object.keys(fields).length) this.pick(fields)
    clearTimeout(this.#timer)
    this.#onwards = onwards
    this.#flush()
    this.heard(this.#heard)
  }
  /** Python has heard of this pick, though it may not have computed yet what is chosen then. */
  heard(/** @type {string} */ token) {
    this.#heard = token
    const onwards = this.#onwards
    if (!onwards || (this.#token !== "" && token !== this.#token)) return
    this.#onwards = null
    onwards()
  }
  /** What follows has come to another place, as Python will find out by itself. */
  follow(/** @type {Fields} */ fields) {
    if (Object.entries(fields).every(([name, value]) => this.chosen[name] === value)) return
    this.chosen = { ...this.chosen, ...fields }
    this.#tell()
  }
  looksAt(/** @type {?Look} */ look) {
    if (JSON.stringify(look) === JSON.stringify(this.look)) return
    this.look = look
    this.#tell()
  }
  plays(/** @type {boolean} */ on) {
    if (this.playing === on) return
    this.playing = on
    this.#tell()
  }
  /** What Python says is chosen. Until it has heard of the last pick it is behind, and not believed for a while. */
  receive(/** @type {Fields} */ chosen, /** @type {string} */ token) {
    const behind = this.#token !== "" && token !== this.#token
    if (!behind) this.#unheard = {}
    if (behind && performance.now() - this.#sentAt < BEHIND) return
    if (JSON.stringify(chosen) === JSON.stringify(this.chosen)) return
    this.chosen = chosen
    this.#tell()
  }
  /** A text was written. Streamlit tells Python of it in a moment, as of the page that is open then: another page waits. */
  writes() {
    this.writing = true
    setTimeout(() => {
      this.writing = false
    })
  }
  /** Another page was asked for. */
  leaves() {
    this.#left = { from: location.pathname, at: performance.now() }
  }
  /** How many picks have come to Python without their fields: where there is another, all that it has not heard goes again. */
  lost(/** @type {number} */ count) {
    const another = this.#lost !== null && count > this.#lost
    this.#lost = count
    if (another) this.#sendAll({})
  }
  /** The pointer is over these positions in a picture, or over none: pictures beside it mark the same. */
  points(/** @type {object} */ by, /** @type {?Fields} */ fields) {
    this.#pointing.dispatchEvent(new CustomEvent("point", { detail: { by, fields } }))
  }
  /** Hear of what is pointed at in other pictures. */
  onPoint(/** @type {object} */ by, /** @type {(fields: ?Fields) => void} */ callback) {
    const heard = (/** @type {any} */ event) => event.detail.by !== by && callback(event.detail.fields)
    this.#pointing.addEventListener("point", heard)
    return () => this.#pointing.removeEventListener("point", heard)
  }
  /** What was chosen before anybody could be told is told now. */
  connect(/** @type {(pick: Picked) => void} */ send) {
    const waiting = this.#send === null && Object.keys(this.#pending).length > 0
    this.#send = send
    if (waiting) setTimeout(this.#flush)
  }
  get connected() {
    return this.#send !== null
  }
  /** The connection was lost: Python is asked for the page again, and told what it may not have heard of. */
  again() {
    clearTimeout(this.#timer)
    this.#sendAll({ again: true })
  }
  listen(/** @type {() => void} */ callback) {
    this.#changes.addEventListener("change", callback)
    return () => this.#changes.removeEventListener("change", callback)
  }
}
/** @type {PageSelection} */
export const selection = (globalThis.vizTransformerSelection ??= new PageSelection())

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
