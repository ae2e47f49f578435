// Validation of the replica counters in the status of workloads.
import { fieldErrors } from '@fairlead/kube'
import type { FieldError, JsonObject } from '@fairlead/kube'
import { numberAt } from '../fields.ts'

/**
 * Checks that none of `parts` exceeds `replicas`, and that no more are available than ready. `ready` is the name of
 * that counter in the real server's message.
 */
export function replicaCountErrors(status: JsonObject, parts: readonly string[], ready: string): FieldError[] {
  const number = (name: string): number => numberAt(status, name) ?? 0
  const errors = parts
    .filter((name) => number(name) > number('replicas'))
    .map((name) => fieldErrors.invalid(`status.${name}`, number(name), 'cannot be greater than status.replicas'))
  if (number('availableReplicas') <= number('readyReplicas')) return errors
  const message = `cannot be greater than ${ready}`
  return [...errors, fieldErrors.invalid('status.availableReplicas', number('availableReplicas'), message)]
}
