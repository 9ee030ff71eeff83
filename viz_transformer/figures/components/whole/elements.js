import { playerControls } from "../parts/controls.js"
import { button, element } from "../parts/elements.js"

/** What the picture of a whole run is made of, and what its buttons do.
 * @param {{into: () => void, out: () => void, move: (by: number) => void, toggle: () => void,
 *   choose: (step: number) => void, hurry: () => void}} act */
export function wholeElements(act) {
  const way = element("nav", "way")
  const path = element("span", "path")
  const whose = element("span", "heads")
  const legend = element("span", "legend")
  const stage = element("div", "stage")
  const [base, over] = [element("canvas", "base"), element("canvas", "over")]
  const now = element("p", "now")
  const bar = element("div", "bar")
  const told = element("ol", "unseen")
  const into = button("quiet zoom", "Zoom in", "Zoom in (+)", act.into)
  const out = button("quiet zoom", "Zoom out", "Zoom out (−)", act.out)
  const faster = button("quiet pace", "1×", "Speed of playing", act.hurry)
  const controls = playerControls(
    { back: "Previous step", play: "Play the steps", next: "Next step", slider: "Step" },
    { move: act.move, toggle: act.toggle, choose: act.choose },
  )
  way.setAttribute("aria-label", "Levels of the picture")
  told.setAttribute("aria-label", "What happens here, in sentences")
  way.append(into, out, path, whose)
  stage.tabIndex = 0
  stage.setAttribute("role", "application")
  stage.append(base, over)
  bar.append(controls.box, legend, faster)
  return { way, path, whose, legend, stage, base, over, now, bar, told, into, out, faster, controls }
}

/** @typedef {ReturnType<typeof wholeElements>} WholeElements */
