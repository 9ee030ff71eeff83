// Text that flows in lines as the browser broke it: the token on the next line, the pieces of a line, and the sheet of a
// picture that is saved.

/** @typedef {{left: number, top: number, width: number, height: number}} Rectangle */

/**
 * The nearest token on the next line below (step 1) or above (-1), n itself on the last. boxOf(n) is where a token stands.
 * @param {(n: number) => Rectangle} boxOf
 * @param {number} count
 * @param {number} n
 * @param {1 | -1} step
 */
export function onNextLine(boxOf, count, n, step) {
  const from = boxOf(n)
  const middle = from.left + from.width / 2
  let [best, least] = [n, Infinity]
  /** @type {number | undefined} */
  let line
  for (let m = n + step; m >= 0 && m < count; m += step) {
    const to = boxOf(m)
    const height = to.top + to.height / 2
    if (Math.abs(height - from.top - from.height / 2) < from.height / 2) continue
    line ??= height
    if (Math.abs(height - line) > from.height / 2) break
    const aside = Math.abs(to.left + to.width / 2 - middle)
    if (aside < least) [best, least] = [m, aside]
  }
  return best
}

/**
 * The lines of a text of which each sign has its place: what each says, where it begins, and its middle.
 * @param {Iterable<{text: string, box: Pick<Rectangle, "left" | "top" | "height">}>} signs
 */
export function linesOf(signs) {
  /** @type {{text: string, left: number, middle: number}[]} */
  const found = []
  for (const { text, box } of signs) {
    const middle = box.top + box.height / 2
    const line = found.find((each) => Math.abs(each.middle - middle) < box.height / 2)
    if (line) Object.assign(line, { text: line.text + text, left: Math.min(line.left, box.left) })
    else found.push({ text, left: box.left, middle })
  }
  return found
}

/**
 * Where the parts of a picture stand, from the top: title and sentence, then the paragraphs, which have these heights, each
 * below its label, then the legend: its lines, as wrap(room) gives them, stand behind its ramp and the word at the ramp's
 * end, which is `end` wide.
 * @param {{z: number, width: number, paragraphs: number[], end: number, wrap: (room: number) => string[]}} given
 */
export function placeSheet({ z, width, paragraphs, end, wrap }) {
  let y = 60 * z
  const places = paragraphs.map((height) => {
    const text = y + 24 * z
    y = text + height + 8 * z
    return { label: text - 8 * z, text }
  })
  const left = 152 * z + end
  const lines = wrap(width - left - 8)
  return { z, places, legend: { y: y + 12 * z, left, lines }, height: y + (10 + 18 * lines.length) * z }
}
