// Motion between two states, which are drawn as they are without it: only places and lengths are in between, no number.

const PACE = { duration: 320, easing: "ease-in-out" }

/** Whether motion is not wanted: then states change at once. */
export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches

/**
 * Lets an element come to where it is from what it was.
 * @param {Element} element
 * @param {Keyframe} from
 */
export const comeFrom = (element, from) => element.animate([from, {}], PACE)
