/** @import { Ruler, Token } from "./types.js" */

// Tokens and other text. A token is {text, note, special, unknown}; text is what the model reads, note what was typed
// instead. Every text comes in as data and goes out through textContent or fillText, never as markup.

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
/** @param {string} text */
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text)
/** @param {Token} token */
export const quoted = (token) => {
  const read = `“${isolated(token.text)}”`
  return token.note === undefined ? read : `${read}, typed “${isolated(token.note)}”`
}
/**
 * A token in a sentence: a special one as it is, <s>, which tells it from the same letters in a text.
 * @param {Token} token
 */
export const mention = (token) => (token.special && token.note === undefined ? token.text : quoted(token))
/**
 * Which step, rank or row it is, counted from 1 as people say it: the one with index 0 is "1 of 14".
 * @param {number} index
 * @param {number} count
 */
export const among = (index, count) => `${index + 1} of ${count}`
/**
 * A text on one line: its line breaks have their sign, as in tokens, and all other white space is a blank.
 * @param {string} text
 */
export const onOneLine = (text) => text.replace(/[\n\r]/g, "↵").replace(/\s/g, " ")
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** What a reader takes for one sign each, of however many code points. */
export const signsOf = (/** @type {string} */ text) => Array.from(graphemes.segment(text), (each) => each.segment)

/**
 * The text, or its beginning and an ellipsis, in at most `width` pixels of the context's font.
 * @param {Pick<Ruler, "measureText">} context
 * @param {string} text
 * @param {number} width
 */
export function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text
  let kept = ""
  for (const segment of signsOf(text)) {
    if (context.measureText(`${kept}${segment}…`).width > width) break
    kept += segment
  }
  return `${kept}…`
}

/**
 * The text in lines of at most `width` pixels, parted at blanks; a word that is longer is parted between its signs.
 * @param {Pick<Ruler, "measureText">} context
 * @param {string} text
 * @param {number} width
 */
export function wrapped(context, text, width) {
  const fits = (/** @type {string} */ line) => context.measureText(line).width <= width
  const lines = [""]
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) && `${lines.at(-1)} ${word}`
    if (longer && fits(longer)) lines[lines.length - 1] = longer
    else {
      if (lines.at(-1)) lines.push("")
      for (const segment of signsOf(word)) {
        if (lines.at(-1) && !fits(lines.at(-1) + segment)) lines.push("")
        lines[lines.length - 1] += segment
      }
    }
  }
  return lines
}

/**
 * The text in at most `most` lines, parted at blanks; what does not fit into a line is shortened.
 * @param {Pick<Ruler, "measureText">} context
 * @param {string} text
 * @param {number} width
 * @param {number} most
 */
export function wrappedTo(context, text, width, most) {
  const lines = [""]
  for (const word of text.split(" ")) {
    const line = lines[lines.length - 1]
    const longer = line ? `${line} ${word}` : word
    if (line && lines.length < most && context.measureText(longer).width > width) lines.push(word)
    else lines[lines.length - 1] = longer
  }
  return lines.map((line) => shorten(context, line, width))
}

/** @param {number} size */
export const mono = (size, weight = 400) =>
  `${weight} ${size}px 'IBM Plex Mono', 'Source Code Pro', ui-monospace, monospace`
/** @param {number} size */
export const sans = (size, weight = 400) => `${weight} ${size}px 'IBM Plex Sans', 'Source Sans', system-ui, sans-serif`
/**
 * How wide our fonts are as they are now: it changes when one of them comes, which until then another stands for.
 * @param {Ruler} context
 */
export function fontsNow(context) {
  return [mono(14), mono(14, 600), sans(14), sans(14, 600)]
    .map((font) => {
      context.font = font
      return context.measureText("0").width
    })
    .join(" ")
}
