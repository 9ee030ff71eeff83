// What Python sends, as types. They are checked by `make javascript` and never sent: no component imports this file. What
// Python writes is held against them by tests/figures/components/test_types.py.

/** @typedef {{text: string, note?: string, special?: boolean}} Token */
/**
 * The tokens along one side of a picture. `field` is the selection's word for a position on it; where a place is several
 * tokens, it goes from `starts` to `ends`. Where too many tokens were given, `tokens` is empty and `count` says how many;
 * so it is where places are `numbered`: nothing but their numbers is known of them. `field` is "" where the selection has
 * no word for a place, `reach` says how many places from the first are positions of the run, where not all are. `blocks`:
 * a place is several positions that are drawn as one.
 * @typedef {{field: string, role: string, axis: string, ink: string, tokens: Token[], starts: ?number[], ends: ?number[],
 *   count?: number, numbered?: boolean, blocks?: boolean, reach?: number, spans?: Span[]}} Axis
 */
/**
 * Neighbouring places that are pointed out, from `start` to that before `end`.
 * @typedef {{start: number, end: number, look: string, text: string, ink: string}} Span
 */
/** @typedef {{shape: number[], encoding: string, values: Float32Array | Uint8Array}} Numbers */
/**
 * What components draw with: a canvas, or what writes SVG.
 * @typedef {Pick<CanvasRenderingContext2D, "fillStyle" | "strokeStyle" | "lineWidth" | "globalAlpha" | "font" | "textAlign" |
 *   "textBaseline" | "direction" | "save" | "restore" | "translate" | "rotate" | "fillRect" | "strokeRect" | "fillText" |
 *   "beginPath" | "moveTo" | "lineTo" | "bezierCurveTo" | "stroke"> & Ruler & {fill: () => void, drawImage: (picture:
 *   HTMLCanvasElement, x: number, y: number, width: number, height: number) => void, imageSmoothingEnabled?: boolean,
 *   getTransform?: () => {a: number}}} Context
 * @typedef {{font: string, measureText: (text: string) => {width: number}}} Ruler
 */
/**
 * Beside what its component reads, `header.table` says whether Python has a table of the numbers.
 * @typedef {{header: any, arrays: Record<string, Numbers>}} Payload
 */
/**
 * What mount makes of a component; draw is called once it has data, also after a change of size, theme or selection.
 * @typedef {{update: (payload: Payload) => void, draw: () => void, again?: boolean, ready?: boolean,
 *   tell?: (given: object) => void, remove?: () => void}} Made
 */

/** @typedef {{caption: string, name: string}} Picture */
/**
 * @typedef {Picture & {title: string, label: string, rows: Axis, columns: Axis, writes: ?Token[], scale: string,
 *   signed: boolean, bounded: boolean, unit: string, quantity: string, fill: string, height: number, most?: number,
 *   grows?: boolean, follows?: boolean, hidden?: number[], bare?: string[], why?: string[],
 *   names?: [string, string], notes?: string[], digits?: number, paired?: boolean}} MatrixHeader
 */
/**
 * @typedef {Picture & {title: string, label: string, queries: Axis, keys: Axis, writes: ?Token[], heads: string[],
 *   colours: string[], unit: string, fill: string, most_tokens: number, most_lines: number, height: number,
 *   hidden?: number[][]}} LinesHeader
 */
/**
 * @typedef {{name: string, explanation: string, order: number[], short: string[], values: string[], baselines: ?string[],
 *   n: number[]}} Score
 * @typedef {{most: number, wanted: number, gap: number, area: number, least: number, top: number, bottom: number,
 *   line: number, shared: number, margin: number, between: number, inset: number, caption: number,
 *   caption_width: number, width: number}} GridSizes
 * @typedef {Picture & {title: string, label: string, kind: string, unit: string, full: number,
 *   tokens: number[], scores: Score[], most_heads: number, compact: boolean, most: number, sizes: GridSizes,
 *   height: number, key_heads: number}} GridHeader
 */
/**
 * @typedef {Picture & {label: string, rows: Axis, columns: Axis, kind: string, letter: string, cells: string[],
 *   most: number, token: string, height: number, reasons: string[], panels: {title: string, note: string}[],
 *   why?: string[]}} MasksHeader
 */
/**
 * @typedef {Picture & {title: string, label: string, query: Axis, keys: Axis, token: Token, position: number,
 *   writes: ?Token, scale: string, fill: string}} RowHeader
 */
/**
 * @typedef {Picture & {title: string, label: string, queries: Axis, keys: Axis, writes: ?Token[], together: boolean,
 *   scale: string, unit: string, fill: string, grows?: boolean, hidden?: number[]}} ShadingHeader
 */
/**
 * @typedef {{name: string, reasons: string[], removed: number[][], ranks: number[][]}} Strategy
 * @typedef {Picture & {first_row: number, vocabulary: number, reads: Token[], tokens: Token[], candidates: number[][],
 *   written: number[], unlisted: number[], forced: number[], strategy?: Strategy, ids?: number[],
 *   room?: boolean}} ScrubberHeader
 */
/**
 * @typedef {{step: number, text: string, complete: boolean, right: boolean}} Snapshot
 * @typedef {{kind: string, name: string, rows: Axis, columns: Axis, writes: ?Token[]}} Kind
 * @typedef {Picture & {snapshots: Snapshot[], kinds: Kind[]}} SnapshotsHeader
 */
/**
 * @typedef {{parent: number[], step: number[], token: number[], log_prob: number[], total: number[], length: number[],
 *   score: number[], rank: number[], fate: number[], row: number[], why: number[]}} Nodes
 * @typedef {Picture & {title: string, tree: string, answer: number, width: number, tokens: Token[], start: ?Token,
 *   fates: string[], sentences: string[], penalties: Record<string, [number, string]>, nodes: Nodes,
 *   height: number}} BeamTreeHeader
 */
/**
 * @typedef {{part: string, x: number, y: number, width: number, height: number, label: string, detail: string,
 *   fill: string, tip: string[]}} Box
 * @typedef {Picture & {label: string, width: number, height: number, boxes: Box[],
 *   lines: {points: [number, number][], arrow: boolean}[], signs: {x: number, y: number}[],
 *   frames: {x: number, y: number, width: number, height: number}[],
 *   texts: {x: number, y: number, text: string, align: CanvasTextAlign, ink: string, strong: boolean}[]}} DrawingHeader
 */
/**
 * @typedef {{text: string, title: string, ink: string, special: boolean, unknown: boolean, note?: string, share?: ?number,
 *   sure?: boolean, mark?: boolean, differs?: boolean}} Chip
 * @typedef {{field: string, text: string, said: string}} Editing
 * @typedef {{label: string, chips: Chip[], side: string, at: number, field?: string, first?: number, edit?: Editing,
 *   joined?: boolean, apart?: boolean, mark?: {kind: string, said: string}}} ChipRow
 */
/**
 * A sub-layer that can be chosen, or the final norm of a stack, which is in no layer and adds nothing.
 * @typedef {{name: string, kinds: string[], layer?: number, part: string, cross?: boolean, share?: ?number,
 *   title: string}} SubLayer
 * @typedef {{name: string, ink: string, layers: SubLayer[][], final: ?SubLayer, end: string}} Stack
 * @typedef {{norm: string, stacks: Stack[]}} RailData
 */
/**
 * `looks` is the field of the selection that says where the page looks, or "output"; "" if it looks nowhere. `chosen` has
 * fields of the selection, `parts` what each layer of the stack is made of.
 * @typedef {{name: string, side: string, layers: number, parts: {part: string, name: string, kind?: string}[],
 *   final: boolean, output: boolean}} LocatorStack
 * @typedef {{looks: string, chosen: {kind?: string, layer?: number, part?: string, mask_kind?: ?string, input_side?: string,
 *   pos_stack?: string, point?: string}, stacks: LocatorStack[]}} LocatorData
 */
/** @typedef {Picture & {chart: string, table: boolean}} SavingData */
/** @typedef {{caption: string, light: Record<string, string>}} SheetData */
/**
 * @typedef {{label: string, value: ?number, text: string, least: number, most: number, step: number, decimals: number,
 *   count: number}} SliderData
 */
/**
 * A run that is shown ahead of its page; `count` is that of the slider's move that it answers, `token` that of the pick which
 * Python has heard of last. `place` is a selector.
 * @typedef {{place: string, lead: string, text: string, style: string}} AheadParagraph
 * @typedef {{text: string, run?: {count: number, token: string, chosen: Record<string, any>, rows: ChipRow[],
 *   paragraphs: AheadParagraph[]}}} AheadHeader
 */
/**
 * A sub-layer; an attention has its kind and so many heads.
 * @typedef {{layer: number, part: string, kind?: string, heads?: number}} WholePart
 * @typedef {{name: string, ink: string, field: string, tokens: Token[], padded: number[], parts: WholePart[],
 *   layers: number, features: number, sums: boolean, final: boolean}} WholeStack
 * @typedef {Picture & {of: string, title: string, height: number, head: ?number, stacks: WholeStack[], first_row: number,
 *   vocabulary: number, tokens: Token[], candidates: number[][], written: number[],
 *   text: string, answer: string, ends: number[],
 *   along?: {first_row: number, steps: number, reads: boolean}}} WholeHeader
 */
/**
 * A layer of a run, one level deeper; a sub-layer of which nothing was told has no heads, units or samples.
 * @typedef {{part: string, kind?: string, heads?: number, units?: number, samples?: number[]}} WholeLayerPart
 * @typedef {{of: string, level: string, stack: string, layer: number, norm: string, whole_text: boolean, size: number,
 *   samples: number[], parts: WholeLayerPart[], remarks: string[]}} WholeLayer
 */
/**
 * A head of a run, down to one weight. `divisor` is null where the model does not tell it; `merge` is concatenated or raw;
 * `fill` is what a masked score is filled with, and "" where nothing is masked.
 * @typedef {{of: string, level: string, kind: string, layer: number, head: number, heads: number, key_head: number,
 *   divisor: ?number, merge: string, fill: string, remarks: string[]}} WholeAttention
 */
/**
 * `rows` is the first and the last target position with a step.
 * @typedef {{projector: boolean, scene: number, scenes: number, rows: ?[number, number], guide: [string, string][],
 *   groups: [string, [string[], string][]][]}} KeysData
 */
/**
 * @typedef {{number: number, titles: string[], sentences: string[], ring: string[], onward: string,
 *   invited: boolean}} TourData
 */

export {}
