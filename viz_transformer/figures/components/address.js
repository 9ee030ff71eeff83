// The browser's Back button. Streamlit opens a page with an empty address and lets the server write the selection into
// it, as a second entry of the history; and a new text's first step, t, is known only when the run is there. Completing
// an address is no step of its own, so it replaces the incomplete one.
export default function () {
  if (window.history.completesAddress) return
  const push = window.history.pushState.bind(window.history)
  window.history.pushState = (state, title, url) => {
    const target = new URL(url ?? window.location.href, window.location.href)
    const [before, after] = [window.location, target].map(({ search }) => new URLSearchParams(search))
    const kept = [...before].every(([name, value]) => after.get(name) === value)
    const added = [...after.keys()].filter((name) => !before.has(name))
    const whole = before.size === 0 ? after.size > 0 : added.join() === "t"
    const completes = target.pathname === window.location.pathname && kept && whole
    if (completes) window.history.replaceState(state, title, url)
    else push(state, title, url)
  }
  window.history.completesAddress = true
}
