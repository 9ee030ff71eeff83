// The main gestures in Firefox, driven over WebDriver BiDi: the app as a process of its own, at the address that it prints.
// VIZ_PYTHON is the interpreter that has it, VIZ_FIREFOX the browser.

import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { after, before, test } from "node:test"
import puppeteer from "puppeteer-core"

const SECONDS = 60_000

/** The first element of a selector inside the pictures, each of which has a shadow root; waits for it. */
async function seen(page, selector) {
  const found = await page.waitForFunction(
    (wanted) => {
      for (const { shadowRoot } of document.querySelectorAll("*"))
        if (shadowRoot?.querySelector(wanted)) return shadowRoot.querySelector(wanted)
      return null
    },
    { polling: 100 },
    selector,
  )
  return found.asElement()
}

let app
let address
let browser

before(async () => {
  app = spawn(process.env.VIZ_PYTHON ?? ".venv/bin/python", [
    "-m",
    "viz_transformer.command",
    "app",
    "--no-browser",
    "--port",
    "0",
  ])
  address = await new Promise((found, failed) => {
    let said = ""
    const hear = (part) => {
      said += part
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
      if (url) found(url)
    }
    app.stdout.on("data", hear)
    app.stderr.on("data", hear)
    app.on("exit", () => failed(new Error(`the app did not start: ${said}`)))
  })
  browser = await puppeteer.launch({
    browser: "firefox",
    executablePath: process.env.VIZ_FIREFOX ?? "/usr/bin/firefox-esr",
    headless: true,
    protocolTimeout: SECONDS,
  })
})

after(async () => {
  await browser?.close()
  app?.kill()
})

/** The app at a path, drawn to its end. */
async function opened(path, drawn = ".matrix .stage[data-painted]") {
  const page = await browser.newPage()
  page.setDefaultTimeout(SECONDS)
  await page.setViewport({ width: 1280, height: 900 })
  const problems = []
  page.on("pageerror", (error) => problems.push(String(error)))
  await page.goto(`${address}${path}`)
  await seen(page, drawn)
  await seen(page, 'button[aria-label="Guide and keys (?)"]')
  await page.waitForSelector(".stApp[data-test-script-state=notRunning]") // nothing moves under the pointer
  return { page, problems }
}

const tokens = (page, group) =>
  page.evaluate(
    (name) =>
      [...document.querySelectorAll("*")]
        .filter((each) => each.shadowRoot)
        .flatMap((each) => [...each.shadowRoot.querySelectorAll(`[role=group][aria-label="${name}"] .token`)])
        .map((each) => each.textContent),
    group,
  )
const chosen = (page) => page.evaluate(() => ({ ...window.vizTransformerSelection.chosen }))
const until = async (holds) => {
  const end = Date.now() + SECONDS
  while (Date.now() < end) {
    if (await holds()) return
    await new Promise((done) => setTimeout(done, 100))
  }
  assert.fail(`never true: ${holds}`)
}

test("a run is drawn, stepped through by keys, and the key that nobody chose follows", async () => {
  const { page, problems } = await opened("/?run_view=map&checkpoint=numbers-any&text=42&layer=1&heads=2")
  assert.deepEqual(await tokens(page, "reads"), ["<s>", "4", "2", "</s>"])
  const first = await chosen(page)
  await page.keyboard.press("ArrowRight")
  await until(async () => (await chosen(page)).t === first.t + 1)
  await until(async () => new URL(page.url()).searchParams.get("t") === String(first.t + 1))
  assert.equal(new URL(page.url()).searchParams.get("i"), null)
  assert.deepEqual(problems, [])
  await page.close()
})

test("the text is edited in the strip", async () => {
  const { page, problems } = await opened("/attention?checkpoint=numbers-any&text=42")
  await page.keyboard.press("e")
  await seen(page, "textarea.box")
  await page.keyboard.type("700")
  await page.keyboard.press("Enter")
  await until(async () => (await tokens(page, "reads")).join("") === "<s>700</s>")
  assert.equal(new URL(page.url()).searchParams.get("text"), "700")
  assert.deepEqual(problems, [])
  await page.close()
})

test("a cell is clicked, and a double click opens why it is so", async () => {
  const { page, problems } = await opened("/attention?checkpoint=numbers-any&text=42")
  const stage = await seen(page, ".matrix .stage")
  const box = await stage.boundingBox()
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 3)
  await until(async () => !(await chosen(page)).followed.includes("i"))
  const { t, i } = await chosen(page)
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 3, { count: 2 })
  await until(async () => new URL(page.url()).pathname === "/weight")
  await seen(page, ".row .stage[data-painted]")
  assert.deepEqual([t, i], [(await chosen(page)).t, (await chosen(page)).i])
  assert.deepEqual(problems, [])
  await page.close()
})

test("a pinned run stands beside another of another length", async () => {
  const { page, problems } = await opened(
    "/?run_view=map&checkpoint=numbers-any&text=42&pin_checkpoint=numbers-any&pin_text=1984&shown=A%7CB",
  )
  await until(async () => (await tokens(page, "B writes")).length > (await tokens(page, "A writes")).length)
  assert.deepEqual(problems, [])
  await page.close()
})

test("the whole run plays, and keys lead down to a weight, from its address too, and out again", async () => {
  const { page, problems } = await opened("/?text=42&checkpoint=numbers-any", ".whole .stage[data-painted]")
  const stage = await seen(page, ".whole .stage")
  const said = async () => (await seen(page, ".whole .now")).evaluate((now) => now.textContent)
  await stage.focus()
  await page.keyboard.press("ArrowRight")
  assert.match(await said(), /^Step 2 of/)
  await page.keyboard.press(" ")
  await seen(page, '.whole [title="Pause"]')
  await page.keyboard.press(" ")
  await seen(page, '.whole [title="Play the steps"]')
  for (let n = 0; n < 2; n++) await page.keyboard.press("ArrowDown")
  assert.match(await said(), /^Decoder layer 0, self-attention/)
  await page.keyboard.press("Enter")
  const inAddress = (name, value) => until(async () => new URL(page.url()).searchParams.get(name) === value)
  await inAddress("kind", "decoder")
  await inAddress("level", "layer")
  for (const level of ["attention", "weight"]) {
    await page.keyboard.press("+")
    await inAddress("level", level)
  }
  await until(async () => /puts .* of its attention on .*, for a score of/.test(await said()))
  await page.reload()
  await seen(page, ".whole .stage[data-level=weight][data-painted]")
  await until(async () => /puts .* of its attention on .*, for a score of/.test(await said()))
  await (await seen(page, ".whole .stage")).focus()
  for (const level of ["attention", "layer", "run"]) {
    await page.keyboard.press("Escape")
    await seen(page, `.whole .stage[data-level=${level}]`)
  }
  assert.deepEqual(problems, [])
  await page.close()
})

test("each level of the whole run is there again from its address", async () => {
  const run = "/?text=42&checkpoint=numbers-any&kind=cross&layer=1&heads=2"
  const { page, problems } = await opened(run, ".whole .stage[data-painted]")
  const said = async () => (await seen(page, ".whole .now")).evaluate((now) => now.textContent)
  const STARTS = {
    run: /^Step 1 of/,
    layer: /^Decoder layer 1 at/,
    attention: /^Head 2:/,
    weight: /^Head 2:.* for a score/,
  }
  for (const [level, start] of Object.entries(STARTS)) {
    if (level !== "run") {
      await (await seen(page, ".whole .stage")).focus()
      await page.keyboard.press("+")
      await until(async () => new URL(page.url()).searchParams.get("level") === level)
    }
    await page.reload()
    await seen(page, `.whole .stage[data-level=${level}][data-painted]:not([data-moving])`)
    await until(async () => start.test(await said()))
  }
  assert.deepEqual(problems, [])
  await page.close()
})

test("a text of two lines is typed into the page's box, run by Enter, and there again after a reload", async () => {
  const { page, problems } = await opened("/?run_view=map&checkpoint=shakespeare&text=so")
  const box = ".st-key-run_text textarea"
  const height = () => page.$eval(box, (found) => found.offsetHeight)
  const low = await height()
  await page.focus(box)
  await page.keyboard.press("End")
  await page.keyboard.down("Shift")
  await page.keyboard.press("Enter")
  await page.keyboard.up("Shift")
  await page.keyboard.type("it goes")
  assert.ok((await height()) > low)
  await page.keyboard.press("Enter")
  await until(async () => new URL(page.url()).searchParams.get("text") === "so\nit goes")
  await page.keyboard.type(" on")
  await page.keyboard.press("Escape")
  await until(() => page.$eval(box, (found) => found.value === "so\nit goes" && document.activeElement !== found))
  await page.reload()
  await page.waitForSelector(box)
  assert.equal(await page.$eval(box, (found) => found.value), "so\nit goes")
  await until(async () => (await tokens(page, "reads")).join("") === "so↵it␣goes")
  assert.deepEqual(problems, [])
  await page.close()
})

test("an answer plays to its end", async () => {
  const { page, problems } = await opened("/?text=2&checkpoint=numbers-any", ".whole .stage[data-painted]")
  const said = async () => (await seen(page, ".whole .now")).evaluate((now) => now.textContent)
  await (await seen(page, '.whole [title="Speed of playing"]')).click()
  await (await seen(page, ".whole .stage")).focus()
  await page.keyboard.press(" ")
  await until(async () => /^The text is read once/.test(await said()))
  await seen(page, '.whole [title="Pause"]')
  await seen(page, '.whole [title="Play the steps"]')
  assert.match(await said(), /^Step 2 of 2: .*, writes .*\.$/)
  await until(async () => new URL(page.url()).searchParams.get("t") === "1")
  assert.deepEqual(problems, [])
  await page.close()
})

test("a run is pinned, and the whole runs of both are stepped and zoomed together", async () => {
  const { page, problems } = await opened("/?text=42&checkpoint=numbers-any", ".whole .stage[data-painted]")
  const states = () =>
    page.evaluate(() =>
      [...document.querySelectorAll("*")]
        .flatMap(({ shadowRoot }) => [...(shadowRoot?.querySelectorAll(".whole") ?? [])])
        .map((whole) => ({
          level: whole.querySelector(".stage").dataset.level,
          moves: whole.querySelector(".stage").hasAttribute("data-moving"),
          step: whole.querySelector("input").value,
          said: whole.querySelector(".now").textContent,
        })),
    )
  const bothAre = (level, step) =>
    until(async () => {
      const all = await states()
      return all.length === 2 && all.every((each) => each.level === level && !each.moves && each.step === step)
    })
  await (await page.waitForSelector(".st-key-pin_set button")).click()
  await page.waitForSelector(".st-key-run_whole_1")
  await page.keyboard.press("e")
  await seen(page, "textarea.box")
  await page.keyboard.type("1984")
  await page.keyboard.press("Enter")
  await until(async () => (await states()).length === 2 && new URL(page.url()).searchParams.get("text") === "1984")
  await page.waitForSelector(".stApp[data-test-script-state=notRunning]")
  await bothAre("run", "0")
  await (await seen(page, ".whole .stage")).focus()
  await page.keyboard.press(" ")
  await until(async () => (await states()).every(({ step }) => Number(step) > 0))
  await page.keyboard.press(" ")
  await seen(page, '.whole [title="Play the steps"]')
  const [{ step }] = await states()
  await bothAre("run", step)
  const [a, b] = await states()
  assert.notEqual(a.said, b.said) // each tells its own step
  for (const each of [a, b]) assert.ok(each.said.startsWith(`Step ${Number(step) + 1} of`))
  await page.keyboard.press("+")
  await bothAre("layer", step)
  await until(async () => new URL(page.url()).searchParams.get("level") === "layer")
  await page.keyboard.press("Escape")
  await bothAre("run", step)
  assert.deepEqual(problems, [])
  await page.close()
})
