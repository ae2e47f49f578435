// One resource storage as a part of the store: reads and writes call the storage, revisions come from the server's
// store, and the storage's notifications form a log from which watches resume. There is no history before the start.
import type { StorageChange, StoredObjectChange, RestStorage } from '@fairlead/controller'
import {
  asJson,
  asObject,
  deepFreeze,
  everything,
  formatKey,
  keyOf,
  methodNotAllowed,
  parseFieldSelector,
  stringifyJson,
} from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { KeyedMutex } from '../storage/keyed-mutex.ts'
import { storedCustomForm } from '../objects/object-form.ts'
import { StoreError } from '../storage/store.ts'
import type { Change, ChangeListener, Entry, Range, Store, Write } from '../storage/store.ts'
import type { ListOrigin, ServedPage, WriteOrigin } from '../storage/served-store.ts'

/** Limits of the log: number of changes and characters of JSON. */
const window = { changes: 1_000, characters: 32 * 1024 * 1024 }

/**
 * The resource in the server's store whose objects are revision counters: each change of a storage writes one to get a
 * revision. The names are part of the stored data.
 */
export const revisionsResource = 'delegatedrevisions.fairlead.dev'

/** The state of one resource storage. */
export class StorageTable implements Disposable {
  readonly resource: string
  readonly #storage: RestStorage
  readonly #store: Store
  readonly #apiVersion: string
  readonly #kind: string
  readonly #stop = new AbortController()
  readonly #subscription: Disposable | undefined
  readonly #locks = new KeyedMutex()
  /** The log has the changes after this revision. */
  #compactedRevision: number
  readonly #log: { readonly change: Change; readonly characters: number }[] = []
  #characters = 0
  readonly #listeners = new Map<ChangeListener, (() => void) | undefined>()
  /** Revisions of objects that have changed since the start of the log; all others have the revision of that. */
  readonly #revisions = new Map<string, number>()
  #start: number
  readonly #onError: (error: unknown) => void
  /** The revision of this resource's counter object; 0 before the first change. */
  #counter: number
  #notified: Promise<void> = Promise.resolve()

  private constructor(options: TableOptions, counter: number) {
    const { resource, storage, store, apiVersion, kind, onError } = options
    this.resource = resource
    this.#storage = storage
    this.#store = store
    this.#apiVersion = apiVersion
    this.#kind = kind
    this.#onError = onError
    this.#counter = counter
    this.#start = store.revision
    this.#compactedRevision = store.revision
    this.#subscription = storage.watch?.((change) => this.#onChange(change))
  }

  static async start(options: TableOptions): Promise<StorageTable> {
    const entry = await options.store.head(revisionsResource, options.resource)
    return new StorageTable(options, entry?.revision ?? 0)
  }

  [Symbol.dispose](): void {
    this.#stop.abort(new Error(`${this.resource} is not served any more`))
    this.#subscription?.[Symbol.dispose]()
    this.#listeners.clear()
  }

  /** The storage filters and paginates itself. */
  get paginates(): boolean {
    return this.#storage.page !== undefined
  }

  /** Returns the object of a key; with `revision` only if it has not changed since. */
  async get(key: string, revision?: number, signal?: AbortSignal): Promise<Entry | undefined> {
    await this.#notified
    this.#checkRevision(revision)
    const slash = key.indexOf('/')
    const place = { namespace: slash < 0 ? '' : key.slice(0, slash), name: key.slice(slash + 1) }
    const object = await this.#storage.get?.(place, this.#signal(signal))
    return object === undefined ? undefined : this.#entry(object)
  }

  async list({ prefix = '', after, limit, revision }: Range = {}, origin?: ListOrigin): Promise<ServedPage> {
    await this.#notified
    this.#checkRevision(revision)
    const at = revision ?? this.#store.revision
    if (this.paginates) return this.#page(prefix, after, at, origin)
    const objects = (await this.#storage.list?.(namespaceOf(prefix), this.#signal(origin?.signal))) ?? []
    const entries = objects
      .map((object) => this.#entry(object))
      .filter(({ key }) => key.startsWith(prefix) && (after === undefined || key > after))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
    const shown = limit === undefined ? entries : entries.slice(0, limit)
    return { entries: shown, revision: at, remaining: entries.length - shown.length }
  }

  /** Passes a write to the storage, one at a time per object. */
  async write({ key, expected, object, last }: Write, origin: WriteOrigin): Promise<Entry> {
    using _lock = await this.#locks.acquire(key)
    const current = await this.get(key, undefined, origin.signal)
    if ((current?.revision ?? 0) !== expected)
      throw new StoreError('Conflict', `${this.resource} ${key} is at ${current?.revision ?? 0}, not ${expected}`)
    const write = { ...origin, signal: this.#signal(origin.signal) }
    const old = current === undefined ? undefined : asObject(current.object)
    const kept = await this.#carryOut(object === undefined ? undefined : asObject(deepFreeze(object)), old, write)
    await this.#notified
    const final = kept ?? asObject(last ?? current!.object)
    return kept === undefined ? { ...this.#entry(final), revision: this.#store.revision } : this.#entry(final)
  }

  /** As {@link Store.watch}. `onExpired` is called instead of the listener when the history begins anew. */
  watch(since: number, listener: ChangeListener, onExpired?: () => void): Disposable {
    const oldest = this.#compactedRevision
    if (since < oldest || since > this.#store.revision) {
      throw new StoreError('RevisionExpired', `${this.resource} has no history at ${since}`, { oldest })
    }
    for (const { change } of this.#log) if (change.entry.revision > since) listener(change)
    this.#listeners.set(listener, onExpired)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Returns a page of the storage; all pages when the request has no limit. */
  async #page(prefix: string, after: string | undefined, revision: number, origin?: ListOrigin): Promise<ServedPage> {
    const { labels = everything, fields = everyField, wanted = 0 } = origin ?? {}
    const namespace = namespaceOf(prefix)
    const signal = this.#signal(origin?.signal)
    const entries: Entry[] = []
    let next = after === undefined ? undefined : Buffer.from(after.slice(prefix.length), 'base64url').toString()
    let remaining = 0
    do {
      const page = await this.#storage.page!({ namespace, labels, fields, limit: wanted, after: next }, signal)
      for (const object of page.objects) entries.push(this.#entry(object))
      next = page.next
      remaining = page.remaining ?? 0
    } while (wanted === 0 && next !== undefined)
    const key = next === undefined ? undefined : prefix + Buffer.from(next).toString('base64url')
    return { entries: entries.filter((entry) => entry.key.startsWith(prefix)), revision, remaining, next: key }
  }

  #signal(caller: AbortSignal | undefined): AbortSignal {
    return caller === undefined ? this.#stop.signal : AbortSignal.any([caller, this.#stop.signal])
  }

  async #carryOut(
    object: KubeObject | undefined,
    old: KubeObject | undefined,
    write: WriteOrigin,
  ): Promise<KubeObject | undefined> {
    if (object === undefined) {
      if (this.#storage.delete === undefined) throw methodNotAllowed()
      await this.#storage.delete(old!, write)
      return undefined
    }
    const kept = await (old === undefined
      ? this.#storage.create?.(object, write)
      : this.#storage.update?.(object, old, write))
    // An apply may create and a deletion may update, whatever the verbs.
    if (kept === undefined) throw methodNotAllowed()
    return kept
  }

  /** Assigns the next revision to a change of the storage and makes it visible. */
  #onChange(change: StorageChange): void {
    if (this.#stop.signal.aborted) return
    this.#notified = this.#notified.then(() => this.#notify(change)).catch(this.#onError)
  }

  async #notify(change: StorageChange): Promise<void> {
    if (change.type === 'replaced') return this.#replaced()
    return this.#changed(change)
  }

  /** Gives all objects a new revision and ends the watches of older ones. */
  async #replaced(): Promise<void> {
    const revision = await this.#nextRevision()
    this.#start = this.#compactedRevision = revision
    this.#revisions.clear()
    this.#log.length = 0
    this.#characters = 0
    const watches = [...this.#listeners.values()]
    this.#listeners.clear()
    for (const onExpired of watches) onExpired?.()
  }

  async #changed({ type, object, previous }: StoredObjectChange): Promise<void> {
    const key = formatKey(keyOf(object))
    const before = previous === undefined ? undefined : this.#entry(previous)
    const revision = await this.#nextRevision()
    if (type === 'delete') this.#revisions.delete(key)
    else this.#revisions.set(key, revision)
    const change: Change = { type, entry: this.#entry(object, revision), previous: before }
    this.#append(change)
    for (const listener of this.#listeners.keys()) listener(change)
  }

  #append(change: Change): void {
    const { length: characters } = stringifyJson(change.entry.object)
    this.#log.push({ change, characters })
    this.#characters += characters
    while (this.#log.length > window.changes || (this.#characters > window.characters && this.#log.length > 1)) {
      const dropped = this.#log.shift()!
      this.#characters -= dropped.characters
      this.#compactedRevision = dropped.change.entry.revision
    }
  }

  async #nextRevision(): Promise<number> {
    const { revision } = await this.#store.write({
      resource: revisionsResource,
      key: this.resource,
      expected: this.#counter,
      object: {
        apiVersion: 'fairlead.dev/v1',
        kind: 'DelegatedRevision',
        metadata: { name: this.resource, generation: this.#counter },
      },
    })
    this.#counter = revision
    return revision
  }

  #entry(object: KubeObject, revision: number = this.#revisionOf(formatKey(keyOf(object)))): Entry {
    return { resource: this.resource, key: formatKey(keyOf(object)), revision, object: this.#stored(object) }
  }

  /** Returns the revision of an object; without `watch` that of the moment. */
  #revisionOf(key: string): number {
    return this.#subscription === undefined ? this.#store.revision : (this.#revisions.get(key) ?? this.#start)
  }

  #stored(object: KubeObject): JsonObject {
    const typed = { ...asJson(object), apiVersion: this.#apiVersion, kind: this.#kind }
    return deepFreeze(storedCustomForm(typed)) as JsonObject
  }

  /** Throws RevisionExpired for a past revision, unless nothing has changed since. */
  #checkRevision(revision: number | undefined): void {
    if (revision === undefined) return
    const newest = this.#log.at(-1)?.change.entry.revision ?? this.#start
    if (revision < newest)
      throw new StoreError('RevisionExpired', `${this.resource} has changed since ${revision}`, { oldest: newest })
    if (revision > this.#store.revision)
      throw new StoreError('RevisionInFuture', `${this.resource} is not at ${revision} yet`)
  }
}

/** Options of a {@link StorageTable}. */
export interface TableOptions {
  /** The store's name of the resource. */
  readonly resource: string
  /** The apiVersion and kind of stored objects. */
  readonly apiVersion: string
  readonly kind: string
  readonly storage: RestStorage
  readonly store: Store
  readonly onError: (error: unknown) => void
}

const everyField = parseFieldSelector('')

/** Returns the namespace of a list's prefix; undefined for all namespaces. */
function namespaceOf(prefix: string): string | undefined {
  return prefix === '' ? undefined : prefix.slice(0, -1)
}
