// DELETE: preconditions, grace periods, finalizers for orphaning and foreground deletion, and the response. The rules
// are those of the generic registry's Delete; deleting dependents is the garbage collector's work.
import { conflict, isJsonObject, notFound } from '@fairlead/kube'
import type { JsonObject, KubeObject, ObjectMeta, Status } from '@fairlead/kube'
import type { DeleteOptions } from '../request/write-options.ts'
import { refuseDeletionOfPriorityClass, resourceName } from '@fairlead/builtin-kinds'
import type { Draft, ResourceDefinition } from '@fairlead/builtin-kinds'
import { retryOnConflict } from './retry-on-conflict.ts'
import type { Entry } from '../storage/store.ts'
import { deleteOptionsObject } from '../admission/options-object.ts'
import { admissionAttributes } from './admission-attributes.ts'
import { servedStored } from './update.ts'
import { holdsFinalizers, isNamespaces, refuseDeletionOf } from '../objects/namespace-rules.ts'
import { draftOf, isSameObject, toStored } from './prepare.ts'
import { objectKey } from './request-scope.ts'
import type { RequestScope } from './request-scope.ts'
import type { ServerDependencies } from './server-dependencies.ts'
import { timestamp } from '../objects/timestamp.ts'

/** The result of a deletion: the object while it still exists (or when its kind says so), else a Status of success. */
export type Deleted = { readonly object: KubeObject } | { readonly status: Status }

const orphan = 'orphan'
const foreground = 'foregroundDeletion'

/**
 * Deletes the object that the request names, or begins its deletion.
 * @param isInternal the deletion is the effect of a request that admission has already admitted (eviction)
 * @throws StatusError 403, 404, 409
 */
export async function deleteObject(
  server: ServerDependencies,
  scope: RequestScope,
  options: DeleteOptions,
  isInternal: boolean = false,
): Promise<Deleted> {
  const { definition } = scope.resource
  refuseDeletionOf(definition, scope.name)
  if (resourceName(definition) === 'priorityclasses.scheduling.k8s.io') refuseDeletionOfPriorityClass(scope.name)
  warnAboutJobs(scope, options)
  return retryOnConflict(definition, scope.name, async () => {
    const entry = await server.store.head(resourceName(definition), objectKey(scope), scope.signal)
    if (entry === undefined) throw notFound(definition, scope.name)
    return deleteEntry(server, scope, entry, options, isInternal)
  })
}

async function deleteEntry(
  server: ServerDependencies,
  scope: RequestScope,
  entry: Entry,
  options: DeleteOptions,
  isInternal: boolean,
): Promise<Deleted> {
  const { store } = server
  const { definition } = scope.resource
  const current = (await server.views.of(entry, scope.resource)).object
  checkPreconditions(definition, current, options)
  if (!isInternal) {
    const built = (): JsonObject => deleteOptionsObject(options)
    await server.admission.validate(admissionAttributes(scope, 'DELETE', undefined, current, options.dryRun, built))
  }
  const plan = planDeletion(definition, current, options, server.clock.now())
  if (plan.action === 'wait') return { object: current }
  let last = entry
  let object = current
  if ('object' in plan) {
    const stored = await toStored(plan.object, scope.resource)
    if (isSameObject(stored, entry.object)) {
      await store.reached(entry.revision, scope.signal)
    } else if (options.dryRun) {
      object = await servedStored(stored, entry.revision, scope)
    } else {
      const write = { resource: entry.resource, key: entry.key, expected: entry.revision, object: stored }
      last = await store.write(write, scope)
      object = (await server.views.of(last, scope.resource)).object
    }
    if (plan.action === 'mark') return { object }
  }
  if (!options.dryRun) {
    const write = { resource: entry.resource, key: entry.key, expected: last.revision, object: undefined }
    const removed = await store.write(write, scope)
    object = (await server.views.of(removed, scope.resource)).object
  }
  return definition.strategy.returnsDeletedObject ? { object } : { status: deletedStatus(definition, current) }
}

/**
 * `remove`: now. `mark`: store the object as terminating. `mark-and-remove`: both. `wait`: it is terminating already.
 */
type Plan =
  | { readonly action: 'remove' | 'wait' }
  | { readonly action: 'mark' | 'mark-and-remove'; readonly object: JsonObject }

/** Decides how an object is deleted; pure. */
export function planDeletion(
  definition: ResourceDefinition,
  current: KubeObject,
  options: DeleteOptions,
  now: number,
): Plan {
  const draft = draftOf(current)
  if (definition.strategy.prepareForDeletion?.(draft, timestamp(now))) return { action: 'mark', object: draft }
  if (isNamespaces(definition)) return planNamespace(definition, draft, options, now)
  const grace = graceOf(definition, current, options)
  if (grace === 'pending') return { action: 'wait' }
  const finalizers = finalizersAfter(definition, current.metadata, options)
  const changesFinalizers = !sameSet(finalizers, current.metadata.finalizers ?? [])
  const waits = finalizers.length > 0
  if (grace === undefined && !waits && !changesFinalizers) return { action: 'remove' }
  setFinalizers(draft, finalizers)
  if (grace === undefined) {
    if (!waits) return { action: 'remove' }
    markAsDeleting(draft, now)
    return { action: 'mark', object: draft }
  }
  beginGrace(draft, grace, now)
  return { action: waits || grace > 0 ? 'mark' : 'mark-and-remove', object: draft }
}

function planNamespace(definition: ResourceDefinition, draft: Draft, options: DeleteOptions, now: number): Plan {
  const finalizers = finalizersAfter(definition, draft.metadata as ObjectMeta, options)
  setFinalizers(draft, finalizers)
  if (draft.metadata['deletionTimestamp'] === undefined) {
    draft.metadata['deletionTimestamp'] = timestamp(now)
    draft['status'] = { ...(isJsonObject(draft['status']) ? draft['status'] : {}), phase: 'Terminating' }
    return { action: 'mark', object: draft }
  }
  return holdsFinalizers(definition, draft) ? { action: 'mark', object: draft } : { action: 'remove' }
}

/**
 * Returns the seconds of a graceful deletion that begins or becomes shorter, `pending` while one runs, undefined for a
 * kind without grace periods.
 */
function graceOf(
  definition: ResourceDefinition,
  current: KubeObject,
  options: DeleteOptions,
): number | 'pending' | undefined {
  const { strategy } = definition
  if (strategy.gracePeriodSeconds === undefined) return undefined
  const requested =
    options.gracePeriodSeconds === undefined
      ? undefined
      : options.gracePeriodSeconds < 0
        ? 1
        : options.gracePeriodSeconds
  const { deletionTimestamp, deletionGracePeriodSeconds } = current.metadata
  if (deletionTimestamp === undefined) {
    const own = Math.max(0, strategy.gracePeriodSeconds(current))
    return own === 0 ? 0 : (requested ?? own)
  }
  if (deletionGracePeriodSeconds === undefined) return undefined
  return requested === undefined || requested >= deletionGracePeriodSeconds ? 'pending' : requested
}

function beginGrace(draft: Draft, seconds: number, now: number): void {
  const { metadata } = draft
  const before = metadata['deletionGracePeriodSeconds']
  const began = metadata['deletionTimestamp']
  const base = typeof began === 'string' && typeof before === 'number' ? Date.parse(began) - before * 1000 : now
  if (began === undefined) raise(draft)
  metadata['deletionTimestamp'] = timestamp(base + seconds * 1000)
  metadata['deletionGracePeriodSeconds'] = seconds
}

function markAsDeleting(draft: Draft, now: number): void {
  const { metadata } = draft
  if (metadata['deletionTimestamp'] === undefined) raise(draft)
  const began = metadata['deletionTimestamp']
  if (typeof began !== 'string' || Date.parse(began) > now) metadata['deletionTimestamp'] = timestamp(now)
  metadata['deletionGracePeriodSeconds'] = 0
}

function raise({ metadata }: Draft): void {
  const generation = Number(metadata['generation'] ?? 0)
  if (generation > 0) metadata['generation'] = generation + 1
}

function setFinalizers(draft: Draft, finalizers: readonly string[]): void {
  if (finalizers.length === 0) delete draft.metadata['finalizers']
  else draft.metadata['finalizers'] = finalizers
}

/** Returns the finalizers after those of garbage collection were added and removed as the options say. */
function finalizersAfter(
  definition: ResourceDefinition,
  metadata: ObjectMeta,
  options: DeleteOptions,
): readonly string[] {
  const own = metadata.finalizers ?? []
  const propagation = propagationOf(definition, own, options)
  const kept = own.filter((name) => name !== orphan && name !== foreground)
  if (propagation === 'Orphan') return [...kept, orphan]
  if (propagation === 'Foreground') return [...kept, foreground]
  return kept
}

function propagationOf(definition: ResourceDefinition, finalizers: readonly string[], options: DeleteOptions): string {
  if (options.orphanDependents !== undefined) return options.orphanDependents ? 'Orphan' : 'Background'
  if (options.propagationPolicy !== undefined) return options.propagationPolicy
  if (finalizers.includes(orphan)) return 'Orphan'
  if (finalizers.includes(foreground)) return 'Foreground'
  return definition.strategy.defaultPropagation ?? 'Background'
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  const left = new Set(a)
  return left.size === new Set(b).size && b.every((name) => left.has(name))
}

function checkPreconditions(
  definition: ResourceDefinition,
  current: KubeObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion, name = '' } = current.metadata
  for (const [what, wanted, own] of [
    ['UID', preconditions.uid, uid],
    ['ResourceVersion', preconditions.resourceVersion, resourceVersion],
  ] as const) {
    if (wanted === undefined || wanted === own) continue
    if (isNamespaces(definition)) {
      const detail = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${own}`
      throw conflict(definition, name, detail)
    }
    const end = what === 'UID' ? 'deleted and then recreated' : 'modified'
    const detail = `the ${what} in the precondition (${wanted}) does not match the ${what} in record (${own}). The object might have been ${end}`
    throw conflict({ group: definition.group, plural: definition.kind }, name, detail)
  }
}

function deletedStatus({ group, plural }: ResourceDefinition, { metadata }: KubeObject): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: metadata.name, ...(group === '' ? {} : { group }), kind: plural, uid: metadata.uid },
  }
}

/** Adds the warning that Jobs keep their pods by default. */
function warnAboutJobs(scope: RequestScope, options: DeleteOptions): void {
  const { group, plural } = scope.resource.definition
  if (
    group !== 'batch' ||
    plural !== 'jobs' ||
    options.propagationPolicy !== undefined ||
    options.orphanDependents !== undefined
  )
    return
  scope.warnings.push(
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  )
}
