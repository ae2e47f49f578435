// Decisions on parents of CompositeControllers and DecoratorControllers as plans for printing.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson, jsonEqual } from '@fairlead/kube'
import type { Plan, PlanAction } from '@fairlead/offline'
import { planReference } from '@fairlead/offline'
import type { ChildAction } from '../children/child-plan.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { ParentStep } from '../sync/parent.ts'
import type { RenderedSync } from './sync-rendering.ts'

const stepNames: Readonly<Record<ParentStep, string>> = {
  ignore: 'not selected',
  addFinalizer: 'gets the finalizer',
  removeFinalizer: 'loses the finalizer',
  sync: 'called the sync hook',
  finalize: 'called the finalize hook',
}

/** Returns the plan of one parent. */
export function syncPlan(rendered: RenderedSync): Plan {
  const { parent, step, addsFinalizer, resyncAfterSeconds, error, finalized } = rendered
  const resync = resyncAfterSeconds === undefined ? '' : `, resync in ${resyncAfterSeconds} s`
  const notes = [
    ...(addsFinalizer ? ['gets the finalizer first'] : []),
    ...(step === 'finalize' && !finalized ? ['is not finalized yet'] : []),
  ]
  return {
    title: `${formatIdentity(identityOf(parent))}  (${stepNames[step]}${resync})`,
    ...(notes.length === 0 ? {} : { notes }),
    ...(error === undefined ? {} : { error: error instanceof Error ? error.message : String(error) }),
    actions: [
      ...rendered.adopt.map(({ object }): PlanAction => ({
        op: 'adopt',
        object: planReference(object),
        reason: 'Selected',
      })),
      ...rendered.release.map(({ object }): PlanAction => ({
        op: 'release',
        object: planReference(object),
        reason: 'NotSelected',
      })),
      ...rendered.revisions.map(revisionAction),
      ...rendered.plan.map(childAction),
      ...parentActions(rendered),
    ],
  }
}

function revisionAction(revision: KubeObject): PlanAction {
  const isNew = revision.metadata.uid === undefined
  return {
    op: isNew ? 'create' : 'keep',
    object: planReference(revision),
    reason: isNew ? 'NewRevision' : 'Revision',
    ...(isNew ? { configuration: revision } : {}),
  }
}

function childAction(action: ChildAction): PlanAction {
  const { op, reason } = action
  if (op === 'create' || op === 'update')
    return { op, object: planReference(action.object), reason, configuration: action.object }
  return { op, object: planReference(action.observed), reason }
}

function parentActions({ parent, change, finalized, step }: RenderedSync): readonly PlanAction[] {
  if (change === undefined) return []
  const object = planReference(parent)
  const { labels = {}, annotations = {} } = parent.metadata
  const isChanged = (
    now: Readonly<Record<string, string>>,
    changes: Readonly<Record<string, string | null>>,
  ): boolean => Object.entries(changes).some(([name, value]) => (now[name] ?? null) !== value)
  const isStatusChanged = change.status !== undefined && !jsonEqual(asJson(parent)['status'] ?? null, change.status)
  const status: PlanAction[] = isStatusChanged
    ? [{ op: 'update', object, reason: 'Status', message: JSON.stringify(change.status satisfies JsonObject) }]
    : []
  const metadata: PlanAction[] =
    isChanged(labels, change.labels) || isChanged(annotations, change.annotations)
      ? [
          {
            op: 'update',
            object,
            reason: 'Metadata',
            message: JSON.stringify({ labels: change.labels, annotations: change.annotations }),
          },
        ]
      : []
  const end: PlanAction[] = finalized && step === 'finalize' ? [{ op: 'update', object, reason: 'Finalized' }] : []
  return [...status, ...metadata, ...end]
}
