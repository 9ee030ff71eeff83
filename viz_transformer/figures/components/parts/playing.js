// What all of the page knows of steps that are played, and where they are played.

import { selection } from "./selection.js"

/** Milliseconds: of a step that is played, and until Python hears of one that rests. */
export const PLAYED = { pace: 700, settle: 250 }
export const PLAY_STEPS = "Play the steps"
export const PAUSE = "Pause"

/** What waits for the page to hear where the steps rest. */
let resting = 0

/**
 * The steps are played, or no longer. While they are the page's question is that of the first of them: it is not shown
 * (page.css) before the page has heard of the last.
 * @param {boolean} on
 */
export function tellPlaying(on) {
  selection.plays(on)
  hideQuestion(on)
}
function hideQuestion(/** @type {boolean} */ on) {
  clearTimeout(resting)
  if (on) document.documentElement.toggleAttribute("data-vt-plays", true)
  else
    resting = window.setTimeout(() => {
      if (document.querySelector("[data-test-script-state=running]")) hideQuestion(false)
      else document.documentElement.toggleAttribute("data-vt-plays", false)
    }, 600)
}

/**
 * The button that plays the steps on this page, if one does: what plays already before what is in view, and that before the
 * strip's, which a projector shows without its tools.
 * @returns {?HTMLButtonElement}
 */
export function playButton() {
  const found = [...document.querySelectorAll('[data-testid="stMain"] *')].flatMap((host) => [
    .../** @type {NodeListOf<HTMLButtonElement>} */ (host.shadowRoot?.querySelectorAll("button.play") ?? []),
  ])
  const rank = (/** @type {HTMLButtonElement} */ each) =>
    each.title === PAUSE ? 0 : each.getClientRects().length ? 1 : each.closest(".strip") ? 2 : 3
  const able = found.filter((each) => each.getAttribute("aria-disabled") !== "true")
  return able.sort((one, other) => rank(one) - rank(other))[0] ?? null
}
