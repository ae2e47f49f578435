// The stored form of ValidatingAdmissionPolicies and their bindings.
import type { KubeObject, LabelSelector } from '@fairlead/kube'
import type { MatchCondition } from '../expressions/match-conditions.ts'
import type { MatchResources } from '../matching/match-resources.ts'

/** One rule of a policy. */
export interface Validation {
  readonly expression?: string
  readonly message?: string
  readonly messageExpression?: string
  readonly reason?: string
}

/** A policy. */
export interface ValidatingAdmissionPolicy extends KubeObject {
  readonly spec?: {
    readonly failurePolicy?: string
    readonly paramKind?: { readonly apiVersion?: string; readonly kind?: string }
    readonly matchConstraints?: MatchResources
    readonly matchConditions?: readonly MatchCondition[]
    readonly variables?: readonly { readonly name?: string; readonly expression?: string }[]
    readonly validations?: readonly Validation[]
    readonly auditAnnotations?: readonly { readonly key?: string; readonly valueExpression?: string }[]
  }
}

/** A binding's reference to parameters. */
export interface ParamRef {
  readonly name?: string
  readonly namespace?: string
  readonly selector?: LabelSelector
  readonly parameterNotFoundAction?: string
}

/** A ValidatingAdmissionPolicyBinding. */
export interface PolicyBinding extends KubeObject {
  readonly spec?: {
    readonly policyName?: string
    readonly paramRef?: ParamRef
    readonly matchResources?: MatchResources
    readonly validationActions?: readonly string[]
  }
}

/** The resource name of policies in the store. */
export const policiesResource = 'validatingadmissionpolicies.admissionregistration.k8s.io'

/** The resource name of bindings in the store. */
export const bindingsResource = 'validatingadmissionpolicybindings.admissionregistration.k8s.io'
