import { element } from "./parts/elements.js"
import { onPrint, SHEETS, sheetPlace } from "./parts/printing.js"
import { ending, rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { SheetData } from "./parts/types.js" */

/** @typedef {{data: unknown[], layout: Record<string, any>}} Figure */
/** @typedef {HTMLElement & Figure} Chart */
/** @typedef {{newPlot: (place: HTMLElement, data: unknown, layout: unknown, config: object) => unknown}} Plotly */

// The page on paper: what stands at the head and at the foot of each sheet, and its plotly charts, drawn anew for it.
// data: {caption, light}: `light` is the colour of the light theme for each of the dark one.

const LONGEST = 500 // letters of an address at the foot of each sheet; a longer one stands at the end alone
const LINES = 24 // of a listing
const WIDE = '[data-testid="stMain"] :is(.stHtml table, .vt-sheet-table, .vt-sheet-picture, .katex-display > .katex)'
const RGBA = /^rgba\((\d+), ?(\d+), ?(\d+), ?([\d.]+)\)$/

/** @param {Component} component */
export default function ({ parentElement, data }) {
  const known = rootIn(parentElement, "sheet")
  const root = known ?? /** @type {Root} */ (element("span", "sheet"))
  root.given = data
  if (!known) {
    parentElement.append(root)
    root.vt = { stop: listen(root) }
  }
  return ending(root, () => {
    root.vt.stop()
    root.remove()
  })
}

/**
 * Makes the sheets before each print, and takes them away behind it, until what it returns is called.
 * @param {Root} root
 */
function listen(root) {
  /** @type {Element[]} */
  let made = []
  const stop = onPrint(
    () => {
      made = [...charts(root.given), ...tables(root.given), ...listings(), ...edges(root.given)]
      widths()
    },
    () => clear(made),
  )
  return () => {
    stop()
    clear(made)
  }
}

const wholeApp = () => /** @type {HTMLElement} */ (document.querySelector(".stApp"))
const words = (/** @type {string} */ selector) => document.querySelector(selector)?.textContent?.trim() ?? ""

/**
 * Head and foot of each sheet, and how high they are on each: the page keeps so much of each sheet free.
 * @param {SheetData} given
 */
function edges({ caption }) {
  const app = wholeApp()
  const [head, foot] = [element("div", "vt-sheet-head"), element("div", "vt-sheet-foot")]
  const question = element("p", "vt-sheet-question")
  const paragraph = document.querySelector(":is(.vt-question, .st-key-question .vt-bad)") // a problem stands in its place
  if (paragraph) question.append(...[...paragraph.childNodes].map((each) => each.cloneNode(true)))
  head.append(element("b", "", words("h1")), question)
  const address = location.href
  const fits = address.length <= LONGEST
  const shown = fits ? address : `${address.slice(0, LONGEST)}… (in full at the end)`
  foot.append(element("p", "", caption), element("p", "vt-sheet-address", shown))
  app.append(head, foot)
  for (const { name, width } of SHEETS)
    for (const [part, edge] of /** @type {[string, HTMLElement][]} */ ([
      ["head", head],
      ["foot", foot],
    ])) {
      edge.style.cssText = `display: block; width: ${width}px`
      app.style.setProperty(`--vt-sheet-${part}-${name}`, `${edge.offsetHeight}px`)
      edge.removeAttribute("style")
    }
  // A browser repeats these two on each sheet, and head and foot, which are fixed, stand where they keep the room.
  const [above, below] = [element("div", "vt-sheet-above"), element("div", "vt-sheet-below")]
  const page = /** @type {HTMLElement} */ (document.querySelector(".stMainBlockContainer"))
  page.prepend(above)
  page.append(below)
  if (fits) return [head, foot, above, below]
  const end = element("p", "vt-sheet-end vt-sheet-address", address)
  below.before(end)
  return [head, foot, above, below, end]
}

/**
 * Copies of the charts that are seen, each beside its own.
 * @param {SheetData} given
 */
function charts({ light }) {
  const { Plotly } = /** @type {Window & {Plotly?: Plotly}} */ (window)
  const seen = /** @type {NodeListOf<Chart>} */ (document.querySelectorAll('[data-testid="stMain"] .js-plotly-plot'))
  return [...seen]
    .filter((chart) => chart.checkVisibility() && chart.layout)
    .flatMap((chart) =>
      SHEETS.map((sheet) => {
        const { name, room } = sheet
        const least = Number.parseFloat(getComputedStyle(chart).getPropertyValue("--vt-wide")) || 0
        const [width, height] = [Math.max(sheet.width, least), Math.min(chart.layout.height, room)]
        const place = sheetPlace(sheet, width, height)
        place.className = `vt-printed vt-${name}`
        const plot = element("div")
        place.append(plot)
        chart.parentElement?.append(place)
        place.style.cssText += `; display: block; position: absolute; visibility: hidden; width: ${width}px`
        const layout = { ...asLight(chart.layout, light), width, height, autosize: false }
        Plotly?.newPlot(plot, asLight(chart.data, light), layout, { staticPlot: true })
        for (const each of ["display", "position", "visibility", "width"]) place.style.removeProperty(each)
        return place
      }),
    )
}

/** @param {string} text */
const note = (text) => element("p", "vt-note vt-sheet-note", text)

/**
 * The tables that can be sorted, whose rows in view are all that the page has of them.
 * @param {SheetData} given
 */
function tables({ light }) {
  return [...document.querySelectorAll('[data-testid="stMain"] .stDataFrame')].flatMap((frame) => {
    if (!frame.checkVisibility()) return []
    const grid = frame.querySelector("canvas table")
    if (!grid) return pictured(frame, light)
    const rows = [...grid.querySelectorAll("tr")].map((row) => [...row.children].map((cell) => cell.textContent ?? ""))
    const columns = rows[0].map((_, n) => written(rows.map((row) => row[n] ?? "")))
    const table = element("table", "vt-sheet-table")
    rows.forEach((row, i) => {
      const line = element("tr")
      line.append(...row.map((_, n) => element(i ? "td" : "th", "", columns[n][i])))
      table.append(line)
    })
    const count = Number(grid.getAttribute("aria-rowcount")) - 1
    const shown = rows.length - 1
    frame.after(table)
    if (shown >= count) return [table]
    const rest = note(`${shown} of ${count.toLocaleString("en")} rows, those in view on the screen.`)
    table.after(rest)
    return [table, rest]
  })
}

/**
 * For a moment after it is drawn a table is its picture alone, with nothing to read in it: that is printed, and light.
 * @param {Element} frame
 * @param {Record<string, string>} light
 */
function pictured(frame, light) {
  const canvas = frame.querySelector("canvas")
  if (!canvas) return []
  const paper = getComputedStyle(canvas).getPropertyValue("--gdg-bg-cell").trim()
  frame.classList.add("vt-sheet-picture")
  frame.classList.toggle("vt-sheet-turned", asLight(paper, light) !== paper)
  const said = note("As it was on the screen just after it was drawn; print again for all of its columns.")
  frame.after(said)
  return [said]
}

/** Says of what may be wider than a sheet how wide it is at least. */
function widths() {
  for (const wide of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(WIDE))) {
    wide.classList.add("vt-sheet-wide")
    wide.parentElement?.classList.add("vt-sheet-fits")
    const before = wide.style.width
    wide.style.width = "min-content"
    const width = Math.max(wide.offsetWidth, wide.scrollWidth)
    wide.style.width = before
    wide.style.setProperty("--vt-sheet-wide", `${Math.max(1, width)}px`)
  }
}

/**
 * Leaves nothing of it behind.
 * @param {Element[]} made
 */
function clear(made) {
  for (const each of made) each.remove()
  for (const { name } of SHEETS)
    for (const part of ["head", "foot"]) wholeApp()?.style.removeProperty(`--vt-sheet-${part}-${name}`)
  for (const name of ["vt-sheet-wide", "vt-sheet-fits", "vt-sheet-long", "vt-sheet-picture", "vt-sheet-turned"])
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(`.${name}`))) {
      each.classList.remove(name)
      each.style.removeProperty("--vt-sheet-wide")
    }
}

/**
 * A column with its numbers in six digits, as the table on the screen has them, and its ticks as such.
 * @param {string[]} cells with its head
 */
function written([head, ...cells]) {
  if (cells.every((cell) => cell === "true" || cell === "false"))
    return [head, ...cells.map((cell) => (cell === "true" ? "✓" : ""))]
  if (!cells.every((cell) => !cell || Number.isFinite(Number(cell)))) return [head, ...cells]
  return [head, ...cells.map((cell) => (cell.replace(/\D/g, "").length > 6 ? significant(Number(cell)) : cell))]
}
/** @param {number} value */
function significant(value) {
  const digits = value !== 1 && Number(value.toPrecision(6)) === 1 ? 17 : 6
  const size = Math.abs(value)
  return size && size < 1e-4 ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)))
}

/** Of a listing that is a page and more its beginning; what is left out is said. */
function listings() {
  return [...document.querySelectorAll('[data-testid="stMain"] .stCode')].flatMap((listing) => {
    const count = (listing.querySelector("code")?.textContent ?? "").trimEnd().split("\n").length
    const long = count > LINES
    listing.classList.toggle("vt-sheet-long", long)
    if (!long) return []
    const rest = note(`The first ${LINES} of ${count} lines; the screen has all.`)
    listing.after(rest)
    return [rest]
  })
}

/**
 * The same with the colours of the light theme.
 * @param {any} given
 * @param {Record<string, string>} light
 * @returns {any}
 */
function asLight(given, light) {
  if (typeof given === "string") {
    const [, r, g, b, opacity] = RGBA.exec(given) ?? []
    if (!opacity) return light[given.toUpperCase()] ?? given
    const found = light[hex([r, g, b].map(Number))]
    return found ? found + hex([Math.round(255 * Number(opacity))]).slice(1) : given
  }
  if (Array.isArray(given)) return given.map((each) => asLight(each, light))
  if (given === null || Object.getPrototypeOf(given) !== Object.prototype) return given // a number, numbers
  return Object.fromEntries(Object.entries(given).map(([key, value]) => [key, asLight(value, light)]))
}
const hex = (/** @type {number[]} */ channels) =>
  `#${channels.map((each) => each.toString(16).padStart(2, "0")).join("")}`.toUpperCase()
