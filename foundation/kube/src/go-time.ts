// Times as Go parses and prints them: Kubernetes' metav1.Time (whole seconds) and metav1.MicroTime (six decimals), with
// Go's error messages.

/** A point in time: seconds since the epoch and nanoseconds within the second. */
export interface GoTime {
  readonly seconds: number
  readonly nanos: number
}

/**
 * Thrown for a string that is not a time; the message is that of Go's time.Parse.
 * @internal becomes a 400
 */
export class GoTimeSyntaxError extends Error {
  readonly code = 'InvalidTime'
}

const rfc3339 = '2006-01-02T15:04:05Z07:00'
const rfc3339Micro = '2006-01-02T15:04:05.000000Z07:00'

/** Parses a metav1.Time: RFC 3339, a fraction is allowed. @throws GoTimeSyntaxError */
export function parseGoTime(text: string): GoTime {
  return parse(text, rfc3339)
}

/** Parses a metav1.MicroTime: RFC 3339 with exactly six decimals. @throws GoTimeSyntaxError */
export function parseGoMicroTime(text: string): GoTime {
  return parse(text, rfc3339Micro)
}

/** Formats a metav1.Time: `2006-01-02T15:04:05Z`. */
export function formatGoTime({ seconds }: GoTime): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`
}

/** Formats a metav1.MicroTime: `2006-01-02T15:04:05.000000Z`. */
export function formatGoMicroTime({ seconds, nanos }: GoTime): string {
  const micros = Math.trunc(nanos / 1000)
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(micros).padStart(6, '0')}Z`
}

function parse(text: string, layout: string): GoTime {
  let rest = text
  const fail = (element: string, at = rest): never => {
    throw new GoTimeSyntaxError(
      `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(at)} as ${JSON.stringify(element)}`,
    )
  }
  const range = (name: string): never => {
    throw new GoTimeSyntaxError(`parsing time ${JSON.stringify(text)}: ${name} out of range`)
  }
  const digits = (count: number, element: string): number => {
    const part = rest.slice(0, count)
    if (part.length < count || !/^\d+$/.test(part)) return fail(element)
    rest = rest.slice(count)
    return Number(part)
  }
  const literal = (character: string): void => {
    if (!rest.startsWith(character)) fail(character)
    rest = rest.slice(character.length)
  }
  const year = digits(4, '2006')
  literal('-')
  const month = digits(2, '01')
  if (month < 1 || month > 12) range('month')
  literal('-')
  const day = digits(2, '02')
  literal('T')
  const hour = digits(2, '15')
  if (hour > 23) range('hour')
  literal(':')
  const minute = digits(2, '04')
  if (minute > 59) range('minute')
  literal(':')
  const second = digits(2, '05')
  if (second > 59) range('second')
  let fraction = ''
  if (layout === rfc3339Micro) {
    if (!/^\.\d{6}/.test(rest)) fail('.000000')
    fraction = rest.slice(1, 7)
    rest = rest.slice(7)
  } else {
    const found = /^[.,](\d+)/.exec(rest)
    if (found !== null) {
      fraction = found[1] ?? ''
      rest = rest.slice(found[0].length)
    }
  }
  const offset = zoneOffset(rest) ?? fail('Z07:00')
  const extra = rest.slice(offset.length)
  if (extra !== '')
    throw new GoTimeSyntaxError(`parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(extra)}`)
  if (day < 1 || day > dateOf(year, month, 0).getUTCDate()) range('day')
  const seconds = dateOf(year, month - 1, day).setUTCHours(hour, minute, second) / 1000 - offset.seconds
  return { seconds, nanos: Number(fraction.slice(0, 9).padEnd(9, '0')) }
}

/** Returns midnight of a day. The constructors of Date take the years 0-99 for those of the 20th century. */
function dateOf(year: number, month: number, day: number): Date {
  const date = new Date(0)
  date.setUTCFullYear(year, month, day)
  return date
}

function zoneOffset(text: string): { length: number; seconds: number } | undefined {
  if (text.startsWith('Z')) return { length: 1, seconds: 0 }
  const found = /^([+-])(\d\d):(\d\d)/.exec(text)
  if (found === null) return undefined
  const seconds = Number(found[2]) * 3600 + Number(found[3]) * 60
  return { length: 6, seconds: found[1] === '-' ? -seconds : seconds }
}
