import { mono, sans, shorten } from "./text.js"

/** @import { Paper } from "./colours.js" */
/** @import { Box, Context, DrawingHeader } from "./types.js" */

// A drawing of boxes and lines. All places are multiplied where they are painted, so that a saved SVG has them as they are.

/** How many pixels one of the drawing is. @typedef {{across: number, down: number, letters: number}} Scale */
/** @typedef {{font: string, ink: string, align: CanvasTextAlign, room?: number}} Pen */
/** @typedef {[number, number]} Point */

/** @type {Record<string, string>} */
const FILLS = { encoder: "encoder", decoder: "decoder", cross: "cross" }
const RADIUS = 9
const ARROW = 5

/** @type {(context: Context, scale: Scale, points: Point[]) => void} */
function path(context, { across: h, down: v }, points) {
  context.beginPath()
  points.forEach(([x, y], i) => (i ? context.lineTo(x * h, y * v) : context.moveTo(x * h, y * v)))
  context.stroke()
}

/** @type {(context: Context, paper: Paper, scale: Scale, text: string, at: {x: number, y: number}, pen: Pen) => void} */
function write(context, paper, { across: h, down: v }, text, { x, y }, { font, ink, align, room = Infinity }) {
  context.font = font
  context.textAlign = align
  context.textBaseline = "middle"
  context.fillStyle = paper.one(ink)
  context.fillText(room === Infinity ? text : shorten(context, text, room), x * h, y * v)
}

/** @type {(context: Context, scale: Scale, line: DrawingHeader["lines"][number]) => void} */
function paintLine(context, scale, { points, arrow }) {
  const { across: h, down: v } = scale
  path(context, scale, points)
  if (!arrow) return
  const [[x0, y0], [x1, y1]] = points.slice(-2)
  const [dx, dy] = [Math.sign(x1 - x0) * ARROW, Math.sign(y1 - y0) * ARROW]
  const [wide, high] = [dy * 0.7 * (v / h), dx * 0.7 * (h / v)]
  path(context, scale, [
    [x1 - dx - wide, y1 - dy - high],
    [x1, y1],
    [x1 - dx + wide, y1 - dy + high],
  ])
}

/**
 * A sum: a circle with a plus.
 * @type {(context: Context, paper: Paper, scale: Scale, at: {x: number, y: number}) => void}
 */
function paintSign(context, paper, scale, { x, y }) {
  const { across: h, down: v } = scale
  disc(context, x * h, y * v, RADIUS * v, paper.one("page"))
  path(context, scale, [
    [x - (4 * v) / h, y],
    [x + (4 * v) / h, y],
  ])
  path(context, scale, [
    [x, y - 4],
    [x, y + 4],
  ])
}

/** @type {(context: Context, paper: Paper, scale: Scale, box: Box, pointed: boolean) => void} */
function paintBox(context, paper, scale, box, pointed) {
  const { across: h, down: v, letters: k } = scale
  const kind = FILLS[box.fill]
  context.fillStyle = kind ? paper.scale(kind).css(1 / 6) : paper.one("page")
  context.fillRect(box.x * h, box.y * v, box.width * h, box.height * v)
  context.lineWidth = pointed ? 2 : 1
  context.strokeStyle = paper.one(pointed ? "text" : "muted")
  context.strokeRect(box.x * h, box.y * v, box.width * h, box.height * v)
  const x = box.x + box.width / 2
  /** @type {Pen} */
  const pen = { font: sans(13 * k), ink: "text", align: "center", room: (box.width - 12) * h }
  if (!box.detail) {
    write(context, paper, scale, box.label, { x, y: box.y + box.height / 2 }, pen)
    return
  }
  write(context, paper, scale, box.label, { x, y: box.y + 14 }, { ...pen, font: sans(14 * k, 600) })
  for (const [line, words] of box.detail.split("\n").entries())
    write(context, paper, scale, words, { x, y: box.y + 32 + 16 * line }, { ...pen, font: mono(12 * k) })
}

/**
 * A filled circle; the fill is made of lines, which is all that a saved SVG knows.
 * @type {(context: Context, x: number, y: number, r: number, fill: string) => void}
 */
function disc(context, x, y, r, fill) {
  const k = r * 0.5523 // a quarter of a circle, as a curve of third degree
  const { strokeStyle, lineWidth } = context
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
  context.strokeStyle = strokeStyle
  context.lineWidth = lineWidth
  circle(r, k)
}

/** @type {(context: Context, paper: Paper, drawing: DrawingHeader, scale: Scale, pointed: ?number) => void} */
export function paintDrawing(context, paper, { frames, lines, signs, boxes, texts }, scale, pointed) {
  const { across: h, down: v, letters: k } = scale
  context.lineWidth = 1
  context.strokeStyle = paper.one("line")
  for (const { x, y, width, height } of frames) {
    context.fillStyle = paper.one("surface")
    context.fillRect(x * h, y * v, width * h, height * v)
    context.strokeRect(x * h, y * v, width * h, height * v)
  }
  context.strokeStyle = paper.one("muted")
  context.lineWidth = 1.25 * v
  for (const line of lines) paintLine(context, scale, line)
  for (const sign of signs) paintSign(context, paper, scale, sign)
  for (const [i, box] of boxes.entries()) paintBox(context, paper, scale, box, i === pointed)
  for (const { text, align, ink, strong, ...at } of texts)
    write(context, paper, scale, text, at, { font: sans((strong ? 15 : 13) * k, strong ? 600 : 400), ink, align })
}

/**
 * The box at a place, in pixels of the picture, or null.
 * @type {(drawing: Pick<DrawingHeader, "boxes">, scale: Scale, x: number, y: number) => ?number}
 */
export function boxAt({ boxes }, { across: h, down: v }, x, y) {
  const i = boxes.findIndex(
    (box) => x >= box.x * h && x <= (box.x + box.width) * h && y >= box.y * v && y <= (box.y + box.height) * v,
  )
  return i < 0 ? null : i
}

/**
 * The box that a key leads to from one, null for none, undefined where it leads nowhere: data flow upwards, from the first.
 * @type {(drawing: Pick<DrawingHeader, "boxes">, from: ?number, key: string) => ?number | undefined}
 */
export function boxBeside({ boxes }, from, key) {
  const last = boxes.length - 1
  /** @type {Record<string, ?number>} */
  const moves = {
    ArrowUp: from === null ? 0 : Math.min(from + 1, last),
    ArrowDown: from === null ? 0 : Math.max(from - 1, 0),
    Home: 0,
    End: last,
    Escape: null,
  }
  return moves[key]
}
