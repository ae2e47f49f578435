// Caches the state of a scope: turns the reflector's events into changes, and changes into an async iterable.
import type { KubeObject } from '@fairlead/kube'
import { keepAlive } from '../system-clock.ts'
import type { Reflector } from './reflector.ts'
import type { InterruptionReason, ReflectorEvent } from './reflector-event.ts'

/** One change of the cache. */
export type WatchChange<T extends KubeObject> =
  /** The object was created, or seen for the first time. */
  | { readonly type: 'added'; readonly object: T }
  /** The object replaced `previous`. */
  | { readonly type: 'changed'; readonly object: T; readonly previous: T }
  /**
   * The object was deleted; `object` is its last state as the server reported it, `previous` the state reported before.
   */
  | { readonly type: 'removed'; readonly object: T; readonly previous: T }
  /** All changes up to the current state have been reported: objects that were not reported do not exist. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** The cache may be stale; continue with it, but treat missing objects as unknown. */
  | { readonly type: 'interrupted'; readonly reason: InterruptionReason; readonly error: unknown }

/** Returns the key of an object in caches: `namespace/name`, or `name`. */
export function objectKey(object: KubeObject): string {
  const { namespace, name } = object.metadata
  return namespace ? `${namespace}/${name}` : name!
}

/** Holds the objects and computes the changes. A relist yields only the differences, found by resourceVersion. */
export class WatchCache<T extends KubeObject> {
  readonly objects: Map<string, T> = new Map()
  /** Keys that the current list contained, where others may have to be removed after it. */
  #listed: Set<string> | undefined
  readonly #changed: (change: WatchChange<T>) => void
  /** `synced` was reported, and no interruption since. */
  #isSynced = false

  constructor(changed: (change: WatchChange<T>) => void) {
    this.#changed = changed
  }

  /** Applies one event of a reflector. */
  apply(event: ReflectorEvent<T>): void {
    switch (event.type) {
      case 'listing':
        this.#listed = this.objects.size === 0 ? undefined : new Set()
        return
      case 'listed':
        return this.#list(event.objects)
      case 'replaced':
        return this.#replace(event.objects, event.resourceVersion)
      case 'set':
        return this.#set(objectKey(event.object), event.object)
      case 'deleted':
        return this.#remove(objectKey(event.object), event.object)
      case 'interrupted':
        this.#isSynced = false
        return this.#changed(event)
      case 'resumed':
        return this.#isSynced ? undefined : this.#synced('')
      case 'current':
        return
    }
  }

  #set(key: string, object: T): void {
    const previous = this.objects.get(key)
    if (previous !== undefined && isSameVersion(previous, object)) return
    this.objects.set(key, object)
    if (previous === undefined) return this.#changed({ type: 'added', object })
    if (previous.metadata.uid === object.metadata.uid) return this.#changed({ type: 'changed', object, previous })
    this.#changed({ type: 'removed', object: previous, previous })
    this.#changed({ type: 'added', object })
  }

  /** Uses the previous state where the last one is unknown. */
  #remove(key: string, last?: T): void {
    const previous = this.objects.get(key)
    if (previous === undefined) return
    this.objects.delete(key)
    this.#listed?.delete(key)
    this.#changed({ type: 'removed', object: last ?? previous, previous })
  }

  #list(objects: readonly T[]): void {
    for (const object of objects) {
      const key = objectKey(object)
      this.#listed?.add(key)
      this.#set(key, object)
    }
  }

  #replace(objects: readonly T[], resourceVersion: string): void {
    this.#list(objects)
    if (this.#listed !== undefined && this.objects.size > this.#listed.size)
      for (const key of this.objects.keys()) if (!this.#listed.has(key)) this.#remove(key)
    this.#listed = undefined
    this.#synced(resourceVersion)
  }

  #synced(resourceVersion: string): void {
    this.#isSynced = true
    this.#changed({ type: 'synced', resourceVersion })
  }
}

/** Reports whether two states of an object are the same version. */
export function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  return (
    one === other ||
    (one.metadata.resourceVersion === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid)
  )
}

/** Runs a reflector while its changes are consumed. */
export async function* watchChanges<T extends KubeObject>(
  reflector: (listener: (event: ReflectorEvent<T>) => void) => Reflector<T>,
  signal?: AbortSignal,
): AsyncGenerator<WatchChange<T>, void, undefined> {
  const stop = new AbortController()
  const abort = (): void => stop.abort(signal?.reason)
  if (signal?.aborted) return
  let waiting: (() => void) | undefined
  let changes: WatchChange<T>[] = []
  const wake = (): void => {
    waiting?.()
    waiting = undefined
  }
  const cache = new WatchCache<T>((change) => {
    changes.push(change)
    wake()
  })
  signal?.addEventListener('abort', abort, { once: true })
  stop.signal.addEventListener('abort', wake, { once: true })
  const running = reflector((event) => cache.apply(event)).run(stop.signal)
  try {
    while (!stop.signal.aborted) {
      const batch = changes
      changes = []
      for (const change of batch) {
        yield change
        if (stop.signal.aborted) return
      }
      if (changes.length > 0 || stop.signal.aborted) continue
      using _alive = keepAlive()
      await new Promise<void>((resolve) => (waiting = resolve))
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    stop.abort(new DOMException('The watch was left', 'AbortError'))
    await running
  }
}
