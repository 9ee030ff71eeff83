// Where the panel of the tour stands, and how far the page is scrolled, so that it covers nothing of what has the ring.

/** @typedef {{left: number, top: number, right: number, bottom: number}} Box */
/** @typedef {{width: number, height: number}} Size */
/** The window, and where its page begins beside the sidebar. @typedef {Size & {left: number}} View */

export const GAP = 16 // pixels between panel and window
const RING = 8 // pixels around what has the ring

/** @param {Box} a @param {Box} b */
const overlap = (a, b) =>
  a.left < b.right + RING && b.left < a.right + RING && a.top < b.bottom + RING && b.top < a.bottom + RING

/**
 * The corners of the window, the usual one first.
 * @param {Size} panel
 * @param {View} view
 * @returns {Box[]}
 */
const corners = ({ width, height }, view) => {
  const [right, bottom] = [view.width - GAP - width, view.height - GAP - height]
  const lefts = [right, ...[view.left + GAP, GAP].filter((left) => left < right)]
  return [bottom, GAP].flatMap((top) => lefts.map((left) => ({ left, top, right: left + width, bottom: top + height })))
}

/**
 * Where the panel covers nothing of the ring: where it is, if it can stay, else at the first such corner; null without one.
 * @param {?Box} ring
 * @param {Size} panel
 * @param {View} view
 * @param {?Box} before
 */
export const placeOf = (ring, panel, view, before) => {
  const all = corners(panel, view)
  const still = before && all.find(({ left, top }) => left === before.left && top === before.top)
  return [...(still ? [still] : []), ...all].find((box) => !ring || !overlap(box, ring)) ?? null
}

/**
 * Whether there is a way to scroll so that panel and ring stand beside or above each other.
 * @param {Box} ring
 * @param {Size} panel
 * @param {View} view
 */
export const fits = (ring, panel, view) =>
  isBeside(ring, panel, view)
    ? ring.bottom - ring.top + 2 * RING <= view.height
    : ring.bottom - ring.top + 2 * RING + panel.height + 2 * GAP <= view.height

/** @param {Box} ring @param {Size} panel @param {View} view */
const isBeside = (ring, panel, view) => {
  const room = panel.width + GAP + RING
  return view.width - ring.right >= room || ring.left >= room
}

/**
 * By how many pixels the page is to be scrolled so that the ring is in view and leaves room for the panel.
 * @param {Box} ring
 * @param {Size} panel
 * @param {View} view
 */
export const scrollOf = (ring, panel, view) => {
  const inView = ring.top >= RING && ring.bottom <= view.height - RING
  if (inView && (placeOf(ring, panel, view, null)?.top ?? GAP) > GAP) return 0
  const taken = isBeside(ring, panel, view) ? 0 : panel.height + GAP
  const low = view.height - taken - 2 * RING
  const down = ring.bottom - low
  return down > 0 ? Math.min(down, ring.top - RING) : ring.top - RING
}
