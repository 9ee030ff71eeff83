import { colours } from "./colours.js"
import { element } from "./elements.js"
import { pictureMenu } from "./menu.js"
import { contextOf, zoom } from "./stage.js"
import { SvgContext } from "./svg.js"
import { sans, wrapped } from "./text.js"

/** @import { Context } from "./types.js" */

// Pictures to save: what is drawn is drawn once more, on a canvas of its own or as SVG, with the caption under it.

/**
 * The menu that saves what draw(context) draws, `size()` pixels large, in a margin, with the caption under it.
 * @param {HTMLElement} root
 * @param {{draw: (context: any) => void, size: () => {width: number, height: number}, caption: () => string,
 *   name: () => string}} given
 */
export function exports(root, { draw, size, caption, name }) {
  const layout = () => {
    const [margin, line] = [12 * zoom(root), 17 * zoom(root)]
    const picture = size()
    const font = sans(12 * zoom(root))
    const ruler = contextOf(document.createElement("canvas"))
    ruler.font = font
    const lines = wrapped(ruler, caption(), picture.width)
    const height = picture.height + 3 * margin + lines.length * line
    return { margin, line, font, lines, picture, width: picture.width + 2 * margin, height }
  }
  /**
   * @param {Context} context
   * @param {ReturnType<typeof layout>} laid
   */
  const paint = (context, { margin, line, font, lines, picture, width, height }) => {
    const paper = colours(root)
    context.fillStyle = paper.one("page")
    context.fillRect(0, 0, width, height)
    context.save()
    context.translate(margin, margin)
    draw(context)
    context.restore()
    context.font = font
    context.textAlign = "left"
    context.textBaseline = "middle"
    context.fillStyle = paper.one("muted")
    lines.forEach((text, n) => context.fillText(text, margin, picture.height + 2 * margin + (n + 0.5) * line))
  }
  const png = () => {
    const laid = layout()
    const canvas = element("canvas")
    canvas.width = laid.width * 2
    canvas.height = laid.height * 2
    const context = contextOf(canvas)
    context.scale(2, 2)
    paint(context, laid)
    canvas.toBlob((blob) => blob && save(blob, `${name()}.png`))
  }
  const svg = () => {
    const laid = layout()
    const context = new SvgContext(laid)
    paint(/** @type {Context} */ (context), laid)
    save(new Blob([context.text()], { type: "image/svg+xml" }), `${name()}.svg`)
  }
  return pictureMenu(root, { png, svg })
}

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function save(blob, name) {
  const link = element("a")
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
