import { element } from "./elements.js"
import { LEAST } from "./whole_words.js"

// What the picture of a whole run is drawn with: each mark beside what it means.

/** @typedef {{mark: "ribbon" | "strip" | "share" | "", words: string}} Meaning */

/**
 * What the marks of a level mean; none at the level of one weight, where numbers are written.
 * @param {string} level
 * @param {{samples: number, features: number, isShort: boolean}} drawn how many of a vector's numbers are drawn, of how
 * many; isShort: whether a name had no room, and is written short
 * @returns {Meaning[]}
 */
export function meanings(level, { samples, features, isShort }) {
  const some = samples < features ? `${samples} of ${features} numbers` : `${features} numbers`
  /** @type {Meaning} */
  const strip = { mark: "strip", words: `vector (${some})` }
  if (level === "run")
    return [
      ...(isShort ? [{ mark: /** @type {const} */ (""), words: "ff: feed-forward" }] : []),
      { mark: "ribbon", words: `attention weight (below ${100 * LEAST} % merged)` },
      strip,
      { mark: "share", words: "share added" },
    ]
  if (level === "layer") return [strip, { mark: "", words: `weights below ${100 * LEAST} % are not drawn` }]
  return level === "attention" ? [{ mark: "", words: "maps of all heads; below, one computed" }] : []
}

/**
 * The meanings as elements.
 * @param {Meaning[]} all
 */
export const asElements = (all) =>
  all.map(({ mark, words }) => {
    const made = element("span", "meaning")
    if (mark) made.append(element("i", `mark ${mark}`))
    made.append(words)
    return made
  })
