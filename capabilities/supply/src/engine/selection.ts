// Which blueprint takes an owner, and which option a resource takes: the selector with most requirements wins (originals/cartographer.md §1.7).
import { SelectorError, asJson, formatGoValue, selectorFrom } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintSpec, FieldRequirement, OwnerKind, OwnerSelector } from '../api.ts'
import { matchesRequirement } from './values/field-requirement.ts'
import { lookup } from './values/path.ts'

/** Positions of the selectors that match with the best score: none, the winner, or several that nobody can decide between. */
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

/** The number of requirements of a selector that matches; 0 for one that does not, that has none, or that makes no sense. */
export function matchScore(owner: Pick<KubeObject, 'metadata'>, selector: OwnerSelector): number {
  const { matchLabels = {}, matchExpressions = [], matchFields = [] } = selector
  try {
    if (!selectorFrom({ matchLabels, matchExpressions }).matches(owner.metadata.labels ?? {})) return 0
  } catch (error) {
    // A selector that makes no sense harms only itself.
    if (error instanceof SelectorError) return 0
    throw error
  }
  if (!matchFields.every((field) => matchesRequirement(field, lookup(ownerPath(field), asJson(owner))))) return 0
  return Object.keys(matchLabels).length + matchExpressions.length + matchFields.length
}

/** The selector of a blueprint in one piece. */
export function selectorOf(spec: BlueprintSpec): OwnerSelector {
  return {
    matchLabels: spec.selector ?? {},
    matchExpressions: spec.selectorMatchExpressions ?? [],
    matchFields: spec.selectorMatchFields ?? [],
  }
}

/** Paths of old blueprints begin with the kind of the owner (RFC 21 took that away). */
function ownerPath({ key }: FieldRequirement): string {
  return key.replace(/^(\{?\.?)(workload|deliverable)\.(?=spec|metadata)/, '$1')
}

/** Why an owner has no blueprint: the reason of `SupplyChainReady` or `DeliveryReady`; undefined when there is exactly one. */
export function selectionReason(
  kind: OwnerKind,
  owner: Pick<KubeObject, 'metadata'>,
  matches: number,
): string | undefined {
  if (matches === 1) return undefined
  const what = kind === 'Workload' ? 'SupplyChain' : 'Delivery'
  if (matches > 1) return `Multiple${what}Matches`
  return Object.keys(owner.metadata.labels ?? {}).length === 0 ? `${kind}LabelsMissing` : `${what}NotFound`
}

/** The same for people, in the words of the original. */
export function selectionMessage(
  kind: OwnerKind,
  owner: Pick<KubeObject, 'metadata'>,
  matches: number,
): string | undefined {
  const [own, what] = kind === 'Workload' ? ['workload', 'supply chain'] : ['deliverable', 'delivery']
  switch (selectionReason(kind, owner, matches)) {
    case undefined:
      return undefined
    case 'WorkloadLabelsMissing':
    case 'DeliverableLabelsMissing':
      return `${own} has no labels to match to ${what}`
    case 'SupplyChainNotFound':
    case 'DeliveryNotFound':
      return `no ${what} found where full selector is satisfied by labels: ${formatGoValue(owner.metadata.labels ?? {})}`
    default:
      return `${own} may only match a single ${what}'s selector`
  }
}
