import { button, element, icon } from "./elements.js"
import { PAUSE } from "./playing.js"

// The controls of a player: one step back, play or pause, one step on, and a slider over all steps. Page up and down do
// not move it: they turn to another scene.

/**
 * The element that holds them, its slider, and show(step, count, {playing, text}): the step that is shown, which may lie
 * before the first or behind the last, and what the slider says of it.
 * @param {{back: string, play: string, next: string, slider: string}} words
 * @param {{move: (by: number) => void, toggle: () => void, choose: (place: number) => void}} act
 */
export function playerControls(words, { move, toggle, choose }) {
  const box = element("div", "controls player")
  const range = element("input")
  const back = button("quiet", undefined, words.back, () => move(-1))
  const playing = button("quiet play", undefined, words.play, toggle)
  const next = button("quiet", undefined, words.next, () => move(1))
  back.append(icon("back"))
  playing.append(icon("play"))
  next.append(icon("next"))
  range.type = "range"
  range.min = "0"
  range.step = "1"
  range.setAttribute("aria-label", words.slider)
  range.oninput = () => choose(Number(range.value))
  range.addEventListener("keydown", (event) => {
    if (event.key === "PageUp" || event.key === "PageDown") event.preventDefault()
  })
  box.append(back, playing, next, range)
  return {
    box,
    range,
    /** What plays is told that it cannot. */
    disable: (/** @type {boolean} */ off) => playing.setAttribute("aria-disabled", String(off)),
    /**
     * @param {number} step
     * @param {number} count
     * @param {{playing: boolean, text: string}} now
     */
    show(step, count, now) {
      const place = Math.min(Math.max(step, 0), count - 1)
      range.max = String(count - 1)
      range.value = String(place)
      range.style.setProperty("--done", `${count > 1 ? (100 * place) / (count - 1) : 0}%`)
      range.setAttribute("aria-valuetext", now.text)
      back.setAttribute("aria-disabled", String(step <= 0))
      next.setAttribute("aria-disabled", String(step >= count - 1))
      const word = now.playing ? PAUSE : words.play
      if (playing.title === word) return
      playing.title = word
      playing.setAttribute("aria-label", word)
      playing.replaceChildren(icon(now.playing ? "pause" : "play"))
    },
  }
}
