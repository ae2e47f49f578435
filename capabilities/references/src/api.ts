// The types of the API: the generated ones under shorter names.
import type { ReferenceGrant, ReferenceRule, ReferenceRuleSpec, ReferenceRuleStatusProblem } from './generated/crds.ts'

export type { ReferenceGrant, ReferenceRule, ReferenceRuleSpec }

/** One of `status.problems` of a ReferenceRule. */
export type TargetProblem = ReferenceRuleStatusProblem

/** The API group of this capability. */
export const apiGroup = 'references.fairlead.dev'
/** apiVersion of the API. */
export const apiVersion = 'references.fairlead.dev/v1alpha1'
