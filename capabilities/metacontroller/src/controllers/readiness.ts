// The Ready condition of a MapController, with its advice.
import { failureOf } from '@fairlead/controller'
import type { Condition } from '@fairlead/kube'
import { condition } from '@fairlead/kube'
import type { ShardReport } from '../api.ts'
import { adviceFor, problemMessage } from '../runtime/caches.ts'
import type { FailingGroup } from '../runtime/group-state.ts'
import type { RunState } from '../runtime/map-run.ts'

/**
 * Returns the condition for a run in this state; `isStarted` once its caches were read. `others` are the reports of
 * other replicas.
 */
export function readiness(
  name: string,
  isStarted: boolean,
  state: RunState,
  others: readonly ShardReport[] = [],
): Condition {
  const [problem] = state.problems
  if (problem !== undefined && problem.state !== 'Syncing') {
    const reason = `Kind${problem.state}`
    return condition('Ready', false, {
      reason,
      message: `${state.problems.map(problemMessage).join('; ')}. Nothing is deleted meanwhile; ${adviceFor(problem, grant(name))}`,
    })
  }
  if (!isStarted || problem !== undefined)
    return condition('Ready', 'Unknown', { reason: 'Syncing', message: 'Its objects are still being listed' })
  const forbidden = state.failing.find(({ error }) => failureOf(error).type === 'AccessDenied')
  if (forbidden !== undefined)
    return condition('Ready', false, { reason: 'Forbidden', message: `${forbidden.message}; ${grant(name)}` })
  const failing = state.failing.filter(({ retry }) => retry === 'backoff')
  if (failing.length > 0 || others.length > 0)
    return condition('Ready', false, {
      reason: 'GroupsFailing',
      message: failingMessage(failing, others, state.groups),
    })
  const [invalid] = state.invalidParents
  if (invalid !== undefined) return condition('Ready', false, { reason: 'InvalidParent', message: invalid })
  if (state.statusProblem !== undefined)
    return condition('Ready', true, {
      reason: 'NoStatus',
      message: `${servingMessage(state)}, but ${state.statusProblem}`,
    })
  return condition('Ready', true, { reason: 'Serving', message: servingMessage(state) })
}

/** Groups that wait for a time that their hook named, or for their namespace to be deleted, are no failures. */
function servingMessage({ failing, groups }: RunState): string {
  const [waiting] = failing
  return waiting === undefined
    ? 'Every group is served'
    : `${failing.length} of ${groups} groups wait: ${waiting.input}: ${waiting.message}`
}

function failingMessage(failing: readonly FailingGroup[], others: readonly ShardReport[], groups: number): string {
  const messages = [
    ...failing.map(({ input, message }) => `${input}: ${message}`),
    ...others.map(({ message }) => message),
  ]
  const count = failing.length + others.reduce((sum, { failingGroups }) => sum + failingGroups, 0)
  const more = count > 1 ? `, and ${count - 1} more` : ''
  return `${count} of ${groups} groups fail: ${messages[0] ?? ''}${more}`
}

function grant(name: string): string {
  return `"fairlead map rbac ${name} | kubectl apply -f -" grants what is missing`
}
