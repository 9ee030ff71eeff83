import { contextOf } from "./stage.js"
import { mono } from "./text.js"

/** @typedef {Record<string, string | number>} Attributes */

// SVG from what draws on a canvas. It has no fonts in it: it names ours, others, and what every computer has, and how wide each
// text is, so that in any of them all texts stand as they were drawn.

/** @type {Record<string, string>} */
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" }
/** @type {Record<string, string>} */
const ANCHORS = { left: "start", start: "start", center: "middle", right: "end", end: "end" }
/** @type {Record<string, string>} */
const BASELINES = { middle: "central", top: "hanging", alphabetic: "alphabetic", bottom: "text-after-edge" }
/** @param {string | number} text */
const escaped = (text) =>
  String(text)
    .replace(/[&<>"]/g, (c) => ENTITIES[c])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these have no place in SVG
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
/** @param {number} value */
const rounded = (value) => Math.round(value * 100) / 100

/** The part of a canvas context that the components draw with, writing SVG elements. */
export class SvgContext {
  fillStyle = "#000"
  strokeStyle = "#000"
  lineWidth = 1
  globalAlpha = 1
  font = mono(14)
  textAlign = "left"
  textBaseline = "alphabetic"
  direction = "ltr"
  imageSmoothingEnabled = true
  /** @type {string[]} */
  #parts = []
  /** @type {string[]} */
  #path = []
  /** @type {[object, string][]} */
  #saved = []
  #transform = ""
  #size
  #measure = contextOf(document.createElement("canvas"))

  constructor(/** @type {{width: number, height: number}} */ { width, height }) {
    this.#size = { width, height }
  }
  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, direction } = this
    this.#saved.push([
      { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, direction },
      this.#transform,
    ])
  }
  restore() {
    const [style, transform] = this.#saved.pop() ?? [{}, ""]
    Object.assign(this, style)
    this.#transform = transform
  }
  translate(/** @type {number} */ x, /** @type {number} */ y) {
    this.#transform += ` translate(${rounded(x)} ${rounded(y)})`
  }
  rotate(/** @type {number} */ angle) {
    this.#transform += ` rotate(${rounded((angle * 180) / Math.PI)})`
  }
  measureText(/** @type {string} */ text) {
    this.#measure.font = this.font
    return this.#measure.measureText(text)
  }
  #add(/** @type {string} */ name, /** @type {Attributes} */ attributes, content = "") {
    const all = {
      ...attributes,
      ...(this.globalAlpha < 1 && { opacity: rounded(this.globalAlpha) }),
      ...(this.#transform && { transform: this.#transform.trim() }),
    }
    const written = Object.entries(all)
      .map(([key, value]) => ` ${key}="${escaped(value)}"`)
      .join("")
    this.#parts.push(`<${name}${written}>${content}</${name}>`)
  }
  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  fillRect(x, y, width, height) {
    this.#add("rect", {
      x: rounded(x),
      y: rounded(y),
      width: rounded(width),
      height: rounded(height),
      fill: this.fillStyle,
    })
  }
  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  strokeRect(x, y, width, height) {
    this.#add("rect", {
      x: rounded(x),
      y: rounded(y),
      width: rounded(width),
      height: rounded(height),
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": this.lineWidth,
    })
  }
  fillText(/** @type {string} */ text, /** @type {number} */ x, /** @type {number} */ y) {
    const [, weight, size, family] = /** @type {string[]} */ (this.font.match(/^(\d+) ([\d.]+)px (.+)$/))
    const width = rounded(this.measureText(text).width)
    this.#add(
      "text",
      {
        x: rounded(x),
        y: rounded(y),
        fill: this.fillStyle,
        "font-family": family,
        "font-size": size,
        "font-weight": weight,
        "text-anchor": ANCHORS[this.textAlign],
        "dominant-baseline": BASELINES[this.textBaseline],
        ...(width > 0 && { textLength: width, lengthAdjust: "spacingAndGlyphs" }),
        "xml:space": "preserve",
      },
      escaped(text),
    )
  }
  beginPath() {
    this.#path = []
  }
  moveTo(/** @type {number} */ x, /** @type {number} */ y) {
    this.#path.push(`M${rounded(x)} ${rounded(y)}`)
  }
  lineTo(/** @type {number} */ x, /** @type {number} */ y) {
    this.#path.push(`L${rounded(x)} ${rounded(y)}`)
  }
  bezierCurveTo(/** @type {number[]} */ ...at) {
    this.#path.push(`C${at.map(rounded).join(" ")}`)
  }
  fill() {
    this.#add("path", { d: this.#path.join(""), fill: this.fillStyle })
  }
  stroke() {
    this.#add("path", {
      d: this.#path.join(""),
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": this.lineWidth,
    })
  }
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   */
  drawImage(canvas, x, y, width, height) {
    this.#add("image", {
      x: rounded(x),
      y: rounded(y),
      width: rounded(width),
      height: rounded(height),
      href: canvas.toDataURL("image/png"),
      preserveAspectRatio: "none",
      style: "image-rendering:pixelated",
    })
  }
  text() {
    const { width, height } = this.#size
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${rounded(width)}" height="${rounded(height)}" viewBox="0 0 ${rounded(width)} ${rounded(height)}">${this.#parts.join("\n")}</svg>`
  }
}
