// A copy of a scope's state with what changed: the reflector's protocol turned into changes, and those into an async
// iterable.
import type { KubeObject } from '@fairlead/kube'
import type { Reflector } from './reflector.ts'
import type { InterruptionReason, ReflectorEvent } from './reflector-event.ts'

/** What changed, and what to do about it. */
export type WatchChange<T extends KubeObject> =
  /** The object is new, or new to you. */
  | { readonly type: 'added'; readonly object: T }
  /** The object took the place of `previous`. */
  | { readonly type: 'changed'; readonly object: T; readonly previous: T }
  /** The object is gone; `object` is its last state as the server told it, `previous` as you were told before. */
  | { readonly type: 'removed'; readonly object: T; readonly previous: T }
  /** All changes that lead to the present state have been told: what you have not been told of does not exist. */
  | { readonly type: 'synced'; readonly resourceVersion: string }
  /** What you know may be out of date; go on with it, but take nothing for gone. */
  | { readonly type: 'interrupted'; readonly reason: InterruptionReason; readonly error: unknown }

/** Key of an object in the maps of views and caches: `namespace/name`, or `name`. */
export function objectKey(object: KubeObject): string {
  const { namespace, name } = object.metadata
  return namespace ? `${namespace}/${name}` : name!
}

/** Keeps the copy and computes the changes. A relist gives only the differences, told by resourceVersion. */
export class WatchCache<T extends KubeObject> {
  readonly objects: Map<string, T> = new Map()
  /** Keys that a list under way has named, where there may be others to take out after it. */
  #listed: Set<string> | undefined
  readonly #changed: (change: WatchChange<T>) => void

  constructor(changed: (change: WatchChange<T>) => void) {
    this.#changed = changed
  }

  /** Takes one event of a reflector. */
  take(event: ReflectorEvent<T>): void {
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
        return this.#changed(event)
      case 'resumed':
        return this.#changed({ type: 'synced', resourceVersion: '' })
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

  /** Without a last state the one before is the last. */
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
    this.#changed({ type: 'synced', resourceVersion })
  }
}

/** Two states of one object are the same version: nothing happened in between. */
export function isSameVersion(one: KubeObject, other: KubeObject): boolean {
  return (
    one === other ||
    (one.metadata.resourceVersion === other.metadata.resourceVersion && one.metadata.uid === other.metadata.uid)
  )
}

/** Runs a reflector for as long as someone takes its changes. */
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
  const view = new WatchCache<T>((change) => {
    changes.push(change)
    wake()
  })
  signal?.addEventListener('abort', abort, { once: true })
  stop.signal.addEventListener('abort', wake, { once: true })
  const running = reflector((event) => view.take(event)).run(stop.signal)
  try {
    while (!stop.signal.aborted) {
      const batch = changes
      changes = []
      for (const change of batch) {
        yield change
        if (stop.signal.aborted) return
      }
      if (changes.length === 0 && !stop.signal.aborted) await new Promise<void>((resolve) => (waiting = resolve))
    }
  } finally {
    signal?.removeEventListener('abort', abort)
    stop.abort(new DOMException('The watch was left', 'AbortError'))
    await running
  }
}
