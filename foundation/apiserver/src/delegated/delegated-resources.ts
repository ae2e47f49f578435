// The delegated resources of a server: adding one registers its definition, connects its storage, and puts its checks into admission.
import type { DelegatedResource, DelegatedStorage } from '@fairlead/controller'
import type { AdmissionLink } from '../admission/admission.ts'
import type { Registry } from '../registry/registry.ts'
import type { ResourceDefinition } from '../registry/resource.ts'
import { resourceName, storedApiVersion } from '../registry/resource.ts'
import type { Store } from '../storage/store.ts'
import { delegatedDefinition } from './delegated-definition.ts'
import { DelegatedTable } from './delegated-table.ts'
import { RoutedStore } from './routed-store.ts'

/** A resource of that name is served already. */
export class DelegationError extends Error {
  readonly code = 'ResourceServed'
}

/** All delegated resources. */
export class DelegatedResources {
  /** The store for endpoints. */
  readonly store: RoutedStore
  readonly #own: Store
  readonly #registry: Registry
  readonly #storages = new Map<string, DelegatedStorage>()
  readonly #onError: (error: unknown) => void

  constructor(store: Store, registry: Registry, onError: (error: unknown) => void) {
    this.store = new RoutedStore(store)
    this.#own = store
    this.#registry = registry
    this.#onError = onError
  }

  /** Serves a resource until the returned value is disposed. @throws DelegationError `ResourceServed` */
  async add(resource: DelegatedResource): Promise<Disposable> {
    const definition = delegatedDefinition(resource)
    const { group, plural } = definition
    if (this.#registry.definition(group, plural) !== undefined)
      throw new DelegationError(`${plural}.${group} is served already; take it out before delegating it`)
    const name = resourceName(definition)
    const { storage } = resource
    const table = await DelegatedTable.start({
      resource: name,
      apiVersion: storedApiVersion(definition),
      kind: definition.kind,
      storage,
      store: this.#own,
      onError: this.#onError,
    })
    const stack = new DisposableStack()
    stack.use(table)
    stack.use(this.store.add(table))
    this.#storages.set(name, storage)
    stack.defer(() => void this.#storages.delete(name))
    this.#registry.put(definition)
    stack.defer(() => this.#registry.remove(group, plural))
    return stack
  }

  /** Asks storages before writes of their resources. */
  link(): AdmissionLink {
    return {
      name: 'delegated',
      validate: ({ resource, operation, object, oldObject, user, subresource, dryRun, warnings, signal }) => {
        const storage = this.#storageOf(resource.definition)
        if (storage?.validate === undefined || operation === 'CONNECT') return undefined
        const review = { operation, object, old: oldObject, user, subresource, dryRun, warnings }
        return storage.validate({ ...review, signal: signal ?? new AbortController().signal })
      },
    }
  }

  #storageOf(definition: ResourceDefinition): DelegatedStorage | undefined {
    return this.#storages.size === 0 ? undefined : this.#storages.get(resourceName(definition))
  }
}
