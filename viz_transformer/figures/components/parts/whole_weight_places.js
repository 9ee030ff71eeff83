// One weight computed: the products by dimension in blocks of columns, below them what becomes of their sum.

/** @typedef {{x: number, y: number, width: number, first: number, count: number}} Block */
/**
 * `signs`: so many of a number have room above and below a key.
 * `dense`: the dimensions are too many to be written out; each is a cell `cell` wide in one line.
 * @typedef {{z: number, width: number, height: number, dense: boolean, left: number, cell: number, row: number,
 *   blocks: Block[], sums: number, keys: {x: number, cell: number, labels: number, scores: number,
 *   bars: number, tall: number, shares: number, signs: number}, last: number}} WeightPlaces
 */

const [MARGIN, WRITTEN, HIGH, HIGHEST_LINE, APART] = [64, 54, 15, 24, 8]
const [SUM_LINE, BAR_TALL, LEAST_BAR, ONE_SIGN] = [34, 150, 24, 7.3]
const BELOW = 6 + SUM_LINE + 8 + 36 + LEAST_BAR + 22 + SUM_LINE // what is below the products, with the lowest bars

/**
 * @param {{z: number, width: number, height: number, dimensions: number, keys: number}} given
 * @returns {WeightPlaces}
 */
export function placeWeight({ z, width, height, dimensions, keys }) {
  const left = MARGIN * z
  const free = width - left - 2 * z
  const columns = Math.max(1, Math.floor(free / (WRITTEN * z)))
  const count = Math.ceil(dimensions / columns)
  const room = height - BELOW * z // of the height is what products have at most
  const dense = count * (3 * HIGH + APART) * z > room
  const lines = dense ? 1 : count
  const row = Math.max(
    4 * z,
    Math.min(HIGHEST_LINE * z, (0.6 * height) / lines / 3 - (APART * z) / 3, (room / lines - APART * z) / 3),
  )
  const each = 3 * row + APART * z
  const inBlock = dense ? dimensions : Math.min(columns, Math.ceil(dimensions / count))
  const cell = dense ? free / dimensions : Math.min(WRITTEN * 1.4 * z, free / inBlock)
  const top = 6 * z
  const blocks = Array.from({ length: lines }, (_, n) => ({
    x: left,
    y: top + n * each,
    width: cell * Math.min(inBlock, dimensions - n * inBlock),
    first: n * inBlock,
    count: Math.min(inBlock, dimensions - n * inBlock),
  }))
  const sums = top + lines * each
  const labels = sums + SUM_LINE * z + 8 * z
  const bars = labels + 36 * z
  const tall = Math.max(LEAST_BAR * z, Math.min(BAR_TALL * z, height - bars - (22 + SUM_LINE) * z))
  const wide = Math.min(76 * z, free / keys)
  const shares = bars + tall + 2 * z
  return {
    z,
    width,
    height,
    dense,
    left,
    cell,
    row,
    blocks,
    sums,
    keys: {
      x: left,
      cell: wide,
      labels,
      scores: labels + 18 * z,
      bars,
      tall,
      shares,
      signs: Math.floor((wide - 2 * z) / (ONE_SIGN * z)),
    },
    last: shares + (20 + SUM_LINE / 2) * z,
  }
}

/**
 * The dimension that is at a place, or null.
 * @param {WeightPlaces} place
 * @param {number} x
 * @param {number} y
 */
export function dimensionIn({ blocks, cell, row }, x, y) {
  const block = blocks.find((each) => y >= each.y && y < each.y + 3 * row)
  if (!block) return null
  const n = Math.floor((x - block.x) / cell)
  return n >= 0 && n < block.count ? block.first + n : null
}

/**
 * The key whose column is at a place, of so many, or null.
 * @param {WeightPlaces} place
 * @param {number} keys
 * @param {number} x
 * @param {number} y
 */
export function keyIn({ keys: { x: left, labels: top, cell, shares }, z }, keys, x, y) {
  const n = Math.floor((x - left) / cell)
  return y >= top - 4 * z && y <= shares + 18 * z && n >= 0 && n < keys ? n : null
}

/**
 * What becomes of a query and a key, in the order of the formula: products, their sum, the score as recorded, the largest
 * score of those that may be read, e to what each lies below it, the sum of those, and the share that the key has of it.
 * Nothing may be read: `most` is -Infinity and the shares are NaN.
 * @param {{query: ArrayLike<number>, key: ArrayLike<number>, scores: ArrayLike<number>, open: ArrayLike<number | boolean>,
 *   at: number}} given
 */
export function workedOut({ query, key, scores, open, at }) {
  const products = Array.from(query, (value, e) => value * key[e])
  const sum = products.reduce((total, each) => total + each, 0)
  let most = -Infinity
  for (let k = 0; k < scores.length; k++) if (open[k] && scores[k] > most) most = scores[k]
  const powers = Array.from(scores, (score, k) => (open[k] ? Math.exp(score - most) : 0))
  const total = powers.reduce((all, each) => all + each, 0)
  return { products, sum, score: scores[at], most, powers, total, share: powers[at] / total }
}
