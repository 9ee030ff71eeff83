import {
  AXIS,
  behindOf,
  boxOf,
  dotOf,
  EDGE,
  fateOf,
  hasHairs,
  hasTokens,
  isKept,
  nodeAt,
  ROOT,
  rowHeightOf,
  rowOf,
  rowY,
  shadeOf,
  sizeOf,
  stepsIn,
  stepX,
  wholeHeight,
  wholeWidth,
} from "./beam_places.js"
import { isLight } from "./colours.js"
import { ramp } from "./legend.js"
import { number } from "./numbers.js"
import { mono, sans, shorten } from "./text.js"
import { clamp } from "./tree.js"

/** @import { Beams, BeamView } from "./beam_places.js" */
/** @import { Paper } from "./colours.js" */
/** @import { Context, Ruler } from "./types.js" */

// The tree of a beam search as it is drawn, its legend and its overview.

/** @typedef {(context: Context, paper: Paper, view: BeamView, i: number) => void} PaintNode */
/** @typedef {{kind: string, text: string, before?: string}} Item */
/** @typedef {Item & {lead: number, sample: number, x: number, row: number}} PlacedItem */

const FINE = { thin: 0.9, thick: 7 }
/** @type {Record<string, string>} */
const WORDS = {
  finished: "finished",
  displaced: "displaced",
  pruned: "pruned",
  stopped: "still going",
  "cut off": "cut off",
  "late end": "late end",
}
/** @type {Record<string, string>} */
const MEANINGS = {
  finished: "finished",
  displaced: "finished, displaced",
  stopped: "still going at the end",
  "cut off": "still going, counted as finished",
  pruned: "pruned",
  "late end": "end token too late",
}
/** @type {Record<string, number>} */
const SAMPLES = { score: 96, width: 60, answer: 26, stopped: 22, "cut off": 22 }

/**
 * The page's colours, by what they are for here.
 * @type {(paper: Paper) => Paper}
 */
export function inksOf(paper) {
  const dark = !isLight(paper.one("page"))
  /** @type {Record<string, string>} */
  const names = {
    "dark-ink": dark ? "page" : "text",
    "light-ink": dark ? "text" : "page",
    "muted-line": "line",
    faint: "derived-2",
  }
  return { ...paper, one: (name) => paper.one(names[name] ?? name) }
}

/**
 * A box with small round corners, of what also SVG has.
 * @type {(context: Context, x: number, y: number, wide: number, tall: number, ink: string) => void}
 */
function soft(context, x, y, wide, tall, ink) {
  context.fillStyle = ink
  if (Math.min(wide, tall) < 6) {
    context.fillRect(x, y, wide, tall)
    return
  }
  context.fillRect(x + 2, y, wide - 4, tall)
  context.fillRect(x, y + 2, wide, tall - 4)
  context.fillRect(x + 0.8, y + 0.8, wide - 1.6, tall - 1.6)
}
/** @type {(context: Context, ...points: [number, number][]) => void} */
function line(context, ...points) {
  context.beginPath()
  points.forEach(([x, y], n) => (n ? context.lineTo(x, y) : context.moveTo(x, y)))
  context.stroke()
}

// ---- lines to what a hypothesis extends

/** @type {(view: BeamView) => number} */
const thinned = (view) => Math.min(1, rowHeightOf(view) / 12)
/** @type {(view: BeamView, i: number) => number} */
export function thickness(view, i) {
  const { z } = view.place
  const most = Math.min(FINE.thick * z, rowHeightOf(view) * 0.3)
  return Math.max(0.5, FINE.thin * z * thinned(view)) + most * Math.exp(view.beams.nodes.log_prob[i])
}

/** @type {(context: Context, view: BeamView, i: number, thick: number) => void} */
export function edge(context, view, i, thick) {
  const { nodes } = view.beams
  const from = behindOf(context, view, nodes.parent[i])
  const x = stepX(view, nodes.step[i]) - sizeOf(context, view, i).wide / 2
  const y = rowY(view, nodes.row[i])
  const bend = (x - from.x) * 0.5
  context.lineWidth = thick
  context.beginPath()
  context.moveTo(from.x, from.y)
  context.bezierCurveTo(from.x + bend, from.y, x - bend, y, x, y)
  context.stroke()
}

/** @type {(context: Context, view: BeamView, i: number) => void} */
export function hair(context, view, i) {
  const { z } = view.place
  const { x, y } = behindOf(context, view, view.beams.nodes.parent[i])
  const [from, to] = [y + 2 * z, nodeAt(context, view, i)]
  context.lineWidth = 0.9 * z
  context.beginPath()
  context.moveTo(x, from)
  context.bezierCurveTo(x + 4 * z, from, to.x - 8 * z, to.y, to.x, to.y)
  context.stroke()
  if (fateOf(view.beams, i) === "late end") {
    context.lineWidth = z
    context.strokeRect(to.x, to.y - 2 * z, 4 * z, 4 * z)
  } else line(context, [to.x, to.y - 1.8 * z], [to.x, to.y + 1.8 * z])
}

// ---- hypotheses

/**
 * The sign of what became of a hypothesis, behind x.
 * @param {Context} context
 * @param {string} fate
 * @param {{x: number, y: number, z: number, ink: string, strong?: boolean}} at
 */
function sign(context, fate, { x, y, z, ink, strong = false }) {
  const size = (strong ? 9 : 7) * z
  context.strokeStyle = context.fillStyle = ink
  context.lineWidth = (strong ? 2.4 : 1.5) * z
  if (fate === "stopped" || fate === "cut off") {
    for (let n = 0; n < 3; n++) context.fillRect(x + (3 + 5 * n) * z, y - z, 2.2 * z, 2.2 * z)
    return
  }
  line(context, [x, y], [x + 7 * z, y])
  if (fate === "finished") context.fillRect(x + 7 * z, y - size / 2, size, size)
  else if (fate === "displaced") {
    context.strokeRect(x + 7 * z, y - size / 2, size, size)
    line(context, [x + 5 * z, y + size / 2 + 2 * z], [x + 9 * z + size, y - size / 2 - 2 * z])
  } else if (fate === "late end") context.strokeRect(x + 7 * z, y - 2.5 * z, 5 * z, 5 * z)
  else line(context, [x + 7 * z, y - 5 * z], [x + 7 * z, y + 5 * z])
}

/** @type {PaintNode} */
export function node(context, paper, view, i) {
  const { beams, place } = view
  const { z } = place
  const [x, y] = [stepX(view, beams.nodes.step[i]), rowY(view, beams.nodes.row[i])]
  const fill = paper.scale("decoder").css(shadeOf(beams, i))
  const strong = beams.onAnswer[i] === 1
  if (!hasTokens(view)) {
    const size = dotOf(view) * (strong ? 1.3 : 1)
    context.fillStyle = strong ? paper.one("text") : fill
    context.fillRect(x - size / 2, y - size / 2, size, size)
    return
  }
  const { text, wide, tall, font } = boxOf(context, view, i)
  const rim = (strong ? 2 : 1) * z
  soft(context, x - wide / 2, y - tall / 2, wide, tall, paper.one(strong ? "text" : "muted-line"))
  soft(context, x - wide / 2 + rim, y - tall / 2 + rim, wide - 2 * rim, tall - 2 * rim, fill)
  context.font = font
  context.fillStyle = isLight(fill) ? paper.one("dark-ink") : paper.one("light-ink")
  context.textAlign = "center"
  context.textBaseline = "middle"
  context.fillText(text, x, y + 0.5)
  const fate = fateOf(beams, i)
  if (fate === "went on") return
  const isAnswer = i === beams.head.answer
  sign(context, fate, { x: x + wide / 2, y, z, ink: paper.one(isAnswer ? "text" : "muted"), strong: isAnswer })
  if (rowHeightOf(view) >= 41 * z) fateWords(context, paper, view, i)
}

/**
 * What became of a hypothesis, below it.
 * @type {PaintNode}
 */
function fateWords(context, paper, view, i) {
  const { beams, place } = view
  const { z } = place
  const { col } = view.view
  const { wide, tall } = boxOf(context, view, i)
  const [x, y] = [stepX(view, beams.nodes.step[i]), rowY(view, beams.nodes.row[i])]
  const [fate, strong] = [fateOf(beams, i), i === beams.head.answer]
  const words = strong ? "answer" : WORDS[fate]
  const competed = strong || ["finished", "displaced", "cut off"].includes(fate)
  const scored = competed ? ` ${number(beams.nodes.score[i], 2)}` : ""
  context.font = sans(12 * z, strong ? 600 : 400)
  context.textAlign = "left"
  const room = col * (strong ? 1.3 : 1) - 6 * z
  const whole = context.measureText(words + scored).width <= room ? words + scored : shorten(context, words, room)
  const long = context.measureText(whole).width
  const left = clamp(x - wide / 2, x - col / 2 + 4 * z, x + col / 2 - long)
  const below = y + tall / 2 + 10 * z
  context.fillStyle = paper.one("page") // lines of other hypotheses pass behind the words
  context.fillRect(left - 2 * z, below - 6 * z, long + 4 * z, 12.5 * z)
  context.fillStyle = paper.one(strong ? "text" : "muted")
  context.fillText(whole, left, below)
}

/**
 * A ring around a hypothesis, of two colours where it is thick.
 * @type {(context: Context, paper: Paper, view: BeamView, i: number, thick: number) => void}
 */
export function ringAround(context, paper, view, i, thick) {
  const { z } = view.place
  const { x, y } = nodeAt(context, view, i)
  const kept = isKept(view.beams, i)
  if (y < AXIS * z && kept && y + 14 * z < AXIS * z) return
  const dot = dotOf(view) * 1.3
  const { wide, tall } = !kept
    ? { wide: 8 * z, tall: 8 * z }
    : hasTokens(view)
      ? boxOf(context, view, i)
      : { wide: dot, tall: dot }
  const [left, top] = [x - wide / 2 + (kept ? 0 : 2 * z), y - tall / 2]
  context.lineWidth = thick * z
  if (thick > 1) {
    context.strokeStyle = paper.one("page")
    context.strokeRect(left - z, top - z, wide + 2 * z, tall + 2 * z)
  }
  context.strokeStyle = paper.one("text")
  const out = thick > 1 ? 2.5 * z : 1.5 * z
  context.strokeRect(left - out, top - out, wide + 2 * out, tall + 2 * out)
}

// ---- the tree

/** @type {(context: Context, paper: Paper, view: BeamView, size: {width: number, height: number}) => void} */
export function paintBeams(context, paper, view, { width, height }) {
  const { beams, place } = view
  const { nodes, starts, steps, onAnswer } = beams
  const [first, behind] = stepsIn(view, width)
  const [from, to] = [starts[first], starts[Math.min(steps, behind + 1)]]
  const kept = []
  context.strokeStyle = paper.one("faint")
  for (let i = from; i < to; i++) {
    const y = rowY(view, rowOf(beams, nodes.parent[i]))
    if (isKept(beams, i)) {
      const own = rowY(view, nodes.row[i])
      if (Math.max(y, own) >= 0 && Math.min(y, own) <= height) kept.push(i)
    } else if (hasHairs(view) && y > -rowHeightOf(view) && y < height + rowHeightOf(view)) hair(context, view, i)
  }
  for (const i of kept) if (!onAnswer[i]) edge(context, view, i, thickness(view, i))
  context.strokeStyle = paper.one("text")
  const least = 2 * place.z * thinned(view)
  for (const i of kept) if (onAnswer[i]) edge(context, view, i, Math.max(least, thickness(view, i)))
  if (view.view.x < (EDGE + ROOT) * place.z) startToken(context, paper, view)
  for (const i of kept) node(context, paper, view, i)
  axis(context, paper, view, width)
}

/** @type {(context: Context, paper: Paper, view: BeamView) => void} */
function startToken(context, paper, view) {
  const { z } = view.place
  const [x, y] = [stepX(view, -1), rowY(view, 0)]
  if (!hasTokens(view) || !view.beams.head.start) {
    const dot = dotOf(view)
    context.fillStyle = paper.one("muted")
    context.fillRect(x - dot / 2, y - dot / 2, dot, dot)
    return
  }
  const { text, wide, tall, font } = boxOf(context, view, -1)
  soft(context, x - wide / 2, y - tall / 2, wide, tall, paper.one("muted"))
  soft(context, x - wide / 2 + z, y - tall / 2 + z, wide - 2 * z, tall - 2 * z, paper.one("page"))
  context.font = font
  context.textAlign = "center"
  context.textBaseline = "middle"
  context.fillStyle = paper.one("muted")
  context.fillText(text, x, y + 0.5)
}

/** @type {(context: Context, paper: Paper, view: BeamView, width: number) => void} */
function axis(context, paper, view, width) {
  const { z } = view.place
  const [first, behind] = stepsIn(view, width)
  context.fillStyle = paper.one("page")
  context.fillRect(0, 0, width, (AXIS - 4) * z)
  context.fillStyle = paper.one("line")
  context.fillRect(0, (AXIS - 4) * z, width, 1)
  context.font = mono(12 * z)
  context.textAlign = "center"
  context.textBaseline = "middle"
  context.fillStyle = paper.one("muted")
  const every = [1, 2, 5, 10, 20, 50, 100].find((n) => n * view.view.col >= 30 * z) ?? 200
  for (let step = Math.ceil((first + 1) / every) * every; step <= behind; step += every)
    if (stepX(view, step - 1) > 52 * z) context.fillText(String(step), stepX(view, step - 1), 10 * z)
  context.font = sans(12 * z)
  context.textAlign = "left"
  context.fillText("step", EDGE * z, 10 * z)
}

// ---- the legend: what colour, width and signs mean

/** @type {(ruler: Ruler, beams: Beams, width: number, z: number) => {items: PlacedItem[], height: number}} */
export function placeBeamLegend(ruler, { head, low, high }, width, z) {
  const fates = Object.keys(MEANINGS).filter((fate) => head.fates.includes(fate))
  /** @type {Item[]} */
  const items = [
    { kind: "score", before: number(low, 2), text: `${number(high, 2)}  score` },
    { kind: "width", before: "0", text: "1  probability of the token" },
    { kind: "answer", text: "the answer" },
    ...fates.map((fate) => ({ kind: fate, text: MEANINGS[fate] })),
  ]
  let [x, row] = [0, 0]
  ruler.font = sans(13 * z)
  const placed = items.map((item) => {
    const lead = item.before === undefined ? 0 : ruler.measureText(item.before).width + 6 * z
    const sample = (SAMPLES[item.kind] ?? 20) * z
    const wide = lead + sample + 6 * z + ruler.measureText(item.text).width
    if (x && x + wide > width) [x, row] = [0, row + 1]
    const made = { ...item, lead, sample, x, row }
    x += wide + 20 * z
    return made
  })
  return { items: placed, height: (row + 1) * 22 * z + 6 * z }
}

/** @type {(context: Context, paper: Paper, beams: Beams, width: number, z: number) => void} */
export function paintBeamLegend(context, paper, beams, width, z) {
  for (const { kind, text, before, lead, sample, x: from, row } of placeBeamLegend(context, beams, width, z).items) {
    const [x, y] = [from + lead, row * 22 * z + 13 * z]
    context.textBaseline = "middle"
    context.textAlign = "left"
    context.font = sans(13 * z)
    context.fillStyle = paper.one("muted")
    if (before !== undefined) context.fillText(before, from, y)
    context.fillText(text, x + sample + 6 * z, y)
    if (kind === "score") ramp(context, paper.scale("decoder"), x, y, sample, z)
    else if (kind === "width") {
      const [thin, thick] = [FINE.thin * z, FINE.thick * z]
      for (let n = 0; n < sample; n++) {
        const tall = thin + (thick * n) / (sample - 1)
        context.fillRect(x + n, y - tall / 2, 1.2, tall)
      }
    } else if (kind === "answer") {
      context.strokeStyle = paper.one("text")
      context.lineWidth = 3 * z
      line(context, [x, y], [x + sample, y])
    } else sign(context, kind, { x, y, z, ink: paper.one("muted") })
  }
}

// ---- the overview

/** @type {(context: Context, paper: Paper, beams: Beams, size: {width: number, height: number, z: number}) => void} */
export function paintOverview(context, paper, beams, { width, height, z }) {
  const { nodes, steps, rows, onAnswer, N } = beams
  const [across, down] = [width / steps, (height - 4 * z) / rows]
  context.fillStyle = paper.one("surface")
  context.fillRect(0, 0, width, height)
  for (let i = 0; i < N; i++) {
    if (!isKept(beams, i)) continue
    context.fillStyle = paper.one(onAnswer[i] ? "text" : "faint")
    const tall = Math.max(0.5, Math.min((onAnswer[i] ? 2 : 1) * z, down - 0.5))
    context.fillRect(nodes.step[i] * across, 2 * z + nodes.row[i] * down, across, tall)
  }
}

/**
 * What of the overview is seen.
 * @type {(context: Context, paper: Paper, given: BeamView, height: number) => void}
 */
export function paintWindow(context, paper, given, height) {
  const { place, view } = given
  const { width, z } = place
  const from = (view.x / wholeWidth(given)) * width
  const to = ((view.x + width) / wholeWidth(given)) * width
  const top = (view.y / wholeHeight(given)) * height
  const bottom = Math.min(1, (view.y + place.height) / wholeHeight(given)) * height
  context.lineWidth = 1.5 * z
  context.strokeStyle = paper.one("text")
  context.strokeRect(from + z, top + z, Math.min(width, to) - from - 2 * z, bottom - top - 2 * z)
}
