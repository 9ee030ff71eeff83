// Takes the server's batches apart into the messages that Streamlit's page listens for: batches.py says what they are.

const LITERAL = 0
const REMEMBERED = 1
const KNOWN = 2
const FORGOTTEN = 3

/** The messages of one connection. */
export class Unpacker {
  /** @type {Map<number, Uint8Array>} */
  #remembered = new Map()
  #count = 0

  /**
   * The messages of a batch, in order.
   * @param {ArrayBuffer} batch
   */
  unpack(batch) {
    const records = new DataView(batch)
    /** @type {ArrayBuffer[]} */
    const messages = []
    /** @type {Uint8Array[]} */
    let parts = []
    for (let at = 0; at < batch.byteLength; ) {
      const kind = records.getUint8(at)
      const number = records.getUint32(at + 1, true)
      at += 5
      if (kind === LITERAL || kind === REMEMBERED) {
        parts.push(new Uint8Array(batch, at, number))
        at += number
        if (kind === REMEMBERED) this.#remembered.set(this.#count++, parts[parts.length - 1].slice())
      } else if (kind === KNOWN) parts.push(this.#known(number))
      else if (kind === FORGOTTEN) this.#remembered.delete(number)
      else {
        messages.push(joined(parts))
        parts = []
      }
    }
    return messages
  }

  /** @param {number} number */
  #known(number) {
    const part = this.#remembered.get(number)
    if (!part) throw new Error(`the server names part ${number}, which it has not sent`)
    return part
  }
}

/** @param {Uint8Array[]} parts */
const joined = (parts) => {
  const whole = new Uint8Array(parts.reduce((bytes, part) => bytes + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole.buffer
}

/**
 * The class with sockets that ask for batches, where they are Streamlit's.
 * @param {typeof WebSocket} Socket
 */
export const batched = (Socket) =>
  class extends Socket {
    /** @param {string | URL} url @param {string | string[]} [protocols] */
    constructor(url, protocols) {
      const address = new URL(url)
      const streams = address.pathname.endsWith("/_stcore/stream")
      if (streams) address.search = "batches"
      super(address, protocols)
      if (!streams) return
      const unpacker = new Unpacker()
      // the first listener, so that the others hear of messages alone
      this.addEventListener("message", (event) => {
        if (!event.isTrusted) return
        event.stopImmediatePropagation()
        for (const data of unpacker.unpack(event.data)) {
          this.dispatchEvent(new MessageEvent("message", { data, origin: event.origin }))
        }
      })
    }
  }

if (globalThis.document) globalThis.WebSocket = batched(globalThis.WebSocket)
