import { colours } from "./parts/colours.js"
import { element } from "./parts/elements.js"
import { save } from "./parts/exports.js"
import { pictureMenu } from "./parts/menu.js"
import { asker, contextOf, rootIn } from "./parts/stage.js"
import { sans, wrapped } from "./parts/text.js"

/** @import { Component, Root } from "./parts/stage.js" */
/** @import { SavingData } from "./parts/types.js" */

/** @typedef {Root & {given: SavingData}} Saving */

// The menu that saves the plotly chart beside it, as it stands there, in a margin and with a caption under it. data:
// {chart: the class of the container that holds both, caption, name, table: whether it has one}. plotly draws its charts as SVG, maps as pictures in
// it; so the chart is copied element by element, and nothing of it is drawn by us but the letters of a PNG: a picture
// that is made from an SVG has no fonts but the computer's own.

const SVG = "http://www.w3.org/2000/svg"
const [MARGIN, LINE, SIZE, RATIO] = [12, 17, 12, 2]

/** @param {Component} component */
export default function (component) {
  const { parentElement, data } = component
  const known = rootIn(parentElement, "saving")
  const root = /** @type {Saving} */ (known ?? element("div", "component saving"))
  if (!known) {
    root.append(pictureMenu(root, { png: () => png(root), svg: () => svg(root) }))
    parentElement.append(root)
  }
  root.given = data
  root.table = asker(component, data.table)
}

/**
 * @param {string} name
 * @param {Record<string, string | number>} attributes
 * @param {string} [text]
 */
const made = (name, attributes, text) => {
  const node = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value))
  if (text !== undefined) node.textContent = text
  return node
}

/**
 * The layers of the chart, the lowest first: the one that answers to the pointer is drawn above them.
 * @param {Saving} root
 */
function layers(root) {
  const { host } = /** @type {ShadowRoot} */ (root.getRootNode())
  const place = /** @type {Element} */ (host.closest(`.${CSS.escape(root.given.chart)}`))
  const found = [.../** @type {NodeListOf<SVGSVGElement>} */ (place.querySelectorAll(".js-plotly-plot .main-svg"))]
  if (!found.length) throw Error("the chart is not drawn yet: it cannot be saved")
  return found
}

/**
 * The chart on the page's colour with the caption under it, as an SVG of its own, and its size.
 * @param {Saving} root
 */
function copied(root) {
  const found = layers(root)
  const [wide, tall] = [found[0].width.baseVal.value, found[0].height.baseVal.value]
  const ruler = contextOf(document.createElement("canvas"))
  ruler.font = sans(SIZE)
  const lines = wrapped(ruler, root.given.caption, wide)
  const [width, height] = [wide + 2 * MARGIN, tall + 3 * MARGIN + lines.length * LINE]
  const ink = colours(root)
  const picture = made("svg", { width, height, viewBox: `0 0 ${width} ${height}` })
  picture.append(made("rect", { width, height, fill: ink.one("page") }))
  const chart = made("g", { transform: `translate(${MARGIN} ${MARGIN})` })
  for (const layer of found) for (const child of layer.childNodes) chart.append(child.cloneNode(true))
  chart.querySelectorAll(".hoverlayer, .zoomlayer, .dragcover, .draglayer").forEach((layer) => layer.remove())
  chart.querySelectorAll("*").forEach(alone)
  picture.append(chart)
  lines.forEach((line, n) =>
    picture.append(
      made(
        "text",
        {
          x: MARGIN,
          y: tall + 2 * MARGIN + (n + 0.5) * LINE,
          fill: ink.one("muted"),
          "dominant-baseline": "central",
          "font-family": "IBM Plex Sans, Source Sans, sans-serif",
          "font-size": SIZE,
          "xml:space": "preserve",
        },
        line,
      ),
    ),
  )
  return { picture, width, height }
}

/**
 * Makes an element of a chart whole without the page: no address in it, and what the page's style sheets gave it.
 * @param {Element} node
 */
function alone(node) {
  for (const { name, value } of [...node.attributes]) {
    if (name.startsWith("on")) node.removeAttribute(name)
    else if (name.endsWith("href") && !/^(#|data:image\/)/.test(value)) node.removeAttribute(name)
    else if (value.includes("url(")) node.setAttribute(name, value.replace(/url\(\s*(["']?)[^"'()#]*#/g, "url($1#"))
  }
  if (node.classList.contains("crisp")) node.setAttribute("shape-rendering", "crispEdges")
}

const written = (/** @type {Element} */ picture) =>
  new Blob([new XMLSerializer().serializeToString(picture)], { type: "image/svg+xml" })

/** @param {Saving} root */
function svg(root) {
  save(written(copied(root).picture), `${root.given.name}.svg`)
}

/** @param {Saving} root */
async function png(root) {
  const { picture, width, height } = copied(root)
  const place = document.body.appendChild(picture) // letters have places in a page only
  picture.style.cssText = "position: fixed; left: 0; top: 0; visibility: hidden; pointer-events: none"
  const letters = [...picture.querySelectorAll("text")].flatMap((text) => pieces(text))
  place.remove()
  picture.removeAttribute("style")
  picture.querySelectorAll("text").forEach((text) => text.remove())
  const canvas = element("canvas")
  canvas.width = width * RATIO
  canvas.height = height * RATIO
  const context = contextOf(canvas)
  const address = URL.createObjectURL(written(picture))
  const image = new Image()
  image.src = address
  await image.decode()
  context.drawImage(image, 0, 0, canvas.width, canvas.height)
  URL.revokeObjectURL(address)
  for (const { text, x, y, font, fill, opacity, matrix } of letters) {
    context.setTransform(RATIO, 0, 0, RATIO, 0, 0)
    context.transform(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)
    Object.assign(context, { font, fillStyle: fill, globalAlpha: opacity })
    context.fillText(text, x, y)
  }
  canvas.toBlob((blob) => save(/** @type {Blob} */ (blob), `${root.given.name}.png`))
}

/**
 * The parts of a text, each with its place and its look as the browser has worked them out.
 * @param {SVGTextElement} text
 */
function pieces(text) {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT)
  const found = []
  let start = 0
  while (walker.nextNode()) {
    const { data, parentElement } = /** @type {Text & {parentElement: Element}} */ (walker.currentNode)
    const look = getComputedStyle(parentElement)
    const count = text.getNumberOfChars()
    if (data.trim() && start < count && look.display !== "none") {
      const { x, y } = text.getStartPositionOfChar(start)
      const font = `${look.fontWeight} ${look.fontSize} ${look.fontFamily}`
      found.push({
        text: data,
        x,
        y,
        font,
        fill: look.fill,
        opacity: shown(parentElement),
        matrix: /** @type {DOMMatrix} */ (text.getCTM()),
      })
    }
    start += data.length
  }
  return found
}

/**
 * How much of an element is seen: its opacity and that of all it stands in.
 * @param {?Node} node
 */
function shown(node) {
  let opacity = 1
  for (let at = node; at instanceof SVGElement; at = at.parentNode) {
    const look = getComputedStyle(at)
    opacity *= Number(look.opacity) * Number(at === node ? look.fillOpacity : 1)
  }
  return opacity
}
