// Recent Warning events of an object, newest first.
import type { Client } from '@fairlead/client'
import type { Unreadable } from '@fairlead/controller'
import { isForbidden } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'

/** A Warning event. */
export interface WarningEvent {
  readonly reason: string
  readonly message: string
  readonly count: number
  /** RFC 3339. */
  readonly lastSeen: string
  /** Time since then, as kubectl prints it: `45s`, `12m`, `3h`, `2d`. */
  readonly age: string
}

/** Events of one object that are returned. */
const maxEvents = 3

interface CoreEvent extends KubeObject {
  readonly reason?: string
  readonly message?: string
  readonly count?: number
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string }
  readonly lastTimestamp?: string | null
  readonly eventTime?: string | null
}

/** Returns the events of the object with a uid, or why they cannot be read. */
export async function warningEvents(
  client: Client,
  { uid, namespace }: { readonly uid: string; readonly namespace: string | undefined },
  signal: AbortSignal,
): Promise<readonly WarningEvent[] | Unreadable> {
  // Events of cluster-scoped objects are in the namespace default.
  const place = namespace ?? 'default'
  try {
    const { items } = await client.list<CoreEvent>(
      { apiVersion: 'v1', kind: 'Event' },
      { namespace: place, fieldSelector: `involvedObject.uid=${uid},type=Warning`, signal },
    )
    return items
      .map((event) => eventOf(event, client.clock.now()))
      .toSorted((a, b) => (a.lastSeen < b.lastSeen ? 1 : -1))
      .slice(0, maxEvents)
  } catch (error) {
    signal.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    const reason = isForbidden(error) ? 'Forbidden' : 'Failed'
    return { reason, verb: 'list', resource: 'events', namespace: place, message }
  }
}

function eventOf(event: CoreEvent, now: number): WarningEvent {
  const { reason = '', message = '', count, series, lastTimestamp, eventTime, metadata } = event
  const lastSeen = series?.lastObservedTime ?? lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? ''
  return { reason, message, count: series?.count ?? count ?? 1, lastSeen, age: ageText(now - Date.parse(lastSeen)) }
}

/** `elapsed` is in milliseconds. */
function ageText(elapsed: number): string {
  const seconds = Math.max(0, Math.floor(elapsed / 1000))
  if (seconds < 120) return `${seconds}s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`
}
