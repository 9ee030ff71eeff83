import { element } from "./elements.js"

// Colours: the CSS variables of ui/frame/style.py, as the browser's theme has them.

/** What the variables are in this theme, [red, green, blue] each, in one question: each makes the browser work out styles. */
const asked = (probe, variables) => {
  const all = [...variables, variables[0]].map((variable) => `var(${variable}, currentcolor)`) // the page's CSS may come later
  probe.style.backgroundImage = `linear-gradient(${all.join()})` // the one property that takes a list of colours
  const found = getComputedStyle(probe).backgroundImage.match(/rgba?\([^)]*\)/g)
  return variables.map((_, n) =>
    found[n]
      .match(/[\d.]+/g)
      .slice(0, 3)
      .map(Number),
  )
}
/** @param {number[]} colour */
const css = ([r, g, b]) => `rgb(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)})`

/**
 * Single colours by name, and `scale(name)`: 1,024 colours as 32 bit pixels with `css(t)` for one of them. What was read
 * is kept as long as the page has the same colour: a theme is known by that.
 */
export function colours(root) {
  let probe = root.querySelector(":scope > .probe")
  if (!probe) {
    probe = element("span", "probe")
    probe.setAttribute("aria-hidden", "true")
    root.append(probe)
  }
  const [page] = asked(probe, ["--vt-page"])
  if (String(probe.read?.page) !== String(page)) probe.read = { page, found: new Map([["--vt-page", page]]) }
  const { found } = probe.read
  const kept = (key, make) => {
    if (!found.has(key)) found.set(key, make(key))
    return found.get(key)
  }
  const read = (variable) => kept(variable, () => asked(probe, [variable])[0])
  const one = (name) => css(read(`--vt-${name}`))
  const pixel = (name) => asPixel(read(`--vt-${name}`))
  const scale = (name) =>
    kept(name, () => {
      const stops = asked(
        probe,
        [0, 1, 2, 3, 4, 5, 6].map((i) => `--vt-${name}-${i}`),
      )
      const at = (t) => {
        const place = Math.min(Math.max(t, 0), 1) * 6
        const i = Math.min(Math.floor(place), 5)
        const [[r, g, b], [r1, g1, b1]] = [stops[i], stops[i + 1]]
        return [r + (r1 - r) * (place - i), g + (g1 - g) * (place - i), b + (b1 - b) * (place - i)]
      }
      const pixels = new Uint32Array(1024)
      for (let i = 0; i < 1024; i++) pixels[i] = asPixel(at(i / 1023))
      return { pixels, css: (t) => css(at(t)) }
    })
  return { one, pixel, scale }
}
/** @param {number[]} colour */
const asPixel = ([r, g, b]) => ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0

/** Whether dark text reads better than light text on this CSS colour. */
export function isLight(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((channel) => (channel / 255) ** 2.2)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19
}
