import assert from "node:assert/strict"
import { test } from "node:test"
import { unpack } from "../../viz_transformer/figures/components/parts/payload.js"

/** A payload as payload.py packs it: the length of the header, the header, the arrays; it begins inside a larger buffer. */
function packed(arrays) {
  const header = { title: "Ein „Wort“", arrays: {} }
  let length = 0
  for (const [name, { encoding, shape, bytes }] of Object.entries(arrays)) {
    header.arrays[name] = { encoding, shape, offset: length, length: bytes.length }
    length += bytes.length
  }
  const text = new TextEncoder().encode(JSON.stringify(header))
  const all = new Uint8Array(3 + 4 + text.length + length)
  new DataView(all.buffer).setUint32(3, text.length, true)
  all.set(text, 7)
  for (const [name, { bytes }] of Object.entries(arrays)) all.set(bytes, 7 + text.length + header.arrays[name].offset)
  return all.subarray(3)
}
const bytesOf = (typed) => new Uint8Array(typed.buffer)

test("numbers come back in their shapes", () => {
  const { header, arrays } = unpack(
    packed({
      exact: { encoding: "float32", shape: [1, 3], bytes: bytesOf(Float32Array.of(0.1, -2, NaN)) },
      roots: { encoding: "sqrt-uint16", shape: [3], bytes: bytesOf(Uint16Array.of(0, 32768, 65535)) },
      coarse: { encoding: "sqrt-uint8", shape: [2], bytes: Uint8Array.of(51, 255) },
    }),
  )
  assert.equal(header.title, "Ein „Wort“")
  assert.deepEqual(arrays.exact.shape, [1, 3])
  assert.deepEqual([...arrays.exact.values], [Math.fround(0.1), -2, NaN])
  assert.equal(arrays.roots.values[0], 0)
  assert.ok(Math.abs(arrays.roots.values[1] - 0.25) < 1e-4)
  assert.equal(arrays.roots.values[2], 1)
  assert.ok(Math.abs(arrays.coarse.values[0] - 0.04) < 1e-6)
  assert.equal(arrays.exact.encoding, "float32")
})

test("bits and digits are unpacked to one number each, and what is behind the last is dropped", () => {
  const { arrays } = unpack(
    packed({
      mask: { encoding: "bits", shape: [2, 5], bytes: Uint8Array.of(0b10100101, 0b10) },
      hexadecimal: { encoding: "base-16", shape: [5], bytes: bytesOf(Uint16Array.of(0x4321, 0x000f)) },
      nines: { encoding: "base-9", shape: [6], bytes: bytesOf(Uint16Array.of(8 + 7 * 9 + 1 * 9 ** 4, 5)) },
    }),
  )
  assert.deepEqual([...arrays.mask.values], [1, 0, 1, 0, 0, 1, 0, 1, 0, 1])
  assert.deepEqual([...arrays.hexadecimal.values], [1, 2, 3, 4, 15])
  assert.deepEqual([...arrays.nines.values], [8, 7, 0, 0, 1, 5])
})

test("a payload within a payload is its bytes", () => {
  const inner = packed({ exact: { encoding: "float32", shape: [2], bytes: bytesOf(Float32Array.of(0.5, -1)) } })
  const { arrays } = unpack(packed({ "detail.0": { encoding: "bytes", shape: [inner.length], bytes: inner } }))
  const { header, arrays: own } = unpack(arrays["detail.0"].values)
  assert.equal(header.title, "Ein „Wort“")
  assert.deepEqual([...own.exact.values], [0.5, -1])
})
