import { details } from "./parts/details.js"
import { unpack } from "./parts/payload.js"

/** @import { Component } from "./parts/stage.js" */

// Hands deeper levels of a run to the pictures of whole runs: draws nothing. data: what whole_detail.py packed, together. One
// of these components also tells Python what the pictures ask for.
/** @param {Component} component */
export default function ({ data, setTriggerValue }) {
  const { header, arrays } = unpack(data)
  const end = header.answers ? details.connect((places) => setTriggerValue("ask", places)) : undefined
  details.putAll(arrays, header.answers && Object.keys(arrays).length > 0)
  return end
}
