import { element } from "./elements.js"
import { notFinite } from "./numbers.js"
import { LEAST } from "./whole_words.js"

/** @import { Numbers, WholeHeader } from "./types.js" */

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

/** @type {WeakMap<object, string>} */
const knownDots = new WeakMap()
/**
 * What dots mean in a picture of these arrays, "" where it has none; a step may have fewer candidates than another.
 * @param {Record<string, Numbers>} arrays
 */
export function dotsIn(arrays) {
  const known = knownDots.get(arrays)
  if (known !== undefined) return known
  const found = Object.entries(arrays).map(([name, { encoding, values }]) =>
    encoding === "float32" && name !== "log_probs" ? notFinite(values) : "",
  )
  const kinds = new Set(found.flatMap((words) => (words ? words.split(" or ") : [])))
  const dots = kinds.size ? `dotted: ${[...kinds].sort().reverse().join(" or ")}` : ""
  knownDots.set(arrays, dots)
  return dots
}

/**
 * The meanings of a level in sentences, of vectors of which so many numbers are drawn.
 * @param {WholeHeader} head
 * @param {string} level
 * @param {number} samples
 */
export function legendWords(head, level, samples) {
  const heads = [...new Set(head.stacks.flatMap(({ parts }) => parts.flatMap(({ heads }) => heads ?? [])))]
  const of = `Strips: ${samples} of each vector’s ${head.stacks[0].features} numbers`
  if (level === "run") {
    const mine = head.head === null ? `the mean of ${heads.join(" or ")} heads` : `head ${head.head}`
    return `Ribbons: attention weights of ${mine} (below ${100 * LEAST} % merged). ${of}.`
  }
  if (level === "layer") return `${of}. Weights below ${100 * LEAST} % are not drawn.`
  return level === "attention" ? "The maps of all heads; below, one of them computed." : ""
}
