import { exponential, logProbability, number, share } from "./numbers.js"
import { among, isolated, mono, quoted, shorten } from "./text.js"
import { clamp, middlesBetween, rowHeightAt, treeOf } from "./tree.js"

/** @import { firstSight } from "./tree.js" */
/** @import { BeamTreeHeader, Ruler, Token } from "./types.js" */

// The tree of a beam search: what is said of a hypothesis, and where each stands.

export const AXIS = 26 // pixels, as all here: the steps' numbers
export const ROOT = 46 // the room of the start token
export const EDGE = 10 // margins left and right
export const BETWEEN = 25 // pixels between the tokens of two columns
const [WHOLE_WIDTH, WHOLE_HEIGHT] = [6000, 4000]

/** @typedef {{head: BeamTreeHeader, nodes: BeamTreeHeader["nodes"], order: number[][]} & ReturnType<typeof treeOf>} Beams */
/** @typedef {{text: string, wide: number, tall: number, font: string}} TokenBox */
/** Sizes that hang on the width of the page. @typedef {{z: number, width: number, height: number, room: number} & ReturnType<typeof firstSight>} BeamPlace */
/** The width of a column, what is scrolled away, and whether somebody zoomed. @typedef {{col: number, x: number, y: number, own: boolean}} Sight */
/**
 * `labels` are those of tokens at this width of columns, kept until it changes.
 * @typedef {{beams: Beams, place: BeamPlace, view: Sight, labels: Map<string, TokenBox>}} BeamView
 */

/** @type {(head: BeamTreeHeader) => Beams} */
export const beamsOf = (head) => ({ head, nodes: head.nodes, order: [], ...treeOf(head.nodes, head.answer) })

// ---- hypotheses

/** @type {(beams: Beams, i: number) => string} */
export const fateOf = ({ head, nodes }, i) => head.fates[nodes.fate[i]]
/** @type {(beams: Beams, i: number) => Token} */
const tokenOf = ({ head, nodes }, i) => head.tokens[nodes.token[i]]
/** @type {(beams: Beams, i: number) => boolean} */
export const isKept = ({ nodes }, i) => nodes.row[i] >= 0
/** @type {(beams: Beams, i: number) => number} */
export const shadeOf = ({ nodes, low, high }, i) => (high > low ? (nodes.score[i] - low) / (high - low) : 1)
/** @type {(beams: Beams, i: number) => number} */
export const rowOf = ({ nodes }, i) => (i < 0 ? 0 : nodes.row[i])
/**
 * What was only looked at behind what hypothesis i would have been extended by.
 * @type {(beams: Beams, parent: number) => number[]}
 */
const hairsOf = ({ hairs, N }, parent) => hairs[parent < 0 ? N : parent]

/**
 * The chosen hypothesis: the answer where none is, null where there is none like it.
 * @type {(beams: Beams, picked: unknown) => ?number}
 */
export function nodeChosen({ head, N }, picked) {
  if (picked === null || picked === undefined) return head.answer
  return typeof picked === "number" && Number.isInteger(picked) && picked >= 0 && picked < N ? picked : null
}

/**
 * Those of a step from top to bottom; made when somebody walks there.
 * @type {(beams: Beams, step: number) => number[]}
 */
export function ofStep(beams, step) {
  const { nodes, order, starts } = beams
  const depth = (/** @type {number} */ i) => {
    const parent = nodes.parent[i]
    return isKept(beams, i) ? nodes.row[i] : rowOf(beams, parent) + 0.5 + hairsOf(beams, parent).indexOf(i) / 1000
  }
  return (order[step] ??= Array.from({ length: starts[step + 1] - starts[step] }, (_, n) => starts[step] + n).sort(
    (a, b) => depth(a) - depth(b),
  ))
}

/**
 * The hypothesis that an arrow, Home or End leads to; undefined for any other key.
 * @type {(beams: Beams, here: number, key: string) => number | undefined}
 */
export function nodeBeside(beams, here, key) {
  const { head, nodes, kept, hairs } = beams
  const [column, parent] = [ofStep(beams, nodes.step[here]), nodes.parent[here]]
  const besides = (/** @type {number} */ by) => column[clamp(column.indexOf(here) + by, 0, column.length - 1)]
  /** @type {Record<string, () => number>} */
  const moves = {
    ArrowLeft: () => (parent < 0 ? here : parent),
    ArrowRight: () => kept[here][0] ?? hairs[here][0] ?? here,
    ArrowUp: () => besides(-1),
    ArrowDown: () => besides(1),
    Home: () => ofStep(beams, 0)[0],
    End: () => head.answer,
  }
  return moves[key]?.()
}

/** @type {(beams: Beams, i: number) => string[]} */
export function nodeSentences(beams, i) {
  const { head, nodes, starts } = beams
  const [penalty, formula] = head.penalties[nodes.length[i]]
  const ranked = starts[nodes.step[i] + 1] - starts[nodes.step[i]]
  const [total, score] = [logProbability(nodes.total[i], 4), logProbability(nodes.score[i], 4)]
  const odds = share(exponential(nodes.log_prob[i]))
  return [
    `step ${nodes.step[i] + 1}: ${quoted(tokenOf(beams, i))}`,
    `log-probability of the token ${logProbability(nodes.log_prob[i], 4)}, probability ${odds}`,
    `total ${total}`,
    `|Y| = ${nodes.length[i]}, penalty ${formula} = ${number(penalty)}`,
    `score = total / penalty = ${total} / ${number(penalty)} = ${score}`,
    `rank ${among(nodes.rank[i], ranked)} in its step, ${isKept(beams, i) ? "kept" : "considered, not kept"}`,
    head.sentences[nodes.why[i]],
  ]
}

// ---- where things are

/** @type {(view: BeamView) => number} */
export const rowHeightOf = ({ place, view }) => rowHeightAt(place, view.col)
/** @type {(view: BeamView) => number} */
export const wholeWidth = ({ beams, place, view }) => (2 * EDGE + ROOT) * place.z + beams.steps * view.col
/** @type {(view: BeamView) => number} */
export const wholeHeight = (view) => (AXIS + 12) * view.place.z + view.beams.rows * rowHeightOf(view)
/** @type {(view: BeamView, step: number) => number} */
export const stepX = ({ place, view }, step) =>
  (step < 0 ? (EDGE + ROOT * 0.42) * place.z : (EDGE + ROOT) * place.z + (step + 0.5) * view.col) - view.x
/** @type {(view: BeamView, row: number) => number} */
export const rowY = (view, row) => AXIS * view.place.z + (row + 0.5) * rowHeightOf(view) - view.view.y
/** @type {(view: BeamView) => boolean} */
export const isFitting = (view) =>
  wholeWidth(view) <= view.place.width + 1 && wholeHeight(view) <= view.place.height + 1
/** @type {(view: BeamView) => boolean} */
export const isWhole = (view) =>
  wholeWidth(view) <= WHOLE_WIDTH * view.place.z && wholeHeight(view) <= WHOLE_HEIGHT * view.place.z
/**
 * What of it is saved: the whole tree, or what is seen of it if that is too large.
 * @type {(view: BeamView) => {width: number, height: number}}
 */
export const savedFrame = (view) =>
  isWhole(view) ? { width: Math.max(wholeWidth(view), 480 * view.place.z), height: wholeHeight(view) } : view.place

/** @type {(view: BeamView) => number} */
const gapOf = ({ place: { z, usual }, view: { col } }) =>
  clamp(Math.max(col * 0.24, Math.min(BETWEEN * z, col + BETWEEN * z - usual)), 14 * z, 44 * z)
/** @type {(view: BeamView) => boolean} */
export const hasTokens = (view) => view.view.col >= 44 * view.place.z && rowHeightOf(view) >= 17 * view.place.z
/** @type {(view: BeamView) => boolean} */
export const hasHairs = (view) => gapOf(view) >= 20 * view.place.z && rowHeightOf(view) >= 26 * view.place.z

/**
 * Keeps the tree inside the picture.
 * @param {BeamView} given
 */
export function settle(given) {
  const { place, view } = given
  view.col = clamp(view.col, place.least, place.most)
  view.x = clamp(view.x, 0, wholeWidth(given) - place.width)
  view.y = clamp(view.y, 0, wholeHeight(given) - place.height)
}

/**
 * The label of a token and the size of its box; i < 0 is what was read before the first step.
 * @type {(ruler: Ruler, view: BeamView, i: number) => TokenBox}
 */
export function boxOf(ruler, given, i) {
  const { beams, place, view, labels } = given
  const { z } = place
  const strong = i >= 0 && beams.onAnswer[i] === 1
  const token = i < 0 ? beams.head.start : tokenOf(beams, i)
  if (!token) return { text: "", wide: 10 * z, tall: 10 * z, font: "" }
  const key = `${i < 0 ? "start" : beams.nodes.token[i]} ${strong ? 1 : 0}`
  const known = labels.get(key)
  if (known) return known
  const tall = Math.min((strong ? 28 : 25) * z, rowHeightOf(given) * 0.76)
  const most = i < 0 ? (ROOT - 8) * z : view.col - (strong ? Math.min(gapOf(given), 18 * z) : gapOf(given))
  const room = Math.max(8, most - 10 * z)
  const [size, bold] = [Math.min((strong ? 14.5 : 13.5) * z, tall * 0.62), strong ? 600 : 400]
  ruler.font = mono(size, bold)
  // a little smaller rather than cut off
  const font = mono(size * clamp(room / ruler.measureText(token.text).width, 0.86, 1), bold)
  ruler.font = font
  const text = isolated(shorten(ruler, token.text, room))
  const made = { text, wide: Math.max(tall, Math.min(most, ruler.measureText(text).width + 12 * z)), tall, font }
  labels.set(key, made)
  return made
}

/** @type {(view: BeamView) => number} */
export const dotOf = (view) => clamp(Math.min(view.view.col * 0.5, rowHeightOf(view) * 0.6), 1.5, 7 * view.place.z)

/**
 * How large the sign of a hypothesis that was kept is.
 * @type {(ruler: Ruler, view: BeamView, i: number) => {wide: number, tall: number}}
 */
export const sizeOf = (ruler, view, i) =>
  hasTokens(view) ? boxOf(ruler, view, i) : { wide: dotOf(view), tall: dotOf(view) }

/**
 * Where lines to what extends a hypothesis begin.
 * @type {(ruler: Ruler, view: BeamView, parent: number) => {x: number, y: number}}
 */
export const behindOf = (ruler, view, parent) => ({
  x: stepX(view, parent < 0 ? -1 : view.beams.nodes.step[parent]) + sizeOf(ruler, view, parent).wide / 2,
  y: rowY(view, rowOf(view.beams, parent)),
})

/**
 * Where a hypothesis stands; what was not kept at the end of its hair.
 * @type {(ruler: Ruler, view: BeamView, i: number) => {x: number, y: number}}
 */
export function nodeAt(ruler, view, i) {
  const { beams, place } = view
  if (isKept(beams, i)) return { x: stepX(view, beams.nodes.step[i]), y: rowY(view, beams.nodes.row[i]) }
  const all = hairsOf(beams, beams.nodes.parent[i])
  const down = Math.min(5.5 * place.z, (rowHeightOf(view) * 0.72) / all.length)
  const { x, y } = behindOf(ruler, view, beams.nodes.parent[i])
  return { x: x + 13 * place.z, y: y + 5 * place.z + (all.indexOf(i) + 0.5) * down }
}

/**
 * The steps that are on a picture so wide, from the first to behind the last.
 * @type {(view: BeamView, width: number) => [number, number]}
 */
export function stepsIn({ beams: { steps }, place, view }, width) {
  const first = Math.floor((view.x - (EDGE + ROOT) * place.z) / view.col)
  return [clamp(first, 0, steps - 1), clamp(first + Math.ceil(width / view.col) + 2, 1, steps)]
}

/**
 * Which steps and rows are seen, where not all are.
 * @param {BeamView} given
 */
export function whatIsSeen(given) {
  const { beams, place, view } = given
  const seen = (/** @type {string} */ name, /** @type {number[]} */ [from, to], /** @type {number} */ count) =>
    `${name} ${from + 1} to ${among(to, count)}`
  const left = view.x - (EDGE + ROOT) * place.z
  const [under, high] = [view.y + place.height - AXIS * place.z, rowHeightOf(given)]
  const words = []
  if (wholeWidth(given) > place.width + 1)
    words.push(seen("steps", middlesBetween(left, left + place.width, view.col, beams.steps), beams.steps))
  if (wholeHeight(given) > place.height + 1)
    words.push(seen("rows", middlesBetween(view.y, under, high, beams.rows), beams.rows))
  return words.join(", ")
}

/**
 * The hypothesis at a place, the nearest within seven pixels.
 * @type {(ruler: Ruler, view: BeamView, x: number, y: number) => ?number}
 */
export function nodeUnder(ruler, given, x, y) {
  const { beams, place, view } = given
  const { z } = place
  if (y < AXIS * z) return null
  const middle = Math.round((x + view.x - (EDGE + ROOT) * z) / view.col - 0.5)
  let [nearest, least] = [/** @type {?number} */ (null), 7 * z]
  for (let step = Math.max(0, middle - 1); step <= Math.min(beams.steps - 1, middle + 1); step++)
    for (let i = beams.starts[step]; i < beams.starts[step + 1]; i++) {
      const kept = isKept(beams, i)
      if (!kept && !hasHairs(given)) continue
      const at = nodeAt(ruler, given, i)
      const { wide, tall } = kept ? sizeOf(ruler, given, i) : { wide: 0, tall: 0 }
      const [across, down] = [Math.abs(x - at.x) - wide / 2, Math.abs(y - at.y) - tall / 2]
      const away = Math.hypot(Math.max(0, across), Math.max(0, down))
      if (away < least) [nearest, least] = [i, away]
    }
  return nearest
}
