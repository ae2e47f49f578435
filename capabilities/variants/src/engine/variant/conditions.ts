// Conditions of a variant (spec variants §2.7): Ready and Stalled with Porch's reasons, and those on which Ready
// depends.
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { describeConflict } from '@fairlead/packages'
import type { InjectionDecision } from '../mutation/injection.ts'

type Conflict = Parameters<typeof describeConflict>[0]

/** The state of a variant after a pass. Fields that are left out were not looked at. */
export interface VariantState {
  /** Errors of the spec. */
  readonly specErrors?: readonly string[]
  /** Name of the other variant that has the downstream package. */
  readonly holder?: string
  readonly upstream?: { readonly name: string; readonly warnings: readonly string[] } | { readonly problem: string }
  /** Conflicts of the drafts, and those that keep a draft from being made. */
  readonly conflicts?: readonly Conflict[]
  /** No draft is made because of the conflicts. */
  readonly isRefused?: boolean
  readonly injection?: { readonly decisions: readonly InjectionDecision[]; readonly errors: readonly string[] }
  /** The message of a render that failed; null after a success. */
  readonly renderFailure?: string | null
  /** Readiness gates that are not met. */
  readonly unmetGates?: readonly string[]
  /** Why an update waits. */
  readonly pending?: string
  /** The message of the failure. */
  readonly error?: string
}

/** Returns the conditions of a variant. */
export function variantConditions(state: VariantState): readonly Condition[] {
  const { specErrors = [], holder, upstream } = state
  const stalled =
    specErrors.length > 0
      ? specErrors.join('; ')
      : holder !== undefined
        ? `the PackageVariant ${holder} is older and has the same spec.downstream`
        : upstream !== undefined && 'problem' in upstream
          ? upstream.problem
          : undefined
  if (stalled !== undefined)
    return [
      condition('Ready', false, { reason: 'Error', message: 'invalid packagevariant object' }),
      condition('Stalled', true, {
        reason: holder === undefined ? 'ValidationError' : 'DownstreamTaken',
        message: stalled,
      }),
      ...(upstream === undefined ? [] : [upstreamResolved(upstream)]),
    ]
  const parts = [
    ...(upstream === undefined ? [] : [upstreamResolved(upstream)]),
    ...(state.conflicts === undefined ? [] : [merged(state.conflicts, state.isRefused === true)]),
    ...(state.injection === undefined ? [] : [configInjected(state.injection)]),
    ...(state.renderFailure === undefined ? [] : [rendered(state.renderFailure)]),
    ...(state.unmetGates === undefined ? [] : [gatesMet(state.unmetGates)]),
  ]
  return [
    ready(state, parts),
    condition('Stalled', false, { reason: 'Valid', message: 'all validation checks passed' }),
    ...parts,
  ]
}

function ready({ error, pending, injection }: VariantState, parts: readonly Condition[]): Condition {
  const failure = error ?? (injection?.errors.length ? injection.errors.join('; ') : undefined)
  if (failure !== undefined) return condition('Ready', false, { reason: 'Error', message: failure })
  if (pending !== undefined) return condition('Ready', false, { reason: 'UpdatePending', message: pending })
  // Gates say more than the injection that they wait for.
  const order = ['UpstreamResolved', 'Merged', 'Rendered', 'GatesMet', 'ConfigInjected']
  const first = parts
    .filter(({ status }) => status !== 'True')
    .toSorted((a, b) => order.indexOf(a.type) - order.indexOf(b.type))[0]
  return first === undefined
    ? condition('Ready', true, { reason: 'NoErrors', message: 'successfully ensured downstream package variant' })
    : condition('Ready', false, { reason: first.reason, message: first.message })
}

function upstreamResolved(upstream: NonNullable<VariantState['upstream']>): Condition {
  if ('problem' in upstream)
    return condition('UpstreamResolved', false, { reason: 'UpstreamNotFound', message: upstream.problem })
  const message = [`the upstream is ${upstream.name}`, ...upstream.warnings].join('; ')
  return condition('UpstreamResolved', true, { reason: 'UpstreamFound', message })
}

function merged(conflicts: readonly Conflict[], isRefused: boolean): Condition {
  const [first] = conflicts
  if (first === undefined) return condition('Merged', true, { reason: 'NoConflicts', message: 'no conflicts' })
  const count = conflicts.length === 1 ? '1 conflict' : `${conflicts.length} conflicts`
  const outcome = isRefused ? 'no draft is made, as spec.onConflict is fail' : 'review the draft'
  const more = conflicts.length === 1 ? '' : '; status.conflicts lists the others'
  return condition('Merged', false, {
    reason: 'MergeConflicts',
    message: `${count}, ${outcome}: ${describeConflict(first)}${more}`,
  })
}

function configInjected({ decisions, errors }: NonNullable<VariantState['injection']>): Condition {
  if (errors.length > 0)
    return condition('ConfigInjected', false, { reason: 'InvalidInjectionPoint', message: errors.join('; ') })
  const missing = decisions.filter(({ point, status }) => point.isRequired && status !== 'True')
  if (missing.length > 0) {
    const list = missing.map(({ point, message }) => `${point.kind}/${point.name}: ${message}`)
    return condition('ConfigInjected', false, { reason: 'NoResourceSelected', message: list.join('; ') })
  }
  const count = decisions.filter(({ status }) => status === 'True').length
  return condition('ConfigInjected', true, {
    reason: 'ConfigInjected',
    message:
      decisions.length === 0
        ? 'the package has no injection points'
        : `injected ${count} of ${decisions.length} points`,
  })
}

function rendered(failure: string | null): Condition {
  return failure === null
    ? condition('Rendered', true, { reason: 'RenderSucceeded', message: 'the functions of the package succeeded' })
    : condition('Rendered', false, { reason: 'RenderFailed', message: failure })
}

function gatesMet(unmet: readonly string[]): Condition {
  return unmet.length === 0
    ? condition('GatesMet', true, { reason: 'GatesMet', message: 'all readiness gates are met' })
    : condition('GatesMet', false, {
        reason: 'GatesNotMet',
        message: `readiness gates that are not met: ${unmet.join(', ')}`,
      })
}
