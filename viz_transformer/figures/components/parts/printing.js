import { element } from "./elements.js"

/** @typedef {{name: string, width: number, room: number}} Sheet */

// Pictures on paper. A browser says that it prints before it says on what paper, and Firefox prints a copy in which nothing is
// drawn any more. So each picture is drawn once for a portrait and once for a landscape sheet, and the style sheets show the one
// for the paper there is (ui/frame/print.css, shared.css), magnified from `width` to the paper's. `room` is what a picture
// has in height, in the same pixels: none is parted by the end of a page.

/** @type {Sheet[]} */
export const SHEETS = [
  { name: "portrait", width: 718, room: 780 },
  { name: "landscape", width: 1047, room: 440 },
]
const DOTS = 3 // dots to a pixel, of which an inch has 96

/**
 * Calls `begin` before the page is printed, or shown as it would be, and `end` afterwards. Returns what ends that.
 * @param {() => void} begin
 * @param {() => void} end
 */
export function onPrint(begin, end) {
  const paper = matchMedia("print")
  let printed = false
  const turn = (/** @type {boolean} */ now) => {
    if (now === printed) return
    printed = now
    if (printed) begin()
    else end()
  }
  const before = () => turn(true)
  const after = () => turn(paper.matches) // what is shown as it would be printed stays so
  window.addEventListener("beforeprint", before)
  window.addEventListener("afterprint", after)
  paper.addEventListener("change", after)
  return () => {
    window.removeEventListener("beforeprint", before)
    window.removeEventListener("afterprint", after)
    paper.removeEventListener("change", after)
  }
}

/**
 * Where a copy for this sheet stands, which is `wide` and `high` pixels large, and how much smaller than the sheet it is seen
 * so that it has room there.
 * @param {Sheet} sheet
 * @param {number} wide
 * @param {number} high
 */
export function sheetPlace({ name, width, room }, wide, high) {
  const place = element("div", `printed ${name}`)
  place.style.setProperty("--vt-sheet-width", `${wide}px`)
  place.style.setProperty("--vt-sheet-fit", String(Math.min(1, room / (high * (width / wide)))))
  return place
}

/**
 * The dots to a pixel of a picture that is drawn for a sheet; 0 for any other.
 * @param {Element} root
 */
export const dots = (root) => (roomOf(root) ? DOTS : 0)
/**
 * The height that a sheet has for a picture that is drawn for it; 0 for any other.
 * @param {Element} root
 */
export const roomOf = (root) => Number(getComputedStyle(root).getPropertyValue("--vt-sheet-room")) || 0

/**
 * A picture has its copies while the page is printed, if it is ready to be drawn. Returns what ends that.
 * @param {HTMLElement} root
 * @param {() => void} draw
 * @param {() => boolean | undefined} ready
 */
export function onSheets(root, draw, ready = () => true) {
  let end = () => {}
  const stop = onPrint(
    () => {
      if (ready()) end = copies(root, draw)
    },
    () => end(),
  )
  return () => {
    end()
    stop()
  }
}

/**
 * Puts copies of a picture for all sheets beside it, drawn anew for each and light. Returns what takes them away again.
 * @param {HTMLElement} root
 * @param {() => void} draw
 */
function copies(root, draw) {
  if (!root.checkVisibility() || !root.clientWidth) return () => {}
  const before = root.style.cssText
  const places = SHEETS.map((sheet) => {
    root.style.cssText = `${before}; box-sizing: border-box; width: ${sheet.width}px; max-height: none; color-scheme: light`
    const given = { zoom: 1, tool: "none", "sheet-room": sheet.room }
    for (const [name, value] of Object.entries(given)) root.style.setProperty(`--vt-${name}`, String(value))
    draw()
    const copy = /** @type {HTMLElement} */ (root.cloneNode(true))
    const drawn = root.querySelectorAll("canvas")
    copy.querySelectorAll("canvas").forEach((canvas, n) => canvas.getContext("2d")?.drawImage(drawn[n], 0, 0))
    const place = sheetPlace(sheet, sheet.width, root.offsetHeight)
    place.append(copy)
    return place
  })
  root.style.cssText = before
  draw()
  root.dataset.printed = ""
  root.after(...places)
  return () => {
    for (const place of places) place.remove()
    delete root.dataset.printed
  }
}
