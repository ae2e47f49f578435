// Digests of JSON values that do not depend on the order of keys.
import { hash } from 'node:crypto'

/** Returns 16 hex digits of the SHA-256 of a JSON value with sorted keys. */
export function digest(value: unknown): string {
  return hash('sha256', canonical(value), 'hex').slice(0, 16)
}

function canonical(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  fields.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`).join(',')}}`
}
