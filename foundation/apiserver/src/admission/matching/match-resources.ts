// MatchResources of policies and their bindings.
import { StatusError } from '@fairlead/kube'
import type { LabelSelector } from '@fairlead/kube'
import type { ServedResource } from '../../registry/registry.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { matchingVersion } from './rule.ts'
import type { Rule } from './rule.ts'
import { selectsNamespace, selectsObject } from './selectors.ts'
import type { NamespaceReader } from './selectors.ts'

/** `matchConstraints` of a policy, `matchResources` of a binding. */
export interface MatchResources {
  readonly namespaceSelector?: LabelSelector
  readonly objectSelector?: LabelSelector
  readonly resourceRules?: readonly Rule[]
  readonly excludeResourceRules?: readonly Rule[]
  readonly matchPolicy?: string
}

/**
 * Returns the version in which the rules match a request; undefined when they do not.
 * @throws StatusError for selectors that cannot be evaluated, of requests that the rules match
 */
export function matchedVersion(
  match: MatchResources,
  request: AdmissionAttributes,
  read: NamespaceReader,
): ServedResource | undefined {
  const { resourceRules = [], excludeResourceRules = [], matchPolicy } = match
  const version = resourceRules.length === 0 ? request.resource : matchingVersion(resourceRules, matchPolicy, request)
  if (version === undefined) return undefined
  const byNamespace = selectsNamespace(match.namespaceSelector, request, read)
  if (byNamespace === false) return undefined
  const byObject = selectsObject(match.objectSelector, request)
  if (byObject === false) return undefined
  if (excludeResourceRules.length > 0 && matchingVersion(excludeResourceRules, matchPolicy, request) !== undefined)
    return undefined
  for (const selected of [byNamespace, byObject]) if (selected instanceof StatusError) throw selected
  return version
}
