import { ahead } from "./ahead.js"
import { element } from "./elements.js"
import { unpack } from "./payload.js"
import { dots, onSheets, roomOf } from "./printing.js"
import { selection } from "./selection.js"

/** @import { Made } from "./types.js" */

/** @typedef {{parentElement: ParentNode, data: any, setTriggerValue: (name: string, value: unknown) => void}} Component */
/**
 * The element of a component, which keeps what an earlier call made.
 * `table` asks Python for the table of its numbers, where there is one.
 * @typedef {HTMLElement & {vt?: any, given?: any, table?: () => void}} Root
 */

// Where a component stands and draws. Its function is called anew with each new data, on the same element.

/**
 * The element that an earlier call put here. The parent is a shadow root, in which `:scope` finds nothing.
 * @param {ParentNode} parent
 * @param {string} className
 */
export const rootIn = (parent, className) =>
  /** @type {Root | undefined} */ ([...parent.children].find((child) => child.classList.contains(className)))

/**
 * Calls make(root) once and update(payload) with each new data, and with what is there already for a component that
 * listens to it `again`, and with what is shown ahead of the page, until that has caught up. `make` returns {update, draw,
 * remove}; draw is called after a change of size, theme, fonts or selection, and may read root.clientWidth.
 * @param {Component} component
 * @param {string} className
 * @param {(root: HTMLElement) => Made} make
 */
export function mount(component, className, make) {
  const { parentElement, data } = component
  const known = rootIn(parentElement, className)
  const root = known ?? /** @type {Root} */ (element("div", `component ${className}`))
  if (!known) {
    parentElement.append(root)
    const made = make(root)
    let waiting = false
    const draw = () => {
      if (waiting || !made.ready) return
      waiting = true
      requestAnimationFrame(() => {
        waiting = false
        if (root.isConnected && root.clientWidth) made.draw()
      })
    }
    const sizes = new ResizeObserver(draw)
    sizes.observe(root)
    window.addEventListener("resize", draw) // magnified it keeps its size in its own pixels
    const deaf = selection.listen(draw)
    const theme = element("span", "theme")
    theme.setAttribute("aria-hidden", "true")
    theme.addEventListener("transitionend", draw)
    root.append(theme)
    document.fonts.addEventListener("loadingdone", draw)
    const take = (/** @type {Uint8Array<ArrayBuffer>} */ bytes) => {
      const payload = unpack(bytes)
      Object.assign(root.vt, { shown: bytes, has: payload.header.table })
      made.update(payload)
      made.ready = true
    }
    const unprinted = onSheets(root, made.draw, () => made.ready)
    const alone = ahead.listen((given) => {
      const bytes = given ? given[className] : root.vt.data
      if (!bytes || !made.ready || sameBytes(root.vt.shown, bytes)) return
      take(bytes)
      draw()
    })
    root.vt = {
      made,
      take,
      draw,
      stop() {
        sizes.disconnect()
        window.removeEventListener("resize", draw)
        deaf()
        alone()
        unprinted()
        document.fonts.removeEventListener("loadingdone", draw)
      },
    }
    for (const font of [
      "400 14px 'IBM Plex Mono'",
      "600 14px 'IBM Plex Mono'",
      "400 14px 'IBM Plex Sans'",
      "600 16px 'IBM Plex Sans'",
    ])
      document.fonts.load(font).then((loaded) => loaded.length && draw())
  }
  const { made, take, draw, stop } = root.vt
  const fresh = !sameBytes(root.vt.data, data) // else what is shown ahead of the page stays
  root.vt.data = data
  if (made.again || (fresh && !sameBytes(root.vt.shown, data))) {
    take(data)
    if (root.clientWidth) made.draw()
    else draw()
  }
  root.table = asker(component, root.vt.has)
  return ending(root, () => {
    stop()
    made.remove?.()
    root.remove()
  })
}

/**
 * What ends a component, from its last call alone: Streamlit also ends a call that was overtaken while the module was fetched.
 * @param {Root} root
 * @param {() => void} end
 */
export function ending(root, end) {
  const call = {}
  root.vt.call = call
  return () => {
    if (root.vt.call === call) end()
  }
}

/**
 * Python sends a picture again each time that it runs the page.
 * @param {Uint8Array | undefined} one
 * @param {Uint8Array} other
 */
const sameBytes = (one, other) => one?.length === other.length && one.every((byte, n) => byte === other[n])

/**
 * What asks Python for the table of a picture, if it has one.
 * @param {Component} component
 * @param {boolean} [has]
 */
export const asker = ({ setTriggerValue }, has) => (has ? () => setTriggerValue("table", true) : undefined)

/**
 * Text sizes follow the projector switch: a pixel here is this many of the screen's.
 * @param {Element} root
 */
export const zoom = (root) => setting(root, "--vt-zoom") || 1
/**
 * What the page's style says of a component, as a number.
 * @param {Element} root
 * @param {string} name
 */
const setting = (root, name) => Number(getComputedStyle(root).getPropertyValue(name))
const LEAST_HEIGHT = 320 // pixels of a picture in a window that is too low for all that is above it
const ABOVE = 300 // pixels of a page above its picture, if its style does not say otherwise
/**
 * On a projector the whole page grows with the window: a pixel here is this many of the window's.
 * @param {Element} part
 */
export const magnified = (part) => part.currentCSSZoom ?? 1
/**
 * Pixels of the screen, or dots of the sheet that it is drawn for, to one of this element's.
 * @param {Element} part
 */
export const sharpness = (part) => dots(part) || (window.devicePixelRatio || 1) * magnified(part)
/**
 * The height in pixels: the whole picture has to be in view, on a projector in the room that the page's style leaves
 * it, else below the strip, or on its sheet. It has the height that it asks for where the window is high enough.
 * @param {Element} root
 * @param {number} height
 */
export const tallness = (root, height) => {
  if (zoom(root) > 1) return setting(root, "--vt-room") || 500
  const room = roomOf(root) || Math.max(LEAST_HEIGHT, window.innerHeight - (setting(root, "--vt-above") || ABOVE))
  return Math.min(height, room)
}
/**
 * What one draws with on a canvas.
 * @param {HTMLCanvasElement} canvas
 */
export const contextOf = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"))
/**
 * A canvas of `width` x `height` CSS pixels, sharp on the screen it is on; its context, cleared.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function prepare(canvas, width, height) {
  const ratio = sharpness(canvas)
  const w = Math.max(1, Math.round(width * ratio))
  const h = Math.max(1, Math.round(height * ratio))
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = contextOf(canvas)
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  return context
}

/**
 * Does something once in a frame, however often it is asked for, while the component is on the page.
 * @param {HTMLElement} root
 * @param {() => void} work
 */
export function onceAFrame(root, work) {
  let waiting = false
  return () => {
    if (waiting) return
    waiting = true
    requestAnimationFrame(() => {
      waiting = false
      if (root.isConnected) work()
    })
  }
}

/**
 * Where the pointer is in an element, in pixels from its corner.
 * @param {Element} stage
 * @param {MouseEvent} event
 */
export function pointIn(stage, event) {
  const box = stage.getBoundingClientRect()
  const k = magnified(stage)
  return { x: (event.clientX - box.left) / k, y: (event.clientY - box.top) / k }
}
