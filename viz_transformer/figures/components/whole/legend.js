import { asElements, dotsIn, legendWords, meanings } from "../parts/whole_legend.js"

/** @import { WholeView } from "./view.js" */

// What the marks of a level mean, below the picture.

/** Of each vector. @param {WholeView} view */
const drawnNumbers = (view) => (view.level === "layer" && view.detail("layer")?.header.samples.length) || view.samples()

/** @param {WholeView} view */
const dotsNow = (view) =>
  dotsIn(
    view.level === "run" ? view.arrays : (view.detail(view.level === "layer" ? "layer" : "attention")?.arrays ?? {}),
  )

/** The whole legend in sentences. @param {WholeView} view */
export const legendTitle = (view) =>
  [dotsNow(view), legendWords(view.head, view.level, drawnNumbers(view))].filter(Boolean).join(". ")

/** What draws the legend anew where it is another one. @param {HTMLElement} legend */
export function legendDrawer(legend) {
  let drawn = ""
  return (/** @type {WholeView} */ view, /** @type {boolean} */ isShort) => {
    const { features } = view.head.stacks[0]
    const all = meanings(view.level, { samples: drawnNumbers(view), features, isShort })
    const dots = dotsNow(view)
    if (dots) all.unshift({ mark: "", words: dots })
    const title = legendTitle(view)
    const of = JSON.stringify([all, title])
    if (of === drawn) return
    drawn = of
    legend.title = title
    legend.replaceChildren(...asElements(all))
  }
}
