import { colours } from "./colours.js"
import { announcer, element, stageOf, tooltip } from "./elements.js"
import { exports } from "./exports.js"
import { selection } from "./selection.js"
import { contextOf, mount, pointIn, prepare, rootIn, sharpness, zoom } from "./stage.js"
import { alone } from "./typing.js"

/** @import { Paper } from "./colours.js" */
/** @import { Fields } from "./selection.js" */
/** @import { Component, Root } from "./stage.js" */
/** @import { Context, Made, Payload, Ruler } from "./types.js" */

// A picture of cells, rows or lines on a canvas. What it draws and says are functions of its own; what a picture does because
// it is one (its place on the page, theme and sizes, pointer, keys, tooltip, what is heard, saving) is here.

/**
 * What is on the page. `item` is whatever the picture is made of: a cell, a key, a line. `hovered` is under the pointer, the
 * keys go on from `focused`, `elsewhere` is pointed at in another picture; the tooltip speaks of `told`.
 * @template Place, Item
 * @typedef {{root: HTMLElement, stage: HTMLDivElement, base: HTMLCanvasElement, over: HTMLCanvasElement,
 *   foot: HTMLDivElement, tip: ReturnType<typeof tooltip>, announce: (text: string) => void, picture: Picture<any, any, Item>,
 *   place: Place, hovered: ?Item, focused: ?Item, elsewhere: ?Item, told: ?{item: Item, x: number, y: number},
 *   painted: ?string, draw: () => void, send: (name: string, value: unknown) => void}} Plot
 */
/**
 * What a picture is. Pure, of its view: what is at a place (`hit`), what it says of an item (`describe`), where the tooltip of
 * one stands that has no pointer (`at`), where a key leads (`keys`), how others are told of an item and find it (`fields`,
 * `find`). With its plot: its elements and state (`begin`), what it is given (`read`), how it is laid out, made ready with that
 * (`settle`), painted, and what follows then (`drawn`). With `start`, keys go on from there and choose nothing before Enter;
 * else they choose what they lead to. `reveal` is called before a key shows an item, `found` when others point at one, `show`
 * where the tooltip has a place of its own, `press` with all other keys. `again`: it is given the same data again.
 * @template P, View, Item
 * @typedef {{
 *   name: string,
 *   begin: (plot: P, menu: HTMLElement) => void,
 *   read: (plot: P, payload: Payload) => void,
 *   head: (plot: P) => {caption: string, name: string},
 *   layout: (plot: P, room: Room) => any,
 *   settle?: (plot: P) => void,
 *   view: (plot: P) => View,
 *   paint: (plot: P, paper: Paper, view: View) => void,
 *   paintOver: (context: CanvasRenderingContext2D, paper: Paper, view: View, item: ?Item, plot: P) => void,
 *   drawn?: (plot: P) => void,
 *   save: (context: Context, paper: Paper, plot: P, view: View) => void,
 *   savedSize?: (plot: P) => {width: number, height: number},
 *   hit: (view: View, x: number, y: number) => ?Item,
 *   describe: (view: View, item: Item) => string[],
 *   at: (view: View, item: Item) => {x: number, y: number},
 *   keys: (view: View, event: KeyboardEvent, from: Item) => ?Item,
 *   start?: (view: View) => Item,
 *   fields?: (view: View, item: Item) => Fields,
 *   find?: (view: View, fields: Fields) => ?Item,
 *   found?: (plot: P) => void,
 *   show?: (plot: P, lines: string[], item: Item, x: number, y: number) => void,
 *   choose: (plot: P, item: Item, settle: number) => void,
 *   click?: (plot: P, item: ?Item, at: {x: number, y: number}, event: MouseEvent) => void,
 *   reveal?: (plot: P, item: Item) => void,
 *   press?: (plot: P, event: KeyboardEvent) => boolean,
 *   listen?: (plot: P) => void,
 *   again?: boolean,
 *   remove?: (plot: P) => void,
 * }} Picture
 */
/** @typedef {Plot<any, any>} AnyPlot */
/**
 * What a picture is laid out in: how much larger its letters are on a projector, the width there is, and what measures text.
 * @typedef {{z: number, width: number, ruler: Ruler}} Room
 */

/**
 * Puts the picture on the page; returns what ends it.
 * @template P, View, Item
 * @param {Component} component
 * @param {Picture<P, View, Item>} picture
 */
export function plot(component, picture) {
  const removed = mount(component, picture.name, (root) => makePlot(root, picture))
  const root = /** @type {Root} */ (rootIn(component.parentElement, picture.name))
  root.vt.made.send = component.setTriggerValue
  return removed
}

/**
 * A picture in its element: its plot, which is drawn once it was given data.
 * @param {HTMLElement} root
 * @param {Picture<any, any, any>} picture
 * @returns {Made}
 */
export function makePlot(root, picture) {
  const { stage, base, over } = stageOf(["base", "over"])
  const foot = element("div", "foot")
  root.append(stage, foot)
  const parts = { root, stage, base, over, foot, tip: tooltip(root), announce: announcer(root) }
  const made = /** @type {AnyPlot} */ ({ ...parts, picture, hovered: null, focused: null, elsewhere: null, told: null })
  const menu = exports(root, {
    draw: (context) => picture.save(context, colours(root), made, picture.view(made)),
    size: () => picture.savedSize?.(made) ?? { width: made.place.width, height: made.place.height },
    caption: () => picture.head(made).caption,
    name: () => picture.head(made).name,
  })
  picture.begin(made, menu)
  listenOn(made)
  picture.listen?.(made)
  const deaf = picture.find ? selection.onPoint(made, (fields) => markFound(made, fields)) : () => {}
  return Object.assign(made, {
    again: picture.again,
    update(/** @type {Payload} */ payload) {
      made.painted = null
      picture.read(made, payload)
    },
    draw: () => drawPlot(made),
    remove() {
      deaf()
      picture.remove?.(made)
    },
  })
}

/** @type {(plot: AnyPlot) => Room} */
export const roomIn = ({ root, base }) => ({ z: zoom(root), width: root.clientWidth, ruler: contextOf(base) })

/** @param {AnyPlot} plot */
function drawPlot(plot) {
  const { root, stage, picture } = plot
  plot.place = picture.layout(plot, roomIn(plot))
  if (plot.place) {
    picture.settle?.(plot)
    stage.style.height = `${plot.place.height}px`
    picture.paint(plot, colours(root), picture.view(plot))
    paintOver(plot)
    picture.drawn?.(plot)
  }
  stage.dataset.painted = String(performance.now())
}

/**
 * Takes down what is painted under the marks; whether that is another size, theme or screen than before, or other looks.
 * @type {(plot: AnyPlot, paper: Paper, looks: unknown[]) => boolean}
 */
export function takeLooks(plot, paper, looks) {
  const { root, place, painted } = plot
  const { width, height, z } = place
  plot.painted = [root.clientWidth, width, height, z, paper.one("page"), sharpness(root), ...looks].join()
  return plot.painted !== painted
}

/**
 * The marks over the picture, once it is drawn.
 * @param {AnyPlot} plot
 */
export function paintOver(plot) {
  const { root, over, place, hovered, focused, elsewhere, picture } = plot
  if (!place) return
  const context = prepare(over, place.width, place.height)
  picture.paintOver(context, colours(root), picture.view(plot), hovered ?? focused ?? elsewhere, plot)
}

// ---- pointing

/**
 * The tooltip says what this is.
 * @template Item
 * @param {Plot<any, Item>} plot
 * @param {Item} item
 * @param {{x: number, y: number}} [at]
 */
export function tell(plot, item, at) {
  const { picture, tip } = plot
  const view = picture.view(plot)
  const { x, y } = at ?? picture.at(view, item)
  plot.told = { item, x, y }
  const lines = picture.describe(view, item)
  if (picture.show) picture.show(plot, lines, item, x, y)
  else tip.show(lines, x, y)
}

/** @param {AnyPlot} plot */
export function hush(plot) {
  plot.told = null
  plot.tip.hide()
}

const isSame = (/** @type {unknown} */ one, /** @type {unknown} */ other) =>
  JSON.stringify(one) === JSON.stringify(other)

/**
 * The pointer is over this, or over nothing; pictures beside it hear of it.
 * @template Item
 * @param {Plot<any, Item>} plot
 * @param {?Item} item
 * @param {{x: number, y: number}} [at]
 */
export function hover(plot, item, at) {
  const { picture, hovered } = plot
  const fieldsOf = (/** @type {?Item} */ of) => (of === null ? null : picture.fields?.(picture.view(plot), of))
  const fields = fieldsOf(item)
  if (picture.fields && !isSame(fields, fieldsOf(hovered))) selection.points(plot, fields ?? null)
  plot.hovered = item
  if (picture.start) plot.stage.classList.toggle("pointing", item !== null)
  if (item === null) hush(plot)
  else tell(plot, item, at)
  if (!isSame(item, hovered)) paintOver(plot)
}

/**
 * Marks what is pointed at in another picture.
 * @param {AnyPlot} plot
 * @param {?Fields} fields
 */
function markFound(plot, fields) {
  const { picture, place, elsewhere } = plot
  const item = fields && place ? (picture.find?.(picture.view(plot), fields) ?? null) : null
  if (item === null && elsewhere === null) return
  plot.elsewhere = item
  paintOver(plot)
  picture.found?.(plot)
}

// ---- choosing

/**
 * Chooses, and says what.
 * @template Item
 * @param {Plot<any, Item>} plot
 * @param {Item} item
 * @param {number} [settle]
 */
export function choose(plot, item, settle = 0) {
  const { picture, announce } = plot
  picture.choose(plot, item, settle)
  announce((picture.start ? "chosen: " : "") + picture.describe(picture.view(plot), item).join(", "))
}

/** @param {AnyPlot} plot */
export function listenOn(plot) {
  const { stage, picture } = plot
  const pointed = (/** @type {MouseEvent} */ event) => {
    const at = pointIn(stage, event)
    return { item: picture.hit(picture.view(plot), at.x, at.y), at }
  }
  stage.onpointermove = (event) => {
    const { item, at } = pointed(event)
    hover(plot, item, at)
  }
  stage.onpointerleave = () => hover(plot, null)
  stage.onclick = (event) => {
    const { item, at } = pointed(event)
    picture.click?.(plot, item, at, event)
  }
  stage.onkeydown = (event) => {
    if (alone(event) && pressKey(plot, event)) event.preventDefault()
  }
  stage.onfocus = () => {
    if (picture.start && stage.matches(":focus-visible")) walkTo(plot, hereIn(plot))
  }
  stage.onblur = () => leave(plot)
}

/** Where the keys go on from, if they go to what is not chosen yet. @type {(plot: AnyPlot) => any} */
const hereIn = (plot) => plot.focused ?? plot.picture.start?.(plot.picture.view(plot))

/** The keys have left the picture. @param {AnyPlot} plot */
function leave(plot) {
  hush(plot)
  plot.focused = null
  if (plot.picture.start) paintOver(plot)
}

/** @type {(plot: AnyPlot, item: any) => void} */
function walkTo(plot, item) {
  const { picture } = plot
  Object.assign(plot, { focused: item, hovered: null })
  picture.reveal?.(plot, item)
  plot.announce(picture.describe(picture.view(plot), item).join(", "))
  tell(plot, item)
  paintOver(plot)
}

/**
 * Whether the key is one of this picture's: it leads to something that is chosen then, or, in a picture whose keys `start`
 * somewhere, that Enter chooses.
 * @type {(plot: AnyPlot, event: KeyboardEvent) => boolean}
 */
function pressKey(plot, event) {
  const { picture } = plot
  const { key } = event
  const here = hereIn(plot)
  const item = picture.keys(picture.view(plot), event, here)
  if (item !== null && picture.start) walkTo(plot, item)
  else if (item !== null) {
    picture.reveal?.(plot, item)
    choose(plot, item, 150)
    plot.hovered = null
    tell(plot, item)
  } else if (picture.start && (key === "Enter" || key === " ")) choose(plot, here)
  else {
    if (key === "Escape" && picture.start) plot.hovered = null
    if (key === "Escape") leave(plot)
    return picture.press?.(plot, event) ?? false
  }
  return true
}
