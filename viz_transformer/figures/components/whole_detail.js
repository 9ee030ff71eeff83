import { details } from "./parts/details.js"
import { unpack } from "./parts/payload.js"

/** @import { Component } from "./parts/stage.js" */

// Hands deeper levels of a run to the pictures of whole runs: draws nothing. data: what whole_detail.py packed, together.
/** @param {Component} component */
export default function ({ data }) {
  details.putAll(unpack(data).arrays)
}
