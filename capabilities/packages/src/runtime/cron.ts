// Times of a cron schedule with five fields, in UTC.

const shorthands: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

const ranges: readonly (readonly [number, number])[] = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
]

const names: Readonly<Record<number, readonly string[]>> = {
  3: ['', 'jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'],
  4: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
}

const minute = 60_000

/** Minutes ahead in which a time is looked for: a schedule for 29 February only has one in eight years at most. */
const horizon = 8 * 366 * 24 * 60

/** A schedule: the allowed values of each field. */
export interface CronSchedule {
  readonly fields: readonly ReadonlySet<number>[]
  /** Day of month and day of week are both restricted: one of them has to match. */
  readonly eitherDay: boolean
}

/** Parses a schedule; undefined when it is invalid. */
export function parseCron(text: string): CronSchedule | undefined {
  const parts = (shorthands[text.trim().toLowerCase()] ?? text.trim()).split(/\s+/)
  if (parts.length !== ranges.length) return undefined
  const fields = parts.map((part, index) => parseField(part, index))
  if (fields.some((field) => field === undefined)) return undefined
  return {
    fields: fields as ReadonlySet<number>[],
    eitherDay: !parts[2]!.startsWith('*') && !parts[4]!.startsWith('*'),
  }
}

/** Returns the first time after `now`, in milliseconds since the epoch; undefined when there is none. */
export function nextTime({ fields, eitherDay }: CronSchedule, now: number): number | undefined {
  const [minutes, hours, days, months, weekdays] = fields as [
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
    ReadonlySet<number>,
  ]
  let time = Math.floor(now / minute) * minute + minute
  for (let step = 0; step < horizon; step++) {
    const date = new Date(time)
    const isDay = days.has(date.getUTCDate())
    const isWeekday = weekdays.has(date.getUTCDay())
    const dayMatches = months.has(date.getUTCMonth() + 1) && (eitherDay ? isDay || isWeekday : isDay && isWeekday)
    if (!dayMatches) time = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1)
    else if (!hours.has(date.getUTCHours())) time += (60 - date.getUTCMinutes()) * minute
    else if (!minutes.has(date.getUTCMinutes())) time += minute
    else return time
  }
  return undefined
}

function parseField(text: string, index: number): ReadonlySet<number> | undefined {
  const [low, high] = ranges[index]!
  const values = new Set<number>()
  for (const part of text.toLowerCase().split(',')) {
    const [, range, stepText] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? []
    if (range === undefined) return undefined
    const step = stepText === undefined ? 1 : Number(stepText)
    const [first, last] = range === '*' || range === '?' ? [String(low), String(high)] : range.split('-')
    const from = numberOf(first!, index)
    const to = last === undefined ? (stepText === undefined ? from : high) : numberOf(last, index)
    if (!(from >= low && to <= high && from <= to && step > 0)) return undefined
    for (let value = from; value <= to; value += step) values.add(index === 4 && value === 7 ? 0 : value)
  }
  return values
}

function numberOf(text: string, index: number): number {
  const named = names[index]?.indexOf(text) ?? -1
  return named >= 0 && text !== '' ? named : /^\d+$/.test(text) ? Number(text) : Number.NaN
}
