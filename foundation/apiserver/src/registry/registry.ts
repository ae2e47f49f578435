// The registry of served resources. Built-in kinds are registered at start, CRDs, resource storages and the aggregator
// add and remove theirs while the server runs. Handlers look up resources by path, discovery and OpenAPI are pure
// functions of its contents, views and caches are invalidated by its epoch.
import { formatApiVersion } from '@fairlead/kube'
import type { ResourceDefinition, VersionDefinition } from '@fairlead/builtin-kinds'

/** A resource in one of its served versions. */
export interface ServedResource {
  readonly definition: ResourceDefinition
  readonly version: VersionDefinition
  /** `apps/v1`. */
  readonly apiVersion: string
}

/** The read interface of {@link Registry}. */
export interface RegistryReader {
  /** Incremented with every change. */
  readonly epoch: number
  /** All definitions, built-in ones first, in the order of registration. */
  readonly definitions: Iterable<ResourceDefinition>
  /** Returns the resource of a path; undefined when its version is not served. */
  find(group: string, version: string, plural: string): ServedResource | undefined
  /** Returns the resource of a kind; undefined when its version is not served. */
  findKind(group: string, version: string, kind: string): ServedResource | undefined
  /** Returns a definition, whatever its versions. */
  definition(group: string, plural: string): ResourceDefinition | undefined
}

/** The mutable registry. Changes are synchronous, so no reader sees a partial one. */
export class Registry implements RegistryReader {
  #epoch = 1
  readonly #definitions = new Map<string, ResourceDefinition>()
  readonly #served = new Map<string, ServedResource>()
  readonly #kinds = new Map<string, ServedResource>()
  readonly #listeners = new Set<() => void>()

  constructor(definitions: Iterable<ResourceDefinition> = []) {
    for (const definition of definitions) this.#put(definition)
  }

  get epoch(): number {
    return this.#epoch
  }

  get definitions(): Iterable<ResourceDefinition> {
    return this.#definitions.values()
  }

  find(group: string, version: string, plural: string): ServedResource | undefined {
    return this.#served.get(`${plural}.${version}.${group}`)
  }

  findKind(group: string, version: string, kind: string): ServedResource | undefined {
    return this.#kinds.get(`${kind}.${version}.${group}`)
  }

  definition(group: string, plural: string): ResourceDefinition | undefined {
    return this.#definitions.get(`${plural}.${group}`)
  }

  /** Adds definitions, replacing those of the same group and plural. */
  put(...definitions: readonly ResourceDefinition[]): void {
    for (const definition of definitions) this.#put(definition)
    this.#changed()
  }

  /** Removes a resource; its stored objects stay. */
  remove(group: string, plural: string): void {
    const existing = this.#definitions.get(`${plural}.${group}`)
    if (existing === undefined) return
    this.#unregister(existing)
    this.#changed()
  }

  /** Calls `listener` synchronously after each change. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  #put(definition: ResourceDefinition): void {
    const key = `${definition.plural}.${definition.group}`
    const existing = this.#definitions.get(key)
    if (existing !== undefined) this.#unregister(existing)
    this.#definitions.set(key, definition)
    for (const version of definition.versions) {
      if (!version.served) continue
      const served = { definition, version, apiVersion: formatApiVersion(definition.group, version.name) }
      this.#served.set(`${definition.plural}.${version.name}.${definition.group}`, served)
      const kindKey = `${definition.kind}.${version.name}.${definition.group}`
      if (!this.#kinds.has(kindKey)) this.#kinds.set(kindKey, served)
    }
  }

  #unregister(definition: ResourceDefinition): void {
    this.#definitions.delete(`${definition.plural}.${definition.group}`)
    for (const version of definition.versions) {
      this.#served.delete(`${definition.plural}.${version.name}.${definition.group}`)
      const kindKey = `${definition.kind}.${version.name}.${definition.group}`
      if (this.#kinds.get(kindKey)?.definition === definition) this.#kinds.delete(kindKey)
    }
  }

  #changed(): void {
    this.#epoch += 1
    for (const listener of this.#listeners) listener()
  }
}
