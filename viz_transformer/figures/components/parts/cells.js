// Maps of cells: which cell is at a place, how the labels beside them are set, where keys and zooming lead.

/** @typedef {{r: number, c: number}} Cell */
/**
 * The cells that are shown, from row r0 to that before r1, from column c0 to that before c1.
 * @typedef {{r0: number, r1: number, c0: number, c1: number}} Area
 */

/**
 * The cell at a place, null beside the area. `cells` says where the first one is, and how large each is, in pixels.
 * @param {number} x
 * @param {number} y
 * @param {{left: number, top: number, cell: number, rowHeight: number}} cells
 * @param {Area} area
 * @returns {?Cell}
 */
export function cellIn(x, y, { left, top, cell, rowHeight }, { r0, r1, c0, c1 }) {
  const c = c0 + Math.floor((x - left) / cell)
  const r = r0 + Math.floor((y - top) / rowHeight)
  return c >= c0 && r >= r0 && c < c1 && r < r1 ? { r, c } : null
}

const [LONG, LONGEST] = [55, 512]
/** The sides of a cell of a matrix with few of them, in pixels: a map of a short text fills its room. */
export const WIDEST = 128
export const TALLEST = 96

/**
 * How many of so many cells are seen at once in a room of so many pixels, and how large each is. Where a side is long, cells
 * keep the least size and the rest is scrolled to; where it is longer than that helps, or short, all share the room.
 * @param {number} count
 * @param {number} room
 * @param {{least: number, most: number}} sizes
 */
export function cellsInView(count, room, { least, most }) {
  if (count < LONG || count > LONGEST || count * least <= room)
    return { seen: count, size: Math.min(room / count, most) }
  return { seen: Math.max(1, Math.floor(room / least)), size: least }
}

/**
 * The part of an area that is seen: so many rows and columns of it from a first cell, moved as little as keeps it inside.
 * @param {Area} area
 * @param {Cell} first
 * @param {{down: number, along: number}} seen
 * @returns {Area}
 */
export function partSeen({ r0, r1, c0, c1 }, { r, c }, { down, along }) {
  const top = Math.min(Math.max(r, r0), r1 - down)
  const left = Math.min(Math.max(c, c0), c1 - along)
  return { r0: top, r1: top + down, c0: left, c1: left + along }
}

/** On a projector, where a pixel is more than one, no letter is smaller: so many pixels are 1/45 of the height. */
const LEAST_SEEN = 11.5
/**
 * @param {number} least
 * @param {number} z
 */
const readable = (least, z) => (z > 1 ? Math.max(least, LEAST_SEEN) : least) * z

/**
 * The size of the letters beside rows so high; where rows are lower than letters, each `every`-th has a label.
 * @param {number} rowHeight
 * @param {number} z
 */
export function rowLabels(rowHeight, z, least = 9) {
  const size = Math.max(readable(least, z), Math.min(14 * z, rowHeight * 0.82))
  return { size, every: Math.max(1, Math.ceil((size + 1) / rowHeight)) }
}

/**
 * The letters over columns so wide, of which the widest label has `widest` pixels and gets no more than `most`: they are
 * turned where it does not fit over its column. `tall` is the room that they take, each `every`-th has a label.
 * @param {number} cell
 * @param {number} widest
 * @param {number} most
 * @param {number} z
 */
export function columnLabels(cell, widest, most, z, { upright = widest * 0.9 > cell, least = 9 } = {}) {
  const size = upright ? Math.max(readable(least, z), Math.min(14 * z, cell * 0.82)) : 13 * z
  const tall = upright ? Math.min(most, widest) * (size / (14 * z)) + 8 : 20 * z
  return { upright, size, tall, every: upright ? Math.max(1, Math.ceil((size + 1) / cell)) : 1 }
}

/**
 * The numbers over columns so wide, of which the widest has so many pixels: level, each 1st, 2nd, 5th, 10th ... of them,
 * as many as stand apart.
 * @param {number} cell
 * @param {number} widest
 * @param {number} z
 */
export function numbersOver(cell, widest, z) {
  return { upright: false, size: 13 * z, tall: 20 * z, every: everyRound(cell, widest + 12 * z) }
}
/**
 * The numbers beside rows so high, as those over columns.
 * @param {number} rowHeight
 * @param {number} z
 */
export const numbersBeside = (rowHeight, z) => ({ size: 13 * z, every: everyRound(rowHeight, 17 * z) })
/**
 * 1, 2, 5, 10, 20 ...: how many cells so large have the room.
 * @param {number} cell
 * @param {number} room
 */
const everyRound = (cell, room) => {
  let every = 1
  for (let n = 0; every * cell < room; n++) every = [2, 5, 10][n % 3] * 10 ** Math.floor(n / 3)
  return every
}

/**
 * Whether place n has a label where each `every`-th has one: what is picked always, and nothing so near to it.
 * @param {number} n
 * @param {number} every
 * @param {?number} picked
 */
export const hasLabel = (n, every, picked) =>
  n === picked || (n % every === 0 && (every === 1 || picked === null || Math.abs(n - picked) >= every))

/**
 * The cell that an arrow, Home or End leads to, in a map of so many rows and columns; null for any other key. Where no
 * row or no column is chosen yet, it is the first one of those shown.
 * @param {string} key
 * @param {{r: ?number, c: ?number}} from
 * @param {number} rows
 * @param {number} columns
 * @returns {?Cell}
 */
export function cellBeside(key, { r, c }, rows, columns, { far = 1, r0 = 0, c0 = 0 } = {}) {
  /** @type {Record<string, [number, number]>} */
  const moves = {
    ArrowUp: [-far, 0],
    ArrowDown: [far, 0],
    ArrowLeft: [0, -far],
    ArrowRight: [0, far],
    Home: [0, -columns],
    End: [0, columns],
  }
  if (!moves[key]) return null
  const [down, along] = moves[key]
  return { r: r === null ? r0 : within(r + down, rows), c: c === null ? c0 : within(c + along, columns) }
}
/**
 * @param {number} n
 * @param {number} count
 */
const within = (n, count) => Math.min(Math.max(n, 0), count - 1)

/**
 * @param {number} rows
 * @param {number} columns
 * @returns {Area}
 */
export const wholeArea = (rows, columns) => ({ r0: 0, r1: rows, c0: 0, c1: columns })

/**
 * What of an area is on the map.
 * @param {Area} area
 * @param {number} rows
 * @param {number} columns
 * @returns {Area}
 */
export const areaOnMap = ({ r0, r1, c0, c1 }, rows, columns) => ({
  r0: Math.max(0, r0),
  r1: Math.min(rows, r1),
  c0: Math.max(0, c0),
  c1: Math.min(columns, c1),
})

/**
 * The area of which these are two corners.
 * @param {Cell} a
 * @param {Cell} b
 * @returns {Area}
 */
export const areaBetween = (a, b) => ({
  r0: Math.min(a.r, b.r),
  r1: Math.max(a.r, b.r) + 1,
  c0: Math.min(a.c, b.c),
  c1: Math.max(a.c, b.c) + 1,
})

/**
 * The area, `factor` times as large, around what is chosen, or around its middle; it may reach beyond the map.
 * @param {Area} area
 * @param {{r: ?number, c: ?number}} chosen
 * @param {number} factor
 * @returns {Area}
 */
export function areaAround({ r0, r1, c0, c1 }, { r, c }, factor) {
  const half = (/** @type {number} */ count) => Math.max(1, Math.round((count * factor) / 2))
  const [h, w] = [half(r1 - r0), half(c1 - c0)]
  const [y, x] = [r ?? Math.floor((r0 + r1) / 2), c ?? Math.floor((c0 + c1) / 2)]
  return { r0: y - h, r1: y + h + 1, c0: x - w, c1: x + w + 1 }
}

/**
 * The area moved as little as shows this cell; the same one where it is shown already.
 * @param {Area} area
 * @param {Cell} cell
 * @returns {Area}
 */
export function areaWith(area, { r, c }) {
  const { r0, r1, c0, c1 } = area
  if (r >= r0 && r < r1 && c >= c0 && c < c1) return area
  const move = (/** @type {number} */ n, /** @type {number} */ first, /** @type {number} */ behind) =>
    n < first ? n - first : n >= behind ? n - behind + 1 : 0
  const [down, along] = [move(r, r0, r1), move(c, c0, c1)]
  return { r0: r0 + down, r1: r1 + down, c0: c0 + along, c1: c1 + along }
}

/**
 * The largest of each row of a map, without its sign, and of all; what is not a finite number does not count.
 * @param {ArrayLike<number>} values
 * @param {number} rows
 * @param {number} columns
 */
export function largestOf(values, rows, columns) {
  const each = new Float32Array(rows)
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const size = Math.abs(values[r * columns + c])
      if (size > each[r] && size < Infinity) each[r] = size
    }
  return { rows: each, map: each.reduce((a, b) => Math.max(a, b), 0) }
}
