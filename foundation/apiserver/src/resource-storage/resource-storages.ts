// The resource storages of a server: adding one registers its definition, routes its store calls, and adds its
// validation to admission.
import type { StorageOperation, ResourceStorage, RestStorage } from '@fairlead/controller'
import { DisposableStack, formatGroupResource } from '@fairlead/kube'
import type { AdmissionPlugin } from '../admission/plugin.ts'
import type { ResourceHandler, ResourceHandlers } from '../handlers/resource-handlers.ts'
import type { Registry } from '../registry/registry.ts'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { resourceName, storedApiVersion } from '@fairlead/builtin-kinds'
import type { Store } from '../storage/store.ts'
import { reviewHandler, subresourceHandler, noDryRun } from './storage-handlers.ts'
import { ResourceStorageError, storageDefinition, isReview } from './storage-definition.ts'
import { StorageTable } from './storage-table.ts'
import { RoutedStore } from './routed-store.ts'

const operations: Readonly<Record<string, StorageOperation>> = {
  CREATE: 'create',
  UPDATE: 'update',
  DELETE: 'delete',
}

/** All resource storages. */
export class ResourceStorages {
  /** The store that handlers call. */
  readonly store: RoutedStore
  readonly #serverStore: Store
  readonly #registry: Registry
  readonly #storages = new Map<string, RestStorage>()
  readonly #handlers: Record<string, ResourceHandler>
  readonly #onError: (error: unknown) => void

  /** `handlers` are those of the server; resource storages add theirs. */
  constructor(store: Store, registry: Registry, handlers: ResourceHandlers, onError: (error: unknown) => void) {
    this.store = new RoutedStore(store)
    this.#serverStore = store
    this.#registry = registry
    this.#handlers = { ...handlers }
    this.#onError = onError
  }

  /** The handlers of the server and those of resource storages. */
  get handlers(): ResourceHandlers {
    return this.#handlers
  }

  /** Serves a resource until the returned value is disposed. @throws ResourceStorageError */
  async add(resource: ResourceStorage): Promise<Disposable> {
    const definition = storageDefinition(resource)
    const { group, plural } = definition
    if (this.#registry.definition(group, plural) !== undefined) {
      const message = `${plural}.${group} is already served; remove it before adding a storage for it`
      throw new ResourceStorageError('ResourceServed', message)
    }
    const name = resourceName(definition)
    const { storage } = resource
    const table = await StorageTable.start({
      resource: name,
      apiVersion: storedApiVersion(definition),
      kind: definition.kind,
      storage,
      store: this.#serverStore,
      onError: this.#onError,
    })
    const stack = new DisposableStack()
    stack.use(table)
    stack.use(this.store.add(table))
    this.#storages.set(name, storage)
    stack.defer(() => void this.#storages.delete(name))
    for (const [path, handler] of handlersOf(resource, definition)) {
      this.#handlers[path] = handler
      stack.defer(() => void delete this.#handlers[path])
    }
    this.#registry.put(definition)
    stack.defer(() => this.#registry.remove(group, plural))
    return stack
  }

  /** Returns the admission plugin that calls `validate` of storages before writes. */
  admissionPlugin(): AdmissionPlugin {
    return {
      name: 'resource-storage',
      validate: (request) => {
        const { resource, operation, object, oldObject, user, subresource, dryRun, warnings, signal } = request
        const storage = this.#storageOf(resource.definition)
        if (storage === undefined || operation === 'CONNECT') return undefined
        // A subresource with handlers is not the stored object.
        if (subresource !== '' && `${formatGroupResource(resource.definition)}/${subresource}` in this.#handlers)
          return undefined
        const verb = operations[operation]!
        if (dryRun && storage.noDryRun?.includes(verb) === true) throw noDryRun({ resource, subresource: '' }, verb)
        if (storage.validate === undefined) return undefined
        const review = { operation, object, old: oldObject, user, subresource, dryRun, warnings }
        return storage.validate({ ...review, signal: signal ?? new AbortController().signal })
      },
    }
  }

  #storageOf(definition: ResourceDefinition): RestStorage | undefined {
    return this.#storages.size === 0 ? undefined : this.#storages.get(resourceName(definition))
  }
}

function* handlersOf(
  { storage, subresources = [] }: ResourceStorage,
  definition: ResourceDefinition,
): Generator<readonly [string, ResourceHandler]> {
  const name = formatGroupResource(definition)
  if (isReview(storage)) yield [name, reviewHandler(storage)]
  for (const subresource of subresources) {
    if (typeof subresource !== 'string') yield [`${name}/${subresource.name}`, subresourceHandler(subresource)]
  }
}
