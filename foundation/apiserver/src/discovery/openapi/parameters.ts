// Query and path parameters of operations: the simple fields of Kubernetes' option types.
import type { JsonObject } from '@fairlead/kube'

const types: Readonly<Record<string, 'string' | 'integer' | 'boolean'>> = {
  allowWatchBookmarks: 'boolean',
  force: 'boolean',
  gracePeriodSeconds: 'integer',
  ignoreStoreReadErrorWithClusterBreakingPotential: 'boolean',
  limit: 'integer',
  orphanDependents: 'boolean',
  sendInitialEvents: 'boolean',
  timeoutSeconds: 'integer',
  watch: 'boolean',
}

const listing = [
  'continue',
  'fieldSelector',
  'labelSelector',
  'limit',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'timeoutSeconds',
]
const deletion = [
  'dryRun',
  'gracePeriodSeconds',
  'ignoreStoreReadErrorWithClusterBreakingPotential',
  'orphanDependents',
  'propagationPolicy',
]
const writing = ['dryRun', 'fieldManager', 'fieldValidation']

/** Names of the query parameters of each verb. */
export const optionNames: Readonly<
  Record<'list' | 'get' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection', readonly string[]>
> = {
  list: ['allowWatchBookmarks', ...listing, 'watch'],
  get: [],
  create: writing,
  update: writing,
  patch: [...writing, 'force'],
  delete: deletion,
  deletecollection: [...listing, ...deletion].toSorted(),
}

/** Returns a query parameter. */
export function queryParameter(name: string): JsonObject {
  return { name, in: 'query', schema: { type: types[name] ?? 'string', uniqueItems: true } }
}

/** Returns a path parameter. */
export function pathParameter(name: string): JsonObject {
  return { name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } }
}

/** Returns the parameters that all operations of a path share. */
export function sharedParameters(path: string): readonly JsonObject[] {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? '')
  return [...names.toSorted().map(pathParameter), queryParameter('pretty')]
}
