// A cache of one document per group version, built on first use and invalidated when a resource of the group version
// changes.
import { setImmediate } from 'node:timers/promises'
import { formatApiVersion } from '@fairlead/kube'
import type { RegistryReader } from '../../registry/registry.ts'
import type { ApiGroup, ApiGroupVersion } from '../api-groups.ts'
import { apiGroups } from '../api-groups.ts'

interface Entry<T> {
  readonly group: string
  readonly version: ApiGroupVersion
  document?: T
}

/** Documents by path: `api/v1`, `apis/<group>/<version>`. Those of extension API servers are not included. */
export class GroupDocuments<T> {
  readonly #registry: RegistryReader
  readonly #build: (group: string, version: ApiGroupVersion, groups: readonly ApiGroup[]) => T
  #epoch = 0
  #groups: readonly ApiGroup[] = []
  #entries = new Map<string, Entry<T>>()
  #all: ReadonlyMap<string, T> | undefined

  constructor(
    registry: RegistryReader,
    build: (group: string, version: ApiGroupVersion, groups: readonly ApiGroup[]) => T,
  ) {
    this.#registry = registry
    this.#build = build
  }

  /** Returns the document of a path. */
  document(path: string): T | undefined {
    this.#follow()
    const entry = this.#entries.get(path)
    if (entry === undefined) return undefined
    entry.document ??= this.#build(entry.group, entry.version, this.#groups)
    return entry.document
  }

  /** Returns all documents; the same map until a change. Yields to the event loop between building two of them. */
  async all(): Promise<ReadonlyMap<string, T>> {
    for (;;) {
      this.#follow()
      if (this.#all !== undefined) return this.#all
      const missing = [...this.#entries.keys()].find((path) => this.#entries.get(path)?.document === undefined)
      if (missing === undefined) break
      this.document(missing)
      await setImmediate()
    }
    this.#all = new Map([...this.#entries].map(([path, { document }]) => [path, document as T]))
    return this.#all
  }

  /** Keeps the documents of group versions with identical resources: only those that a CRD changes are rebuilt. */
  #follow(): void {
    if (this.#epoch === this.#registry.epoch) return
    this.#epoch = this.#registry.epoch
    this.#all = undefined
    this.#groups = apiGroups({
      definitions: [...this.#registry.definitions].filter(({ origin }) => origin !== 'remote'),
    })
    const before = this.#entries
    this.#entries = new Map()
    for (const { name, versions } of this.#groups) {
      for (const version of versions) {
        const path = name === '' ? `api/${version.version}` : `apis/${formatApiVersion(name, version.version)}`
        const known = before.get(path)
        this.#entries.set(
          path,
          known !== undefined && isSame(known.version, version) ? known : { group: name, version },
        )
      }
    }
  }
}

function isSame(a: ApiGroupVersion, b: ApiGroupVersion): boolean {
  return (
    a.resources.length === b.resources.length &&
    a.resources.every(({ version }, index) => version === b.resources[index]?.version)
  )
}
