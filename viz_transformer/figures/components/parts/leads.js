// From a picture to another page, by the links that the page has under it and in the sidebar.

import { selection } from "./selection.js"

/** Follows the link to why the chosen cell has its number; nothing where the page has none, or the picture stands alone. */
export function openWhy() {
  const link = /** @type {?HTMLElement} */ (document.querySelector(".st-key-from_cell a"))
  if (link) selection.lead({}, () => link.click())
}

/**
 * Follows the sidebar's link to the page with this path; nothing where it is open, or the app does not have it.
 * @param {string} path
 */
export function openPage(path) {
  const links = /** @type {NodeListOf<HTMLAnchorElement>} */ (
    document.querySelectorAll('[data-testid="stSidebarNavLink"]')
  )
  const link = [...links].find((each) => new URL(each.href).pathname.split("/").at(-1) === path)
  if (link && new URL(link.href).pathname !== location.pathname) link.click()
}
