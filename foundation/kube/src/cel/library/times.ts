// Parts of timestamps and durations.
import { CelError } from '../errors.ts'
import { Library } from '../library.ts'
import type { Duration, Timestamp } from '../values.ts'

const second = 1_000_000_000n
const minute = 60n * second
const hour = 60n * minute
const dayMilliseconds = 86_400_000

/** Returns a timestamp as a date in a time zone: an offset (`+02:00`) or a name (`Europe/Berlin`); UTC without one. */
function wallClock(time: Timestamp, zone: string = 'UTC'): Date {
  const milliseconds = Number((time.nanos - (((time.nanos % 1_000_000n) + 1_000_000n) % 1_000_000n)) / 1_000_000n)
  return new Date(milliseconds + zoneOffset(milliseconds, zone))
}

function zoneOffset(milliseconds: number, zone: string): number {
  if (zone === '' || zone === 'UTC') return 0
  const match = /^([+-]?)(\d\d):(\d\d)$/.exec(zone)
  if (match !== null) return (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3])) * 60_000
  let parts: Intl.DateTimeFormatPart[]
  try {
    parts = formatterOf(zone).formatToParts(milliseconds)
  } catch {
    throw new CelError(`unknown time zone ${zone}`)
  }
  const part = (type: string): number => Number(parts.find((entry) => entry.type === type)!.value)
  const wall = new Date(0)
  wall.setUTCFullYear(part('year'), part('month') - 1, part('day'))
  wall.setUTCHours(part('hour'), part('minute'), part('second'))
  return wall.getTime() - Math.floor(milliseconds / 1000) * 1000
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  let formatter = formatters.get(zone)
  if (formatter === undefined) {
    const numeric = 'numeric'
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: numeric,
      month: numeric,
      day: numeric,
      hour: numeric,
      minute: numeric,
      second: numeric,
    })
    // There are about six hundred zones, which bounds the entries.
    formatters.set(zone, formatter)
  }
  return formatter
}

const parts: Readonly<Record<string, (wall: Date, time: Timestamp) => number>> = {
  getFullYear: (wall) => wall.getUTCFullYear(),
  getMonth: (wall) => wall.getUTCMonth(),
  getDate: (wall) => wall.getUTCDate(),
  getDayOfMonth: (wall) => wall.getUTCDate() - 1,
  getDayOfWeek: (wall) => wall.getUTCDay(),
  getDayOfYear: (wall) => {
    const start = new Date(0)
    start.setUTCFullYear(wall.getUTCFullYear(), 0, 1)
    return Math.floor((wall.getTime() - start.getTime()) / dayMilliseconds)
  },
  getHours: (wall) => wall.getUTCHours(),
  getMinutes: (wall) => wall.getUTCMinutes(),
  getSeconds: (wall) => wall.getUTCSeconds(),
  getMilliseconds: (wall) => wall.getUTCMilliseconds(),
}

/** Returns `getHours()` and the like, with and without a time zone, and the units of durations. */
export function timesLibrary(): Library {
  const library = new Library()
  for (const [name, part] of Object.entries(parts)) {
    library
      .define(`timestamp.${name}(): int`, (time: Timestamp) => BigInt(part(wallClock(time), time)))
      .define(`timestamp.${name}(string): int`, (time: Timestamp, zone: string) =>
        BigInt(part(wallClock(time, zone), time)),
      )
  }
  return library
    .define('duration.getHours(): int', (span: Duration) => span.nanos / hour)
    .define('duration.getMinutes(): int', (span: Duration) => span.nanos / minute)
    .define('duration.getSeconds(): int', (span: Duration) => span.nanos / second)
    .define('duration.getMilliseconds(): int', (span: Duration) => span.nanos / 1_000_000n)
}
