// Approval by rule (spec variants §2.9): the annotations of Nephio's approval controller, and the plan for one draft.
import { DurationError, parseGoDuration } from '@fairlead/kube'
import type { PackageVariantSpec } from '../../api.ts'
import { isOf, isPublished } from '../observed-revision.ts'
import type { ObservedRevision } from '../observed-revision.ts'

/** `initial` approves while the package has no published revision, `always` approves every draft. */
export const policyAnnotation = 'approval.nephio.org/policy'
/** Go duration from the creation of the draft to its approval. */
export const delayAnnotation = 'approval.nephio.org/delay'

const policies: readonly string[] = ['initial', 'always']

/** A draft whose variant asks for approval. */
export interface ApprovalInput {
  readonly draft: ObservedRevision
  /** Annotations of the draft. */
  readonly annotations: Readonly<Record<string, string>>
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly spec: Pick<PackageVariantSpec, 'annotations' | 'downstream'>
  /** All revisions of the downstream package. */
  readonly revisions: readonly ObservedRevision[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The decision on a draft. */
export type ApprovalPlan =
  | { readonly op: 'leave' }
  /** The annotations of the variant are not valid. */
  | { readonly op: 'refuse'; readonly message: string }
  /** Milliseconds until the draft is old enough. */
  | { readonly op: 'wait'; readonly time: number }
  | { readonly op: 'approve' }

/** Reports whether annotations of a variant's spec ask for approval. */
export function asksForApproval(annotations: Readonly<Record<string, string>> | undefined): boolean {
  return annotations?.[policyAnnotation] !== undefined
}

/**
 * Plans the approval of a draft. Policy and delay are those of the variant, whose author may approve. The draft must
 * have the same policy: a user who removes it holds the draft back.
 */
export function planApproval({ draft, annotations, createdAt, spec, revisions, now }: ApprovalInput): ApprovalPlan {
  const policy = spec.annotations?.[policyAnnotation]
  if (policy === undefined || isPublished(draft) || !isOf(draft, spec.downstream)) return { op: 'leave' }
  if (!policies.includes(policy))
    return { op: 'refuse', message: `${policyAnnotation} is ${JSON.stringify(policy)}: write initial or always` }
  if (annotations[policyAnnotation] !== policy) return { op: 'leave' }
  const hasPublished = revisions.some(
    (one) => isOf(one, spec.downstream) && isPublished(one) && one.revision > 0 && one.name !== draft.name,
  )
  if (policy === 'initial' && hasPublished) return { op: 'leave' }
  const delay = parseDelay(spec.annotations?.[delayAnnotation] ?? '0')
  if (typeof delay === 'string') return { op: 'refuse', message: delay }
  const time = createdAt + delay - now
  return time > 0 ? { op: 'wait', time } : { op: 'approve' }
}

/** Returns a delay in milliseconds, or why it is not valid. */
function parseDelay(text: string): number | string {
  const wrong = `${delayAnnotation} is ${JSON.stringify(text)}: write a duration such as 30s, 10m or 1h30m`
  try {
    const delay = parseGoDuration(text)
    return delay < 0 ? wrong : delay
  } catch (error) {
    if (error instanceof DurationError) return wrong
    throw error
  }
}
