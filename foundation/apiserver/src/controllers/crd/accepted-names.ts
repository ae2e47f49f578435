// Which names a CRD gets: first come, first served within its group. Pure; a name that is taken leaves the CRD with what it had.
import type { Condition, CustomResourceDefinition, DefinitionNames } from '@fairlead/kube'
import { condition, findCondition, goQuote, isConditionTrue, jsonEqual } from '@fairlead/kube'

/** What naming decides. */
export interface NamesDecision {
  readonly acceptedNames: DefinitionNames
  readonly namesAccepted: Condition
  readonly established: Condition
}

/** Whether a CRD has all the names that it asks for. */
export function hasItsNames({ spec, status }: CustomResourceDefinition): boolean {
  return jsonEqual(compact(spec.names), compact(status?.acceptedNames ?? {}))
}

/** Decides on the names of `crd` beside the others of its group. */
export function decideNames(crd: CustomResourceDefinition, others: Iterable<CustomResourceDefinition>): NamesDecision {
  const { resources, kinds } = takenNames([crd, ...others])
  const wanted = crd.spec.names
  const had = crd.status?.acceptedNames ?? {}
  const conflicts: { reason: string; message: string }[] = []
  const settle = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    reason: string,
    taken: ReadonlySet<string>,
  ): string | undefined => {
    const name = wanted[field]
    if (name === had[field] || name === undefined || !taken.has(name)) return name
    conflicts.push({ reason, message: `${goQuote(name)} is already in use` })
    return had[field]
  }
  const plural = settle('plural', 'PluralConflict', resources)
  const singular = settle('singular', 'SingularConflict', resources)
  const shortNames = settleShortNames(wanted.shortNames, had.shortNames, resources, conflicts)
  const kind = settle('kind', 'KindConflict', kinds)
  const listKind = settle('listKind', 'ListKindConflict', kinds)
  const acceptedNames = compact({ plural, singular, shortNames, kind, listKind, categories: wanted.categories })
  const conflict = conflicts.at(-1)
  const namesAccepted =
    conflict === undefined
      ? condition('NamesAccepted', true, { reason: 'NoConflicts', message: 'no conflicts found' })
      : condition('NamesAccepted', false, conflict)
  return { acceptedNames, namesAccepted, established: decideEstablished(crd, namesAccepted) }
}

/** Once established, always established. */
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

function settleShortNames(
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

/** Names that definitions of the group hold; resources and kinds do not clash with each other. */
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

/** Without empty names, in the order of Kubernetes' type. */
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
