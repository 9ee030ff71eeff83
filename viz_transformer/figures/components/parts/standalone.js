import { selection } from "./selection.js"

/** @import { Component } from "./stage.js" */

// A component on a page of its own, a file or a frame in a notebook: standalone.py writes the page.

/**
 * Draws what the page holds: the bytes of the payload, compressed, are the text of #payload, and #picture says what is
 * chosen to begin with. Nobody else is told what is chosen here. In a frame, the frame becomes as tall as the picture.
 * @param {(given: Component & {setStateValue: () => void}) => void} component
 */
export async function standAlone(component) {
  const parentElement = /** @type {HTMLElement} */ (document.querySelector("#picture"))
  selection.receive(JSON.parse(parentElement.dataset.chosen ?? ""), "")
  const packed = Uint8Array.from(atob(document.querySelector("#payload")?.textContent ?? ""), (sign) =>
    sign.charCodeAt(0),
  )
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"))
  const planes = new Uint8Array(await new Response(stream).arrayBuffer())
  const data = new Uint8Array(planes.length)
  const count = planes.length / 4
  for (let plane = 0; plane < 4; plane++)
    for (let i = 0; i < count; i++) data[4 * i + plane] = planes[plane * count + i]
  component({ parentElement, data, setTriggerValue() {}, setStateValue() {} })
  const frame = /** @type {HTMLElement} */ (window.frameElement)
  if (frame)
    new ResizeObserver(() => {
      frame.style.height = `${document.documentElement.offsetHeight}px`
    }).observe(document.body)
}
