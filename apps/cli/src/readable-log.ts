// Formats JSON log lines as readable lines for a terminal.
import { styleText } from 'node:util'

const left = new Set(['level', 'time', 'msg', 'capability', 'error'])
const colours = { debug: 'gray', info: 'green', warn: 'yellow', error: 'red' } as const

/** `12:10:25 WARN  map  Reconcile failed  parent=… error="…"`. Lines that are not JSON stay unchanged. */
export function readableLine(line: string): string {
  let fields: Record<string, unknown>
  try {
    fields = JSON.parse(line) as Record<string, unknown>
  } catch {
    return line
  }
  const level = String(fields['level']) as keyof typeof colours
  const time = new Date(String(fields['time'])).toTimeString().slice(0, 8)
  const rest = Object.entries(fields).flatMap(([key, value]) =>
    left.has(key) ? [] : [`${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`],
  )
  const error = fields['error'] as { message?: string } | undefined
  if (error?.message !== undefined) rest.push(`error=${JSON.stringify(error.message)}`)
  const label = styleText(colours[level] ?? 'white', level.toUpperCase().padEnd(5), { stream: process.stderr })
  return `${time} ${label} ${fields['capability'] === undefined ? '' : `${String(fields['capability'])}  `}${String(fields['msg'])}  ${rest.join(' ')}\n`
}
