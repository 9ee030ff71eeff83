// The curve of a loss over training steps: both axes logarithmic, step 0 at the left edge.

const STEPS = [0, 1, 10, 100, 1000, 10_000, 100_000]

/**
 * Where axes and points of the curve stand, in pixels. A loss that has no logarithm stands on the lower axis.
 * @param {{steps: number[], losses: number[], width: number, height: number, z: number}} given
 */
export function placeLosses({ steps, losses, width, height, z }) {
  const [left, right, top, bottom] = [56 * z, width - 12 * z, 24 * z, height - 26 * z]
  const usable = losses.filter((loss) => loss > 0 && Number.isFinite(loss))
  const [low, high] = usable.length ? [Math.log10(Math.min(...usable)), Math.log10(Math.max(...usable))] : [-1, 1]
  const span = Math.max(high - low, 0.3)
  const last = steps[steps.length - 1]
  const end = Math.log10(last + 1) || 1
  /** @param {number} step */
  const x = (step) => left + (Math.log10(step + 1) / end) * (right - left)
  /** @param {number} power */
  const y = (power) => bottom - ((power - low + 0.06 * span) / (1.12 * span)) * (bottom - top)
  const decades = []
  for (let d = Math.ceil(low - 0.06 * span); d <= high + 0.06 * span; d += Math.ceil(span / 4))
    decades.push({ text: d < -4 ? `1e${d}` : String(Number((10 ** d).toPrecision(1))), y: y(d) })
  return {
    left,
    right,
    top,
    bottom,
    decades,
    ticks: STEPS.filter((step) => step <= last).map((step) => ({ text: step.toLocaleString("en"), x: x(step) })),
    points: steps.map((step, i) => ({ x: x(step), y: losses[i] > 0 ? y(Math.log10(losses[i])) : bottom })),
  }
}

/**
 * Which point is nearest to a place on the axis of steps.
 * @param {{x: number}[]} points
 * @param {number} from
 */
export const nearestPoint = (points, from) =>
  points.reduce((best, point, i) => (Math.abs(point.x - from) < Math.abs(points[best].x - from) ? i : best), 0)
