// Lifecycle of package revisions: which request may change which state, with Porch's messages.
import type { FieldError } from '@fairlead/kube'
import { fieldErrors } from '@fairlead/kube'

/** `spec.lifecycle` of a package revision. */
export type Lifecycle = 'Draft' | 'Proposed' | 'Published' | 'DeletionProposed'

/** Lifecycles in their order. */
export const lifecycles: readonly Lifecycle[] = ['Draft', 'Proposed', 'Published', 'DeletionProposed']

/** The request: an update of the revision, of its approval subresource, of its resources, or a delete. */
export type LifecycleVerb = 'update' | 'approval' | 'resources' | 'delete'

/** The reason why a request is refused, as the API reports it. */
export type TransitionError =
  | { readonly reason: 'Invalid'; readonly errors: readonly FieldError[] }
  | { readonly reason: 'Forbidden' | 'BadRequest'; readonly message: string }

/** The revision is published: its content never changes again. */
export function isPublished(lifecycle: string): boolean {
  return lifecycle === 'Published' || lifecycle === 'DeletionProposed'
}

/**
 * Returns why a request may not move a revision from one lifecycle to another; undefined when it may. `to` is null for
 * a delete and equals `from` for resources. An unchanged lifecycle is no transition, except for approval.
 */
export function transition(from: Lifecycle, to: Lifecycle | null, verb: LifecycleVerb): TransitionError | undefined {
  switch (verb) {
    case 'delete':
      return from === 'Published' ? { reason: 'Forbidden', message: deletePublished } : undefined
    case 'resources':
      return from === 'Draft' ? undefined : { reason: 'BadRequest', message: notADraft(from) }
    case 'update':
      return refusal(updateErrors(from, to))
    case 'approval':
      return refusal(approvalErrors(from, to))
    default:
      throw new Error(`unknown verb ${String(verb satisfies never)}`)
  }
}

const deletePublished =
  "published PackageRevisions must be proposed for deletion by setting spec.lifecycle to 'DeletionProposed' prior to deletion"

function notADraft(lifecycle: Lifecycle): string {
  return `cannot update a package revision with lifecycle value "${lifecycle}"; package must be Draft`
}

function refusal(errors: readonly FieldError[]): TransitionError | undefined {
  return errors.length === 0 ? undefined : { reason: 'Invalid', errors }
}

const field = 'spec.lifecycle'

function updateErrors(from: Lifecycle, to: Lifecycle | null): FieldError[] {
  const errors: FieldError[] = []
  if (to === null || !lifecycles.includes(to))
    errors.push(fieldErrors.invalid(field, to, `value can be only updated to ${lifecycles.join(',')}`))
  if (isPublished(from)) {
    if (to === null || !isPublished(to))
      errors.push(
        fieldErrors.invalid(
          'spec',
          undefined,
          'spec can only update package with lifecycle value one of Draft,Proposed',
        ),
      )
  } else if (to !== 'Draft' && to !== 'Proposed')
    errors.push(fieldErrors.invalid(field, from, 'value can be only updated to Draft,Proposed'))
  return errors
}

function approvalErrors(from: Lifecycle, to: Lifecycle | null): FieldError[] {
  const errors: FieldError[] = []
  const say = (value: Lifecycle | null, detail: string): void =>
    void errors.push(fieldErrors.invalid(field, value, detail))
  if (from === 'Published') {
    if (to !== 'DeletionProposed')
      say(from, `package with ${from} lifecycle value can only be updated to 'ProposeDeletion'`)
  } else if (from === 'DeletionProposed') {
    if (to !== 'Published') say(from, `package with ${from} lifecycle value can only be updated to 'Published'`)
  } else if (from !== 'Proposed')
    say(from, `cannot approve package with ${from} lifecycle value; only Proposed packages can be approved`)
  if (to === 'DeletionProposed') {
    if (from !== 'Published')
      say(to, `cannot update lifecycle ${to}; only Published packages require approval for deletion`)
  } else if (to !== 'Draft' && to !== 'Published') say(to, 'value for approval can be only one of Draft,Published')
  return errors
}

/** Annotation that turns the readiness gates of a Repository on or off whatever its `spec.deployment`. */
export const enforceGatesAnnotation = 'config.porch.kpt.dev/enforce-gates'

/** Returns whether approval into a Repository needs met readiness gates (spec packages §2.1). */
export function enforcesGates(repository: {
  readonly deployment?: boolean
  readonly annotations?: Readonly<Record<string, string>>
}): boolean {
  const override = repository.annotations?.[enforceGatesAnnotation]
  if (override === 'always') return true
  return override !== 'never' && repository.deployment === true
}

/** Returns the readiness gates whose condition is not True. */
export function unmetGates(
  gates: readonly { readonly conditionType: string }[],
  conditions: readonly { readonly type: string; readonly status: string }[],
): string[] {
  const met = new Set(conditions.filter(({ status }) => status === 'True').map(({ type }) => type))
  return [...new Set(gates.map(({ conditionType }) => conditionType))].filter((type) => !met.has(type))
}
