// The status of a set: counts of its variants, failures by target, and the conditions Stalled and Ready.
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import type { SetPlan } from './plan.ts'
import type { TargetFailure } from './spec.ts'

/** The state of one variant, as far as its set counts it. */
export interface VariantState {
  readonly name: string
  readonly isReady: boolean
  /** It has a revision that is not published. */
  readonly hasDraft: boolean
}

/** The status of a set, without its generation. */
export interface SetStatus {
  readonly targets?: number
  readonly variants: number
  readonly ready: number
  readonly drafts: number
  readonly pending?: number
  readonly failed?: number
  readonly failures?: readonly TargetFailure[]
  readonly conditions: readonly Condition[]
  readonly [field: string]: unknown
}

/** Failures that are listed. */
const maxFailures = 50

/** Returns the status of a set whose plan was carried out. */
export function statusOf(
  plan: SetPlan,
  failures: readonly TargetFailure[],
  variants: readonly VariantState[],
): SetStatus {
  const pending = plan.decisions.filter((one) => one.do === 'hold').length
  return {
    targets: plan.targets,
    ...counts(variants),
    pending,
    failed: failures.length,
    ...(failures.length > 0 && { failures: failures.slice(0, maxFailures) }),
    conditions: [
      condition('Stalled', false, { reason: 'Valid', message: 'The set can be carried out' }),
      readiness(plan, failures, variants, pending),
    ],
  }
}

/** Returns the status of a set for which nothing can be done; its variants stay as they are. */
export function stalledStatus(reason: string, message: string, variants: readonly VariantState[]): SetStatus {
  return {
    ...counts(variants),
    conditions: [condition('Stalled', true, { reason, message }), condition('Ready', false, { reason, message })],
  }
}

function counts(variants: readonly VariantState[]): Pick<SetStatus, 'variants' | 'ready' | 'drafts'> {
  return {
    variants: variants.length,
    ready: variants.filter(({ isReady }) => isReady).length,
    drafts: variants.filter(({ hasDraft }) => hasDraft).length,
  }
}

function readiness(
  { targets, isPaused }: SetPlan,
  [failure, ...more]: readonly TargetFailure[],
  variants: readonly VariantState[],
  pending: number,
): Condition {
  const notReady = (reason: string, message: string): Condition => condition('Ready', false, { reason, message })
  if (failure !== undefined) {
    const others = more.length === 0 ? '' : ` (and ${more.length} more; see status.failures)`
    return notReady('TargetsFailing', `spec.targets[${failure.target}]: ${failure.message}${others}`)
  }
  if (pending > 0 && isPaused)
    return notReady('RolloutPaused', `${pending} of ${targets} variants wait: spec.rollout.pause is true`)
  if (pending > 0)
    return notReady(
      'RolloutPending',
      `${pending} of ${targets} variants wait for the rollout; publish or delete drafts`,
    )
  const unready = variants.filter(({ isReady }) => !isReady).map(({ name }) => name)
  if (unready.length > 0)
    return notReady(
      'VariantsNotReady',
      `${unready.length} of ${variants.length} variants are not ready: ${listOf(unready)}`,
    )
  return condition('Ready', true, {
    reason: 'Reconciled',
    message: targets === 0 ? 'No target selects anything' : `${targets} variants are ready`,
  })
}

function listOf(names: readonly string[]): string {
  const shown = names.toSorted().slice(0, 3)
  return shown.length === names.length
    ? shown.join(', ')
    : `${shown.join(', ')} and ${names.length - shown.length} more`
}
