// The door of @fairlead/supply: the capability, its API types, and the engine for those who decide the same things offline.
export { supply } from './capability.ts'
export type * from './api.ts'
export { apiGroup, apiVersion } from './api.ts'
export { crds } from './generated/crds.ts'

// objects in full, as people write them (the types above name what the code reads)
export type {
  ClusterConfigTemplate,
  ClusterDelivery,
  ClusterDeploymentTemplate,
  ClusterHealthRule as ClusterHealthRuleManifest,
  ClusterImageTemplate,
  ClusterRunTemplate,
  ClusterSourceTemplate,
  ClusterSupplyChain,
  ClusterTemplate,
  Deliverable,
  Runnable as RunnableManifest,
  Workload,
} from './generated/crds.ts'

// the engine: health, selection, templates
export * from './engine/builtin-health.ts'
export * from './engine/condition.ts'
export * from './engine/field-requirement.ts'
export * from './engine/go-yaml.ts'
export * from './engine/health-expression.ts'
export * from './engine/health.ts'
export * from './engine/interpolate.ts'
export * from './engine/output.ts'
export * from './engine/params.ts'
export * from './engine/path.ts'
export * from './engine/runs.ts'
export * from './engine/selection.ts'
export * from './engine/summary.ts'
export * from './engine/value-text.ts'

// the controllers
export { startControllers } from './controller.ts'
export type { SupplyControllers } from './controller.ts'

// the engine: owners and their resources
export * from './engine/blueprint-readiness.ts'
export * from './engine/completion.ts'
export * from './engine/context.ts'
export * from './engine/graph.ts'
export * from './engine/orphans.ts'
export * from './engine/owner-conditions.ts'
export * from './engine/realized.ts'
export * from './engine/stamp.ts'
export * from './engine/template-choice.ts'

// what a run needs
export * from './kinds.ts'
export * from './run/ground.ts'
export { realize } from './run/realize.ts'
export type { Chain } from './run/realize.ts'
export { findYtt } from './ytt.ts'
export { validators } from './validation/validators.ts'
