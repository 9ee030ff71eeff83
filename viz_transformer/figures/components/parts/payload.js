// What Python sends, read: payload.py has the other half.

/** @import { Numbers, Payload } from "./types.js" */

/** @type {Record<string, (bytes: Uint8Array<ArrayBuffer>, count: number) => Float32Array | Uint8Array<ArrayBuffer>>} */
const DECODERS = {
  "float32": (bytes) => new Float32Array(bytes.buffer),
  "sqrt-uint16": (bytes) => squares(new Uint16Array(bytes.buffer), 65535),
  "sqrt-uint8": (bytes) => squares(bytes, 255),
  "base-16": (bytes, count) => digits(new Uint16Array(bytes.buffer), count, 16, 4),
  "base-9": (bytes, count) => digits(new Uint16Array(bytes.buffer), count, 9, 5),
  "bytes": (bytes) => bytes,
  "bits": (bytes, count) => {
    const values = new Uint8Array(count)
    for (let i = 0; i < count; i++) values[i] = (bytes[i >> 3] >> (i & 7)) & 1
    return values
  },
}

/**
 * @param {ArrayLike<number>} roots
 * @param {number} most
 */
const squares = (roots, most) => {
  const table = Float32Array.from({ length: most + 1 }, (_, root) => Math.fround(root / most) ** 2)
  const values = new Float32Array(roots.length)
  for (let i = 0; i < roots.length; i++) values[i] = table[roots[i]]
  return values
}

/**
 * @param {Uint16Array} numbers
 * @param {number} count
 * @param {number} base
 * @param {number} each
 */
const digits = (numbers, count, base, each) => {
  const values = new Uint8Array(count)
  for (let i = 0, at = 0; i < numbers.length; i++)
    for (let rest = numbers[i], end = at + each; at < end; rest = (rest / base) | 0) values[at++] = rest % base
  return values
}

/**
 * The header of a payload, and its arrays as {shape, values, encoding}.
 * @param {Uint8Array<ArrayBuffer>} payload
 * @returns {Payload}
 */
export function unpack(payload) {
  const start = 4 + new DataView(payload.buffer, payload.byteOffset).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(payload.subarray(4, start)))
  /** @type {Record<string, {encoding: string, shape: number[], offset: number, length: number}>} */
  const described = header.arrays
  /** @type {Record<string, Numbers>} */
  const arrays = {}
  for (const [name, { encoding, shape, offset, length }] of Object.entries(described)) {
    const bytes = payload.slice(start + offset, start + offset + length)
    const count = shape.reduce((product, side) => product * side, 1)
    arrays[name] = { shape, encoding, values: DECODERS[encoding](bytes, count) }
  }
  return { header, arrays }
}
