// Cron schedules as CronJobs accept them (five fields or a descriptor), with the messages of the parser that Kubernetes
// uses.
import { goQuote, parseGoDuration } from '@fairlead/kube'

interface Bounds {
  readonly min: number
  readonly max: number
  readonly names?: Readonly<Record<string, number>>
}

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const days = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

const bounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: Object.fromEntries(months.map((name, index) => [name, index + 1])) },
  { min: 0, max: 6, names: Object.fromEntries(days.map((name, index) => [name, index])) },
]

const descriptors = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']

/** Returns the errors of a schedule. */
export function cronErrors(schedule: string): string[] {
  const spec = schedule.replace(/^(TZ|CRON_TZ)=\S+\s+/, '').trim()
  if (spec.startsWith('@')) return descriptorErrors(spec)
  const fields = spec.split(/\s+/)
  if (fields.length !== bounds.length)
    return [`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`]
  for (const [index, field] of fields.entries()) {
    // A field may repeat a part for a megabyte.
    for (const part of new Set(field.split(','))) {
      const error = rangeError(part, bounds[index]!)
      if (error !== undefined) return [error]
    }
  }
  return []
}

function descriptorErrors(spec: string): string[] {
  if (descriptors.includes(spec)) return []
  if (!spec.startsWith('@every ')) return [`unrecognized descriptor: ${spec}`]
  try {
    parseGoDuration(spec.slice('@every '.length))
    return []
  } catch (error) {
    return [`failed to parse duration ${spec}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function rangeError(part: string, { min, max, names = {} }: Bounds): string | undefined {
  const [range = '', step, ...more] = part.split('/')
  const [low = '', high, ...rest] = range.split('-')
  if (rest.length > 0) return `too many hyphens: ${part}`
  if (more.length > 0) return `too many slashes: ${part}`
  const number = (text: string): number | string => {
    const named = names[text.toLowerCase()]
    if (named !== undefined) return named
    if (!/^[+-]?\d+$/.test(text))
      return `failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`
    return Number(text) < 0 ? `negative number (${Number(text)}) not allowed: ${text}` : Number(text)
  }
  const isStar = low === '*' || low === '?'
  const start = isStar ? min : number(low)
  if (typeof start === 'string') return start
  const end = isStar ? max : high === undefined ? (step === undefined ? start : max) : number(high)
  if (typeof end === 'string') return end
  const every = step === undefined ? 1 : number(step)
  if (typeof every === 'string') return every
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${part}`
  if (end > max) return `end of range (${end}) above maximum (${max}): ${part}`
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`
  return every === 0 ? `step of range should be a positive number: ${part}` : undefined
}
