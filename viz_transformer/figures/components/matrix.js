import {
  areaAround,
  areaBetween,
  areaOnMap,
  areaWith,
  cellBeside,
  cellIn,
  cellsInView,
  columnLabels,
  hasLabel,
  largestOf,
  partSeen,
  rowLabels,
  TALLEST,
  WIDEST,
  wholeArea,
} from "./parts/cells.js"
import { colours } from "./parts/colours.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { FAINT, FAINT_ROWS, hiddenWords, isFaint, NOT_THERE, NOT_YET } from "./parts/hidden.js"
import { brief, dotsNote, ramp, unitAndNotes } from "./parts/legend.js"
import { openWhy } from "./parts/links.js"
import { marksOf, paintRow, picture, steps, WITH_DOTS, WITH_LINES } from "./parts/maps.js"
import { HATCH_EVERY, hatch, paintCell, ring } from "./parts/marks.js"
import { notFinite, number, share, valued } from "./parts/numbers.js"
import { roomOf } from "./parts/printing.js"
import { fieldOf, placeIn, placeOn, positionAt, selection } from "./parts/selection.js"
import { mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { isolated, mono, quoted, sans, shorten } from "./parts/text.js"

/** @import { Area } from "./parts/cells.js" */
/** @import { MatrixHeader } from "./parts/types.js" */

// A map of weights or of signed numbers: queries as rows, keys as columns. Header: {title, label, rows, columns:
// {field, role, axis, ink, tokens, starts}, writes, scale, unit, quantity, signed, bounded, fill, height, caption, name};
// arrays: values [R, C],
// mask [R, C] where anything is masked, there [R, C] where some cells have no number in the run. `field` is the selection's word for a row or a column. With `grows`, rows behind
// the chosen one are not written yet: empty paper until the step comes to them, as they are everywhere while the steps are
// played; then their names are not there either. hidden: [R] where keys are left out.

const SCALES = [
  ["fixed", "0–1", "Full colour is weight 1"],
  ["row", "row", "Full colour is the largest weight of each row"],
  ["map", "map", "Full colour is the largest weight of the map"],
]
const LEAST = 18 // the side of a cell where some have to be scrolled to
const LEAST_IN_ROW = 14 // and of one in a map that stands in a row with others
const BARE = 12 // beside a map whose labels stand at another
const SAVED = 3000 // pixels: cells of a saved picture that would be larger are smaller than that

export default (component) => mount(component, "matrix", makeMatrix)

function makeMatrix(root) {
  const stage = element("div", "stage")
  const base = element("canvas", "base")
  const over = element("canvas", "over")
  const foot = element("div", "foot")
  const choice = element("span", "choice")
  choice.setAttribute("role", "group")
  choice.setAttribute("aria-label", "Colour scale")
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  const scroller = element("div", "scroller")
  const spacer = element("div")
  scroller.tabIndex = -1
  scroller.setAttribute("aria-hidden", "true")
  scroller.append(spacer)
  stage.append(base, over, scroller)
  root.append(stage, foot)
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {MatrixHeader} */
  let head
  let values, mask, kept, rows, columns, place, pixels, painted
  /** @type {Area} */
  let area // what is zoomed to
  /** @type {Area} */
  let seen // what of it is not scrolled out of view
  let first = { r: 0, c: 0 } // the cell in the corner of what is seen
  let fitted = false // everything is made to fit, however small, and nothing has to be scrolled to
  let revealed = "" // the cell that was scrolled to when it was chosen
  const mode = () => {
    const word = SCALES.some(([known]) => known === selection.chosen.scale) ? selection.chosen.scale : "fixed"
    return word === "fixed" && !head.bounded ? "map" : word
  }
  let hovered = null
  let elsewhere = null // the same cell of another picture is pointed at
  let told = null // what the tooltip says, {r, c, x, y}
  let dragged = null
  let tops = null
  let strange = "" // what values are that are not finite

  const scales = SCALES.map(([word, text, title]) =>
    button("quiet", text, title, () => selection.pick({ scale: word }, 150)),
  )
  choice.append(...scales)
  const fit = button("quiet", "fit", "All cells at once, however small", () => {
    fitted = !fitted
    show()
  })
  foot.append(
    fit,
    choice,
    exports(root, {
      draw: (context) => unrolled(() => paintAll(context, true)),
      size: () => unrolled(() => ({ width: place.width, height: place.height })),
      caption: () => head.caption,
      name: () => head.name,
    }),
  )

  const at = (r, c) => values.values[r * columns + c]
  const may = (r, c) => !mask || mask.values[r * columns + c] === 1
  const there = (r, c) => !kept || kept.values[r * columns + c] === 1
  const zoomed = () => area.r1 - area.r0 < rows || area.c1 - area.c0 < columns
  const chosen = () => ({ r: placeOn(head.rows), c: placeOn(head.columns) })

  const plays = () => selection.playing && head.writes !== null
  const grows = () => head.grows || plays()
  /** The first row that is not written yet at the chosen step; `rows` if all are. */
  const written = () => (grows() ? (placeOn(head.rows) ?? rows - 1) + 1 : rows)
  const bare = (side) => head.bare?.includes(side)
  const faint = (r) => isFaint(head.hidden?.[r])
  const laterKey = (c) =>
    grows() && head.columns.ink === head.rows.ink && positionAt(head.columns, c) > selection.chosen[head.rows.field]
  /** The first key that is not there yet, while the steps are played; `columns` if all are. */
  function readable() {
    let c = columns
    if (plays()) while (c > 0 && laterKey(c - 1)) c--
    return c
  }

  // ---- what colour a value has

  const largest = () => (tops ??= largestOf(values.values, rows, columns))
  /** Of row r, the value that has full colour. */
  const full = (r) =>
    (head.signed
      ? (head.most ?? largest().map)
      : mode() === "fixed"
        ? 1
        : mode() === "row"
          ? largest().rows[r]
          : (head.most ?? largest().map)) || 1
  const level = (value, r) => (head.signed ? 0.5 + value / full(r) / 2 : value / full(r))

  // ---- where things are

  /** Where things are on the page, or where all have their place, as they are saved. */
  function measure(whole = false) {
    const context = base.getContext("2d")
    const z = zoom(root)
    const width = root.clientWidth
    const height = tallness(root, head.height)
    context.font = mono(14 * z)
    const label = (token) =>
      context.measureText(token.text).width +
      (token.note === undefined ? 0 : context.measureText(token.note).width * 1 + 8)
    const most = 12 * context.measureText("m").width
    const margin = (tokens) =>
      24 +
      Math.min(
        most,
        tokens.reduce((widest, token) => Math.max(widest, label(token)), 60 * z),
      )
    const least = fitted ? 0 : (head.bare ? LEAST_IN_ROW : LEAST) * z
    const left = bare("left") ? BARE * z : margin(head.rows.tokens)
    const right = head.writes && !bare("right") ? margin(head.writes) : BARE
    const bottom = 68 * z
    const n = area.c1 - area.c0
    const m = area.r1 - area.r0
    const shown = head.columns.tokens.slice(area.c0, area.c1)
    const inner = Math.max(40, width - left - right)
    const across = cellsInView(n, inner, { least, most: WIDEST * z })
    const scrolls = across.seen < n
    const cell = whole && scrolls ? Math.min(across.size, SAVED / n) : across.size
    const widest = shown.slice(0, 600).reduce((w, token) => Math.max(w, label(token)), 0)
    const over = columnLabels(cell, widest, most, z, { upright: n > 200 || widest * 0.9 > cell })
    const top = 66 * z + over.tall
    const down = cellsInView(m, height - top - bottom, { least, most: TALLEST * z })
    const long = down.seen < m
    const rowHeight = whole && long ? Math.min(down.size, SAVED / m) : down.size
    const [along, high] = whole ? [n, m] : [across.seen, down.seen]
    return {
      z,
      width: whole && scrolls ? left + cell * n + right : width,
      height: whole && long ? top + rowHeight * m + bottom : height,
      scrolls: scrolls || long,
      seen: { along, down: high },
      left,
      right,
      top,
      bottom,
      upright: over.upright,
      size: over.size,
      tall: over.tall,
      every: over.every,
      cell,
      rowHeight,
      w: cell * along,
      h: rowHeight * high,
    }
  }
  const xOf = (c) => place.left + (c - seen.c0) * place.cell
  const yOf = (r) => place.top + (r - seen.r0) * place.rowHeight
  const cellAt = (x, y) => cellIn(x, y, place, seen)

  /** Do something with all cells in their places, those that are scrolled out of view too. */
  function unrolled(work) {
    const kept = { place, seen, pixels }
    place = measure(true)
    seen = area
    if (place.scrolls && !few()) pixels = cellsAt(2)
    const made = work()
    ;({ place, seen, pixels } = kept)
    return made
  }
  const few = () => (seen.r1 - seen.r0) * (seen.c1 - seen.c0) <= 10_000

  /** Scroll as little as brings this cell into view. */
  function reveal({ r, c }) {
    first = { r: seen.r0, c: seen.c0 }
    const inside = { r: r ?? seen.r0, c: c ?? seen.c0 }
    if (!areaHas(area, inside)) return
    const { r0, c0 } = areaWith(seen, inside)
    first = { r: r0, c: c0 }
    seen = partSeen(area, first, place.seen)
  }
  const areaHas = ({ r0, r1, c0, c1 }, { r, c }) => r >= r0 && r < r1 && c >= c0 && c < c1

  /** The scroll bars, beside and below the cells. */
  function bars() {
    const { top, h, cell, rowHeight, scrolls } = place
    scroller.hidden = !scrolls
    if (!scrolls) return
    Object.assign(scroller.style, { top: `${top}px`, height: `${h + 10}px` })
    spacer.style.width = `calc(100% + ${(area.c1 - area.c0 - place.seen.along) * cell}px)`
    spacer.style.height = `calc(100% + ${(area.r1 - area.r0 - place.seen.down) * rowHeight}px)`
    const { r, c } = scrolledTo()
    if (r === seen.r0 && c === seen.c0) return // somebody may be scrolling
    scroller.scrollTo({ left: (seen.c0 - area.c0) * cell, top: (seen.r0 - area.r0) * rowHeight, behavior: "instant" })
  }
  const scrolledTo = () => ({
    r: area.r0 + Math.round(scroller.scrollTop / place.rowHeight),
    c: area.c0 + Math.round(scroller.scrollLeft / place.cell),
  })
  let moving = false
  scroller.onscroll = () => {
    if (moving) return
    moving = true
    requestAnimationFrame(() => {
      moving = false
      const corner = scrolledTo()
      if (!root.isConnected || (corner.r === seen.r0 && corner.c === seen.c0)) return
      first = corner
      hover(null)
      made.draw()
    })
  }
  scroller.onfocus = () => stage.focus({ preventScroll: true })
  const pooled = (ratio) => place.cell * ratio < 1 || place.rowHeight * ratio < 1

  // ---- the cells, pixel by pixel: where cells are smaller than pixels, a pixel shows the largest

  function cellsAt(ratio) {
    const paper = colours(root)
    const palette = paper.scale(head.scale).pixels
    const surface = paper.pixel("surface")
    const none = paper.pixel("no-number")
    const marks = marksOf(paper, ratio)
    if (Math.min(place.cell, place.rowHeight) >= 6) marks.seam = paper.pixel("page")
    const pixels = new ImageData(Math.max(1, Math.round(place.w * ratio)), Math.max(1, Math.round(place.h * ratio)))
    const { width, height } = pixels
    const out = new Uint32Array(pixels.data.buffer)
    const down = steps(height, seen.r1 - seen.r0, seen.r0)
    const across = steps(width, seen.c1 - seen.c0, seen.c0)
    const [levels, strengths] = [new Float32Array(across.length), new Float32Array(across.length)]
    const inks = new Uint32Array(across.length)
    const [masked, gone, marked] = [0, 1, 2].map(() => new Uint8Array(across.length))
    const [last, keys, paperInk] = [written(), readable(), paper.pixel("page")]
    const halfway = (ink) => ((((ink & 0xfefefe) >>> 1) + ((paperInk & 0xfefefe) >>> 1)) | 0xff000000) >>> 0 // FAINT on paper
    for (let i = 0; i < down.length; i++) {
      strengths.fill(-Infinity)
      masked.fill(1)
      gone.fill(1)
      const row = { left: 0, top: 0, y0: down.pixels[i], y1: down.pixels[i + 1] }
      if (down.cells[i] >= last) {
        paintRow(out, width, row, across, inks.fill(paperInk), null, marks)
        continue
      }
      let pale = true
      for (let r = down.cells[i]; r < Math.min(down.cells[i + 1], last); r++) {
        const unit = full(r)
        if (!faint(r)) pale = false
        for (let j = 0, cell = r * columns + seen.c0; j < across.length; j++)
          for (const end = r * columns + Math.min(across.cells[j + 1], keys); cell < end; cell++) {
            if (kept && !kept.values[cell]) continue
            gone[j] = 0
            const value = values.values[cell] / unit
            const known = Number.isFinite(value) // what is not hides all that it is pooled with
            const strength = known ? (head.signed ? Math.abs(value) : value) : Infinity
            if (strength > strengths[j]) {
              levels[j] = known ? value : Number.NaN
              strengths[j] = strength
            }
            if (!mask || mask.values[cell]) masked[j] = 0
          }
      }
      for (let j = 0; j < across.length; j++) {
        const t = head.signed ? 0.5 + levels[j] / 2 : levels[j]
        const empty = masked[j] && levels[j] === 0
        const unknown = !gone[j] && Number.isNaN(t)
        marked[j] = gone[j] ? 0 : (masked[j] ? WITH_LINES : 0) | (unknown ? WITH_DOTS : 0)
        if (gone[j]) inks[j] = paperInk
        else if (unknown) inks[j] = none
        else inks[j] = empty ? surface : palette[Math.max(0, Math.min(1023, Math.round(t * 1023)))]
        if (pale && !gone[j]) inks[j] = halfway(inks[j])
      }
      paintRow(out, width, row, across, inks, marked, marks)
    }
    return pixels
  }

  function vectorCells(context, paper) {
    const palette = paper.scale(head.scale)
    for (let r = seen.r0; r < Math.min(seen.r1, written()); r++) {
      context.globalAlpha = faint(r) ? FAINT : 1
      for (let c = seen.c0; c < Math.min(seen.c1, readable()); c++) {
        if (!there(r, c)) continue
        const value = at(r, c)
        const open = may(r, c)
        const own = Number.isFinite(value) ? palette.css(level(value, r)) : null
        const colour = !open && value === 0 ? paper.one("surface") : own
        paintCell(context, paper, colour, xOf(c) + 0.5, yOf(r) + 0.5, place.cell - 1, place.rowHeight - 1)
        if (open) continue
        context.strokeStyle = paper.one("line")
        hatch(context, xOf(c), yOf(r), place.cell, place.rowHeight, HATCH_EVERY)
      }
    }
    context.globalAlpha = 1
  }

  // ---- labels, axes, legend

  const inkOf = (paper, token, ink) => paper.one(token.special ? "muted" : ink)

  function labels(context, paper, bold) {
    const { z, left, top, cell, rowHeight, upright, size, tall } = place
    const { size: rowSize, every } = rowLabels(rowHeight, z)
    const side = (tokens, x, align, ink, r) => {
      const token = tokens[r]
      context.font = mono(rowSize, r === bold.r ? 600 : 400)
      context.textAlign = align
      context.textBaseline = "middle"
      context.fillStyle = inkOf(paper, token, ink)
      const room = (align === "right" ? left : place.right) - 16
      const y = yOf(r) + rowHeight / 2
      if (token.note === undefined) {
        context.fillText(isolated(shorten(context, token.text, room)), x, y)
        return
      }
      const typed = isolated(shorten(context, token.note, room * 0.7))
      const half = context.measureText(typed).width + 5
      const sign = align === "right" ? -1 : 1
      context.fillText(typed, align === "right" ? x : x, y)
      context.font = mono(rowSize * 0.66)
      context.fillStyle = paper.one("muted")
      context.fillText(isolated(shorten(context, token.text, room - half)), x + sign * half, y)
    }
    const last = written()
    for (let r = seen.r0; r < seen.r1; r++) {
      if (!hasLabel(r, every, bold.r)) continue
      if (r >= last && plays()) break
      context.globalAlpha = r < last && !faint(r) ? 1 : FAINT
      if (!bare("left")) side(head.rows.tokens, left - 8, "right", head.rows.ink, r)
      if (head.writes && !bare("right")) side(head.writes, left + place.w + 8, "left", head.rows.ink, r)
    }
    context.globalAlpha = 1
    for (let c = seen.c0; c < seen.c1; c++) {
      if (!hasLabel(c, place.every, bold.c)) continue
      if (laterKey(c) && plays()) break
      context.globalAlpha = laterKey(c) ? FAINT : 1
      const token = head.columns.tokens[c]
      context.font = mono(size, c === bold.c ? 600 : 400)
      context.fillStyle = inkOf(paper, token, head.columns.ink)
      context.textBaseline = "middle"
      const x = xOf(c) + cell / 2
      const text = token.note === undefined ? token.text : token.note
      if (upright) {
        context.save()
        context.translate(x, top - 6)
        context.rotate(-Math.PI / 2)
        context.textAlign = "left"
        const kept = isolated(shorten(context, text, tall - 4))
        context.fillText(kept, 0, 0)
        if (token.note !== undefined) {
          const x0 = context.measureText(kept).width + 5
          context.font = mono(size * 0.66)
          context.fillStyle = paper.one("muted")
          context.fillText(shorten(context, token.text, Math.max(0, tall - x0)), x0, 0)
        }
        context.restore()
      } else {
        context.textAlign = "center"
        context.fillText(isolated(shorten(context, text, cell - 2)), x, top - 12 * z)
        if (token.note !== undefined) {
          context.font = mono(9 * z)
          context.fillStyle = paper.one("muted")
          context.fillText(shorten(context, token.text, cell - 2), x, top - 25 * z)
        }
      }
    }
    context.globalAlpha = 1
  }

  function frame(context, paper) {
    const { z, left, top, height, tall } = place
    context.textBaseline = "alphabetic"
    context.textAlign = "left"
    context.font = sans(16 * z, 600)
    context.fillStyle = paper.one("text")
    const room = place.width - 8
    const wide = context.measureText(head.title).width
    if (wide > room) context.font = sans(Math.max(12 * z, (16 * z * room) / wide), 600) // beside another, in a narrow window
    context.fillText(shorten(context, head.title, room), 0, 20 * z)
    context.font = sans(13 * z)
    const y = top - tall - 8 * z
    context.fillStyle = paper.one(head.columns.ink)
    context.fillText(shorten(context, head.columns.axis, place.w), left, y)
    context.fillStyle = paper.one(head.rows.ink)
    context.textAlign = "right"
    if (!bare("left")) context.fillText(shorten(context, head.rows.axis, left - 8), left - 8, y)
    if (head.writes && !bare("right")) {
      context.textAlign = "left"
      context.fillText(shorten(context, "writes", place.right - 8), left + place.w + 8, y)
    }
    legend(context, paper, height - 42 * z)
  }

  function legend(context, paper, y) {
    const { z, left } = place
    const palette = paper.scale(head.scale)
    const end = head.signed || mode() === "map" ? number(full(0), 2) : mode() === "row" ? "row maximum" : "1"
    const start = head.signed ? `−${end}` : "0"
    context.font = mono(12 * z)
    context.textBaseline = "middle"
    context.textAlign = "left"
    context.fillStyle = paper.one("muted")
    let x = Math.max(Math.min(left, place.width * 0.2), context.measureText(start).width + 8)
    context.fillText(start, x - context.measureText(start).width - 8, y)
    const ended = context.measureText(end).width
    context.font = sans(13 * z)
    const said = context.measureText(brief(head.unit)).width // rather a shorter ramp than less of it
    context.font = mono(12 * z)
    const length = Math.max(40 * z, Math.min(120 * z, place.width - x - 16 - ended - 16 * z - said))
    ramp(context, palette, x, y, length, z)
    x += length + 8
    context.fillStyle = paper.one("muted")
    context.fillText(end, x, y)
    x += context.measureText(end).width + 16 * z
    context.font = sans(13 * z)
    const notes = []
    if (pooled(sharpness(root)))
      notes.push(`max-pooled: a pixel shows its largest cell${roomOf(root) ? "" : ", drag to zoom"}`)
    if (written() < rows) notes.push("empty rows: not written yet")
    if (seen.r1 - seen.r0 < area.r1 - area.r0) notes.push(`rows ${seen.r0}–${seen.r1 - 1} of ${rows}`)
    if (seen.c1 - seen.c0 < area.c1 - area.c0) notes.push(`keys ${seen.c0}–${seen.c1 - 1} of ${columns}`)
    context.fillText(unitAndNotes(context, head.unit, notes, place.width - x - 8), x, y)
    x = dotsNote(context, paper, strange, 0, y + 20 * z, z)
    if (head.hidden?.some(isFaint)) context.fillText(shorten(context, FAINT_ROWS, place.width - 8 - x), x, y + 20 * z)
  }

  function marks(context, paper) {
    const { r, c } = chosen()
    const row = r !== null && r >= seen.r0 && r < seen.r1
    const column = c !== null && c >= seen.c0 && c < seen.c1
    if (row) ring(context, paper, place.left, yOf(r), place.w, Math.max(3, place.rowHeight))
    if (row && column) ring(context, paper, xOf(c), yOf(r), Math.max(3, place.cell), Math.max(3, place.rowHeight))
    if (column) {
      context.fillStyle = paper.one("text")
      context.fillRect(
        xOf(c) + place.cell / 2 - Math.max(2, place.cell / 2 - 2),
        place.top - 4,
        Math.max(4, place.cell - 4),
        2,
      )
    }
  }

  function paintAll(context, exported) {
    const paper = colours(root)
    if (exported && few()) vectorCells(context, paper)
    else if (exported) {
      context.imageSmoothingEnabled = false
      context.drawImage(picture(pixels), place.left, place.top, place.w, place.h)
    } else {
      const ratio = sharpness(root)
      context.putImageData(pixels, Math.round(place.left * ratio), Math.round(place.top * ratio))
    }
    const blank = Math.max(seen.r0, written())
    if (blank < seen.r1) {
      context.lineWidth = 1
      context.strokeStyle = paper.one("line")
      context.strokeRect(
        place.left + 0.5,
        yOf(blank) + 0.5,
        place.w - 1,
        Math.max(1, place.rowHeight * (seen.r1 - blank) - 1),
      )
    }
    const [later, rest] = [Math.max(seen.c0, readable()), Math.min(seen.r1, blank) - seen.r0]
    if (later < seen.c1 && rest > 0) {
      context.lineWidth = 1
      context.strokeStyle = paper.one("line")
      context.strokeRect(
        xOf(later) + 0.5,
        place.top + 0.5,
        place.cell * (seen.c1 - later) - 1,
        Math.max(1, place.rowHeight * rest - 1),
      )
    }
    labels(context, paper, chosen())
    frame(context, paper)
    if (exported) marks(context, paper)
  }

  // ---- hovering and choosing

  function paintOver() {
    const context = prepare(over, place.width, place.height)
    const paper = colours(root)
    marks(context, paper)
    if (dragged?.to) {
      const [x, y] = [Math.min(dragged.x, dragged.to.x), Math.min(dragged.y, dragged.to.y)]
      context.lineWidth = 1
      context.strokeStyle = paper.one("text")
      context.strokeRect(x + 0.5, y + 0.5, Math.abs(dragged.to.x - dragged.x), Math.abs(dragged.to.y - dragged.y))
    }
    const pointed = hovered ?? elsewhere
    if (!pointed) return
    const { r, c } = pointed
    context.lineWidth = 1
    context.strokeStyle = paper.one("muted")
    context.strokeRect(place.left + 0.5, yOf(r) + 0.5, place.w - 1, Math.max(2, place.rowHeight - 1))
    context.strokeRect(xOf(c) + 0.5, place.top + 0.5, Math.max(2, place.cell - 1), place.h - 1)
  }

  /** What the tooltip says of a cell: both tokens with their positions, and the value. */
  function sentences(r, c) {
    const { rows: down, columns: along, writes } = head
    if (plays() && (r >= written() || laterKey(c))) return [`${down.role} ${positionAt(down, r)}`, NOT_YET]
    const query = `${down.role} ${positionAt(down, r)}: ${writes ? "reads " : ""}${quoted(down.tokens[r])}${writes ? `, writes ${quoted(writes[r])}` : ""}`
    const key = `${along.role} ${positionAt(along, c)}: ${quoted(along.tokens[c])}`
    if (r >= written()) return [query, key, NOT_YET]
    if (!there(r, c)) return [query, key, NOT_THERE]
    const value = at(r, c)
    const exact = values.encoding === "float32"
    const text = (exact ? "" : "≈ ") + (head.bounded ? share(value) : number(value, 4))
    const what = (may(r, c) ? "" : `masked${head.fill ? ` (${head.fill})` : ""}, `) + valued(head.quantity, value, text)
    return [
      query,
      key,
      what,
      ...hiddenWords(head.hidden?.[r]).map((words) => words + (head.signed ? " in A or in B" : "")),
    ]
  }

  /** Once in a window, the chosen row of its first map lights up: that is where to look. */
  function pulse() {
    const { r } = chosen()
    if (r === null || window.vizTransformerPulsed) return
    window.vizTransformerPulsed = true
    const light = element("div", "pulse")
    Object.assign(light.style, {
      left: `${place.left}px`,
      top: `${yOf(r)}px`,
      width: `${place.w}px`,
      height: `${place.rowHeight}px`,
    })
    light.onanimationend = () => light.remove()
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches) stage.append(light)
  }

  function tell(r, c, x, y) {
    told = { r, c, x, y }
    tip.show(sentences(r, c), x, y)
  }
  function hush() {
    told = null
    tip.hide()
  }

  function hover(cell, x, y) {
    if (cell?.r !== hovered?.r || cell?.c !== hovered?.c)
      selection.points(made, cell && { ...fieldOf(head.rows, cell.r), ...fieldOf(head.columns, cell.c) })
    hovered = cell
    if (cell) tell(cell.r, cell.c, x, y)
    else hush()
    paintOver()
  }

  /** The open key that has most weight in a row, or null. */
  function strongest(r) {
    let best = null
    for (let c = 0; c < columns; c++)
      if (may(r, c) && there(r, c) && at(r, c) > (best === null ? 0 : at(r, best))) best = c
    return best
  }

  /** Tell the page what the chosen row looks at, and take a key along that nobody chose. */
  function follow() {
    if (!head.follows) return
    const r = placeOn(head.rows)
    const key = r === null ? null : strongest(r)
    if (key !== null && selection.chosen.followed?.includes(head.columns.field))
      selection.follow(fieldOf(head.columns, key))
    const row = r === null ? [] : Array.from({ length: columns }, (_, c) => [positionAt(head.columns, c), at(r, c)])
    selection.looksAt({ ink: head.columns.ink, kind: head.scale, weights: Object.fromEntries(row) })
  }

  function pick(r, c, settle) {
    selection.pick({ ...fieldOf(head.rows, r), ...fieldOf(head.columns, c) }, settle)
    announce(sentences(r, c).join(", "))
  }

  /** Zoom to these cells, kept inside the map; without any, to all of it. */
  function show(cells) {
    area = areaOnMap(cells ?? wholeArea(rows, columns), rows, columns)
    first = { r: area.r0, c: area.c0 }
    revealed = ""
    painted = null
    made.draw()
  }

  const zoomBy = (factor) => show(areaAround(area, chosen(), factor))

  stage.onpointermove = (event) => {
    const { x, y } = pointIn(stage, event)
    if (dragged && Math.hypot(x - dragged.x, y - dragged.y) > 6) {
      dragged.to = {
        x: Math.min(Math.max(x, place.left), place.left + place.w),
        y: Math.min(Math.max(y, place.top), place.top + place.h),
      }
      hover(null)
    } else if (!dragged?.to) hover(cellAt(x, y), x, y)
  }
  stage.onpointerleave = () => hover(null)
  stage.onpointerdown = (event) => {
    const { x, y } = pointIn(stage, event)
    if (event.button === 0 && cellAt(x, y)) {
      dragged = { x, y, cell: cellAt(x, y) }
      stage.setPointerCapture(event.pointerId)
    }
  }
  stage.onpointerup = (event) => {
    if (!dragged) return
    const { cell, to, x, y } = dragged
    dragged = null
    if (!to) {
      pick(cell.r, cell.c, 0)
      const moved = pointIn(stage, event)
      hover(cell, moved.x, moved.y)
      return
    }
    const inside = (px, py) =>
      cellAt(Math.min(px, place.left + place.w - 0.01), Math.min(py, place.top + place.h - 0.01))
    show(areaBetween(inside(x, y), inside(to.x, to.y)))
  }
  stage.onpointercancel = () => {
    dragged = null
    paintOver()
  }
  const explain = () => openWhy(head.why, chosen())
  stage.ondblclick = () => (zoomed() ? show() : explain())
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const to = cellBeside(event.key, chosen(), rows, columns, {
      far: event.shiftKey ? 10 : 1,
      r0: area.r0,
      c0: area.c0,
    })
    if (to) {
      area = areaWith(area, to)
      seen = partSeen(area, first, place.seen)
      reveal(to)
      pick(to.r, to.c, 150)
      hovered = null
      tell(to.r, to.c, xOf(to.c) + place.cell / 2, yOf(to.r) + place.rowHeight / 2)
    } else if (event.key === "+") zoomBy(0.5)
    else if (event.key === "-") zoomBy(2)
    else {
      if (event.key === "Enter") explain()
      if (event.key !== "Escape") return
      hush()
      if (!zoomed()) return
      show()
    }
    event.preventDefault()
  }
  stage.onblur = hush

  const made = {
    update({ header, arrays }) {
      const before = head && { size: `${rows} ${columns}`, name: head.name }
      head = header
      values = arrays.values
      mask = arrays.mask
      kept = arrays.there
      ;[rows, columns] = values.shape
      tops = null
      strange = notFinite(values.values, kept?.values)
      painted = null
      // what was scrolled to stays in view: partSeen keeps it inside a smaller map
      const resized = before?.size !== `${rows} ${columns}`
      if (resized || before?.name !== head.name) area = wholeArea(rows, columns)
      if (resized) {
        fitted = false
        revealed = ""
      }
      hovered = null
      hush()
      choice.hidden = head.signed
      scales[0].hidden = !head.bounded
      stage.setAttribute(
        "aria-label",
        `${head.label}. Arrow keys choose a cell,${head.why?.length === 0 ? "" : " Enter opens why it is so,"} plus and minus zoom, Escape shows all.${head.grows ? " Rows after the chosen one are not written yet at that step." : ""}`,
      )
    },
    draw() {
      const width = root.clientWidth
      place = measure()
      seen = partSeen(area, first, place.seen)
      const { r, c } = chosen()
      if (place.scrolls && revealed !== `${r} ${c}`) reveal({ r, c })
      revealed = `${r} ${c}`
      fit.hidden = !place.scrolls && !fitted
      fit.setAttribute("aria-pressed", String(fitted))
      bars()
      stage.style.height = `${place.height}px`
      scales.forEach((each, i) => each.setAttribute("aria-pressed", String(SCALES[i][0] === mode())))
      const paper = colours(root)
      const state = [
        width,
        place.height,
        place.z,
        mode(),
        paper.one("page"),
        sharpness(root),
        JSON.stringify(seen),
        written(),
      ].join()
      if (painted !== state) pixels = cellsAt(sharpness(root))
      painted = state
      paintAll(prepare(base, width, place.height), false)
      paintOver()
      if (told && grows()) tell(told.r, told.c, told.x, told.y) // the step may have come to this row, or gone back
      pulse()
      follow()
      stage.dataset.painted = String(performance.now())
    },
    remove() {
      deaf()
      if (head?.follows) selection.looksAt(null)
    },
  }
  const deaf = selection.onPoint(made, (fields) => {
    const [r, c] = fields && head ? [placeIn(head.rows, fields), placeIn(head.columns, fields)] : [null, null]
    const cell = r !== null && c !== null && seen && areaHas(seen, { r, c }) ? { r, c } : null
    if (!cell && !elsewhere) return
    elsewhere = cell
    if (place) paintOver()
  })
  return made
}
