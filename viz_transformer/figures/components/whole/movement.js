import { contextOf, prepare } from "../parts/stage.js"
import { eased, isDeeper, MOVE, seen, zoomed } from "../parts/whole_levels.js"

/** @import { Context, Ruler } from "../parts/types.js" */
/** @import { Box, Level, View } from "../parts/whole_levels.js" */

/** What draws a level: `lay` says where everything is, `still` is what does not change while steps are played, `now` the rest.
 * @typedef {{lay: (width: number, height: number, ruler: Ruler) => void, paintStill: (context: Context) => void,
 *   paintNow: (context: Context) => void, size: () => {width: number, height: number}, state: () => string,
 *   boxOf: () => ?Box, sentence: () => string, sentences: () => string[], at: (x: number, y: number) => any,
 *   update: () => void}} Scene */
/** @typedef {{base: HTMLCanvasElement, over: HTMLCanvasElement}} Canvases */
/** @typedef {{width: number, height: number}} Room */
/** From one level to another: what is moved from is kept as it was painted last, what is moved to is drawn anew when more of
 * it is there.
 * @typedef {{to: Level, deeper: boolean, still: HTMLCanvasElement, box: ?Box, start: number, begun: boolean,
 *   other: ?HTMLCanvasElement, state: ?string}} Moving */

/** Moves from one level to the next. */
export class Movement {
  /** @type {?Moving} */
  #moving = null
  #canvases
  #stage

  /**
   * @param {Canvases} canvases
   * @param {{draw: () => void, isThere: () => boolean, lay: (scene: Scene) => void, scenes: Record<Level, Scene>}} stage
   */
  constructor(canvases, stage) {
    this.#canvases = canvases
    this.#stage = stage
  }
  get isOn() {
    return this.#moving !== null
  }
  stop() {
    this.#moving = null
  }
  /** @param {Level} from @param {Level} to */
  start(from, to) {
    const { lay, scenes } = this.#stage
    const still = copied(this.#canvases)
    const deeper = isDeeper(from, to)
    lay(scenes[from])
    const box = deeper ? scenes[from].boxOf() : null
    this.#moving = { to, deeper, still, box, start: performance.now(), begun: false, other: null, state: null }
    requestAnimationFrame(this.#glide)
  }
  #glide = () => {
    if (!this.#moving || !this.#stage.isThere()) return
    if (performance.now() - this.#moving.start >= MOVE) this.#moving = null
    this.#stage.draw()
    if (this.#moving) requestAnimationFrame(this.#glide)
  }
  /** @param {Room} room */
  paint(room) {
    const moving = this.#moving
    if (!moving) return
    const { lay, scenes } = this.#stage
    const { to, deeper, start, box } = moving
    const part = eased(Math.min(1, (performance.now() - start) / MOVE))
    lay(scenes[to])
    const far = deeper ? part : 1 - part
    const state = scenes[to].state()
    // nothing of it is seen in the first frame, which answers the key: it is drawn in the next
    const isUnseen = !moving.begun && seen(far) === (deeper ? 0 : 1)
    moving.begun = true
    if (!isUnseen && moving.state !== state) {
      moving.other = snapshot(scenes[to], room)
      moving.state = state
    }
    const target = deeper ? box : scenes[to].boxOf()
    const pictures = deeper ? [moving.still, moving.other] : [moving.other, moving.still]
    paintBoth(this.#canvases, room, pictures, { target: target ?? { x: 0, y: 0, ...room }, far })
  }
}

/**
 * The outer picture and the inner one, when a part of the movement inwards is over.
 * @param {Canvases} canvases
 * @param {Room} room
 * @param {(?HTMLCanvasElement)[]} pictures null where nothing of one is seen yet
 * @param {{target: Box, far: number}} movement
 */
function paintBoth({ base, over }, room, [outer, inner], { target, far }) {
  const { outer: outside, inner: inside } = zoomed(room, target, far)
  const context = prepare(base, room.width, room.height)
  prepare(over, room.width, room.height)
  const put = (
    /** @type {?HTMLCanvasElement} */ canvas,
    /** @type {View} */ { k, x, y },
    /** @type {number} */ alpha,
  ) => {
    if (!canvas) return
    context.globalAlpha = alpha
    context.drawImage(canvas, x, y, room.width * k, room.height * k)
  }
  const there = seen(far)
  put(outer, outside, 1 - there)
  put(inner, inside, there)
  context.globalAlpha = 1
}

/** Both canvases as they are. @param {Canvases} canvases */
function copied({ base, over }) {
  const canvas = document.createElement("canvas")
  canvas.width = base.width
  canvas.height = base.height
  const context = contextOf(canvas)
  for (const each of [base, over]) context.drawImage(each, 0, 0)
  return canvas
}

/** @param {Scene} scene @param {Room} room */
function snapshot(scene, room) {
  const canvas = document.createElement("canvas")
  const context = prepare(canvas, room.width, room.height)
  scene.paintStill(context)
  scene.paintNow(context)
  return canvas
}
