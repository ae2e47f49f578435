// Numbers as Kubernetes decodes and Go prints them; bounds in messages are integers beside an int64 value, else
// float64s.

/** Reports whether Kubernetes decodes a number as an int64: it has no fraction and is in range. */
export function isInt64(value: number | bigint): boolean {
  return typeof value === 'bigint' || (Number.isInteger(value) && value >= -(2 ** 63) && value < 2 ** 63)
}

/** Formats a float64 as Go's `%v` does: the shortest digits, with an exponent below 1e-04 and from 1e+06 on. */
export function formatGoFloat(value: number): string {
  const [mantissa, exponentDigits] = value.toExponential().split('e') as [string, string]
  const exponent = Number(exponentDigits)
  if (exponent >= -4 && exponent < 6) return String(value)
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
}

/** Formats a bound as messages show it beside a value. */
export function formatBound(bound: number, value: number | bigint): string {
  return isInt64(value) ? BigInt(Math.trunc(bound)).toString() : formatGoFloat(bound)
}
