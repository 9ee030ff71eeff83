import { ahead } from "./parts/ahead.js"
import { leavesBox, runsBox } from "./parts/boxes.js"
import { chipBar, chipBeside, chipClasses, chipStop, chipsSeen, chipTints, isSeen, isWritten } from "./parts/chips.js"
import { curvesTo } from "./parts/curves.js"
import { announcer, button, drawing, element, icon } from "./parts/elements.js"
import { makePlayer } from "./parts/player.js"
import { PAUSE, PLAY_STEPS, PLAYED, tellPlaying } from "./parts/playing.js"
import { early } from "./parts/preload.js"
import { selection } from "./parts/selection.js"
import { ending, magnified, rootIn } from "./parts/stage.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { Chip, ChipRow, Editing } from "./parts/types.js" */

// Rows of token chips, each in one line that scrolls to what is chosen. data: {rows: [{label, field, first, joined,
// edit, chips: [{text, note, title, ink, special, unknown, share, sure, mark}]}]}; a chip of a row with a `field` of the
// selection can be picked, it stands for position first, first + 1, ... A row with `edit` can be written anew in its
// place: Python hears {field, text} as `text`. The letters of a row that is `joined` stand as one text. With `plays` the strip
// has the button that plays the steps, for pages whose pictures have none.
const SETTLE = 150
const LANDED = 700

/**
 * @param {Chip} chip
 * @param {boolean} pickable
 */
const chipOf = (chip, pickable) => {
  const made = element(pickable ? "button" : "span", chipClasses(chip))
  made.title = chip.title
  if (chip.note) made.append(element("span", "note", chip.note))
  made.append(element("bdi", "token", chip.text))
  const bar = chipBar(chip)
  if (bar) {
    if (bar.known) made.style.setProperty("--share", bar.wide)
    const part = element("span", bar.known ? "part" : "part no-number")
    part.style.width = bar.wide
    const whole = element("span", bar.sure ? "share" : "share unsure")
    whole.append(part)
    made.append(whole)
    if (chip.mark) made.append(element("span", "mark", "!"))
  }
  if (made instanceof HTMLButtonElement) {
    made.type = "button"
    made.setAttribute("aria-label", chip.title)
  }
  return made
}

/**
 * Scrolls the line, and nothing else, until the chip and a part of its neighbours are in sight.
 * @param {HTMLElement} line
 * @param {HTMLElement} chip
 */
const reveal = (line, chip) => {
  const from = chip.offsetLeft - line.offsetLeft
  const beside = Math.min(line.clientWidth / 4, 80)
  const least = from + chip.offsetWidth + beside - line.clientWidth
  line.scrollLeft = Math.min(Math.max(line.scrollLeft, least), Math.max(0, from - beside))
}

/**
 * The text of a row in the place of its chips, over what is below where it has several lines: Enter takes it, as leaving
 * the box does; Escape brings the chips back.
 * @param {HTMLElement} line
 * @param {HTMLElement} chips
 * @param {Editing} edit
 * @param {(text: string) => void} take
 */
const editor = (line, chips, edit, take) => {
  const begin = element("button", "tool pencil")
  begin.type = "button"
  begin.title = `${edit.said} (e)`
  begin.setAttribute("aria-label", edit.said)
  begin.append(icon("edit"))
  const box = element("textarea", "box")
  box.rows = 1
  box.spellcheck = false
  box.autocomplete = "off"
  box.setAttribute("aria-label", edit.said)
  const place = element("div", "place")
  place.append(box)
  let open = false
  const close = () => {
    if (!open) return
    open = false
    place.replaceWith(chips)
  }
  const done = () => {
    if (!open) return
    const text = box.value
    close()
    if (text === edit.text) return
    line.classList.add("waiting")
    take(text)
  }
  const start = () => {
    if (open) return
    open = true
    box.value = edit.text
    chips.replaceWith(place)
    box.focus()
    box.select()
  }
  begin.onclick = start
  chips.onclick = (event) => {
    if (event.target === chips) start()
  }
  box.onblur = done
  box.onkeydown = (event) => {
    event.stopPropagation()
    if (leavesBox(event)) close()
    else if (runsBox(event)) done()
    else return
    event.preventDefault()
    begin.focus()
  }
  return { begin, start }
}

const SIGNS = /** @type {Record<string, string>} */ ({ right: "✓", wrong: "✕", doubtful: "!" })

/** What is known of an answer: a sign, a word, and the sentence as a hint. */
const knownOf = (/** @type {{kind: string, said: string}} */ { kind, said }) => {
  const made = element("span", `known ${kind}`)
  const sign = element("span", "sign", SIGNS[kind])
  sign.setAttribute("aria-hidden", "true")
  made.append(sign, element("span", "word", kind))
  made.title = said
  return made
}

/**
 * Tint the keys by the weights that the chosen row gives them; while it plays, only what is written is there.
 * @param {ChipRow} row
 * @param {HTMLElement} chips
 * @param {HTMLElement[]} buttons
 */
const tint = (row, chips, buttons) => {
  for (const [n, { look, unknown, unwritten }] of chipTints(row, selection).entries()) {
    buttons[n].style.setProperty("--look", look)
    buttons[n].classList.toggle("no-number", unknown)
    buttons[n].classList.toggle("unwritten", unwritten)
  }
  chips.dataset.look = (isSeen(row, selection.look) && selection.look?.kind) || ""
}

/**
 * What the row with the button that plays the steps knows of them.
 * @param {HTMLElement} play
 * @param {HTMLElement[]} buttons
 * @param {number} first
 * @param {(text: string) => void} say
 */
const playedBy = (play, buttons, first, say) => ({
  first,
  count: buttons.length,
  say: (/** @type {number} */ step) => say(buttons[step].title),
  show(/** @type {boolean} */ on) {
    play.setAttribute("aria-disabled", String(buttons.length < 2))
    play.title = on ? PAUSE : PLAY_STEPS
    play.setAttribute("aria-label", play.title)
    play.replaceChildren(icon(on ? "pause" : "play"))
  },
})

/**
 * Chips that can be picked: a click, and arrows from one to the next.
 * @param {HTMLElement[]} buttons
 * @param {string} field
 * @param {number} first
 */
const pickable = (buttons, field, first) => {
  const pick = (/** @type {number} */ i, /** @type {number} */ settle) => {
    selection.pick({ [field]: first + i }, settle)
    buttons[i].focus({ preventScroll: true })
  }
  buttons.forEach((button, i) => {
    button.onclick = () => pick(i, 0)
    button.onkeydown = (event) => {
      const to = chipBeside(buttons.length, i, event.key)
      if (to === undefined) return
      event.preventDefault()
      if (to !== null) pick(to, SETTLE)
    }
  })
}

/**
 * @param {HTMLElement[]} buttons
 * @param {number} chosen
 */
const markChosen = (buttons, chosen) => {
  const stop = chipStop(buttons.length, chosen)
  buttons.forEach((button, i) => {
    button.classList.toggle("selected", i === chosen)
    button.setAttribute("aria-pressed", String(i === chosen))
    button.tabIndex = i === stop ? 0 : -1
  })
}

/**
 * @param {ChipRow} row
 * @param {(text: {field: string, text: string}) => void} write
 * @param {?(() => void)} toggle what plays the steps, for the row that has the button
 */
const rowOf = (row, write, toggle) => {
  const { field, edit, first = 0 } = row
  const line = element("div", row.joined ? "row joined" : "row")
  const chips = element("div", "chips")
  chips.setAttribute("role", "group")
  chips.setAttribute("aria-label", row.label)
  chips.append(...row.chips.map((chip) => chipOf(chip, field !== undefined)))
  const written = row.chips.some((chip) => chip.share !== undefined)
  const box = edit && editor(line, chips, edit, (text) => write({ field: edit.field, text }))
  const lead = element("span", "lead")
  const play = toggle && button("tool play", undefined, PLAY_STEPS, toggle)
  const known = row.mark ? [knownOf(row.mark)] : []
  lead.append(element("span", "label", row.label), ...known, ...(box ? [box.begin] : []), ...(play ? [play] : []))
  const buttons = /** @type {HTMLElement[]} */ ([...chips.children])
  const played = play && playedBy(play, buttons, first, announcer(lead))
  line.append(lead, chips)
  if (field !== undefined) pickable(buttons, field, first)
  return {
    line,
    chips,
    played,
    ...box,
    lookedAt: () => chipsSeen(row, selection.look).map(({ n, weight }) => ({ chip: buttons[n], weight })),
    written: () => (written ? buttons[selection.chosen.t - first] : null),
    mark() {
      tint(row, chips, buttons)
      if (field !== undefined) markChosen(buttons, selection.chosen[field] - first)
    },
    scroll() {
      const chosen = field !== undefined && buttons[selection.chosen[field] - first]
      if (chosen) reveal(chips, chosen)
    },
  }
}

/**
 * Curves from the tokens that the chosen row looks at to the one that it writes.
 * @param {Root} root
 * @param {ReturnType<typeof rowOf>[]} rows
 */
const drawCurves = (root, rows) => {
  const writing = rows.filter((row) => row.written())
  const to = writing.length === 1 && writing[0].written()
  const [outer, k] = [root.getBoundingClientRect(), magnified(root)]
  const place = (/** @type {HTMLElement} */ chip, /** @type {boolean} */ above) => {
    const box = chip.getBoundingClientRect()
    return { x: (box.left + box.width / 2 - outer.left) / k, y: ((above ? box.bottom : box.top) - outer.top) / k }
  }
  const found = rows.flatMap((row) => {
    const seen = row.chips.getBoundingClientRect()
    const keys = to ? row.lookedAt() : []
    const near = keys.map(({ chip, weight }) => ({ weight, at: place(chip, row !== writing[0]) }))
    return near.filter(({ at }) => at.x > (seen.left - outer.left) / k && at.x < (seen.right - outer.left) / k)
  })
  const curves = to ? curvesTo(found, place(to, false)) : []
  const paths = curves.map(({ path, width }) => drawing("path", { d: path, "stroke-width": width, pathLength: 1 }))
  root.vt.flight.dataset.look = selection.look?.kind ?? ""
  root.vt.flight.replaceChildren(...paths)
}

/**
 * What plays the steps of the row that has the button, and tells the page where that is new.
 * @param {Root} root
 */
const playing = (root) => {
  const none = { first: 0, count: 0, say: () => {}, show: () => {} }
  const played = () =>
    /** @type {ReturnType<typeof rowOf>[]} */ (root.vt.rows).find((row) => row.played)?.played ?? none
  const told = () => {
    played().show(player.playing)
    if (player.playing === root.vt.plays) return
    root.vt.plays = player.playing
    tellPlaying(player.playing)
  }
  const player = makePlayer({
    ...PLAYED,
    isThere: () => root.isConnected,
    count: () => played().count,
    at: () => (selection.chosen.t ?? played().first) - played().first,
    pick: (step, settle) => selection.pick({ t: played().first + step }, settle),
    say: (step) => played().say(step),
    changed: told,
  })
  return {
    toggle() {
      player.toggle()
      told()
    },
    halt() {
      player.cancel()
      told()
    },
    // all is marked before anything is measured: else a browser works out its style once for each row
    mark() {
      root.vt.unmarked = false
      player.haltElsewhere()
      told()
      for (const row of root.vt.rows) row.mark()
      for (const row of root.vt.rows) row.scroll()
    },
  }
}

/**
 * Draws the curves to each new step while the steps play, and takes them away behind the last.
 * @param {Root} root
 */
const fly = (root) => {
  const { chosen, look, playing } = selection
  const flies = JSON.stringify(playing ? [chosen.t, look] : null)
  if (flies === root.vt.flown) return
  root.vt.flown = flies
  clearTimeout(root.vt.landing)
  if (playing) drawCurves(root, root.vt.rows)
  else root.vt.landing = setTimeout(() => root.vt.flight.replaceChildren(), LANDED)
}

/**
 * @param {Root} root
 * @param {ParentNode} parent
 * @param {{rows: ChipRow[], plays?: boolean}} data
 */
const show = (root, parent, data) => {
  const shown = JSON.stringify(data)
  if (shown === root.vt.shown) return
  root.vt.halt()
  root.vt.shown = shown
  const last = data.plays ? data.rows.findLastIndex(isWritten) : -1
  const write = (/** @type {unknown} */ text) => root.vt.write(text)
  const rows = data.rows.map((row, n) => rowOf(row, write, n === last ? root.vt.toggle : null))
  root.vt.rows = rows
  const within = parent instanceof ShadowRoot && root.contains(parent.activeElement)
  root.vt.flight.replaceChildren()
  root.replaceChildren(...rows.map(({ line }) => line), root.vt.flight)
  if (within) rows.find(({ begin }) => begin)?.begin?.focus()
}

/**
 * Opens the box of the first text that has one, where that was asked for before the strip was there.
 * @param {Root} root
 */
const editNow = (root) => {
  const { start } = /** @type {ReturnType<typeof rowOf>[]} */ (root.vt.rows).find((row) => row.start) ?? {}
  if (!start || !early.edit.waits(performance.now()) || !root.clientWidth) return
  early.edit.take(performance.now())
  start()
}

/**
 * @param {Root} root
 * @param {ParentNode} parent
 */
const makeStrip = (root, parent) => {
  parent.append(root)
  root.vt = { rows: [], given: "", shown: "", plays: false, flown: "" }
  root.vt.flight = drawing("svg", { class: "flight", "aria-hidden": "true" })
  Object.assign(root.vt, playing(root))
  root.vt.deaf = selection.listen(() => {
    root.vt.mark()
    // behind the map, which says in its next frame what the new row looks at
    requestAnimationFrame(() => requestAnimationFrame(() => fly(root)))
  })
  root.vt.alone = ahead.listen((given) => {
    show(root, parent, given ? given.strip : root.vt.data)
    root.vt.unmarked = true
    queueMicrotask(() => root.vt.unmarked && root.vt.mark()) // behind the selection, which may mark it already
  })
  root.vt.edit = () => editNow(root)
  document.addEventListener("vt-edit", root.vt.edit)
}

/** @param {Component} component */
export default function ({ data, parentElement, setTriggerValue }) {
  const known = rootIn(parentElement, "strip")
  const root = known ?? /** @type {Root} */ (element("div", "strip"))
  if (!known) makeStrip(root, parentElement)
  root.vt.write = (/** @type {unknown} */ text) => {
    setTriggerValue("text", text)
    selection.writes()
  }
  const given = JSON.stringify(data)
  if (given !== root.vt.given) {
    Object.assign(root.vt, { given, data }) // else what is shown ahead of the page stays
    show(root, parentElement, data)
  }
  root.vt.mark()
  root.vt.edit()
  return ending(root, () => {
    root.vt.halt()
    root.vt.deaf()
    root.vt.alone()
    clearTimeout(root.vt.landing)
    document.removeEventListener("vt-edit", root.vt.edit)
    root.remove()
  })
}
