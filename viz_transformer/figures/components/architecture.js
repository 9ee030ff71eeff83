import { colours } from "./parts/colours.js"
import { boxAt, boxBeside, paintDrawing } from "./parts/drawing.js"
import { announcer, element, stageOf, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { mount, pointIn, prepare, tallness, zoom } from "./parts/stage.js"
import { alone } from "./parts/typing.js"

/** @import { Scale } from "./parts/drawing.js" */
/** @import { Component } from "./parts/stage.js" */
/** @import { DrawingHeader, Made, Payload } from "./parts/types.js" */

// A drawing of boxes, lines, signs, texts and frames. It is as wide as it was drawn, or as there is room for.

/** @typedef {Made & {head: DrawingHeader, pointed: ?number} & ReturnType<typeof partsIn>} Drawn */

const LEAST_SEEN = 4 / 3 // of letters of 12 pixels, 1/45 of a projector's height

export default (/** @type {Component} */ component) => mount(component, "architecture", makeArchitecture)

/** @param {HTMLElement} root */
function partsIn(root) {
  const { stage, "": canvas } = stageOf([""])
  const foot = element("div", "foot")
  root.append(stage, foot)
  return { root, stage, canvas, foot, tip: tooltip(root), announce: announcer(root) }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeArchitecture(root) {
  const drawn = /** @type {Drawn} */ ({ ...partsIn(root), pointed: /** @type {?number} */ (null) })
  const { stage, foot, tip } = drawn
  const saved = exports(root, {
    draw: (context) =>
      paintDrawing(context, colours(root), drawn.head, { across: 1, down: 1, letters: 1 }, drawn.pointed),
    size: () => ({ width: drawn.head.width, height: drawn.head.height }),
    caption: () => drawn.head.caption,
    name: () => drawn.head.name,
  })
  foot.append(saved)
  listen(drawn)
  return Object.assign(drawn, {
    update(/** @type {Payload} */ { header }) {
      Object.assign(drawn, { head: header, pointed: null })
      tip.hide()
      stage.setAttribute("aria-label", `${header.label}. Arrow keys up and down go from box to box.`)
    },
    draw: () => draw(drawn),
  })
}

/**
 * A pixel of the drawing is so many of the screen's. On a projector the whole drawing is in view: as high as there is room
 * for, as wide as its letters need, which stay large.
 * @type {(drawn: Drawn) => Scale}
 */
function scaleOf({ root, head }) {
  const k = Math.min(zoom(root), root.clientWidth / head.width)
  if (zoom(root) === 1) return { across: k, down: k, letters: k }
  const down = Math.min(k, tallness(root, head.height) / head.height)
  return { across: Math.min(k * 1.25, root.clientWidth / head.width), down, letters: Math.max(down, LEAST_SEEN) }
}

/** @param {Drawn} drawn */
function draw(drawn) {
  const { root, stage, canvas, head, pointed } = drawn
  const scale = scaleOf(drawn)
  const [width, height] = [head.width * scale.across, head.height * scale.down]
  stage.style.height = `${height}px`
  stage.style.width = `${width}px`
  paintDrawing(prepare(canvas, width, height), colours(root), head, scale, pointed)
  stage.dataset.painted = String(performance.now())
}

/** @type {(drawn: Drawn, i: ?number, x?: number, y?: number) => void} */
function point(drawn, i, x, y) {
  const changed = i !== drawn.pointed
  drawn.pointed = i
  if (i === null) drawn.tip.hide()
  else {
    const box = drawn.head.boxes[i]
    const { across: h, down: v } = scaleOf(drawn)
    drawn.tip.show(box.tip, x ?? (box.x + box.width / 2) * h, y ?? (box.y + box.height / 2) * v)
  }
  if (changed) drawn.draw()
}

/** @param {Drawn} drawn */
function listen(drawn) {
  const { stage } = drawn
  stage.onpointermove = (event) => {
    const { x, y } = pointIn(stage, event)
    point(drawn, boxAt(drawn.head, scaleOf(drawn), x, y), x, y)
  }
  stage.onpointerleave = () => point(drawn, null)
  stage.onblur = () => point(drawn, null)
  stage.onkeydown = (event) => {
    if (!alone(event) || event.shiftKey) return
    const { pointed, head } = drawn
    const to = boxBeside(head, pointed, event.key)
    if (to === undefined) return
    point(drawn, to)
    if (to === null) return // Escape goes on: it also leaves the projector
    event.preventDefault()
    drawn.announce(head.boxes[to].tip.join(", "))
  }
}
