"""What is seen of a page, measured: the letters in it, how large they are, what is cut off and what overlaps."""

from __future__ import annotations

# Every context of a canvas notes what it writes and where, in pixels of the canvas, until it is cleared.
NOTES = """(() => {
  const { fillText, clearRect } = CanvasRenderingContext2D.prototype
  CanvasRenderingContext2D.prototype.clearRect = function (...box) {
    this.canvas.wrote = []
    return clearRect.apply(this, box)
  }
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const at = this.getTransform()
    const size = parseFloat(this.font.match(/([\\d.]+)px/)[1]) * Math.hypot(at.a, at.b)
    const ink = this.measureText(text)
    const [left, right] = [x - ink.actualBoundingBoxLeft, x + ink.actualBoundingBoxRight]
    const [top, bottom] = [y - ink.actualBoundingBoxAscent, y + ink.actualBoundingBoxDescent]
    const corners = [[left, top], [right, bottom]].map(([x, y]) => at.transformPoint({ x, y }))
    ;(this.canvas.wrote ??= []).push({ text, size, corners: corners.map((each) => [each.x, each.y]) })
    return fillText.call(this, text, x, y, ...rest)
  }
})()"""

# Every context of a canvas notes the edges of what it fills between curves: points in pixels of the canvas, by ribbon.
CURVES = """(() => {
  const { beginPath, moveTo, bezierCurveTo, fill, clearRect } = CanvasRenderingContext2D.prototype
  const at = (context, x, y) => {
    const point = context.getTransform().transformPoint({ x, y })
    return [point.x, point.y]
  }
  Object.assign(CanvasRenderingContext2D.prototype, {
    clearRect(...box) {
      this.canvas.ribbons = []
      return clearRect.apply(this, box)
    },
    beginPath() {
      this.edge = []
      return beginPath.call(this)
    },
    moveTo(x, y) {
      this.from = [x, y]
      return moveTo.call(this, x, y)
    },
    bezierCurveTo(a, b, c, d, x, y) {
      const [p, q] = this.from
      for (let t = 0; t <= 1; t += 1 / 64) {
        const [k, l, m, n] = [(1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t ** 3]
        this.edge.push(at(this, k * p + l * a + m * c + n * x, k * q + l * b + m * d + n * y))
      }
      this.from = [x, y]
      return bezierCurveTo.call(this, a, b, c, d, x, y)
    },
    fill(...given) {
      if (this.edge?.length) (this.canvas.ribbons ??= []).push(this.edge)
      return fill.apply(this, given)
    },
  })
})()"""
"""Goes before `NOTES` into a page: both know when a canvas is cleared."""

# The words of a whole run that ribbons run over, and how many ribbons there are.
CROSSED = """() => {
  const canvases = [...document.querySelectorAll("*")]
    .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole canvas") ?? [])])
  const ribbons = canvases.flatMap((canvas) => canvas.ribbons ?? [])
  const crossed = canvases.flatMap((canvas) => canvas.wrote ?? []).filter(({ corners: [[x, y], [right, bottom]] }) =>
    ribbons.some((edge) => edge.some(([a, b]) => a > x + 1 && a < right - 1 && b > y + 1 && b < bottom - 1)))
  return [crossed.map(({ text }) => text), ribbons.length]
}"""

# All letters that are seen: [text, size in pixels of the window], those of charts, canvases and the page's own.
LETTERS = """() => {
  const found = []
  const seen = (part) => part.checkVisibility({ opacityProperty: true, visibilityProperty: true })
  const walk = (node) => {
    for (const part of node.querySelectorAll("*")) {
      if (part.shadowRoot) walk(part.shadowRoot)
      if (part.closest("style, script, .unseen, .katex, tspan, [hidden]") || !seen(part)) continue
      const box = part.getBoundingClientRect()
      if (box.width < 2 || box.height < 2 || box.right <= 0) continue
      if (part instanceof HTMLCanvasElement) {
        const k = box.width / part.width
        for (const { text, size } of part.wrote ?? []) found.push([text, size * k])
      } else if ([...part.childNodes].some((each) => each.nodeType === 3 && each.data.trim())) {
        const { a, b } = part.getScreenCTM?.() ?? { a: part.currentCSSZoom, b: 0 }
        found.push([part.textContent.trim(), parseFloat(getComputedStyle(part).fontSize) * Math.hypot(a, b)])
      }
    }
  }
  walk(document.querySelector("[data-testid=stMain]"))
  return found.map(([text, size]) => [text.slice(0, 60), size])
}"""

# The boxes of all pictures that are seen, their legends included: [name, left, top, right, bottom].
PICTURES = """() => {
  const found = []
  const walk = (node) => {
    for (const part of node.querySelectorAll("*")) {
      if (part.shadowRoot) walk(part.shadowRoot)
      const whole = part.matches(".component") ? part.querySelector(".stage") : part.matches(".main-svg, .rail")
      if (!whole || !part.checkVisibility()) continue
      const { left, top, right, bottom } = part.getBoundingClientRect()
      const name = part.closest(".component, .stElementContainer, .rail").className
      if (right - left > 1) found.push([name, left, top, right, bottom])
    }
  }
  walk(document.querySelector("[data-testid=stMain]"))
  return found
}"""

# Wait until nothing on the page moves or changes its size any more: for three looks in a row all boxes stay.
AT_REST = """async () => {
  const boxes = () =>
    [...document.querySelectorAll("[data-testid=stMain] :is(.stElementContainer, .main-svg)")]
      .map((part) => part.getBoundingClientRect())
      .map(({ x, y, width, height }) => [x, y, width, height].map(Math.round).join())
      .join(" ")
  await document.fonts.ready
  for (let n = 0, same = 0, was = ""; n < 200 && same < 3; n++) {
    const now = boxes()
    same = now === was ? same + 1 : 0
    was = now
    await new Promise((go) => setTimeout(go, 25))
  }
}"""

# What is wrong with the places of texts and controls, as sentences: two overlap, of which none is in the other; a text
# is cut by a box that hides the rest, without dots and not to be scrolled; it is beside the window. Of a text counts
# the ink about: a line's box without 0.2 em above and 0.1 em below. What sticks while a table is scrolled under it, the
# data frames, which cut their cells, and the beam tree, which is moved under its window, are left out.
PROBLEMS = r"""() => {
  const CONTROL = "button, a[href], input, textarea, select, [role=slider]"
  const MOVED = ".stDataFrame, .st-key-beam_tree_picture"
  const LEFT_OUT = `style, script, .unseen, .katex-mathml, .tooltip, ${MOVED}, [hidden], [popover]`
  const main = document.querySelector("[data-testid=stMain]")
  const [from, to] = [main.getBoundingClientRect().left - 1, document.documentElement.clientWidth + 1]
  const styles = new Map()
  const style = (part) => styles.get(part) ?? styles.set(part, getComputedStyle(part)).get(part)
  const up = (part) => part.assignedSlot ?? part.parentElement ?? part.getRootNode().host ?? null
  const around = (part) => {
    const found = []
    for (let at = up(part); at && at !== main; at = up(at)) found.push(at)
    return found
  }
  const within = (part, other) => part === other || around(part).includes(other)
  const scrolls = (part) => style(part).overflowX !== "visible" || style(part).overflowY !== "visible"
  const name = (part, text) => {
    const key = around(part).flatMap((at) => [...at.classList]).find((each) => each.startsWith("st-key-")) ?? "the page"
    return `${JSON.stringify(text.trim().replace(/\s+/g, " ").slice(0, 32))} in ${key.replace("st-key-", "")}`
  }
  // what cuts a part: boxes that hide or scroll, without those that an absolute part stands outside of
  const cutters = (part) => {
    const found = []
    let [free, fixed] = [style(part).position === "absolute", style(part).position === "fixed"]
    for (const at of around(part)) {
      if (fixed) break
      const { position, transform } = style(at)
      if (free && position === "static" && transform === "none") continue
      if (scrolls(at)) found.push(at)
      ;[free, fixed] = [position === "absolute", position === "fixed"]
    }
    return found
  }
  const [items, problems] = [[], new Set()]
  const add = (part, kind, text, whole, source) => {
    let [left, top, right, bottom] = whole
    let dots = false
    const said = name(part, text)
    for (const at of kind === "text" && scrolls(part) ? [part, ...cutters(part)] : cutters(part)) {
      const [box, css] = [at.getBoundingClientRect(), style(at)]
      const cut = (way, a, b, least, most) => {
        if (css[way] === "visible") return [a, b]
        // what wraps into a line that is hidden is left out whole, by intent
        if (way === "overflowY" && css.flexWrap === "wrap" && a > most - 2) return [most, most]
        const more = Math.max(least - a, b - most)
        if (kind === "text" && /hidden|clip/.test(css[way]) && more > 2 && !dots && box.width > 2 && box.height > 2)
          problems.add(`cut: ${said}, ${Math.round(more)} pixels ${way === "overflowX" ? "aside" : "above or below"}`)
        return [Math.max(a, least), Math.min(b, most)]
      }
      dots ||= css.textOverflow === "ellipsis"
      ;[left, right] = cut("overflowX", left, right, box.left, box.right)
      ;[top, bottom] = cut("overflowY", top, bottom, box.top, box.bottom)
      if (right - left < 1 || bottom - top < 1) return
    }
    if (right > to || left < from) problems.add(`outside: ${said}, from ${Math.round(left)} to ${Math.round(right)}`)
    const sticky = [part, ...around(part)].find((at) => style(at).position === "sticky")
    items.push({ part, kind, said, left, top, right, bottom, source, sticky })
  }
  const letters = (part, text) => {
    const range = document.createRange()
    range.selectNodeContents(text)
    const em = parseFloat(style(part).fontSize) * (part.currentCSSZoom ?? 1)
    const { a, b } = part.getScreenCTM?.() ?? { a: 1, b: 0 }
    const [aside, above, below] = Math.abs(b) > Math.abs(a) ? [0.15 * em, 0, 0] : [0, 0.2 * em, 0.1 * em] // upright
    for (const { left, top, right, bottom } of range.getClientRects())
      add(part, "text", text.data, [left + aside, top + above, right - aside, bottom - below], text)
  }
  const written = (canvas) => {
    const { left, top, right, bottom, width } = canvas.getBoundingClientRect()
    const scale = width / canvas.width
    for (const { text, corners } of canvas.wrote ?? []) {
      if (!text.trim()) continue
      const [xs, ys] = [0, 1].map((axis) => corners.map((each) => each[axis] * scale).sort((a, b) => a - b))
      const box = [left + xs[0], top + ys[0], left + xs[1], top + ys[1]]
      if (box[0] < left - 2 || box[1] < top - 2 || box[2] > right + 2 || box[3] > bottom + 2)
        problems.add(`cut: ${name(canvas, text)} by its canvas`)
      add(canvas, "text", text, box, {})
    }
  }
  const walk = (node) => {
    for (const part of node.querySelectorAll("*")) {
      if (part.shadowRoot) walk(part.shadowRoot)
      if (part.closest(LEFT_OUT) || !part.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue
      const { left, top, right, bottom } = part.getBoundingClientRect()
      if (part.parentElement?.closest(".katex-html")) continue
      if (part.matches(".katex-html")) add(part, "text", part.textContent, [left, top, right, bottom], part)
      else if (part instanceof HTMLCanvasElement) written(part)
      else for (const each of part.childNodes) if (each.nodeType === 3 && each.data.trim()) letters(part, each)
      if (part.matches(CONTROL) && right - left > 3 && bottom - top > 3)
        add(part, "control", part.ariaLabel ?? part.textContent, [left, top, right, bottom], part)
    }
  }
  walk(main)
  items.sort((a, b) => a.top - b.top)
  for (const [k, a] of items.entries())
    for (let j = k + 1; j < items.length && items[j].top < a.bottom - 1; j++) {
      const b = items[j]
      const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left)
      const high = Math.min(a.bottom, b.bottom) - b.top
      if (wide < 3 || high < 3 || a.source === b.source || a.sticky !== b.sticky) continue
      if ((a.kind === "control" || b.kind === "control") && (within(a.part, b.part) || within(b.part, a.part))) continue
      problems.add(`overlap: ${a.said} and ${b.said}, ${Math.round(wide)} x ${Math.round(high)} pixels`)
    }
  return [[...problems], items.length]
}"""

# What reaches beyond the right edge of the page and is not scrolled there: tag, class and text of each.
STICKING_OUT = """() => {
  const main = document.querySelector(".stMainBlockContainer"), edge = main.getBoundingClientRect().right
  const scrolls = (part) =>
    part && part !== main && (getComputedStyle(part).overflowX !== "visible" || scrolls(part.parentElement))
  return [...main.querySelectorAll("*")]
    .filter((part) => part.getBoundingClientRect().width > 0 && part.getBoundingClientRect().right > edge + 1)
    .filter((part) => !part.closest("svg") && !scrolls(part.parentElement))
    .map((part) => `${part.tagName} ${part.className} ${part.textContent.slice(0, 40)}`)
}"""
