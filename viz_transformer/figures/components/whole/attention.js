import { MASKED_LEVEL } from "../parts/maps.js"
import { ring } from "../parts/marks.js"
import { number, percent, share } from "../parts/numbers.js"
import { mention, sans, wrappedTo } from "../parts/text.js"
import { attentionAt, cellOf, placeAttention, rowIn } from "../parts/whole_attention_places.js"
import { headOf, keyStackOf, siteOf } from "../parts/whole_levels.js"
import { leastName, namedAmong } from "../parts/whole_names.js"
import { drawCells, drawWay, largestIn, say, signedLevels } from "./draw.js"

// The third level: one attention. Over it the maps of all heads; below, one head computed from the left to the right:
// queries, keys, scores, mask, weights, values, and what it hands on.

const GRID_NAMES = {
  query: "queries q",
  key: "keys k",
  scores: "scores",
  mask: "mask",
  weights: "weights",
  value: "values v",
  output: "output",
}
const GRID_POINTS = {
  query: "query",
  key: "key",
  scores: "scores",
  weights: "weights",
  value: "value",
  output: "head_out",
}
const [LEAST_REMARK, REMARK_LINES] = [200, 4]
const ATTENTION_VEIL = 0.85

export function attentionScene(view) {
  let place
  let levels = {}
  let known = null

  const detail = () => view.detail("attention")
  const site = () => siteOf(view.head, view.chosen)
  const keyStack = () => keyStackOf(view.head, site())
  const cell = () => ({ row: view.rowOf(site().stack), column: view.keyOf(keyStack()) })
  const open = (found, r, c) => {
    const mask = found.arrays.mask
    return !mask || mask.values[r * mask.shape[1] + c] === 1
  }

  function lay(width, height) {
    const found = detail()
    place = placeAttention({
      z: view.z,
      width,
      height,
      queries: site().stack.tokens.length,
      keys: keyStack().tokens.length,
      dimensions: found?.arrays.query?.shape[1] ?? found?.arrays.value?.shape[1] ?? 16,
      heads: site().part.heads,
    })
    if (found && found !== known) {
      known = found
      levels = levelsOf(found)
    }
  }

  /** Where the cells of each grid stand in its scale, row by row; a masked one has none of its own, NaN is not a number. */
  function levelsOf(found) {
    const mask = found.arrays.mask?.values
    const masked = (made, values = null) => {
      if (mask)
        for (let n = 0; n < made.length; n++) if (mask[n] !== 1 && (values?.[n] ?? 0) === 0) made[n] = MASKED_LEVEL
      return made
    }
    const made = {}
    for (const [name, point] of Object.entries(GRID_POINTS)) {
      const values = found.arrays[point]?.values
      if (!values) continue
      if (name === "weights") made.weights = masked(Float32Array.from(values), values)
      else made[name] = signedLevels(values, 0, values.length, largestIn(values))
    }
    const shown = found.arrays.scores ?? found.arrays.weights
    if (made.scores) masked(made.scores)
    if (shown) made.mask = masked(new Float32Array(shown.values.length).fill(1))
    return made
  }

  function paintStill(context) {
    const paper = view.paper()
    const { z } = place
    const found = detail()
    const { part, stack } = site()
    const head = headOf(view.chosen, part.heads)
    const muted = paper.one("muted")
    maps(context, paper, found, part, head)
    remarks(context, paper, found)
    const scale = paper.scale(part.kind)
    const signed = paper.scale("diverging")
    const flat = { css: () => paper.one("line"), pixels: new Uint32Array(1024).fill(paper.pixel("line")) }
    for (const name of Object.keys(GRID_NAMES)) {
      const grid = place[name]
      if (found && levels[name]) {
        if (name === "mask") drawCells(context, paper, grid, flat, levels[name])
        else if (name === "weights") drawCells(context, paper, grid, scale, levels[name])
        else drawCells(context, paper, grid, signed, levels[name], 0.5)
      } else {
        context.strokeStyle = paper.one("line")
        context.lineWidth = 1
        context.strokeRect(grid.x, grid.y, grid.width, grid.height)
      }
      titles(context, paper, name, grid, found)
    }
    for (const { x, text } of place.signs)
      if (text)
        say(context, text, x, place.top + Math.min(place.query.height, place.key.height, 60 * z) / 2, {
          size: 16 * z,
          colour: muted,
          align: "center",
          weight: 600,
        })
    labels(context, paper, stack, place.queryLabels, place.query, cell().row)
    labels(context, paper, keyStack(), place.keyLabels, place.key, cell().column)
  }

  /** The maps of all heads, small. */
  function maps(context, paper, found, part, head) {
    const { z } = place
    const array = found?.arrays.maps
    const scale = paper.scale(part.kind)
    place.heads.forEach((box, n) => {
      context.fillStyle = scale.css(0)
      context.fillRect(box.x, box.y, box.width, box.height)
      if (array) {
        const [, rows, columns] = array.shape
        const from = n * rows * columns
        drawCells(context, paper, { ...box, rows, columns }, scale, array.values.subarray(from, from + rows * columns))
      }
      if (box.width >= 26 * z)
        say(context, `${box.width >= 54 * z ? "head " : ""}${n}`, box.x, 8 * z, {
          size: 12 * z,
          colour: paper.one(n === head ? "text" : "muted"),
          weight: n === head ? 600 : 400,
        })
    })
  }

  /** What is unusual in this model, beside the maps. */
  function remarks(context, paper, found) {
    const { z } = place
    const last = place.heads[place.heads.length - 1]
    const x = last.x + last.width + 28 * z
    if (place.width - x < LEAST_REMARK * z) return
    const said = (found?.header.remarks ?? []).join(" ")
    context.font = sans(13 * z)
    wrappedTo(context, said, place.width - x, REMARK_LINES).forEach((line, n) =>
      say(context, line, x, (22 + n * 17) * z, { size: 13 * z, colour: paper.one("muted") }),
    )
  }

  function titles(context, paper, name, grid, found) {
    const { z } = place
    const muted = paper.one("muted")
    const divisor = found?.header.divisor
    const formulas = {
      query: [sizes("query")],
      key: [sizes("key")],
      scores: [divisor ? `q·k / ${rooted(divisor)}` : "q·k"],
      mask: ["may it look?", "may look"],
      weights: ["softmax of a row", "softmax"],
      value: [sizes("value")],
      output: ["weights · v", "w · v"],
    }[name]
    const all = Object.keys(GRID_NAMES)
    const next = all[all.indexOf(name) + 1]
    const room = (next ? place[next].x : place.width) - grid.x - 6 * z
    say(context, GRID_NAMES[name], grid.x, grid.y - 30 * z, {
      size: 13 * z,
      colour: paper.one("text"),
      weight: 600,
      width: room,
    })
    context.font = sans(12 * z)
    const formula = formulas.find((each) => context.measureText(each).width <= room) ?? formulas.at(-1)
    say(context, formula, grid.x, grid.y - 14 * z, { size: 12 * z, colour: muted, width: room })
    const said = below(name, found)
    if (!said) return
    const style = { size: 14 * z, colour: paper.one("text"), weight: 600, code: true }
    say(context, said, grid.x, grid.y + grid.height + 14 * z, style)
  }

  /** What stands below a matrix: the score, whether the query may look, and the weight of what is looked at. */
  function below(name, found) {
    const { row, column } = cell()
    if (!found || column === null) return ""
    if (name === "mask") return open(found, row, column) ? "yes" : "no"
    if (name !== "scores" && name !== "weights") return ""
    const array = found.arrays[GRID_POINTS[name]]
    const value = array?.values[row * array.shape[1] + column]
    if (value === undefined) return ""
    return name === "scores" ? number(value, 2) : share(value)
  }

  const sizes = (name) => {
    const array = detail()?.arrays[name]
    return array ? `${array.shape[0]} × ${array.shape[1]}` : ""
  }

  /** The tokens beside a matrix, and always the one that is looked at. */
  function labels(context, paper, stack, { x, width }, grid, now) {
    const { z } = place
    const row = grid.height / grid.rows
    const least = leastName(z)
    const size = Math.min(13 * z, Math.max(row * 0.85, least))
    for (const n of namedAmong(stack.tokens.length, row, row * 0.85 < least ? size : 0, [now])) {
      const marked = n === now
      say(context, stack.tokens[n].text, x + width, grid.y + (n + 0.5) * row, {
        size: marked ? Math.max(size, 12 * z) : size,
        colour: paper.one(stack.ink),
        weight: marked ? 600 : 400,
        align: "right",
        width,
        code: true,
      })
    }
  }

  function paintNow(context) {
    const paper = view.paper()
    const { part } = site()
    const head = headOf(view.chosen, part.heads)
    const box = place.heads[head]
    ring(context, paper, box.x - 1, box.y - 1, box.width + 2, box.height + 2)
    const { row, column } = cell()
    const around = ({ x, y, width, height }) => ring(context, paper, x - 1, y - 1, width + 2, height + 2)
    for (const name of ["query", "output"]) around(rowIn(place[name], row))
    if (column !== null) for (const name of ["key", "value"]) around(rowIn(place[name], column))
    for (const name of ["scores", "mask", "weights"]) {
      context.strokeStyle = paper.one("text")
      context.lineWidth = 1
      const line = rowIn(place[name], row)
      context.strokeRect(line.x, line.y, line.width, line.height)
      if (column !== null) around(cellOf(place[name], row, column))
    }
    const { hovered } = view
    if (hovered?.grid) {
      const { x, y, width, height } = cellOf(place[hovered.grid], hovered.row, hovered.column)
      context.strokeStyle = paper.one("text")
      context.lineWidth = 1
      context.strokeRect(x, y, width, height)
    }
    const through = view.through
    if (through >= 1) return
    context.globalAlpha = ATTENTION_VEIL
    context.fillStyle = paper.one("page")
    const front = through * place.width
    const top = place.top - 40 * place.z
    context.fillRect(front, top, place.width - front, place.height - top)
    context.globalAlpha = 1
    context.strokeStyle = paper.one("line")
    drawWay(context, [
      [front, top],
      [front, place.height],
    ])
  }

  /** What is under the pointer, or the weight that is looked at. */
  function sentence() {
    const found = detail()
    if (!found) return view.lack("attention")
    const { hovered } = view
    const { stack, part } = site()
    if (hovered?.head !== undefined) return `Head ${hovered.head} of ${part.heads}: a click looks at it.`
    if (hovered?.grid) {
      const { grid, row, column } = hovered
      const of = grid === "key" || grid === "value" ? keyStack() : stack
      const token = mention(of.tokens[row])
      const array = found.arrays[GRID_POINTS[grid]]
      if (grid === "mask")
        return `${token} ${open(found, row, column) ? "may" : "may not"} look at ${mention(keyStack().tokens[column])}.`
      if (!array) return missing(found)
      const value = array.values[row * array.shape[1] + column]
      if (grid === "scores") return `Score of ${token} and ${mention(keyStack().tokens[column])}: ${number(value, 4)}.`
      if (grid === "weights") return `${weightOf(token, value, share)} ${mention(keyStack().tokens[column])}.`
      return `Dimension ${column} of the ${GRID_NAMES[grid].replace(/s? .$/, "")} of ${token}: ${number(value, 4)}.`
    }
    return taken() || missing(found)
  }

  function taken() {
    const found = detail()
    const { row, column } = cell()
    const { stack, part } = site()
    const weights = found?.arrays.weights
    if (!weights || column === null) return ""
    const value = weights.values[row * weights.shape[1] + column]
    const score = found.arrays.scores?.values[row * weights.shape[1] + column]
    const scored = score === undefined ? "" : `, for a score of ${number(score, 2)}`
    const takes = weightOf(mention(stack.tokens[row]), value, percent)
    return `Head ${headOf(view.chosen, part.heads)}: ${takes} ${mention(keyStack().tokens[column])}${scored}.`
  }

  const missing = (found) => (found.header.remarks ?? []).join(" ") || "This model does not tell that."

  return {
    lay,
    paintStill,
    paintNow,
    size: () => ({ width: place.width, height: place.height }),
    state: () => {
      const { row, column } = cell()
      const { part } = site()
      return [row, column, detail() ? 1 : 0, part.kind, part.layer, headOf(view.chosen, part.heads)].join()
    },
    boxOf() {
      const { row, column } = cell()
      return cellOf(place.weights, row, column ?? 0)
    },
    sentence,
    sentences() {
      const found = detail()
      if (!found) return []
      const { stack } = site()
      const { row } = cell()
      const weights = found.arrays.weights
      const keys = keyStack().tokens
      if (!weights) return [missing(found)]
      const each = keys.map((token, key) =>
        open(found, row, key)
          ? `${weightOf(mention(stack.tokens[row]), weights.values[row * weights.shape[1] + key], percent)} ${mention(token)}.`
          : `${mention(stack.tokens[row])} may not look at ${mention(token)}.`,
      )
      return [...(found.header.remarks ?? []), ...each]
    },
    at: (x, y) => attentionAt(place, x, y),
    update() {
      known = null
    },
  }
}

/** "a puts 20 % of its attention on", or that this is not a number. */
const weightOf = (token, value, text) =>
  Number.isNaN(value)
    ? `${token} has a weight that is not a number, for`
    : `${token} puts ${text(value)} of its attention on`

/** A divisor as one knows it: √16, where it is the root of a whole number. */
function rooted(divisor) {
  const square = Math.round(divisor * divisor)
  return Math.abs(Math.sqrt(square) - divisor) < 1e-6 ? `√${square}` : number(divisor, 2)
}
