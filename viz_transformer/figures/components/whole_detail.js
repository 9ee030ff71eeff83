import { details } from "./parts/details.js"

/** @import { Component } from "./parts/stage.js" */

// Hands a deeper level of a run to the pictures of whole runs: draws nothing. data: what whole_detail.py packed.
/** @param {Component} component */
export default function ({ data }) {
  details.put(data)
}
