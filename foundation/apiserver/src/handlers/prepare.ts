// The common part of every write: from a decoded object to one that may be stored. managedFields are computed before
// the kind's own preparation, as in the real server; then metadata and the kind's rules are validated.
import { yieldIfLong } from '@fairlead/client'
import {
  asJson,
  asObject,
  cloneJson,
  failure,
  forbidden,
  invalid,
  jsonEqual,
  keepUnchangedTimes,
  notFound,
  parseApiVersion,
  trackUpdateSteps,
  runStepsCooperatively,
} from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { finalizerWarnings, validateMetadata, validateMetadataUpdate } from '../objects/metadata-validation.ts'
import { dropRepeatedOwners } from '../objects/repeated-owners.ts'
import { fillSystemFields, keepSystemFields, raiseGeneration } from '../objects/system-fields.ts'
import { storedApiVersion } from '@fairlead/builtin-kinds'
import type { Draft, Strategy, WriteContext } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../registry/registry.ts'
import { convertToStored } from '../views/views.ts'
import { admissionAttributes } from './admission-attributes.ts'
import { acrossVersions } from './across-versions.ts'
import { hasVersion, resetFields, schemaOf } from './managed-fields.ts'
import type { RequestScope } from './request-scope.ts'
import { writeContext } from './server-dependencies.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { timestamp } from '../objects/timestamp.ts'
import { originRules } from '../objects/origin-rules.ts'
import { checkValueCount } from '../objects/value-limit.ts'

/** Options of a write. */
export interface WriteMode {
  readonly dryRun: boolean
  /** The field manager. */
  readonly manager: string
  /** The object has its managedFields already (server-side apply). */
  readonly isApplied?: boolean
  /**
   * The server itself changes the object as the effect of a request that admission has admitted already (binding,
   * eviction): no admission, no tracking of fields, none of the kind's rules for clients.
   */
  readonly internal?: boolean
}

/**
 * Prepares a decoded object for creation; it keeps the version of the request.
 * @throws StatusError 403 by admission, 422
 */
export async function prepareCreate(
  server: ServerDependencies,
  scope: RequestScope,
  object: JsonObject,
  mode: WriteMode,
): Promise<Draft> {
  const { definition } = scope.resource
  const { strategy } = definition
  const now = timestamp(server.clock.now())
  let draft = object as Draft
  await yieldIfLong()
  checkValueCount(draft)
  await yieldIfLong()
  strategy.applyDefaults?.(draft, { keepsNulls: mode.isApplied === true })
  await yieldIfLong()
  if (mode.isApplied !== true) draft = await tracked(scope, undefined, draft, mode.manager, now)
  await yieldIfLong()
  draft = await admitted(server, scope, 'CREATE', draft, undefined, mode.dryRun)
  checkNamespace(server, scope, asObject(draft).metadata.name ?? '')
  fillSystemFields(draft, definition, server.newUid(), now)
  const context = writeContext(server, scope, mode.dryRun)
  if (strategy.hasStatus && originRules(definition).isUnstructured) delete draft['status']
  strategy.prepareForCreate?.(draft, context)
  await yieldIfLong()
  const errors = [
    ...validateMetadata(definition, asObject(draft).metadata),
    ...((await strategy.validate?.(asObject(draft), context)) ?? []),
  ]
  refuse(scope.resource, draft, errors)
  await yieldIfLong()
  warn(scope, draft, undefined)
  await yieldIfLong()
  return draft
}

/**
 * Prepares a changed object to replace `old`, both in the version of the request.
 * @throws StatusError 403 by admission, 422
 */
export async function prepareUpdate(
  server: ServerDependencies,
  scope: RequestScope,
  object: JsonObject,
  old: KubeObject,
  mode: WriteMode,
): Promise<Draft> {
  const { definition } = scope.resource
  const { strategy } = definition
  const now = timestamp(server.clock.now())
  let draft = object as Draft
  await yieldIfLong()
  checkValueCount(draft, asJson(old))
  await yieldIfLong()
  strategy.applyDefaults?.(draft, { keepsNulls: mode.isApplied === true })
  await yieldIfLong()
  const isInternal = mode.internal === true
  if (!isInternal) {
    if (mode.isApplied !== true) draft = await tracked(scope, old, draft, mode.manager, now)
    await yieldIfLong()
    draft = await admitted(server, scope, 'UPDATE', draft, old, mode.dryRun)
  }
  const oldJson = old as unknown as JsonObject
  const isStatus = (strategy.statusSubresources ?? statusSubresources).has(scope.subresource)
  if (isStatus)
    keepAllButStatus(draft, oldJson, originRules(definition).statusKeepsMetadata ? 'metadata' : strategy.statusKeeps)
  else if (strategy.hasStatus && !isInternal) keepStatus(draft, oldJson)
  keepSystemFields(draft, old.metadata)
  const context = writeContext(server, scope, mode.dryRun)
  if (!isInternal && scope.subresource !== 'finalize') strategy.prepareForUpdate?.(draft, old, context)
  if (strategy.tracksGeneration && strategy.keepsGeneration !== true && !isStatus && !isInternal)
    raiseGeneration(draft, oldJson, strategy.hasStatus ?? false, strategy.generationCounts)
  await yieldIfLong()
  const updated = keepUnchangedTimes(old, asObject(draft))
  if (updated.metadata.managedFields === old.metadata.managedFields)
    draft.metadata['managedFields'] = asJson(old.metadata)['managedFields'] ?? null
  if (draft.metadata['managedFields'] === null) delete draft.metadata['managedFields']
  const errors = [
    ...validateMetadataUpdate(definition, updated.metadata, old.metadata, isStatus),
    ...(isInternal ? [] : await kindErrors(strategy, updated, old, context, isStatus)),
  ]
  refuse(scope.resource, draft, errors)
  await yieldIfLong()
  warn(scope, draft, old, isStatus)
  await yieldIfLong()
  return draft
}

/** Subresources that change status and nothing else. */
const statusSubresources: ReadonlySet<string> = new Set(['status', 'approval'])

function kindErrors(
  strategy: Strategy,
  updated: KubeObject,
  old: KubeObject,
  context: WriteContext,
  isStatus: boolean,
): readonly FieldError[] | Promise<readonly FieldError[]> {
  if (isStatus && strategy.validateStatusUpdate !== undefined)
    return strategy.validateStatusUpdate(updated, old, context)
  return strategy.validateUpdate?.(updated, old, context) ?? []
}

/** Returns the object in its stored form. */
export async function toStored(draft: JsonObject, resource: ServedResource): Promise<JsonObject> {
  const [object] = await convertToStored([asObject(draft)], resource)
  const json = object as unknown as JsonObject
  return originRules(resource.definition).storedForm(json)
}

/** Returns true when storing would change nothing. */
export function isSameObject(stored: JsonObject, current: JsonObject): boolean {
  return jsonEqual(stored, current)
}

/** Returns a private copy of a frozen object. */
export function draftOf(object: KubeObject): Draft {
  return cloneJson(object as unknown as JsonValue) as Draft
}

/**
 * Checks that the namespace of a new object exists and is not terminating.
 * @throws StatusError 404, 403
 */
export function checkNamespace(server: ServerDependencies, scope: RequestScope, name: string): void {
  if (scope.namespace === '' || !scope.resource.definition.namespaced) return
  const namespace = server.read('namespaces.', scope.namespace)
  if (namespace === undefined) throw notFound({ group: '', plural: 'namespaces' }, scope.namespace)
  if (namespace.metadata.deletionTimestamp === undefined) return
  const detail = `unable to create new content in namespace ${scope.namespace} because it is being terminated`
  throw forbidden(scope.resource.definition, name, detail, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${scope.namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ])
}

/** The largest resourceVersion that Go's ParseUint accepts. */
const maxResourceVersion = 2n ** 64n - 1n

/**
 * Refuses a new object with a resourceVersion. Like in the real server (storage/etcd3, store.Create) one that is not a
 * number counts as none.
 * @throws StatusError 500
 */
export function refuseResourceVersion(metadata: JsonObject): void {
  const version = metadata['resourceVersion']
  if (typeof version !== 'string' || !/^\d+$/.test(version)) return
  const number = BigInt(version)
  if (number > 0n && number <= maxResourceVersion)
    throw failure(500, undefined, 'resourceVersion should not be set on objects to be created')
}

async function tracked(
  scope: RequestScope,
  live: KubeObject | undefined,
  draft: Draft,
  manager: string,
  now: string,
): Promise<Draft> {
  // The fields of a version that the definition has dropped cannot be converted; the real server then tracks nothing.
  const { isUnstructured } = originRules(scope.resource.definition)
  if (
    isUnstructured &&
    live?.metadata.managedFields?.some(({ apiVersion }) => !hasVersion(scope.resource, apiVersion ?? ''))
  ) {
    const { managedFields: _untracked, ...metadata } = draft.metadata
    return { ...draft, metadata }
  }
  const updated = await acrossVersions(scope.resource, (versions) =>
    runStepsCooperatively(
      trackUpdateSteps({
        live,
        updated: asObject(draft),
        schemaFor: schemaOf(scope.resource),
        manager,
        subresource: scope.subresource,
        now,
        resetFields: resetFields(scope.resource, scope.subresource),
        mayMismatch: isUnstructured,
        ...versions,
      }),
      yieldIfLong,
    ),
  )
  const { metadata } = updated as unknown as Draft
  return { ...(updated as unknown as Draft), metadata: { ...metadata } }
}

async function admitted(
  server: ServerDependencies,
  scope: RequestScope,
  operation: 'CREATE' | 'UPDATE',
  draft: Draft,
  old: KubeObject | undefined,
  dryRun: boolean,
): Promise<Draft> {
  const changed = await server.admission.mutate(admissionAttributes(scope, operation, asObject(draft), old, dryRun))
  if (scope.presented === undefined) {
    const admittedDraft = (changed ?? draft) as Draft
    dropRepeatedOwners(admittedDraft.metadata, scope.warnings, ' after mutating admission happens')
    return admittedDraft
  }
  if (changed !== undefined) scope.presented.writeBack(draft, asObject(changed))
  return draft
}

/**
 * Restores everything but status after a write through `/status`; most built-in kinds keep changes to labels,
 * annotations and other metadata.
 */
function keepAllButStatus(draft: Draft, old: JsonObject, kept: Strategy['statusKeeps']): void {
  for (const name of Object.keys(draft)) {
    if (name !== 'status' && name !== 'metadata' && !Object.hasOwn(old, name)) delete draft[name]
  }
  for (const [name, value] of Object.entries(old)) {
    if (name !== 'status' && name !== 'metadata') draft[name] = cloneJson(value)
  }
  const oldMetadata = old['metadata'] as JsonObject
  const { metadata } = draft
  if (kept === 'metadata') {
    const { managedFields, resourceVersion } = metadata
    draft.metadata = { ...oldMetadata, ...(resourceVersion === undefined ? {} : { resourceVersion }) }
    delete draft.metadata['managedFields']
    if (managedFields !== undefined) draft.metadata['managedFields'] = managedFields
  } else if (kept === 'labels') {
    if (oldMetadata['labels'] === undefined) delete metadata['labels']
    else metadata['labels'] = oldMetadata['labels']
  }
}

function keepStatus(draft: Draft, old: JsonObject): void {
  const status = old['status']
  if (status === undefined) delete draft['status']
  else draft['status'] = cloneJson(status)
}

function refuse({ definition }: ServedResource, draft: Draft, errors: readonly FieldError[]): void {
  if (errors.length === 0) return
  const { kind, apiVersion } = originRules(definition).namesOwnKindInErrors
    ? asObject(draft)
    : { kind: definition.kind, apiVersion: storedApiVersion(definition) }
  const { group } = parseApiVersion(apiVersion)
  throw invalid({ group, kind }, asObject(draft).metadata.name ?? '', errors)
}

function warn(scope: RequestScope, draft: Draft, old: KubeObject | undefined, isStatus = false): void {
  const { definition } = scope.resource
  const object = asObject(draft)
  if (!originRules(definition).requiresKnownFinalizers)
    for (const warning of finalizerWarnings(object.metadata, old?.metadata)) scope.warnings.push(warning)
  if (isStatus) return
  for (const warning of definition.strategy.warnings?.(object, old) ?? []) scope.warnings.push(warning)
}
