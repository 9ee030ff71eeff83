// From a picture to another page, by the links that the page has under it.

const HEARD = 60 // milliseconds until what was chosen is on its way to Python

/** Follows the link to why the chosen cell has its number; nothing where the page has none, or the picture stands alone. */
export function openWhy() {
  const link = /** @type {?HTMLElement} */ (document.querySelector(".st-key-from_cell a"))
  if (link) setTimeout(() => link.click(), HEARD)
}
