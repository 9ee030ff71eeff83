// Where the four masks stand: two small ones and two large ones beside each other, or below each other on a phone.

/**
 * What there is to place: the room, how many rows and columns a mask has, and how wide the names of its rows are.
 * @typedef {{width: number, height: number, rows: number, columns: number, names: number, z: number}} Masks
 */
/** @typedef {{left: number, top: number, head: number, cell: number, rowHeight: number, room: number}} MaskPlace */
/** @typedef {{height: number, masks: MaskPlace[], signs: {x: number, y: number}[]}} Placed signs are behind each mask */
/** @typedef {{lines: number[], tall: number}} Above of the small and the large masks the lines of a note; names of columns */

const MASKS = {
  share: 0.16, // of the width, for each of the two small masks
  edge: 8, // pixels, as all below
  equals: 28,
  arrow: 44,
  bottom: 44,
  sign: 40, // between two that are stacked
  keys: 60, // what the colours mean, below those that are stacked
  tallest: 1.3, // times as high as wide, at most
}

/** @param {Masks} masks */
export function widthsBeside({ width, columns, names, z }) {
  const small = width * MASKS.share
  const left = MASKS.edge + small + MASKS.equals * z + names
  const room = (width - left - MASKS.arrow * z - 4) / 2
  return { small, room, left, cell: Math.min(room / columns, 48 * z) }
}

/** @param {Masks} masks */
export function widthsStacked({ width, columns, names, z }) {
  const left = MASKS.edge + names
  const room = width - left - 4
  return { small: (width - 2 * MASKS.edge - MASKS.sign * z) / 2, room, left, cell: Math.min(room / columns, 48 * z) }
}

/**
 * @param {Masks} masks
 * @param {Above} above
 * @returns {Placed}
 */
export function masksBeside(masks, { lines, tall }) {
  const { height, rows, columns, z } = masks
  const { small, room, left, cell } = widthsBeside(masks)
  const [top, bottom] = [(33 + 17 * lines[1]) * z + tall, MASKS.bottom * z]
  const rowHeight = Math.min((height - top - bottom) / rows, 32 * z)
  const half = (height - bottom) / 2
  const above = (30 + 17 * Math.max(2, lines[0])) * z // a small mask's title and its note
  const [across, down] = [Math.min(small / columns, 24 * z), Math.min((half - above - 20 * z) / rows, 24 * z)]
  const second = left + cell * columns + MASKS.arrow * z
  return {
    height,
    masks: [
      { left: MASKS.edge, top: above, head: 0, cell: across, rowHeight: down, room: small },
      { left: MASKS.edge, top: half + above, head: half, cell: across, rowHeight: down, room: small },
      { left, top, head: 0, cell, rowHeight, room },
      { left: second, top, head: 0, cell, rowHeight, room },
    ],
    signs: [
      { x: MASKS.edge + small * 0.5, y: (above + down * rows + half) / 2 },
      { x: MASKS.edge + across * columns + 16 * z, y: half },
      { x: (left + cell * columns + second) / 2, y: (2 * top + rowHeight * rows) / 2 },
    ],
  }
}

/**
 * The small ones beside each other, below them each large one over the whole width, as high as that takes.
 * @param {Masks} masks
 * @param {Above} above
 * @returns {Placed}
 */
export function masksStacked(masks, { lines, tall }) {
  const { width, rows, columns, z } = masks
  const { small, room, left, cell } = widthsStacked(masks)
  const above = (26 + 17 * lines[0]) * z
  const [across, down] = [Math.min(small / columns, 24 * z), Math.min(small / rows, 24 * z)]
  const rowHeight = Math.min(Math.max(cell, 18 * z), 32 * z, (MASKS.tallest * width) / rows)
  const first = above + down * rows + MASKS.sign * z // where what stands in front of the first large one begins
  const to = (33 + 17 * lines[1]) * z + tall
  const second = first + to + rowHeight * rows + MASKS.sign * z
  const other = MASKS.edge + small + MASKS.sign * z
  return {
    height: second + to + rowHeight * rows + MASKS.keys * z,
    masks: [
      { left: MASKS.edge, top: above, head: 0, cell: across, rowHeight: down, room: small },
      { left: other, top: above, head: 0, cell: across, rowHeight: down, room: small },
      { left, top: first + to, head: first, cell, rowHeight, room },
      { left, top: second + to, head: second, cell, rowHeight, room },
    ],
    signs: [
      { x: MASKS.edge + small + (MASKS.sign / 2) * z, y: above + (down * rows) / 2 },
      { x: left - 16 * z, y: first + 12 * z },
      { x: left - 16 * z, y: second + 12 * z },
    ],
  }
}
