// Streamlit also ends a call of a component that was overtaken while its module was fetched: the component stays.
import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { ending } from "../../viz_transformer/figures/components/parts/stage.js"

const COMPONENTS = new URL("../../viz_transformer/figures/components/", import.meta.url)

test("only the last call ends a component, and it does whichever ends first", () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    let ended = 0
    const root = /** @type {any} */ ({ vt: {} })
    const ends = [1, 2].map(() => ending(root, () => ended++))
    ends[order[0]]()
    assert.equal(ended, order[0])
    ends[order[1]]()
    assert.equal(ended, 1)
  }
})

test("no component takes its root away but by `ending`", () => {
  const files = readdirSync(COMPONENTS).filter((name) => name.endsWith(".js"))
  const texts = files.map((name) => readFileSync(new URL(name, COMPONENTS), "utf8"))
  assert.ok(texts.filter((text) => text.includes("ending(root")).length >= 8)
  const unguarded = (/** @type {string} */ text) => /return \(\) => \{[^}]*\broot\.remove\(\)/.test(text)
  assert.deepEqual(
    files.filter((_, n) => unguarded(texts[n])),
    [],
  )
})
