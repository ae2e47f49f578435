// What the counters in the status of workloads have to do with each other.
import { fieldErrors } from '@fairlead/kube'
import type { FieldError, JsonObject } from '@fairlead/kube'
import { numberAt } from '../fields.ts'

/** None of `parts` exceeds `replicas`, and no more are available than ready. `ready` is how the real server calls that counter in its message. */
export function replicaCountErrors(status: JsonObject, parts: readonly string[], ready: string): FieldError[] {
  const number = (name: string): number => numberAt(status, name) ?? 0
  const errors = parts
    .filter((name) => number(name) > number('replicas'))
    .map((name) => fieldErrors.invalid(`status.${name}`, number(name), 'cannot be greater than status.replicas'))
  if (number('availableReplicas') <= number('readyReplicas')) return errors
  const message = `cannot be greater than ${ready}`
  return [...errors, fieldErrors.invalid('status.availableReplicas', number('availableReplicas'), message)]
}
