// Tracks the reads of items: a change of an object wakes exactly the items that read it, by key or by selector.
import { formatKey } from '@fairlead/kube'
import type { KubeObject, ObjectKey, Selector } from '@fairlead/kube'
import type { Kind } from '@fairlead/client'

/** A read: one object, existing or not, or all objects of a kind that a selector matches. */
export type Read =
  | { readonly kind: Kind; readonly key: ObjectKey }
  | { readonly kind: Kind; readonly namespace: string | undefined; readonly selector: Selector }

interface SelectorReaders {
  readonly namespace: string | undefined
  readonly selector: Selector
  readonly items: Set<string>
}

interface KindReaders {
  /** Number of reads of this kind, over all items. */
  reads: number
  readonly byKey: Map<string, Set<string>>
  /** Selector reads by one label that each of them requires (`app=web`); '' for those that require none. */
  readonly byLabel: Map<string, Map<string, SelectorReaders>>
}

/** The reads of all items of one controller, by id. */
export class Dependencies {
  readonly #reads = new Map<string, Map<string, Read>>()
  readonly #kinds = new Map<string, KindReaders>()

  /** Replaces the reads of an item. */
  replace(item: string, reads: Iterable<Read>): void {
    const before = this.#reads.get(item)
    const after = new Map<string, Read>()
    for (const read of reads) after.set(readId(read), read)
    for (const [id, read] of after) if (!before?.has(id)) this.#add(item, id, read)
    if (before !== undefined) for (const [id, read] of before) if (!after.has(id)) this.#remove(item, id, read)
    if (after.size === 0) this.#reads.delete(item)
    else this.#reads.set(item, after)
  }

  /** Adds a read to those of an item. */
  add(item: string, read: Read): void {
    const id = readId(read)
    let reads = this.#reads.get(item)
    if (reads === undefined) this.#reads.set(item, (reads = new Map()))
    if (reads.has(id)) return
    reads.set(id, read)
    this.#add(item, id, read)
  }

  /** Returns the reads of an item. */
  readsOf(item: string): readonly Read[] {
    return [...(this.#reads.get(item)?.values() ?? [])]
  }

  /**
   * Returns the items that a change concerns: readers of the key, and of selectors that match the object before or
   * after it.
   */
  readers(kind: Kind, object: KubeObject, previous: KubeObject | undefined): ReadonlySet<string> {
    const readers = new Set<string>()
    const of = this.#kinds.get(kindId(kind))
    if (of === undefined) return readers
    const { namespace = '', name = '' } = object.metadata
    for (const item of of.byKey.get(formatKey({ namespace, name })) ?? []) readers.add(item)
    if (of.byLabel.size > 0) {
      collect(of, namespace, object.metadata.labels ?? {}, readers)
      if (previous !== undefined && previous.metadata.labels !== object.metadata.labels)
        collect(of, namespace, previous.metadata.labels ?? {}, readers)
    }
    return readers
  }

  /** Reports whether an item reads the kind. */
  isRead(kind: Kind): boolean {
    return this.#kinds.has(kindId(kind))
  }

  /** Returns all items that read the kind; for changes of the kind's state. */
  readersOfKind(kind: Kind): ReadonlySet<string> {
    const readers = new Set<string>()
    const of = this.#kinds.get(kindId(kind))
    for (const items of of?.byKey.values() ?? []) for (const item of items) readers.add(item)
    for (const bucket of of?.byLabel.values() ?? [])
      for (const { items } of bucket.values()) for (const item of items) readers.add(item)
    return readers
  }

  #add(item: string, id: string, read: Read): void {
    const name = kindId(read.kind)
    let of = this.#kinds.get(name)
    if (of === undefined) this.#kinds.set(name, (of = { reads: 0, byKey: new Map(), byLabel: new Map() }))
    of.reads++
    if ('key' in read) {
      const key = formatKey(read.key)
      const items = of.byKey.get(key)
      if (items === undefined) of.byKey.set(key, new Set([item]))
      else items.add(item)
      return
    }
    const label = neededLabel(read.selector)
    let bucket = of.byLabel.get(label)
    if (bucket === undefined) of.byLabel.set(label, (bucket = new Map()))
    const readers = bucket.get(id)
    if (readers === undefined)
      bucket.set(id, { namespace: read.namespace, selector: read.selector, items: new Set([item]) })
    else readers.items.add(item)
  }

  #remove(item: string, id: string, read: Read): void {
    const name = kindId(read.kind)
    const of = this.#kinds.get(name)!
    if ('key' in read) {
      const key = formatKey(read.key)
      const items = of.byKey.get(key)!
      items.delete(item)
      if (items.size === 0) of.byKey.delete(key)
    } else {
      const label = neededLabel(read.selector)
      const bucket = of.byLabel.get(label)!
      const readers = bucket.get(id)!
      readers.items.delete(item)
      if (readers.items.size === 0) bucket.delete(id)
      if (bucket.size === 0) of.byLabel.delete(label)
    }
    if (--of.reads === 0) this.#kinds.delete(name)
  }
}

/** Formats a kind in one version as a string. */
export function kindId(kind: { readonly apiVersion: string; readonly kind: string }): string {
  return `${kind.apiVersion}/${kind.kind}`
}

function collect(
  of: KindReaders,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  readers: Set<string>,
): void {
  const look = (label: string): void => {
    for (const one of of.byLabel.get(label)?.values() ?? []) {
      if (one.namespace !== undefined && one.namespace !== namespace) continue
      if (one.selector.matches(labels)) for (const item of one.items) readers.add(item)
    }
  }
  look('')
  for (const name in labels) look(`${name}=${labels[name]}`)
}

/** Returns a `key=value` that every match has; '' when the selector has none. */
function neededLabel(selector: Selector): string {
  for (const { key, operator, values } of selector.requirements) {
    if (values.length === 1 && (operator === '=' || operator === '==' || operator === 'in'))
      return `${key}=${values[0]}`
  }
  return ''
}

function readId(read: Read): string {
  const kind = kindId(read.kind)
  return 'key' in read
    ? `${kind}|${formatKey(read.key)}`
    : `${kind}?${read.namespace ?? ''}?${read.selector.toString()}`
}
