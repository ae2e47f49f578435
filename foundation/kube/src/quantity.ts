// Quantities of resources (`500m`, `1.5Gi`, `12e6`): exact arithmetic and the canonical form that the API server
// stores.

/** The format of a quantity: powers of 1024, of 1000, or an exponent. */
export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent'

/** An exact amount in billionths (`nanos`), the precision of Kubernetes. */
export interface Quantity {
  readonly nanos: bigint
  readonly format: QuantityFormat
}

/** Thrown for a string that is not a quantity; the message is the API server's. */
export class QuantityError extends Error {
  override readonly name = 'QuantityError'
  readonly code = 'InvalidQuantity'
}

const billion = 1_000_000_000n
const largest = ((1n << 63n) - 1n) * billion

const formMessage = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
const quantityForm = /^([+-]?)(\d*)(?:\.(\d*))?([eEinumkKMGTP]*[-+]?\d*)$/

const decimalSuffixes: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
}
const binarySuffixes: Readonly<Record<string, number>> = { Ki: 1, Mi: 2, Gi: 3, Ti: 4, Pi: 5, Ei: 6 }

/**
 * Parses a quantity. Fractions of a billionth are rounded away from zero; binary ones beyond int64 are capped.
 * @throws QuantityError `InvalidQuantity`
 */
export function parseQuantity(text: string): Quantity {
  const match = quantityForm.exec(text)
  if (match === null) throw new QuantityError(formMessage)
  const [, sign, whole = '', fraction = '', suffix = ''] = match
  if (whole === '' && fraction === '') throw new QuantityError(formMessage)
  const { base, exponent, format } = readSuffix(suffix)
  const digits = BigInt(whole + fraction)
  let numerator = digits * billion
  let denominator = 10n ** BigInt(fraction.length)
  if (base === 1024n) numerator *= 1024n ** BigInt(exponent)
  else if (exponent >= 0) numerator *= 10n ** BigInt(exponent)
  else denominator *= 10n ** BigInt(-exponent)
  let nanos = numerator / denominator
  if (numerator % denominator !== 0n) nanos += 1n
  if (base === 1024n && nanos > largest) nanos = largest
  return { nanos: sign === '-' ? -nanos : nanos, format }
}

function readSuffix(suffix: string): { base: bigint; exponent: number; format: QuantityFormat } {
  if (Object.hasOwn(decimalSuffixes, suffix))
    return { base: 10n, exponent: decimalSuffixes[suffix]!, format: 'DecimalSI' }
  if (Object.hasOwn(binarySuffixes, suffix))
    return { base: 1024n, exponent: binarySuffixes[suffix]!, format: 'BinarySI' }
  const match = /^[eE]([+-]?\d+)$/.exec(suffix)
  const exponent = Number(match?.[1])
  if (match === null || Math.abs(exponent) > 127) throw new QuantityError("unable to parse quantity's suffix")
  return { base: 10n, exponent, format: 'DecimalExponent' }
}

/** Reports whether a string is a quantity. */
export function isQuantity(text: string): boolean {
  try {
    parseQuantity(text)
    return true
  } catch {
    return false
  }
}

/** Formats a quantity in canonical form: no precision lost, no fraction, the largest suffix possible. */
export function formatQuantity({ nanos, format }: Quantity): string {
  if (nanos === 0n) return '0'
  const small = nanos > -1024n * billion && nanos < 1024n * billion
  if (format === 'BinarySI' && !small && nanos % billion === 0n) {
    const { mantissa, power } = factorOut(nanos / billion, 1024n, 6)
    return `${mantissa}${Object.keys(binarySuffixes)[power - 1] ?? ''}`
  }
  const { mantissa, power } = factorOut(nanos, 1000n, format === 'DecimalExponent' ? Infinity : 9)
  const exponent = power * 3 - 9
  if (format === 'DecimalExponent') return exponent === 0 ? String(mantissa) : `${mantissa}e${exponent}`
  return `${mantissa}${Object.keys(decimalSuffixes)[power]}`
}

function factorOut(value: bigint, base: bigint, limit: number): { mantissa: bigint; power: number } {
  let mantissa = value
  let power = 0
  while (power < limit && mantissa % base === 0n) {
    mantissa /= base
    power++
  }
  return { mantissa, power }
}

/**
 * Returns a quantity string as the API server stores it: in canonical form, so that `1024Mi` is `1Gi` and `0.5` is
 * `500m`. A decimal one that is canonical but for a sign, a dot or zeros behind the dot stays as it is (ParseQuantity
 * of apimachinery).
 * @throws QuantityError `InvalidQuantity`
 */
export function canonicalQuantity(text: string): string {
  const trimmed = text.trim()
  const quantity = parseQuantity(trimmed)
  return quantity.format !== 'BinarySI' && isTakenAsWritten(trimmed) ? trimmed : formatQuantity(quantity)
}

/** Reports whether a decimal quantity of at most 18 digits has an exponent in thousands and no digits to spare. */
function isTakenAsWritten(text: string): boolean {
  const [, , whole = '', fraction = '', suffix = ''] = quantityForm.exec(text)!
  const digits = whole.replace(/^0+/, '') + fraction
  const scale = readSuffix(suffix).exponent - fraction.length
  if (digits === '' || digits.length > 18 || scale < -9 || scale % 3 !== 0) return false
  return !digits.endsWith('000') && !digits.startsWith('0')
}

/** Compares quantities: negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
}

/** Returns the sum, in the format of `a`; of `b` when `a` is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format }
}

/** Returns the difference, in the format of `a`; of `b` when `a` is zero. */
export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format }
}
