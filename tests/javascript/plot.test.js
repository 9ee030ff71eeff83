// What pictures do at a gesture, with one that is a row of letters.
import assert from "node:assert/strict"
import { test } from "node:test"
import { choose, hover, hush, listenOn, tell } from "../../viz_transformer/figures/components/parts/plot.js"
import { selection } from "../../viz_transformer/figures/components/parts/selection.js"

const LETTERS = "abcd"
const keyed = (/** @type {string} */ key) => ({ ArrowRight: 1, ArrowLeft: -1 })[key] ?? 0
/** @returns {any} */
function letters(changes = {}) {
  /** @type {string[]} */
  const said = []
  const plot = {
    said,
    place: null, // nothing is painted
    hovered: null,
    focused: null,
    elsewhere: null,
    told: null,
    chosen: 1,
    root: {},
    stage: { matches: () => true, classList: { toggle() {} } },
    tip: {
      show: (/** @type {string[]} */ lines, /** @type {number} */ x) => said.push(`tip ${lines} ${x}`),
      hide: () => said.push("hidden"),
    },
    announce: (/** @type {string} */ text) => said.push(`says ${text}`),
    picture: {
      view: (/** @type {any} */ { chosen }) => ({ chosen }),
      describe: (/** @type {any} */ _, /** @type {number} */ n) => [LETTERS[n]],
      at: (/** @type {any} */ _, /** @type {number} */ n) => ({ x: 10 * n, y: 0 }),
      keys: (/** @type {any} */ { chosen }, /** @type {any} */ { key }, from = chosen) =>
        keyed(key) ? from + keyed(key) : null,
      choose(/** @type {any} */ at, /** @type {number} */ n, /** @type {number} */ settle) {
        said.push(`chooses ${n} after ${settle}`)
        at.chosen = n
      },
      fields: (/** @type {any} */ _, /** @type {number} */ n) => ({ t: n }),
      ...changes,
    },
  }
  return plot
}
const press = (/** @type {any} */ plot, /** @type {string} */ key, more = {}) => {
  let taken = false
  plot.stage.onkeydown({ key, preventDefault: () => (taken = true), ...more })
  return taken
}

test("a key chooses what it leads to, says it once and shows it", () => {
  const plot = letters()
  listenOn(plot)
  plot.hovered = 3
  assert.equal(press(plot, "ArrowRight"), true)
  assert.deepEqual(plot.said, ["chooses 2 after 150", "says c", "tip c 20"])
  assert.deepEqual([plot.hovered, plot.told], [null, { item: 2, x: 20, y: 0 }])
})

test("other keys, and keys with Control, Alt or Command, stay the browser's", () => {
  const plot = letters()
  listenOn(plot)
  for (const more of [{ ctrlKey: true }, { altKey: true }, { metaKey: true }])
    assert.equal(press(plot, "ArrowRight", more), false)
  assert.equal(press(plot, "x"), false)
  assert.deepEqual(plot.said, [])
  assert.equal(press(plot, "Escape"), false)
  assert.deepEqual(plot.said, ["hidden"])
  const own = letters({ press: (/** @type {any} */ _, /** @type {any} */ { key }) => key === "+" })
  listenOn(own)
  assert.deepEqual([press(own, "+"), press(own, "-")], [true, false])
})

test("where keys start somewhere they go there without choosing, and Enter chooses", () => {
  const plot = letters({ start: (/** @type {any} */ { chosen }) => chosen })
  listenOn(plot)
  plot.stage.onfocus()
  assert.equal(press(plot, "ArrowRight"), true)
  assert.deepEqual([plot.chosen, plot.focused], [1, 2])
  assert.deepEqual(plot.said, ["says b", "tip b 10", "says c", "tip c 20"])
  assert.equal(press(plot, "Enter"), true)
  assert.equal(plot.chosen, 2)
  assert.deepEqual(plot.said.slice(4), ["chooses 2 after 0", "says chosen: c"])
  plot.stage.onblur()
  assert.deepEqual([plot.focused, plot.said.at(-1)], [null, "hidden"])
})

test("pictures beside one hear of what is pointed at when it is another", () => {
  const heard = /** @type {any[]} */ ([])
  const deaf = selection.onPoint({}, (fields) => heard.push(fields))
  const plot = letters()
  hover(plot, 2, { x: 21, y: 3 })
  hover(plot, 2, { x: 25, y: 3 })
  hover(plot, 0)
  hover(plot, null)
  deaf()
  assert.deepEqual(heard, [{ t: 2 }, { t: 0 }, null])
  assert.deepEqual(plot.said, ["tip c 21", "tip c 25", "tip a 0", "hidden"])
})

test("the tooltip stands where the picture wants it, and what it tells of is forgotten with it", () => {
  const shown = /** @type {any[]} */ ([])
  const plot = letters({ show: (/** @type {any[]} */ ...given) => shown.push(given.slice(1)) })
  tell(plot, 3)
  assert.deepEqual(shown, [[["d"], 3, 30, 0]])
  hush(plot)
  assert.deepEqual([plot.told, plot.said], [null, ["hidden"]])
  choose(plot, 0, 7)
  assert.deepEqual(plot.said.slice(1), ["chooses 0 after 7", "says a"])
})
