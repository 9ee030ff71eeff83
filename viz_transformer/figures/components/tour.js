import { announcer, button, element } from "./parts/elements.js"
import { isStill } from "./parts/motion.js"
import { ending, magnified, rootIn, zoom } from "./parts/stage.js"
import { fits, GAP, placeOf, scrollOf } from "./parts/tour_places.js"
import { alone, focused, typing, writesIn } from "./parts/typing.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { Box } from "./parts/tour_places.js" */
/** @import { TourData } from "./parts/types.js" */

// One stop of the tour: a panel with words over the page, and a ring around what they are about. data: {number, titles,
// sentences, ring, onward, invited}. Who was not invited has opened the app without an address: there the tour plays by
// itself, once in a browser, and whatever its visitor begins to do ends it and is done.

const KEPT = "vizTransformerTour" // where the browser keeps that it has played, or was left
const WAIT = "One moment …"
const SETTLING = 4000 // milliseconds in which a page still comes to its places, and the ring is brought back into view
/** Whether the tour has played by itself since the document was loaded. @type {{played: boolean}} */
const once = (globalThis.vizTransformerTour ??= { played: false })
const keep = () => localStorage.setItem(KEPT, "over")

/** What has the focus, inside a component too. */
const active = () => {
  let inside = document.activeElement
  while (inside?.shadowRoot?.activeElement) inside = inside.shadowRoot.activeElement
  return inside
}

/** Whether the tour may begin by itself: nobody has seen or left it, wants no motion, or has begun to do something. */
const mayPlay = () => !once.played && !isStill() && !localStorage.getItem(KEPT) && active() === document.body

/**
 * The elements of a selector, of which " >>> " leads into a component.
 * @param {string} selector
 * @returns {Element[]}
 */
const found = (selector) => {
  /** @type {ParentNode[]} */
  let roots = [document]
  /** @type {Element[]} */
  let parts = []
  for (const step of selector.split(" >>> ")) {
    parts = roots.flatMap((root) => [...root.querySelectorAll(step)])
    roots = parts.flatMap((part) => [...part.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? []))
  }
  return parts.filter((part) => part.getClientRects().length > 0)
}

const main = () => /** @type {HTMLElement} */ (document.querySelector('[data-testid="stMain"]'))
const view = () => ({ width: innerWidth, height: innerHeight, left: Math.max(0, main().getBoundingClientRect().left) })

/**
 * The box around all elements of a selector, as far as their line shows them; null without any.
 * @param {string} selector
 * @returns {?Box}
 */
const around = (selector) => {
  const parts = found(selector)
  if (parts.length < 2) return parts[0]?.getBoundingClientRect() ?? null
  const [line, ...boxes] = [parts[0].parentElement ?? parts[0], ...parts].map((part) => part.getBoundingClientRect())
  return {
    left: Math.max(line.left, Math.min(...boxes.map(({ left }) => left))),
    top: Math.min(...boxes.map(({ top }) => top)),
    right: Math.min(line.right, Math.max(...boxes.map(({ right }) => right))),
    bottom: Math.max(...boxes.map(({ bottom }) => bottom)),
  }
}

/**
 * Scrolls what scrolls inside a component until the first element of a selector is in sight there.
 * @param {string} selector
 */
const reveal = (selector) => {
  const part = found(selector)[0]
  const line = part?.getRootNode() instanceof ShadowRoot ? part.closest(".rail") : null
  if (!line || line === part) return
  const [inner, outer] = [part.getBoundingClientRect(), line.getBoundingClientRect()]
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    line.scrollTop += (inner.top + inner.bottom - outer.top - outer.bottom) / 2 / magnified(line)
}

/**
 * What gets the ring: the first that has room beside the panel, else the first there is.
 * @param {string[]} selectors
 * @param {HTMLElement} panel
 */
const ringed = (selectors, panel) => {
  const there = selectors.map(around).filter((box) => box !== null)
  const size = panel.getBoundingClientRect()
  return there.find((box) => fits(box, size, view())) ?? there[0] ?? null
}

/** Panel and ring, in front of everything; the panel is the upper one. */
const makeParts = () => {
  const ring = element("div", "ring")
  ring.setAttribute("aria-hidden", "true")
  const panel = element("div", "panel")
  panel.setAttribute("role", "dialog")
  panel.setAttribute("aria-labelledby", "title")
  panel.setAttribute("aria-describedby", "words")
  panel.tabIndex = -1
  for (const part of [ring, panel]) part.popover = "manual"
  return { ring, panel }
}

/**
 * Keeps ring and panel at their places while they are shown, whatever moves below them.
 * @param {HTMLElement} ring
 * @param {HTMLElement} panel
 */
const makePlaces = (ring, panel) => {
  /** @type {{frame: number, until: number, at: ?Box, selectors: string[]}} */
  const now = { frame: 0, until: 0, at: null, selectors: [] }
  const follow = () => {
    now.frame = requestAnimationFrame(follow)
    const settles = performance.now() < now.until
    if (settles) now.selectors.forEach(reveal)
    let box = ringed(now.selectors, panel)
    if (box && settles && bring(box, panel)) box = ringed(now.selectors, panel)
    move(ring, box && ringAt(box))
    panel.classList.toggle("bar", zoom(panel) > 1)
    const size = panel.getBoundingClientRect()
    main().style.setProperty("--tour-height", `${Math.round(size.height) + 3 * GAP}px`)
    now.at = placeOf(box, size, view(), now.at) ?? now.at ?? placeOf(null, size, view(), null)
    if (now.at) move(panel, { left: now.at.left, top: now.at.top })
  }
  const settled = () => {
    now.until = 0
  }
  for (const name of ["wheel", "touchmove", "pointerdown"]) window.addEventListener(name, settled, true)
  const stop = () => {
    cancelAnimationFrame(now.frame)
    now.frame = 0
    main()?.style.removeProperty("--tour-height")
    for (const part of [panel, ring]) if (part.matches(":popover-open")) part.hidePopover()
  }
  return {
    /** @param {string[]} selectors */
    show(selectors) {
      for (const part of [ring, panel]) if (!part.matches(":popover-open")) part.showPopover()
      now.selectors = selectors
      now.until = performance.now() + SETTLING
      if (!now.frame) follow()
    },
    stop,
    remove() {
      stop()
      for (const name of ["wheel", "touchmove", "pointerdown"]) window.removeEventListener(name, settled, true)
    },
  }
}

/** @param {HTMLElement} part @param {?Record<string, number>} box */
const move = (part, box) => {
  part.style.visibility = box ? "" : "hidden"
  for (const [name, value] of Object.entries(box ?? {})) {
    const wanted = `${Math.round(value)}px`
    if (part.style.getPropertyValue(name) !== wanted) part.style.setProperty(name, wanted)
  }
}

const AROUND = 2 // pixels between the ring and what it is around
/** @param {Box} box */
const ringAt = ({ left, top, right, bottom }) => ({
  left: left - AROUND,
  top: top - AROUND,
  width: right - left + 2 * AROUND,
  height: bottom - top + 2 * AROUND,
})

/**
 * Scrolls the page, if the ring is not in view beside the panel; whether it did.
 * @param {Box} box
 * @param {HTMLElement} panel
 */
const bring = (box, panel) => {
  const far = scrollOf(box, panel.getBoundingClientRect(), view())
  if (far) main().scrollBy({ top: far, behavior: "instant" })
  return far !== 0
}

/**
 * Fills the panel with a stop's words and ways.
 * @param {HTMLElement} panel
 * @param {TourData} data
 * @param {{go: (step: number) => void, leave: () => void}} acts
 */
const fill = (panel, { number, titles, sentences, onward }, { go, leave }) => {
  const heading = element("h2")
  heading.id = "title"
  heading.append(element("span", "", `${number} of ${titles.length}`), titles[number - 1])
  const words = element("div")
  words.id = "words"
  words.append(...sentences.flatMap((sentence) => [element("p", "", sentence), " "]))
  const ways = element("div", "ways")
  ways.append(button("quiet onward", onward, onward, () => go(1)))
  if (number > 1) ways.prepend(button("quiet back", "Back", "Back (←, Page Up)", () => go(-1)))
  ways.append(button("quiet over", "Leave the tour", "Leave the tour (Escape)", leave))
  panel.replaceChildren(heading, words, ways)
}

// Keys of the tour, a clicker's among them; and those that alone are no beginning of anything.
/** @type {Record<string, number>} */
const TURNS = { PageDown: 1, PageUp: -1 }
/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, Enter: 1 }
const IDLE = ["Tab", "Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"]
const OPEN = '[role="dialog"] button[aria-label="Close"], [data-testid="stPopoverBody"]'

/**
 * What a key means to the tour: a step, to leave it, or nothing of its own.
 * @param {KeyboardEvent} event
 * @param {HTMLElement} panel
 * @param {boolean} invited
 * @returns {number | "leave" | "done" | null} "done": its visitor has begun with something else
 */
const meaning = (event, panel, invited) => {
  const inside = event.composedPath().includes(panel)
  const other = invited || inside || IDLE.includes(event.key) ? null : "done"
  const away = event.composedPath().some((part) => part instanceof HTMLDialogElement)
  if (!alone(event) || away || document.querySelector(OPEN)) return null
  if (typing(event)) return other
  if (event.key === "Escape") return "leave"
  if (TURNS[event.key]) return TURNS[event.key]
  const free = inside ? event.key !== "Enter" : invited && focused(event).matches("body, [data-testid=stMain]")
  return free && STEPS[event.key] ? STEPS[event.key] : other
}

/**
 * Hears keys before the page does, and of one who was not invited whatever he begins to do.
 * @param {HTMLElement} panel
 * @param {{isOn: () => boolean, isInvited: () => boolean, go: (step: number) => void, leave: () => void, hide: () => void}} tour
 */
const listen = (panel, tour) => {
  const onKey = (/** @type {KeyboardEvent} */ event) => {
    const found = tour.isOn() ? meaning(event, panel, tour.isInvited()) : null
    if (found === null) return
    if (found === "done") return tour.hide()
    event.preventDefault()
    event.stopImmediatePropagation()
    if (found === "leave") tour.leave()
    else if (!event.repeat) tour.go(found)
  }
  const onBegin = (/** @type {Event} */ event) => {
    if (tour.isOn() && !tour.isInvited() && !event.composedPath().includes(panel)) tour.hide()
  }
  window.addEventListener("keydown", onKey, true)
  for (const name of ["pointerdown", "input"]) window.addEventListener(name, onBegin, true)
  return () => {
    window.removeEventListener("keydown", onKey, true)
    for (const name of ["pointerdown", "input"]) window.removeEventListener(name, onBegin, true)
  }
}

const PATIENCE = 20_000 // milliseconds until the page's link is there: a browser fetches what it is made of later
/**
 * Follows the page's own link to another stop, 0 for the end of the tour, once it is there.
 * @param {number} stop
 * @param {() => boolean} isWanted whether somebody still waits for it
 */
const follow = (stop, isWanted) => {
  const until = performance.now() + PATIENCE
  const look = () => {
    const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(".st-key-stop a"))
    const link = [...links].find(({ href }) => new URL(href).searchParams.get("stop") === String(stop))
    if (link) link.click()
    else if (isWanted() && performance.now() < until) requestAnimationFrame(look)
  }
  look()
}

/**
 * Fills the panel, unless it says so already, and keeps the focus in it.
 * @param {HTMLElement} panel
 * @param {TourData} data
 * @param {{go: (step: number) => void, leave: () => void}} acts
 */
const write = (panel, data, acts) => {
  const words = JSON.stringify(data)
  if (panel.dataset.words === words) return
  panel.dataset.words = words
  const held = panel.contains(active())
  fill(panel, data, acts)
  if (held) focusOn(panel)
}

/** @param {HTMLElement} panel */
const focusOn = (panel) =>
  /** @type {HTMLElement} */ (panel.querySelector(".onward") ?? panel).focus({ preventScroll: true })

/** @param {Root} root */
const makeTour = (root) => {
  const { ring, panel } = makeParts()
  root.append(ring, panel)
  const say = announcer(root)
  const places = makePlaces(ring, panel)
  /** @type {{data: ?TourData, going: number, left: boolean, leaves: () => void}} */
  const now = { data: null, going: 0, left: false, leaves: () => {} }
  const hide = () => {
    keep()
    const held = panel.contains(active())
    places.stop()
    Object.assign(now, { data: null, left: true })
    if (held) main().focus({ preventScroll: true })
  }
  const leave = () => {
    const invited = now.data?.invited
    hide()
    if (invited) now.leaves()
  }
  const go = (/** @type {number} */ step) => {
    if (!now.data || now.going || now.data.number + step < 1) return
    const data = now.data
    keep()
    if (data.number + step > data.titles.length) {
      hide()
      follow(0, () => root.isConnected)
      return
    }
    const going = data.number + step
    now.going = going
    write(panel, { ...data, number: going, sentences: [WAIT] }, acts)
    places.show([])
    follow(going, () => now.data !== null && now.going === going)
  }
  const acts = { go, leave }
  const stop = listen(panel, { ...acts, hide, isOn: () => now.data !== null, isInvited: () => !!now.data?.invited })
  return {
    /** @param {TourData} data @param {() => void} leaves */
    update(data, leaves) {
      if (now.left || (now.going && now.going !== data.number)) return
      if (!data.invited && !now.data && !mayPlay()) return
      const another = now.data?.number !== data.number || now.going > 0
      if (!data.invited) {
        once.played = true
        keep()
      }
      Object.assign(now, { data, leaves, going: 0 })
      write(panel, data, acts)
      places.show(data.ring)
      say([`${data.number} of ${data.titles.length}: ${data.titles[data.number - 1]}.`, ...data.sentences].join(" "))
      if (another && data.invited && !writesIn(active() ?? document.body)) focusOn(panel)
    },
    remove() {
      stop()
      places.remove()
      root.remove()
    },
  }
}

/** @param {Component} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const known = rootIn(parentElement, "tour")
  const root = known ?? /** @type {Root} */ (element("div", "component tour"))
  if (!known) {
    parentElement.append(root)
    root.vt = makeTour(root)
  }
  root.vt.update(data, () => setTriggerValue("leave", true))
  return ending(root, root.vt.remove)
}
