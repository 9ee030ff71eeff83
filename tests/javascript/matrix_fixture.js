// A map as Python sends it, and the colours of its cells.
import { axis, names, numbers } from "./axis_fixture.js"
import { inkOf, placeOf } from "./page_fixture.js"

const bits = (grid) =>
  grid && { shape: [grid.length, grid[0].length], encoding: "bits", values: Uint8Array.from(grid.flat()) }

/** A map of these rows; `mask`, `there` and `encoding` are of its arrays, all else of its header, where axes are completed. */
export function mapOf(values, { mask, there, encoding = "float32", rows, columns, ...header } = {}) {
  const shape = [values.length, values[0].length]
  const arrays = {
    values: { ...numbers(values.flat(), shape), encoding },
    ...(mask && { mask: bits(mask) }),
    ...(there && { there: bits(there) }),
  }
  const words = { label: "Map of a title: reads as rows, keys, source as columns", title: "a title", name: "picture" }
  const look = { scale: "cross", signed: false, bounded: true, unit: "attention weight", quantity: "weight", fill: "" }
  return {
    header: {
      ...words,
      ...look,
      caption: "a caption",
      writes: null,
      height: 480,
      ...header,
      rows: { ...axis("t", "query", names("q", shape[0]), "target-ink"), ...rows },
      columns: { ...axis("i", "key", names("k", shape[1]), "source-ink"), ...columns },
    },
    arrays,
  }
}

/** The colours in a box around the middle of a cell, `side` pixels wide and high: each once. */
export function coloursOf(matrix, cell, side = 1) {
  const { pixels, place } = matrix
  const at = placeOf(matrix, cell)
  const [x, y] = [at.x - place.left, at.y - place.top].map((middle) => Math.floor(middle - (side - 1) / 2))
  const found = new Set()
  for (let v = y; v < y + side; v++)
    for (let u = x; u < x + side; u++)
      found.add(
        `rgb(${Array.from(pixels.data.slice(4 * (v * pixels.width + u), 4 * (v * pixels.width + u) + 3)).join(", ")})`,
      )
  return [...found]
}
/** All cells of a map of which the tooltip would tell, as [row, column]. */
export const cellsOf = ({ seen: { r0, r1, c0, c1 } }) =>
  Array.from({ length: r1 - r0 }, (_, r) => Array.from({ length: c1 - c0 }, (_, c) => [r0 + r, c0 + c])).flat()
/** The cells that are nothing but paper, each as "row column". */
export const emptyCells = (matrix) =>
  cellsOf(matrix).flatMap(([r, c]) => (String(coloursOf(matrix, { r, c }, 8)) === inkOf("page") ? [`${r} ${c}`] : []))
