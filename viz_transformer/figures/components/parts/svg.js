import { mono } from "./text.js"

// SVG from what draws on a canvas.

const escaped = (text) =>
  String(text)
    .replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c])
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these have no place in SVG
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
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
  #parts = []
  #path = []
  #saved = []
  #transform = ""
  #size
  #measure = document.createElement("canvas").getContext("2d")

  constructor({ width, height }) {
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
    const [style, transform] = this.#saved.pop()
    Object.assign(this, style)
    this.#transform = transform
  }
  translate(x, y) {
    this.#transform += ` translate(${rounded(x)} ${rounded(y)})`
  }
  rotate(angle) {
    this.#transform += ` rotate(${rounded((angle * 180) / Math.PI)})`
  }
  measureText(text) {
    this.#measure.font = this.font
    return this.#measure.measureText(text)
  }
  #add(name, attributes, content = "") {
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
  fillRect(x, y, width, height) {
    this.#add("rect", {
      x: rounded(x),
      y: rounded(y),
      width: rounded(width),
      height: rounded(height),
      fill: this.fillStyle,
    })
  }
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
  fillText(text, x, y) {
    const [, weight, size, family] = this.font.match(/^(\d+) ([\d.]+)px (.+)$/)
    const anchor = { left: "start", start: "start", center: "middle", right: "end", end: "end" }[this.textAlign]
    const baseline = { middle: "central", top: "hanging", alphabetic: "alphabetic", bottom: "text-after-edge" }[
      this.textBaseline
    ]
    this.#add(
      "text",
      {
        x: rounded(x),
        y: rounded(y),
        fill: this.fillStyle,
        "font-family": family,
        "font-size": size,
        "font-weight": weight,
        "text-anchor": anchor,
        "dominant-baseline": baseline,
        "xml:space": "preserve",
      },
      escaped(text),
    )
  }
  beginPath() {
    this.#path = []
  }
  moveTo(x, y) {
    this.#path.push(`M${rounded(x)} ${rounded(y)}`)
  }
  lineTo(x, y) {
    this.#path.push(`L${rounded(x)} ${rounded(y)}`)
  }
  bezierCurveTo(...at) {
    this.#path.push(`C${at.map(rounded).join(" ")}`)
  }
  stroke() {
    this.#add("path", {
      d: this.#path.join(""),
      fill: "none",
      stroke: this.strokeStyle,
      "stroke-width": this.lineWidth,
    })
  }
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
