// The common part of every write: from a decoded object to one that may be stored. Ownership of fields is computed before the kind's own
// preparation, as the real server does, then metadata and the kind's rules are checked.
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
  trackUpdate,
} from '@fairlead/kube'
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { finalizerWarnings, validateMetadata, validateMetadataUpdate } from '../objects/metadata-validation.ts'
import { storedCustomForm, storedForm } from '../objects/object-form.ts'
import { dropRepeatedOwners } from '../objects/repeated-owners.ts'
import { fillSystemFields, keepSystemFields, raiseGeneration } from '../objects/system-fields.ts'
import { storedApiVersion } from '@fairlead/builtin-kinds'
import type { Draft, Strategy, WriteContext } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../registry/registry.ts'
import { convertToStored } from '../views/views.ts'
import { writeOptionsObject } from '../admission/options-object.ts'
import type { Environment, ResourceCall } from './server-dependencies.ts'
import { timestamp, writeContext } from './server-dependencies.ts'
import { acrossVersions } from './across-versions.ts'
import { resetFields, schemaOf } from './managed-fields.ts'

/** Who writes, and whether it counts. */
export interface WriteMode {
  readonly dryRun: boolean
  readonly manager: string
  /** Ownership is in the object already (server-side apply). */
  readonly isApplied?: boolean
}

/**
 * Makes a decoded object ready to be created; it still has the version of the request.
 * @throws StatusError 403 by admission, 422
 */
export async function prepareCreate(
  environment: Environment,
  call: ResourceCall,
  object: JsonObject,
  mode: WriteMode,
): Promise<Draft> {
  const { definition } = call.resource
  const { strategy } = definition
  const now = timestamp(environment.clock.now())
  let draft = object as Draft
  strategy.applyDefaults?.(draft, { keepsNulls: mode.isApplied === true })
  if (mode.isApplied !== true) draft = await tracked(call, undefined, draft, mode.manager, now)
  draft = await admitted(environment, call, 'CREATE', draft, undefined, mode.dryRun)
  checkNamespace(environment, call, asObject(draft).metadata.name ?? '')
  fillSystemFields(draft, definition, environment.newUid(), now)
  const context = writeContext(environment, call, mode.dryRun)
  if (strategy.hasStatus && definition.crd !== undefined) delete draft['status']
  strategy.prepareForCreate?.(draft, context)
  const errors = [
    ...validateMetadata(definition, asObject(draft).metadata),
    ...(strategy.validate?.(asObject(draft), context) ?? []),
  ]
  refuse(call.resource, draft, errors)
  warn(call, draft, undefined)
  return draft
}

/**
 * Makes a changed object ready to be stored over `old`, both in the version of the request.
 * @throws StatusError 403 by admission, 422
 */
export async function prepareUpdate(
  environment: Environment,
  call: ResourceCall,
  object: JsonObject,
  old: KubeObject,
  mode: WriteMode,
): Promise<Draft> {
  const { definition } = call.resource
  const { strategy } = definition
  const now = timestamp(environment.clock.now())
  let draft = object as Draft
  strategy.applyDefaults?.(draft, { keepsNulls: mode.isApplied === true })
  const isBinding = call.subresource === 'binding'
  if (mode.isApplied !== true && !isBinding) draft = await tracked(call, old, draft, mode.manager, now)
  draft = await admitted(environment, call, 'UPDATE', draft, old, mode.dryRun)
  const oldJson = old as unknown as JsonObject
  const isStatus = (strategy.statusSubresources ?? statusEndpoints).has(call.subresource)
  if (isStatus) keepAllButStatus(draft, oldJson, definition.crd === undefined ? strategy.statusKeeps : 'metadata')
  else if (strategy.hasStatus && !isBinding) keepStatus(draft, oldJson)
  keepSystemFields(draft, old.metadata)
  const context = writeContext(environment, call, mode.dryRun)
  if (!unlockingEndpoints.has(call.subresource)) strategy.prepareForUpdate?.(draft, old, context)
  if (strategy.tracksGeneration && !isStatus && !isBinding)
    raiseGeneration(draft, oldJson, strategy.hasStatus ?? false, strategy.generationCountsAnnotations)
  const updated = keepUnchangedTimes(old, asObject(draft))
  if (updated.metadata.managedFields === old.metadata.managedFields)
    draft.metadata['managedFields'] = cloneJson(asJson(old.metadata)['managedFields'] ?? null)
  if (draft.metadata['managedFields'] === null) delete draft.metadata['managedFields']
  const errors = [
    ...validateMetadataUpdate(definition, updated.metadata, old.metadata),
    ...kindErrors(strategy, updated, old, context, isStatus),
  ]
  refuse(call.resource, draft, errors)
  warn(call, draft, old)
  return draft
}

/** Endpoints that change status and nothing else. */
const statusEndpoints: ReadonlySet<string> = new Set(['status', 'approval'])
/** Endpoints that change what the main one keeps as it is: finalizers of a Namespace's spec, the node of a Pod. */
const unlockingEndpoints: ReadonlySet<string> = new Set(['finalize', 'binding'])

function kindErrors(
  strategy: Strategy,
  updated: KubeObject,
  old: KubeObject,
  context: WriteContext,
  isStatus: boolean,
): readonly FieldError[] {
  if (isStatus && strategy.validateStatusUpdate !== undefined)
    return strategy.validateStatusUpdate(updated, old, context)
  return context.subresource === 'binding' ? [] : (strategy.validateUpdate?.(updated, old, context) ?? [])
}

/** The object as the store keeps it. */
export async function toStored(draft: JsonObject, resource: ServedResource): Promise<JsonObject> {
  const [object] = await convertToStored([asObject(draft)], resource)
  const json = object as unknown as JsonObject
  return resource.definition.crd === undefined ? storedForm(json) : storedCustomForm(json)
}

/** Whether storing would change nothing. */
export function isSameObject(stored: JsonObject, current: JsonObject): boolean {
  return jsonEqual(stored, current)
}

/** A private copy of a frozen object. */
export function draftOf(object: KubeObject): Draft {
  return cloneJson(object as unknown as JsonValue) as Draft
}

/** The namespace of a new object has to be there and not on its way out. @throws StatusError 404, 403 */
export function checkNamespace(environment: Environment, call: ResourceCall, name: string): void {
  if (call.namespace === '' || !call.resource.definition.namespaced) return
  const namespace = environment.read('namespaces.', call.namespace)
  if (namespace === undefined) throw notFound({ group: '', plural: 'namespaces' }, call.namespace)
  if (namespace.metadata.deletionTimestamp === undefined) return
  const detail = `unable to create new content in namespace ${call.namespace} because it is being terminated`
  throw forbidden(call.resource.definition, name, detail, [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${call.namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ])
}

/** 500: a new object cannot carry a resourceVersion. */
export function refuseResourceVersion(metadata: JsonObject): void {
  const version = metadata['resourceVersion']
  if (version !== undefined && version !== '' && version !== '0')
    throw failure(500, undefined, 'resourceVersion should not be set on objects to be created')
}

async function tracked(
  call: ResourceCall,
  live: KubeObject | undefined,
  draft: Draft,
  manager: string,
  now: string,
): Promise<Draft> {
  const updated = await acrossVersions(call.resource, (versions) =>
    trackUpdate({
      live,
      updated: asObject(draft),
      schemaFor: schemaOf(call.resource),
      manager,
      subresource: call.subresource,
      now,
      resetFields: resetFields(call.resource, call.subresource),
      ...versions,
    }),
  )
  const { metadata } = updated as unknown as Draft
  return { ...(updated as unknown as Draft), metadata: { ...metadata } }
}

async function admitted(
  environment: Environment,
  call: ResourceCall,
  operation: 'CREATE' | 'UPDATE',
  draft: Draft,
  old: KubeObject | undefined,
  dryRun: boolean,
): Promise<Draft> {
  const changed = await environment.admission.mutate({
    operation,
    resource: call.resource,
    subresource: call.subresource,
    namespace: call.namespace,
    name: call.name,
    object: call.shown?.of(asObject(draft)) ?? asObject(draft),
    oldObject: old && (call.shown?.of(old) ?? old),
    user: call.user,
    dryRun,
    signal: call.signal,
    options: () => writeOptionsObject(operation === 'CREATE' ? 'CreateOptions' : 'UpdateOptions', call.query),
    warnings: call.warnings,
  })
  if (call.shown === undefined) {
    const admittedDraft = (changed ?? draft) as Draft
    dropRepeatedOwners(admittedDraft.metadata, call.warnings, ' after mutating admission happens')
    return admittedDraft
  }
  if (changed !== undefined) call.shown.take(draft, asObject(changed))
  return draft
}

/** `/status`: everything but status stays as it was; most built-in kinds let labels, annotations and the like of metadata through. */
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
  // A custom resource is called what it calls itself, even where that is what is wrong.
  const itself = asObject(draft)
  const { kind, apiVersion } =
    definition.crd === undefined ? { kind: definition.kind, apiVersion: storedApiVersion(definition) } : itself
  const { group } = parseApiVersion(apiVersion)
  throw invalid({ group, kind }, asObject(draft).metadata.name ?? '', errors)
}

function warn(call: ResourceCall, draft: Draft, old: KubeObject | undefined): void {
  const { definition } = call.resource
  const object = asObject(draft)
  if (definition.crd !== undefined) call.warnings.push(...finalizerWarnings(object.metadata, old?.metadata))
  call.warnings.push(...(definition.strategy.warnings?.(object, old) ?? []))
}
