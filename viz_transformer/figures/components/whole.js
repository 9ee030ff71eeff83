import { mount } from "./parts/stage.js"
import { WholePicture } from "./whole/picture.js"

/** @import { Component } from "./parts/stage.js" */

// The whole run in one picture, on four levels: the run, one layer, one attention, one weight. Header: {of, title, caption, name,
// height, head, stacks: {name, ink, field, tokens, padded, parts: {layer, part, kind, heads}, layers, features, sums, final},
// first_row, vocabulary, tokens, candidates: places in tokens by step, written: places in candidates, text, answer, ends: of the
// answer behind each step, along: where two are looked at, {first_row: of the first, whose rows the selection has, steps: of the
// longer one, reads: whether any reads a text first}}; arrays: token.S,
// position.S [T, samples], stream.S [points, T, samples], length.S [points, T], and came.S, added.S and share.S
// [sub-layers, T] of each stack S; the strongest weights of each kind of attention as parts/whole_rows.js reads them;
// log_probs [steps, most candidates]. What the deeper levels show beside that comes as details: parts/details.js.

/** @param {Component} component */
export default (component) =>
  mount(component, "whole", (root) => {
    const picture = new WholePicture(root)
    return { update: (payload) => picture.update(payload), draw: picture.draw, remove: () => picture.remove() }
  })
