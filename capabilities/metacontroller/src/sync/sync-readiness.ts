// The Ready condition of a CompositeController or DecoratorController.
import { KindUnavailable, failureOf } from '@fairlead/controller'
import type { Condition } from '@fairlead/kube'
import { condition } from '@fairlead/kube'
import { adviceFor, problemMessage } from '../runtime/caches.ts'
import type { SyncRunState } from './sync-run.ts'

/** The `rbac` command reads specs; what customize hooks ask for is not there. */
const grantRelated =
  'the customize hook asks for it: grant get, list and watch by a ClusterRole with the label rbac.fairlead.dev/aggregate-to-metacontroller: "true"'

/** Returns the condition for a run in this state; `isStarted` once its caches were read. */
export function syncReadiness(
  name: string,
  isStarted: boolean,
  { problems, failing, parents }: SyncRunState,
): Condition {
  const [problem] = problems
  const grant = `"fairlead metacontroller rbac ${name} | kubectl apply -f -" grants what is missing`
  if (problem !== undefined && problem.state !== 'Syncing') {
    return condition('Ready', false, {
      reason: `Kind${problem.state}`,
      message: `${problems.map(problemMessage).join('; ')}. No hook is called and nothing is deleted meanwhile; ${adviceFor(problem, grant)}`,
    })
  }
  if (!isStarted || problem !== undefined)
    return condition('Ready', 'Unknown', { reason: 'Syncing', message: 'Its objects are still being listed' })
  const failures = failing.filter(({ retry }) => retry === 'backoff')
  const [first] = failures
  if (first !== undefined) {
    const { error } = first
    const advice =
      error instanceof KindUnavailable && error.state === 'Forbidden'
        ? grantRelated
        : failureOf(error).type === 'AccessDenied'
          ? grant
          : undefined
    const more = failures.length > 1 ? `, and ${failures.length - 1} more` : ''
    const text = `${failures.length} of ${parents} parents fail: ${first.input}: ${first.message}${more}`
    return condition('Ready', false, {
      reason: advice === undefined ? 'ParentsFailing' : 'Forbidden',
      message: advice === undefined ? text : `${text}; ${advice}`,
    })
  }
  return condition('Ready', true, { reason: 'Serving', message: 'Every parent is served' })
}
