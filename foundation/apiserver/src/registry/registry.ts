// All resources that the server serves now. Built-in tables fill it at start, CRDs and delegated groups add and remove theirs while it runs.
// Handlers look resources up by path, discovery and OpenAPI are pure functions of its content, views and caches follow its epoch.
import { formatApiVersion } from '@fairlead/kube'
import type { ResourceDefinition, VersionDefinition } from '@fairlead/builtin-kinds'

/** A resource in one of its served versions. */
export interface ServedResource {
  readonly definition: ResourceDefinition
  readonly version: VersionDefinition
  /** `apps/v1`. */
  readonly apiVersion: string
}

/** What readers of the registry need; {@link Registry} implements it. */
export interface RegistryReader {
  /** Rises with every change of content. */
  readonly epoch: number
  /** Every definition, built-in ones first, in the order they were added. */
  readonly definitions: Iterable<ResourceDefinition>
  /** The resource behind a path; undefined when its version is not served. */
  find(group: string, version: string, plural: string): ServedResource | undefined
  /** The resource of a kind; undefined when its version is not served. */
  findKind(group: string, version: string, kind: string): ServedResource | undefined
  /** The definition whatever its versions. */
  definition(group: string, plural: string): ResourceDefinition | undefined
}

/** The mutable registry. All changes happen in one turn, so no reader ever sees half a change. */
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

  /** Adds definitions or replaces those of the same group and plural. */
  put(...definitions: readonly ResourceDefinition[]): void {
    for (const definition of definitions) this.#put(definition)
    this.#changed()
  }

  /** Takes a resource out; its stored objects are not touched. */
  remove(group: string, plural: string): void {
    const existing = this.#definitions.get(`${plural}.${group}`)
    if (existing === undefined) return
    this.#forget(existing)
    this.#changed()
  }

  /** Calls back after each change, in the same turn. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener)
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  #put(definition: ResourceDefinition): void {
    const key = `${definition.plural}.${definition.group}`
    const existing = this.#definitions.get(key)
    if (existing !== undefined) this.#forget(existing)
    this.#definitions.set(key, definition)
    for (const version of definition.versions) {
      if (!version.served) continue
      const served = { definition, version, apiVersion: formatApiVersion(definition.group, version.name) }
      this.#served.set(`${definition.plural}.${version.name}.${definition.group}`, served)
      const kindKey = `${definition.kind}.${version.name}.${definition.group}`
      if (!this.#kinds.has(kindKey)) this.#kinds.set(kindKey, served)
    }
  }

  #forget(definition: ResourceDefinition): void {
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
