import { element } from "./elements.js"
import { unpack } from "./payload.js"
import { selection } from "./selection.js"

/** @import { Made } from "./types.js" */

/** @typedef {{parentElement: ParentNode, data: any, setTriggerValue: (name: string, value: unknown) => void}} Component */
/**
 * The element of a component, which keeps what an earlier call made.
 * @typedef {HTMLElement & {vt?: any, given?: any}} Root
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
 * Calls make(root) once and update(payload) with each new data. `make` returns {update, draw, remove}; draw is called
 * after a change of size, theme, fonts or selection, and may read root.clientWidth.
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
    const deaf = selection.listen(draw)
    const theme = element("span", "theme")
    theme.setAttribute("aria-hidden", "true")
    theme.addEventListener("transitionend", draw)
    root.append(theme)
    document.fonts.addEventListener("loadingdone", draw)
    root.vt = {
      made,
      draw,
      stop() {
        sizes.disconnect()
        deaf()
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
  const { made, draw, stop } = root.vt
  made.update(unpack(data))
  made.ready = true
  if (root.clientWidth) made.draw()
  else draw()
  return () => {
    stop()
    made.remove?.()
    root.remove()
  }
}

/**
 * Text sizes follow the projector switch: a pixel here is this many of the screen's.
 * @param {Element} root
 */
export const zoom = (root) => Number(getComputedStyle(root).getPropertyValue("--vt-zoom")) || 1
const ABOVE = 300 // pixels of a page above its picture
/**
 * The height in the screen's pixels: the whole picture has to be in view, on a projector between the answer and the
 * caption, else below the strip. It has the height that it asks for where the window is high enough.
 * @param {Element} root
 * @param {number} height
 */
export const tallness = (root, height) =>
  zoom(root) > 1 ? Math.max(360, window.innerHeight - 190) : Math.min(height, Math.max(320, window.innerHeight - ABOVE))
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
  const ratio = window.devicePixelRatio || 1
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
 * Where the pointer is in an element, in pixels from its corner.
 * @param {Element} stage
 * @param {MouseEvent} event
 */
export function pointIn(stage, event) {
  const box = stage.getBoundingClientRect()
  return { x: event.clientX - box.left, y: event.clientY - box.top }
}
