// What all canvas components share: payload, selection, numbers and tokens as text, colours, tooltip, places to draw
// on, and export. Every text comes in as data and goes out through textContent or fillText, never as markup.

// ---- payload: payload.py has the other half

const DECODERS = {
  "float32": (bytes) => new Float32Array(bytes.buffer),
  "sqrt-uint16": (bytes) => squares(new Uint16Array(bytes.buffer), 65535),
  "sqrt-uint8": (bytes) => squares(bytes, 255),
  "base-16": (bytes, count) => digits(new Uint16Array(bytes.buffer), count, 16, 4),
  "base-9": (bytes, count) => digits(new Uint16Array(bytes.buffer), count, 9, 5),
  "bits": (bytes, count) => {
    const values = new Uint8Array(count)
    for (let i = 0; i < count; i++) values[i] = (bytes[i >> 3] >> (i & 7)) & 1
    return values
  },
}

const squares = (roots, most) => {
  const table = Float32Array.from({ length: most + 1 }, (_, root) => Math.fround(root / most) ** 2)
  const values = new Float32Array(roots.length)
  for (let i = 0; i < roots.length; i++) values[i] = table[roots[i]]
  return values
}

const digits = (numbers, count, base, each) => {
  const values = new Uint8Array(count)
  for (let i = 0, at = 0; i < numbers.length; i++)
    for (let rest = numbers[i], end = at + each; at < end; rest = (rest / base) | 0) values[at++] = rest % base
  return values
}

/** The header of a payload, and its arrays as {shape, values, encoding}. */
export function unpack(payload) {
  const start = 4 + new DataView(payload.buffer, payload.byteOffset).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(payload.subarray(4, start)))
  const arrays = {}
  for (const [name, { encoding, shape, offset, length }] of Object.entries(header.arrays)) {
    const bytes = payload.slice(start + offset, start + offset + length)
    const count = shape.reduce((product, side) => product * side, 1)
    arrays[name] = { shape, encoding, values: DECODERS[encoding](bytes, count) }
  }
  return { header, arrays }
}

// ---- selection: one for all components of the page; selection.js joins it to Python

const makeSelection = () => {
  const changes = new EventTarget()
  const store = { chosen: {}, pending: {}, unheard: {}, token: "", sentAt: -Infinity, send: null, timer: 0 }
  const tell = () => changes.dispatchEvent(new Event("change"))
  const flush = () => {
    if (!store.send || !Object.keys(store.pending).length) return
    store.token = Math.random().toString(36).slice(2)
    store.sentAt = performance.now()
    store.unheard = { ...store.unheard, ...store.pending } // of two picks that wait, Python hears only the later
    store.pending = {}
    store.send({ token: store.token, fields: store.unheard })
  }
  return {
    get chosen() { return store.chosen },
    /** Choose at once in the browser; Python hears of it when nothing else was chosen for `settle` milliseconds. */
    pick(fields, settle = 0) {
      store.chosen = { ...store.chosen, ...fields }
      store.pending = { ...store.pending, ...fields }
      store.sentAt = performance.now()
      store.token = null
      tell()
      clearTimeout(store.timer)
      store.timer = setTimeout(flush, settle)
    },
    /** What Python says is chosen. Until it has heard of the last pick it is behind, and not believed for a while. */
    receive(chosen, token) {
      const behind = store.token !== "" && token !== store.token
      if (!behind) store.unheard = {}
      if (behind && performance.now() - store.sentAt < 3000) return
      if (JSON.stringify(chosen) === JSON.stringify(store.chosen)) return
      store.chosen = chosen
      tell()
    },
    connect(send) { store.send = send },
    listen(callback) {
      changes.addEventListener("change", callback)
      return () => changes.removeEventListener("change", callback)
    },
  }
}
export const selection = (window.vizTransformerSelection ??= makeSelection())

/** The place on an axis that is chosen, or null. A place may be several tokens, from its start to its end. */
export function placeOn(axis) {
  const position = selection.chosen[axis.field]
  if (typeof position !== "number") return null
  if (!axis.starts) return position < axis.tokens.length ? position : null
  const place = axis.starts.findIndex((start, i) => start <= position && position < axis.ends[i])
  return place < 0 ? null : place
}
/** The position in the run at which a place on an axis begins. */
export const positionAt = (axis, place) => (axis.starts ? axis.starts[place] : place)
/** The selection's field and value for a place on an axis. */
export const fieldOf = (axis, place) => ({ [axis.field]: positionAt(axis, place) })

// ---- numbers as text, as numerals.py writes them

/** The number with `digits` decimals, a tie to the even one, as Python rounds. */
export function fixed(value, digits) {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits ? "." : ""}${"0".repeat(digits)}`
  const text = value.toFixed(digits)
  const [whole, tail] = Math.abs(value).toFixed(Math.min(100, digits + 30)).split(".")
  if (!/^50*$/.test(tail.slice(digits))) return text
  const digit = digits ? tail[digits - 1] : whole.at(-1)
  if (Number(digit) % 2) return text
  return (value < 0 ? "-" : "") + (digits ? `${whole}.${tail.slice(0, digits)}` : whole)
}

/** The value with `digits` decimals; below what they can show "<0.0001", and 0 only if it is 0. */
export function number(value, digits = 4) {
  const smallest = 10 ** -digits
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "-∞"
  if (value > 0 && value < smallest) return `<${smallest.toFixed(digits)}`
  if (value < 0 && value > -smallest) return `>-${smallest.toFixed(digits)}`
  return fixed(value, digits)
}

/** The number, with the value itself on the right side of the end if it is not the end. */
function ended(value, digits, end) {
  const size = Math.abs(value)
  if (!Number.isFinite(size) || size === end || Number(fixed(size, digits)) !== end) return number(value, digits)
  const near = fixed(end + Math.sign(size - end) * 10 ** -digits, digits)
  return value > 0 ? `${size > end ? "<" : ">"}${near}` : `${size > end ? ">" : "<"}-${near}`
}

/** A weight or a probability; 0.0000 and 1.0000 are said only of exactly 0 and 1. */
export const share = (value, digits = 4) => ended(value, digits, 1)

/** e to the value; rounding makes it neither 0 nor 1. */
export function exponential(value) {
  const found = Math.exp(value)
  if (found === 1 && value !== 0) return value < 0 ? 1 - 2 ** -53 : 1 + 2 ** -52
  return found === 0 && value > -Infinity ? Number.MIN_VALUE : found
}

/** A share in percent; 0 and 100 are said only of none and all. */
export function percent(value, digits = 1) {
  if (!Number.isFinite(value)) return number(value)
  return value === 0 || value === 1 ? `${100 * value} %` : `${ended(100 * value, digits, 100)} %`
}

/** What is said of a place where the run has no number: its row has no step, or the key came after that step. */
export const NOT_THERE = "not there: no step had this number"

// ---- rows of which most is hidden: header.hidden has the share of each row's weight that keys hold which are left out

/** How a row of which so much is hidden is painted: what is left of it was little, however large it looks. */
export const FAINT = 0.5
const MOSTLY_HIDDEN = 0.9 // analysis/hidden_keys.py has it too
export const isFaint = (hidden) => hidden > MOSTLY_HIDDEN
export const FAINT_ROWS = `faint: more than ${MOSTLY_HIDDEN} of the row is hidden`
/** What is said of it, in a list: nothing where nothing is known to be hidden. */
export const hiddenWords = (hidden) => (typeof hidden === "number" ? [`${share(hidden)} of this row's weight is hidden`] : [])

// ---- tokens: {text, note, special, unknown}; text is what the model reads, note what was typed instead

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text)
export const quoted = (token) => {
  const read = `“${isolated(token.text)}”`
  return token.note === undefined ? read : `${read}, typed “${isolated(token.note)}”`
}
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The text, or its beginning and an ellipsis, in at most `width` pixels of the context's font. */
export function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text
  let kept = ""
  for (const { segment } of graphemes.segment(text)) {
    if (context.measureText(`${kept}${segment}…`).width > width) break
    kept += segment
  }
  return `${kept}…`
}

/** The text in lines of at most `width` pixels, parted at blanks; a word that is longer is parted between its signs. */
export function wrapped(context, text, width) {
  const fits = (line) => context.measureText(line).width <= width
  const lines = [""]
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) && `${lines.at(-1)} ${word}`
    if (longer && fits(longer)) lines[lines.length - 1] = longer
    else {
      if (lines.at(-1)) lines.push("")
      for (const { segment } of graphemes.segment(word)) {
        if (lines.at(-1) && !fits(lines.at(-1) + segment)) lines.push("")
        lines[lines.length - 1] += segment
      }
    }
  }
  return lines
}

// ---- colours: the CSS variables of ui/style.py, as the browser's theme has them

/** What the variables are in this theme, [red, green, blue] each, in one question: each makes the browser work out styles. */
const asked = (probe, variables) => {
  const all = [...variables, variables[0]].map((variable) => `var(${variable}, currentcolor)`) // the page's CSS may come later
  probe.style.backgroundImage = `linear-gradient(${all.join()})` // the one property that takes a list of colours
  const found = getComputedStyle(probe).backgroundImage.match(/rgba?\([^)]*\)/g)
  return variables.map((_, n) => found[n].match(/[\d.]+/g).slice(0, 3).map(Number))
}
const css = ([r, g, b]) => `rgb(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)})`

/**
 * Single colours by name, and `scale(name)`: 1,024 colours as 32 bit pixels with `css(t)` for one of them. What was read
 * is kept as long as the page has the same colour: a theme is known by that.
 */
export function colours(root) {
  let probe = root.querySelector(":scope > .probe")
  if (!probe) {
    probe = element("span", "probe")
    probe.setAttribute("aria-hidden", "true")
    root.append(probe)
  }
  const [page] = asked(probe, ["--vt-page"])
  if (String(probe.read?.page) !== String(page)) probe.read = { page, found: new Map([["--vt-page", page]]) }
  const { found } = probe.read
  const kept = (key, make) => {
    if (!found.has(key)) found.set(key, make(key))
    return found.get(key)
  }
  const read = (variable) => kept(variable, () => asked(probe, [variable])[0])
  const one = (name) => css(read(`--vt-${name}`))
  const pixel = (name) => asPixel(read(`--vt-${name}`))
  const scale = (name) => kept(name, () => {
    const stops = asked(probe, [0, 1, 2, 3, 4, 5, 6].map((i) => `--vt-${name}-${i}`))
    const at = (t) => {
      const place = Math.min(Math.max(t, 0), 1) * 6
      const i = Math.min(Math.floor(place), 5)
      const [[r, g, b], [r1, g1, b1]] = [stops[i], stops[i + 1]]
      return [r + (r1 - r) * (place - i), g + (g1 - g) * (place - i), b + (b1 - b) * (place - i)]
    }
    const pixels = new Uint32Array(1024)
    for (let i = 0; i < 1024; i++) pixels[i] = asPixel(at(i / 1023))
    return { pixels, css: (t) => css(at(t)) }
  })
  return { one, pixel, scale }
}
const asPixel = ([r, g, b]) => ((255 << 24) | (Math.round(b) << 16) | (Math.round(g) << 8) | Math.round(r)) >>> 0

// ---- maps: cells as 32 bit pixels

/**
 * How `count` cells from `first` share so many pixels: in steps of one cell, or of one pixel where there are fewer pixels
 * than cells. Step i has the pixels from pixels[i] to pixels[i + 1] and the cells from cells[i] to cells[i + 1], `most` of
 * them at most.
 */
export function steps(size, count, first = 0) {
  const length = Math.min(size, count)
  const [pixels, cells] = [new Int32Array(length + 1), new Int32Array(length + 1)]
  for (let i = 0; i <= length; i++) {
    pixels[i] = Math.ceil((i * size) / length)
    cells[i] = first + Math.floor((i * count) / length)
  }
  return { length, pixels, cells, most: Math.ceil(count / length) }
}

/**
 * Paints one row of a map, the pixels from y0 to y1, into `out` with `width` pixels in a line; the map begins at left, top.
 * inks: a pixel for each step across; where `hatched`, if given, is not 0 there are lines over it, each `thick`, one every `period`.
 * With a `seam` the first line of each cell, and the first of the row, have that colour, save at the edges of the map.
 */
export function paintRow(out, width, { left, top, y0, y1 }, { length, pixels }, inks, hatched, { line, period, thick, seam }) {
  const start = (top + y0) * width + left
  const end = Math.min(pixels[length], width - left)
  for (let i = 0; i < length; i++) {
    const x = pixels[i]
    if (pixels[i + 1] > x + 1) out.fill(inks[i], start + x, start + Math.min(pixels[i + 1], end))
    else if (x < end) out[start + x] = inks[i]
  }
  if (seam) for (let i = 1; i < length; i++) out[start + pixels[i]] = seam
  for (let y = y0 + 1; y < y1; y++) out.copyWithin(start + (y - y0) * width, start, start + end)
  for (let i = 0; hatched && i < length; i++) {
    if (!hatched[i]) continue
    const behind = Math.min(pixels[i + 1], end)
    for (let y = y0; y < y1; y++)
      for (let x = pixels[i] + (seam && i ? 1 : 0); x < behind; x++)
        if ((x + y) % period < thick) out[start + (y - y0) * width + x] = line
  }
  if (seam && y0) out.fill(seam, start, start + end)
}

/** The pixels as something that can be drawn, also larger or as SVG. */
export function picture(pixels) {
  const canvas = element("canvas")
  canvas.width = pixels.width
  canvas.height = pixels.height
  canvas.getContext("2d").putImageData(pixels, 0, 0)
  return canvas
}

/** Whether dark text reads better than light text on this CSS colour. */
export function isLight(colour) {
  const [r, g, b] = colour.match(/[\d.]+/g).map((channel) => (channel / 255) ** 2.2)
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.19
}

// ---- elements, tooltip, what a screen reader hears

const ICONS = {
  back: "M3 2h2v12H3zM14 2v12L6 8z",
  next: "M11 2h2v12h-2zM2 2v12l8-6z",
  play: "M3 1v14l11-7z",
  pause: "M3 2h3.5v12H3zM9.5 2H13v12H9.5z",
}

/** The sign of a button: back, next, play or pause. */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg"
  const picture = document.createElementNS(space, "svg")
  const path = document.createElementNS(space, "path")
  picture.setAttribute("viewBox", "0 0 16 16")
  picture.setAttribute("aria-hidden", "true")
  path.setAttribute("d", ICONS[name])
  picture.append(path)
  return picture
}

export function element(name, className, text) {
  const made = document.createElement(name)
  if (className) made.className = className
  if (text !== undefined) made.textContent = text
  return made
}

export function button(className, text, title, onClick) {
  const made = element("button", className, text)
  made.type = "button"
  made.title = title
  made.setAttribute("aria-label", title)
  made.onclick = onClick
  return made
}

/** A tooltip inside `root`: show(lines, x, y) beside a place in root's pixels, hide(). */
export function tooltip(root) {
  const box = element("div", "tooltip")
  box.setAttribute("role", "tooltip")
  box.hidden = true
  root.append(box)
  return {
    show(lines, x, y) {
      box.replaceChildren(...lines.map((line) => element("div", "", line)))
      box.hidden = false
      const right = x + 16 + box.offsetWidth <= root.clientWidth
      box.style.left = `${Math.max(0, right ? x + 16 : x - 12 - box.offsetWidth)}px`
      const below = y + 16 + box.offsetHeight <= root.clientHeight
      box.style.top = `${Math.max(0, below ? y + 16 : y - 12 - box.offsetHeight)}px`
    },
    hide() { box.hidden = true },
  }
}

/** A place that screen readers read aloud when its text changes. */
export function announcer(root) {
  const place = element("div", "unseen")
  place.setAttribute("aria-live", "polite")
  root.append(place)
  return (text) => { if (place.textContent !== text) place.textContent = text }
}

// ---- mounting: a component's function is called anew with each new data, on the same element

/** The element that an earlier call put here. The parent is a shadow root, in which `:scope` finds nothing. */
export const rootIn = (parent, className) => [...parent.children].find((child) => child.classList.contains(className))

/**
 * Calls make(root) once and update(payload) with each new data. `make` returns {update, draw, remove}; draw is called
 * after a change of size, theme, fonts or selection, and may read root.clientWidth.
 */
export function mount(component, className, make) {
  const { parentElement, data } = component
  let root = rootIn(parentElement, className)
  if (!root) {
    root = element("div", `component ${className}`)
    parentElement.append(root)
    const made = make(root)
    let waiting = false
    const draw = () => {
      if (waiting || !made.ready) return
      waiting = true
      requestAnimationFrame(() => {
        waiting = false
        if (root.isConnected && root.clientWidth) made.draw()
      })
    }
    const sizes = new ResizeObserver(draw)
    sizes.observe(root)
    const deaf = selection.listen(draw)
    const theme = element("span", "theme")
    theme.setAttribute("aria-hidden", "true")
    theme.addEventListener("transitionend", draw)
    root.append(theme)
    document.fonts.addEventListener("loadingdone", draw)
    root.vt = { made, draw, stop() {
      sizes.disconnect()
      deaf()
      document.fonts.removeEventListener("loadingdone", draw)
    } }
    for (const font of ["400 14px 'IBM Plex Mono'", "600 14px 'IBM Plex Mono'", "400 14px 'IBM Plex Sans'", "600 16px 'IBM Plex Sans'"])
      document.fonts.load(font).then((loaded) => loaded.length && draw())
  }
  const { made, draw, stop } = root.vt
  made.update(unpack(data))
  made.ready = true
  if (root.clientWidth) made.draw()
  else draw()
  return () => { stop(); root.remove() }
}

/** Text sizes follow the projector switch: a pixel here is this many of the screen's. */
export const zoom = (root) => Number(getComputedStyle(root).getPropertyValue("--vt-zoom")) || 1
/** The height in the screen's pixels: on a projector the whole picture has to fit between the answer and the caption. */
export const tallness = (root, height) => (zoom(root) > 1 ? Math.max(360, window.innerHeight - 190) : height)
export const mono = (size, weight = 400) => `${weight} ${size}px 'IBM Plex Mono', 'Source Code Pro', ui-monospace, monospace`
export const sans = (size, weight = 400) => `${weight} ${size}px 'IBM Plex Sans', 'Source Sans', system-ui, sans-serif`

/** A canvas of `width` x `height` CSS pixels, sharp on the screen it is on; its context, cleared. */
export function prepare(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1
  const w = Math.max(1, Math.round(width * ratio))
  const h = Math.max(1, Math.round(height * ratio))
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w
    canvas.height = h
    canvas.style.width = `${width}px`
    canvas.style.height = `${height}px`
  }
  const context = canvas.getContext("2d")
  context.setTransform(ratio, 0, 0, ratio, 0, 0)
  context.clearRect(0, 0, width, height)
  return context
}

// ---- export: what is drawn is drawn once more, on a canvas of its own or as SVG, with the caption under it

/** Two buttons that save what draw(context) draws, `size()` pixels large, in a margin, with the caption under it. */
export function exports(root, { draw, size, caption, name }) {
  const box = element("span", "exports")
  const layout = () => {
    const [margin, line] = [12 * zoom(root), 17 * zoom(root)]
    const picture = size()
    const font = sans(12 * zoom(root))
    const ruler = document.createElement("canvas").getContext("2d")
    ruler.font = font
    const lines = wrapped(ruler, caption(), picture.width)
    const height = picture.height + 3 * margin + lines.length * line
    return { margin, line, font, lines, picture, width: picture.width + 2 * margin, height }
  }
  const paint = (context, { margin, line, font, lines, picture, width, height }) => {
    const paper = colours(root)
    context.fillStyle = paper.one("page")
    context.fillRect(0, 0, width, height)
    context.save()
    context.translate(margin, margin)
    draw(context)
    context.restore()
    context.font = font
    context.textAlign = "left"
    context.textBaseline = "middle"
    context.fillStyle = paper.one("muted")
    lines.forEach((text, n) => context.fillText(text, margin, picture.height + 2 * margin + (n + 0.5) * line))
  }
  const png = () => {
    const laid = layout()
    const canvas = element("canvas")
    canvas.width = laid.width * 2
    canvas.height = laid.height * 2
    const context = canvas.getContext("2d")
    context.scale(2, 2)
    paint(context, laid)
    canvas.toBlob((blob) => save(blob, `${name()}.png`))
  }
  const svg = () => {
    const laid = layout()
    const context = new SvgContext(laid)
    paint(context, laid)
    save(new Blob([context.text()], { type: "image/svg+xml" }), `${name()}.svg`)
  }
  box.append(
    button("quiet", "PNG", "Save this picture as PNG", png),
    button("quiet", "SVG", "Save this picture as SVG", svg),
  )
  return box
}

export function save(blob, name) {
  const link = element("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c])
  // eslint-disable-next-line no-control-regex
  .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd")
const rounded = (value) => Math.round(value * 100) / 100

/** The part of a canvas context that the components draw with, writing SVG elements. */
export class SvgContext {
  fillStyle = "#000"
  strokeStyle = "#000"
  lineWidth = 1
  globalAlpha = 1
  font = mono(14)
  textAlign = "left"
  textBaseline = "alphabetic"
  direction = "ltr"
  #parts = []
  #path = []
  #saved = []
  #transform = ""
  #size
  #measure = document.createElement("canvas").getContext("2d")

  constructor({ width, height }) { this.#size = { width, height } }
  save() {
    const { fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, direction } = this
    this.#saved.push([{ fillStyle, strokeStyle, lineWidth, globalAlpha, font, textAlign, textBaseline, direction }, this.#transform])
  }
  restore() {
    const [style, transform] = this.#saved.pop()
    Object.assign(this, style)
    this.#transform = transform
  }
  translate(x, y) { this.#transform += ` translate(${rounded(x)} ${rounded(y)})` }
  rotate(angle) { this.#transform += ` rotate(${rounded((angle * 180) / Math.PI)})` }
  measureText(text) {
    this.#measure.font = this.font
    return this.#measure.measureText(text)
  }
  #add(name, attributes, content = "") {
    const all = { ...attributes, ...(this.globalAlpha < 1 && { opacity: rounded(this.globalAlpha) }), ...(this.#transform && { transform: this.#transform.trim() }) }
    const written = Object.entries(all).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("")
    this.#parts.push(`<${name}${written}>${content}</${name}>`)
  }
  fillRect(x, y, width, height) {
    this.#add("rect", { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height), fill: this.fillStyle })
  }
  strokeRect(x, y, width, height) {
    this.#add("rect", { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth })
  }
  fillText(text, x, y) {
    const [, weight, size, family] = this.font.match(/^(\d+) ([\d.]+)px (.+)$/)
    const anchor = { left: "start", start: "start", center: "middle", right: "end", end: "end" }[this.textAlign]
    const baseline = { middle: "central", top: "hanging", alphabetic: "alphabetic", bottom: "text-after-edge" }[this.textBaseline]
    this.#add("text", {
      x: rounded(x), y: rounded(y), fill: this.fillStyle, "font-family": family, "font-size": size,
      "font-weight": weight, "text-anchor": anchor, "dominant-baseline": baseline, "xml:space": "preserve",
    }, escaped(text))
  }
  beginPath() { this.#path = [] }
  moveTo(x, y) { this.#path.push(`M${rounded(x)} ${rounded(y)}`) }
  lineTo(x, y) { this.#path.push(`L${rounded(x)} ${rounded(y)}`) }
  bezierCurveTo(...at) { this.#path.push(`C${at.map(rounded).join(" ")}`) }
  stroke() {
    this.#add("path", { d: this.#path.join(""), fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth })
  }
  drawImage(canvas, x, y, width, height) {
    this.#add("image", { x: rounded(x), y: rounded(y), width: rounded(width), height: rounded(height), href: canvas.toDataURL("image/png"), preserveAspectRatio: "none", style: "image-rendering:pixelated" })
  }
  text() {
    const { width, height } = this.#size
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${rounded(width)}" height="${rounded(height)}" viewBox="0 0 ${rounded(width)} ${rounded(height)}">${this.#parts.join("\n")}</svg>`
  }
}
