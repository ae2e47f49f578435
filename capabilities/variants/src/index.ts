// Public API of @fairlead/variants.
export { variants } from './capability.ts'
export { apiGroup, PackageVariantKind } from './api.ts'
export type { PackageVariant, PackageVariantSpec, PackageVariantStatus } from './api.ts'

// sets of variants
export { planSet } from './engine/set/plan.ts'
export type { ObservedSet, ObservedVariant, PlannedVariant, SetPlan, VariantDecision } from './engine/set/plan.ts'
export { wantedDownstreams } from './engine/set/downstreams.ts'
export type { SetUpstream, WantedDownstream, WantedDownstreams } from './engine/set/downstreams.ts'
export type { CandidateSources, SelectedObjects } from './engine/set/candidates.ts'
export type { Downstream, Selectable, SetSpec, TargetFailure, Template, VariantSpec } from './engine/set/spec.ts'
export { ExpressionError, Expressions } from './engine/set/expression.ts'
export type { TemplateVariables } from './engine/set/expression.ts'
export { renderTemplate } from './engine/set/template.ts'
export { formatSpecError, targetErrors } from './engine/set/validation.ts'
export type { SpecError } from './engine/set/validation.ts'
export { variantNames } from './engine/set/variant-name.ts'
