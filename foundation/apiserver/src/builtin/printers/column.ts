// What printers of built-in kinds are made of: columns, and cells as `kubectl get` shows them.
import type { ColumnDefinition, TablePrinter } from '../../registry/resource.ts'

/** One cell. */
export type Cell = string | number | boolean | null

/** The name column that every table begins with. */
export const nameColumn: ColumnDefinition = { name: 'Name', type: 'string', format: 'name', description: 'Name of the object', priority: 0 }

/** A text column; `priority` 1 shows it only with `-o wide`. */
export function column(name: string, priority = 0, type = 'string'): ColumnDefinition {
  return { name, type, format: '', description: `${name} of the object`, priority }
}

/** A column for each name; those after the first `wide` names show only with `-o wide`. */
export function columns(narrow: readonly string[], wide: readonly string[] = []): readonly ColumnDefinition[] {
  return [nameColumn, ...narrow.map((name) => column(name)), ...wide.map((name) => column(name, 1))]
}

/** Name and creation time: kinds for which Kubernetes has no printer of its own. */
export const defaultPrinter: TablePrinter = {
  columns: [nameColumn, { ...column('Created At'), type: 'date' }],
  cells: (object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null],
}
