// Decisions as plans for printing.
import type { KubeObject } from '@fairlead/kube'
import type { Plan, PlanAction } from '@fairlead/offline'
import { planReference } from '@fairlead/offline'
import type { Step } from '../engine/group.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import type { Action } from '../engine/plan.ts'
import type { RenderedGroup, RenderedParent } from './rendering.ts'

/** The plan of a group; JSON output has all of its fields. */
interface GroupPlan extends Plan {
  readonly mapKey: string
  readonly step: Step
  readonly resyncAfterSeconds?: number
}

/** Returns the plan of a parent, with one part for each group. */
export function parentPlan({ parent, problem, groups }: RenderedParent): Plan {
  return {
    title: formatIdentity(identityOf(parent)),
    ...(problem === undefined ? {} : { error: problem }),
    parts: groups.map(groupPlan),
  }
}

function groupPlan({ input, mapKey, step, plan, error, warning, resyncAfterSeconds }: RenderedGroup): GroupPlan {
  const resync = resyncAfterSeconds === undefined ? '' : `, resync in ${resyncAfterSeconds} s`
  return {
    title: `${input}  (${stepNames[step]}${resync})`,
    mapKey,
    step,
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
    ...(warning === undefined ? {} : { notes: [warning.message] }),
    ...(error === undefined ? {} : { error: error instanceof Error ? error.message : String(error) }),
    actions: plan.map(planAction),
  }
}

const stepNames: Readonly<Record<Step, string>> = {
  map: 'called the map hook',
  tombstone: 'input deleted, called the tombstone hook',
  delete: 'input deleted, no tombstone hook',
  wait: 'waits until everything is known',
  stop: 'the chain of maps is too long',
  nothing: 'nothing to do',
}

function planAction(action: Action): PlanAction {
  const configuration = appliedBy(action)
  return {
    op: action.op,
    object: planReference(objectOf(action)),
    reason: action.reason,
    ...(action.op === 'refuse' ? { message: action.message } : {}),
    ...(configuration === undefined ? {} : { configuration }),
  }
}

function objectOf(action: Action): KubeObject {
  if (action.op === 'refuse') return action.existing
  return 'observed' in action ? action.observed : action.configuration.object
}

function appliedBy(action: Action): KubeObject | undefined {
  if (action.op === 'create' || action.op === 'update') return action.configuration.object
  return action.op === 'delete' ? action.next?.configuration.object : undefined
}
