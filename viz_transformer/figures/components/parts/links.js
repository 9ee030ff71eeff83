// From a picture to another page, by the links that the page has under it and in the sidebar.

import { selection } from "./selection.js"

const SLOW = 3000 // milliseconds: a link that is not to the chosen cell by then does not come to be

/**
 * Follows the link to why the chosen cell has its number; nothing where the page has none, or the picture stands alone.
 * Where the link says the cell, in the fields `why` for its row and its column, it is followed once it says this one; a
 * cell without such fields is explained nowhere.
 * @param {string[]} [why]
 * @param {{r: ?number, c: ?number}} [cell]
 */
export function openWhy(why, cell) {
  if (why?.length === 0 || !linkToWhy()) return
  const begun = performance.now()
  const follow = () => {
    const link = linkToWhy()
    if (!link || performance.now() - begun > SLOW) return
    if (!why || says(link, { [why[0]]: cell?.r, [why[1]]: cell?.c })) link.click()
    else requestAnimationFrame(follow)
  }
  selection.lead({}, follow)
}

const says = (/** @type {HTMLAnchorElement} */ link, /** @type {Record<string, unknown>} */ fields) => {
  const said = new URL(link.href).searchParams
  return Object.entries(fields).every(([name, value]) => said.get(name) === String(value))
}
const linkToWhy = () => /** @type {?HTMLAnchorElement} */ (document.querySelector(".st-key-from_cell a"))

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
