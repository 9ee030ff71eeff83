// What is chosen: one selection for all components of the page. The component selection.js joins it to Python.

const makeSelection = () => {
  const changes = new EventTarget()
  const store = { chosen: {}, pending: {}, unheard: {}, token: "", sentAt: -Infinity, send: null, timer: 0 }
  const tell = () => changes.dispatchEvent(new Event("change"))
  const flush = () => {
    if (!store.send || !Object.keys(store.pending).length) return
    store.token = Math.random().toString(36).slice(2)
    store.sentAt = performance.now()
    store.unheard = { ...store.unheard, ...store.pending } // of two picks that wait, Python hears only the later
    store.pending = {}
    store.send({ token: store.token, fields: store.unheard })
  }
  return {
    get chosen() {
      return store.chosen
    },
    /** Choose at once in the browser; Python hears of it when nothing else was chosen for `settle` milliseconds. */
    pick(fields, settle = 0) {
      store.chosen = { ...store.chosen, ...fields }
      store.pending = { ...store.pending, ...fields }
      store.sentAt = performance.now()
      store.token = null
      tell()
      clearTimeout(store.timer)
      store.timer = setTimeout(flush, settle)
    },
    /** What Python says is chosen. Until it has heard of the last pick it is behind, and not believed for a while. */
    receive(chosen, token) {
      const behind = store.token !== "" && token !== store.token
      if (!behind) store.unheard = {}
      if (behind && performance.now() - store.sentAt < 3000) return
      if (JSON.stringify(chosen) === JSON.stringify(store.chosen)) return
      store.chosen = chosen
      tell()
    },
    connect(send) {
      store.send = send
    },
    listen(callback) {
      changes.addEventListener("change", callback)
      return () => changes.removeEventListener("change", callback)
    },
  }
}
export const selection = (globalThis.vizTransformerSelection ??= makeSelection())

/** The place on an axis that is chosen, or null. A place may be several tokens, from its start to its end. */
export function placeOn(axis) {
  const position = selection.chosen[axis.field]
  if (typeof position !== "number") return null
  if (!axis.starts) return position < axis.tokens.length ? position : null
  const place = axis.starts.findIndex((start, i) => start <= position && position < axis.ends[i])
  return place < 0 ? null : place
}
/** The position in the run at which a place on an axis begins. */
export const positionAt = (axis, place) => (axis.starts ? axis.starts[place] : place)
/** The selection's field and value for a place on an axis. */
export const fieldOf = (axis, place) => ({ [axis.field]: positionAt(axis, place) })
