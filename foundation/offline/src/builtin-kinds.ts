// Kubernetes' own kinds, from the generated table.
import { parseApiVersion } from '@fairlead/kube'
import { kinds } from './generated/kinds.ts'
import type { ResourceKind } from './resource-kind.ts'

/** A row of the table: kind, plural, singular, isNamespaced, then short names. */
type Row = readonly [kind: string, plural: string, singular: string, namespaced: boolean, ...shortNames: string[]]

/** Returns the kinds that every cluster serves. Parses the table; call it once. */
export function builtinKinds(): readonly ResourceKind[] {
  const table = JSON.parse(kinds) as Readonly<Record<string, readonly Row[]>>
  return Object.entries(table).flatMap(([apiVersion, rows]) =>
    rows.map(([kind, plural, singular, namespaced, ...shortNames]) => ({
      apiVersion,
      ...parseApiVersion(apiVersion),
      kind,
      plural,
      singular,
      shortNames,
      namespaced,
    })),
  )
}
