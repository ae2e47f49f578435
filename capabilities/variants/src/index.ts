// Public API of @fairlead/variants.
export { variants } from './capability.ts'
export { apiGroup, PackageVariantKind, PackageVariantSetKind, setLabel } from './api.ts'
export type {
  PackageVariant,
  PackageVariantSet,
  PackageVariantSetSpec,
  PackageVariantSetStatus,
  PackageVariantSpec,
  PackageVariantStatus,
} from './api.ts'

// sets of variants
export { planSet } from './engine/set/plan.ts'
export type { ObservedSet, ObservedVariant, PlannedVariant, SetPlan, VariantDecision } from './engine/set/plan.ts'
export { wantedDownstreams } from './engine/set/downstreams.ts'
export type { SetUpstream, WantedDownstream, WantedDownstreams } from './engine/set/downstreams.ts'
export type { CandidateSources, SelectedObjects } from './engine/set/candidates.ts'
export type { Downstream, Selectable, SetSpec, TargetFailure, Template, VariantSpec } from './engine/set/spec.ts'
export { ExpressionError, Expressions } from './engine/set/expression.ts'
export type { TemplateVariables } from './engine/set/expression.ts'
export { downstreamPackage, downstreamRepo, renderTemplate } from './engine/set/template.ts'
export { formatSpecError, targetErrors } from './engine/set/validation.ts'
export type { SpecError } from './engine/set/validation.ts'
export { variantNames } from './engine/set/variant-name.ts'

// variants
export { injectorsOf, specErrors, withDefaults } from './engine/variant/spec-errors.ts'
export type { GivenSpec } from './engine/variant/spec-errors.ts'
export { observedRevision } from './engine/observed-revision.ts'
export type { ObservedRevision, RevisionLock } from './engine/observed-revision.ts'
export { selectUpstream } from './engine/variant/upstream.ts'
export type { UpstreamSelection } from './engine/variant/upstream.ts'
export { holderOf, planDownstream, planRevisionCleanup } from './engine/variant/downstream.ts'
export type { Claim, DownstreamOwner, DownstreamPlan, RevisionAction } from './engine/variant/downstream.ts'
export { delayAnnotation, planApproval, policyAnnotation } from './engine/variant/approval.ts'
export type { ApprovalInput, ApprovalPlan } from './engine/variant/approval.ts'
export { nextWorkspaceName } from './engine/variant/workspace-name.ts'
export { cloneTask, isOutOfDate, planUpdate } from './engine/variant/update.ts'
export type { UpdateInput, UpdatePlan } from './engine/variant/update.ts'
export { variantConditions } from './engine/variant/conditions.ts'
export type { VariantState } from './engine/variant/conditions.ts'

// changes of packages
export { MutationError } from './engine/mutation/package-text.ts'
export type { PackageText } from './engine/mutation/package-text.ts'
export { withContext } from './engine/mutation/package-context.ts'
export type { ContextVariant } from './engine/mutation/package-context.ts'
export { onceFunctions, withFunctions } from './engine/mutation/pipeline.ts'
export { injectionPoints } from './engine/mutation/injection-point.ts'
export type { InjectionPoint, InjectionPoints } from './engine/mutation/injection-point.ts'
export { candidateNames, decideInjection, withInjection } from './engine/mutation/injection.ts'
export type { InjectionDecision, PointSources } from './engine/mutation/injection.ts'
