import { colours } from "./parts/colours.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { mono, sans, shorten } from "./parts/text.js"

/** @import { Component } from "./parts/stage.js" */
/** @import { Context, DrawingHeader, Made } from "./parts/types.js" */

/** @typedef {[number, number]} Point */

// A drawing of boxes, lines, signs, texts and frames. Header: {width, height, label, caption, name, boxes: {part, x, y,
// width, height, label, detail, fill, tip}, lines: {points, arrow}, signs: {x, y}, texts: {x, y, text, align, ink,
// strong}, frames}. It is as wide as it was drawn, or as there is room for.

/** @type {Record<string, string>} */
const FILLS = { encoder: "encoder", decoder: "decoder", cross: "cross" }
const RADIUS = 9
const ARROW = 5
const LEAST_SEEN = 4 / 3 // of letters of 12 pixels, 1/45 of a projector's height

export default (/** @type {Component} */ component) => mount(component, "architecture", makeArchitecture)

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeArchitecture(root) {
  const stage = element("div", "stage")
  const canvas = element("canvas")
  const foot = element("div", "foot")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(canvas)
  root.append(stage, foot)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {DrawingHeader} */
  let head
  /** @type {?number} */
  let pointed = null

  /**
   * A pixel of the drawing is `k` of the screen's. On a projector the whole drawing is in view: as high as there is room
   * for, as wide as its letters need, which stay large.
   */
  const scale = () => {
    const k = Math.min(zoom(root), root.clientWidth / head.width)
    if (zoom(root) === 1) return { across: k, down: k, letters: k }
    const down = Math.min(k, tallness(root, head.height) / head.height)
    return { across: Math.min(k * 1.25, root.clientWidth / head.width), down, letters: Math.max(down, LEAST_SEEN) }
  }

  foot.append(
    exports(root, {
      draw: (context) => paint(context, { across: 1, down: 1, letters: 1 }),
      size: () => ({ width: head.width, height: head.height }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )

  // ---- painting; all places are multiplied here, so that a saved SVG has them as they are

  /**
   * @param {Context} context
   * @param {{across: number, down: number, letters: number}} scale
   */
  function paint(context, { across: h, down: v, letters: k }) {
    const paper = colours(root)
    const path = (/** @type {Point[]} */ points) => {
      context.beginPath()
      points.forEach(([x, y], i) => (i ? context.lineTo(x * h, y * v) : context.moveTo(x * h, y * v)))
      context.stroke()
    }
    /**
     * @param {string} text
     * @param {number} x
     * @param {number} y
     * @param {{font: string, ink: string, align: CanvasTextAlign, room?: number}} look
     */
    const write = (text, x, y, { font, ink, align, room = Infinity }) => {
      context.font = font
      context.textAlign = align
      context.textBaseline = "middle"
      context.fillStyle = paper.one(ink)
      context.fillText(room === Infinity ? text : shorten(context, text, room), x * h, y * v)
    }
    context.lineWidth = 1
    context.strokeStyle = paper.one("line")
    for (const { x, y, width, height } of head.frames) {
      context.fillStyle = paper.one("surface")
      context.fillRect(x * h, y * v, width * h, height * v)
      context.strokeRect(x * h, y * v, width * h, height * v)
    }
    context.strokeStyle = paper.one("muted")
    context.lineWidth = 1.25 * v
    for (const { points, arrow } of head.lines) {
      path(points)
      if (!arrow) continue
      const [[x0, y0], [x1, y1]] = points.slice(-2)
      const [dx, dy] = [Math.sign(x1 - x0) * ARROW, Math.sign(y1 - y0) * ARROW]
      const [wide, high] = [dy * 0.7 * (v / h), dx * 0.7 * (h / v)]
      path([
        [x1 - dx - wide, y1 - dy - high],
        [x1, y1],
        [x1 - dx + wide, y1 - dy + high],
      ])
    }
    for (const { x, y } of head.signs) {
      disc(context, x * h, y * v, RADIUS * v, paper.one("page"))
      path([
        [x - (4 * v) / h, y],
        [x + (4 * v) / h, y],
      ])
      path([
        [x, y - 4],
        [x, y + 4],
      ])
    }
    for (const [i, box] of head.boxes.entries()) {
      const kind = FILLS[box.fill]
      context.fillStyle = kind ? paper.scale(kind).css(1 / 6) : paper.one("page")
      context.fillRect(box.x * h, box.y * v, box.width * h, box.height * v)
      context.lineWidth = i === pointed ? 2 : 1
      context.strokeStyle = paper.one(i === pointed ? "text" : "muted")
      context.strokeRect(box.x * h, box.y * v, box.width * h, box.height * v)
      const middle = box.x + box.width / 2
      const room = (box.width - 12) * h
      if (!box.detail) {
        write(box.label, middle, box.y + box.height / 2, { font: sans(13 * k), ink: "text", align: "center", room })
        continue
      }
      write(box.label, middle, box.y + 14, { font: sans(14 * k, 600), ink: "text", align: "center", room })
      for (const [line, words] of box.detail.split("\n").entries())
        write(words, middle, box.y + 32 + 16 * line, { font: mono(12 * k), ink: "text", align: "center", room })
    }
    for (const { x, y, text, align, ink, strong } of head.texts)
      write(text, x, y, { font: sans((strong ? 15 : 13) * k, strong ? 600 : 400), ink, align })
  }

  /**
   * A filled circle; the fill is made of lines, which is all that a saved SVG knows.
   * @param {Context} context
   * @param {number} x
   * @param {number} y
   * @param {number} r
   * @param {string} fill
   */
  function disc(context, x, y, r, fill) {
    const k = r * 0.5523 // a quarter of a circle, as a curve of third degree
    const stroke = context.strokeStyle
    const width = context.lineWidth
    const circle = (/** @type {number} */ r, /** @type {number} */ k) => {
      context.beginPath()
      context.moveTo(x + r, y)
      context.bezierCurveTo(x + r, y + k, x + k, y + r, x, y + r)
      context.bezierCurveTo(x - k, y + r, x - r, y + k, x - r, y)
      context.bezierCurveTo(x - r, y - k, x - k, y - r, x, y - r)
      context.bezierCurveTo(x + k, y - r, x + r, y - k, x + r, y)
      context.stroke()
    }
    context.strokeStyle = fill
    context.lineWidth = r
    circle(r / 2, k / 2)
    context.strokeStyle = stroke
    context.lineWidth = width
    circle(r, k)
  }

  // ---- pointing

  /**
   * @param {?number} i
   * @param {number} [x]
   * @param {number} [y]
   */
  function point(i, x, y) {
    const changed = i !== pointed
    pointed = i
    if (i === null) tip.hide()
    else {
      const box = head.boxes[i]
      const { across: h, down: v } = scale()
      tip.show(box.tip, x ?? (box.x + box.width / 2) * h, y ?? (box.y + box.height / 2) * v)
    }
    if (changed) made.draw()
  }
  const at = (/** @type {PointerEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    const { across: h, down: v } = scale()
    const i = head.boxes.findIndex(
      (b) => x >= b.x * h && x <= (b.x + b.width) * h && y >= b.y * v && y <= (b.y + b.height) * v,
    )
    return { i: i < 0 ? null : i, x, y }
  }
  stage.onpointermove = (event) => {
    const { i, x, y } = at(event)
    point(i, x, y)
  }
  stage.onpointerleave = () => point(null)
  stage.onblur = () => point(null)
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const last = head.boxes.length - 1
    /** @type {Record<string, ?number>} */
    const moves = {
      ArrowUp: pointed === null ? 0 : Math.min(pointed + 1, last),
      ArrowDown: pointed === null ? 0 : Math.max(pointed - 1, 0),
      Home: 0,
      End: last,
      Escape: null,
    }
    const to = moves[event.key]
    if (to === undefined) return
    point(to)
    if (to === null) return // Escape goes on: it also leaves the projector
    event.preventDefault()
    announce(head.boxes[to].tip.join(", "))
  }

  /** @type {Made} */
  const made = {
    update({ header }) {
      head = header
      pointed = null
      tip.hide()
      stage.setAttribute("aria-label", `${head.label}. Arrow keys up and down go from box to box.`)
    },
    draw() {
      const k = scale()
      const [width, height] = [head.width * k.across, head.height * k.down]
      stage.style.height = `${height}px`
      stage.style.width = `${width}px`
      paint(prepare(canvas, width, height), k)
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
