// Durations: Go's format (`1h30m`, `250ms`) and the ages that kubectl prints (`5m`, `2d3h`).

/** Thrown for a string that is not a duration; the message is Go's. */
export class DurationError extends Error {
  override readonly name = 'DurationError'
  readonly code = 'InvalidDuration'
}

const unitNanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}

const maxNanoseconds = (1n << 63n) - 1n

/**
 * Parses a Go duration to nanoseconds: `1h30m`, `-1.5s`, `0`.
 * @throws DurationError `InvalidDuration`
 */
export function parseGoDurationNanoseconds(text: string): bigint {
  const quoted = JSON.stringify(text)
  const [, sign, body] = /^([+-]?)(.*)$/s.exec(text)!
  if (body === '0') return 0n
  if (body === '') throw new DurationError(`time: invalid duration ${quoted}`)
  const part = /(\d*)(\.\d*)?([^\d.]*)/y
  let total = 0n
  while (part.lastIndex < body!.length) {
    const [, whole = '', fraction = '', unit = ''] = part.exec(body!)!
    if (whole === '' && fraction.length < 2) throw new DurationError(`time: invalid duration ${quoted}`)
    if (unit === '') throw new DurationError(`time: missing unit in duration ${quoted}`)
    const size = Object.hasOwn(unitNanoseconds, unit) ? unitNanoseconds[unit] : undefined
    if (size === undefined) throw new DurationError(`time: unknown unit ${JSON.stringify(unit)} in duration ${quoted}`)
    const digits = fraction.slice(1)
    total += BigInt(whole || '0') * size + (BigInt(digits || '0') * size) / 10n ** BigInt(digits.length)
    if (total > maxNanoseconds + (sign === '-' ? 1n : 0n)) throw new DurationError(`time: invalid duration ${quoted}`)
  }
  return sign === '-' ? -total : total
}

/**
 * Parses a Go duration to milliseconds, fractions included.
 * @throws DurationError `InvalidDuration`
 */
export function parseGoDuration(text: string): number {
  return Number(parseGoDurationNanoseconds(text)) / 1e6
}

/** Formats nanoseconds as Go does: `1h0m0s`, `1.5s`, `250ms`, `0s`. */
export function formatGoDurationNanoseconds(nanoseconds: bigint): string {
  const negative = nanoseconds < 0n
  const size = negative ? -nanoseconds : nanoseconds
  const sign = negative ? '-' : ''
  if (size === 0n) return '0s'
  for (const unit of ['ns', 'µs', 'ms'] as const) {
    const scale = unitNanoseconds[unit]!
    if (size < scale * 1000n) return `${sign}${decimal(size, scale)}${unit}`
  }
  const second = unitNanoseconds['s']!
  const minutes = size / (60n * second)
  const seconds = `${decimal(size % (60n * second), second)}s`
  if (minutes === 0n) return sign + seconds
  const hours = minutes / 60n
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`
}

/** Formats milliseconds as Go does. */
export function formatGoDuration(milliseconds: number): string {
  return formatGoDurationNanoseconds(BigInt(Math.round(milliseconds * 1e6)))
}

function decimal(value: bigint, scale: bigint): string {
  const digits = String(scale).length - 1
  const fraction = String(value % scale)
    .padStart(digits, '0')
    .replace(/0+$/, '')
  return digits === 0 || fraction === '' ? String(value / scale) : `${value / scale}.${fraction}`
}

/**
 * Formats an age in milliseconds as kubectl's AGE columns do: with two units while the second is significant, then with
 * one.
 */
export function humanAge(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000)
  if (seconds < -1) return '<invalid>'
  if (seconds < 0) return '0s'
  if (seconds < 120) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 10) return pair(minutes, 'm', seconds % 60, 's')
  if (minutes < 180) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 8) return pair(hours, 'h', minutes % 60, 'm')
  if (hours < 48) return `${hours}h`
  const days = Math.floor(hours / 24)
  if (hours < 192) return pair(days, 'd', hours % 24, 'h')
  if (days < 730) return `${days}d`
  const years = Math.floor(days / 365)
  return days < 8 * 365 ? pair(years, 'y', days % 365, 'd') : `${years}y`
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`
}
