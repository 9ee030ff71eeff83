// The connection to the server, as Streamlit states it on the page: where it was lost, what the server sent meanwhile is
// lost too, and Streamlit asks for it again only where it knows of a run; a page may stay half empty.

const APP = '[data-testid="stApp"]'
const CONNECTION = "data-test-connection-state"
const SCRIPT = "data-test-script-state"

/**
 * What is called with each state of connection and script, and calls `again` once after a loss: when the connection is
 * there, and what Streamlit asked for itself has ended.
 * @param {() => void} again
 */
export function lossesHeard(again) {
  let lost = false
  return (/** @type {?string} */ connection, /** @type {?string} */ script) => {
    if (connection !== "CONNECTED") lost = true
    else if (lost && script === "notRunning") {
      lost = false
      again()
    }
  }
}

/**
 * Call `again` after each loss of the connection, when it is there again.
 * @param {() => void} again
 */
export function afterLosses(again) {
  const app = document.querySelector(APP)
  if (!app) throw new Error("Streamlit's page has another name")
  const hear = lossesHeard(again)
  new MutationObserver(() => hear(app.getAttribute(CONNECTION), app.getAttribute(SCRIPT))).observe(app, {
    attributeFilter: [CONNECTION, SCRIPT],
  })
}
