import { button, element } from "./elements.js"
import { comeFrom } from "./motion.js"
import { share } from "./numbers.js"
import {
  candidateSentences,
  candidatesAt,
  canTake,
  finalProbabilityOf,
  finalRestAt,
  finalWords,
  othersAt,
  othersWords,
  probabilityOf,
  reasonOf,
  restAt,
  shortReason,
  writesStep,
  writtenAt,
} from "./scrubber_steps.js"
import { quoted } from "./text.js"

/** @import { DecodeSteps } from "./scrubber_steps.js" */

// The rows of a step's candidates and of all other tokens together.

/** What the strategy made of a row. @typedef {{part: HTMLElement, value: HTMLElement, shown: HTMLElement[]}} After */
/**
 * @typedef {{row: HTMLElement, token: HTMLElement, part: HTMLElement, value: HTMLElement, after: After,
 *   taker: HTMLButtonElement}} CandidateRow
 * @typedef {{row: HTMLElement, text: HTMLElement, part: HTMLElement, value: HTMLElement, after: After}} RestRow
 * @typedef {{bars: CandidateRow[], rest: RestRow}} Rows
 */

const spans = (/** @type {string[]} */ ...names) => names.map((name) => element("span", name))

/** @type {(strategy: boolean) => After} */
function afterOf(strategy) {
  const [bar, part, value] = spans("final-bar", "final-part", "final")
  bar.append(part)
  return { part, value, shown: strategy ? [bar, value] : [] }
}

/** @type {(decode: DecodeSteps, id: string, className: string) => HTMLElement} */
function option({ head }, id, className) {
  const row = element("div", className)
  row.setAttribute("role", head.ids ? "row" : "option")
  row.id = id
  return row
}
/** @type {(decode: DecodeSteps, cells: HTMLElement[]) => void} */
const gridCells = ({ head }, cells) => {
  for (const each of head.ids ? cells : []) each.setAttribute("role", "gridcell")
}

/** @type {(decode: DecodeSteps, id: string, take: () => void) => CandidateRow} */
function candidateRow(decode, id, take) {
  const { strategy, ids } = decode.head
  const row = option(decode, id, "candidate")
  const token = element("bdi", "token")
  const [bar, part, value, place] = spans("bar", "part", "value", "taking")
  bar.append(part)
  const after = afterOf(strategy !== undefined)
  const taker = button("quiet take", "take", "Take this token", (event) => {
    if (event.detail <= 1) take() // not the second of a double click
  })
  taker.tabIndex = -1 // Enter on the row does the same
  taker.onmousedown = (event) => event.preventDefault() // the focus stays where it is
  if (ids) place.append(taker)
  row.append(token, bar, value, ...after.shown, ...(ids ? [place] : []))
  gridCells(decode, [token, value, after.value, place])
  return { row, token, part, value, after, taker }
}

/** @type {(decode: DecodeSteps, id: string) => RestRow} */
function restRow(decode, id) {
  const row = option(decode, id, "rest")
  const [text, value, bar, part] = spans("others", "value", "bar", "part")
  bar.append(part)
  const after = afterOf(decode.head.strategy !== undefined)
  row.append(text, value, bar, ...after.shown)
  gridCells(decode, [text, value, after.value])
  return { row, text, value, part, after }
}

/**
 * Rows for as many candidates as a step has at most, in the stage, over an axis.
 * @type {(stage: HTMLElement, decode: DecodeSteps, id: string, take: (i: number) => void) => Rows}
 */
export function makeRows(stage, decode, id, take) {
  const bars = Array.from({ length: decode.most }, (_, i) => candidateRow(decode, `${id}-${i}`, () => take(i)))
  const rest = restRow(decode, `${id}-${decode.most}`)
  const [axis, ticks, places] = ["axis", "ticks", "places"].map((name) => element("div", name))
  axis.setAttribute("aria-hidden", "true")
  for (const tick of ["0", "0.5", "1"]) {
    const place = element("span")
    place.append(element("span", "", tick))
    ticks.append(place)
  }
  axis.append(ticks)
  places.setAttribute("role", "presentation")
  places.append(element("div", "lines"), ...bars.map(({ row }) => row), rest.row)
  stage.replaceChildren(places, axis)
  return { bars, rest }
}

/**
 * A bar as long as a share, or a short dotted one where that is not a number.
 * @type {(part: HTMLElement, share: number) => void}
 */
function lengthen(part, share) {
  const none = Number.isNaN(share)
  part.style.width = none ? "24px" : `${100 * share}%`
  part.classList.toggle("no-number", none)
}

/** @type {(bar: CandidateRow, decode: DecodeSteps, step: number, i: number, isThere: boolean) => void} */
function drawAfter({ part, after }, decode, step, i, isThere) {
  const kept = isThere && reasonOf(decode, step, i) === undefined
  lengthen(after.part, kept ? finalProbabilityOf(decode, step, i) : 0)
  part.classList.toggle("removed", isThere && !kept)
  after.value.classList.toggle("why", !kept)
  if (isThere) after.value.textContent = shortReason(finalWords(decode, step, i))
}

/** @type {(bar: CandidateRow, decode: DecodeSteps, step: number, i: number, active: ?number | undefined) => void} */
function drawCandidate(bar, decode, step, i, active) {
  const { row, token, part, value, taker } = bar
  const inside = writesStep(decode, step)
  const each = inside ? candidatesAt(decode, step)[i] : undefined
  const isWritten = inside && i === decode.head.written[step]
  const classes = ["candidate", !each && "empty", isWritten && "written", i === active && "active"]
  row.className = classes.filter(Boolean).join(" ")
  row.setAttribute("aria-selected", String(isWritten))
  lengthen(part, each ? probabilityOf(decode, step, i) : 0)
  if (decode.head.strategy) drawAfter(bar, decode, step, i, each !== undefined)
  taker.hidden = !canTake(decode, step, i)
  if (!each) return
  if (!taker.hidden) {
    taker.title = `Take ${quoted(each)} instead of ${quoted(writtenAt(decode, step))}`
    taker.setAttribute("aria-label", taker.title)
  }
  token.className = each.special ? "token special" : "token"
  token.textContent = each.text
  value.textContent = share(probabilityOf(decode, step, i))
  row.setAttribute("aria-label", candidateSentences(decode, step, i).join(", "))
}

/** @type {(rows: Rows, decode: DecodeSteps, step: number, active: ?number | undefined) => void} */
export function drawRows({ bars, rest }, decode, step, active) {
  bars.forEach((bar, i) => drawCandidate(bar, decode, step, i, active))
  const more = writesStep(decode, step) && othersAt(decode, step) > 0
  rest.row.classList.toggle("empty", !more)
  lengthen(rest.part, more ? restAt(decode, step) : 0)
  if (!more) return
  if (decode.head.strategy) {
    lengthen(rest.after.part, finalRestAt(decode, step))
    rest.after.value.textContent = share(finalRestAt(decode, step))
  }
  rest.text.textContent = othersWords(decode, step)
  rest.value.textContent = share(restAt(decode, step))
  const last = decode.head.candidates[step].length
  rest.row.setAttribute("aria-label", candidateSentences(decode, step, last).join(", "))
}

/**
 * Draw the rows of another step so that each candidate comes from where it was; one that was none fades in.
 * @type {(rows: Rows, decode: DecodeSteps, step: number, drawn: number, active: ?number | undefined) => void}
 */
export function moveRows(rows, decode, step, drawn, active) {
  const { bars, rest } = rows
  const before = new Map(decode.head.candidates[drawn].map((place, i) => [place, i]))
  const line = bars[0].row.offsetHeight
  const widths = (/** @type {CandidateRow | RestRow} */ { part, after }) => [part.style.width, after.part.style.width]
  const [were, left] = [bars.map(widths), widths(rest)]
  drawRows(rows, decode, step, active)
  decode.head.candidates[step].forEach((place, i) => {
    const { row, part, after } = bars[i]
    const from = before.get(place)
    if (from === undefined) {
      comeFrom(row, { opacity: 0 })
      return
    }
    if (from !== i) comeFrom(row, { transform: `translateY(${(from - i) * line}px)` })
    comeFrom(part, { width: were[from][0] })
    comeFrom(after.part, { width: were[from][1] })
  })
  comeFrom(rest.part, { width: left[0] })
  comeFrom(rest.after.part, { width: left[1] })
}
