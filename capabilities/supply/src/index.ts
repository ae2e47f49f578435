// Public API of @fairlead/supply: the capability, the types of carto.run, and the engine for programs that evaluate
// supply chains offline.
export { supply } from './capability.ts'
export { startControllers } from './controllers/supply-controllers.ts'
export type { SupplyControllers } from './controllers/supply-controllers.ts'
export { validators } from './admission/validators.ts'
export { findYtt } from './ytt/ytt-program.ts'

// API types, as the code reads objects
export { apiGroup, apiVersion } from './api.ts'
export type {
  Blueprint,
  BlueprintKind,
  BlueprintParam,
  BlueprintResource,
  BlueprintSpec,
  ClusterHealthRule,
  FieldRequirement,
  HealthConditionMatcher,
  HealthFieldMatcher,
  HealthMatchers,
  HealthRule,
  InputReference,
  OutputStatus,
  Owner,
  OwnerKind,
  OwnerParam,
  OwnerSelector,
  OwnerSpec,
  OwnerStatus,
  ResourceStatus,
  RetentionPolicy,
  RuleSpelling,
  RunTemplate,
  Runnable,
  StatusReference,
  Template,
  TemplateKind,
  TemplateOption,
  TemplateParam,
  TemplateSpec,
} from './api.ts'

// CRDs, and the types of complete manifests that are generated from them
export { crds } from './generated/crds.ts'
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

// the decision passes and their port
export { realize } from './engine/realize.ts'
export type { Chain } from './engine/step.ts'
export { realizeRunnable } from './engine/realize-runnable.ts'
export type { RealizedRunnable, RunnableChain } from './engine/realize-runnable.ts'
export type { RealizedResource } from './engine/realized-resource.ts'
export type { Cluster } from './engine/cluster.ts'
export { ApplyError } from './engine/apply-error.ts'
export { orphans } from './engine/orphans.ts'

// blueprints: selection, dependencies between resources; completion of deployments
export { bestMatches, selectionReason } from './engine/blueprints/selection.ts'
export { cyclicResources } from './engine/blueprints/graph.ts'
export type { Input, InputKind } from './engine/blueprints/graph.ts'
export { incompleteness } from './engine/completion.ts'

// templates: choice, parameters, rendering
export { chooseTemplate } from './engine/templates/template-choice.ts'
export type { TemplateChoice } from './engine/templates/template-choice.ts'
export { mergeParams } from './engine/templates/params.ts'
export type { ParamSources } from './engine/templates/params.ts'
export { InterpolationError, interpolate, interpolateString } from './engine/templates/interpolation.ts'
export { StampError, stampDigest, stamped } from './engine/templates/stamp.ts'

// health and the conditions that sum it up
export { healthOf } from './engine/health/health.ts'
export type { HealthInput } from './engine/health/health.ts'
export { reasonOfType, verdict } from './engine/conditions/condition.ts'
export type { ConditionStatus, Verdict } from './engine/conditions/condition.ts'
export { readyFrom, resourcesHealthy } from './engine/conditions/summary.ts'
export type { ResourceHealth } from './engine/conditions/summary.ts'

// runs of the lifecycles immutable and tekton
export { newestHealthyRun, runsToPrune, submittedFromRuns } from './engine/runs/runs.ts'
export type { Run } from './engine/runs/runs.ts'

// values: paths, outputs
export { pathProblem } from './engine/values/path.ts'
export { summarize } from './engine/values/output.ts'
export type { Outputs } from './engine/values/output.ts'
export { goYaml } from './engine/values/go-yaml.ts'
