// The types of the API as the code reads them: one type for the five templates, one for the two owners, one for the two
// blueprints.
import type { Condition, JsonObject, JsonValue, KubeObject, LabelSelector } from '@fairlead/kube'

/** The API group of supply chains. */
export const apiGroup = 'carto.run'
/** apiVersion of the API. */
export const apiVersion = 'carto.run/v1alpha1'

/** The five kinds of templates that resources of a blueprint reference. */
export type TemplateKind =
  | 'ClusterSourceTemplate'
  | 'ClusterImageTemplate'
  | 'ClusterConfigTemplate'
  | 'ClusterDeploymentTemplate'
  | 'ClusterTemplate'

/** The kinds that objects are stamped for. */
export type OwnerKind = 'Workload' | 'Deliverable'

/** The kinds that list the resources to stamp for an owner. */
export type BlueprintKind = 'ClusterSupplyChain' | 'ClusterDelivery'

/** A requirement on one field. */
export interface FieldRequirement {
  readonly key: string
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist'
  readonly values?: readonly string[]
}

/** A field matcher of a health rule. */
export interface HealthFieldMatcher extends FieldRequirement {
  readonly messagePath?: string
}

/** A condition matcher of a health rule. */
export interface HealthConditionMatcher {
  readonly type: string
  readonly status: string
}

/** The matchers of one state, healthy or unhealthy. */
export interface HealthMatchers {
  readonly matchConditions?: readonly HealthConditionMatcher[]
  readonly matchFields?: readonly HealthFieldMatcher[]
}

/** A health rule; exactly one of the keys is set. */
export interface HealthRule {
  readonly alwaysHealthy?: JsonObject
  readonly singleConditionType?: string
  readonly multiMatch?: { readonly healthy: HealthMatchers; readonly unhealthy: HealthMatchers }
  readonly expression?: { readonly healthy: string; readonly unhealthy?: string; readonly message?: string }
  readonly auto?: JsonObject
}

/** The two spellings of the field. Each has its own message layout (originals/cartographer.md §3.5). */
export type RuleSpelling = 'healthRule' | 'healthyConditionRule'

/** A parameter of a blueprint. An owner can override `default`, but not `value`. */
export interface BlueprintParam {
  readonly name: string
  readonly value?: JsonValue
  readonly default?: JsonValue
}

/** A parameter of an owner. */
export interface OwnerParam {
  readonly name: string
  readonly value: JsonValue
}

/** A parameter of a template. */
export interface TemplateParam {
  readonly name: string
  readonly default: JsonValue
}

/** Requirements on labels and fields; all must hold. */
export interface OwnerSelector extends LabelSelector {
  readonly matchFields?: readonly FieldRequirement[]
}

/** One of several templates of a resource. */
export interface TemplateOption {
  readonly name?: string
  readonly passThrough?: string
  readonly selector: OwnerSelector
}

/** An input that another resource provides. */
export interface InputReference {
  readonly name: string
  readonly resource: string
}

/** One resource of a blueprint. */
export interface BlueprintResource {
  readonly name: string
  readonly templateRef: {
    readonly kind: TemplateKind
    readonly name?: string
    readonly options?: readonly TemplateOption[]
  }
  readonly params?: readonly BlueprintParam[]
  readonly sources?: readonly InputReference[]
  readonly images?: readonly InputReference[]
  readonly configs?: readonly InputReference[]
  readonly deployment?: { readonly resource: string }
  readonly gate?: 'healthy'
}

/** `spec` of a ClusterSupplyChain or ClusterDelivery. */
export interface BlueprintSpec {
  readonly selector?: Readonly<Record<string, string>>
  readonly selectorMatchExpressions?: LabelSelector['matchExpressions']
  readonly selectorMatchFields?: readonly FieldRequirement[]
  readonly params?: readonly BlueprintParam[]
  readonly resources: readonly BlueprintResource[]
  readonly serviceAccountRef?: { readonly name: string; readonly namespace?: string }
}

/** A ClusterSupplyChain or ClusterDelivery. */
export interface Blueprint extends KubeObject {
  readonly spec: BlueprintSpec
  readonly status?: { readonly conditions?: readonly Condition[] }
}

/** Number of runs to keep. */
export interface RetentionPolicy {
  readonly maxFailedRuns: number
  readonly maxSuccessfulRuns: number
}

/** `spec` of a template: the fields of all five kinds. */
export interface TemplateSpec {
  readonly template?: JsonObject
  readonly ytt?: string
  readonly expression?: string
  readonly params?: readonly TemplateParam[]
  readonly lifecycle?: 'mutable' | 'immutable' | 'tekton'
  readonly retentionPolicy?: RetentionPolicy
  readonly healthRule?: HealthRule
  readonly healthyConditionRule?: HealthRule
  readonly urlPath?: string
  readonly revisionPath?: string
  readonly imagePath?: string
  readonly configPath?: string
  readonly observedMatches?: readonly { readonly input: string; readonly output: string }[]
  readonly observedCompletion?: {
    readonly succeeded: { readonly key: string; readonly value: string }
    readonly failed?: { readonly key: string; readonly value: string }
  }
}

/** One of the five templates. */
export interface Template extends KubeObject {
  readonly kind: TemplateKind
  readonly spec: TemplateSpec
}

/** `spec` of an owner: the fields that the controllers read. Templates can read all fields. */
export interface OwnerSpec {
  readonly params?: readonly OwnerParam[]
  readonly serviceAccountName?: string
}

/** A reference in status. */
export interface StatusReference {
  readonly apiVersion?: string
  readonly kind?: string
  readonly namespace?: string
  readonly name?: string
  /** `plural.group`; only of stamped objects. */
  readonly resource?: string
}

/** An output in status. */
export interface OutputStatus {
  readonly name: string
  readonly preview: string
  readonly digest: string
  readonly lastTransitionTime: string
}

/** An entry of `status.resources`. */
export interface ResourceStatus {
  readonly name: string
  readonly stampedRef?: StatusReference
  readonly templateRef?: StatusReference
  readonly inputs?: readonly { readonly name: string }[]
  readonly outputs?: readonly OutputStatus[]
  readonly conditions?: readonly Condition[]
}

/** `status` of an owner. */
export interface OwnerStatus {
  readonly observedGeneration?: number
  readonly conditions?: readonly Condition[]
  readonly supplyChainRef?: StatusReference
  readonly deliveryRef?: StatusReference
  /** The account that the objects were stamped with. */
  readonly serviceAccountRef?: { readonly namespace: string; readonly name: string }
  /** RFC 3339 time at which the objects of an owner without a blueprint are deleted. */
  readonly removalTime?: string
  readonly unhealthyResource?: string
  readonly resources?: readonly ResourceStatus[]
}

/** A Workload or Deliverable. */
export interface Owner extends KubeObject {
  readonly spec: OwnerSpec
  readonly status?: OwnerStatus
}

/** A ClusterRunTemplate. */
export interface RunTemplate extends KubeObject {
  readonly spec: { readonly template: JsonObject; readonly outputs?: Readonly<Record<string, string>> }
}

/** A Runnable: creates a run for each change of its inputs. */
export interface Runnable extends KubeObject {
  readonly spec: {
    readonly runTemplateRef: { readonly kind?: string; readonly name: string }
    readonly selector?: {
      readonly resource: { readonly apiVersion?: string; readonly kind?: string }
      readonly matchingLabels: Readonly<Record<string, string>>
    }
    readonly inputs?: Readonly<Record<string, JsonValue>>
    readonly serviceAccountName?: string
    readonly retentionPolicy?: RetentionPolicy
  }
  readonly status?: {
    readonly conditions?: readonly Condition[]
    readonly outputs?: Readonly<Record<string, JsonValue>>
  }
}

/** A ClusterHealthRule: the default health rule of a kind, for templates whose rule is `auto`. */
export interface ClusterHealthRule extends KubeObject {
  readonly spec: {
    readonly target: { readonly apiVersion: string; readonly kind: string }
    readonly healthRule: HealthRule
  }
}
