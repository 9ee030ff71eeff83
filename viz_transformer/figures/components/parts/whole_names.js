// Names of tokens where there is less room than names need: some of them, large enough to be read.

const [LEAST_NAME, PROJECTED_NAME] = [9, 12] // pixels

/** The least size of a name; on a projector, where `z` is more than 1, the last row has to read it. @param {number} z */
export const leastName = (z) => (z > 1 ? PROJECTED_NAME : LEAST_NAME) * z

/**
 * Which of `count` places, `step` pixels from one to the next, have a name that needs `size` pixels: all where there is room
 * for all; else those of `first`, in this order, as far as they leave each other room, and then of the others what has room.
 * @param {number} count
 * @param {number} step
 * @param {number} size
 * @param {Iterable<number>} [first]
 * @returns {Set<number>}
 */
export function namedAmong(count, step, size, first = []) {
  const apart = Math.max(1, Math.ceil(size / step - 1e-6))
  /** @type {Set<number>} */
  const named = new Set()
  /** @type {boolean[]} */
  const taken = Array.from({ length: count }, () => false)
  const take = (/** @type {number} */ n) => {
    if (taken[n] !== false) return
    named.add(n)
    taken.fill(true, Math.max(0, n - apart + 1), n + apart)
  }
  for (const n of first) take(n)
  for (let n = 0; n < count; n++) take(n)
  return named
}

/**
 * Where names of `size` pixels stand that want to be at these heights, in their order: each as near as it can be without
 * touching another, between `from` and `to` as far as all have room there.
 * @param {number[]} heights
 * @param {number} size
 * @param {number} from
 * @param {number} to
 */
export function keptApart(heights, size, from, to) {
  const order = [...heights.keys()].sort((a, b) => heights[a] - heights[b])
  const placed = [...heights]
  let least = from
  for (const n of order) {
    placed[n] = Math.max(heights[n], least)
    least = placed[n] + size
  }
  let most = Math.max(to, from + (heights.length - 1) * size)
  for (const n of order.toReversed()) {
    placed[n] = Math.min(placed[n], most)
    most = placed[n] - size
  }
  return placed
}
