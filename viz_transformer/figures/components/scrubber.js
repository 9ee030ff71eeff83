import { colours } from "./parts/colours.js"
import { playerControls } from "./parts/controls.js"
import { announcer, element, tooltip } from "./parts/elements.js"
import { exports } from "./parts/exports.js"
import { isStill } from "./parts/motion.js"
import { makePlayer } from "./parts/player.js"
import { PLAY_STEPS, PLAYED, tellPlaying } from "./parts/playing.js"
import { placeSaved } from "./parts/saved_bars.js"
import { drawRows, makeRows, moveRows } from "./parts/scrubber_rows.js"
import { paintStep, SIGNS } from "./parts/scrubber_saved.js"
import {
  candidateSentences,
  candidatesAt,
  canTake,
  decodeSteps,
  isForced,
  othersAt,
  rowsAt,
  shortReason,
  spreadWords,
  stepNumber,
  stepSentence,
  sumsWords,
  writesStep,
  writtenAt,
  writtenOdds,
} from "./parts/scrubber_steps.js"
import { selection } from "./parts/selection.js"
import { magnified, mount, pointIn, rootIn, zoom } from "./parts/stage.js"
import { mention } from "./parts/text.js"
import { alone } from "./parts/typing.js"

/** @import { Rows } from "./parts/scrubber_rows.js" */
/** @import { DecodeSteps } from "./parts/scrubber_steps.js" */
/** @import { Component, Root } from "./parts/stage.js" */
/** @import { Made, Payload, Token } from "./parts/types.js" */

// All steps of a decode and the candidates of each as bars. Header: candidates, places in tokens by step; written, places in
// candidates; unlisted and forced, steps; removed, places in reasons from 1 on by step; ids, those of tokens, where a candidate
// can be taken: Python hears of it; room, kept for the buttons that the scrubber beside this one has. Arrays: log_probs [steps,
// most candidates], rest [steps], and where the strategy is shown strategy_log_probs, strategy_rest, entropy. Step s is the row
// first_row + s of the selection's field t.

/**
 * `built` says for what the rows were made, `drawn` is the step that they show; `active` is the candidate pointed at, by the
 * pointer with its place. `told`: the page was told that this scrubber plays: another may stand beside it.
 * @typedef {{decode: DecodeSteps, rows: Rows, built: string, drawn: ?number, active: ?{i: number, x?: number, y?: number},
 *   told: boolean, player: ReturnType<typeof makePlayer>, controls: ReturnType<typeof playerControls>}} State
 * @typedef {State & Made & ReturnType<typeof partsIn>} Scrubber
 */

const WIDE = 640 // from here on what a step reads and writes is one line
const BESIDE = 300 // from here on the strategy's numbers stand beside the model's
const AS_LONG = 7 // letters of a reason that have room where a number has
const NARROW = 300 // below it the bars get what the tokens can spare

export default (/** @type {Component} */ component) => {
  const removed = mount(component, "scrubber", makeScrubber)
  const root = /** @type {Root} */ (rootIn(component.parentElement, "scrubber"))
  root.vt.made.tell = (/** @type {object} */ take) => component.setTriggerValue("take", take)
  return removed
}

/** @param {HTMLElement} root */
function partsIn(root) {
  const [says, reading, writing, spread, sums, stage, last, legend] = [
    "says",
    "",
    "",
    "",
    "",
    "stage",
    "last",
    "legend",
  ].map((name) => element("div", name))
  const outside = element("div", "outside")
  const [start, end] = [element("span", "end"), element("span", "end")]
  const axisTitle = element("span", "", "probability over the whole vocabulary")
  const hint = element("span", "hint", "; point at another token to take it instead")
  const said = { tip: tooltip(root), announce: announcer(root) }
  stage.tabIndex = 0
  stage.setAttribute("role", "listbox")
  says.append(reading, writing, spread, sums, outside)
  axisTitle.append(hint)
  last.append(axisTitle)
  for (const [sign, words] of SIGNS) legend.append(element("span", `sign ${sign}`), element("span", "", words))
  return { root, says, reading, writing, spread, sums, outside, start, end, stage, last, legend, hint, ...said }
}

/**
 * @param {HTMLElement} root
 * @returns {Made}
 */
function makeScrubber(root) {
  /** @type {Partial<State>} */
  const state = { built: "", drawn: null, active: null, told: false }
  const scrubber = /** @type {Scrubber} */ (Object.assign(state, partsIn(root)))
  const { last, start, end, says, stage, legend } = scrubber
  // A row beside the answer lies just before its first or behind its last step.
  const player = makePlayer({
    ...PLAYED,
    isThere: () => root.isConnected,
    count: () => scrubber.decode.count,
    at: () => stepNow(scrubber),
    pick: (step, settle) => selection.pick({ t: scrubber.decode.head.first_row + step }, settle),
    say: (step) => scrubber.announce(stepSentence(scrubber.decode, step)),
    changed: () => drawControls(scrubber),
  })
  const toggle = () => {
    player.toggle()
    scrubber.draw()
  }
  const words = { back: "Previous step", play: PLAY_STEPS, next: "Next step", slider: "Step" }
  const controls = playerControls(words, {
    move: (by) => player.move(by),
    toggle,
    choose: (step) => player.choose(step),
  })
  Object.assign(scrubber, { player, controls })
  controls.range.before(start)
  controls.range.after(end)
  last.append(savingOf(scrubber))
  root.append(says, controls.box, stage, legend, last)
  listenToRange(scrubber)
  listen(scrubber)
  const deaf = selection.onPoint(scrubber, (fields) => mark(scrubber, fields?.candidate))
  return Object.assign(scrubber, {
    tell: () => {},
    update: (/** @type {Payload} */ payload) => update(scrubber, payload),
    draw: () => draw(scrubber),
    remove() {
      player.cancel()
      deaf()
      if (scrubber.told) tellPlaying(false)
    },
  })
}

/** @param {Scrubber} scrubber */
function savingOf(scrubber) {
  const { root } = scrubber
  return exports(root, {
    draw(context) {
      const [z, width] = [zoom(root), root.clientWidth]
      const saved = { decode: scrubber.decode, step: stepNow(scrubber), place: placed(scrubber), z, width }
      paintStep(context, colours(root), saved)
    },
    size: () => ({ width: root.clientWidth, height: placed(scrubber).height }),
    caption() {
      const { caption, strategy } = scrubber.decode.head
      return strategy ? `${caption}; probability over the whole vocabulary; strategy: ${strategy.name}` : caption
    },
    name() {
      const { name } = scrubber.decode.head
      return writesStep(scrubber.decode, stepNow(scrubber)) ? `${name}-step-${stepNow(scrubber) + 1}` : name
    },
  })
}

const stepNow = (/** @type {Scrubber} */ { decode: { head } }) =>
  (selection.chosen.t ?? head.first_row) - head.first_row

/**
 * The pixels of the candidates' names: the longest has room where a third of the width is enough for it.
 * @param {Scrubber} scrubber
 */
function nameWidth({ root, decode }) {
  const [z, width] = [zoom(root), root.clientWidth]
  if (width < NARROW * z) return 82 * z
  const longest = Math.max(...decode.head.tokens.map(({ text, special }) => text.length * 8.4 + (special ? 18 : 0)))
  return Math.round(Math.max(116 * z, Math.min(longest * z + 2, 0.34 * width)))
}

/** @param {Scrubber} scrubber */
function placed(scrubber) {
  const { root, decode } = scrubber
  const given = { width: root.clientWidth, label: nameWidth(scrubber), most: decode.most }
  return placeSaved({ ...given, strategy: decode.head.strategy !== undefined, z: zoom(root) })
}

// ---- taking another candidate, pointing at one

/** @type {(scrubber: Scrubber, i: number) => void} */
function take(scrubber, i) {
  const { decode, player, announce } = scrubber
  const { head } = decode
  const step = stepNow(scrubber)
  if (!head.ids || !canTake(decode, step, i)) return
  player.halt()
  const place = head.candidates[step][i]
  scrubber.tell?.({ step, token_id: head.ids[place] })
  const [taken, written] = [mention(head.tokens[place]), mention(writtenAt(decode, step))]
  announce(`Step ${step + 1} is to write ${taken} instead of ${written}`)
}

/**
 * Marks the candidates with this text: another scrubber points at it.
 * @type {(scrubber: Scrubber, text: string | undefined) => void}
 */
function mark(scrubber, text) {
  const { decode, rows } = scrubber
  if (!rows) return
  const step = stepNow(scrubber)
  const shown = text !== undefined && writesStep(decode, step) ? candidatesAt(decode, step) : []
  rows.bars.forEach(({ row }, k) => row.classList.toggle("twin", k < shown.length && shown[k].text === text))
}

/** @type {(scrubber: Scrubber, i: ?number, x?: number, y?: number) => void} */
function point(scrubber, i, x, y) {
  const { root, stage, tip, decode, rows } = scrubber
  const step = stepNow(scrubber)
  scrubber.active = i === null ? null : { i, x, y }
  rows.bars.forEach(({ row }, k) => row.classList.toggle("active", k === i))
  selection.points(scrubber, i === null ? null : { candidate: candidatesAt(decode, step)[i]?.text })
  if (i === null) {
    stage.removeAttribute("aria-activedescendant")
    tip.hide()
    return
  }
  const { row } = i < decode.head.candidates[step].length ? rows.bars[i] : rows.rest
  stage.setAttribute("aria-activedescendant", row.id)
  const [box, outer] = [row.getBoundingClientRect(), root.getBoundingClientRect()]
  const k = magnified(root)
  tip.show(
    candidateSentences(decode, step, i),
    x ?? (box.left - outer.left + box.width / 2) / k,
    y ?? (box.top - outer.top + box.height / 2) / k,
  )
}

/** @param {Scrubber} scrubber */
function listenToRange(scrubber) {
  const { range } = scrubber.controls
  const outside = () => !writesStep(scrubber.decode, stepNow(scrubber))
  range.onclick = () => {
    if (outside()) scrubber.player.choose(Number(range.value)) // the value stayed, the row did not
  }
  range.onkeydown = (event) => {
    const { player, decode } = scrubber
    /** @type {Record<string, number>} */
    const moves = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }
    /** @type {Record<string, number>} */
    const ends = { Home: 0, End: decode.count - 1 }
    if (!(event.key in moves || event.key in ends) || !outside()) return
    event.preventDefault()
    if (event.key in moves) player.move(moves[event.key])
    else player.choose(ends[event.key])
  }
}

/** @param {Scrubber} scrubber */
function listen(scrubber) {
  const { root, stage } = scrubber
  stage.onpointermove = (event) => {
    const { rows, decode } = scrubber
    const found = /** @type {Element} */ (event.target).closest?.(".candidate, .rest")
    const step = stepNow(scrubber)
    if (!found || !writesStep(decode, step)) {
      point(scrubber, null)
      return
    }
    const { x, y } = pointIn(root, event)
    const last = decode.head.candidates[step].length
    const i = found === rows.rest.row ? last : rows.bars.findIndex(({ row }) => row === found)
    point(scrubber, i < rowsAt(decode, step) ? i : null, x, y)
  }
  stage.onpointerleave = () => point(scrubber, null)
  stage.onblur = () => point(scrubber, null)
  stage.onkeydown = (event) => {
    if (alone(event) && !event.shiftKey && press(scrubber, event.key)) event.preventDefault()
  }
}

/**
 * Whether the key is one of this picture's.
 * @type {(scrubber: Scrubber, key: string) => boolean}
 */
function press(scrubber, key) {
  const { active, player, decode } = scrubber
  const count = rowsAt(decode, stepNow(scrubber))
  const down = key === "ArrowDown" ? 1 : key === "ArrowUp" ? -1 : 0
  if (down && count) {
    const first = down > 0 ? 0 : count - 1
    point(scrubber, active === null ? first : Math.min(Math.max(active.i + down, 0), count - 1))
  } else if (key === "ArrowRight") player.move(1)
  else if (key === "ArrowLeft") player.move(-1)
  else if (key === "Home") player.choose(0)
  else if (key === "End") player.choose(decode.count - 1)
  else if (key === "Enter" && active !== null && decode.head.ids) take(scrubber, active.i)
  else {
    if (key === "Escape") point(scrubber, null)
    return false
  }
  return true
}

// ---- the page

/**
 * A token as `mention` says it, and what else stands between its quotation marks; a special one has a frame.
 * @type {(token: Token, more?: HTMLElement[]) => HTMLElement[]}
 */
function inQuotes({ text, special }, more = []) {
  const token = element("bdi", special ? "special" : "", text)
  return special && !more.length ? [token] : [element("span", "", "“"), token, ...more, element("span", "", "”")]
}

/** @type {(scrubber: Scrubber, step: number) => void} */
function drawSentence(scrubber, step) {
  const { root, decode, says, reading, writing, spread, sums, outside } = scrubber
  const { head } = decode
  const [inside, sentence] = [writesStep(decode, step), stepSentence(decode, step)]
  reading.hidden = writing.hidden = !inside
  spread.hidden = sums.hidden = !inside || !head.strategy
  outside.hidden = inside
  says.title = inside ? sentence : ""
  if (!inside) {
    outside.textContent = sentence
    return
  }
  const read = head.reads[step]
  const noted = read.note !== undefined && (root.clientWidth >= WIDE * zoom(root) || !head.strategy)
  const typed = noted ? [element("span", "", "”, typed “"), element("bdi", "", read.note)] : []
  reading.replaceChildren(
    element("span", "number", stepNumber(decode, step)),
    element("span", "", ": reads "),
    ...inQuotes(read, typed),
    element("span", "comma", ","),
  )
  const short = head.strategy || root.clientWidth < NARROW * zoom(root) // the first bar says it
  const value = element("span", "value", writtenOdds(decode, step))
  const odds = short ? [] : [element("span", "", ", probability "), value]
  writing.replaceChildren(element("span", "", "writes "), ...inQuotes(writtenAt(decode, step)), ...odds)
  if (isForced(decode, step)) writing.append(element("span", "forced", "given"))
  if (!head.strategy) return
  spread.textContent = spreadWords(decode, step)
  sums.textContent = sumsWords(decode, step)
}

/** @param {Scrubber} scrubber */
function drawControls(scrubber) {
  const { controls, player, decode } = scrubber
  const step = stepNow(scrubber)
  const inside = writesStep(decode, step)
  controls.show(step, decode.count, { playing: player.playing, text: stepSentence(decode, step) })
  controls.disable(decode.count === 1 && inside)
  controls.range.className = inside ? "" : "outside"
}

/** @type {(scrubber: Scrubber, payload: Payload) => void} */
function update(scrubber, payload) {
  const { root, stage, legend, hint, start, end, player } = scrubber
  const before = scrubber.decode?.head
  const decode = decodeSteps(payload)
  const { head, count, most } = decode
  const shown = (/** @type {typeof head} */ { reads, candidates, tokens }) =>
    JSON.stringify([reads, candidates, tokens])
  const other = !before || shown(before) !== shown(head)
  if (other) player.cancel()
  Object.assign(scrubber, { decode, drawn: null })
  root.classList.toggle("strategy", head.strategy !== undefined)
  root.classList.toggle("takes", head.ids !== undefined || head.room === true)
  legend.hidden = !head.strategy
  legend.title = head.strategy?.name ?? ""
  hint.hidden = !head.ids
  stage.setAttribute("role", head.ids ? "grid" : "listbox")
  const built = [most, head.strategy !== undefined, head.ids !== undefined].join()
  if (scrubber.built !== built) {
    root.id ||= `scrubber-${Math.random().toString(36).slice(2)}`
    scrubber.rows = makeRows(stage, decode, root.id, (i) => {
      take(scrubber, i)
      stage.focus({ preventScroll: true })
    })
  }
  scrubber.built = built
  if (other) point(scrubber, null)
  scrubber.rows.rest.row.hidden = head.candidates.every((_, step) => !othersAt(decode, step))
  start.textContent = count > 1 ? "1" : ""
  end.textContent = count > 1 ? String(count) : ""
  const keys = "Arrow keys up and down show one of them, left and right choose the step."
  const enter = head.ids ? " Enter takes the one shown instead of the one written." : ""
  stage.setAttribute("aria-label", `Candidates of the step, best first. ${keys}${enter}`)
}

/**
 * Where the words and the bars have their room.
 * @param {Scrubber} scrubber
 */
function fitIn(scrubber) {
  const { root, decode } = scrubber
  const { strategy } = decode.head
  const [z, width] = [zoom(root), root.clientWidth]
  const broad = width >= WIDE * z
  root.classList.toggle("narrow", width < NARROW * z)
  root.classList.toggle("broad", broad)
  root.style.setProperty("--label", `${nameWidth(scrubber)}px`)
  root.classList.toggle("wide", broad && strategy !== undefined)
  root.classList.toggle("beside", width >= BESIDE * z && strategy !== undefined)
  const letters = Math.max(0, ...(strategy?.reasons ?? []).map((why) => shortReason(why).length))
  root.style.setProperty("--reason", letters > AS_LONG ? `calc(${8 * letters}px * var(--vt-zoom, 1))` : "0px")
}

/** @param {Scrubber} scrubber */
function draw(scrubber) {
  const { decode, player, rows, drawn, stage } = scrubber
  const step = stepNow(scrubber)
  const inside = writesStep(decode, step)
  player.haltElsewhere()
  if (scrubber.active !== null && scrubber.active.i >= rowsAt(decode, step)) point(scrubber, null)
  const plays = selection.playing || player.playing // the last step is played, too
  if (scrubber.told !== player.playing) {
    scrubber.told = player.playing
    tellPlaying(player.playing)
  }
  fitIn(scrubber)
  drawSentence(scrubber, step)
  drawControls(scrubber)
  const { active } = scrubber
  if (plays && step !== drawn && drawn !== null && inside && !isStill()) moveRows(rows, decode, step, drawn, active?.i)
  else drawRows(rows, decode, step, active?.i)
  scrubber.drawn = inside ? step : null
  if (active !== null) point(scrubber, active.i, active.x, active.y)
  stage.dataset.painted = String(performance.now())
}
