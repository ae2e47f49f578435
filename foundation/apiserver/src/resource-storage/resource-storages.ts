// The delegated resources of a server: adding one registers its definition, connects its storage, and puts its checks into admission.
import type { StorageOperation, ResourceStorage, RestStorage } from '@fairlead/controller'
import { formatGroupResource } from '@fairlead/kube'
import type { AdmissionPlugin } from '../admission/plugin.ts'
import type { ResourceHandler, ResourceHandlers } from '../handlers/resource-handlers.ts'
import type { Registry } from '../registry/registry.ts'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { resourceName, storedApiVersion } from '@fairlead/builtin-kinds'
import type { Store } from '../storage/store.ts'
import { answeringResource, answeringSubresource, noDryRun } from './storage-handlers.ts'
import { ResourceStorageError, storageDefinition, onlyAnswers } from './storage-definition.ts'
import { StorageTable } from './storage-table.ts'
import { RoutedStore } from './routed-store.ts'

const operations: Readonly<Record<string, StorageOperation>> = {
  CREATE: 'create',
  UPDATE: 'update',
  DELETE: 'delete',
}

/** All delegated resources. */
export class ResourceStorages {
  /** The store for endpoints. */
  readonly store: RoutedStore
  readonly #own: Store
  readonly #registry: Registry
  readonly #storages = new Map<string, RestStorage>()
  readonly #handlers: Record<string, ResourceHandler>
  readonly #onError: (error: unknown) => void

  /** `handlers` are those of the server; resource storages add theirs. */
  constructor(store: Store, registry: Registry, handlers: ResourceHandlers, onError: (error: unknown) => void) {
    this.store = new RoutedStore(store)
    this.#own = store
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
      const message = `${plural}.${group} is served already; take it out before delegating it`
      throw new ResourceStorageError('ResourceServed', message)
    }
    const name = resourceName(definition)
    const { storage } = resource
    const table = await StorageTable.start({
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
    for (const [path, endpoint] of endpointsOf(resource, definition)) {
      this.#handlers[path] = endpoint
      stack.defer(() => void delete this.#handlers[path])
    }
    this.#registry.put(definition)
    stack.defer(() => this.#registry.remove(group, plural))
    return stack
  }

  /** Asks storages before writes of their resources. */
  admissionPlugin(): AdmissionPlugin {
    return {
      name: 'delegated',
      validate: (request) => {
        const { resource, operation, object, oldObject, user, subresource, dryRun, warnings, signal } = request
        const storage = this.#storageOf(resource.definition)
        if (storage === undefined || operation === 'CONNECT') return undefined
        // A subresource that answers for itself is not the object that the storage keeps.
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

function* endpointsOf(
  { storage, subresources = [] }: ResourceStorage,
  definition: ResourceDefinition,
): Generator<readonly [string, ResourceHandler]> {
  const name = formatGroupResource(definition)
  if (onlyAnswers(storage)) yield [name, answeringResource(storage)]
  for (const subresource of subresources) {
    if (typeof subresource !== 'string') yield [`${name}/${subresource.name}`, answeringSubresource(subresource)]
  }
}
