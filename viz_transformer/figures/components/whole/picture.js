import { details } from "../parts/details.js"
import { announcer, element } from "../parts/elements.js"
import { exports } from "../parts/exports.js"
import { openWhy } from "../parts/links.js"
import { isStill } from "../parts/motion.js"
import { selection } from "../parts/selection.js"
import { doneWhen } from "../parts/settle.js"
import { contextOf, prepare, sharpness, tallness, zoom } from "../parts/stage.js"
import { among, fontsNow, quoted } from "../parts/text.js"
import { together } from "../parts/together.js"
import { fieldsAt } from "../parts/whole_choices.js"
import { inward, MOVE, outward } from "../parts/whole_levels.js"
import { fitting, heightOf } from "../parts/whole_places.js"
import { OVER } from "../parts/whole_words.js"
import { AttentionScene } from "./attention.js"
import { wholeElements } from "./elements.js"
import { Fetching } from "./fetching.js"
import { actOnKey } from "./keys.js"
import { LayerScene } from "./layer.js"
import { legendDrawer, legendTitle } from "./legend.js"
import { Movement } from "./movement.js"
import { Playing } from "./playing.js"
import { listenToPointer } from "./pointing.js"
import { RunScene } from "./run.js"
import { WholeView } from "./view.js"
import { wayDrawer } from "./way.js"
import { WeightScene } from "./weight.js"

/** @import { Fields } from "../parts/selection.js" */
/** @import { Root } from "../parts/stage.js" */
/** @import { Payload } from "../parts/types.js" */
/** @import { Level } from "../parts/whole_levels.js" */
/** @import { Room, Scene } from "./movement.js" */

const WIDE = 850 // from here on what happens is said in one line
const SLIM = 480 // pixels: narrower is slim
const HEARD = MOVE + 100 // milliseconds: Python hears of another level when the picture has come there
const LOWEST = 180 // pixels of the picture: in a low window it gives way to what plays it
const BETWEEN_PARTS = 14 // pixels

/** The picture of a whole run: what it shows is in its view, what is drawn of it comes from the scene of its level. */
export class WholePicture {
  /** The level that was painted last. @type {?Level} */
  #shown = null
  /** What the still picture was painted from. @type {?string} */
  #painted = null
  #told = "" // what the level was said of last
  /** @type {?Room} */
  #room = null

  /** @param {Root} root */
  constructor(root) {
    this.root = root
    this.view = new WholeView(root, {
      through: (site) => this.scenes.run.through(site),
      isVain: () => this.fetching.isVain,
    })
    this.scenes = {
      run: new RunScene(this.view),
      layer: new LayerScene(this.view),
      attention: new AttentionScene(this.view),
      weight: new WeightScene(this.view),
    }
    this.playing = new Playing(this.view, {
      say: () => this.announce(this.scene.sentences().join(" ")),
      isThere: () => root.isConnected,
    })
    this.elements = wholeElements({
      into: () => this.view.level !== "weight" && this.enter(),
      out: () => this.leave(),
      move: (by) => this.playing.step(this.view.chosenStep + by),
      toggle: () => this.playing.toggle(),
      choose: (to) => this.playing.step(to),
      hurry: together.hurry,
    })
    const { way, stage, now, bar, told, legend } = this.elements
    bar.append(this.#menu())
    root.append(way, stage, now, bar, told)
    this.announce = announcer(root)
    this.drawWay = wayDrawer(this.elements, (to) => this.go(to))
    this.drawLegend = legendDrawer(legend)
    this.movement = new Movement(this.elements, {
      draw: this.draw,
      isThere: () => root.isConnected,
      lay: (scene) => this.#lay(scene),
      scenes: this.scenes,
    })
    // A page tells what is chosen when it has come to its end. Who looks into the picture before looks into that.
    this.ways = doneWhen(() => this.view.isAlone || selection.chosen.kind !== undefined)
    this.fetching = new Fetching(this.view, {
      draw: this.draw,
      isBusy: () => this.view.plays || this.isMoving || !root.isConnected,
    })
    listenToPointer(stage, this)
    stage.onkeydown = (event) => actOnKey(this, event)
    this.ends = this.#listen()
  }
  /** Hears of what plays and of details that come; what ends that. */
  #listen() {
    const unheard = together.listen(() => {
      if (this.#room && this.root.clientWidth) this.draw()
    })
    const deaf = details.listen((answered) => {
      if (!this.#room) return
      this.draw()
      if (answered) this.fetching.came()
    })
    return [unheard, together.stop, () => this.fetching.end(), deaf]
  }
  #menu() {
    return exports(this.root, {
      draw: (context) => {
        this.view.saving = true
        this.#lay(this.scene)
        this.scene.paintStill(context)
        this.scene.paintNow(context)
        this.view.saving = false
        this.#lay(this.scene)
      },
      size: () => this.scene.size(),
      caption: () => {
        const { head, crumbs } = this.view
        const inside = crumbs.slice(1).map(({ text }) => text)
        return [head.caption, ...inside, legendTitle(this.view)].filter(Boolean).join("; ")
      },
      name: () => (this.view.level === "run" ? this.view.head.name : `${this.view.head.name}-${this.view.level}`),
    })
  }

  // ---- what is shown

  /** @returns {Scene} */
  get scene() {
    return this.scenes[this.view.level]
  }
  get isMoving() {
    return this.movement.isOn
  }
  get #isSlim() {
    return this.root.clientWidth < SLIM * zoom(this.root)
  }
  /** What the way says last: what is looked at. */
  get where() {
    return this.view.crumbs[this.view.crumbs.length - 1].text
  }
  /** @param {string} text */
  say(text) {
    this.announce(text)
    this.draw()
  }
  /** @param {?number} index */
  walkTo(index) {
    this.view.walked = index
    this.view.walkedStep = this.view.chosenStep
  }

  // ---- from level to level

  /** Goes one level inwards, to what is chosen; from the last one to the page of a weight. */
  enter(/** @type {Fields} */ fields = {}) {
    this.ways.do(() => {
      if (this.view.level === "weight") openWhy()
      else this.go(inward(this.view.level), fields)
    })
  }
  leave() {
    this.ways.do(() => {
      if (this.view.level !== "run") this.go(outward(this.view.level))
    })
  }
  go(/** @type {Level} */ to, /** @type {Fields} */ fields = {}) {
    const all = fieldsAt(this.view, to, fields)
    this.view.walked = null
    this.view.hovered = null
    this.fetching.onwards = to === "layer"
    selection.pick(all, HEARD)
    this.fetching.ask() // not behind the frame that draws what is there already
    this.announce(this.where)
  }

  // ---- what mount calls

  update(/** @type {Payload} */ { header, arrays }) {
    const { view, elements } = this
    const isOther = view.head.of !== header.of
    if (isOther) this.fetching.onwards = false
    Object.assign(view, { head: header, arrays, hovered: null })
    this.#painted = null
    if (isOther || view.walkedStep !== view.chosenStep) view.walked = null // else the page answers while one walks
    this.#told = ""
    this.fetching.anew()
    together.stop()
    for (const each of Object.values(this.scenes)) each.update()
    elements.stage.setAttribute(
      "aria-label",
      `${header.title || "The whole run"}. Left and right arrow keys step, up and down walk through the layers of a step, Enter or plus goes in: to a layer, an attention, a weight; Escape or minus comes out; the space bar plays.`,
    )
    elements.controls.box.hidden = elements.faster.hidden = !view.writes()
    details.putAll(arrays) // who listens draws: not before the scenes are those of this run
  }
  draw = () => {
    this.ways.look()
    this.#drawTop()
    const room = this.#measure()
    const { view, scene, scenes } = this
    if (this.isMoving) {
      this.movement.paint(room)
      this.#painted = null
    } else this.#paint(room)
    this.drawLegend(view, scenes.run.isShort)
    const { now } = this.elements
    const said = view.isOver ? `${OVER} ${scene.sentence()}` : scene.sentence()
    if (now.textContent !== said) now.textContent = said
    if (!view.plays) this.#tell()
    this.fetching.ask()
    this.#showControls()
  }
  remove() {
    for (const end of this.ends) end()
  }

  // ---- drawing

  /** @param {Scene} scene */
  #lay(scene) {
    const { width, height } = this.#room ?? { width: 0, height: 0 }
    scene.lay(width, height, contextOf(this.elements.base))
  }
  /** The way, and what leads in and out. */
  #drawTop() {
    const { root, view } = this
    const { into, out, stage } = this.elements
    root.classList.toggle("narrow", root.clientWidth < WIDE * zoom(root))
    root.classList.toggle("slim", this.#isSlim)
    this.drawWay(view, this.#isSlim)
    into.setAttribute("aria-disabled", String(view.level === "weight"))
    const isLeft = view.level === "run" && /** @type {ShadowRoot} */ (root.getRootNode()).activeElement === out
    out.hidden = view.level === "run"
    if (isLeft) stage.focus() // not lost with the button
  }
  /** Where two runs are compared, their pictures are below each other. Alone on a page, or in the frame of a notebook, which
   * is as high as its picture, one is as high as it asks for. */
  #tall() {
    const { root, view } = this
    const { height, title } = view.head
    const z = zoom(root)
    if (view.isAlone) return height * z
    if (view.isProjected) return tallness(root, height * z)
    const room = tallness(root, Infinity)
    return heightOf({ room, asked: height, width: root.clientWidth, pictures: title ? 2 : 1 })
  }
  /** How large the picture is; of another size nothing moves. */
  #measure() {
    const { view, root } = this
    const { way, now, bar, stage } = this.elements
    const width = root.clientWidth
    const tall = this.#tall()
    this.#setFit(view.isAlone || view.isProjected ? 1 : fitting(width, tall))
    const height = Math.max(LOWEST, tall - way.offsetHeight - now.offsetHeight - BETWEEN_PARTS - bar.offsetHeight)
    const resized = this.#room?.width !== width || this.#room.height !== height
    this.#room = { width, height }
    stage.style.height = `${height}px`
    if (resized) this.movement.stop()
    else if (this.#shown && this.#shown !== view.level && !isStill()) this.movement.start(this.#shown, view.level)
    this.#shown = view.level
    return this.#room
  }
  /** What is around the canvas grows with what is on it. */
  #setFit(/** @type {number} */ to) {
    if (to === this.view.fit) return
    this.view.fit = to
    const { way, now, bar } = this.elements
    for (const each of [way, now, bar])
      if (to === 1) each.style.removeProperty("--vt-zoom")
      else each.style.setProperty("--vt-zoom", String(to))
  }
  /** @param {Room} room */
  #paint({ width, height }) {
    const { view, scene, scenes, root } = this
    const { base, over } = this.elements
    this.#lay(scene)
    if (scene !== scenes.run) this.#lay(scenes.run)
    const fonts = fontsNow(contextOf(over))
    const look = [view.paper().one("page"), sharpness(root)]
    const state = [view.level, width, height, view.z, scene.state(), ...look, fonts].join("|")
    if (this.#painted !== state) scene.paintStill(prepare(base, width, height))
    this.#painted = state
    scene.paintNow(prepare(over, width, height))
  }
  /** The level as a text, for who hears it. */
  #tell() {
    const of = `${this.view.level}|${this.scene.state()}`
    if (of === this.#told) return
    this.#told = of
    this.elements.told.replaceChildren(...this.scene.sentences().map((each) => element("li", "", each)))
  }
  #showControls() {
    const { view } = this
    const { controls, faster, stage } = this.elements
    const { head, count } = view
    if (view.writes()) {
      const s = view.step()
      const shared = Math.max(together.moment?.t ?? view.chosenStep, 0)
      const written = quoted(head.tokens[head.candidates[s][head.written[s]]])
      controls.show(shared, count, { playing: view.plays, text: `step ${among(shared, count)}, ${written}` })
    }
    faster.textContent = `${String(together.pace).replace("0.5", "½")}×`
    stage.dataset.level = view.level
    stage.toggleAttribute("data-moving", this.isMoving)
    stage.dataset.painted = String(performance.now())
  }
}
