import { selection, share, number, quoted, isolated, shorten, colours, element, button, icon, tooltip, announcer, mount, zoom, mono, sans, exports } from "./shared.js"

// All steps of a decode and the candidates of each as bars. Header: {first_row, vocabulary, reads, tokens, candidates:
// places in tokens by step, written: places in candidates, unlisted and forced: steps, caption, name}; arrays: log_probs
// [steps, most candidates], rest [steps]. Step s is the row first_row + s of the selection's field t.

const SETTLE = 250
const PLAY = 700
const PLAYING = PLAY + 200 // while the steps are played none has settled
const GIVEN = "This row reads what was given: it writes nothing of the answer."
const PADDING = "This row reads padding: it writes nothing of the answer."

export default (component) => mount(component, "scrubber", makeScrubber)

function makeScrubber(root) {
  const says = element("div", "says")
  const [reading, writing, outside] = [element("div"), element("div"), element("div", "outside")]
  const controls = element("div", "controls")
  const range = element("input")
  const [start, end] = [element("span", "end"), element("span", "end")]
  const stage = element("div", "stage")
  const last = element("div", "last")
  const tip = tooltip(root)
  const announce = announcer(root)
  let head, steps, most, logProbs, rests
  let bars = []
  let rest = null
  let active = null // the candidate pointed at: {i}, by the pointer with its place {i, x, y}
  let timer = 0
  let played = null

  const back = button("quiet", undefined, "Previous step", () => move(-1))
  const toggle = button("quiet", undefined, "Play the steps", () => (timer ? pause() : play()))
  const next = button("quiet", undefined, "Next step", () => move(1))
  back.append(icon("back"))
  next.append(icon("next"))
  toggle.append(icon("play"))
  range.type = "range"
  range.step = 1
  range.min = 0
  range.setAttribute("aria-label", "Step")
  stage.tabIndex = 0
  stage.setAttribute("role", "listbox")
  controls.append(back, toggle, next, start, range, end)
  says.append(reading, writing, outside)
  const saving = exports(root, {
    draw: paint,
    size: () => ({ width: root.clientWidth, height: drawnHeight() }),
    caption: () => head.caption,
    name: () => (writes(at()) ? `${head.name}-step-${at()}` : head.name),
  })
  last.append(element("span", "", "probability over the whole vocabulary"), saving)
  root.append(says, controls, stage, last)

  // ---- what a step is

  const at = () => (selection.chosen.t ?? head.first_row) - head.first_row
  const writes = (step) => step >= 0 && step < steps
  const nearest = (step) => Math.min(Math.max(step, 0), steps - 1)
  const candidates = (step) => head.candidates[step].map((place) => head.tokens[place])
  const written = (step) => candidates(step)[head.written[step]]
  const logProb = (step, i) => logProbs.values[step * most + i]
  const probability = (step, i) => Math.exp(logProb(step, i))
  const others = (step) => head.vocabulary - head.candidates[step].length
  /** The candidates' sum is not exact: 0 of other tokens says only that they are too few to be seen. */
  const restText = (step) => (rests.values[step] === 0 ? "<0.0001" : share(rests.values[step]))
  const othersText = (step) => `other ${others(step).toLocaleString("en")} ${others(step) === 1 ? "token" : "tokens"} together`
  const numberText = (step) => (steps === 1 ? "Step 0, the only one" : `Step ${step} of ${steps}`)
  const valueText = (step) => share(probability(step, head.written[step]))
  const isForced = (step) => head.forced.includes(step)
  const logText = (value) => (value === -Infinity ? "-∞" : number(value, 2))
  const sentenceText = (step) =>
    !writes(step) ? (step < 0 ? GIVEN : PADDING)
      : `${numberText(step)}${isForced(step) ? ", given" : ""}: reads ${quoted(head.reads[step])}, writes ${quoted(written(step))}, probability ${valueText(step)}`

  /** What the tooltip says of a candidate; behind the last one stand all other tokens. */
  function sentences(step, i) {
    if (i === head.candidates[step].length) return [othersText(step), `probability ${restText(step)}`]
    const isWritten = i === head.written[step]
    const unlisted = isWritten && head.unlisted.includes(step)
    const lines = [
      `${unlisted ? "written" : `candidate ${i}`}: ${quoted(candidates(step)[i])}`,
      `probability ${share(probability(step, i))}`,
      `log-probability ${logText(logProb(step, i))}`,
    ]
    if (unlisted) lines.push(`not among the ${head.candidates[step].length - 1} most probable`)
    if (isWritten) lines.push(isForced(step) ? "written because it was given" : "written")
    return lines
  }

  // ---- moving

  function go(step, settle = SETTLE) {
    if (step !== at()) selection.pick({ t: head.first_row + step }, settle)
  }
  /** One step on or back; a row beside the answer lies just before its first or behind its last step. */
  function move(by) {
    halt()
    if (by < 0 ? at() <= 0 : at() >= steps - 1) return
    const from = Math.min(Math.max(at(), -1), steps)
    go(nearest(from + by))
    announce(sentenceText(nearest(from + by)))
  }
  function play() {
    const from = at()
    advance(from >= steps - 1 ? 0 : Math.max(from, -1) + 1)
    made.draw()
  }
  function advance(step) {
    const ends = step >= steps - 1
    played = step
    timer = ends ? 0 : setTimeout(() => { if (root.isConnected) advance(step + 1) }, PLAY)
    go(step, ends ? SETTLE : PLAYING)
    if (ends) announce(sentenceText(step))
  }
  function halt() {
    if (!timer) return
    clearTimeout(timer)
    timer = 0
    drawControls(at())
  }
  /** Stop playing here. */
  function pause() {
    halt()
    selection.pick({ t: head.first_row + at() }, SETTLE)
    announce(sentenceText(at()))
  }

  range.oninput = () => {
    halt()
    go(Number(range.value))
  }
  range.onclick = () => { if (!writes(at())) go(Number(range.value)) } // the value stayed, the row did not
  range.onkeydown = (event) => {
    if (event.key === "PageUp" || event.key === "PageDown") event.preventDefault() // they turn to another scene
    const to = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -Infinity, End: Infinity }[event.key]
    if (to === undefined || writes(at())) return
    event.preventDefault()
    if (Number.isFinite(to)) move(to)
    else go(nearest(to))
  }

  // ---- pointing at a candidate

  const rowsOf = (step) => (writes(step) ? head.candidates[step].length + (others(step) ? 1 : 0) : 0)
  const rowElement = (i) => (i < head.candidates[at()].length ? bars[i].row : rest.row)
  function point(i, x, y) {
    active = i === null ? null : { i, x, y }
    bars.forEach(({ row }, k) => row.classList.toggle("active", k === i))
    if (i === null) {
      stage.removeAttribute("aria-activedescendant")
      tip.hide()
      return
    }
    const row = rowElement(i)
    stage.setAttribute("aria-activedescendant", row.id)
    const [box, outer] = [row.getBoundingClientRect(), root.getBoundingClientRect()]
    tip.show(sentences(at(), i), x ?? box.left - outer.left + box.width / 2, y ?? box.top - outer.top + box.height / 2)
  }
  stage.onpointermove = (event) => {
    const found = event.target.closest?.(".candidate, .rest")
    if (!found || !writes(at())) {
      point(null)
      return
    }
    const outer = root.getBoundingClientRect()
    const i = found === rest.row ? head.candidates[at()].length : bars.findIndex(({ row }) => row === found)
    point(i < rowsOf(at()) ? i : null, event.clientX - outer.left, event.clientY - outer.top)
  }
  stage.onpointerleave = () => point(null)
  stage.onblur = () => point(null)
  stage.onkeydown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const count = rowsOf(at())
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (down && count) point(active === null ? (down > 0 ? 0 : count - 1) : Math.min(Math.max(active.i + down, 0), count - 1))
    else if (event.key === "ArrowRight") move(1)
    else if (event.key === "ArrowLeft") move(-1)
    else if (event.key === "Home" || event.key === "End") {
      halt()
      go(event.key === "Home" ? 0 : steps - 1)
    } else if (event.key === "Escape") point(null)
    else return
    event.preventDefault()
  }

  // ---- the page

  function makeBars() {
    const id = root.id ||= `scrubber-${Math.random().toString(36).slice(2)}`
    const option = (className, number) => {
      const row = element("div", className)
      row.setAttribute("role", "option")
      row.id = `${id}-${number}`
      return row
    }
    bars = Array.from({ length: most }, (_, i) => {
      const row = option("candidate", i)
      const [token, bar, part, value] = [element("bdi", "token"), element("span", "bar"), element("span", "part"), element("span", "value")]
      bar.append(part)
      row.append(token, bar, value)
      return { row, token, part, value }
    })
    const row = option("rest", most)
    const [text, value, bar, part] = [element("span", "others"), element("span", "value"), element("span", "bar"), element("span", "part")]
    bar.append(part)
    row.append(text, value, bar)
    rest = { row, text, value, part }
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

  function token({ text, special }) {
    return element("bdi", special ? "special" : "", text)
  }
  function drawSentence(step) {
    const inside = writes(step)
    reading.hidden = writing.hidden = !inside
    outside.hidden = inside
    says.title = inside ? sentenceText(step) : ""
    if (!inside) {
      outside.textContent = sentenceText(step)
      return
    }
    const read = head.reads[step]
    const typed = read.note === undefined ? [] : [element("span", "", "”, typed “"), element("bdi", "", read.note)]
    reading.replaceChildren(
      element("span", "number", numberText(step)), element("span", "", ": reads “"), token(read), ...typed, element("span", "", "”,"),
    )
    writing.replaceChildren(
      element("span", "", "writes “"), token(written(step)), element("span", "", "”, probability "), element("span", "value", valueText(step)),
    )
    if (isForced(step)) writing.append(element("span", "forced", "given"))
  }
  function drawBars(step) {
    const inside = writes(step)
    const shown = inside ? candidates(step) : []
    bars.forEach(({ row, token, part, value }, i) => {
      const each = shown[i]
      row.className = ["candidate", each === undefined && "empty", inside && i === head.written[step] && "written", i === active?.i && "active"].filter(Boolean).join(" ")
      row.setAttribute("aria-selected", String(inside && i === head.written[step]))
      part.style.width = each === undefined ? "0" : `${100 * (probability(step, i) || 0)}%`
      if (each === undefined) return
      token.className = each.special ? "token special" : "token"
      token.textContent = each.text
      value.textContent = share(probability(step, i))
      row.setAttribute("aria-label", sentences(step, i).join(", "))
    })
    const left = inside && others(step) > 0
    rest.row.classList.toggle("empty", !left)
    rest.part.style.width = left ? `${100 * (rests.values[step] || 0)}%` : "0"
    if (!left) return
    rest.text.textContent = othersText(step)
    rest.value.textContent = restText(step)
    rest.row.setAttribute("aria-label", sentences(step, shown.length).join(", "))
  }
  function drawControls(step) {
    const place = nearest(step)
    range.value = place
    range.className = writes(step) ? "" : "outside"
    range.style.setProperty("--done", `${steps > 1 ? (100 * place) / (steps - 1) : 0}%`)
    range.setAttribute("aria-valuetext", sentenceText(step))
    back.setAttribute("aria-disabled", String(step <= 0))
    next.setAttribute("aria-disabled", String(step >= steps - 1))
    toggle.setAttribute("aria-disabled", String(steps === 1 && writes(step)))
    const word = timer ? "Pause" : "Play the steps"
    if (toggle.title === word) return
    toggle.title = word
    toggle.setAttribute("aria-label", word)
    toggle.replaceChildren(icon(timer ? "pause" : "play"))
  }

  // ---- the picture that is saved

  const HEADING = 60
  const LINE = 26
  const drawnHeight = () => (HEADING + LINE * (most + 1) + 48) * zoom(root)
  function paint(context) {
    const paper = colours(root)
    const z = zoom(root)
    const step = at()
    const width = root.clientWidth
    const [left, right] = [132 * z, width - 84 * z]
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
    const { text, note } = head.reads[step]
    context.font = sans(14 * z, 600)
    const typed = note === undefined ? "" : `, typed “${isolated(shorten(context, note, width / 3))}”`
    line(`${numberText(step)}: reads “`, text, `”${typed},`, 14 * z, context.font)
    line("writes “", written(step).text, `”, probability ${valueText(step)}${isForced(step) ? ", given" : ""}`, 38 * z, sans(14 * z))
    const [top, bottom] = [HEADING * z, (HEADING + LINE * (most + 1)) * z]
    context.fillStyle = paper.one("line")
    for (const part of [0, 0.5, 1]) context.fillRect(Math.min(left + (right - left) * part, right - 1), top, 1, bottom - top)
    candidates(step).forEach((each, i) => {
      const y = top + LINE * z * (i + 0.5)
      const isWritten = i === head.written[step]
      const font = mono(14 * z, isWritten ? 600 : 400)
      const inset = each.special ? 8 * z : 0
      const long = write(each.text, left - 8 * z - inset, y, { font, ink: each.special ? "muted" : "target-ink", align: "right", room: left - 24 * z - 2 * inset })
      if (each.special) pill(context, paper, left - 8 * z - 2 * inset - long, y - 11 * z, long + 2 * inset, 22 * z)
      context.fillStyle = paper.scale("decoder").css(0.5)
      context.fillRect(left, y - 7 * z, (right - left) * (probability(step, i) || 0), 14 * z)
      write(share(probability(step, i)), width - 10 * z, y, { font, align: "right" })
      if (!isWritten) return
      context.strokeStyle = paper.one("text")
      context.lineWidth = 2
      context.strokeRect(1, y - (LINE * z) / 2 + 1, width - 2, LINE * z - 2)
    })
    if (others(step)) {
      const y = top + LINE * z * (most + 0.5)
      context.font = sans(14 * z)
      context.fillStyle = paper.one("page")
      context.fillRect(10 * z, y - 10 * z, context.measureText(othersText(step)).width + 8 * z, 17 * z)
      write(othersText(step), 10 * z, y - 2 * z, { ink: "muted" })
      write(restText(step), width - 10 * z, y - 2 * z, { font: mono(14 * z), align: "right" })
      context.fillStyle = paper.scale("derived").css(0.5)
      context.fillRect(left, y + 9 * z, (right - left) * (rests.values[step] || 0), 4 * z)
    }
    for (const [part, tick] of [[0, "0"], [0.5, "0.5"], [1, "1"]])
      write(tick, left + (right - left) * part, bottom + 10 * z, { font: mono(12 * z), ink: "muted", align: "center" })
    write("probability over the whole vocabulary", left, bottom + 30 * z, { font: sans(13 * z), ink: "muted" })
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
    update({ header, arrays }) {
      const other = !head || JSON.stringify([head.reads, head.candidates, head.tokens]) !== JSON.stringify([header.reads, header.candidates, header.tokens])
      if (other) clearTimeout(timer)
      if (other) timer = 0
      head = header
      logProbs = arrays.log_probs
      rests = arrays.rest
      ;[steps, most] = logProbs.shape
      if (bars.length !== most) makeBars()
      if (other) point(null)
      rest.row.hidden = head.candidates.every((_, step) => !others(step))
      range.max = steps - 1
      start.textContent = steps > 1 ? "0" : ""
      end.textContent = steps > 1 ? String(steps - 1) : ""
      stage.setAttribute("aria-label", "Candidates of the step, best first. Arrow keys up and down show one of them, left and right choose the step.")
    },
    draw() {
      const step = at()
      if (step !== played) halt() // somebody chose another row
      if (active !== null && active.i >= rowsOf(step)) point(null)
      stage.classList.toggle("playing", timer !== 0)
      drawSentence(step)
      drawControls(step)
      drawBars(step)
      if (active !== null) point(active.i, active.x, active.y)
      stage.dataset.painted = String(performance.now())
    },
  }
  return made
}
