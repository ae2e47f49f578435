// The reader of relations over a client: it shares requests, bounds them, and keeps what could not be read.
import { isClientError, isKindNotServed, isObjectNotFound, kind as kindOf, servedKinds, toKey } from '@fairlead/client'
import type { Client, KeyLike, Kind, KindLike, ResourcePath, ServedKind } from '@fairlead/client'
import { Slots, formatKey, isForbidden, keyOf, parseApiVersion } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { ObjectList, ObjectRead, ObjectReader, Unreadable } from './object-reader.ts'

/** Requests in flight at a time. */
const concurrency = 8
/** Objects of one kind and namespace that are read one by one before the namespace is listed. */
const singleReads = 8

/** Options of a {@link ClientReader}. */
export interface ClientReaderOptions {
  readonly signal: AbortSignal
  /** The kinds that the server serves, where they are known. */
  readonly served?: readonly ServedKind[]
  /** The namespace to list where all namespaces may not be listed. */
  readonly namespace?: string
  /** Requests at most, pages of lists included; further objects are unknown. 5,000 when left out. */
  readonly maxRequests?: number
  /** Called before each request with their number. */
  readonly onRequest?: (count: number) => void
}

/** Reads with the rights of a client. */
export class ClientReader implements ObjectReader {
  readonly #client: Client
  readonly #options: ClientReaderOptions
  readonly #slots = new Slots(concurrency)
  readonly #lists = new Map<string, Promise<ObjectList>>()
  readonly #indexes = new WeakMap<ObjectList, ReadonlyMap<string, KubeObject>>()
  readonly #objects = new Map<string, Promise<ObjectRead>>()
  readonly #singles = new Map<string, number>()
  readonly #unreadable = new Map<string, Unreadable>()
  #served: Promise<readonly ServedKind[]> | undefined
  #requests = 0
  #unreachable: Error | undefined

  constructor(client: Client, options: ClientReaderOptions) {
    this.#client = client
    this.#options = options
    this.#served = options.served && Promise.resolve(options.served)
  }

  /** Everything that could not be read so far, each once. */
  get unreadable(): readonly Unreadable[] {
    return [...this.#unreadable.values()]
  }

  async get<T extends KubeObject>(like: KindLike<T>, key: KeyLike): Promise<ObjectRead<T>> {
    const { namespace, name } = toKey(key)
    const resource = await this.#resource(like, 'get', name)
    if ('reason' in resource) return { found: 'unknown', why: resource }
    const at = { namespace: resource.namespaced ? namespace : '', name }
    const id = `${pathOf(resource)} ${formatKey(at)}`
    let reading = this.#objects.get(id)
    if (reading === undefined) {
      reading = this.#read(resource, at)
      this.#objects.set(id, reading)
    }
    return reading as Promise<ObjectRead<T>>
  }

  async list<T extends KubeObject>(like: KindLike<T>, namespace?: string): Promise<ObjectList<T>> {
    return this.#scoped(like, namespace, false) as Promise<ObjectList<T>>
  }

  listMetadata(like: KindLike, namespace?: string): Promise<ObjectList> {
    return this.#scoped(like, namespace, true)
  }

  served(): Promise<readonly ServedKind[]> {
    this.#served ??= this.#request((signal) => servedKinds(this.#client, { signal })).catch((error: unknown) => {
      this.#failed(error, { verb: 'list', resource: 'kinds of the server' })
      return []
    })
    return this.#served
  }

  async preferred(group: string, kind: string): Promise<Kind | undefined> {
    const served = await this.served()
    const found = served.find((one) => one.isPreferred && one.group === group && one.kind === kind)
    return found && kindOf(found.apiVersion, found.kind, { plural: found.plural, namespaced: found.namespaced })
  }

  /** Returns the resource of a kind, in another version when its own is not served. */
  async #resource(like: KindLike, verb: Unreadable['verb'], name?: string): Promise<ResourcePath | Unreadable> {
    const about = { verb, resource: like.kind, ...(name === undefined ? {} : { name }) }
    const { group } = parseApiVersion(like.apiVersion)
    const served = (await this.served()).filter((one) => one.kind === like.kind && one.group === group)
    const found =
      served.find(({ apiVersion }) => apiVersion === like.apiVersion) ?? served.find(({ isPreferred }) => isPreferred)
    if (found !== undefined) return found
    if ((await this.served()).length === 0) return this.#discovered(like, about)
    const message = `the server serves no kind ${like.kind} in ${like.apiVersion}`
    return this.#note({ ...about, reason: 'NotServed', message })
  }

  /** Returns the resource of a kind where discovery of all kinds has failed. */
  async #discovered(
    like: KindLike,
    about: Pick<Unreadable, 'verb' | 'resource' | 'name'>,
  ): Promise<ResourcePath | Unreadable> {
    try {
      return await this.#request(() => this.#client.discovery.resource(like))
    } catch (error) {
      return this.#failed(error, about)
    }
  }

  async #read(resource: ResourcePath, key: { readonly namespace: string; readonly name: string }): Promise<ObjectRead> {
    const known = await this.#listed(resource, key.namespace)
    if (known !== undefined) {
      const object = this.#index(known).get(formatKey(key))
      return object === undefined ? { found: 'no' } : { found: 'yes', object }
    }
    const { namespaced } = resource
    const about = {
      verb: 'get' as const,
      resource: nameOf(resource),
      ...(namespaced ? { namespace: key.namespace } : {}),
      name: key.name,
    }
    try {
      const object = await this.#request((signal) => this.#client.get(kindOfResource(resource), key, { signal }))
      return { found: 'yes', object }
    } catch (error) {
      if (isObjectNotFound(error)) return { found: 'no' }
      return { found: 'unknown', why: this.#failed(error, about) }
    }
  }

  /** Returns the list that has an object, when there is one already, or when so many were read that one is due. */
  async #listed(resource: ResourcePath, namespace: string): Promise<ObjectList | undefined> {
    const complete = async (list: Promise<ObjectList> | undefined): Promise<ObjectList | undefined> => {
      const found = await list
      return found?.why === undefined ? found : undefined
    }
    const scope = `${pathOf(resource)} ${namespace}`
    const known = (await complete(this.#lists.get(`${pathOf(resource)} `))) ?? (await complete(this.#lists.get(scope)))
    if (known !== undefined) return known
    const reads = (this.#singles.get(scope) ?? 0) + 1
    this.#singles.set(scope, reads)
    // The list may have begun while this read waited.
    return reads <= singleReads ? undefined : complete(this.#list(resource, namespace, false))
  }

  async #scoped(like: KindLike, namespace: string | undefined, metadataOnly: boolean): Promise<ObjectList> {
    const resource = await this.#resource(like, 'list')
    if ('reason' in resource) return { objects: [], why: resource }
    const all = this.#lists.get(listId(resource, '', metadataOnly))
    if (namespace === undefined || !resource.namespaced) return this.#everywhere(resource, metadataOnly)
    const everything = await all
    if (everything !== undefined && everything.why === undefined)
      return { objects: everything.objects.filter(({ metadata }) => metadata.namespace === namespace) }
    return this.#list(resource, namespace, metadataOnly)
  }

  /** Lists all namespaces, and else the one that the reader is for. */
  async #everywhere(resource: ResourcePath, metadataOnly: boolean): Promise<ObjectList> {
    const all = await this.#list(resource, '', metadataOnly)
    const { namespace } = this.#options
    if (all.why?.reason !== 'Forbidden' || namespace === undefined || !resource.namespaced) return all
    const own = await this.#list(resource, namespace, metadataOnly)
    return { objects: own.objects, why: own.why ?? all.why }
  }

  #list(resource: ResourcePath, namespace: string, metadataOnly: boolean): Promise<ObjectList> {
    const id = listId(resource, namespace, metadataOnly)
    let listing = this.#lists.get(id)
    if (listing === undefined) {
      listing = this.#fetch(resource, namespace, metadataOnly)
      this.#lists.set(id, listing)
    }
    return listing
  }

  async #fetch(resource: ResourcePath, namespace: string, metadataOnly: boolean): Promise<ObjectList> {
    const { apiVersion, kind } = resource
    const scope = namespace === '' ? {} : { namespace }
    const found: KubeObject[] = []
    try {
      await this.#request(async (signal) => {
        const pages = this.#client.pages(kindOfResource(resource), { ...scope, metadataOnly, signal })
        for await (const { items, next } of pages) {
          for (const item of items) found.push(metadataOnly ? { apiVersion, kind, metadata: item.metadata } : item)
          if (next !== undefined) this.#count()
        }
      })
      return { objects: found }
    } catch (error) {
      return { objects: found, why: this.#failed(error, { verb: 'list', resource: nameOf(resource), ...scope }) }
    }
  }

  #index(list: ObjectList): ReadonlyMap<string, KubeObject> {
    let index = this.#indexes.get(list)
    if (index === undefined) {
      index = new Map(list.objects.map((object) => [formatKey(keyOf(object)), object]))
      this.#indexes.set(list, index)
    }
    return index
  }

  /** Sends a request. After one that did not reach the server, which the client has repeated, none is sent. */
  async #request<T>(send: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = this.#options
    using _place = await this.#slots.acquire(signal)
    signal.throwIfAborted()
    if (this.#unreachable !== undefined) throw this.#unreachable
    this.#count()
    try {
      return await send(signal)
    } catch (error) {
      if (isClientError(error, 'ConnectionFailed')) this.#unreachable = error
      throw error
    }
  }

  /** Counts a request. Throws when it would be one too many. */
  #count(): void {
    const { maxRequests = 5000, onRequest } = this.#options
    if (this.#requests >= maxRequests) throw new TooManyRequests(maxRequests)
    this.#requests++
    onRequest?.(this.#requests)
  }

  /** Returns why a request failed. Throws what a cancelled one throws. */
  #failed(error: unknown, about: Pick<Unreadable, 'verb' | 'resource' | 'namespace' | 'name'>): Unreadable {
    this.#options.signal.throwIfAborted()
    const message = error instanceof Error ? error.message : String(error)
    return this.#note({ ...about, reason: reasonOf(error), message })
  }

  #note(why: Unreadable): Unreadable {
    const { reason, verb, resource, namespace = '', name = '' } = why
    const id = [reason, verb, resource, namespace, name].join(' ')
    // Objects of a kind that is not served are searched for in every cluster: there is nothing to report.
    if (reason !== 'NotServed' || verb === 'get') this.#unreadable.set(id, this.#unreadable.get(id) ?? why)
    return why
  }
}

class TooManyRequests extends Error {
  constructor(count: number) {
    super(`${count} requests were sent already`)
    this.name = 'TooManyRequests'
  }
}

function reasonOf(error: unknown): Unreadable['reason'] {
  if (error instanceof TooManyRequests) return 'TooMany'
  if (isForbidden(error)) return 'Forbidden'
  return isKindNotServed(error) ? 'NotServed' : 'Failed'
}

function kindOfResource({ apiVersion, kind, plural, namespaced }: ResourcePath): Kind {
  return kindOf(apiVersion, kind, { plural, namespaced })
}

function pathOf({ apiVersion, plural }: ResourcePath): string {
  return `${apiVersion}/${plural}`
}

function nameOf({ group, plural }: ResourcePath): string {
  return group === '' ? plural : `${plural}.${group}`
}

function listId(resource: ResourcePath, namespace: string, metadataOnly: boolean): string {
  return `${pathOf(resource)} ${namespace}${metadataOnly ? ' metadata' : ''}`
}
