// Where the thumbnails of all heads stand, in their layers or sorted, and which of them an arrow leads to.

/** @import { GridSizes } from "./types.js" */

/**
 * What there is to place: numbers of layers and heads, the heads in the order in which they are shown, each as
 * layer * heads + head, and the sizes of grid.py. `compact` puts layers beside each other.
 * @typedef {{layers: number, heads: number, sequence: number[], sizes: GridSizes, compact: boolean}} Heads
 */
/** @typedef {{index: number, x: number, y: number}} Item */

/**
 * The layers in so many rows, and the side of a thumbnail: the largest that fits into the width and the room, or where
 * all are smaller than the least size, in the fewest rows at which the width has room for that.
 * @param {Heads} given
 * @param {number} width
 * @param {number} room
 * @param {number} z
 */
export function fitInPlace({ layers, heads, sizes, compact }, width, room, z) {
  const { least, most, gap, margin, between, line } = sizes
  const fits = []
  for (let rows = compact ? 1 : layers; rows <= layers; rows++) {
    const blocks = Math.ceil(layers / rows)
    const wide = ((width + between * z) / blocks - (between + margin) * z) / heads - gap * z
    const tall = (room - line * z) / rows - gap * z
    fits.push({ rows, wide: Math.min(wide, most * z), size: Math.min(wide, tall, most * z) })
  }
  const best = fits.reduce((a, b) => (b.size > a.size ? b : a))
  if (best.size >= least * z) return { rows: best.rows, size: Math.floor(best.size) }
  const taller = fits.find(({ wide }) => wide >= least * z)
  return taller
    ? { rows: taller.rows, size: least * z }
    : { rows: layers, size: Math.max(8, Math.floor(fits[fits.length - 1].wide)) }
}

/**
 * The thumbnails layer by layer. `block` is from a column of layers to the next, `used` the height of all.
 * @param {Heads} given
 * @param {number} width
 * @param {number} room
 * @param {number} z
 */
export function placeInPlace(given, width, room, z) {
  const { heads, sequence, sizes } = given
  const { gap, margin, between, line, top } = sizes
  const { rows, size } = fitInPlace(given, width, room, z)
  const pitch = size + gap * z
  const spread = Math.floor(Math.min(Math.max((room - line * z) / rows - size, gap * z), 4 * gap * z))
  const block = (margin + between) * z + heads * pitch
  const items = sequence.map((index) => {
    const [layer, number] = [Math.floor(index / heads), index % heads]
    return {
      index,
      x: Math.round(Math.floor(layer / rows) * block + margin * z + number * pitch),
      y: Math.round((top + line) * z + (layer % rows) * (size + spread)),
    }
  })
  return { items, size, rows, block, used: line * z + rows * (size + spread) }
}

/**
 * The thumbnails one after the other, line by line, as large as the room allows.
 * @param {Heads} given
 * @param {number} width
 * @param {number} room
 * @param {number} z
 */
export function placeSorted({ layers, heads, sequence, sizes }, width, room, z) {
  const { least, most, gap, top, inset, caption, caption_width } = sizes
  const fit = (/** @type {number} */ size) => {
    const pitch = Math.max(size, caption_width * z) + gap * z
    const columns = Math.max(1, Math.floor((width - 2 * inset * z + gap * z) / pitch))
    return { size, pitch, columns, used: Math.ceil((layers * heads) / columns) * (size + caption * z) }
  }
  let found = fit(Math.floor(least * z))
  for (let size = Math.floor(most * z); size > found.size; size--) if (fit(size).used <= room) found = fit(size)
  const { size, pitch, columns, used } = found
  const aside = inset * z + (pitch - gap * z - size) / 2
  const items = sequence.map((index, i) => ({
    index,
    x: Math.round((i % columns) * pitch + aside),
    y: Math.round(top * z + Math.floor(i / columns) * (size + caption * z)),
  }))
  return { items, size, used }
}

/**
 * The heads that ask each head of keys, in turn, and that in words; none where each head has keys of its own.
 * @param {number} heads
 * @param {number} keys
 */
export function sharedKeys(heads, keys) {
  if (keys === heads) return []
  const each = heads / keys
  return Array.from({ length: keys }, (_, key) => {
    const [first, last] = [key * each, (key + 1) * each - 1]
    return { key, first, last, words: `heads ${first} ${each === 2 ? "and" : "to"} ${last} ask key head ${key}` }
  })
}

/**
 * The thumbnail at a place, a pixel around it and what is written `below` it included.
 * @param {Item[]} items
 * @param {number} size
 * @param {number} below
 * @param {number} x
 * @param {number} y
 */
export const itemAt = (items, size, below, x, y) =>
  items.find((item) => x >= item.x - 1 && x <= item.x + size + 1 && y >= item.y - 1 && y <= item.y + size + below)

/**
 * The head that a key leads to: the next in the row, of the row above or below the nearest, or an end of the row.
 * @param {Item[]} items
 * @param {Item} here
 * @param {number} size
 * @param {string} key
 */
export function headBeside(items, here, size, key) {
  const row = items.filter((item) => item.y === here.y).sort((a, b) => a.x - b.x)
  if (key === "Home") return row[0].index
  if (key === "End") return row[row.length - 1].index
  if (key === "ArrowLeft" || key === "ArrowRight") {
    const step = key === "ArrowLeft" ? -1 : 1
    const beside = row[row.indexOf(here) + step]
    if (beside) return beside.index
    const walk = [...items].sort((a, b) => a.y - b.y || a.x - b.x)
    return (walk[walk.indexOf(here) + step] ?? here).index
  }
  const sign = key === "ArrowUp" ? -1 : 1
  const beyond = items.filter((item) => (item.y - here.y) * sign > size / 2)
  if (!beyond.length) return here.index
  const distance = (/** @type {Item} */ item) => Math.abs(item.y - here.y) * 1e4 + Math.abs(item.x - here.x)
  return beyond.reduce((a, b) => (distance(b) < distance(a) ? b : a)).index
}
