import { afterLosses } from "./parts/connection.js"
import { selection } from "./parts/selection.js"

/** @import { Component } from "./parts/stage.js" */

// Joins the selection of the page's components to Python: draws nothing. data: {chosen, token}.
/** @param {Component} component */
export default function ({ data, setTriggerValue }) {
  if (!selection.connected) afterLosses(selection.again)
  selection.connect((pick) => setTriggerValue("pick", pick))
  selection.receive(data.chosen, data.token)
}
