// One side of a picture, as Python sends it: a token for each of the letters, or of the texts.
export const axis = (
  /** @type {string} */ field,
  /** @type {string} */ role,
  /** @type {Iterable<string>} */ texts,
  ink = "",
) => ({
  field,
  role,
  axis: role,
  ink,
  tokens: [...texts].map((text) => ({ text })),
  starts: null,
  ends: null,
})
/** Numbers of a picture, as they are read from what Python sends. */
export const numbers = (/** @type {number[]} */ values, shape = [values.length]) => ({
  shape,
  encoding: "float32",
  values: Float32Array.from(values),
})
/** Texts of which each is told by a letter and its number: q0, q1, q2. */
export const names = (letter, count) => Array.from({ length: count }, (_, n) => `${letter}${n}`)
/** Tokens with these texts. */
export const texts = (...all) => all.map((text) => ({ text }))
