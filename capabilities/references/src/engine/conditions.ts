// Conditions of a resolution.
import type { Condition } from '@fairlead/kube'
import { condition } from '@fairlead/kube'
import { problemReasons } from './resolve.ts'
import type { Problem, ProblemReason, Resolution } from './resolve.ts'

/** Reasons that only a change of the object, its grants or a failed referent can end: False, the others are Unknown. */
const final: readonly ProblemReason[] = [
  'InvalidReference',
  'BothSet',
  'NeitherSet',
  'CrossNamespaceDenied',
  'ReferenceCycle',
  'ReferentTerminal',
]

function weight({ reason }: Problem): number {
  return problemReasons.indexOf(reason)
}

/**
 * Returns the condition of all references: True, False when a user must act, Unknown while something is awaited;
 * undefined when the object has no references. Every problem is in the message.
 */
export function referencesCondition(
  type: string,
  { hasReferences, problems, deferred }: Resolution,
  observedGeneration?: number,
): Condition | undefined {
  const details = observedGeneration === undefined ? {} : { observedGeneration }
  const [worst] = problems.toSorted((a, b) => weight(a) - weight(b))
  if (worst !== undefined) {
    const message = problems
      .toSorted((a, b) => weight(a) - weight(b))
      .map((one) => one.message)
      .join('; ')
    return condition(type, final.includes(worst.reason) ? 'False' : 'Unknown', {
      reason: worst.reason,
      message,
      ...details,
    })
  }
  if (!hasReferences) return undefined
  if (deferred.length > 0)
    return condition(type, 'Unknown', {
      reason: 'ValueMissing',
      message: `left out until the other objects of the cycle have values: ${deferred.join(', ')}`,
      ...details,
    })
  return condition(type, 'True', { reason: 'Resolved', message: 'all references are resolved', ...details })
}
