// Converts resource storages to resource definitions: like custom resources, with the verbs and subresources of the
// storage.
import type { ResourceStorage, RestStorage, StorageColumn, SubresourceHandlers } from '@fairlead/controller'
import { asObject } from '@fairlead/kube'
import { resourceDefinitionFrom } from '../custom/index.ts'
import { formatGroupResource } from '@fairlead/kube'
import type {
  ResourceDefinition,
  Strategy,
  SubresourceDefinition,
  TablePrinter,
  VersionDefinition,
} from '@fairlead/builtin-kinds'

/**
 * Reasons to reject a resource storage:
 * - `ResourceServed`: a resource of that name is already served. Remove it first.
 * - `StorageIncomplete`: the storage lacks methods that its other methods require.
 */
export type ResourceStorageErrorCode = 'ResourceServed' | 'StorageIncomplete'

/** Error of `ApiServer.addStorage`; `code` is stable. */
export class ResourceStorageError extends Error {
  readonly code: ResourceStorageErrorCode

  constructor(code: ResourceStorageErrorCode, message: string) {
    super(message)
    this.name = 'ResourceStorageError'
    this.code = code
  }
}

const subresourceVerbs = ['get', 'patch', 'update']

/** Returns the definition of a resource storage. @throws ResourceStorageError `StorageIncomplete` */
export function storageDefinition(resource: ResourceStorage): ResourceDefinition {
  const {
    definition,
    storage,
    subresources = [],
    selectableFields = {},
    maxObjectBytes,
    maxBodyBytes,
    columns,
  } = resource
  const { crd: _notInstalled, ...base } = resourceDefinitionFrom(definition)
  checkStorage(base, storage)
  const verbs = verbsOf(storage)
  const own = subresources.map((subresource) => subresourceDefinition(subresource, base.kind))
  const wholeObjects = subresources.filter((subresource) => typeof subresource === 'string')
  return {
    ...base,
    origin: 'storage',
    ...(maxBodyBytes === undefined ? {} : { maxBodyBytes }),
    ...(storage.noDryRun === undefined ? {} : { noDryRun: storage.noDryRun }),
    versions: base.versions.map((version): VersionDefinition => ({
      ...version,
      verbs,
      ...(columns === undefined ? {} : { printer: printer(columns) }),
      subresources: [...version.subresources, ...own],
      selectableFields: { ...version.selectableFields, ...selectableFields },
    })),
    strategy: {
      ...base.strategy,
      ...prepareForCreate(base.strategy, storage),
      objectSubresources: new Set(['status', ...wholeObjects]),
      statusSubresources: new Set(['status']),
      ...(maxObjectBytes === undefined ? {} : { maxObjectBytes }),
    },
  }
}

/** Returns the preparation that gives new objects the identity of the storage. */
function prepareForCreate(strategy: Strategy, storage: RestStorage): Pick<Strategy, 'prepareForCreate'> {
  if (storage.identity === undefined) return {}
  return {
    prepareForCreate(object, context) {
      strategy.prepareForCreate?.(object, context)
      const { name, uid } = storage.identity!(asObject(object))
      object.metadata['name'] = name
      delete object.metadata['generateName']
      if (uid !== undefined) object.metadata['uid'] = uid
    },
  }
}

function printer(columns: readonly StorageColumn[]): TablePrinter {
  const name = { name: 'Name', type: 'string', format: 'name', description: 'Name of the object.', priority: 0 }
  const definitions = columns.map(({ name: title, type, description, priority = 0 }) => {
    return { name: title, type, format: '', description, priority }
  })
  return {
    columns: [name, ...definitions],
    cells: (object) => [object.metadata.name ?? '', ...columns.map((column) => column.cell(object))],
  }
}

/** Returns true for reviews: created objects are answered, not stored. */
export function isReview(storage: RestStorage): boolean {
  return storage.create !== undefined && storage.get === undefined && !canList(storage)
}

function subresourceDefinition(subresource: string | SubresourceHandlers, ownKind: string): SubresourceDefinition {
  if (typeof subresource === 'string') return { name: subresource, kind: ownKind, verbs: subresourceVerbs }
  const { name, kind = ownKind, apiVersion } = subresource
  const verbs = (['create', 'get'] as const).filter((verb) => subresource[verb] !== undefined)
  return { name, kind, ...(apiVersion === undefined ? {} : { groupVersion: apiVersion }), verbs }
}

function checkStorage(definition: ResourceDefinition, storage: RestStorage): void {
  const refuse = (method: string, missing: string): never => {
    const message = `the storage of ${formatGroupResource(definition)} has ${method} and lacks ${missing}`
    throw new ResourceStorageError('StorageIncomplete', message)
  }
  for (const method of ['update', 'delete'] as const) {
    if (storage[method] === undefined) continue
    if (storage.get === undefined) refuse(method, 'get')
    if (storage.watch === undefined) refuse(method, 'watch, without which revisions mean nothing')
  }
  if (storage.watch !== undefined && !canList(storage)) refuse('watch', 'list or page')
  if (storage.get === undefined && storage.create === undefined && !canList(storage)) refuse('no verb', 'everything')
}

function canList(storage: RestStorage): boolean {
  return storage.list !== undefined || storage.page !== undefined
}

/** Returns the verbs in the order of discovery. */
function verbsOf(storage: RestStorage): readonly string[] {
  const updates = storage.update !== undefined
  const lists = canList(storage)
  return [
    ...(storage.delete === undefined ? [] : lists ? ['delete', 'deletecollection'] : ['delete']),
    ...(storage.get === undefined ? [] : ['get']),
    ...(lists ? ['list'] : []),
    ...(updates ? ['patch'] : []),
    ...(storage.create === undefined ? [] : ['create']),
    ...(updates ? ['update'] : []),
    ...(storage.watch === undefined ? [] : ['watch']),
  ]
}
