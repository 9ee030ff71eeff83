// As much of a page as a picture needs that nobody sees: elements keep what they are given, canvases write down what is
// drawn, and the colours are those of THEME.
import { colours } from "../../viz_transformer/figures/components/parts/colours.js"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"
import { framesOn, recordingContext } from "./recording_context.js"

const PARTS = ["encoder", "decoder", "cross", "derived", "diverging"]
/** The colours of the page by name, [red, green, blue]; a scale goes through seven of them, from `cross-0` to `cross-6`. */
export const THEME = {
  page: [255, 255, 250],
  text: [1, 1, 1],
  muted: [100, 100, 100],
  line: [200, 200, 199],
  surface: [240, 240, 239],
  "no-number": [220, 220, 0],
  "no-number-dot": [20, 20, 0],
  ...Object.fromEntries(
    PARTS.flatMap((name, n) => [0, 1, 2, 3, 4, 5, 6].map((i) => [`${name}-${i}`, [30 * i, 10 * n, 240 - 30 * i]])),
  ),
}
/** A colour of the page as CSS has it; one that has no own place in THEME is as dark as its name is long. */
export const inkOf = (/** @type {string} */ name) => `rgb(${(THEME[name] ?? Array(3).fill(name.length)).join(", ")})`

class Part {
  className = ""
  textContent = ""
  hidden = false
  isConnected = true
  children = []
  attributes = {}
  dataset = {}
  style = { setProperty: (name, value) => (this.style[name] = value) }
  clientWidth = 720
  offsetWidth = 100
  offsetHeight = 20
  clientHeight = 500
  scrollTop = 0
  scrollLeft = 0
  #context
  get names() {
    return this.className.split(" ").filter(Boolean)
  }
  get classList() {
    const set = (name, on) => {
      this.className = [...this.names.filter((each) => each !== name), ...(on ? [name] : [])].join(" ")
    }
    return {
      add: (name) => set(name, true),
      toggle: (name, on = !this.names.includes(name)) => set(name, on),
      contains: (name) => this.names.includes(name),
    }
  }
  append(...parts) {
    this.children.push(...parts)
  }
  replaceChildren(...parts) {
    this.children = parts
  }
  querySelector(selector) {
    return this.children.find((child) => child.names?.includes(selector.split(".").at(-1))) ?? null
  }
  setAttribute(name, value) {
    this.attributes[name] = value
  }
  getAttribute(name) {
    return this.attributes[name] ?? null
  }
  getContext() {
    return (this.#context ??= recordingContext())
  }
  getBoundingClientRect() {
    return { left: 0, top: 0 }
  }
  scrollTo({ left, top }) {
    Object.assign(this, { scrollLeft: left, scrollTop: top })
  }
  matches() {
    return false
  }
  after() {}
  remove() {}
  focus() {}
  addEventListener() {}
  setPointerCapture() {}
}

/** An element of this page. */
export const partOf = () => new Part()

class Pixels {
  constructor(width, height) {
    Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) })
  }
}

/** The colours that a list of variables has, as the browser would say it. */
const backgroundOf = ({ backgroundImage = "" }) =>
  Array.from(backgroundImage.matchAll(/--vt-([\w-]+)/g), ([, name]) => inkOf(name)).join()

Object.assign(globalThis, {
  document: { createElement: () => new Part(), createElementNS: () => new Part(), createTextNode: (text) => text },
  window: Object.assign(new EventTarget(), { devicePixelRatio: 1, vizTransformerPulsed: true }),
  getComputedStyle: ({ style }) => ({ backgroundImage: backgroundOf(style), getPropertyValue: () => "" }),
  requestAnimationFrame: (work) => work(),
  matchMedia: () => ({ matches: true }),
  ImageData: Pixels,
})
const { makePlot } = await import("../../viz_transformer/figures/components/parts/plot.js")

/** The one that is on the page. */
let there = null
/**
 * The plot of a picture that was given this, laid out and drawn where these fields are chosen, while the steps are `played`
 * or not, in a window that is so high. What is picked on it is told in `picked`, what a screen reader hears in `announced`.
 */
export function shown(picture, payload, { chosen = {}, played = false, width = 720, high = 1000 } = {}) {
  there?.remove()
  window.innerHeight = high
  Object.assign(selection, { chosen, playing: played, look: null })
  const root = Object.assign(new Part(), { clientWidth: width })
  const plot = Object.assign(makePlot(root, picture), { picked: [], announced: "" })
  plot.send = (name, value) => plot.picked.push({ [name]: value })
  plot.announce = (text) => (plot.announced = text)
  selection.pick = (fields, settle) => {
    plot.picked.push(fields)
    Object.getPrototypeOf(selection).pick.call(selection, fields, settle)
  }
  give(plot, payload)
  there = plot
  return plot
}
/** Gives the picture other data. */
export function give(plot, payload) {
  plot.update(payload)
  plot.draw()
}
/** Other fields are chosen, or the steps are played: the picture is drawn anew. */
export function choose(plot, chosen, played = selection.playing) {
  Object.assign(selection, { chosen, playing: played })
  plot.draw()
}
/** What the tooltip says. */
export const tooltipOf = ({ root }) => {
  const tip = root.querySelector(".tooltip")
  return tip.hidden ? [] : tip.children.map(({ textContent }) => textContent)
}
const eventAt = ({ x, y }, more) => ({ clientX: x, clientY: y, button: 0, preventDefault() {}, ...more })
/** A gesture at a place: `onpointermove`, `onclick` and others. */
export const point = (plot, gesture, at, more = {}) => plot.stage[gesture](eventAt(at, more))
/** The tooltip over an item, which the pointer then is at. */
export function hovered(plot, item) {
  point(plot, "onpointermove", plot.picture.at(plot.picture.view(plot), item))
  return tooltipOf(plot)
}
/** Presses keys, one after the other; "Shift+End" is one with Shift. */
export function press(plot, ...keys) {
  for (const key of keys)
    plot.stage.onkeydown({ key: key.replace("Shift+", ""), shiftKey: key.startsWith("Shift+"), preventDefault() {} })
  plot.draw()
}
/** What a picture saves, as it was drawn. */
export function saved(plot) {
  const context = recordingContext()
  plot.picture.save(context, colours(plot.root), plot, plot.picture.view(plot))
  return context
}
/** Where an item stands. */
export const placeOf = (plot, item) => plot.picture.at(plot.picture.view(plot), item)
/** The frames over a picture: what is chosen and what is pointed at. */
export const marksOn = ({ over }) => framesOn(over.getContext())
