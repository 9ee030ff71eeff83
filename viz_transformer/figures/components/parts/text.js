// Tokens and other text. A token is {text, note, special, unknown}; text is what the model reads, note what was typed
// instead. Every text comes in as data and goes out through textContent or fillText, never as markup.

const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/
export const isolated = (text) => (RIGHT_TO_LEFT.test(text) ? `\u2068${text}\u2069` : text)
export const quoted = (token) => {
  const read = `“${isolated(token.text)}”`
  return token.note === undefined ? read : `${read}, typed “${isolated(token.note)}”`
}
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" })

/** The text, or its beginning and an ellipsis, in at most `width` pixels of the context's font. */
export function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text
  let kept = ""
  for (const { segment } of graphemes.segment(text)) {
    if (context.measureText(`${kept}${segment}…`).width > width) break
    kept += segment
  }
  return `${kept}…`
}

/** The text in lines of at most `width` pixels, parted at blanks; a word that is longer is parted between its signs. */
export function wrapped(context, text, width) {
  const fits = (line) => context.measureText(line).width <= width
  const lines = [""]
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) && `${lines.at(-1)} ${word}`
    if (longer && fits(longer)) lines[lines.length - 1] = longer
    else {
      if (lines.at(-1)) lines.push("")
      for (const { segment } of graphemes.segment(word)) {
        if (lines.at(-1) && !fits(lines.at(-1) + segment)) lines.push("")
        lines[lines.length - 1] += segment
      }
    }
  }
  return lines
}

export const mono = (size, weight = 400) =>
  `${weight} ${size}px 'IBM Plex Mono', 'Source Code Pro', ui-monospace, monospace`
export const sans = (size, weight = 400) => `${weight} ${size}px 'IBM Plex Sans', 'Source Sans', system-ui, sans-serif`
