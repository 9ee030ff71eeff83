import assert from "node:assert/strict"
import { test } from "node:test"
import {
  among,
  isolated,
  mention,
  onOneLine,
  quoted,
  shorten,
  signsOf,
  wrapped,
  wrappedTo,
} from "../../viz_transformer/figures/components/parts/text.js"

const context = { measureText: (text) => ({ width: 10 * [...new Intl.Segmenter().segment(text)].length }) } // all letters alike

test("a text is shortened to the pixels there are, and between signs", () => {
  assert.equal(shorten(context, "twenty", 60), "twenty")
  assert.equal(shorten(context, "twenty", 50), "twen…")
  assert.equal(shorten(context, "e\u0301e\u0301e\u0301", 20), "e\u0301…")
  assert.equal(shorten(context, "twenty", 5), "…")
  const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}"
  assert.equal(shorten(context, family.repeat(20), 40), `${family.repeat(3)}…`) // no half of a family
})

test("a sign of several code points is one", () => {
  const signs = ["e\u0301", "\u{1f1e9}\u{1f1ea}", "\u{1f469}\u{1f3fd}\u200d\u{1f680}", "\u2764\ufe0f", "a"]
  assert.deepEqual(signsOf(signs.join("")), signs)
})

test("lines are parted at blanks, and long words between their signs", () => {
  assert.deepEqual(wrapped(context, "one two three", 70), ["one two", "three"])
  assert.deepEqual(wrapped(context, "a abcdefg", 30), ["a", "abc", "def", "g"])
  assert.deepEqual(wrapped(context, "", 30), [""])
})

test("a text of several lines is written on one, with a sign for each break", () => {
  assert.equal(onOneLine("\nso\tit\u00a0goes\r\n"), "↵so it goes↵↵")
})

test("a token is said as it is read, with what was typed, and letters from right to left stay together", () => {
  assert.equal(quoted({ text: "a" }), "“a”")
  assert.equal(quoted({ text: "<unk>", note: "ä" }), "“<unk>”, typed “ä”")
  for (const text of ["שלום", "عالم"]) assert.equal(isolated(text), `\u2068${text}\u2069`)
  assert.equal(quoted({ text: "<unk>", note: "שלום" }), "“<unk>”, typed “\u2068שלום\u2069”")
})

test("steps, ranks and rows are counted from 1", () => {
  assert.equal(among(0, 14), "1 of 14")
  assert.equal(among(13, 14), "14 of 14")
  assert.equal(among(0, 1), "1 of 1")
})

test("a special token in a sentence is as it is, and what was typed is between quotation marks", () => {
  assert.equal(mention({ text: "<s>", special: true }), "<s>")
  assert.equal(mention({ text: "<s>" }), "“<s>”")
  assert.equal(mention({ text: "<unk>", special: true, note: "ä" }), "“<unk>”, typed “ä”")
})

test("a text has no more lines than it may, and what does not fit into one is shortened", () => {
  assert.deepEqual(wrappedTo(context, "one two three", 70, 3), ["one two", "three"])
  assert.deepEqual(wrappedTo(context, "one two three four", 70, 2), ["one two", "three …"])
  assert.deepEqual(wrappedTo(context, "extraordinary one", 70, 3), ["extrao…", "one"])
  assert.deepEqual(wrappedTo(context, "", 70, 3), [""])
})
