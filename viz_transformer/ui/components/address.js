// The browser's Back button. Streamlit opens a page with an empty address and lets the server write the selection into
// it, as a second entry of the history. Completing an address is no step of its own, so it replaces the empty one.
export default function () {
  if (window.history.completesAddress) return
  const push = window.history.pushState.bind(window.history)
  window.history.pushState = (state, title, url) => {
    const target = new URL(url ?? window.location.href, window.location.href)
    const completes = target.pathname === window.location.pathname && window.location.search === "" && target.search !== ""
    if (completes) window.history.replaceState(state, title, url)
    else push(state, title, url)
  }
  window.history.completesAddress = true
}
