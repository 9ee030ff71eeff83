import { alone, focused } from "./typing.js"

// The keys of a box for a text, which may have several lines: Enter runs it, with Shift it breaks the line, Escape leaves
// it. On pages such a box is Streamlit's text area, which by itself runs at Ctrl and Enter or where it is left.

// Enter and Escape that end or drop a character that is put together belong to that; Safari says so by the code only.
const composes = (/** @type {KeyboardEvent} */ event) => event.isComposing || event.keyCode === 229
/** Whether a key runs the text of a box. */
export const runsBox = (/** @type {KeyboardEvent} */ event) =>
  event.key === "Enter" && !event.shiftKey && !composes(event)
/** Whether a key leaves a box, as if nothing had been written. */
export const leavesBox = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && !composes(event)

/** The box of the page that an event is of. */
const boxOf = (/** @type {Event} */ event) => {
  const box = focused(event)
  return box instanceof HTMLTextAreaElement && box.closest(".stTextArea") ? box : null
}

/** Puts a text into a box as if it were typed: React does not hear of what is assigned to its `value`. */
const typeInto = (/** @type {HTMLTextAreaElement} */ box, /** @type {string} */ text) => {
  box.setRangeText(text, 0, box.value.length, "end")
  box.dispatchEvent(new InputEvent("input", { bubbles: true }))
}

/** Gives all boxes of the page their keys, those that come later too. */
export const listenToBoxes = () => {
  /** The texts of boxes before somebody wrote in them. @type {WeakMap<HTMLTextAreaElement, string>} */
  const texts = new WeakMap()
  const on = (/** @type {string} */ type, /** @type {(box: HTMLTextAreaElement, event: Event) => void} */ does) =>
    document.addEventListener(
      type,
      (event) => {
        const box = boxOf(event)
        if (box) does(box, event)
      },
      true,
    )
  on("focusin", (box) => {
    box.spellcheck = false // as in a box of one line: a text may be of any language, or of none
  })
  on("beforeinput", (box) => {
    if (!texts.has(box)) texts.set(box, box.value)
  })
  on("focusout", (box) => texts.delete(box))
  on("keydown", (box, event) => {
    if (!(event instanceof KeyboardEvent) || !alone(event)) return
    if (runsBox(event)) {
      texts.delete(box)
      box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true }))
    } else if (leavesBox(event)) {
      const text = texts.get(box)
      if (text !== undefined) typeInto(box, text)
      setTimeout(() => box.blur()) // the box has its text again by then, so that there is nothing to run
    } else return
    event.preventDefault()
  })
}
