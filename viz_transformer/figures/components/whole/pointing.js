import { selection } from "../parts/selection.js"
import { pointIn } from "../parts/stage.js"
import { chosenAt } from "../parts/whole_choices.js"
import { turning } from "../parts/whole_levels.js"

/** @import { WholePicture } from "./picture.js" */

// What pointer, wheel and fingers do on a whole run.

const [PINCHED, SPREAD] = [0.74, 1.35] // two fingers have moved far enough when they are so many times as far apart
const PINCH_TURNS = 8 // a pinch on a touchpad comes as a turn so many times as short

/** @param {HTMLElement} stage @param {WholePicture} picture */
export function listenToPointer(stage, picture) {
  const { view } = picture
  const under = (/** @type {MouseEvent} */ event) => {
    const { x, y } = pointIn(stage, event)
    return picture.scene.at(x, y)
  }
  stage.onpointermove = (event) => {
    if (picture.isMoving) return
    view.hovered = under(event)
    picture.draw()
  }
  stage.onpointerleave = () => {
    view.hovered = null
    picture.draw()
  }
  stage.onclick = (event) => act(picture, under(event))
  stage.ondblclick = (event) => {
    const chosen = chosenAt(view, under(event))
    if (view.level === "weight") picture.enter()
    else if (chosen?.fields) picture.enter(chosen.fields)
  }
  const wheel = turning()
  stage.addEventListener("wheel", (event) => turn(picture, wheel, event, under), { passive: false })
  listenToFingers(stage, picture)
}

/** Chooses what a click has found. @param {WholePicture} picture @param {any} found */
function act(picture, found) {
  const { view } = picture
  const chosen = chosenAt(view, found)
  if (!chosen) return
  if (chosen.to !== undefined) picture.playing.step(chosen.to)
  else if (chosen.walk !== undefined) {
    picture.walkTo(chosen.walk)
    picture.draw()
  } else if (chosen.fields && chosen.only !== false) {
    view.walked = null
    selection.pick(chosen.fields)
  }
}

/**
 * @param {WholePicture} picture
 * @param {ReturnType<typeof turning>} wheel
 * @param {WheelEvent} event
 * @param {(event: MouseEvent) => any} under
 */
function turn(picture, wheel, event, under) {
  const { level } = picture.view
  const pinched = event.ctrlKey
  const inwards = event.deltaY < 0
  if (!pinched && inwards && isScrolled(picture.root)) return // first to the top of the page
  if (level === (inwards ? "weight" : "run")) return
  event.preventDefault()
  if (picture.isMoving) return
  const way = wheel.turned(-event.deltaY * (pinched ? PINCH_TURNS : 1), performance.now())
  if (way > 0) picture.enter(chosenAt(picture.view, under(event))?.fields)
  else if (way < 0) picture.leave()
}

/** Two fingers go in and out. @param {HTMLElement} stage @param {WholePicture} picture */
function listenToFingers(stage, picture) {
  /** @type {Map<number, {x: number, y: number}>} */
  const fingers = new Map()
  let begun = 0
  const apart = () => {
    const [a, b] = [...fingers.values()]
    return Math.hypot(a.x - b.x, a.y - b.y)
  }
  stage.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch") return
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    if (fingers.size === 2) begun = apart()
  })
  stage.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return
    fingers.set(event.pointerId, { x: event.clientX, y: event.clientY })
    if (fingers.size !== 2 || !begun) return
    const grown = apart() / begun
    if (grown < SPREAD && grown > PINCHED) return
    begun = 0
    if (grown > 1) picture.enter()
    else picture.leave()
  })
  for (const name of /** @type {const} */ (["pointerup", "pointercancel"]))
    stage.addEventListener(name, (event) => fingers.delete(event.pointerId))
}

/** Whether what the element is in is scrolled down. @param {Element} part */
function isScrolled(part) {
  /** @type {any} */
  let each = part
  for (; each; each = each.parentElement ?? each.getRootNode()?.host) if (each.scrollTop > 0) return true
  return false
}
