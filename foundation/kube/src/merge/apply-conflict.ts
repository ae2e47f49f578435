// The 409 of an apply that would change fields of other managers.
import { goQuote } from '../go-text.ts'
import { applyConflict } from '../status.ts'
import type { StatusError } from '../status.ts'
import { differenceOf, fieldPaths, unionOf, emptyFieldSet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import type { Owner } from './owners.ts'
import { compareText, formatFieldPath } from './path-element.ts'

/** The fields in dispute, by the id of their owner. */
export type Conflicts = ReadonlyMap<string, { readonly owner: Owner; readonly fields: FieldSet }>

/** Thrown inside the merge; {@link conflictStatus} makes the answer of it. */
export class ConflictsFound extends Error {
  readonly conflicts: Conflicts

  constructor(conflicts: Conflicts) {
    super('apply met fields of other managers')
    this.conflicts = conflicts
  }
}

/** All fields in dispute, whoever owns them. */
export function disputedFields(conflicts: Conflicts): FieldSet {
  let all = emptyFieldSet
  for (const { fields } of conflicts.values()) all = unionOf(all, fields)
  return all
}

/** The conflicts that remain when some fields are no longer disputed. */
export function withoutFields(conflicts: Conflicts, settled: FieldSet): Conflicts {
  const out = new Map<string, { owner: Owner; fields: FieldSet }>()
  for (const [id, { owner, fields }] of conflicts) {
    const rest = differenceOf(fields, settled)
    if (rest.size > 0) out.set(id, { owner, fields: rest })
  }
  return out
}

/** 409 with a cause per field. */
export function conflictStatus(conflicts: Conflicts): StatusError {
  const found = [...conflicts]
    .toSorted(([a], [b]) => compareText(a, b))
    .map(([, { owner, fields }]) => ({ who: formatOwner(owner), paths: [...fieldPaths(fields)].map(formatFieldPath) }))
  const causes = found.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  )
  if (causes.length === 1) {
    return applyConflict(`Apply failed with 1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`, causes)
  }
  const parts = found.map(({ who, paths }) =>
    [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
  )
  return applyConflict(`Apply failed with ${causes.length} conflicts: ${parts.join('\n')}`, causes)
}

function formatOwner(owner: Owner): string {
  const subresource = owner.subresource === '' ? '' : ` with subresource ${goQuote(owner.subresource)}`
  const version = owner.operation === 'Update' ? ` using ${owner.apiVersion}` : ''
  return `${goQuote(owner.manager)}${subresource}${version}`
}
