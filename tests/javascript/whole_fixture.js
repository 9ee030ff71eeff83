// A whole run of three tokens a stack and one layer each, and what is looked at of it.

const tokens = (/** @type {string[]} */ ...texts) => texts.map((text) => ({ text }))
const attentionPart = (/** @type {string} */ part, /** @type {string} */ kind) => ({ layer: 0, part, kind, heads: 2 })
const ffn = { layer: 0, part: "ffn" }
const stack = (/** @type {any} */ more) => ({
  padded: [],
  layers: 1,
  features: 4,
  sums: false,
  final: false,
  ...more,
})

/** The tokens of each stack. */
export const rows = [tokens("a", "b", "c"), tokens("<s>", "x", "y")]

/** @returns {any} */
export const header = () => ({
  of: "run",
  title: "",
  caption: "",
  name: "run",
  height: 500,
  head: null,
  first_row: 0,
  vocabulary: 9,
  tokens: tokens("x", "y", "z"),
  candidates: [
    [0, 1, 2],
    [1, 0, 2],
  ],
  written: [0, 0],
  text: "a b c",
  answer: "x y",
  ends: [1, 3],
  stacks: [
    stack({
      name: "encoder",
      ink: "source-ink",
      field: "s",
      tokens: rows[0],
      parts: [attentionPart("self", "encoder"), ffn],
    }),
    stack({
      name: "decoder",
      ink: "target-ink",
      field: "t",
      tokens: rows[1],
      parts: [attentionPart("self", "decoder"), attentionPart("cross", "cross"), ffn],
    }),
  ],
})

/** An array as it comes; of no values 0, 0.2, 0.4, 0.6, 0.8 again and again. */
export const numbers = (
  /** @type {number[]} */ shape,
  /** @type {Iterable<number> | undefined} */ values = undefined,
) => ({
  shape,
  encoding: "float32",
  values: values
    ? Float32Array.from(values)
    : Float32Array.from({ length: shape.reduce((all, each) => all * each, 1) }, (_, n) => (n % 5) / 5),
})

/** Rows of which all weights are there. @param {string} kind @param {number[][]} rows */
const weights = (kind, rows) => ({
  [`keys.${kind}`]: numbers(
    [9],
    rows.flatMap((row) => row.map((_, key) => key)),
  ),
  [`weights.${kind}`]: numbers([9], rows.flat()),
  [`starts.${kind}`]: numbers([4], [0, 3, 6, 9]),
  [`rest.${kind}`]: numbers([1, 3], [0, 0, 0]),
})

/** @returns {Record<string, any>} */
export const arrays = () => ({
  ...Object.fromEntries(
    ["encoder", "decoder"].flatMap((name, n) => [
      [`token.${name}`, numbers([3, 4])],
      [`stream.${name}`, numbers([2, 3, 4])],
      [`length.${name}`, numbers([2, 3])],
      ...["came", "added", "share"].map((what) => [`${what}.${name}`, numbers([2 + n, 3])]),
    ]),
  ),
  ...weights("encoder", Array(3).fill([0.2, 0.3, 0.5])),
  ...weights("decoder", [
    [1, 0, 0],
    [0.4, 0.6, 0],
    [0.4, 0.3, 0.3],
  ]),
  ...weights("cross", [
    [0.1, 0.9, 0],
    [0.9, 0.1, 0],
    [0, 0, 1],
  ]),
  log_probs: numbers([2, 3], [-0.1, -2.5, -4, -0.2, -2, -3]),
})

/** What is looked at: the first step, at rest. @param {any} [more] @returns {any} */
export const viewOf = (more = {}) => {
  const view = {
    head: header(),
    arrays: arrays(),
    chosen: {},
    z: 1,
    hovered: null,
    walked: null,
    flown: 1,
    playing: false,
    reading: null,
    through: 1,
    saysAnswer: true,
    samples: () => 4,
    steps: () => 2,
    writes: () => true,
    rowAt: (/** @type {number} */ step) => step,
    step: () => 0,
    isChosen: (/** @type {any} */ part) =>
      part.kind && part.kind === view.chosen.kind && part.layer === view.chosen.layer,
    rowOf: () => view.step(),
    keyOf: () => 0,
    detail: () => null,
    lack: (/** @type {string} */ what) => `no ${what}`,
    ...more,
  }
  return view
}

/**
 * The cross-attention, at its second query and third key, with such a detail.
 * @param {any} found
 * @param {any} [more]
 */
export const looking = (found, more = {}) =>
  viewOf({
    chosen: { kind: "cross", layer: 0, heads: [1], level: "attention", t: 1, i: 2 },
    step: () => 1,
    keyOf: () => 2,
    detail: () => found,
    ...more,
  })

/** A head of it as Python tells it; later keys are masked. */
export const attention = {
  header: { divisor: Math.SQRT2, remarks: [] },
  arrays: {
    query: numbers([3, 2], [1, 0, 2, 1, 0, 1]),
    key: numbers([3, 2], [1, 1, 0, 1, 1, 0]),
    scores: numbers([3, 3], [1, 2, 3, 1, 2, -1, 0, 0, 0]),
    weights: numbers([3, 3], [1, 0, 0, 0.2, 0.8, 0, 0.3, 0.3, 0.4]),
    mask: numbers([3, 3], [1, 0, 0, 1, 1, 0, 1, 1, 1]),
  },
}

/** A head of which nothing is told. */
export const missing = { header: { divisor: null, remarks: ["Not told."] }, arrays: {} }
