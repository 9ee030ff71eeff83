import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { details } from "./parts/details.js"
import { announcer, button, element } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { openWhy } from "./parts/links.js"
import { isStill } from "./parts/motion.js"
import { notFinite } from "./parts/numbers.js"
import { selection } from "./parts/selection.js"
import { doneWhen } from "./parts/settle.js"
import { mount, pointIn, prepare, sharpness, tallness, zoom } from "./parts/stage.js"
import { among, fontsNow, quoted } from "./parts/text.js"
import { ownMoment, stepsAt, together } from "./parts/together.js"
import {
  AGAIN,
  AHEAD_BYTES,
  asking,
  askingAhead,
  INPUTS,
  isDue,
  lackSentence,
  NO_QUESTION,
  nearest,
} from "./parts/whole_ahead.js"
import { READING } from "./parts/whole_flight.js"
import { asElements, meanings } from "./parts/whole_legend.js"
import {
  attentionBeside,
  crumbs,
  eased,
  headOf,
  headPlace,
  inward,
  isDeeper,
  keyStackOf,
  layerBeside,
  layerPlace,
  levelOf,
  MOVE,
  outward,
  seen,
  siteOf,
  turning,
  zoomed,
} from "./parts/whole_levels.js"
import { fitting, heightOf } from "./parts/whole_places.js"
import { strongestKey } from "./parts/whole_rows.js"
import { LEAST, OVER } from "./parts/whole_words.js"
import { attentionScene } from "./whole/attention.js"
import { layerScene } from "./whole/layer.js"
import { RunScene } from "./whole/run.js"
import { weightScene } from "./whole/weight.js"

/** @import { WholeHeader } from "./parts/types.js" */

// The whole run in one picture, on four levels: the run, one layer, one attention, one weight. Header: {of, title, caption, name,
// height, head, stacks: {name, ink, field, tokens, padded, parts: {layer, part, kind, heads}, layers, features, sums, final},
// first_row, vocabulary, tokens, candidates: places in tokens by step, written: places in candidates, text, answer, ends: of the
// answer behind each step, along: where two are looked at, {first_row: of the first, whose rows the selection has, steps: of the
// longer one, reads: whether any reads a text first}}; arrays: token.S,
// position.S [T, samples], stream.S [points, T, samples], length.S [points, T], and came.S, added.S and share.S
// [sub-layers, T] of each stack S; the strongest weights of each kind of attention as parts/whole_rows.js reads them;
// log_probs [steps, most candidates]. What the deeper levels show beside that comes as details: parts/details.js.

const SETTLE = 250
const WIDE = 850 // from here on what happens is said in one line
const HEARD = MOVE + 100 // milliseconds: Python hears of another level when the picture has come there
const [MAX_BUTTONS, MAX_SLIM] = [12, 4] // more heads than these are chosen from a list; in a slim picture
const SLIM = 480 // pixels: narrower is slim
const LOWEST = 180 // pixels of the picture: in a low window it gives way to what plays it
const UNHEARD = 1e4 // of a step that is played, Python hears only when it rests

/** @type {WeakMap<object, string>} */
const knownDots = new WeakMap()
/** What dots mean in a picture of these arrays, "" where it has none; a step may have fewer candidates than another. */
function dotsIn(arrays) {
  if (!knownDots.has(arrays)) {
    const found = Object.entries(arrays).map(([name, { encoding, values }]) =>
      encoding === "float32" && name !== "log_probs" ? notFinite(values) : "",
    )
    const kinds = new Set(found.flatMap((words) => (words ? words.split(" or ") : [])))
    knownDots.set(arrays, kinds.size ? `dotted: ${[...kinds].sort().reverse().join(" or ")}` : "")
  }
  return knownDots.get(arrays)
}

export default (component) => mount(component, "whole", makeWhole)

function makeWhole(root) {
  const way = element("nav", "way")
  const path = element("span", "path")
  const whose = element("span", "heads")
  const legend = element("span", "legend")
  const stage = element("div", "stage")
  const [base, over] = [element("canvas", "base"), element("canvas", "over")]
  const now = element("p", "now")
  const bar = element("div", "bar")
  const told = element("ol", "unseen")
  const into = button("quiet zoom", "Zoom in", "Zoom in (+)", () => level() !== "weight" && enter())
  const out = button("quiet zoom", "Zoom out", "Zoom out (−)", () => leave())
  way.setAttribute("aria-label", "Levels of the picture")
  told.setAttribute("aria-label", "What happens here, in sentences")
  way.append(into, out, path, whose)
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  const controls = playerControls(
    { back: "Previous step", play: "Play the steps", next: "Next step", slider: "Step" },
    { move: (by) => step(chosenStep() + by), toggle, choose: step },
  )
  const faster = button("quiet pace", "1×", "Speed of playing", together.hurry)
  bar.append(
    controls.box,
    legend,
    faster,
    exports(root, {
      draw: (context) => {
        saving = true
        lay(scene())
        scene().paintStill(context)
        scene().paintNow(context)
        saving = false
        lay(scene())
      },
      size: () => scene().size(),
      caption: () =>
        [
          head.caption,
          ...crumbWords()
            .slice(1)
            .map(({ text }) => text),
          legendWords(),
        ]
          .filter(Boolean)
          .join("; "),
      name: () => (level() === "run" ? head.name : `${head.name}-${level()}`),
    }),
  )
  root.append(way, stage, now, bar, told)
  const announce = announcer(root)
  /** @type {WholeHeader} */
  let head
  let arrays, painted, room
  let fit = 1 // how many times as large everything is in a large window
  let saving = false // whether a picture to be saved is drawn
  let hovered = null
  let walked = null // the sub-layer of the walk by keys
  let walkedStep = 0 // and the step in which it was walked to
  let shown = null // the level that was painted last
  let movement = null // from one level to another: {to, deeper, start, box}, and what both look like

  // ---- what is shown

  const steps = () => head.candidates.length
  const lastStack = () => head.stacks[head.stacks.length - 1]
  const samples = () => arrays[`stream.${head.stacks[0].name}`].shape[2]
  const writes = () => steps() > 0
  const level = () => levelOf(selection.chosen)
  /** Of the longer of two runs, which are stepped and played together: its steps, and the row of A that is the first. */
  const count = () => head.along?.steps ?? steps()
  const firstRow = () => head.along?.first_row ?? head.first_row
  /** The step that is chosen, and the one that is shown of it: the first or the last where the selection is beside them. */
  const chosenSteps = () =>
    stepsAt(selection.chosen[lastStack().field], { firstRow: firstRow(), count: count(), own: steps() })
  const chosenStep = () => (writes() ? chosenSteps().shared : 0)
  const at = () => (writes() ? chosenSteps().own : 0)
  /** What is shown of what plays; without motion all of a step is there at once. */
  const moment = () => ownMoment(together.moment, { last: steps() - 1, reads: head.stacks.length > 1 })
  const plays = () => together.moment !== null
  /** Whether this answer is over, and the other goes on. */
  const isOver = () => writes() && (together.moment?.t ?? chosenStep()) >= steps()
  const rowAt = (s) => head.first_row + s
  const stepNow = () => Math.max(moment()?.t ?? at(), 0)
  const within = (position, stack) => Math.min(Math.max(position ?? 0, 0), stack.tokens.length - 1)
  /** The field of a key on a side: the second position of an attention of a stack with itself. */
  const keyField = (stack) => {
    const { part } = siteOf(head, selection.chosen)
    if (part.kind === "cross") return "i"
    return stack.name === "encoder" ? "j" : "u"
  }
  const view = {
    get head() {
      return head
    },
    get arrays() {
      return arrays
    },
    get chosen() {
      return selection.chosen
    },
    get z() {
      return zoom(root) * fit
    },
    get hovered() {
      return hovered
    },
    get walked() {
      return walked
    },
    /** How much of the step is there. */
    get flown() {
      return isStill() ? 1 : (moment()?.p ?? 1)
    },
    get playing() {
      return plays() && !isOver() && !isStill()
    },
    /** How much of the source is read, before the first step; null when it is. */
    get reading() {
      return moment()?.t === READING && !isStill() ? together.moment.p : null
    },
    /** How far the step has come through the layer that is looked at. */
    get through() {
      if (view.reading !== null) return siteOf(head, selection.chosen).stack === lastStack() ? 0 : view.reading
      return scenes.run.through(siteOf(head, selection.chosen))
    },
    /** Whether the text of the answer is written: on a page it stands directly above, in chips. */
    get saysAnswer() {
      return saving || alone() || zoom(root) > 1
    },
    paper: () => colours(root),
    samples,
    steps,
    writes,
    rowAt,
    step: stepNow,
    isChosen: (part) => Boolean(part.kind) && part.kind === selection.chosen.kind && part.layer === selection.chosen.layer,
    /** The row of a stack that is looked at. */
    rowOf: (stack) => {
      if (stack === lastStack() && writes()) return rowAt(stepNow())
      return within(selection.chosen[stack.field], stack)
    },
    /** The key that is looked at; where no page says which, and nobody has chosen any, the one with most weight. */
    keyOf: (stack) => {
      const position = selection.chosen[keyField(stack)]
      const weights = position === undefined && view.detail("attention")?.arrays.weights
      if (!weights) return within(position, stack)
      return strongestKey(view.detail("attention").arrays, view.rowOf(siteOf(head, selection.chosen).stack))
    },
    detail: (of) => {
      const site = siteOf(head, selection.chosen)
      const place = of === "layer" ? layerPlace(site) : headPlace(site, headOf(selection.chosen, site.part.heads))
      return details.get(head.of, of, place)
    },
    /** What is said where the detail of this level is not there. */
    lack: (what) => {
      return lackSentence(what, {
        alone: !details.connected && alone(),
        vain: isDue(needed, placeNow().of, performance.now()) === "vain",
      })
    },
  }
  const scenes = {
    run: new RunScene(view),
    layer: layerScene(view),
    attention: attentionScene(view),
    weight: weightScene(view),
  }
  const scene = () => scenes[level()]
  const lay = (/** @type {any} */ of) => of.lay(room.width, room.height, base.getContext("2d"))

  function step(to) {
    const next = Math.min(Math.max(to, 0), count() - 1)
    together.stop()
    if (next !== chosenStep()) pick(next, SETTLE)
    announce(scene().sentences().join(" "))
  }
  const pick = (s, settle) => selection.pick({ [lastStack().field]: firstRow() + s }, settle)
  /** The selection's row for a row of this picture. */
  const chosenRow = (stack, row) =>
    stack === lastStack() && writes() ? Math.max(row - head.first_row + firstRow(), 0) : row

  // ---- playing

  function toggle() {
    if (plays()) {
      together.stop()
      pick(chosenStep(), SETTLE)
      return
    }
    if (!writes()) return
    walked = null
    const first = chosenStep() >= count() - 1 ? 0 : chosenStep()
    const reads = first === 0 && (head.along?.reads ?? head.stacks.length > 1) && !isStill()
    together.start({
      from: reads ? READING : first,
      last: count() - 1,
      isThere: () => root.isConnected,
      pick: (to, ends) => pick(to, ends ? SETTLE : UNHEARD),
    })
  }
  const unheard = together.listen(() => {
    if (room && root.clientWidth) made.draw()
  })

  // ---- from level to level

  // A page tells what is chosen when it has come to its end. Who looks into the picture before looks into that.
  const ways = doneWhen(() => alone() || selection.chosen.kind !== undefined)
  /** Whether the picture stands on no page, where nothing is chosen by others. */
  const alone = () => root.getRootNode() === document

  /** Goes one level inwards, to what is chosen; from the last one to the page of a weight. */
  function enter(fields = {}) {
    ways.do(() => {
      if (level() === "weight") openWhy()
      else go(inward(level()), fields)
    })
  }
  function leave() {
    ways.do(() => {
      if (level() !== "run") go(outward(level()))
    })
  }
  function go(to, fields = {}) {
    const site = siteOf(head, { ...selection.chosen, ...fields })
    /** @type {Record<string, any>} */
    const whole = {
      ...(selection.chosen.kind && { kind: site.part.kind, layer: site.part.layer }),
      ...fields,
      level: to,
    }
    if (to === "attention" || to === "weight") {
      const { heads } = selection.chosen
      if (!(Array.isArray(heads) && heads.length === 1) && !("heads" in fields))
        whole.heads = [headOf(selection.chosen, site.part.heads)]
    }
    walked = null
    hovered = null
    onwards = to === "layer"
    selection.pick(whole, HEARD)
    fetchDetails() // not behind the frame that draws what is there already
    announce(crumbWords().at(-1).text)
  }

  // ---- details that are not there yet

  let needed = NO_QUESTION // what was asked for last because it is looked at
  let patience = 0 // the timer of what has not come
  let onwards = false // whether a layer was gone into: then the same key leads to its head
  const ahead = askingAhead({
    next: (isVain) =>
      details.bytesOf(head.of) >= AHEAD_BYTES
        ? null
        : (nearest(head, selection.chosen).find((place) => !details.has(head.of, place) && !isVain(place)) ?? null),
    ask: (place) => details.ask(head.of, [place]),
    isBusy: () => plays() || movement !== null || document.hidden || !root.isConnected || !details.connected,
  })
  const moves = (/** @type {any} */ event) => ahead.moves(event)
  for (const each of INPUTS) addEventListener(each, moves, { capture: true, passive: true })

  /** Where the detail is that is looked at, and how it is told from others of this and other runs. */
  function placeNow() {
    const site = siteOf(head, selection.chosen)
    const place = level() === "layer" ? layerPlace(site) : headPlace(site, headOf(selection.chosen, site.part.heads))
    return { place, of: JSON.stringify([head.of, place]) }
  }

  function forget() {
    clearTimeout(patience)
    needed = NO_QUESTION
  }

  /** Asks for what is looked at, and when nothing happens for a while, for what one may look at next. */
  function fetchDetails() {
    if (!details.connected) return
    const site = siteOf(head, selection.chosen)
    const headNow = headOf(selection.chosen, site.part.heads)
    const { place, of: looked } = placeNow()
    if (level() === "run" || details.has(head.of, place)) forget()
    else if (isDue(needed, looked, performance.now()) === "ask") {
      needed = asking(needed, looked, performance.now())
      details.ask(head.of, [place])
      clearTimeout(patience)
      patience = setTimeout(made.draw, AGAIN + 50)
    }
    const next = headPlace(site, headNow)
    if (onwards && details.has(head.of, place)) {
      onwards = false
      if (!details.has(head.of, next) && details.bytesOf(head.of) < AHEAD_BYTES) details.ask(head.of, [next])
    }
    ahead.looksAt(JSON.stringify([head.of, site.part, site.stack.name, headNow, level(), stepNow()]))
  }

  /** What is moved from is kept as it was painted last; what is moved to is drawn anew when more of it is there. */
  function move(from, to) {
    const still = copied()
    const deeper = isDeeper(from, to)
    lay(scenes[from])
    const box = deeper ? scenes[from].boxOf() : null
    movement = { to, deeper, still, box, start: performance.now(), other: null, state: null }
    requestAnimationFrame(glide)
  }

  function glide() {
    if (!movement || !root.isConnected) return
    if (performance.now() - movement.start >= MOVE) movement = null
    made.draw()
    if (movement) requestAnimationFrame(glide)
  }

  /** Both canvases as they are. */
  function copied() {
    const canvas = document.createElement("canvas")
    canvas.width = base.width
    canvas.height = base.height
    const context = canvas.getContext("2d")
    for (const each of [base, over]) context.drawImage(each, 0, 0)
    return canvas
  }

  function snapshot(of) {
    const canvas = document.createElement("canvas")
    const context = prepare(canvas, room.width, room.height)
    of.paintStill(context)
    of.paintNow(context)
    return canvas
  }

  function paintMovement() {
    const { to, deeper, still, start, box } = movement
    const part = eased(Math.min(1, (performance.now() - start) / MOVE))
    lay(scenes[to])
    const state = scenes[to].state()
    if (movement.state !== state) movement.other = snapshot(scenes[to])
    movement.state = state
    const { other } = movement
    const [outer, inner] = deeper ? [still, other] : [other, still]
    const target = deeper ? box : scenes[to].boxOf()
    const { outer: far, inner: near } = zoomed(room, target ?? { x: 0, y: 0, ...room }, deeper ? part : 1 - part)
    const context = prepare(base, room.width, room.height)
    prepare(over, room.width, room.height)
    const put = (canvas, { k, x, y }, alpha) => {
      context.globalAlpha = alpha
      context.drawImage(canvas, x, y, room.width * k, room.height * k)
    }
    const there = seen(deeper ? part : 1 - part)
    put(outer, far, 1 - there)
    put(inner, near, there)
    context.globalAlpha = 1
    painted = null
  }

  // ---- words

  const arraysNow = () =>
    level() === "run" ? view.arrays : (view.detail(level() === "layer" ? "layer" : "attention")?.arrays ?? {})
  const dots = () => dotsIn(arraysNow())
  const legendWords = () => [dots(), levelWords()].filter(Boolean).join(". ")

  /** Of each vector. */
  const drawnNumbers = () => (level() === "layer" && view.detail("layer")?.header.samples.length) || samples()

  let legendOf = ""
  function drawLegend() {
    const { features } = head.stacks[0]
    const all = meanings(level(), { samples: drawnNumbers(), features, isShort: scenes.run.isShort })
    if (dots()) all.unshift({ mark: "", words: dots() })
    const of = JSON.stringify([all, legendWords()])
    if (of === legendOf) return
    legendOf = of
    legend.title = legendWords()
    legend.replaceChildren(...asElements(all))
  }

  function levelWords() {
    const heads = [...new Set(head.stacks.flatMap(({ parts }) => parts.flatMap(({ heads }) => heads ?? [])))]
    const of = `Strips: ${drawnNumbers()} of each vector’s ${head.stacks[0].features} numbers`
    if (level() === "run") {
      const mine = head.head === null ? `the mean of ${heads.join(" or ")} heads` : `head ${head.head}`
      return `Ribbons: attention weights of ${mine} (below ${100 * LEAST} % merged). ${of}.`
    }
    if (level() === "layer") return `${of}. Weights below ${100 * LEAST} % are not drawn.`
    return level() === "attention" ? "The maps of all heads; below, one of them computed." : ""
  }

  function crumbWords() {
    const site = siteOf(head, selection.chosen)
    const { stack } = site
    const keys = keyStackOf(head, site)
    return crumbs(head, selection.chosen, {
      query: quoted(stack.tokens[view.rowOf(stack)]),
      key: quoted(keys.tokens[view.keyOf(keys)]),
    })
  }

  let waySaid = ""
  function drawWay() {
    const words = crumbWords()
    const { part } = siteOf(head, selection.chosen)
    const there = Math.max(...head.stacks.flatMap(({ parts }) => parts.flatMap(({ heads }) => heads ?? [0])))
    const deep = level() === "attention" || level() === "weight"
    const count = deep ? part.heads : there
    const only = deep ? headOf(selection.chosen, part.heads) : head.head
    const said = JSON.stringify([words, count, only, deep, head.title, isSlim(), ownChoice()])
    if (said === waySaid) return
    waySaid = said
    const focused = root.getRootNode().activeElement
    const held = focused && way.contains(focused) ? focused.dataset.name : null
    const links = words.flatMap(({ level: to, text }, n) => {
      const last = n === words.length - 1
      const link = button("quiet", text, last ? text : `Back to: ${text}`, () => to !== level() && go(to))
      link.dataset.name = to
      if (last) link.setAttribute("aria-current", "true")
      return n ? [element("span", "to", "›"), link] : [link]
    })
    path.replaceChildren(...(head.title ? [element("b", "", head.title)] : []), ...links)
    whose.replaceChildren(...(ownChoice() ? headChoices(count, only, deep) : []))
    if (held) /** @type {HTMLElement} */ (way.querySelector(`[data-name="${held}"]`) ?? stage).focus()
  }

  /** A page has the control of layer and head that all pages have; what stands alone or is projected has none. */
  const ownChoice = () => alone() || zoom(root) > 1
  const isSlim = () => root.clientWidth < SLIM * zoom(root)
  /** The heads to choose from; on the levels that show many of them also their mean. */
  function headChoices(count, only, deep) {
    const choose = (heads) => selection.pick({ heads })
    if (count > (isSlim() ? MAX_SLIM : MAX_BUTTONS)) {
      const list = element("select", "quiet")
      list.setAttribute("aria-label", "Head")
      list.dataset.name = "heads"
      const names = [...(deep ? [] : ["mean"]), ...Array.from({ length: count }, (_, n) => String(n))]
      list.append(...names.map((name) => new Option(name === "mean" ? "mean of heads" : `head ${name}`, name)))
      list.value = only === null ? "mean" : String(only)
      list.onchange = () => choose(list.value === "mean" ? "mean" : [Number(list.value)])
      return [list]
    }
    const made = Array.from({ length: count }, (_, n) => {
      const one = button("quiet", String(n), `Head ${n}`, () => choose([n]))
      one.setAttribute("aria-pressed", String(n === only))
      one.dataset.name = `head-${n}`
      return one
    })
    const mean = button("quiet", "mean", "Mean of the heads", () => choose("mean"))
    mean.setAttribute("aria-pressed", String(only === null))
    mean.dataset.name = "mean"
    return [element("span", "word", "Head"), ...made, ...(deep || count === 1 ? [] : [mean])]
  }

  // ---- pointing and keys

  /** What a click chooses: an attention, a step, a head, a cell; the same with what goes one level inwards. */
  function chosenAt(found) {
    if (!found) return null
    const { stack } = siteOf(head, selection.chosen)
    if (level() === "run") {
      if (found.block) {
        const { kind, layer } = head.stacks.find(({ name }) => name === found.band.name).parts[found.block.index]
        const own = head.stacks.find(({ name }) => name === found.band.name).parts.find((each) => each.layer === layer)
        return { fields: { kind: kind ?? own.kind, layer }, only: Boolean(kind) }
      }
      const to = (found.pointed ?? found.lane) - head.first_row
      return found.band.name === "decoder" && to >= 0 && to < steps() ? { to } : null
    }
    if (level() === "layer") {
      const { group, head: one, key } = found
      if (!group.part.kind) return { walk: group.index }
      const keys = { kind: group.part.kind, layer: group.part.layer }
      if (one === null) return { fields: keys }
      const name = group.part.kind === "cross" ? "i" : stack.name === "encoder" ? "j" : "u"
      return { fields: { ...keys, heads: [one], [name]: key } }
    }
    if (found.head !== undefined) return { fields: { heads: [found.head] } }
    if (found.key !== undefined) return { fields: { [keyField(stack)]: found.key } }
    if (!found.grid) return null
    const rows = { [stack.field]: chosenRow(stack, found.row) }
    const columns = { [keyField(stack)]: found.column }
    if (["scores", "mask", "weights"].includes(found.grid)) return { fields: { ...rows, ...columns } }
    const ofKeys = found.grid === "key" || found.grid === "value"
    return { fields: ofKeys ? { [keyField(stack)]: found.row } : rows }
  }

  const under = (event) => {
    const { x, y } = pointIn(stage, event)
    return scene().at(x, y)
  }
  stage.onpointermove = (event) => {
    if (movement) return
    hovered = under(event)
    made.draw()
  }
  stage.onpointerleave = () => {
    hovered = null
    made.draw()
  }
  stage.onclick = (event) => {
    const chosen = chosenAt(under(event))
    if (!chosen) return
    if (chosen.to !== undefined) step(chosen.to)
    else if (chosen.walk !== undefined) {
      walkTo(chosen.walk)
      made.draw()
    } else if (chosen.only !== false) {
      walked = null
      selection.pick(chosen.fields)
    }
  }
  stage.ondblclick = (event) => {
    const chosen = chosenAt(under(event))
    if (level() === "weight") enter()
    else if (chosen?.fields) enter(chosen.fields)
  }
  const wheel = turning()
  stage.addEventListener(
    "wheel",
    (event) => {
      const pinched = event.ctrlKey
      const inwards = event.deltaY < 0
      if (!pinched && inwards && isScrolled(root)) return // first to the top of the page
      if (!inwards && level() === "run") return
      if (inwards && level() === "weight") return
      event.preventDefault()
      if (movement) return
      const way = wheel.turned(-event.deltaY * (pinched ? 8 : 1), performance.now())
      if (way > 0) enter(chosenAt(under(event))?.fields)
      else if (way < 0) leave()
    },
    { passive: false },
  )
  const fingers = new Map()
  let spread = 0
  const apart = () => {
    const [a, b] = [...fingers.values()]
    return Math.hypot(a.x - b.x, a.y - b.y)
  }
  stage.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    if (fingers.size === 2) spread = apart()
  })
  stage.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    if (fingers.size !== 2 || !spread) return
    const grown = apart() / spread
    if (grown < 1.35 && grown > 0.74) return
    spread = 0
    if (grown > 1) enter()
    else leave()
  })
  for (const name of ["pointerup", "pointercancel"])
    stage.addEventListener(name, (/** @type {any} */ event) => fingers.delete(event.pointerId))

  const KEYS = {
    run: {
      ArrowRight: () => (writes() ? step(chosenStep() + 1) : besideRow(1)),
      ArrowLeft: () => (writes() ? step(chosenStep() - 1) : besideRow(-1)),
      ArrowDown: () => walk(1),
      ArrowUp: () => walk(-1),
      Home: () => writes() && step(0),
      End: () => writes() && step(count() - 1),
    },
    layer: {
      ArrowRight: () => beside(layerBeside(head, siteOf(head, selection.chosen), 1)),
      ArrowLeft: () => beside(layerBeside(head, siteOf(head, selection.chosen), -1)),
      ArrowDown: () => walkParts(1),
      ArrowUp: () => walkParts(-1),
    },
    attention: {
      ArrowRight: () => beside(attentionBeside(head, siteOf(head, selection.chosen), 1)),
      ArrowLeft: () => beside(attentionBeside(head, siteOf(head, selection.chosen), -1)),
      ArrowDown: () => besideHead(1),
      ArrowUp: () => besideHead(-1),
    },
    weight: {
      ArrowRight: () => besideKey(1),
      ArrowLeft: () => besideKey(-1),
      ArrowDown: () => besideRow(1),
      ArrowUp: () => besideRow(-1),
    },
  }
  const say = (text) => {
    announce(text)
    made.draw()
  }
  const walkTo = (/** @type {?number} */ index) => {
    walked = index
    walkedStep = chosenStep()
  }
  function walk(by) {
    const sentences = scene().sentences()
    if (!sentences.length) return
    walkTo(Math.min(Math.max((walked ?? (by > 0 ? -1 : sentences.length)) + by, 0), sentences.length - 1))
    say([sentences[walked], ...scenes.run.facts()].join(" "))
  }
  /** The sub-layers of a layer: an attention is chosen at once, a feed-forward is looked at. */
  function walkParts(by) {
    const parts = scenes.layer.walks()
    const { part } = siteOf(head, selection.chosen)
    const from = walked ?? parts.findIndex((each) => each.part === part.part)
    const next = Math.min(Math.max(from + by, 0), parts.length - 1)
    walkTo(parts[next].kind ? null : next)
    if (parts[next].kind) selection.pick({ kind: parts[next].kind, layer: parts[next].layer }, SETTLE)
    say(scene().sentence())
  }
  function beside(fields) {
    walked = null
    onwards = false
    if (fields) selection.pick(fields)
    say(crumbWords().at(-1).text)
  }
  function besideHead(by) {
    const { part } = siteOf(head, selection.chosen)
    const next = headOf(selection.chosen, part.heads) + by
    if (next >= 0 && next < part.heads) selection.pick({ heads: [next] })
    say(`Head ${headOf(selection.chosen, part.heads)}`)
  }
  function besideKey(by) {
    const keys = keyStackOf(head, siteOf(head, selection.chosen))
    const next = view.keyOf(keys) + by
    if (next >= 0 && next < keys.tokens.length) selection.pick({ [keyField(keys)]: next }, SETTLE)
    say(scene().sentence())
  }
  function besideRow(by) {
    const { stack } = siteOf(head, selection.chosen)
    if (stack === lastStack() && writes()) {
      step(chosenStep() + by)
      return
    }
    selection.pick({ [stack.field]: within(view.rowOf(stack) + by, stack) }, SETTLE)
    say(scene().sentence())
  }

  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const move = KEYS[level()][event.key]
    if (move) move()
    else if (event.key === "Enter" || event.key === "+" || event.key === "=") enterByKey(event.key)
    else if (event.key === "-") leave()
    else if (event.key === " ") toggle()
    else if (event.key === "Escape") {
      if (walked !== null) {
        walked = null
        made.draw()
      } else if (level() !== "run") leave()
      else return
    } else return
    event.preventDefault()
    event.stopPropagation()
  }
  /** Inwards: to the sub-layer that was walked to, if it is one. */
  function enterByKey(key) {
    if (level() === "run" && walked) {
      const part = lastStack().parts[walked - 1]
      const own = part && lastStack().parts.find((each) => each.layer === part.layer)
      if (part) enter({ kind: part.kind ?? own.kind, layer: part.layer })
    } else if (level() === "layer" && walked !== null) say(scene().sentence())
    else if (level() !== "weight" || key === "Enter") enter()
  }

  const deaf = details.listen((answered) => {
    if (!room) return
    made.draw()
    if (answered) ahead.came()
  })

  // Where two runs are compared, their pictures stand below each other, and each has its run's name.
  const heightNow = (/** @type {number} */ width) =>
    heightOf({
      room: tallness(root, Infinity),
      asked: head.height,
      width,
      pictures: head.title ? 2 : 1,
    })
  /** What stands around the canvas grows with what is on it. */
  function setFit(/** @type {number} */ to) {
    if (to === fit) return
    fit = to
    for (const each of [way, now, bar])
      if (fit === 1) each.style.removeProperty("--vt-zoom")
      else each.style.setProperty("--vt-zoom", String(fit))
  }

  const made = {
    update({ header, arrays: given }) {
      const isOther = head?.of !== header.of
      if (isOther) onwards = false
      head = header
      arrays = given
      hovered = painted = null
      if (isOther || walkedStep !== chosenStep()) walked = null // else the page answers while one walks
      toldOf = ""
      forget()
      ahead.anew()
      details.putAll(arrays)
      together.stop()
      for (const each of Object.values(scenes)) each.update()
      stage.setAttribute(
        "aria-label",
        `${head.title || "The whole run"}. Left and right arrow keys step, up and down walk through the layers of a step, Enter or plus goes in: to a layer, an attention, a weight; Escape or minus comes out; the space bar plays.`,
      )
      controls.box.hidden = faster.hidden = !writes()
    },
    draw() {
      ways.look()
      const z = zoom(root)
      const width = root.clientWidth
      root.classList.toggle("narrow", width < WIDE * z)
      root.classList.toggle("slim", isSlim())
      drawWay()
      into.setAttribute("aria-disabled", String(level() === "weight"))
      const isLeft = level() === "run" && /** @type {any} */ (root.getRootNode()).activeElement === out
      out.hidden = level() === "run"
      if (isLeft) stage.focus() // not lost with the button
      // alone on a page, or in the frame of a notebook, which is as high as its picture, it is as high as it asks for
      const projected = zoom(root) > 1
      const tall = alone() ? head.height * z : projected ? tallness(root, head.height * z) : heightNow(width)
      setFit(alone() || projected ? 1 : fitting(width, tall))
      const height = Math.max(LOWEST, tall - way.offsetHeight - now.offsetHeight - 14 - bar.offsetHeight)
      const resized = room?.width !== width || room.height !== height
      room = { width, height }
      stage.style.height = `${height}px`
      if (resized) movement = null
      else if (shown !== level() && !isStill()) move(shown, level())
      shown = level()
      const mine = scene()
      if (movement) paintMovement()
      else {
        lay(mine)
        if (mine !== scenes.run) lay(scenes.run)
        const fonts = fontsNow(over.getContext("2d"))
        const look = [view.paper().one("page"), sharpness(root)]
        const state = [level(), width, height, view.z, mine.state(), ...look, fonts].join("|")
        if (painted !== state) mine.paintStill(prepare(base, width, height))
        painted = state
        mine.paintNow(prepare(over, width, height))
      }
      drawLegend()
      const said = isOver() ? `${OVER} ${mine.sentence()}` : mine.sentence()
      if (now.textContent !== said) now.textContent = said
      if (!plays()) sentences(mine)
      fetchDetails()
      const s = stepNow()
      const shared = Math.max(together.moment?.t ?? chosenStep(), 0)
      if (writes())
        controls.show(shared, count(), {
          playing: plays(),
          text: `step ${among(shared, count())}, ${quoted(head.tokens[head.candidates[s][head.written[s]]])}`,
        })
      faster.textContent = `${String(together.pace).replace("0.5", "½")}×`
      stage.dataset.level = level()
      stage.toggleAttribute("data-moving", movement !== null)
      stage.dataset.painted = String(performance.now())
    },
    remove: () => {
      unheard()
      together.stop()
      for (const each of INPUTS) removeEventListener(each, moves, { capture: true })
      ahead.end()
      forget()
      deaf()
    },
  }

  /** The level as a text, for who hears it. */
  let toldOf = ""
  function sentences(mine) {
    const of = `${level()}|${mine.state()}`
    if (of === toldOf) return
    toldOf = of
    told.replaceChildren(...mine.sentences().map((each) => element("li", "", each)))
  }
  return made
}

/** Whether what the element stands in is scrolled down. */
function isScrolled(part) {
  for (let each = part; each; each = each.parentElement ?? each.getRootNode()?.host) if (each.scrollTop > 0) return true
  return false
}
