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
export * from './engine/health/builtin-health.ts'
export * from './engine/condition.ts'
export * from './engine/values/field-requirement.ts'
export * from './engine/values/go-yaml.ts'
export * from './engine/health/health-expression.ts'
export * from './engine/health/health.ts'
export * from './engine/templates/interpolation.ts'
export * from './engine/values/output.ts'
export * from './engine/templates/params.ts'
export * from './engine/values/path.ts'
export * from './engine/runs/runs.ts'
export * from './engine/selection.ts'
export * from './engine/summary.ts'
export * from './engine/values/value-format.ts'

// the controllers
export { startControllers } from './controllers/supply-controllers.ts'
export type { SupplyControllers } from './controllers/supply-controllers.ts'

// the engine: owners and their resources
export * from './engine/blueprint-readiness.ts'
export * from './engine/completion.ts'
export * from './engine/templates/context.ts'
export * from './engine/graph.ts'
export * from './engine/orphans.ts'
export * from './engine/owner-conditions.ts'
export * from './engine/realized-resource.ts'
export * from './engine/templates/stamp.ts'
export * from './engine/templates/template-choice.ts'

// what a run needs
export * from './runtime/kinds.ts'
export * from './engine/apply-error.ts'
export * from './engine/cluster.ts'
export { realize } from './engine/realize.ts'
export type { Chain } from './engine/realize.ts'
export { findYtt } from './ytt/ytt-program.ts'
export { validators } from './admission/validators.ts'
