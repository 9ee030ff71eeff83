import { element } from "./elements.js"

// Colours: the CSS variables of ui/frame/style.py, as the browser's theme has them.

/** @typedef {{pixels: Uint32Array, css: (t: number) => string}} Scale */
/** @typedef {{one: (name: string) => string, pixel: (name: string) => number, scale: (name: string) => Scale}} Paper */
/**
 * The element that is asked, and what it said while the page had this colour.
 * @typedef {HTMLElement & {read?: {page: number[], found: Map<string, any>}}} Probe
 */

/**
 * What the variables are in this theme, [red, green, blue] each, in one question: each makes the browser work out styles.
 * @param {HTMLElement} probe
 * @param {string[]} variables
 */
const asked = (probe, variables) => {
  const all = [...variables, variables[0]].map((variable) => `var(${variable}, currentcolor)`) // the page's CSS may come later
  probe.style.backgroundImage = `linear-gradient(${all.join()})` // the one property that takes a list of colours
  const found = getComputedStyle(probe).backgroundImage.match(/rgba?\([^)]*\)/g) ?? []
  return variables.map((_, n) => channels(found[n]))
}
/**
 * Red, green and blue of a CSS colour.
 * @param {string} colour
 */
const channels = (colour) => (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number)
/** @param {number[]} colour */
const css = ([r, g, b]) => `rgb(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)})`

/**
 * Single colours by name, and `scale(name)`: 1,024 colours as 32 bit pixels with `css(t)` for one of them. What was read
 * is kept as long as the page has the same colour: a theme is known by that.
 * @param {HTMLElement} root
 * @returns {Paper}
 */
export function colours(root) {
  let probe = /** @type {?Probe} */ (root.querySelector(":scope > .probe"))
  if (!probe) {
    probe = element("span", "probe")
    probe.setAttribute("aria-hidden", "true")
    root.append(probe)
  }
  const [page] = asked(probe, ["--vt-page"])
  const read = String(probe.read?.page) === String(page) && probe.read
  const { found } = read || (probe.read = { page, found: new Map([["--vt-page", page]]) })
  /** @type {<T>(key: string, make: (key: string) => T) => T} */
  const kept = (key, make) => {
    if (!found.has(key)) found.set(key, make(key))
    return found.get(key)
  }
  const colour = (/** @type {string} */ variable) => kept(variable, () => asked(probe, [variable])[0])
  const one = (/** @type {string} */ name) => css(colour(`--vt-${name}`))
  const pixel = (/** @type {string} */ name) => asPixel(colour(`--vt-${name}`))
  const scale = (/** @type {string} */ name) =>
    kept(name, () => {
      const stops = asked(
        probe,
        [0, 1, 2, 3, 4, 5, 6].map((i) => `--vt-${name}-${i}`),
      )
      const at = (/** @type {number} */ t) => {
        const place = Math.min(Math.max(t, 0), 1) * 6
        const i = Math.min(Math.floor(place), 5)
        const [[r, g, b], [r1, g1, b1]] = [stops[i], stops[i + 1]]
        return [r + (r1 - r) * (place - i), g + (g1 - g) * (place - i), b + (b1 - b) * (place - i)]
      }
      const pixels = new Uint32Array(1024)
      for (let i = 0; i < 1024; i++) pixels[i] = asPixel(at(i / 1023))
      return { pixels, css: (/** @type {number} */ t) => css(at(t)) }
    })
  return { one, pixel, scale }
}
/** @param {number[]} colour */
const asPixel = ([r, g, b]) => ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0

/**
 * Whether dark text reads better than light text on this CSS colour.
 * @param {string} colour
 */
export function isLight(colour) {
  const [r, g, b] = channels(colour).map((channel) => (channel / 255) ** 2.2)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19
}
