// Waits until an object satisfies a predicate, by watching it.
import { formatKey } from '@fairlead/kube'
import type { Clock, Condition, KubeObject } from '@fairlead/kube'
import { KubeEvent } from './builtin-kinds.ts'
import { ClientError } from './client-error.ts'
import { toKey } from './kind.ts'
import type { KeyLike, KindLike } from './kind.ts'
import type { ResourcePath } from './discovery.ts'
import type { CallOptions, ListOptions } from './options.ts'
import { keepAlive, systemClock } from './system-clock.ts'
import type { WatchChange } from './watch/watch-cache.ts'

/** The part of a client that watches. */
export interface WatchClient {
  readonly clock: Clock
  readonly namespace: string
  readonly discovery: { resource(kind: KindLike): Promise<ResourcePath> }
  list<T extends KubeObject>(kind: KindLike<T>, options: ListOptions): Promise<{ readonly items: readonly T[] }>
  watch<T extends KubeObject>(kind: KindLike<T>, options: ListOptions): AsyncIterable<WatchChange<T>>
}

/** Options of waits. */
export interface WaitOptions extends CallOptions {
  /** Milliseconds; 4000, or `FAIRLEAD_WAIT_TIMEOUT`, when left out. */
  readonly timeout?: number
}

/**
 * Returns the milliseconds of waits that name none: 4000, less than the limit of a test in vitest, so that the reason
 * is shown and not the limit. The environment variable `FAIRLEAD_WAIT_TIMEOUT` sets it for slow machines.
 */
function defaultTimeout(): number {
  const wanted = Number(process.env['FAIRLEAD_WAIT_TIMEOUT'])
  return wanted > 0 ? wanted : 4_000
}

/** See {@link Client.waitFor}. */
export async function waitFor<T extends KubeObject>(
  client: WatchClient,
  kind: KindLike<T>,
  like: KeyLike,
  predicate: (object: T) => boolean,
  options: WaitOptions,
): Promise<T> {
  const found = await follow(
    client,
    kind,
    like,
    options,
    'is not as expected',
    (object) => object !== undefined && predicate(object),
  )
  return found as T
}

/** See {@link Client.waitForDeletion}. */
export async function waitForDeletion(
  client: WatchClient,
  kind: KindLike,
  like: KeyLike,
  options: WaitOptions,
): Promise<void> {
  await follow(client, kind, like, options, 'is still there', (object) => object === undefined)
}

async function follow<T extends KubeObject>(
  client: WatchClient,
  kind: KindLike<T>,
  like: KeyLike,
  options: WaitOptions,
  complaint: string,
  isDone: (object: T | undefined) => boolean,
): Promise<T | undefined> {
  const key = toKey(like)
  const timeout = options.timeout ?? defaultTimeout()
  const stop = new AbortController()
  const abort = (): void => stop.abort(options.signal?.reason)
  options.signal?.throwIfAborted()
  options.signal?.addEventListener('abort', abort, { once: true })
  // Of this machine's clock: a test that moves its own clock would wait for ever.
  using _timer = systemClock.timer(timeout, () => stop.abort())
  using _alive = keepAlive()
  let last: T | undefined
  let lastError: unknown
  try {
    const scope = {
      namespace: key.namespace || (await ownNamespace(client, kind)),
      fieldSelector: `metadata.name=${key.name}`,
      signal: stop.signal,
    }
    for await (const change of client.watch(kind, scope)) {
      if (change.type === 'interrupted') {
        lastError = change.error
        continue
      }
      lastError = undefined
      if (change.type === 'removed') last = undefined
      else if (change.type !== 'synced') last = change.object
      if (isDone(last)) return last
    }
  } finally {
    options.signal?.removeEventListener('abort', abort)
  }
  options.signal?.throwIfAborted()
  const what = `${kind.kind} ${formatKey(key)}`
  const seen = lastSeen(last, lastError) + (await lastWarning(client, last))
  throw new ClientError('WaitTimeout', `${what} ${complaint} after ${timeout / 1000} s: ${seen}`, { cause: lastError })
}

/** Milliseconds for the list of events: the caller has waited long enough. */
const eventsTimeout = 1_000

/** Returns the newest warning event about an object, as the end of a sentence; '' when there is none. */
async function lastWarning(client: WatchClient, object: KubeObject | undefined): Promise<string> {
  if (object === undefined) return ''
  const stop = new AbortController()
  using _timer = systemClock.timer(eventsTimeout, () => stop.abort())
  const { namespace, uid } = object.metadata
  const scope = {
    namespace: namespace || 'default',
    fieldSelector: `regarding.uid=${uid},type=Warning`,
    signal: stop.signal,
  }
  const { items } = await client.list(KubeEvent, scope).catch(() => ({ items: [] }))
  const timeOf = ({ series, eventTime, metadata }: KubeEvent): string =>
    series?.lastObservedTime ?? eventTime ?? metadata.creationTimestamp ?? ''
  const newest = items.reduce<KubeEvent | undefined>(
    (best, event) => (best === undefined || timeOf(event) >= timeOf(best) ? event : best),
    undefined,
  )
  return newest === undefined ? '' : `; its last warning event: ${newest.reason}: ${newest.note}`
}

/** Returns the client's namespace for namespaced kinds. A kind that is not served yet is watched in all namespaces. */
async function ownNamespace(client: WatchClient, kind: KindLike): Promise<string | undefined> {
  const resource = await client.discovery.resource(kind).catch(() => undefined)
  return resource?.namespaced ? client.namespace : undefined
}

function lastSeen(object: KubeObject | undefined, lastError: unknown): string {
  if (lastError instanceof Error) return lastError.message
  if (object === undefined) return 'it does not exist'
  const conditions = ((object.status as { conditions?: readonly Condition[] } | undefined)?.conditions ?? []).map(
    (one) => `${one.type}=${one.status}${one.message ? ` (${one.message})` : ''}`,
  )
  return `last seen at resourceVersion ${object.metadata.resourceVersion}${conditions.length === 0 ? '' : `, ${conditions.join(', ')}`}`
}
