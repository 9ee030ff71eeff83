() => {
  // What the bench does inside a page. Times are in milliseconds, from the page's own clock.
  //
  // A picture that was drawn outside an animation frame is painted in the next one, and on the screen when the one after
  // that begins: up to 33 ms of every time are this yardstick. A picture drawn inside a frame is one frame ahead.

  const frame = () => new Promise(requestAnimationFrame)
  const PATIENCE = 600_000

  /** The time from `start` until `there()` has become true outside a frame, and what it asks for is on the screen. */
  async function seen(there, start) {
    do {
      await frame()
      if (performance.now() - start > PATIENCE) throw Error(`nothing to see after ${PATIENCE / 1000} s`)
    } while (!there())
    await frame()
    return performance.now() - start
  }

  /** Makes `bench.answer` what `answer(event)` promises after the next release of the pointer, or an error. */
  function after_release(answer) {
    bench.answer = new Promise((done, fail) => addEventListener("pointerup", (event) => {
      setTimeout(() => fail(Error("nothing was painted within a minute after the click")), 60_000)
      answer(event).then(done)
    }, { capture: true, once: true }))
  }

  /** Whether an element that the selector finds stands in this one, or in a component in it. */
  const within = (place, selector) =>
    place.querySelector(selector) !== null || [...place.querySelectorAll("*")].some((each) => each.shadowRoot?.querySelector(selector))

  /** Whether Streamlit has run the page to its end, and every canvas component and chart on it is drawn. */
  function complete() {
    const app = document.querySelector('[data-testid="stApp"]')
    if (app.dataset.testScriptState !== "notRunning") return false
    if (within(app, ".stage:not([data-painted])")) return false
    return [...app.querySelectorAll('[data-testid="stPlotlyChart"]')].every((chart) => chart.querySelector(".main-svg"))
  }

  /** Resolves when `there()` has become true with a change of the target. */
  const changed = (target, options, there) => new Promise((done) => {
    const watch = new MutationObserver(() => {
      if (!there()) return
      watch.disconnect()
      done()
    })
    watch.observe(target, options)
  })

  const bytes = async (address) => new Uint8Array(await (await fetch(address)).arrayBuffer())

  /** A shadow root with the component's rules, which is what Streamlit gives to a component as its parent. */
  async function place(name) {
    const host = document.createElement("div")
    const rules = document.createElement("style")
    const parentElement = host.attachShadow({ mode: "open" })
    rules.textContent = await (await fetch(`/${name}.css`)).text()
    parentElement.append(rules)
    document.querySelector("#place").append(host)
    return parentElement
  }
  const stageOf = (name) => {
    for (const host of document.querySelector("#place").children) {
      const stage = host.shadowRoot?.querySelector(`.${name} .stage`)
      if (stage) return stage
    }
    throw Error(`there is no ${name} on the page`)
  }

  window.bench = {
    /** From all payloads received to all components painted. pictures: [[component, address of its payload]]. */
    async show(pictures) {
      const ready = []
      for (const [name, address] of pictures) {
        const { default: component } = await import(`/${name}.js`)
        const parentElement = await place(name)
        ready.push({ component, parentElement, data: await bytes(address) })
      }
      const start = performance.now()
      for (const { component, ...given } of ready) component({ ...given, setTriggerValue() {} })
      return seen(() => ready.every(({ parentElement }) => parentElement.querySelector(".stage").dataset.painted), start)
    },

    /** From HTML received to what it makes painted: until `there` (the text of a function) says so. */
    async display(address, there) {
      const html = await (await fetch(address)).text()
      const drawn = Function(`return ${there}`)()
      const start = performance.now()
      document.querySelector("#place").append(document.createRange().createContextualFragment(html))
      return seen(drawn, start)
    },

    /** What the pointer finds on a stage: [what the tooltip says, x, y], each thing once, at the first place. */
    things(stage, step) {
      stage = typeof stage === "string" ? stageOf(stage) : stage
      const box = stage.getBoundingClientRect()
      const tip = stage.parentElement.querySelector(":scope > .tooltip")
      const found = new Map()
      for (let y = box.top + 3; y < Math.min(box.bottom, innerHeight); y += step)
        for (let x = box.left + 3; x < box.right; x += step) {
          stage.dispatchEvent(new PointerEvent("pointermove", { clientX: x, clientY: y }))
          if (!tip.hidden && !found.has(tip.textContent)) found.set(tip.textContent, [x, y])
        }
      stage.dispatchEvent(new PointerEvent("pointerleave"))
      return Array.from(found, ([text, [x, y]]) => [text, x, y])
    },

    /** Makes `bench.answer` the time from the next release of the pointer to the component painted because of it. */
    await_stage(name) {
      const stage = stageOf(name)
      after_release(async (event) => {
        await changed(stage, { attributeFilter: ["data-painted"] }, () => true)
        await frame() // what is chosen is drawn in an animation frame
        return performance.now() - event.timeStamp
      })
    },

    /** Makes `bench.answer` the time from the next key press to the stage that the selector finds painted. */
    await_key(selector) {
      const [name, inner] = selector.split(" ")
      const stage = [...document.querySelectorAll("*")].map((each) => each.shadowRoot?.querySelector(`${name} ${inner}`)).find(Boolean)
      bench.answer = new Promise((done, fail) => addEventListener("keydown", async (event) => {
        setTimeout(() => fail(Error("nothing was painted within a minute after the key")), 60_000)
        await changed(stage, { attributeFilter: ["data-painted"] }, () => true)
        await frame()
        done(performance.now() - event.timeStamp)
      }, { capture: true, once: true }))
    },

    /** Makes `bench.answer` the time from the next event of this kind to the element that the selector finds saying so, in its label if it has one. */
    await_said(kind, selector, says) {
      const pattern = new RegExp(says)
      const inside = () => [document, ...[...document.querySelectorAll("*")].flatMap((each) => each.shadowRoot ?? [])]
      const found = () => inside().map((root) => root.querySelector(selector)).find(Boolean)
      bench.answer = new Promise((done, fail) => addEventListener(kind, (event) => {
        setTimeout(() => fail(Error(`${selector} did not say ${says} within a minute`)), 60_000)
        seen(() => pattern.test(found()?.ariaLabel ?? found()?.textContent), event.timeStamp).then(done)
      }, { capture: true, once: true }))
    },

    /** Makes `bench.answer` the time from the next key press to a level of the whole run painted with all that it needs. */
    await_level(level) {
      const inside = (selector) => [...document.querySelectorAll("*")].map((each) => each.shadowRoot?.querySelector(selector)).find(Boolean)
      const [stage, now] = [inside(".whole .stage"), inside(".whole .now")]
      const there = () => stage.dataset.level === level && !now.textContent.includes("being fetched")
      bench.answer = new Promise((done, fail) => addEventListener("keydown", async (event) => {
        setTimeout(() => fail(Error(`${level} was not painted within a minute after the key`)), 60_000)
        await changed(stage, { attributeFilter: ["data-painted"] }, there)
        await frame()
        done(performance.now() - event.timeStamp)
      }, { capture: true, once: true }))
    },

    /** The times from frame to frame while keys lead from the whole run down to a weight and out again. */
    async zoom() {
      const stage = stageOf("whole")
      const times = []
      const press = async (key, level) => {
        stage.dispatchEvent(new KeyboardEvent("keydown", { key }))
        let before = await frame()
        do {
          const now = await frame()
          times.push(now - before)
          before = now
        } while (stage.dataset.level !== level || "moving" in stage.dataset)
      }
      stage.focus()
      for (const level of ["layer", "attention", "weight"]) await press("+", level)
      const said = stage.parentElement.querySelector(".now").textContent
      if (!/for a score of/.test(said)) throw Error(`there is no weight: ${said}`)
      for (const level of ["attention", "layer", "run"]) await press("-", level)
      return times
    },

    /**
     * Follows the number slider until `bench.behind()`, which promises by how many milliseconds the run that is shown was
     * behind it at most: looked at in each frame, since when the thumb has not stood on the number that is shown.
     */
    follow_slider() {
      const inside = (selector) => [...document.querySelectorAll("*")].map((each) => each.shadowRoot?.querySelector(selector)).find(Boolean)
      const [slider, said] = [inside(".slider input"), inside(".slider .said")]
      let reads = null // looked for once: a search through the page in each frame would take a part of what is measured
      const shown = () => {
        if (!reads?.isConnected) reads = inside(".strip [role=group][aria-label=reads]")
        return [...reads.querySelectorAll(".chip:not(.special) .token")].map((each) => each.textContent).join("")
      }
      const passed = [[shown(), performance.now()]]
      let [most, on] = [0, true]
      const passing = () => passed.push([said.textContent, performance.now()])
      slider.addEventListener("input", passing)
      const done = (async () => {
        const since = () => passed[passed.findLastIndex(([number]) => number === shown()) + 1]?.[1]
        let end = Number.POSITIVE_INFINITY
        for (; on || since(); await frame()) {
          most = Math.max(most, performance.now() - (since() ?? performance.now()))
          if (!on) end = Math.min(end, performance.now() + 10_000)
          if (performance.now() > end) throw Error(`${shown()} is shown, where ${said.textContent} was asked for`)
        }
        slider.removeEventListener("input", passing)
        if (passed.length < 3) throw Error("the slider has not moved")
        return most
      })()
      bench.behind = () => {
        on = false
        return done
      }
    },

    /**
     * Makes `bench.answer` the times from the next release of the pointer to the page of this title with its main
     * picture, the `mark` in the element that `place` finds, and to the page with everything that is on it. Without a
     * place that is the same.
     */
    await_page(title, place, mark) {
      const there = () => {
        if (document.querySelector("h1")?.textContent !== title) return false
        if (!place) return complete()
        const container = document.querySelector(place)
        return container ? within(container, mark) : false
      }
      after_release(async (event) => {
        const painted = await seen(there, event.timeStamp)
        return [painted, place ? await seen(() => there() && complete(), event.timeStamp) : painted]
      })
    },

    /**
     * Makes `bench.answer` the times from the next release of the pointer to the map whose label `says` so, and to the
     * text that says so in the element that `selector` finds.
     */
    await_server(map, selector, says) {
      const pattern = new RegExp(`${says}(?!\\d)`)
      const time = async (event, ...change) => {
        await changed(...change)
        await frame()
        await frame()
        return performance.now() - event.timeStamp
      }
      const everything = { subtree: true, childList: true, characterData: true }
      after_release((event) => Promise.all([
        time(event, map, { attributeFilter: ["aria-label"] }, () => pattern.test(map.getAttribute("aria-label"))),
        time(event, document.body, everything, () => pattern.test(document.querySelector(selector)?.textContent)),
      ]))
    },
  }
}
