import assert from "node:assert/strict"
import { test } from "node:test"
import { lossesHeard } from "../../viz_transformer/figures/components/parts/connection.js"

const calls = (states) => {
  let count = 0
  const hear = lossesHeard(() => count++)
  return states.map(([connection, script]) => {
    hear(connection, script)
    return count
  })
}

test("a loss is answered once, when the connection is there and Streamlit's own run has ended", () => {
  assert.deepEqual(
    calls([
      ["CONNECTED", "notRunning"],
      ["CONNECTED", "running"],
      ["CONNECTED", "notRunning"],
      ["PINGING_SERVER", "running"],
      ["CONNECTING", "notRunning"],
      ["CONNECTED", "rerunRequested"],
      ["CONNECTED", "running"],
      ["CONNECTED", "notRunning"],
      ["CONNECTED", "running"],
      ["CONNECTED", "notRunning"],
    ]),
    [0, 0, 0, 0, 0, 0, 0, 1, 1, 1],
  )
})

test("without a run of Streamlit's own it is answered at once, and each loss anew", () => {
  const once = [
    ["PINGING_SERVER", "notRunning"],
    ["CONNECTED", "notRunning"],
  ]
  assert.deepEqual(calls([...once, ...once]), [0, 1, 1, 2])
})
