// One side of a picture, as Python sends it: a token for each of the letters.
export const axis = (/** @type {string} */ field, /** @type {string} */ role, /** @type {string} */ letters) => ({
  field,
  role,
  axis: role,
  ink: "",
  tokens: [...letters].map((text) => ({ text })),
  starts: null,
  ends: null,
})
