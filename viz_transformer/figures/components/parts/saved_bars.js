// Where the parts of a step's saved picture stand: words above, a bar for each candidate, the rest, the axis.

const REST = 38
const BELOW = 48

/**
 * The picture's places in pixels. `strategy`: a strategy's bars stand below the model's, and its words above them all.
 * `label`: the width of the candidates' names.
 * @param {{width: number, label: number, most: number, strategy: boolean, z: number}} given
 */
export function placeSaved({ width, label, most, strategy, z }) {
  const [heading, line] = strategy ? [108 * z, 36 * z] : [60 * z, 26 * z]
  const [left, right] = [label + 16 * z, width - 84 * z]
  const bottom = heading + line * most + REST * z
  return {
    left,
    right,
    top: heading,
    bottom,
    line,
    height: bottom + BELOW * z,
    numbers: width - 10 * z,
    rows: Array.from({ length: most }, (_, i) => heading + line * (i + 0.5)),
    rest: heading + line * most + (REST * z) / 2,
    ticks: [0, 0.5, 1].map((part) => ({ part, x: left + (right - left) * part })),
    /** @param {number} share */
    long: (share) => (right - left) * (share || 0),
  }
}
