// Deletes the resource of an object that is being deleted (originals/ack.md §6.5): dependents first, by the keys that
// were stored before its creation, and the finalizer last.
import type { JsonObject } from '@fairlead/kube'
import { decideDeletion } from '@fairlead/references'
import { AwsError } from './aws-error.ts'
import { conditionsFor } from './conditions.ts'
import type { Findings } from './conditions.ts'
import { withoutReferences } from './delta.ts'
import { isOwn, ownerOf } from './ownership.ts'
import type { Policies } from './policies.ts'
import type { Outcome, ReconcileInput } from './reconcile-input.ts'
import { mayAppear, pollInterval, visibilityRetry } from './requeue.ts'
import { stateOf } from './resource-kind.ts'
import type { Observed } from './resource-manager.ts'
import { confirmedArn, lastFields, observedFields, statusOf, storedReferences } from './resource-status.ts'

/** Deletes a resource, or says what is awaited. */
export async function deleteResource(input: ReconcileInput, policies: Policies): Promise<Outcome> {
  const { finalizer, id, kind, object, referents, store } = input
  if (object.metadata.finalizers?.includes(finalizer) !== true) return {}
  const isLeft = policies.readOnly || policies.deletion === 'retain'
  const { keyPaths } = kind
  const decision = decideDeletion(
    {
      dependent: {
        id,
        spec: (object['spec'] ?? {}) as JsonObject,
        stored: storedReferences(object),
        exists: confirmedArn(object) !== undefined,
      },
      // Where the keys are known, a required field that is none of them does not keep the resource from being found.
      rows: keyPaths === undefined ? kind.rows : kind.rows.map((row) => ({ ...row, required: false })),
      keyPaths: keyPaths ?? [],
      policy: isLeft ? 'retain' : 'delete',
      dependents: policies.forceDeletion ? [] : input.dependents(),
    },
    referents,
  )
  if (decision.do === 'release') {
    await store.release()
    return {}
  }
  if (decision.do === 'wait')
    return statusWith(input, lastFields(object), {
      synced: { status: 'False', reason: decision.reason, message: decision.message },
    })
  try {
    return await remove(input, policies, decision.spec)
  } catch (error) {
    if (!(error instanceof AwsError)) throw error
    const recoverable = { reason: error.code, message: `${error.code}: ${error.message}` }
    const found = { synced: { status: 'Unknown', ...recoverable }, recoverable } as const
    return { ...statusWith(input, lastFields(object), found), failure: { error } }
  }
}

async function remove(input: ReconcileInput, policies: Policies, resolved: JsonObject): Promise<Outcome> {
  const { kind, manager, object, settings, store } = input
  const references = new Set(kind.rows.map(({ refPath }) => refPath))
  const own = withoutReferences(resolved, references, '') as JsonObject
  const spec = policies.adoption === 'none' ? own : { ...own, ...policies.adoptionFields }
  const observed = await manager.read(spec, statusOf(object))
  if (observed === undefined && mayAppear(object, kind, input.now)) {
    const message = `the ${kind.kind} may have been created just now, and is not seen yet`
    const found = { synced: { status: 'False', reason: 'Deleting', message } } as const
    return { ...statusWith(input, lastFields(object), found), requeueAfter: visibilityRetry }
  }
  const isStranger =
    observed !== undefined &&
    ((policies.adoption === 'none' &&
      confirmedArn(object) === undefined &&
      !(await isOwn(manager, observed, object))) ||
      (await ownerOf(input, observed)) !== undefined)
  if (observed === undefined || isStranger) {
    await store.release()
    return {}
  }
  const state = stateOf(kind, observed.status)
  const waiting = (seen: Observed, reason: string, message: string): Outcome => ({
    ...statusWith(input, observedFields(seen, settings.region), { synced: { status: 'False', reason, message } }),
    requeueAfter: pollInterval(object, input.now),
  })
  if (state.state === 'modifying')
    return waiting(
      observed,
      state.value,
      state.value === 'Deleting'
        ? `${kind.kind} is Deleting.`
        : `${kind.kind} in ${state.value} state cannot be modified or deleted.`,
    )
  await manager.delete(spec, observed)
  const left = await manager.read(spec, statusOf(object))
  if (left === undefined) {
    await store.release()
    return {}
  }
  return waiting(left, 'Deleting', `${kind.kind} is Deleting.`)
}

function statusWith({ object }: ReconcileInput, fields: JsonObject, found: Findings): Outcome {
  const references = storedReferences(object)
  return {
    status: {
      ...fields,
      ...(references.length === 0 ? {} : { resolvedReferences: references }),
      conditions: conditionsFor(found),
    },
  }
}
