// The events that hooks ask for in their responses: `events: [{type, reason, message}]`, recorded on the parent.
import type { JsonValue } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import { ResponseError } from './response-error.ts'

/** An event that a hook asks for. */
export interface HookEvent {
  readonly type: 'Normal' | 'Warning'
  /** One CamelCase word of at most 128 characters. */
  readonly reason: string
  readonly message: string
}

/** Events of one response that are recorded; the recorder limits how many an object gets over time. */
export const maxEvents = 10

const reasonPattern = /^[A-Z][A-Za-z0-9]{0,127}$/

/**
 * Reads the events of a response. Strict hooks: throws ResponseError for anything wrong. Others lose what is wrong:
 * responses of hooks that were written for Metacontroller may have a field of that name.
 */
export function readEvents(value: JsonValue | undefined, strict: boolean): readonly HookEvent[] {
  if (value === undefined || value === null) return []
  const entries = Array.isArray(value) ? (value as readonly JsonValue[]) : undefined
  if (strict && entries === undefined) throw wrong('events must be a list')
  if (strict && entries !== undefined && entries.length > maxEvents)
    throw wrong(`there are ${entries.length} events, and a response may have ${maxEvents}`)
  const events: HookEvent[] = []
  for (const [index, entry] of (entries ?? []).entries()) {
    const { type = 'Normal', reason, message } = isJsonObject(entry) ? entry : {}
    const isEvent =
      (type === 'Normal' || type === 'Warning') &&
      typeof reason === 'string' &&
      reasonPattern.test(reason) &&
      typeof message === 'string' &&
      message !== ''
    if (isEvent) events.push({ type, reason, message })
    else if (strict)
      throw wrong(
        `events[${index}] needs a reason (one CamelCase word), a message, and the type Normal or Warning if it has one`,
      )
  }
  return events.slice(0, maxEvents)
}

function wrong(problem: string): ResponseError {
  return new ResponseError('InvalidResponse', `The events of the response: ${problem}`)
}
