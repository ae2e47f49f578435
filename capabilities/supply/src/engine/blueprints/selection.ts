// Selection of the blueprint of an owner and of the option of a resource: the matching selector with the most
// requirements wins (originals/cartographer.md §1.7).
import { SelectorError, asJson, formatGoValue, selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintSpec, OwnerKind, OwnerSelector } from '../../api.ts'
import { matchesRequirement } from '../values/field-requirement.ts'
import { lookup } from '../values/path.ts'

/** Returns the indexes of the matching selectors with the highest score: none, one, or several in a tie. */
export function bestMatches(owner: Pick<KubeObject, 'metadata'>, selectors: readonly OwnerSelector[]): number[] {
  let best = 1
  let found: number[] = []
  for (const [index, selector] of selectors.entries()) {
    const score = matchScore(owner, selector)
    if (score < best) continue
    if (score > best) found = []
    best = score
    found.push(index)
  }
  return found
}

/** Returns the number of requirements of a selector that matches; 0 when it does not match, has none, or is invalid. */
export function matchScore(owner: Pick<KubeObject, 'metadata'>, selector: OwnerSelector): number {
  const { matchLabels = {}, matchExpressions = [], matchFields = [] } = selector
  try {
    if (!selectorFrom({ matchLabels, matchExpressions }).matches(owner.metadata.labels ?? {})) return 0
  } catch (error) {
    // An invalid selector does not affect the others.
    if (error instanceof SelectorError) return 0
    throw error
  }
  if (!matchFields.every((field) => matchesRequirement(field, lookup(ownerPath(field.key), asJson(owner))))) return 0
  return Object.keys(matchLabels).length + matchExpressions.length + matchFields.length
}

/** Returns the selector of a blueprint, which is spread over three fields of its spec. */
export function selectorOf(spec: BlueprintSpec): OwnerSelector {
  return {
    matchLabels: spec.selector ?? {},
    matchExpressions: spec.selectorMatchExpressions ?? [],
    matchFields: spec.selectorMatchFields ?? [],
  }
}

/** Removes the owner kind from the beginning of a path; blueprints from before RFC 21 have it, and options. */
export function ownerPath(key: string): string {
  return key.replace(/^(\{?\.?)(workload|deliverable)\.(?=spec|metadata)/, '$1')
}

/**
 * Returns the reason of `SupplyChainReady` or `DeliveryReady` for a number of matching blueprints; undefined when
 * exactly one matches.
 */
export function selectionReason(
  kind: OwnerKind,
  owner: Pick<KubeObject, 'metadata'>,
  matches: number,
): string | undefined {
  if (matches === 1) return undefined
  const blueprint = kind === 'Workload' ? 'SupplyChain' : 'Delivery'
  if (matches > 1) return `Multiple${blueprint}Matches`
  return Object.keys(owner.metadata.labels ?? {}).length === 0 ? `${kind}LabelsMissing` : `${blueprint}NotFound`
}

/** Returns the message for {@link selectionReason}, as Cartographer words it. */
export function selectionMessage(
  kind: OwnerKind,
  owner: Pick<KubeObject, 'metadata'>,
  matches: number,
): string | undefined {
  const [ownerName, blueprintName] = kind === 'Workload' ? ['workload', 'supply chain'] : ['deliverable', 'delivery']
  switch (selectionReason(kind, owner, matches)) {
    case undefined:
      return undefined
    case 'WorkloadLabelsMissing':
    case 'DeliverableLabelsMissing':
      return `${ownerName} has no labels to match to ${blueprintName}`
    case 'SupplyChainNotFound':
    case 'DeliveryNotFound':
      return `no ${blueprintName} found where full selector is satisfied by labels: ${formatGoValue(owner.metadata.labels ?? {})}`
    default:
      return `${ownerName} may only match a single ${blueprintName}'s selector`
  }
}
