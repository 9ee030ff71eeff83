import { colours } from "./parts/colours.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { headBeside, itemAt, placeInPlace, placeSorted, sharedKeys } from "./parts/heads.js"
import { dotsNote, ramp, unitAndNotes } from "./parts/legend.js"
import { marksOf, paintPixels, paintRow, steps, WITH_DOTS, WITH_LINES } from "./parts/maps.js"
import { ring } from "./parts/marks.js"
import { number } from "./parts/numbers.js"
import { roomOf } from "./parts/printing.js"
import { selection } from "./parts/selection.js"
import { mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { mono, sans, shorten } from "./parts/text.js"

/** @import { GridHeader } from "./parts/types.js" */

// All heads of one kind of attention as small maps. Header: {title, label, name, caption, kind, unit, full, tokens: [Q, K]
// before pooling, scores: [{name, explanation, order, short, values, baselines, n}], most_heads, compact, most, sizes, height,
// key_heads, how many heads of keys the heads of a layer share};
// arrays: tops [L, H, Q'], the largest of each row as a share of `full`; roots [L, H, Q', K'], `most` times the root of
// each cell's share of that; masked, missing (no number in the run) and none (not a number) [Q', K'] or [L, H, Q', K'].

const SCALES = [
  ["fixed", "0–1", "Full colour is weight 1"],
  ["row", "row", "Full colour is the largest weight of each row"],
]
const IN_PLACE = "in place"
const [MASKED, MISSING, NONE] = [16, 17, 18] // stand for what has no value where the others have the root of theirs
const [IS_MISSING, IS_MASKED, FIRST, IS_NONE] = [0, 1, 2, 1026] // levels: the colours stand from FIRST on
const KEYS = "Arrow keys move, Enter chooses a head, Control and Enter adds or removes one of the same layer."

export default (component) => mount(component, "grid", makeGrid)

/** What the roots from 0 to `most` are in a row whose largest is `top`, as levels, of which the highest is seen. */
function levelsIn(top, most) {
  const levels = new Uint16Array(NONE + 1)
  levels[NONE] = IS_NONE
  for (let root = 0; root <= most; root++)
    levels[root] = FIRST + Math.min(1023, Math.round((root / most) ** 2 * top * 1023))
  levels[MASKED] = IS_MASKED
  levels[MISSING] = IS_MISSING
  return levels
}

/** Raises the level of each step to the highest of its cells in a row that begins at `first`. */
function raise(levels, roots, first, { length, cells, most }, level) {
  for (let j = 0; j < length; j++)
    for (let cell = first + cells[j], end = cell + most; cell < end; cell++)
      if (level[roots[cell]] > levels[j]) levels[j] = level[roots[cell]]
}

function makeGrid(root) {
  const stage = element("div", "stage")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const options = element("div", "unseen")
  const order = element("label", "order", "sort ")
  const select = element("select", "quiet")
  const foot = element("div", "foot")
  const choice = element("span", "choice")
  choice.setAttribute("role", "group")
  choice.setAttribute("aria-label", "Colour scale")
  options.setAttribute("role", "presentation")
  stage.tabIndex = 0
  stage.setAttribute("role", "listbox")
  stage.setAttribute("aria-multiselectable", "true")
  for (const canvas of [base, over]) canvas.setAttribute("aria-hidden", "true")
  stage.append(base, over, options)
  order.append(select)
  root.append(order, stage, foot)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {GridHeader} */
  let head
  let roots, tops, masked, missing, none, layers, heads, queries, keys, place, pixels, painted
  let sorting = null // a score, or null for in place; the selection's `sort` names it
  let pointed = null // the head under the pointer or the keys, as layer * heads + head
  /** @type {[number, number]} */
  let pointedAt = [0, 0]
  let cursor = null // where the arrow keys go on from

  const scales = SCALES.map(([word, text, title]) =>
    button("quiet", text, title, () => selection.pick({ scale: word }, 150)),
  )
  choice.append(...scales)
  foot.append(
    choice,
    exports(root, {
      draw: paintExport,
      size: () => ({ width: root.clientWidth, height: place.height }),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )
  select.onchange = () => {
    selection.pick({ sort: select.value === IN_PLACE ? "" : select.value }, 150)
    sort()
    announce(sorting ? `Sorted by ${sorting.name}, high to low` : "In place")
  }

  const mode = () => (selection.chosen.scale === "row" ? "row" : "fixed")
  const press = () => scales.forEach((each, i) => each.setAttribute("aria-pressed", String(SCALES[i][0] === mode())))
  /** Follow the selection's `sort`. */
  function sort() {
    const wanted = head.scores.find((score) => score.name === selection.chosen.sort) ?? null
    if (wanted?.name === sorting?.name) return
    sorting = wanted
    pointed = null
    tip.hide()
    select.value = sorting?.name ?? IN_PLACE
    list()
  }

  const at = (index) => ({ layer: Math.floor(index / heads), number: index % heads })
  const placeOf = (index) => `layer ${at(index).layer}, head ${at(index).number}`
  const sequence = () => (sorting ? sorting.order : Array.from({ length: layers * heads }, (_, index) => index))
  const id = (index) => `head-${index}`

  /** What is chosen in this kind of attention: {layer, heads: numbers, or null for all of the layer}; null for nothing. */
  function chosen() {
    const { kind, layer, heads: which } = selection.chosen
    if ((kind !== undefined && kind !== head.kind) || !(layer >= 0 && layer < layers)) return null
    if (Array.isArray(which)) return { layer, heads: which }
    return which === "mean" || which === "max" ? { layer, heads: null } : null
  }
  const isChosen = (index, what = chosen()) =>
    what?.layer === at(index).layer && Boolean(what.heads?.includes(at(index).number))

  /** Which heads ask the keys of this one, where several do. */
  const sharers = (index) =>
    sharedKeys(heads, head.key_heads)
      .filter(({ first, last }) => first <= at(index).number && at(index).number <= last)
      .map(({ words }) => words)

  /** What is said of a head: where it is, whose keys it asks, and the score that the heads are sorted by. */
  function sentences(index) {
    const place = [placeOf(index), ...sharers(index)]
    if (!sorting) return place
    const [n, baseline] = [sorting.n[index], sorting.baselines?.[index]]
    if (!n) return [...place, `${sorting.name}: no row has one`]
    const rows = `from ${n} ${n === 1 ? "row" : "rows"}`
    return [
      ...place,
      `${sorting.name} ${sorting.values[index]}`,
      baseline === undefined ? rows : `baseline ${baseline}, ${rows}`,
    ]
  }

  // ---- where things are: the largest thumbnails that fit into the width and the reserved height, beside a map or on a
  // projector into all the room that a picture has there; beside a map they are followed by what belongs to them

  function measure() {
    const z = zoom(root)
    const width = root.clientWidth
    const { top, bottom } = head.sizes
    const beside = head.compact && z === 1
    const tall = z > 1 || beside ? tallness(root, head.height) : head.height
    const room = tall - (top + bottom) * z
    const sizes = z > 1 ? { ...head.sizes, most: room / z } : head.sizes
    const given = { layers, heads, sequence: sequence(), sizes, compact: head.compact }
    const found = sorting ? placeSorted(given, width, room, z) : placeInPlace(given, width, room, z)
    const used = found.used + (top + bottom) * z
    const height = beside ? used : Math.max(tall, used)
    return { ...found, z, width, height, byIndex: new Map(found.items.map((item) => [item.index, item])) }
  }

  const under = (x, y) => itemAt(place.items, place.size, sorting ? 24 * place.z : 1, x, y)

  // ---- the maps, pixel by pixel: where cells are smaller than pixels, a pixel shows the largest of those that it touches,
  // each of equally many, or the pixels that show more would make a pattern of their own

  function mapsAt(ratio) {
    const paper = colours(root)
    const palette = paper.scale(head.kind).pixels
    const marks = marksOf(paper, ratio)
    const pixels = new ImageData(Math.round(place.width * ratio), Math.round(place.height * ratio))
    const out = new Uint32Array(pixels.data.buffer)
    const side = Math.max(1, Math.round(place.size * ratio))
    const [down, across] = [steps(side, queries), steps(side, keys)]
    const inks = new Uint32Array(IS_NONE + 1).fill(paper.pixel("surface"), 0, FIRST)
    inks.set(palette, FIRST)
    inks[IS_NONE] = paper.pixel("no-number")
    const byRow = mode() === "row"
    const known = new Map() // there are 256 tops at most
    const levels = new Uint16Array(across.length)
    const row = new Uint32Array(across.length)
    const marked = (masked || none) && new Uint8Array(across.length)
    const markOf = (level) => (level === IS_NONE ? WITH_DOTS : level === IS_MASKED ? WITH_LINES : 0)
    for (const { index, x, y } of place.items) {
      const at = { left: Math.round(x * ratio), top: Math.round(y * ratio), y0: 0, y1: 0 }
      for (let i = 0; i < down.length; i++) {
        levels.fill(0)
        for (let r = down.cells[i]; r < down.cells[i] + down.most; r++) {
          const line = index * queries + r
          const top = byRow ? 1 : tops.values[line] * head.full
          if (!known.has(top)) known.set(top, levelsIn(top, head.most))
          raise(levels, roots, line * keys, across, known.get(top))
        }
        for (let j = 0; j < row.length; j++) row[j] = inks[levels[j]]
        if (marked) for (let j = 0; j < row.length; j++) marked[j] = markOf(levels[j])
        at.y0 = down.pixels[i]
        at.y1 = down.pixels[i + 1]
        paintRow(out, pixels.width, at, across, row, marked, marks)
      }
    }
    return pixels
  }

  const shrunk = (ratio) => {
    const side = place.size * ratio
    return head.tokens[0] > queries || head.tokens[1] > keys || queries > side || keys > side
  }

  // ---- title, labels, legend

  function frames(context, paper) {
    context.lineWidth = 1
    context.strokeStyle = paper.one("line")
    for (const { x, y } of place.items) context.strokeRect(x - 0.5, y - 0.5, place.size + 1, place.size + 1)
  }

  function heading(context, paper, room) {
    const { z } = place
    context.textAlign = "left"
    context.textBaseline = "alphabetic"
    context.font = sans((head.compact ? 14 : 16) * z, 600)
    context.fillStyle = paper.one("text")
    const whole = context.measureText(head.title).width <= room
    const title = whole ? head.title : shorten(context, head.title.split(",")[0], room) // the kind stands in the bar too
    context.fillText(title, 0, 18 * z)
    const x = context.measureText(title).width + 16 * z
    context.font = sans(13 * z)
    context.fillStyle = paper.one("muted")
    const example = sorting && `${at(sorting.order[0]).layer}.${at(sorting.order[0]).number}`
    const says = sorting
      ? `${sorting.name} from high to low; ${example} is ${placeOf(sorting.order[0])}`
      : layers * heads === 1 || roomOf(root) // on paper nothing is clicked
        ? ""
        : "click chooses a head, Ctrl-click adds one of its layer"
    if (context.measureText(says).width <= room - x) context.fillText(says, x, 18 * z)
  }

  function labelsInPlace(context, paper) {
    const { z, size, rows, block, byIndex } = place
    const { line, top, margin, gap, shared } = head.sizes
    const floor = (top + line - shared) * z
    const what = chosen()
    context.textBaseline = "alphabetic"
    const ink = (bold) => {
      context.font = sans(12 * z, bold ? 600 : 400)
      context.fillStyle = paper.one(bold ? "text" : "muted")
    }
    ink(false)
    const pitch = size + gap * z
    const words = context.measureText(`head ${heads - 1}`).width <= pitch - 4 * z
    context.font = sans(12 * z, 600)
    const first = context.measureText("head 0").width + context.measureText("1").width <= 2 * pitch - 8 * z
    for (let layer = 0; layer < layers; layer++) {
      ink(what?.layer === layer)
      context.textAlign = "right"
      const { x, y } = byIndex.get(layer * heads)
      context.fillText(`layer ${layer}`, x - 8 * z, y + size / 2 + 4 * z)
    }
    context.textAlign = "center"
    for (let b = 0; b * rows < layers; b++)
      for (let h = 0; h < heads; h++) {
        const within = what && Math.floor(what.layer / rows) === b
        ink(within && (what.heads === null || what.heads.includes(h)))
        const text = words || (first && h === 0) ? `head ${h}` : String(h)
        context.fillText(text, b * block + margin * z + h * (size + gap * z) + size / 2, floor - 6 * z)
      }
    for (let b = 0; b * rows < layers; b++)
      for (const { key, first, last } of sharedKeys(heads, head.key_heads)) {
        const within = what && Math.floor(what.layer / rows) === b
        const bold = Boolean(within && what.heads?.some((h) => first <= h && h <= last))
        const left = b * block + margin * z + first * pitch
        bracket(context, paper, { left, right: left + (last - first) * pitch + size, floor, name: `key ${key}`, bold })
      }
  }

  /** A line over the heads that share a head of keys, with its name in the middle where there is room. */
  function bracket(context, paper, { left, right, floor, name, bold }) {
    const { z } = place
    const y = Math.round(floor + 7 * z) + 0.5
    context.font = sans(11 * z, bold ? 600 : 400)
    const words = [name, name.split(" ")[1]].find((each) => context.measureText(each).width <= right - left - 12 * z)
    const room = words === undefined ? 0 : context.measureText(words).width / 2 + 4 * z
    const middle = (left + right) / 2
    context.lineWidth = bold ? 2 : 1
    context.strokeStyle = paper.one(bold ? "text" : "muted")
    context.beginPath()
    for (const [end, inner] of [
      [left, middle - room],
      [right, middle + room],
    ]) {
      context.moveTo(end, y + 5 * z)
      context.lineTo(end, y)
      context.lineTo(inner, y)
    }
    context.stroke()
    if (words === undefined) return
    context.fillStyle = paper.one(bold ? "text" : "muted")
    context.textBaseline = "middle"
    context.fillText(words, middle, y)
    context.textBaseline = "alphabetic"
  }

  function labelsSorted(context, paper) {
    const { z, size, items } = place
    const what = chosen()
    const text = (size >= 44 * z ? 12 : size >= 36 * z ? 11 : 10) * z
    context.textAlign = "center"
    context.textBaseline = "alphabetic"
    for (const { index, x, y } of items) {
      const { layer, number } = at(index)
      const bold = isChosen(index, what) || (what?.heads === null && what.layer === layer)
      context.font = mono(text, bold ? 600 : 400)
      context.fillStyle = paper.one(bold ? "text" : "muted")
      context.fillText(`${layer}.${number}`, x + size / 2, y + size + 13 * z)
      context.fillStyle = paper.one("text")
      context.fillText(sorting.short[index], x + size / 2, y + size + 25 * z)
    }
  }

  function legend(context, paper, ratio, room) {
    const { z, height } = place
    const y = height - 13 * z
    const palette = paper.scale(head.kind)
    context.font = sans(13 * z)
    const unit = context.measureText(head.unit).width
    const length = Math.max(24 * z, Math.min(120 * z, Math.max(60 * z, room - 56 * z - unit), room - 48 * z))
    context.font = mono(12 * z)
    context.textBaseline = "middle"
    context.textAlign = "left"
    context.fillStyle = paper.one("muted")
    context.fillText("0", 0, y)
    let x = context.measureText("0").width + 8 * z
    ramp(context, palette, x, y, length, z)
    x += length + 8 * z
    const end = mode() === "row" ? "row maximum" : "1"
    context.fillStyle = paper.one("muted")
    context.fillText(end, x, y)
    x += context.measureText(end).width + 16 * z
    context.font = sans(13 * z)
    const notes = []
    if (shrunk(ratio)) notes.push("max-pooled: a pixel shows its largest weight")
    if (mode() === "fixed" && head.full > 1) notes.push(`weights above 1 (up to ${number(head.full, 2)}) as 1`)
    if (masked) notes.push("hatched: masked")
    if (missing) notes.push("blank: not there")
    if (none) x = dotsNote(context, paper, "not a number", x, y, z)
    if (unit <= room - x) context.fillText(unitAndNotes(context, head.unit, notes, room - x, "; "), x, y)
  }

  function paintWords(context, paper, ratio, { top, bottom }) {
    frames(context, paper)
    if (sorting) labelsSorted(context, paper)
    else labelsInPlace(context, paper)
    heading(context, paper, top)
    legend(context, paper, ratio, bottom)
  }

  function marks(context, paper) {
    const what = chosen()
    if (!what) return
    const { items, size, byIndex } = place
    if (what.heads) {
      for (const { index, x, y } of items) if (isChosen(index, what)) ring(context, paper, x, y, size, size)
    } else if (!sorting) {
      // the mean or the maximum is of the whole layer
      const { x, y } = byIndex.get(what.layer * heads)
      ring(context, paper, x, y, byIndex.get(what.layer * heads + heads - 1).x + size - x, size)
    }
  }

  function paintExport(context) {
    const paper = colours(root)
    paintPixels(context, mapsAt(2), { left: 0, top: 0, w: place.width, h: place.height })
    paintWords(context, paper, 2, { top: place.width, bottom: place.width })
    marks(context, paper)
  }

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = colours(root)
    marks(context, paper)
    const item = pointed === null ? null : place.byIndex.get(pointed)
    if (!item) return
    const out = isChosen(pointed) ? 2.5 : 0.5
    context.lineWidth = 1
    context.strokeStyle = paper.one("text")
    context.strokeRect(item.x - out, item.y - out, place.size + 2 * out, place.size + 2 * out)
  }

  // ---- pointing and choosing

  /** One hidden option for each head, in the order that is seen: what screen readers walk through. */
  function list() {
    options.replaceChildren(
      ...sequence().map((index) => {
        const option = element("div", "", sentences(index).join(", "))
        option.id = id(index)
        option.setAttribute("role", "option")
        return option
      }),
    )
  }

  function point(index, x, y) {
    pointed = index
    if (index === null) tip.hide()
    else {
      cursor = index
      pointedAt = [x, y]
      stage.setAttribute("aria-activedescendant", id(index))
      tip.show(sentences(index), x, y)
    }
    paintOver()
  }
  const pointTo = (index, lines) => {
    const { x, y } = place.byIndex.get(index)
    point(index, x + place.size - 8, y + place.size - 8)
    if (lines) tip.show([...sentences(index), ...lines], x + place.size - 8, y + place.size - 8)
  }

  /** Choose a head, or with `more` add it to those of its layer or take it away; the last one stays. */
  function pick(index, more) {
    const { layer, number } = at(index)
    const what = chosen()
    let wanted = [number]
    if (more && what?.layer === layer && what.heads) {
      if (!what.heads.includes(number)) wanted = [...what.heads, number].sort((a, b) => a - b)
      else if (what.heads.length > 1) wanted = what.heads.filter((each) => each !== number)
      if (wanted.length > head.most_heads) {
        const full = `${head.most_heads} heads at most can be chosen together`
        pointTo(index, [full])
        announce(full)
        return
      }
    }
    selection.pick({ ...(selection.chosen.kind !== head.kind && { kind: head.kind }), layer, heads: wanted })
    announce(`${wanted.length > 1 ? "heads" : "head"} ${wanted.join(", ")} of layer ${layer} chosen`)
  }

  const start = () => {
    if (cursor !== null) return cursor
    const what = chosen()
    return what ? what.layer * heads + Math.min(what.heads?.[0] ?? 0, heads - 1) : sequence()[0]
  }
  const spot = (event) => {
    const { x, y } = pointIn(stage, event)
    return [x, y]
  }
  stage.onpointermove = (event) => {
    const [x, y] = spot(event)
    const item = under(x, y)
    stage.style.cursor = item ? "pointer" : "default"
    point(item?.index ?? null, x, y)
  }
  stage.onpointerleave = () => point(null)
  stage.onclick = (event) => {
    const item = under(...spot(event))
    if (item) pick(item.index, event.ctrlKey || event.metaKey || event.shiftKey)
  }
  stage.onkeydown = (event) => {
    if (event.altKey) return
    const more = event.ctrlKey || event.metaKey || event.shiftKey
    if (event.key === "Enter" || event.key === " ") {
      pointTo(start())
      pick(start(), more)
    } else if (!more && /^(Arrow(Up|Down|Left|Right)|Home|End)$/.test(event.key)) {
      pointTo(headBeside(place.items, place.byIndex.get(start()), place.size, event.key))
    } else {
      if (event.key === "Escape") point(null)
      return
    }
    event.preventDefault()
  }
  stage.onfocus = () => {
    if (stage.matches(":focus-visible")) pointTo(start())
  }
  stage.onblur = () => point(null)

  const made = {
    update({ header, arrays }) {
      const before = head && `${layers} ${heads} ${head.kind}`
      head = header
      ;({ tops, masked, missing, none } = arrays)
      roots = arrays.roots.values
      ;[layers, heads, queries, keys] = arrays.roots.shape
      for (const [bits, sign] of [
        [masked, MASKED],
        [missing, MISSING],
        [none, NONE],
      ])
        for (let cell = 0; bits && cell < roots.length; cell++)
          if (bits.values[cell % bits.values.length]) roots[cell] = sign
      painted = null
      if (before !== `${layers} ${heads} ${head.kind}`) {
        pointed = cursor = null
        tip.hide()
      }
      sorting = head.scores.find((score) => score.name === sorting?.name) ?? null
      const texts = [IN_PLACE, ...head.scores.map((score) => score.name)]
      if (texts.join() !== Array.from(select.options, (option) => option.value).join()) {
        select.replaceChildren(
          ...texts.map((text) => {
            const option = element("option", "", text === IN_PLACE ? text : `by ${text}`)
            option.value = text
            return option
          }),
        )
      }
      select.value = sorting?.name ?? IN_PLACE
      order.hidden = !head.scores.length
      stage.setAttribute("aria-label", `${head.label}. ${KEYS}`)
      list()
      press()
      if (pointed !== null) tip.show(sentences(pointed), ...pointedAt)
    },
    draw() {
      sort()
      press()
      place = measure()
      const { width, height, z } = place
      const room = {
        // asked before anything changes that the browser would have to lay out anew
        top: width - (head.scores.length ? order.offsetWidth + 12 * z : 0),
        bottom: width - foot.offsetWidth - 8 * z,
      }
      const paper = colours(root)
      const ratio = sharpness(root)
      stage.style.height = `${height}px`
      select.title = sorting ? `${sorting.name}: ${sorting.explanation}` : "Sort the heads by a score"
      const state = [width, height, z, mode(), sorting?.name, paper.one("page"), ratio].join()
      if (painted !== state) pixels = mapsAt(ratio)
      painted = state
      const context = prepare(base, width, height)
      context.putImageData(pixels, 0, 0)
      paintWords(context, paper, ratio, room)
      const what = chosen()
      for (const option of options.children) {
        option.setAttribute("aria-selected", String(isChosen(Number(option.id.slice("head-".length)), what)))
      }
      paintOver()
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
