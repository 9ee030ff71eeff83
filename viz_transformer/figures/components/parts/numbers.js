// Numbers as text, as numerals.py writes them.

/**
 * The number with `digits` decimals, a tie to the even one, as Python rounds.
 * @param {number} value
 * @param {number} digits
 */
export function fixed(value, digits) {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}${digits ? "." : ""}${"0".repeat(digits)}`
  const text = value.toFixed(digits)
  const [whole, tail] = Math.abs(value)
    .toFixed(Math.min(100, digits + 30))
    .split(".")
  if (!/^50*$/.test(tail.slice(digits))) return text
  const digit = digits ? tail[digits - 1] : whole.at(-1)
  if (Number(digit) % 2) return text
  return (value < 0 ? "-" : "") + (digits ? `${whole}.${tail.slice(0, digits)}` : whole)
}

/**
 * The value with `digits` decimals; below what they can show "<0.0001", and 0 only if it is 0.
 * @param {number} value
 */
export function number(value, digits = 4) {
  const smallest = 10 ** -digits
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "not a number" : value > 0 ? "∞" : "-∞"
  if (value > 0 && value < smallest) return `<${smallest.toFixed(digits)}`
  if (value < 0 && value > -smallest) return `>-${smallest.toFixed(digits)}`
  return fixed(value, digits)
}

/**
 * A log-probability: "about 0" below 0 where its digits cannot show it.
 * @param {number} value
 */
export const logProbability = (value, digits = 2) =>
  value < 0 && value > -(10 ** -digits) ? "about 0" : number(value, digits)

/**
 * The number, with the value itself on the right side of the end if it is not the end.
 * @param {number} value
 * @param {number} digits
 * @param {number} end
 */
function ended(value, digits, end) {
  const size = Math.abs(value)
  if (!Number.isFinite(size) || size === end || Number(fixed(size, digits)) !== end) return number(value, digits)
  const near = fixed(end + Math.sign(size - end) * 10 ** -digits, digits)
  return value > 0 ? `${size > end ? "<" : ">"}${near}` : `${size > end ? ">" : "<"}-${near}`
}

/**
 * A weight or a probability; 0.0000 and 1.0000 are said only of exactly 0 and 1.
 * @param {number} value
 */
export const share = (value, digits = 4) => ended(value, digits, 1)

/**
 * A value after its name: "weight 0.2500", and "weight: not a number" where there is none.
 * @param {string} name
 * @param {number} value
 * @param {string} text of the value
 */
export const valued = (name, value, text) => (Number.isNaN(value) ? `${name}: not a number` : `${name} ${text}`)

/**
 * What some of these values are, those that are counted, if they are not finite: "not a number", "infinite", both, or "".
 * @param {ArrayLike<number>} values
 * @param {?ArrayLike<number> | undefined} counted 0 where a value does not count
 */
export function notFinite(values, counted = null) {
  let [none, infinite] = [false, false]
  for (let i = 0; i < values.length; i++) {
    if (Number.isFinite(values[i]) || counted?.[i] === 0) continue
    if (Number.isNaN(values[i])) none = true
    else infinite = true
  }
  return [none && "not a number", infinite && "infinite"].filter(Boolean).join(" or ")
}

/**
 * e to the value; rounding makes it neither 0 nor 1.
 * @param {number} value
 */
export function exponential(value) {
  const found = Math.exp(value)
  if (found === 1 && value !== 0) return value < 0 ? 1 - 2 ** -53 : 1 + 2 ** -52
  return found === 0 && value > -Infinity ? Number.MIN_VALUE : found
}

/**
 * A share in percent; 0 and 100 are said only of none and all.
 * @param {number} value
 */
export function percent(value, digits = 1) {
  if (!Number.isFinite(value)) return number(value)
  return value === 0 || value === 1 ? `${100 * value} %` : `${ended(100 * value, digits, 100)} %`
}

/**
 * A float32 with the fewest digits that tell it from all others, or with `most` of them.
 * @param {number} value
 */
export function fewestDigits(value, most = 9) {
  if (!Number.isFinite(value)) return number(value)
  let digits = 1
  while (digits < most && Math.fround(Number(value.toPrecision(digits))) !== value) digits++
  const [mantissa, power] = value.toExponential(digits - 1).split("e")
  const exponent = Number(power)
  if (value === 0 || (exponent >= -4 && exponent < 9)) return String(Number(value.toPrecision(digits)))
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}
