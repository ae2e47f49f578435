// The conflict of an apply that changes fields of other managers.
import { goQuote } from '../go-text.ts'
import { applyConflict } from '../status.ts'
import type { StatusError } from '../status.ts'
import { differenceOf, fieldPaths, unionOf, emptyFieldSet } from './field-set.ts'
import type { FieldSet } from './field-set.ts'
import type { Manager } from './managers.ts'
import { compareStrings, formatFieldPath } from './path-element.ts'

/** The conflicting fields by the identifier of the manager that owns them. */
export type Conflicts = ReadonlyMap<string, { readonly manager: Manager; readonly fields: FieldSet }>

/** Thrown by the merge; {@link conflictStatus} converts it to a Status. */
export class ConflictsFound extends Error {
  readonly conflicts: Conflicts

  constructor(conflicts: Conflicts) {
    super('the applied fields are owned by other managers')
    this.conflicts = conflicts
  }
}

/** Returns the conflicting fields of all managers. */
export function conflictingFields(conflicts: Conflicts): FieldSet {
  let all = emptyFieldSet
  for (const { fields } of conflicts.values()) all = unionOf(all, fields)
  return all
}

/** Returns the conflicts without the fields of `resolved`. */
export function withoutFields(conflicts: Conflicts, resolved: FieldSet): Conflicts {
  const out = new Map<string, { manager: Manager; fields: FieldSet }>()
  for (const [id, { manager, fields }] of conflicts) {
    const rest = differenceOf(fields, resolved)
    if (rest.size > 0) out.set(id, { manager, fields: rest })
  }
  return out
}

/** Returns the 409 with a cause per field. */
export function conflictStatus(conflicts: Conflicts): StatusError {
  const found = [...conflicts]
    .toSorted(([a], [b]) => compareStrings(a, b))
    .map(([, { manager, fields }]) => ({
      manager: formatManager(manager),
      paths: [...fieldPaths(fields)].map(formatFieldPath),
    }))
  const causes = found.flatMap(({ manager, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${manager}`, field })),
  )
  if (causes.length === 1) {
    return applyConflict(`Apply failed with 1 conflict: ${causes[0]!.message}: ${causes[0]!.field}`, causes)
  }
  const parts = found.map(({ manager, paths }) =>
    [`conflicts with ${manager}:`, ...paths.map((path) => `- ${path}`)].join('\n'),
  )
  return applyConflict(`Apply failed with ${causes.length} conflicts: ${parts.join('\n')}`, causes)
}

function formatManager(manager: Manager): string {
  const subresource = manager.subresource === '' ? '' : ` with subresource ${goQuote(manager.subresource)}`
  const version = manager.operation === 'Update' ? ` using ${manager.apiVersion}` : ''
  return `${goQuote(manager.name)}${subresource}${version}`
}
