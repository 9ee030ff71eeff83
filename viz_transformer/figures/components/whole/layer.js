import { dotted, hatch, ring } from "../parts/marks.js"
import { number, percent } from "../parts/numbers.js"
import { mention, sans } from "../parts/text.js"
import { groupWays, headRows, layerAt, placeLayer, titleLine } from "../parts/whole_layer_places.js"
import { siteOf } from "../parts/whole_levels.js"
import { leastName, namedAmong } from "../parts/whole_names.js"
import { isUnknown, mostOf, strongestIn } from "../parts/whole_rows.js"
import { detailSentences, LEAST, layerSentence } from "../parts/whole_words.js"
import { drawPlus, drawStrip, drawWay, largestIn, say, sayUpright } from "./draw.js"

// The second level: one layer at one token. The stream along the top; what each sub-layer reads of it, does and adds.

const SUBLAYERS = { self: "self-attention", cross: "cross-attention", ffn: "feed-forward" }
const FEW = 24 // so many keys have a column in any case
const LAYER_VEIL = 0.35

export function layerScene(view) {
  let place
  let most = {}
  let known = null

  const detail = () => view.detail("layer")
  const stackNow = () => siteOf(view.head, view.chosen).stack
  const keysOf = (part) =>
    part.kind === "cross" ? view.head.stacks.find(({ name }) => name === "encoder").tokens : stackNow().tokens
  /** The sub-layers, as the run's picture knows them too, before the detail is there. */
  const partsNow = () => {
    const { stack, part } = siteOf(view.head, view.chosen)
    const found = detail()
    const mine = stack.parts.filter(({ layer }) => layer === part.layer)
    return mine.map((each) => ({ ...each, ...found?.header.parts.find(({ part: name }) => name === each.part) }))
  }
  const isPost = () => detail()?.header.norm === "post"
  /** The sub-layer that is marked: walked to, or the attention that is chosen. */
  const marked = () => {
    if (view.walked !== null) return view.walked
    const { part } = siteOf(view.head, view.chosen)
    return partsNow().findIndex((each) => each.part === part.part)
  }
  const counts = ({ part }) => (part.kind ? { heads: part.heads, keys: keysSeen(part) } : null)
  /** So many keys have a column: of a long text those behind the last one that the row may look at have none. */
  const keysSeen = (part) => {
    const all = keysOf(part).length
    const mask = detail()?.arrays[`mask.${part.part}`]
    if (!mask || all <= FEW) return all
    const row = view.rowOf(stackNow())
    return Math.max(FEW, mask.values.subarray(row * all, (row + 1) * all).lastIndexOf(1) + 1)
  }

  function lay(width, height) {
    place = placeLayer({ z: view.z, width, height, parts: partsNow(), post: isPost() })
    const found = detail()
    if (found && found !== known) {
      known = found
      most = Object.fromEntries(
        Object.entries(found.arrays)
          .filter(([name]) => /^(before|in|out|total|after|hidden)\./.test(name))
          .map(([name, { values }]) => [name, largestIn(values)]),
      )
    }
  }

  function paintStill(context) {
    const paper = view.paper()
    const stack = stackNow()
    const row = view.rowOf(stack)
    context.strokeStyle = paper.one("muted")
    context.lineWidth = 2
    drawWay(context, [
      [0, place.stream],
      [place.after.x, place.stream],
    ])
    titles(context, paper, stack, row)
    for (const group of place.groups) paintGroup(context, paper, group, row)
    const { after, groups, z } = place
    vector(context, paper, `after.${groups[groups.length - 1].part.part}`, after, row)
    const below = after.y + after.height + 12 * z
    small(context, paper, "goes on", after.x + after.width, below, { align: "right" })
  }

  /** A line in small muted letters. */
  function small(context, paper, text, x, y, more = {}) {
    say(context, text, x, y, { size: 12 * place.z, colour: paper.one("muted"), ...more })
  }

  /** Above the stream: at which token it is, and what is unusual in this layer. */
  function titles(context, paper, stack, row) {
    const { z, groups, width } = place
    const titled = say(context, `stream at ${mention(stack.tokens[row])}`, 0, titleLine(place) - 2 * z, {
      size: 13 * z,
      colour: paper.one(stack.ink),
      weight: 600,
      width: groups[groups.length - 1].x,
    })
    small(context, paper, (detail()?.header.remarks ?? []).join(" "), width, titleLine(place) - 2 * z, {
      align: "right",
      width: width - titled - 24 * z,
    })
  }

  /** A vector of the row as a strip in its box, which is empty where the run does not tell it. */
  function vector(context, paper, name, box, row) {
    const array = detail()?.arrays[name]
    context.fillStyle = paper.one("surface")
    context.fillRect(box.x, box.y, box.width, box.height)
    if (!array) return
    const count = array.shape[1]
    drawStrip(context, paper, box, array.values, { from: row * count, count, largest: most[name] })
  }

  /** A sub-layer at the row: its ways, its name and its norm, its vectors, and how much it adds. */
  function paintGroup(context, paper, group, row) {
    const { part, read, out, before, total } = group
    const { z } = place
    const value = (what) => detail()?.arrays[`${what}.${part.part}`]?.values[row]
    context.strokeStyle = paper.one("muted")
    context.lineWidth = 1.5
    for (const way of groupWays(group, place)) drawWay(context, way, 6 * z)
    const roomy = Math.max(40 * z, group.plus - read.x - 8 * z)
    context.font = sans(14 * z, 600)
    const whole = context.measureText(SUBLAYERS[part.part]).width <= roomy
    say(context, whole || part.kind ? SUBLAYERS[part.part] : "ff", read.x, before.y + before.height + 16 * z, {
      size: 14 * z,
      colour: paper.one("text"),
      weight: 600,
      width: roomy,
    })
    if (value("mean") !== undefined) norm(context, paper, group, value)
    vector(context, paper, `before.${part.part}`, before, row)
    vector(context, paper, `in.${part.part}`, read, row)
    if (total) vector(context, paper, `total.${part.part}`, total, row)
    vector(context, paper, `out.${part.part}`, out, row)
    drawPlus(context, paper, group.plus, place.stream, 7 * z)
    if (value("share") !== undefined) {
      const [added, came, share] = [value("added"), value("came"), percent(value("share"))]
      const lines = [2, 1].map((digits) => `adds ${number(added, digits)} to ${number(came, digits)}: ${share}`)
      const room = group.x + group.width - out.x - 8 * z
      oneOf(context, paper, [...lines, `adds ${share}`], out.x, out.y + out.height + 10 * z, room)
    }
    if (part.kind) heads(context, paper, group, row)
    else units(context, paper, group, row)
  }

  /** Mean and scale of a norm, on one line or on two; on the stream only its name. */
  function norm(context, paper, { norm: box, read, plus }, value) {
    const { z } = place
    const [mean, scale] = [`norm: mean ${number(value("mean"), 2)}`, `scale ${number(value("scale"), 2)}`]
    const room = plus - read.x - 8 * z
    context.font = sans(12 * z)
    if (isPost()) small(context, paper, "norm", box.x, box.y + box.height / 2)
    else if (context.measureText(`${mean}, ${scale}`).width <= room)
      small(context, paper, `${mean}, ${scale}`, read.x, read.y - 8 * z)
    else {
      oneOf(context, paper, [mean, mean.slice("norm: ".length)], read.x, read.y - 22 * z, room)
      small(context, paper, scale, read.x, read.y - 8 * z, { width: room })
    }
  }

  /** The first of these lines that has room from x on, else the last one in that room. */
  function oneOf(context, paper, lines, x, y, width) {
    const size = 12 * place.z
    context.font = sans(size)
    const line = lines.find((each) => context.measureText(each).width <= width) ?? lines.at(-1)
    say(context, line, x, y, { size, colour: paper.one("muted"), width })
  }

  /** What each head takes from whom, a row for each head. */
  function heads(context, paper, group, row) {
    const { part, content } = group
    const { z } = place
    const keys = keysOf(part).slice(0, keysSeen(part))
    const rows = headRows(content, part.heads, keys.length, z)
    const scale = paper.scale(part.kind)
    const ink = paper.one(part.kind === "cross" ? "source-ink" : stackNow().ink)
    const found = detail()
    const size = Math.max(leastName(z), Math.min(12 * z, rows.row * 0.9))
    const named = namedAmong(part.heads, rows.row, size * 0.95)
    const most = keys.map(() => 0)
    for (let head = 0; head < part.heads; head++) {
      const y = rows.y + head * rows.row
      if (named.has(head))
        say(context, `head ${head}`, rows.x - 5 * z, y + rows.row / 2, {
          size,
          colour: paper.one("muted"),
          align: "right",
        })
      context.fillStyle = scale.css(0)
      context.fillRect(rows.x, y, rows.cell * keys.length, rows.row - 1)
      if (!found || !(`rest.${part.part}` in found.arrays)) continue
      closed(context, paper, found.arrays[`mask.${part.part}`], row, rows, y)
      const there = strongestIn(found.arrays, part.part, head, row)
      if (isUnknown(there)) dotted(context, paper, rows.x, y, rows.cell * keys.length, rows.row - 1)
      for (let n = 0; n < there.keys.length; n++) {
        const key = there.keys[n]
        if (key >= keys.length) continue
        context.fillStyle = scale.css(there.weights[n])
        context.fillRect(rows.x + key * rows.cell, y, Math.max(1, rows.cell - (rows.cell > 6 ? 1 : 0)), rows.row - 1)
        most[key] = Math.max(most[key], there.weights[n])
      }
    }
    const letters = Math.min(13 * z, Math.max(leastName(z), rows.cell * 0.9))
    const strongest = keys.map((_, key) => key).sort((a, b) => most[b] - most[a])
    for (const key of namedAmong(keys.length, rows.cell, letters * 0.95, strongest)) {
      const x = rows.x + (key + 0.5) * rows.cell
      sayUpright(context, keys[key].text, x, rows.labels, { size: letters, colour: ink, width: rows.below })
    }
  }

  /** Where the row may not look. */
  function closed(context, paper, mask, row, rows, y) {
    if (!mask) return
    const { keys: count } = rows
    const line = mask.values.subarray(row * mask.shape[1], row * mask.shape[1] + count)
    for (let from = 0; from < count; from++) {
      if (line[from]) continue
      let to = from
      while (to < count && !line[to]) to++
      context.fillStyle = paper.one("surface")
      context.fillRect(rows.x + from * rows.cell, y, (to - from) * rows.cell - 1, rows.row - 1)
      context.strokeStyle = paper.one("line")
      hatch(context, rows.x + from * rows.cell, y, (to - from) * rows.cell - 1, rows.row - 1, 5)
      from = to
    }
  }

  /** What the hidden units of a feed-forward are. */
  function units(context, paper, group, row) {
    const found = detail()
    const hidden = found?.arrays["hidden.ffn"]
    if (!hidden) return
    const { z } = place
    const { content } = group
    const count = hidden.shape[1]
    const top = content.y + 18 * z
    const height = Math.max(0, Math.min(content.height - 40 * z, 200 * z)) // 0 in a low window: words alone
    const zero = top + height * 0.7
    const cell = content.width / count
    for (let n = 0; n < count && height; n++) {
      const value = hidden.values[row * count + n] / most["hidden.ffn"]
      if (!Number.isFinite(value)) {
        dotted(context, paper, content.x + n * cell, top, cell, height)
        continue
      }
      context.fillStyle = value > 0 ? paper.one("text") : paper.one("muted")
      const tall = Math.abs(value) * height * (value > 0 ? 0.7 : 0.3)
      context.fillRect(content.x + n * cell, value > 0 ? zero - tall : zero, Math.max(1, cell - 1), Math.max(0.6, tall))
    }
    const said = (lines, y) => oneOf(context, paper, lines, content.x, y, group.plus - content.x - 8 * z)
    const of = `${count} of ${group.part.units.toLocaleString("en")}`
    said([`${of} hidden units`, `${of} units`, of], content.y + 6 * z)
    const active = found.arrays["active.ffn"]
    const above = active && percent(active.values[row])
    const below = height ? top + height + 14 * z : content.y + 20 * z
    if (active) said([`${above} are above 0`, `${above} > 0`, `${percent(active.values[row], 0)} > 0`], below)
  }

  function paintNow(context) {
    const paper = view.paper()
    const { z } = place
    const group = place.groups[marked()]
    if (group) {
      context.strokeStyle = paper.one("text")
      context.lineWidth = 1.5
      const { content } = group
      ring(context, paper, content.x - 6 * z, content.y - 6 * z, content.width + 10 * z, content.height + 6 * z)
    }
    const { hovered } = view
    if (hovered?.head !== null && hovered?.head !== undefined && hovered.key !== null) {
      const rows = headRows(hovered.group.content, hovered.group.part.heads, keysSeen(hovered.group.part), z)
      context.strokeStyle = paper.one("text")
      context.lineWidth = 1
      context.strokeRect(rows.x + hovered.key * rows.cell, rows.y + hovered.head * rows.row, rows.cell, rows.row)
    }
    const through = view.through
    if (through >= 1) return
    context.globalAlpha = 1 - LAYER_VEIL / 2
    context.fillStyle = paper.one("page")
    const front = through * place.width
    context.fillRect(front, 0, place.width - front, place.height)
    context.globalAlpha = 1
  }

  /** What one sub-layer does, in sentences. */
  const told = (part, row) =>
    detailSentences(stackNow(), part, detail().arrays, row, {
      post: isPost(),
      keys: part.kind ? keysOf(part) : null,
    })

  return {
    lay,
    paintStill,
    paintNow,
    size: () => ({ width: place.width, height: place.height }),
    state: () =>
      [view.rowOf(stackNow()), detail() ? 1 : 0, siteOf(view.head, view.chosen).part.layer, stackNow().name].join(),
    boxOf() {
      const group = place.groups.find(({ part }) => part.kind === siteOf(view.head, view.chosen).part.kind)
      return (group ?? place.groups[0]).content
    },
    sentence() {
      if (!detail()) return view.lack("layer")
      const { hovered } = view
      const stack = stackNow()
      const row = view.rowOf(stack)
      if (hovered?.key !== null && hovered?.key !== undefined) {
        const { part } = hovered.group
        if (!(`rest.${part.part}` in detail().arrays)) return told(part, row).join(" ")
        const there = strongestIn(detail().arrays, part.part, hovered.head, row)
        const n = Array.from(there.keys).indexOf(hovered.key)
        if (n < 0 && isUnknown(there))
          return `Head ${hovered.head}: ${mention(stack.tokens[row])} has weights that are not a number.`
        const share = n < 0 ? `less than ${100 * LEAST} %` : percent(there.weights[n])
        return `Head ${hovered.head}: ${mention(stack.tokens[row])} puts ${share} of its attention on ${mention(keysOf(part)[hovered.key])}.`
      }
      const group = hovered?.group ?? place.groups[view.walked] ?? null
      if (group) return `${title(group.part)}: ${summary(group.part, row)}`
      return layerSentence(stack, partsNow(), detail().arrays, row)
    },
    sentences() {
      if (!detail()) return []
      const row = view.rowOf(stackNow())
      const said = partsNow().flatMap((part) =>
        told(part, row).map((each, n) => (n ? each : `${title(part)}. ${each}`)),
      )
      return [...said, ...detail().header.remarks]
    },
    at: (x, y) => layerAt(place, x, y, counts),
    /** The sub-layers that the arrow keys walk through. */
    walks: () => partsNow(),
    update() {
      known = null
    },
  }

  function title({ part }) {
    return `${SUBLAYERS[part][0].toUpperCase()}${SUBLAYERS[part].slice(1)}`
  }
  function summary(part, row) {
    if (!part.kind || !(`rest.${part.part}` in detail().arrays)) return told(part, row).join(" ")
    const rows = Array.from({ length: part.heads }, (_, head) =>
      mostOf(strongestIn(detail().arrays, part.part, head, row)),
    )
    const strongest = rows.reduce(
      (best, each, head) => (each && (!best || each.weight > best.weight) ? { ...each, head } : best),
      null,
    )
    const most = strongest
      ? `head ${strongest.head} is the most focused, with ${percent(strongest.weight)} of its attention on ${mention(keysOf(part)[strongest.key])}. `
      : ""
    const added = told(part, row).find((each) => each.startsWith("It adds")) ?? ""
    return `${most}${added}`
  }
}
