// Mutating and validating webhooks: their stored form, and one of them compiled.
import { authorizerDeclaration, requestDeclarations } from '@fairlead/builtin-kinds'
import { internalError } from '@fairlead/kube'
import type { KubeObject, LabelSelector } from '@fairlead/kube'
import type { ServedResource } from '../../registry/registry.ts'
import type { WebhookClientConfig } from '../../webhooks/client-config.ts'
import { MatchConditions } from '../expressions/match-conditions.ts'
import type { MatchCondition } from '../expressions/match-conditions.ts'
import { matchedVersion } from '../matching/match-resources.ts'
import type { Rule } from '../matching/rule.ts'
import type { NamespaceReader } from '../matching/selectors.ts'
import type { AdmissionAttributes } from '../attributes.ts'

/** One entry of `webhooks`. */
export interface WebhookSpec {
  readonly name?: string
  readonly clientConfig?: WebhookClientConfig
  readonly rules?: readonly Rule[]
  readonly failurePolicy?: string
  readonly matchPolicy?: string
  readonly namespaceSelector?: LabelSelector
  readonly objectSelector?: LabelSelector
  readonly sideEffects?: string
  readonly timeoutSeconds?: number
  readonly admissionReviewVersions?: readonly string[]
  readonly matchConditions?: readonly MatchCondition[]
  /** Mutating webhooks only. */
  readonly reinvocationPolicy?: string
}

/** A MutatingWebhookConfiguration or a ValidatingWebhookConfiguration. */
export interface WebhookConfiguration extends KubeObject {
  readonly webhooks?: readonly WebhookSpec[]
}

/** The resource names of the configurations in the store. */
export const mutatingResource = 'mutatingwebhookconfigurations.admissionregistration.k8s.io'
/** See {@link mutatingResource}. */
export const validatingResource = 'validatingwebhookconfigurations.admissionregistration.k8s.io'

/** A webhook with its conditions compiled. */
export class Webhook {
  readonly spec: WebhookSpec
  readonly name: string
  readonly conditions: MatchConditions

  constructor(spec: WebhookSpec) {
    this.spec = spec
    this.name = spec.name ?? ''
    const declarations = { ...requestDeclarations, ...authorizerDeclaration }
    this.conditions = new MatchConditions(spec.matchConditions ?? [], declarations, spec.failurePolicy)
  }

  /** The timeout of a call in seconds. */
  get timeoutSeconds(): number {
    return this.spec.timeoutSeconds ?? 10
  }

  /**
   * The version of AdmissionReview that the webhook accepts.
   * @throws StatusError 500
   */
  get reviewVersion(): 'v1' | 'v1beta1' {
    for (const version of this.spec.admissionReviewVersions ?? []) {
      if (version === 'v1' || version === 'v1beta1') return version
    }
    throw internalError('webhook does not accept known AdmissionReview versions (v1, v1beta1)')
  }

  /**
   * Returns the version in which the webhook matches a request; undefined when it does not.
   * @throws StatusError 404, 500
   */
  matchedVersion(request: AdmissionAttributes, read: NamespaceReader): ServedResource | undefined {
    const { rules = [], matchPolicy, namespaceSelector, objectSelector } = this.spec
    if (rules.length === 0) return undefined
    return matchedVersion(
      {
        resourceRules: rules,
        ...(matchPolicy === undefined ? {} : { matchPolicy }),
        ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
        ...(objectSelector === undefined ? {} : { objectSelector }),
      },
      request,
      read,
    )
  }
}

const prepared = new WeakMap<WebhookConfiguration, readonly Webhook[]>()

/** Returns the webhooks of all configurations, by name of the configuration, each in the order written. */
export function webhooksOf(configurations: Iterable<KubeObject>): readonly Webhook[] {
  const sorted = ([...configurations] as WebhookConfiguration[]).toSorted((a, b) =>
    a.metadata.name! < b.metadata.name! ? -1 : 1,
  )
  return sorted.flatMap((configuration) => {
    let webhooks = prepared.get(configuration)
    if (webhooks === undefined)
      prepared.set(configuration, (webhooks = (configuration.webhooks ?? []).map((spec) => new Webhook(spec))))
    return webhooks
  })
}
