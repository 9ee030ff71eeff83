// A 2d context that draws nothing: it writes down what it is asked to draw, each with the look that it has then.

const LOOK = { fillStyle: "", strokeStyle: "", lineWidth: 1, globalAlpha: 1, font: "", textAlign: "left" }
/** How wide each sign of a text is: 0.6 of the size of a mono type, half of any other's. */
const wideIn = (font) => Number(font.match(/([\d.]+)px/)?.[1] ?? 10) * (font.includes("Mono") ? 0.6 : 0.5)

/** A context whose `calls` can be read: {name, given, look}, those since all was cleared. @returns {any} */
export function recordingContext() {
  /** @type {any} */
  const context = {
    ...LOOK,
    calls: [],
    measureText: (text) => ({ width: wideIn(context.font) * text.length }),
    clearRect: () => (context.calls.length = 0),
  }
  const note = (name, given) => {
    const look = Object.fromEntries(Object.keys(LOOK).map((each) => [each, context[each]]))
    context.calls.push({ name, given, look })
  }
  return new Proxy(context, { get: (_, name) => context[name] ?? ((...given) => note(name, given)) })
}

const callsOf = ({ calls }, called) => calls.filter(({ name }) => name === called)
/** The texts that are drawn, with the opacity that each has. */
export const textsOn = (context) =>
  callsOf(context, "fillText").map(({ given: [text, x, y], look }) => {
    return { text, x, y, ink: look.fillStyle, opacity: look.globalAlpha, font: look.font, align: look.textAlign }
  })
/** The boxes that are filled. */
export const boxesOn = (context) =>
  callsOf(context, "fillRect").map(({ given: [x, y, w, h], look }) => {
    return { x, y, w, h, ink: look.fillStyle, opacity: look.globalAlpha }
  })
/** The boxes that have a frame. */
export const framesOn = (context) =>
  callsOf(context, "strokeRect").map(({ given: [x, y, w, h], look }) => ({ x, y, w, h, ink: look.strokeStyle }))
/** The lines that are drawn, each the points that it goes through. */
export const linesOn = (context) => {
  const found = []
  let points = []
  for (const { name, given, look } of context.calls)
    if (name === "beginPath") points = []
    else if (name === "moveTo" || name === "lineTo") points.push(given)
    else if (name === "stroke")
      found.push({ points, ink: look.strokeStyle, opacity: look.globalAlpha, thick: look.lineWidth })
  return found
}
