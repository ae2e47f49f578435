// Times as metadata holds them.

/** Formats milliseconds since the epoch as RFC 3339 with whole seconds. */
export function timestamp(milliseconds: number): string {
  const second = Math.floor(milliseconds / 1000)
  if (second !== last.second) {
    last.formatted = `${new Date(milliseconds).toISOString().slice(0, 19)}Z`
    last.second = second
  }
  return last.formatted
}

/** Kept because many objects are written within one second. */
const last = { second: Number.NaN, formatted: '' }
