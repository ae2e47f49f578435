// Accepts the names of a CRD: first come, first served within its group. Pure; a conflict leaves the CRD with its
// previously accepted names.
import type { Condition, CustomResourceDefinition, DefinitionNames } from '@fairlead/kube'
import { condition, findCondition, goQuote, isConditionTrue, jsonEqual } from '@fairlead/kube'

/** The accepted names and their conditions. */
export interface NamesDecision {
  readonly acceptedNames: DefinitionNames
  readonly namesAccepted: Condition
  readonly established: Condition
}

/** Returns true when a CRD has all of its requested names. */
export function hasAcceptedNames({ spec, status }: CustomResourceDefinition): boolean {
  return jsonEqual(compact(spec.names), compact(status?.acceptedNames ?? {}))
}

/** Accepts the names of `crd` against the other CRDs of its group. */
export function decideNames(crd: CustomResourceDefinition, others: Iterable<CustomResourceDefinition>): NamesDecision {
  const { resources, kinds } = takenNames([crd, ...others])
  const wanted = crd.spec.names
  const had = crd.status?.acceptedNames ?? {}
  const conflicts: { reason: string; message: string }[] = []
  const accept = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    reason: string,
    taken: ReadonlySet<string>,
  ): string | undefined => {
    const name = wanted[field]
    if (name === had[field] || name === undefined || !taken.has(name)) return name
    conflicts.push({ reason, message: `${goQuote(name)} is already in use` })
    return had[field]
  }
  const plural = accept('plural', 'PluralConflict', resources)
  const singular = accept('singular', 'SingularConflict', resources)
  const shortNames = acceptShortNames(wanted.shortNames, had.shortNames, resources, conflicts)
  const kind = accept('kind', 'KindConflict', kinds)
  const listKind = accept('listKind', 'ListKindConflict', kinds)
  const acceptedNames = compact({ plural, singular, shortNames, kind, listKind, categories: wanted.categories })
  const conflict = conflicts.at(-1)
  const namesAccepted =
    conflict === undefined
      ? condition('NamesAccepted', true, { reason: 'NoConflicts', message: 'no conflicts found' })
      : condition('NamesAccepted', false, conflict)
  return { acceptedNames, namesAccepted, established: decideEstablished(crd, namesAccepted) }
}

/** Returns the condition Established; it stays True once it is. */
function decideEstablished({ status }: CustomResourceDefinition, namesAccepted: Condition): Condition {
  const conditions = status?.conditions ?? []
  if (isConditionTrue(conditions, 'Established')) return findCondition(conditions, 'Established')!
  return namesAccepted.status === 'True'
    ? condition('Established', true, {
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      })
    : condition('Established', false, { reason: 'NotAccepted', message: 'not all names are accepted' })
}

function acceptShortNames(
  wanted: readonly string[] = [],
  had: readonly string[] = [],
  taken: ReadonlySet<string>,
  conflicts: { reason: string; message: string }[],
): readonly string[] {
  const clashes = wanted
    .filter((name) => !had.includes(name) && taken.has(name))
    .map((name) => `${goQuote(name)} is already in use`)
  if (clashes.length === 0) return wanted
  conflicts.push({
    reason: 'ShortNamesConflict',
    message: clashes.length === 1 ? clashes[0]! : `[${clashes.join(', ')}]`,
  })
  return had
}

/** Returns the accepted names of a group; resources and kinds do not conflict with each other. */
function takenNames(definitions: readonly CustomResourceDefinition[]): {
  resources: ReadonlySet<string>
  kinds: ReadonlySet<string>
} {
  const resources = new Set<string>()
  const kinds = new Set<string>()
  for (const { status } of definitions) {
    const { plural = '', singular = '', shortNames = [], kind = '', listKind = '' } = status?.acceptedNames ?? {}
    for (const name of [plural, singular, ...shortNames]) if (name !== '') resources.add(name)
    for (const name of [kind, listKind]) if (name !== '') kinds.add(name)
  }
  return { resources, kinds }
}

/** Returns the names without empty ones, in the order of Kubernetes' type. */
function compact({
  plural,
  singular,
  shortNames = [],
  kind,
  listKind,
  categories = [],
}: DefinitionNames): DefinitionNames {
  return {
    ...(plural ? { plural } : {}),
    ...(singular ? { singular } : {}),
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(kind ? { kind } : {}),
    ...(listKind ? { listKind } : {}),
    ...(categories.length > 0 ? { categories } : {}),
  }
}
