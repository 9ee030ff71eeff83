// What Python sends, as types. They are checked by `make javascript` and never sent: no component imports this file.

/** @typedef {{text: string, note?: string, special?: boolean}} Token */
/**
 * The tokens along one side of a picture. `field` is the selection's word for a position on it; where a place is several
 * tokens, it goes from `starts` to `ends`. Where too many tokens were given, `tokens` is empty and `count` says how many.
 * @typedef {{field: string, role: string, axis: string, ink: string, tokens: Token[], starts: ?number[], ends: ?number[],
 *   count?: number}} Axis
 */
/** @typedef {{shape: number[], encoding: string, values: Float32Array | Uint8Array}} Numbers */
/** @typedef {{header: any, arrays: Record<string, Numbers>}} Payload */
/**
 * What mount makes of a component; draw is called once it has data, also after a change of size, theme or selection.
 * @typedef {{update: (payload: Payload) => void, draw: () => void, ready?: boolean, tell?: (given: object) => void}} Made
 */

/** @typedef {{caption: string, name: string, label?: string, title?: string, height?: number}} Picture */
/**
 * @typedef {Picture & {rows: Axis, columns: Axis, writes: ?Token[], scale: string, signed: boolean, bounded: boolean,
 *   unit: string, quantity: string, fill: string, most?: number, grows?: boolean, hidden?: number[]}} MatrixHeader
 */
/**
 * @typedef {Picture & {queries: Axis, keys: Axis, writes: ?Token[], heads: string[], colours: string[], unit: string,
 *   fill: string, most_tokens: number, most_lines: number, hidden?: number[][]}} LinesHeader
 */
/**
 * @typedef {{name: string, explanation: string, order: number[], short: string[], values: string[], baselines: ?string[],
 *   n: number[]}} Score
 * @typedef {Picture & {kind: string, unit: string, blank: string, full: number, tokens: number[], scores: Score[],
 *   most_heads: number, compact: boolean, most: number, sizes: Record<string, number>}} GridHeader
 */
/**
 * @typedef {Picture & {rows: Axis, columns: Axis, kind: string, letter: string, cells: string[], most: number,
 *   token: string, panels: {title: string, note: string}[]}} MasksHeader
 */
/**
 * @typedef {Picture & {query: Axis, keys: Axis, token: Token, position: number, writes: ?Token, scale: string,
 *   fill: string}} RowHeader
 */
/**
 * @typedef {Picture & {queries: Axis, keys: Axis, writes: ?Token[], together: boolean, scale: string, unit: string,
 *   fill: string, grows?: boolean, hidden?: number[]}} ShadingHeader
 */
/**
 * @typedef {{name: string, reasons: string[], removed: number[][], ranks: number[][]}} Strategy
 * @typedef {Picture & {first_row: number, vocabulary: number, reads: Token[], tokens: Token[], candidates: number[][],
 *   written: number[], unlisted: number[], forced: number[], strategy?: Strategy, ids?: number[]}} ScrubberHeader
 */
/**
 * @typedef {{step: number, text: string, complete: boolean, right: boolean}} Snapshot
 * @typedef {{kind: string, name: string, rows: Axis, columns: Axis, writes: ?Token[]}} Kind
 * @typedef {Picture & {snapshots: Snapshot[], kinds: Kind[]}} SnapshotsHeader
 */
/**
 * @typedef {{parent: number[], step: number[], token: number[], log_prob: number[], total: number[], length: number[],
 *   score: number[], rank: number[], fate: number[], row: number[], why: number[]}} Nodes
 * @typedef {Picture & {tree: string, answer: number, width: number, tokens: Token[], start: ?Token, fates: string[],
 *   sentences: string[], penalties: Record<string, [number, string]>, nodes: Nodes}} BeamTreeHeader
 */
/**
 * @typedef {{part: string, x: number, y: number, width: number, height: number, label: string, detail: string,
 *   fill: string, tip: string[]}} Box
 * @typedef {Picture & {width: number, boxes: Box[], lines: {points: [number, number][], arrow: boolean}[],
 *   signs: {x: number, y: number}[], frames: {x: number, y: number, width: number, height: number}[],
 *   texts: {x: number, y: number, text: string, align: CanvasTextAlign, ink: string, strong: boolean}[]}} DrawingHeader
 */

export {}
