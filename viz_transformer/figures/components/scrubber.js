import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { announcer, button, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { dotted, hatch, paintCell } from "./parts/marks.js"
import { comeFrom, isStill } from "./parts/motion.js"
import { exponential, logProbability, number, share } from "./parts/numbers.js"
import { makePlayer } from "./parts/player.js"
import { PLAY_STEPS, PLAYED, tellPlaying } from "./parts/playing.js"
import { placeSaved } from "./parts/saved_bars.js"
import { selection } from "./parts/selection.js"
import { magnified, mount, pointIn, rootIn, zoom } from "./parts/stage.js"
import { among, isolated, mention, mono, quoted, sans, shorten, wrappedTo } from "./parts/text.js"

/** @import { ScrubberHeader, Token } from "./parts/types.js" */

// All steps of a decode and the candidates of each as bars. Header: {first_row, vocabulary, reads, tokens, candidates:
// places in tokens by step, written: places in candidates, unlisted and forced: steps, caption, name}; arrays: log_probs
// [steps, most candidates], rest [steps]. Step s is the row first_row + s of the selection's field t. Where the strategy
// is shown: strategy {name, reasons, removed: places in reasons from 1 on by step, ranks}, and the arrays
// strategy_log_probs, strategy_rest, entropy. Where a candidate can be taken: ids, those of tokens; Python hears of it.
// room: is kept for the buttons that the scrubber beside this one has.

const HATCH = 4
const SIGN = 22
const WIDE = 640 // from here on what a step reads and writes is one line
const BESIDE = 300 // from here on the strategy's numbers stand beside the model's
/** @type {Record<string, string>} */
const SHORT = { "repeated n-gram": "repeated", "too short to end": "too short" } // what a tooltip says in full
const AS_LONG = 7 // letters of a reason that have room where a number has
const SIGNS = [
  ["raw", "model"],
  ["raw removed", "removed, and why"],
  ["final", "strategy"],
]
const NARROW = 300 // below it the bars get what the tokens can spare
const GIVEN = "This row reads what was given: it writes nothing of the answer."
const PADDING = "This row reads padding: it writes nothing of the answer."

export default (component) => {
  const removed = mount(component, "scrubber", makeScrubber)
  rootIn(component.parentElement, "scrubber").vt.made.tell = (take) => component.setTriggerValue("take", take)
  return removed
}

function makeScrubber(root) {
  const says = element("div", "says")
  const [reading, writing, spread, sums, outside] = [
    element("div"),
    element("div"),
    element("div"),
    element("div"),
    element("div", "outside"),
  ]
  const [start, end] = [element("span", "end"), element("span", "end")]
  const stage = element("div", "stage")
  const last = element("div", "last")
  const legend = element("div", "legend")
  const tip = tooltip(root)
  const announce = announcer(root)
  /** @type {ScrubberHeader} */
  let head
  let steps, most, logProbs, rests, strategies
  let built = ""
  let bars = []
  let rest = null
  let active = null // the candidate pointed at: {i}, by the pointer with its place {i, x, y}
  let told = false // whether the page was told that this scrubber plays: another may stand beside it

  let drawn = null // the step whose candidates are drawn

  const controls = playerControls(
    { back: "Previous step", play: PLAY_STEPS, next: "Next step", slider: "Step" },
    { move: (by) => player.move(by), toggle, choose: (step) => player.choose(step) },
  )
  const { range } = controls
  stage.tabIndex = 0
  stage.setAttribute("role", "listbox")
  range.before(start)
  range.after(end)
  says.append(reading, writing, spread, sums, outside)
  const saving = exports(root, {
    draw: paint,
    size: () => ({ width: root.clientWidth, height: drawnHeight() }),
    caption: () =>
      head.strategy
        ? `${head.caption}; probability over the whole vocabulary; strategy: ${head.strategy.name}`
        : head.caption,
    name: () => (writes(at()) ? `${head.name}-step-${at() + 1}` : head.name),
  })
  const axisTitle = element("span", "", "probability over the whole vocabulary")
  const hint = element("span", "hint", "; point at another token to take it instead")
  axisTitle.append(hint)
  last.append(axisTitle, saving)
  for (const [sign, words] of SIGNS) legend.append(element("span", `sign ${sign}`), element("span", "", words))
  root.append(says, controls.box, stage, legend, last)

  // ---- what a step is

  const at = () => (selection.chosen.t ?? head.first_row) - head.first_row
  const writes = (step) => step >= 0 && step < steps
  const nearest = (step) => Math.min(Math.max(step, 0), steps - 1)
  const candidates = (step) => head.candidates[step].map((place) => head.tokens[place])
  const written = (step) => candidates(step)[head.written[step]]
  const logProb = (step, i) => logProbs.values[step * most + i]
  const probability = (step, i) => exponential(logProb(step, i))
  const others = (step) => head.vocabulary - head.candidates[step].length
  const restText = (step) => share(rests.values[step])
  const othersText = (step) =>
    `other ${others(step).toLocaleString("en")} ${others(step) === 1 ? "token" : "tokens"} together`
  const numberText = (step) => `Step ${among(step, steps)}`
  const valueText = (step) => share(probability(step, head.written[step]))
  const isForced = (step) => head.forced.includes(step)
  const sentenceText = (step) =>
    !writes(step)
      ? step < 0
        ? GIVEN
        : PADDING
      : `${numberText(step)}${isForced(step) ? ", given" : ""}: reads ${mention(head.reads[step])}, writes ${mention(written(step))}, ${oddsText(step)}`
  const oddsText = (step) =>
    head.strategy
      ? `probability ${valueText(step)} by the model, ${share(finalProbability(step, head.written[step]))} after the strategy`
      : `probability ${valueText(step)}`

  // ---- what the strategy made of it

  const finalLogProb = (step, i) => strategies.strategy_log_probs.values[step * most + i]
  const finalProbability = (step, i) => exponential(finalLogProb(step, i))
  /** Why the strategy removed a candidate; undefined if it did not. */
  const reason = (step, i) => head.strategy?.reasons[head.strategy.removed[step][i] - 1]
  const finalText = (step, i) => reason(step, i) ?? share(finalProbability(step, i))
  const finalRest = (step) => strategies.strategy_rest.values[step]
  const spreadText = (step) =>
    `entropy ${number(strategies.entropy.values[step], 2)} nats (uniform: ln ${head.vocabulary.toLocaleString("en")} = ${number(Math.log(head.vocabulary), 2)})`
  const sumsText = (step) =>
    `log-probability: model ${logProbability(logProb(step, head.written[step]))}, after the strategy ${logProbability(finalLogProb(step, head.written[step]))}`
  const canTake = (step, i) =>
    head.ids !== undefined &&
    writes(step) &&
    i < head.candidates[step].length &&
    i !== head.written[step] &&
    reason(step, i) !== "banned"

  /** The first candidate with the same probability: equally probable ones share a rank. */
  function firstAsProbable(step, i) {
    let first = i
    while (first > 0 && logProb(step, first - 1) === logProb(step, i)) first -= 1
    return first
  }

  /** What the tooltip says of a candidate; behind the last one stand all other tokens. */
  function sentences(step, i) {
    if (i === head.candidates[step].length) return [othersText(step), ...restSentences(step)]
    const isWritten = i === head.written[step]
    const unlisted = isWritten && head.unlisted.includes(step)
    const rank = head.strategy ? head.strategy.ranks[step][i] : firstAsProbable(step, i)
    const lines = [`${unlisted ? "written" : `candidate ${rank + 1}`}: ${quoted(candidates(step)[i])}`]
    const [odds, log] = [share(probability(step, i)), logProbability(logProb(step, i))]
    if (!head.strategy) lines.push(`probability ${odds}`, `log-probability ${log}`)
    else if (reason(step, i) === undefined) {
      lines.push(`probability: model ${odds}, after the strategy ${finalText(step, i)}`)
      lines.push(`log-probability: model ${log}, after the strategy ${logProbability(finalLogProb(step, i))}`)
    } else
      lines.push(
        `probability: model ${odds}`,
        `log-probability: model ${log}`,
        `removed by the strategy: ${reason(step, i)}`,
      )
    if (unlisted) lines.push(`not among the ${head.candidates[step].length - 1} most probable`)
    if (isWritten) lines.push(isForced(step) ? "written because it was given" : "written")
    if (canTake(step, i)) lines.push("Enter takes it instead")
    return lines
  }

  const restSentences = (step) =>
    head.strategy
      ? [`probability: model ${restText(step)}, after the strategy ${share(finalRest(step))}`]
      : [`probability ${restText(step)}`]

  // ---- taking another candidate

  function take(i) {
    const step = at()
    if (!canTake(step, i)) return
    player.halt()
    const place = head.candidates[step][i]
    made.tell({ step, token_id: head.ids[place] })
    announce(`Step ${step + 1} is to write ${mention(head.tokens[place])} instead of ${mention(written(step))}`)
  }

  // ---- moving

  // A row beside the answer lies just before its first or behind its last step.
  const player = makePlayer({
    ...PLAYED,
    isThere: () => root.isConnected,
    count: () => steps,
    at,
    pick: (step, settle) => selection.pick({ t: head.first_row + step }, settle),
    say: (step) => announce(sentenceText(step)),
    changed: () => drawControls(at()),
  })
  function toggle() {
    player.toggle()
    made.draw()
  }

  range.onclick = () => {
    if (!writes(at())) player.choose(Number(range.value))
  } // the value stayed, the row did not
  range.onkeydown = (event) => {
    const to = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity }[event.key]
    if (to === undefined || writes(at())) return
    event.preventDefault()
    if (Number.isFinite(to)) player.move(to)
    else player.choose(nearest(to))
  }

  // ---- pointing at a candidate

  const rowsOf = (step) => (writes(step) ? head.candidates[step].length + (others(step) ? 1 : 0) : 0)
  const rowElement = (i) => (i < head.candidates[at()].length ? bars[i].row : rest.row)
  function point(i, x, y) {
    active = i === null ? null : { i, x, y }
    bars.forEach(({ row }, k) => row.classList.toggle("active", k === i))
    selection.points(made, i === null ? null : { candidate: candidates(at())[i]?.text })
    if (i === null) {
      stage.removeAttribute("aria-activedescendant")
      tip.hide()
      return
    }
    const row = rowElement(i)
    stage.setAttribute("aria-activedescendant", row.id)
    const [box, outer] = [row.getBoundingClientRect(), root.getBoundingClientRect()]
    const k = magnified(root)
    tip.show(
      sentences(at(), i),
      x ?? (box.left - outer.left + box.width / 2) / k,
      y ?? (box.top - outer.top + box.height / 2) / k,
    )
  }
  stage.onpointermove = (event) => {
    const found = /** @type {Element} */ (event.target).closest?.(".candidate, .rest")
    if (!found || !writes(at())) {
      point(null)
      return
    }
    const { x, y } = pointIn(root, event)
    const i = found === rest.row ? head.candidates[at()].length : bars.findIndex(({ row }) => row === found)
    point(i < rowsOf(at()) ? i : null, x, y)
  }
  stage.onpointerleave = () => point(null)
  stage.onblur = () => point(null)
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const count = rowsOf(at())
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (down && count)
      point(active === null ? (down > 0 ? 0 : count - 1) : Math.min(Math.max(active.i + down, 0), count - 1))
    else if (event.key === "ArrowRight") player.move(1)
    else if (event.key === "ArrowLeft") player.move(-1)
    else if (event.key === "Home") player.choose(0)
    else if (event.key === "End") player.choose(steps - 1)
    else if (event.key === "Enter" && active !== null && head.ids) take(active.i)
    else {
      if (event.key === "Escape") point(null)
      return
    }
    event.preventDefault()
  }

  // ---- the page

  function makeBars() {
    const id = (root.id ||= `scrubber-${Math.random().toString(36).slice(2)}`)
    const option = (className, number) => {
      const row = element("div", className)
      row.setAttribute("role", head.ids ? "row" : "option")
      row.id = `${id}-${number}`
      return row
    }
    const cells = (...all) => {
      for (const each of head.ids ? all : []) each.setAttribute("role", "gridcell")
    }
    const final = () => {
      const [bar, part, value] = [element("span", "final-bar"), element("span", "final-part"), element("span", "final")]
      bar.append(part)
      return head.strategy ? { bar, part, value, shown: [bar, value] } : { part, value, shown: [] }
    }
    bars = Array.from({ length: most }, (_, i) => {
      const row = option("candidate", i)
      const [token, bar, part, value] = [
        element("bdi", "token"),
        element("span", "bar"),
        element("span", "part"),
        element("span", "value"),
      ]
      bar.append(part)
      const [after, taker] = [
        final(),
        button("quiet take", "take", "Take this token", (event) => {
          if (event.detail > 1) return // the second of a double click
          take(i)
          stage.focus({ preventScroll: true })
        }),
      ]
      taker.tabIndex = -1 // Enter on the row does the same
      taker.onmousedown = (event) => event.preventDefault() // the focus stays where it is
      const place = element("span", "taking")
      if (head.ids) place.append(taker)
      row.append(token, bar, value, ...after.shown, ...(head.ids ? [place] : []))
      cells(token, value, after.value, place)
      return { row, token, part, value, after, taker }
    })
    const row = option("rest", most)
    const [text, value, bar, part] = [
      element("span", "others"),
      element("span", "value"),
      element("span", "bar"),
      element("span", "part"),
    ]
    bar.append(part)
    const after = final()
    row.append(text, value, bar, ...after.shown)
    cells(text, value, after.value)
    rest = { row, text, value, part, after }
    const [axis, ticks] = [element("div", "axis"), element("div", "ticks")]
    axis.setAttribute("aria-hidden", "true")
    for (const tick of ["0", "0.5", "1"]) {
      const place = element("span")
      place.append(element("span", "", tick))
      ticks.append(place)
    }
    axis.append(ticks)
    const places = element("div", "places")
    places.setAttribute("role", "presentation")
    places.append(element("div", "lines"), ...bars.map((each) => each.row), rest.row)
    stage.replaceChildren(places, axis)
  }

  /** @param {Token} token */
  function token({ text, special }) {
    return element("bdi", special ? "special" : "", text)
  }
  /** A token as `mention` says it, and what else stands between its quotation marks; a special one has a frame. */
  const inQuotes = (each, more = []) =>
    each.special && !more.length
      ? [token(each)]
      : [element("span", "", "“"), token(each), ...more, element("span", "", "”")]
  function drawSentence(step) {
    const inside = writes(step)
    reading.hidden = writing.hidden = !inside
    spread.hidden = sums.hidden = !inside || !head.strategy
    outside.hidden = inside
    says.title = inside ? sentenceText(step) : ""
    if (!inside) {
      outside.textContent = sentenceText(step)
      return
    }
    const read = head.reads[step]
    const noted = read.note !== undefined && (root.clientWidth >= WIDE * zoom(root) || !head.strategy)
    const typed = noted ? [element("span", "", "”, typed “"), element("bdi", "", read.note)] : []
    reading.replaceChildren(
      element("span", "number", numberText(step)),
      element("span", "", ": reads "),
      ...inQuotes(read, typed),
      element("span", "comma", ","),
    )
    const short = head.strategy || root.clientWidth < NARROW * zoom(root) // the first bar says it
    const odds = short ? [] : [element("span", "", ", probability "), element("span", "value", valueText(step))]
    writing.replaceChildren(element("span", "", "writes "), ...inQuotes(written(step)), ...odds)
    if (isForced(step)) writing.append(element("span", "forced", "given"))
    if (!head.strategy) return
    spread.textContent = spreadText(step)
    sums.textContent = sumsText(step)
  }
  /** A bar as long as a share, or a short dotted one where that is not a number. */
  function lengthen(part, share) {
    const none = Number.isNaN(share)
    part.style.width = none ? "24px" : `${100 * share}%`
    part.classList.toggle("no-number", none)
  }
  function drawBars(step) {
    const inside = writes(step)
    const shown = inside ? candidates(step) : []
    bars.forEach(({ row, token, part, value, after, taker }, i) => {
      const each = shown[i]
      row.className = [
        "candidate",
        each === undefined && "empty",
        inside && i === head.written[step] && "written",
        i === active?.i && "active",
      ]
        .filter(Boolean)
        .join(" ")
      row.setAttribute("aria-selected", String(inside && i === head.written[step]))
      lengthen(part, each === undefined ? 0 : probability(step, i))
      if (head.strategy) {
        const kept = each !== undefined && reason(step, i) === undefined
        lengthen(after.part, kept ? finalProbability(step, i) : 0)
        part.classList.toggle("removed", each !== undefined && !kept)
        after.value.classList.toggle("why", !kept)
        const final = each && finalText(step, i)
        if (final) after.value.textContent = SHORT[final] ?? final
      }
      taker.hidden = !canTake(step, i)
      if (each === undefined) return
      if (!taker.hidden) {
        taker.title = `Take ${quoted(each)} instead of ${quoted(written(step))}`
        taker.setAttribute("aria-label", taker.title)
      }
      token.className = each.special ? "token special" : "token"
      token.textContent = each.text
      value.textContent = share(probability(step, i))
      row.setAttribute("aria-label", sentences(step, i).join(", "))
    })
    const more = inside && others(step) > 0
    rest.row.classList.toggle("empty", !more)
    lengthen(rest.part, more ? rests.values[step] : 0)
    if (!more) return
    if (head.strategy) {
      lengthen(rest.after.part, finalRest(step))
      rest.after.value.textContent = share(finalRest(step))
    }
    rest.text.textContent = othersText(step)
    rest.value.textContent = restText(step)
    rest.row.setAttribute("aria-label", sentences(step, shown.length).join(", "))
  }
  /** Draw the bars of another step so that each candidate comes from where it was; one that was none fades in. */
  function moveBars(step) {
    const before = new Map(head.candidates[drawn].map((place, i) => [place, i]))
    const line = bars[0].row.offsetHeight
    const lengths = (i) => [bars[i].part, bars[i].after.part].map((part) => part.style.width)
    const were = bars.map((_, i) => lengths(i))
    const left = [rest.part.style.width, rest.after.part.style.width]
    drawBars(step)
    head.candidates[step].forEach((place, i) => {
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
  function drawControls(step) {
    controls.show(step, steps, { playing: player.playing, text: sentenceText(step) })
    controls.disable(steps === 1 && writes(step))
    range.className = writes(step) ? "" : "outside"
  }

  /** The pixels of the candidates' names: the longest has room where a third of the width is enough for it. */
  function label() {
    if (root.clientWidth < NARROW * zoom(root)) return 82 * zoom(root)
    const longest = Math.max(...head.tokens.map(({ text, special }) => text.length * 8.4 + (special ? 18 : 0)))
    return Math.round(Math.max(116 * zoom(root), Math.min(longest * zoom(root) + 2, 0.34 * root.clientWidth)))
  }

  // ---- the picture that is saved

  const places = () =>
    placeSaved({ width: root.clientWidth, label: label(), most, strategy: head.strategy !== undefined, z: zoom(root) })
  const drawnHeight = () => places().height
  function paint(context) {
    const paper = colours(root)
    const z = zoom(root)
    const { left, right, top, bottom, line: tall, numbers, rows: middles, rest: ofRest, ticks, long } = places()
    const asLong = (share) => (Number.isNaN(share) ? share : long(share))
    const step = at()
    const width = root.clientWidth
    const write = (text, x, y, { font = sans(14 * z), ink = "text", align = "left", room = Infinity } = {}) => {
      context.font = font
      context.fillStyle = paper.one(ink)
      context.textAlign = align
      context.textBaseline = "middle"
      const kept = room === Infinity ? text : shorten(context, text, room)
      context.fillText(isolated(kept), x, y)
      return context.measureText(kept).width
    }
    if (!writes(step)) {
      write(sentenceText(step), 4, 14 * z, { room: width - 8 })
      return
    }
    // Each line is one text: an SVG may be shown in another font, and parts side by side would overlap or come apart.
    const line = (before, token, after, y, font) => {
      context.font = font
      const room = width - 8 - context.measureText(before + after).width
      write(before + isolated(shorten(context, token, room)) + after, 4, y, { font })
    }
    const { text, note, special } = head.reads[step]
    context.font = sans(14 * z, 600)
    const typed = note === undefined ? "" : `, typed “${isolated(shorten(context, note, width / 3))}”`
    const [open, close] = special && !typed ? ["", ""] : ["“", "”"]
    line(`${numberText(step)}: reads ${open}`, text, `${close}${typed},`, 14 * z, context.font)
    const odds = head.strategy ? "" : `, probability ${valueText(step)}`
    const [before, after] = written(step).special ? ["", ""] : ["“", "”"]
    const given = isForced(step) ? ", given" : ""
    line(`writes ${before}`, written(step).text, `${after}${odds}${given}`, 38 * z, sans(14 * z))
    if (head.strategy) {
      write(spreadText(step), 4, 62 * z, { ink: "muted", room: width - 8 })
      write(sumsText(step), 4, 86 * z, { ink: "muted", room: width - 8 })
    }
    context.fillStyle = paper.one("line")
    for (const { x } of ticks) context.fillRect(Math.min(x, right - 1), top, 1, bottom - top)
    candidates(step).forEach((each, i) => {
      const y = middles[i]
      const isWritten = i === head.written[step]
      const font = mono(14 * z, isWritten ? 600 : 400)
      const inset = each.special ? 8 * z : 0
      const wide = write(each.text, left - 8 * z - inset, y, {
        font,
        ink: each.special ? "muted" : "target-ink",
        align: "right",
        room: left - 24 * z - 2 * inset,
      })
      if (each.special) pill(context, paper, left - 8 * z - 2 * inset - wide, y - 11 * z, wide + 2 * inset, 22 * z)
      const [raw, odds] = [asLong(probability(step, i)), share(probability(step, i))]
      if (head.strategy) {
        const why = reason(step, i)
        if (why === undefined) {
          bar(context, paper, paper.scale("decoder").css(0.5), left, y - 13 * z, raw, 12 * z)
          bar(context, paper, paper.one("target-ink"), left, y + 3 * z, asLong(finalProbability(step, i)), 6 * z)
        } else if (Number.isNaN(raw)) bar(context, paper, "", left, y - 13 * z, raw, 12 * z)
        else hatched(context, paper.scale("decoder").css(0.5), left, y - 13 * z, raw, 12 * z)
        write(odds, numbers, y - 7 * z, { font: mono(14 * z), align: "right" })
        write(
          finalText(step, i),
          numbers,
          y + 9 * z,
          why === undefined
            ? { font: mono(14 * z, 600), align: "right" }
            : { font: sans(14 * z), ink: "muted", align: "right" },
        )
      } else {
        bar(context, paper, paper.scale("decoder").css(0.5), left, y - 7 * z, raw, 14 * z)
        write(odds, numbers, y, { font, align: "right" })
      }
      if (!isWritten) return
      context.strokeStyle = paper.one("text")
      context.lineWidth = 2
      context.strokeRect(1, y - tall / 2 + 1, width - 2, tall - 2)
    })
    if (others(step)) {
      const y = ofRest
      const font = sans(13 * z)
      context.font = font
      const lines = wrappedTo(context, othersText(step), left - 16 * z, 2)
      lines.forEach((each, i) => {
        write(each, left - 8 * z, y + (i - (lines.length - 1) / 2) * 16 * z, { font, ink: "muted", align: "right" })
      })
      const [raw, final] = head.strategy ? [y - 9 * z, y + 9 * z] : [y, y]
      write(restText(step), numbers, raw, { font: mono(14 * z), align: "right" })
      bar(context, paper, paper.scale("derived").css(0.5), left, raw - 2 * z, asLong(rests.values[step]), 4 * z)
      if (head.strategy) {
        bar(context, paper, paper.one("muted"), left, final - 2 * z, asLong(finalRest(step)), 4 * z)
        write(share(finalRest(step)), numbers, final, { font: mono(14 * z, 600), align: "right" })
      }
    }
    for (const { part, x } of ticks)
      write(String(part), x, bottom + 10 * z, {
        font: mono(12 * z),
        ink: "muted",
        align: "center",
      })
    if (!head.strategy) {
      write("probability over the whole vocabulary", left, bottom + 30 * z, { font: sans(13 * z), ink: "muted" })
      return
    }
    let x = 4
    for (const [sign, words] of SIGNS) {
      const wide = SIGN * z
      if (sign === "final") bar(context, paper, paper.one("target-ink"), x, bottom + 27 * z, wide, 6 * z)
      else if (sign === "raw") bar(context, paper, paper.scale("decoder").css(0.5), x, bottom + 24 * z, wide, 12 * z)
      else hatched(context, paper.scale("decoder").css(0.5), x, bottom + 24 * z, wide, 12 * z)
      x += wide + 6 * z + write(words, x + wide + 6 * z, bottom + 30 * z, { font: sans(13 * z), ink: "muted" }) + 14 * z
    }
  }
  /** A bar; one whose width is not a number is short and dotted. */
  function bar(context, paper, ink, x, y, width, height) {
    if (Number.isNaN(width)) dotted(context, paper, x, y, 24, height)
    else paintCell(context, paper, ink, x, y, width, height)
  }
  /** A bar of lines, with an edge. */
  function hatched(context, ink, x, y, width, height) {
    context.strokeStyle = ink
    context.lineWidth = 1
    if (width > 1) context.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1)
    hatch(context, x, y, width, height, HATCH)
  }
  function pill(context, paper, x, y, width, height) {
    const r = height / 2
    const k = r * 0.4477 // a quarter of a circle, as a curve of third degree
    context.strokeStyle = paper.one("line")
    context.lineWidth = 1
    context.beginPath()
    context.moveTo(x + r, y)
    context.lineTo(x + width - r, y)
    context.bezierCurveTo(x + width - k, y, x + width, y + k, x + width, y + r)
    context.bezierCurveTo(x + width, y + height - k, x + width - k, y + height, x + width - r, y + height)
    context.lineTo(x + r, y + height)
    context.bezierCurveTo(x + k, y + height, x, y + height - k, x, y + r)
    context.bezierCurveTo(x, y + k, x + k, y, x + r, y)
    context.stroke()
  }

  const made = {
    /** @type {(taken: object) => void} */
    tell: () => {},
    update({ header, arrays }) {
      drawn = null
      const other =
        !head ||
        JSON.stringify([head.reads, head.candidates, head.tokens]) !==
          JSON.stringify([header.reads, header.candidates, header.tokens])
      if (other) player.cancel()
      head = header
      logProbs = arrays.log_probs
      rests = arrays.rest
      ;[steps, most] = logProbs.shape
      strategies = arrays
      root.classList.toggle("strategy", head.strategy !== undefined)
      root.classList.toggle("takes", head.ids !== undefined || head.room === true)
      legend.hidden = !head.strategy
      legend.title = head.strategy?.name ?? ""
      hint.hidden = !head.ids
      stage.setAttribute("role", head.ids ? "grid" : "listbox")
      const parts = [most, head.strategy !== undefined, head.ids !== undefined].join()
      if (built !== parts) makeBars()
      built = parts
      if (other) point(null)
      rest.row.hidden = head.candidates.every((_, step) => !others(step))
      start.textContent = steps > 1 ? "1" : ""
      end.textContent = steps > 1 ? String(steps) : ""
      stage.setAttribute(
        "aria-label",
        `Candidates of the step, best first. Arrow keys up and down show one of them, left and right choose the step.${head.ids ? " Enter takes the one shown instead of the one written." : ""}`,
      )
    },
    draw() {
      const step = at()
      player.haltElsewhere()
      if (active !== null && active.i >= rowsOf(step)) point(null)
      const plays = selection.playing || player.playing // the last step is played, too
      const moves = plays && step !== drawn && drawn !== null && writes(step) && !isStill()
      if (told !== player.playing) {
        told = player.playing
        tellPlaying(told)
      }
      const broad = root.clientWidth >= WIDE * zoom(root)
      root.classList.toggle("narrow", root.clientWidth < NARROW * zoom(root))
      root.classList.toggle("broad", broad)
      root.style.setProperty("--label", `${label()}px`)
      root.classList.toggle("wide", broad && head.strategy !== undefined)
      root.classList.toggle("beside", root.clientWidth >= BESIDE * zoom(root) && head.strategy !== undefined)
      const letters = Math.max(0, ...(head.strategy?.reasons ?? []).map((why) => (SHORT[why] ?? why).length))
      root.style.setProperty("--reason", letters > AS_LONG ? `calc(${8 * letters}px * var(--vt-zoom, 1))` : "0px")
      drawSentence(step)
      drawControls(step)
      if (moves) moveBars(step)
      else drawBars(step)
      drawn = writes(step) ? step : null
      if (active !== null) point(active.i, active.x, active.y)
      stage.dataset.painted = String(performance.now())
    },
    remove() {
      player.cancel()
      deaf()
      if (told) tellPlaying(false)
    },
  }
  const deaf = selection.onPoint(made, (fields) => {
    const shown = fields?.candidate !== undefined && writes(at()) ? candidates(at()) : []
    bars.forEach(({ row }, k) => row.classList.toggle("twin", shown[k]?.text === fields?.candidate && k < shown.length))
  })
  return made
}
