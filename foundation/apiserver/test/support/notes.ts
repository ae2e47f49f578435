// Notes in a Map: the storage that tests of delegated resources and of hosting them share.
import type {
  StorageChange,
  StorageKey,
  StoragePage,
  StorageQuery,
  StorageReview,
  RestStorage,
  StorageWrite,
} from '@fairlead/controller'
import { badRequest, forbidden } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'

/** The definition of `notes.<group>`. */
export function noteDefinition(group = 'notes.example.com'): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `notes.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        plural: 'notes',
        singular: 'note',
        kind: 'Note',
        listKind: 'NoteList',
        shortNames: ['nt'],
        categories: ['fairlead'],
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.copies', statusReplicasPath: '.status.copies' },
          },
          additionalPrinterColumns: [{ name: 'Text', type: 'string', jsonPath: '.spec.text' }],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: 'A note that someone left.',
              properties: {
                spec: {
                  type: 'object',
                  description: 'What stands on it.',
                  properties: {
                    text: { type: 'string', maxLength: 20, description: 'The words.' },
                    copies: { type: 'integer', default: 1 },
                  },
                },
                status: {
                  type: 'object',
                  properties: { length: { type: 'integer' }, copies: { type: 'integer' }, by: { type: 'string' } },
                },
              },
            },
          },
        },
      ],
    },
  } as unknown as KubeObject
}

/** A note as a client sends it. */
export function note(name: string, text: string, metadata: JsonObject = {}, group = 'notes.example.com'): JsonObject {
  return { apiVersion: `${group}/v1`, kind: 'Note', metadata: { name, ...metadata }, spec: { text } }
}

/** Returns the text of a note. */
export function textOf(object: KubeObject): string {
  const spec = (object['spec'] ?? {}) as JsonObject
  return String(spec['text'] ?? '')
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace}/${metadata.name}`
}

/** Every method that a storage can have; tests take out what they do not want. */
export class NoteStorage {
  readonly notes = new Map<string, KubeObject>()
  /** `verb name by user`, in order. */
  readonly writes: string[] = []
  readonly #listeners = new Set<(change: StorageChange) => void>()

  async get({ namespace, name }: StorageKey, _signal: AbortSignal): Promise<KubeObject | undefined> {
    return this.notes.get(`${namespace}/${name}`)
  }

  async list(namespace: string | undefined, _signal: AbortSignal): Promise<readonly KubeObject[]> {
    return [...this.notes.values()].filter(
      ({ metadata }) => namespace === undefined || metadata.namespace === namespace,
    )
  }

  validate({ object }: StorageReview): void {
    if (object !== undefined && object.kind === 'Note' && textOf(object) === 'secret')
      throw forbidden({ group: 'notes.example.com', plural: 'notes' }, object.metadata.name!, 'no secrets on notes')
  }

  async create(object: KubeObject, write: StorageWrite): Promise<KubeObject> {
    return this.#keep('create', object, undefined, write)
  }

  async update(object: KubeObject, old: KubeObject, write: StorageWrite): Promise<KubeObject> {
    return this.#keep('update', object, old, write)
  }

  async delete(old: KubeObject, write: StorageWrite): Promise<void> {
    this.writes.push(`delete ${old.metadata.name} by ${write.user.name}`)
    this.notes.delete(keyOf(old))
    this.#notify({ type: 'delete', object: old, previous: old })
  }

  watch(listener: (change: StorageChange) => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  /** Changes a note outside the server. */
  put(object: KubeObject): void {
    const previous = this.notes.get(keyOf(object))
    this.notes.set(keyOf(object), object)
    this.#notify({ type: 'put', object, previous })
  }

  /** Returns a storage with some of the methods. */
  withOnly(...methods: readonly (keyof RestStorage & keyof NoteStorage)[]): RestStorage {
    return Object.fromEntries(methods.map((method) => [method, this[method].bind(this)]))
  }

  #keep(verb: string, object: KubeObject, old: KubeObject | undefined, write: StorageWrite): KubeObject {
    const sub = write.subresource === '' ? '' : `/${write.subresource}`
    this.writes.push(`${verb} ${object.metadata.name}${sub} by ${write.user.name}`)
    const { copies } = (object['spec'] ?? {}) as { copies?: number }
    const kept = {
      ...object,
      status: { length: textOf(object).length, copies: copies ?? 0, by: write.user.name },
    } as KubeObject
    this.notes.set(keyOf(kept), kept)
    this.#notify({ type: 'put', object: kept, previous: old })
    return kept
  }

  #notify(change: StorageChange): void {
    for (const listener of this.#listeners) listener(change)
  }
}

/** Filters and paginates notes itself, newest name first. */
export class PagedNotes extends NoteStorage {
  /** The received queries as strings. */
  readonly queries: string[] = []

  async page(query: StorageQuery, _signal: AbortSignal): Promise<StoragePage> {
    const { namespace = '*', labels, fields, limit, after } = query
    const asked = fields.requirements.map(({ field, operator, value }) => `${field}${operator}${value}`).join(',')
    this.queries.push(`${namespace} ${labels.toString()} ${asked} ${limit} ${after ?? '-'}`)
    if (after !== undefined && !/^from:\d+$/.test(after)) throw badRequest('no such page')
    const all = [...this.notes.values()]
      .filter(({ metadata }) => namespace === '*' || metadata.namespace === namespace)
      .filter(({ metadata }) => labels.isEmpty || labels.matches(metadata.labels ?? {}))
      .sort((a, b) => (a.metadata.name! < b.metadata.name! ? 1 : -1))
    const from = Number(after?.slice('from:'.length) ?? 0)
    const objects = all.slice(from, from + Math.min(limit === 0 ? 2 : limit, 2))
    const end = from + objects.length
    return { objects, ...(end < all.length ? { next: `from:${end}`, remaining: all.length - end } : {}) }
  }
}
