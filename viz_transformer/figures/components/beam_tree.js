import { colours, isLight } from "./parts/colours.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { exponential, logProbability, number, share } from "./parts/numbers.js"
import { selection } from "./parts/selection.js"
import { magnified, mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { among, isolated, mono, quoted, sans, shorten } from "./parts/text.js"
import { clamp, firstSight, middlesBetween, rowHeightAt, tallestRows, treeOf, usualWidth } from "./parts/tree.js"

/** @import { BeamTreeHeader } from "./parts/types.js" */

// The tree of a beam search. Each step is a column; only what was kept reaches it, as a token; what was only looked at
// ends as a short hair behind what it would have extended. Header: {title, caption, name, tree, answer, width, tokens,
// start, fates, sentences, penalties: {|Y|: [number, formula]}, nodes: columns of one length, height}; nodes.row is the
// row of what was kept, -1 for the rest, and the rows are such that no two lines cross.

const [AXIS, ROOT, EDGE] = [26, 46, 10] // the steps' numbers; the room of the start token; margins left and right
const BETWEEN = 25 // pixels between the tokens of two columns
const [WHOLE_WIDTH, WHOLE_HEIGHT] = [6000, 4000]
const FINE = { thin: 0.9, thick: 7 }
const WORDS = {
  finished: "finished",
  displaced: "displaced",
  pruned: "pruned",
  stopped: "still going",
  "cut off": "cut off",
  "late end": "late end",
}
const MEANINGS = {
  finished: "finished",
  displaced: "finished, displaced",
  stopped: "still going at the end",
  "cut off": "still going, counted as finished",
  pruned: "pruned",
  "late end": "end token too late",
}

export default (component) => mount(component, "beam_tree", makeTree)

function makeTree(root) {
  const heading = element("div", "head")
  const title = element("span", "title")
  const part = element("span", "part")
  const stage = element("div", "stage")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const overview = element("canvas", "overview")
  const legend = element("canvas", "legend")
  const controls = element("span", "choice")
  controls.append(
    button("quiet", "−", "Narrower columns (key -)", () => zoomBy(1 / 1.35)),
    button("quiet", "+", "Wider columns (key +)", () => zoomBy(1.35)),
    button("quiet", "Reset", "As at the first sight (key 0, or a double click)", () => reset()),
  )
  const saving = exports(root, {
    draw: (context) => paintAll(context),
    size: () => {
      const { width, height } = frameOfExport()
      return { width, height: height + 34 * place.z + legendLayout(base.getContext("2d"), width).height }
    },
    caption: () => `${head.caption}${isWhole() ? "" : `; ${whatIsSeen()}`}`,
    name: () => head.name,
  })
  heading.append(title, part, controls, saving)
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  overview.setAttribute("aria-hidden", "true")
  legend.setAttribute("role", "img")
  root.append(heading, stage, overview, legend)
  const tip = tooltip(root)
  const announce = announcer(root)

  /** @type {BeamTreeHeader} */
  let head
  let nodes, N, R, steps, starts, onAnswer, kept, hairs, order, low, high
  let place = null // sizes that hang on the width of the page
  let view = null // {col, x, y}: the width of a column, and what is scrolled away; null until it is drawn
  let shot = null // the overview without its window, and what it was drawn for
  let hovered = null
  let focused = null
  let drag = null
  let labels = new Map()

  // ---- the tree

  function read(header) {
    head = header
    nodes = header.nodes
    ;({ N, steps, starts, kept, hairs, rows: R, low, high, onAnswer } = treeOf(nodes, head.answer))
    order = [] // each step from top to bottom, made when somebody walks there
  }
  const fateOf = (i) => head.fates[nodes.fate[i]]
  const goesOn = (i) => nodes.row[i] >= 0 && fateOf(i) === "went on"
  const tokenOf = (i) => head.tokens[nodes.token[i]]
  const shade = (i) => (high > low ? (nodes.score[i] - low) / (high - low) : 1)
  const chosen = () => {
    const picked = selection.chosen.dec_node
    if (picked === null || picked === undefined) return head.answer
    return Number.isInteger(picked) && picked >= 0 && picked < N ? picked : null
  }
  const rootRow = 0
  const rowOf = (i) => (i < 0 ? rootRow : nodes.row[i])
  const ofStep = (step) =>
    (order[step] ??= Array.from({ length: starts[step + 1] - starts[step] }, (_, n) => starts[step] + n).sort(
      (a, b) => depth(a) - depth(b),
    ))
  const depth = (i) =>
    nodes.row[i] >= 0
      ? nodes.row[i]
      : rowOf(nodes.parent[i]) + 0.5 + hairs[nodes.parent[i] < 0 ? N : nodes.parent[i]].indexOf(i) / 1000

  // ---- words

  function sentences(i) {
    const [penalty, formula] = head.penalties[nodes.length[i]]
    const ranked = starts[nodes.step[i] + 1] - starts[nodes.step[i]]
    return [
      `step ${nodes.step[i] + 1}: ${quoted(tokenOf(i))}`,
      `log-probability of the token ${logProbability(nodes.log_prob[i], 4)}, probability ${share(exponential(nodes.log_prob[i]))}`,
      `total ${logProbability(nodes.total[i], 4)}`,
      `|Y| = ${nodes.length[i]}, penalty ${formula} = ${number(penalty)}`,
      `score = total / penalty = ${logProbability(nodes.total[i], 4)} / ${number(penalty)} = ${logProbability(nodes.score[i], 4)}`,
      `rank ${among(nodes.rank[i], ranked)} in its step, ${nodes.row[i] >= 0 ? "kept" : "considered, not kept"}`,
      head.sentences[nodes.why[i]],
    ]
  }

  // ---- where things are

  function measure() {
    const z = zoom(root)
    const width = root.clientWidth
    const context = legend.getContext("2d")
    const below = heading.offsetHeight + 20 * z + legendLayout(context, width, z).height
    const most = Math.max(200, Math.floor(tallness(root, head.height * z) - below))
    const height = Math.min(most, Math.ceil((AXIS + 12) * z + tallestRows(R, z)))
    const room = height - (AXIS + 12) * z
    const inside = width - (2 * EDGE + ROOT) * z
    context.font = mono(13.5 * z)
    const widths = head.tokens.map(({ text }) => context.measureText(text).width + 12 * z)
    const token = usualWidth(nodes, widths) + BETWEEN * z
    return { z, width, height, room, ...firstSight({ rows: R, steps, inside, room, token, z }) }
  }
  const rowHeight = () => rowHeightAt(place, view.col)
  const wholeWidth = () => (2 * EDGE + ROOT) * place.z + steps * view.col
  const wholeHeight = () => (AXIS + 12) * place.z + R * rowHeight()
  const xOf = (step) =>
    (step < 0 ? (EDGE + ROOT * 0.42) * place.z : (EDGE + ROOT) * place.z + (step + 0.5) * view.col) - view.x
  const yOf = (row) => AXIS * place.z + (row + 0.5) * rowHeight() - view.y
  const fits = () => wholeWidth() <= place.width + 1 && wholeHeight() <= place.height + 1
  const isWhole = () => wholeWidth() <= WHOLE_WIDTH * place.z && wholeHeight() <= WHOLE_HEIGHT * place.z
  const frameOfExport = () =>
    isWhole() ? { width: Math.max(wholeWidth(), 480 * place.z), height: wholeHeight() } : place
  const gap = () =>
    clamp(
      Math.max(view.col * 0.24, Math.min(BETWEEN * place.z, view.col + BETWEEN * place.z - place.usual)),
      14 * place.z,
      44 * place.z,
    )
  const asTokens = () => view.col >= 44 * place.z && rowHeight() >= 17 * place.z
  const hasHairs = () => gap() >= 20 * place.z && rowHeight() >= 26 * place.z

  function settle() {
    view.col = clamp(view.col, place.least, place.most)
    view.x = clamp(view.x, 0, wholeWidth() - place.width)
    view.y = clamp(view.y, 0, wholeHeight() - place.height)
  }

  /** The label of a token and the size of its box; i < 0 is what was read before the first step. */
  function box(context, i) {
    const { z } = place
    const strong = i >= 0 && onAnswer[i]
    const tall = Math.min((strong ? 28 : 25) * z, rowHeight() * 0.76)
    const most = i < 0 ? (ROOT - 8) * z : view.col - (strong ? Math.min(gap(), 18 * z) : gap())
    const token = i < 0 ? head.start : tokenOf(i)
    if (!token) return { text: "", wide: 10 * z, tall: 10 * z }
    const key = `${i < 0 ? "start" : nodes.token[i]} ${strong ? 1 : 0}`
    if (!labels.has(key)) {
      const room = Math.max(8, most - 10 * z)
      let size = Math.min((strong ? 14.5 : 13.5) * z, tall * 0.62)
      context.font = mono(size, strong ? 600 : 400)
      size *= clamp(room / context.measureText(token.text).width, 0.86, 1) // a little smaller rather than cut off
      const font = mono(size, strong ? 600 : 400)
      context.font = font
      const text = isolated(shorten(context, token.text, room))
      labels.set(key, {
        text,
        wide: Math.max(tall, Math.min(most, context.measureText(text).width + 12 * z)),
        tall,
        font,
      })
    }
    return labels.get(key)
  }
  const dot = () => clamp(Math.min(view.col * 0.5, rowHeight() * 0.6), 1.5, 7 * place.z)
  const halfOf = (context, i) => (asTokens() ? box(context, i).wide / 2 : dot() / 2)

  /** Where the end of a hair is. */
  function tipOf(context, i) {
    const parent = nodes.parent[i]
    const all = hairs[parent < 0 ? N : parent]
    const down = Math.min(5.5 * place.z, (rowHeight() * 0.72) / all.length)
    return {
      x: xOf(parent < 0 ? -1 : nodes.step[parent]) + halfOf(context, parent) + 13 * place.z,
      y: yOf(rowOf(parent)) + 5 * place.z + (all.indexOf(i) + 0.5) * down,
    }
  }
  const at = (context, i) => (nodes.row[i] >= 0 ? { x: xOf(nodes.step[i]), y: yOf(nodes.row[i]) } : tipOf(context, i))

  /** The steps that are on the picture, from the first to behind the last. */
  function seen(width) {
    const first = Math.floor((view.x - (EDGE + ROOT) * place.z) / view.col)
    return [clamp(first, 0, steps - 1), clamp(first + Math.ceil(width / view.col) + 2, 1, steps)]
  }
  function stepsSeen() {
    const left = view.x - (EDGE + ROOT) * place.z
    const [from, to] = middlesBetween(left, left + place.width, view.col, steps)
    return `steps ${from + 1} to ${among(to, steps)}`
  }

  function rowsSeen() {
    const [from, to] = middlesBetween(view.y, view.y + place.height - AXIS * place.z, rowHeight(), R)
    return `rows ${from + 1} to ${among(to, R)}`
  }
  const whatIsSeen = () =>
    [
      ...(wholeWidth() > place.width + 1 ? [stepsSeen()] : []),
      ...(wholeHeight() > place.height + 1 ? [rowsSeen()] : []),
    ].join(", ")

  function found(x, y) {
    const context = over.getContext("2d")
    const { z } = place
    if (y < AXIS * z) return null
    const middle = Math.round((x + view.x - (EDGE + ROOT) * z) / view.col - 0.5)
    let [nearest, least] = [null, 7 * z]
    for (let step = Math.max(0, middle - 1); step <= Math.min(steps - 1, middle + 1); step++)
      for (let i = starts[step]; i < starts[step + 1]; i++) {
        if (nodes.row[i] < 0 && !hasHairs()) continue
        const { x: left, y: top } = at(context, i)
        const { wide, tall } =
          nodes.row[i] < 0 ? { wide: 0, tall: 0 } : asTokens() ? box(context, i) : { wide: dot(), tall: dot() }
        const away = Math.hypot(Math.max(0, Math.abs(x - left) - wide / 2), Math.max(0, Math.abs(y - top) - tall / 2))
        if (away < least) [nearest, least] = [i, away]
      }
    return nearest
  }

  // ---- painting

  const soft = (context, x, y, wide, tall, ink) => {
    // a box with small round corners, of what also SVG has
    context.fillStyle = ink
    if (Math.min(wide, tall) < 6) return context.fillRect(x, y, wide, tall)
    context.fillRect(x + 2, y, wide - 4, tall)
    context.fillRect(x, y + 2, wide, tall - 4)
    context.fillRect(x + 0.8, y + 0.8, wide - 1.6, tall - 1.6)
  }
  const line = (context, ...points) => {
    context.beginPath()
    points.forEach(([x, y], n) => (n ? context.lineTo(x, y) : context.moveTo(x, y)))
    context.stroke()
  }
  const thickness = (i) => {
    const most = Math.min(FINE.thick * place.z, rowHeight() * 0.3)
    return Math.max(0.5, FINE.thin * place.z * Math.min(1, rowHeight() / 12)) + most * Math.exp(nodes.log_prob[i])
  }

  function edge(context, i, thick) {
    const parent = nodes.parent[i]
    const from = { x: xOf(parent < 0 ? -1 : nodes.step[parent]) + halfOf(context, parent), y: yOf(rowOf(parent)) }
    const to = { x: xOf(nodes.step[i]) - halfOf(context, i), y: yOf(nodes.row[i]) }
    const bend = (to.x - from.x) * 0.5
    context.lineWidth = thick
    context.beginPath()
    context.moveTo(from.x, from.y)
    context.bezierCurveTo(from.x + bend, from.y, to.x - bend, to.y, to.x, to.y)
    context.stroke()
  }

  function hair(context, i) {
    const parent = nodes.parent[i]
    const { z } = place
    const from = {
      x: xOf(parent < 0 ? -1 : nodes.step[parent]) + halfOf(context, parent),
      y: yOf(rowOf(parent)) + 2 * z,
    }
    const to = tipOf(context, i)
    context.lineWidth = 0.9 * z
    context.beginPath()
    context.moveTo(from.x, from.y)
    context.bezierCurveTo(from.x + 4 * z, from.y, to.x - 8 * z, to.y, to.x, to.y)
    context.stroke()
    if (fateOf(i) === "late end") {
      context.lineWidth = z
      context.strokeRect(to.x, to.y - 2 * z, 4 * z, 4 * z)
    } else line(context, [to.x, to.y - 1.8 * z], [to.x, to.y + 1.8 * z])
  }

  /** The sign of what became of a hypothesis, behind x. */
  function sign(context, fate, x, y, ink, strong = false) {
    const { z } = place
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

  function node(context, paper, scale, i) {
    const { z } = place
    const [x, y] = [xOf(nodes.step[i]), yOf(nodes.row[i])]
    const fill = scale.css(shade(i))
    if (!asTokens()) {
      const size = dot() * (onAnswer[i] ? 1.3 : 1)
      context.fillStyle = onAnswer[i] ? paper.one("text") : fill
      context.fillRect(x - size / 2, y - size / 2, size, size)
      return
    }
    const { text, wide, tall, font } = box(context, i)
    const rim = (onAnswer[i] ? 2 : 1) * z
    soft(context, x - wide / 2, y - tall / 2, wide, tall, paper.one(onAnswer[i] ? "text" : "muted-line"))
    soft(context, x - wide / 2 + rim, y - tall / 2 + rim, wide - 2 * rim, tall - 2 * rim, fill)
    context.font = font
    context.fillStyle = isLight(fill) ? paper.one("dark-ink") : paper.one("light-ink")
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.fillText(text, x, y + 0.5)
    if (goesOn(i)) return
    const fate = fateOf(i)
    const strong = i === head.answer
    sign(context, fate, x + wide / 2, y, paper.one(strong ? "text" : "muted"), strong)
    if (rowHeight() < 41 * z) return
    const words = strong ? "answer" : WORDS[fate]
    const competed = strong || ["finished", "displaced", "cut off"].includes(fate)
    const scored = competed ? ` ${number(nodes.score[i], 2)}` : ""
    context.font = sans(12 * z, strong ? 600 : 400)
    context.textAlign = "left"
    const room = view.col * (strong ? 1.3 : 1) - 6 * z
    const whole = context.measureText(words + scored).width <= room ? words + scored : shorten(context, words, room)
    const long = context.measureText(whole).width
    const left = clamp(x - wide / 2, x - view.col / 2 + 4 * z, x + view.col / 2 - long)
    const below = y + tall / 2 + 10 * z
    context.fillStyle = paper.one("page") // lines of other hypotheses pass behind the words
    context.fillRect(left - 2 * z, below - 6 * z, long + 4 * z, 12.5 * z)
    context.fillStyle = paper.one(strong ? "text" : "muted")
    context.fillText(whole, left, below)
  }

  function paintTree(context, paper, width, height) {
    const scale = paper.scale("decoder")
    const [first, behind] = seen(width)
    const { z } = place
    const outside = (i) => {
      const [a, b] = [yOf(rowOf(nodes.parent[i])), yOf(nodes.row[i])]
      return Math.max(a, b) < 0 || Math.min(a, b) > height
    }
    const each = (what) => {
      for (let i = starts[first]; i < starts[Math.min(steps, behind + 1)]; i++)
        if (nodes.row[i] >= 0 && !outside(i)) what(i)
    }
    if (hasHairs()) {
      context.strokeStyle = paper.one("faint")
      for (let i = starts[first]; i < starts[Math.min(steps, behind + 1)]; i++) {
        if (nodes.row[i] >= 0) continue
        const y = yOf(rowOf(nodes.parent[i]))
        if (y > -rowHeight() && y < height + rowHeight()) hair(context, i)
      }
    }
    context.strokeStyle = paper.one("faint")
    each((i) => onAnswer[i] || edge(context, i, thickness(i)))
    context.strokeStyle = paper.one("text")
    each((i) => onAnswer[i] && edge(context, i, Math.max(2 * z * Math.min(1, rowHeight() / 12), thickness(i))))
    if (view.x < (EDGE + ROOT) * z) start(context, paper)
    each((i) => node(context, paper, scale, i))
    axis(context, paper, width, first, behind)
  }

  function start(context, paper) {
    const { z } = place
    const [x, y] = [xOf(-1), yOf(rootRow)]
    if (!asTokens() || !head.start) {
      context.fillStyle = paper.one("muted")
      return context.fillRect(x - dot() / 2, y - dot() / 2, dot(), dot())
    }
    const { text, wide, tall, font } = box(context, -1)
    soft(context, x - wide / 2, y - tall / 2, wide, tall, paper.one("muted"))
    soft(context, x - wide / 2 + z, y - tall / 2 + z, wide - 2 * z, tall - 2 * z, paper.one("page"))
    context.font = font
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.fillStyle = paper.one("muted")
    context.fillText(text, x, y + 0.5)
  }

  function axis(context, paper, width, first, behind) {
    const { z } = place
    context.fillStyle = paper.one("page")
    context.fillRect(0, 0, width, (AXIS - 4) * z)
    context.fillStyle = paper.one("line")
    context.fillRect(0, (AXIS - 4) * z, width, 1)
    context.font = mono(12 * z)
    context.textAlign = "center"
    context.textBaseline = "middle"
    context.fillStyle = paper.one("muted")
    const every = [1, 2, 5, 10, 20, 50, 100].find((n) => n * view.col >= 30 * z) ?? 200
    for (let number = Math.ceil((first + 1) / every) * every; number <= behind; number += every)
      if (xOf(number - 1) > 52 * z) context.fillText(String(number), xOf(number - 1), 10 * z)
    context.font = sans(12 * z)
    context.textAlign = "left"
    context.fillText("step", EDGE * z, 10 * z)
  }

  // ---- the legend: what colour, width and signs mean

  function legendLayout(context, width, z = place.z) {
    const fates = Object.keys(MEANINGS).filter((fate) => head.fates.includes(fate))
    /** @type {{kind: string, text: string, before?: string, lead?: number, sample?: number, wide?: number, x?: number, row?: number}[]} */
    const items = [
      { kind: "score", before: number(low, 2), text: `${number(high, 2)}  score` },
      { kind: "width", before: "0", text: "1  probability of the token" },
      { kind: "answer", text: "the answer" },
      ...fates.map((fate) => ({ kind: fate, text: MEANINGS[fate] })),
    ]
    let [x, row] = [0, 0]
    context.font = sans(13 * z)
    for (const item of items) {
      const lead = item.before === undefined ? 0 : context.measureText(item.before).width + 6 * z
      const sample = { score: 96, width: 60, answer: 26, stopped: 22, "cut off": 22 }[item.kind] ?? 20
      item.lead = lead
      item.sample = sample * z
      item.wide = lead + item.sample + 6 * z + context.measureText(item.text).width
      if (x && x + item.wide > width) [x, row] = [0, row + 1]
      Object.assign(item, { x, row })
      x += item.wide + 20 * z
    }
    return { items, height: (row + 1) * 22 * z + 6 * z }
  }

  function paintLegend(context, paper, top, width) {
    const { z } = place
    const scale = paper.scale("decoder")
    for (const item of legendLayout(context, width).items) {
      const y = top + item.row * 22 * z + 13 * z
      const x = item.x + item.lead
      context.textBaseline = "middle"
      context.textAlign = "left"
      context.font = sans(13 * z)
      context.fillStyle = paper.one("muted")
      if (item.before !== undefined) context.fillText(item.before, item.x, y)
      context.fillText(item.text, x + item.sample + 6 * z, y)
      if (item.kind === "score") {
        for (let n = 0; n < item.sample; n++) {
          context.fillStyle = scale.css(n / (item.sample - 1))
          context.fillRect(x + n, y - 4 * z, 1.5, 8 * z)
        }
      } else if (item.kind === "width") {
        context.fillStyle = paper.one("muted")
        const [thin, thick] = [FINE.thin * z, FINE.thick * z]
        for (let n = 0; n < item.sample; n++) {
          const tall = thin + (thick * n) / (item.sample - 1)
          context.fillRect(x + n, y - tall / 2, 1.2, tall)
        }
      } else if (item.kind === "answer") {
        context.strokeStyle = paper.one("text")
        context.lineWidth = 3 * z
        line(context, [x, y], [x + item.sample, y])
      } else sign(context, item.kind, x, y, paper.one("muted"))
    }
  }

  const inks = () => {
    const paper = colours(root)
    const dark = !isLight(paper.one("page"))
    const names = {
      "dark-ink": dark ? "page" : "text",
      "light-ink": dark ? "text" : "page",
      "muted-line": "line",
      faint: "derived-2",
    }
    return { ...paper, one: (name) => paper.one(names[name] ?? name) }
  }

  /** For a file: the whole tree at the present width of the columns, or what is seen of it if that is too large. */
  function paintAll(context) {
    const [was, { z }] = [view, place]
    const { width, height } = frameOfExport()
    const paper = inks()
    context.font = sans(16 * z, 600)
    context.textAlign = "left"
    context.textBaseline = "middle"
    context.fillStyle = paper.one("text")
    context.fillText(shorten(context, head.title, width), 0, 12 * z)
    if (isWhole()) view = { ...view, x: 0, y: 0 }
    context.save()
    context.translate(0, 34 * z)
    paintTree(context, paper, width, height)
    mark(context, paper)
    context.restore()
    context.save()
    context.translate(0, 34 * z + height)
    paintLegend(context, paper, 0, width)
    context.restore()
    view = was
  }

  function paintBase() {
    paintTree(prepare(base, place.width, place.height), inks(), place.width, place.height)
    paintOverview()
    paintOver()
    part.textContent = whatIsSeen()
    stage.classList.toggle("wide", !fits())
    stage.dataset.painted = String(performance.now())
  }

  /** The ring of what is chosen. */
  function mark(context, paper) {
    const i = chosen()
    if (i === null || (nodes.row[i] < 0 && !hasHairs())) return
    ring(context, paper, i, 2)
  }
  function ring(context, paper, i, thick) {
    const { z } = place
    const { x, y } = at(context, i)
    if (y < AXIS * z && nodes.row[i] >= 0 && y + 14 * z < AXIS * z) return
    const { wide, tall } =
      nodes.row[i] < 0
        ? { wide: 8 * z, tall: 8 * z }
        : asTokens()
          ? box(context, i)
          : { wide: dot() * 1.3, tall: dot() * 1.3 }
    const [left, top] = [x - wide / 2 + (nodes.row[i] < 0 ? 2 * z : 0), y - tall / 2]
    context.lineWidth = thick * z
    if (thick > 1) {
      context.strokeStyle = paper.one("page")
      context.strokeRect(left - z, top - z, wide + 2 * z, tall + 2 * z)
    }
    context.strokeStyle = paper.one("text")
    const out = thick > 1 ? 2.5 * z : 1.5 * z
    context.strokeRect(left - out, top - out, wide + 2 * out, tall + 2 * out)
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = inks()
    const looked = hovered ?? focused
    if (looked !== null) {
      const path = []
      for (let i = looked; i >= 0; i = nodes.parent[i]) path.push(i)
      context.strokeStyle = paper.one("text")
      for (const i of path) if (nodes.row[i] >= 0) edge(context, i, Math.max(1.5 * place.z, thickness(i)))
      if (nodes.row[looked] < 0 && hasHairs()) hair(context, looked)
      for (const i of path) if (nodes.row[i] >= 0) node(context, paper, paper.scale("decoder"), i)
      context.clearRect(0, 0, place.width, (AXIS - 3) * place.z)
      if (nodes.row[looked] >= 0 || hasHairs()) ring(context, paper, looked, 1)
    }
    mark(context, paper)
  }

  function paintOverview() {
    const { z, width } = place
    const height = 20 * z
    const idle = fits()
    overview.classList.toggle("idle", idle)
    if (idle) {
      prepare(overview, width, height)
      return
    }
    const paper = inks()
    const state = [head.tree, width, z, paper.one("page"), sharpness(stage)].join()
    if (shot?.state !== state) {
      const canvas = element("canvas")
      const context = prepare(canvas, width, height)
      const [across, down] = [width / steps, (height - 4 * z) / R]
      context.fillStyle = paper.one("surface")
      context.fillRect(0, 0, width, height)
      for (let i = 0; i < N; i++) {
        if (nodes.row[i] < 0) continue
        context.fillStyle = paper.one(onAnswer[i] ? "text" : "faint")
        context.fillRect(
          nodes.step[i] * across,
          2 * z + nodes.row[i] * down,
          across,
          Math.max(0.5, Math.min((onAnswer[i] ? 2 : 1) * z, down - 0.5)),
        )
      }
      shot = { state, canvas }
    }
    const context = prepare(overview, width, height)
    context.drawImage(shot.canvas, 0, 0, width, height)
    const from = (view.x / wholeWidth()) * width
    const to = ((view.x + width) / wholeWidth()) * width
    const top = (view.y / wholeHeight()) * height
    const bottom = Math.min(1, (view.y + place.height) / wholeHeight()) * height
    context.lineWidth = 1.5 * z
    context.strokeStyle = paper.one("text")
    context.strokeRect(from + z, top + z, Math.min(width, to) - from - 2 * z, bottom - top - 2 * z)
  }

  // ---- moving

  let waiting = false
  const repaint = () => {
    // not more often than the screen
    if (waiting) return
    waiting = true
    requestAnimationFrame(() => {
      waiting = false
      if (root.isConnected && place) paintBase()
    })
  }
  function moveTo(x, y) {
    ;[view.x, view.y] = [x, y]
    settle()
    hovered = null
    if (focused === null) tip.hide()
    else tell(focused)
    repaint()
  }
  /** Zoom so that what is at this place of the stage stays there. */
  function zoomBy(factor, x = place.width / 2, y = place.height / 2) {
    const { z } = place
    const column = (x + view.x - (EDGE + ROOT) * z) / view.col
    const row = (y + view.y - AXIS * z) / rowHeight()
    view.col = clamp(view.col * factor, place.least, place.most)
    labels = new Map()
    moveTo((EDGE + ROOT) * z + column * view.col - x, AXIS * z + row * rowHeight() - y)
    view.own = true
  }
  function reset() {
    view = { col: place.col, x: 0, y: 0, own: false }
    labels = new Map()
    moveTo(0, 0)
  }
  /** Scroll so far that this one is on the picture. */
  function reveal(i) {
    const context = over.getContext("2d")
    const { x, y } = at(context, i)
    const [aside, above] = [Math.min(view.col, place.width / 3), rowHeight()]
    const right = x < aside ? x - aside : x > place.width - aside ? x - place.width + aside : 0
    const down =
      y < AXIS * place.z + above / 2
        ? y - AXIS * place.z - above / 2
        : y > place.height - above / 2
          ? y - place.height + above / 2
          : 0
    if (!right && !down) return
    view.x += right
    view.y += down
    settle()
    paintBase()
  }

  // ---- pointing, choosing, walking

  const point = (event) => {
    const { x, y } = pointIn(stage, event)
    return [x, y]
  }
  function tell(i) {
    const context = over.getContext("2d")
    const { x, y } = at(context, i)
    const half = nodes.row[i] >= 0 && asTokens() ? box(context, i).tall / 2 : 4
    tip.show(sentences(i), clamp(x, 0, place.width), stage.offsetTop + y + half)
  }
  function look(i) {
    stage.classList.toggle("pointing", i !== null)
    if (i === hovered) return
    hovered = i
    if (i === null) tip.hide()
    else tell(i)
    paintOver()
  }
  function pick(i) {
    selection.pick({ dec_node: i })
    announce(`chosen: ${sentences(i).join(", ")}`)
  }
  function walk(i) {
    focused = i
    hovered = null
    reveal(i)
    tell(i)
    paintOver()
    announce(sentences(i).join(", "))
  }

  stage.onpointerdown = (event) => {
    if (event.button || !view) return
    drag = { from: [event.clientX, event.clientY], x: view.x, y: view.y, far: false, id: event.pointerId }
  }
  stage.onpointermove = (event) => {
    if (drag && !(event.buttons & 1)) drop() // it was let go of outside
    if (!drag) return look(found(...point(event)))
    const k = magnified(stage)
    const [right, down] = [(event.clientX - drag.from[0]) / k, (event.clientY - drag.from[1]) / k]
    if (!drag.far && Math.hypot(right, down) < 4) return
    if (!drag.far) {
      drag.far = true
      look(null)
      stage.setPointerCapture(drag.id)
      stage.classList.add("dragged")
    }
    moveTo(drag.x - right, drag.y - down)
  }
  const drop = () => {
    const far = drag?.far
    drag = null
    stage.classList.remove("dragged")
    return far
  }
  stage.onpointerup = (event) => {
    if (!drag || drop()) return
    const i = found(...point(event))
    if (i === null) return
    focused = null // the keys go on from what is chosen
    pick(i)
  }
  stage.onpointercancel = drop
  stage.onpointerleave = () => {
    if (!drag) look(null)
  }
  stage.ondblclick = (event) => {
    if (found(...point(event)) === null) reset()
  }
  stage.onwheel = (event) => {
    const unit = event.deltaMode === 1 ? 16 : 1
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault()
      look(null)
      zoomBy(Math.exp(-clamp(event.deltaY * unit, -120, 120) / 240), ...point(event))
    } else {
      const across = event.shiftKey
        ? event.deltaY || event.deltaX
        : Math.abs(event.deltaX) > Math.abs(event.deltaY)
          ? event.deltaX
          : 0
      const was = view.x
      if (across) moveTo(view.x + across * unit, view.y)
      if (view.x !== was) {
        event.preventDefault()
        look(null)
      }
    }
  }
  overview.onpointerdown = overview.onpointermove = (event) => {
    if (!(event.buttons & 1) || fits()) return
    if (event.type === "pointerdown") overview.setPointerCapture(event.pointerId)
    const corner = overview.getBoundingClientRect()
    const across = (event.clientX - corner.left) / corner.width
    const down = (event.clientY - corner.top) / corner.height
    moveTo(across * wholeWidth() - place.width / 2, down * wholeHeight() - place.height / 2)
  }
  stage.onfocus = () => {
    if (stage.matches(":focus-visible")) walk(focused ?? chosen() ?? head.answer)
  }
  stage.onblur = () => {
    focused = null
    tip.hide()
    if (place) paintOver()
  }
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const here = focused ?? chosen() ?? head.answer
    const [column, parent] = [ofStep(nodes.step[here]), nodes.parent[here]]
    const besides = (by) => column[clamp(column.indexOf(here) + by, 0, column.length - 1)]
    const to = {
      ArrowLeft: () => (parent < 0 ? here : parent),
      ArrowRight: () => kept[here][0] ?? hairs[here][0] ?? here,
      ArrowUp: () => besides(-1),
      ArrowDown: () => besides(1),
      Home: () => ofStep(0)[0],
      End: () => head.answer,
    }[event.key]
    if (to) walk(to())
    else if (event.key === "Enter" || event.key === " ") pick(here)
    else if (event.key === "+" || event.key === "=") zoomBy(1.35)
    else if (event.key === "-" || event.key === "_") zoomBy(1 / 1.35)
    else if (event.key === "0") reset()
    else {
      if (event.key !== "Escape") return
      focused = hovered = null
      tip.hide()
      paintOver()
      return
    }
    event.preventDefault()
    event.stopPropagation()
  }

  let marked
  const made = {
    update({ header }) {
      if (head?.tree === header.tree) {
        head = { ...header, nodes }
        return
      }
      read(header)
      view = hovered = focused = drag = shot = null
      marked = undefined
      labels = new Map()
      tip.hide()
      title.textContent = head.title
      stage.setAttribute(
        "aria-label",
        `${head.title}, ${N} hypotheses. Left and right arrow keys go to what a hypothesis extends and to what extends it, up and down along its step, End to the answer, Enter chooses, plus and minus zoom, 0 resets.`,
      )
      legend.setAttribute(
        "aria-label",
        "Legend: the darker, the higher the score; the thicker a line, the more probable the token; the black line is the answer.",
      )
    },
    draw() {
      const before = place
      place = measure()
      const changed = !before || before.width !== place.width || before.z !== place.z || before.col !== place.col
      if (!view || (changed && !view.own)) view = { x: 0, y: 0, ...view, col: place.col, own: false }
      if (changed) labels = new Map()
      stage.style.height = `${place.height}px`
      settle()
      paintLegend(
        prepare(legend, place.width, legendLayout(legend.getContext("2d"), place.width).height),
        inks(),
        0,
        place.width,
      )
      paintBase()
      const picked = selection.chosen.dec_node
      if (picked !== marked) {
        marked = picked
        if (typeof picked === "number" && chosen() !== null) reveal(picked)
      }
    },
  }
  return made
}
