// What printers of built-in kinds are made of: columns, and cells as `kubectl get` shows them.
import type { JsonObject, KubeObject, LabelSelector } from '@fairlead/kube'
import { humanAge, selectorFrom } from '@fairlead/kube'
import type { ColumnDefinition, TablePrinter } from '../definition/resource-definition.ts'
import { objectsAt, stringAt } from '../fields.ts'

/** One cell. */
export type Cell = string | number | boolean | null

/** The name column that most tables begin with. */
export const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object',
  priority: 0,
}

/** What a column without a value shows. */
export const none = '<none>'

/** A text column; `priority` 1 shows it only with `-o wide`. */
export function column(name: string, priority: number = 0, type: string = 'string'): ColumnDefinition {
  return { name, type, format: '', description: `${name} of the object`, priority }
}

/**
 * A printer for a kind whose first column is its name: `narrow` and `wide` name the others (`Desired:integer` where the type is not string),
 * `cells` gives their values.
 */
export function printer(
  narrow: readonly string[],
  wide: readonly string[],
  cells: (object: KubeObject, now: number) => readonly Cell[],
): TablePrinter {
  const columns = [nameColumn, ...narrow.map((name) => named(name, 0)), ...wide.map((name) => named(name, 1))]
  return { columns, cells: (object, now) => [object.metadata.name ?? '', ...cells(object, now)] }
}

function named(text: string, priority: number): ColumnDefinition {
  const [name = '', type] = text.split(':')
  return column(name, priority, type)
}

/** How long ago something was, `<unknown>` when it never was. */
export function age(timestamp: unknown, now: number): string {
  const time = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? '<unknown>' : humanAge(now - time)
}

/** Age of the object. */
export function objectAge(object: KubeObject, now: number): string {
  return age(object.metadata.creationTimestamp, now)
}

/** A text, or `<none>`. */
export function orNone(text: string): string {
  return text === '' ? none : text
}

/** Names and images of containers, each joined by commas. */
export function containerCells(template: JsonObject): [names: string, images: string] {
  const containers = objectsAt(template, 'spec', 'containers')
  return [
    containers.map((container) => stringAt(container, 'name')).join(','),
    containers.map((container) => stringAt(container, 'image')).join(','),
  ]
}

/** A label selector as `kubectl get -o wide` shows it. */
export function selectorCell(selector: JsonObject | undefined): string {
  if (selector === undefined) return none
  try {
    return orNone(selectorFrom(selector as LabelSelector).toString())
  } catch {
    return '<error>'
  }
}

/** A map of labels as a selector. */
export function labelsCell(labels: Readonly<Record<string, string>>): string {
  return orNone(
    Object.entries(labels)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  )
}

/** Name and creation time: kinds for which Kubernetes has no printer of its own. */
export const defaultPrinter: TablePrinter = {
  columns: [nameColumn, { ...column('Created At'), type: 'date' }],
  cells: (object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null],
}
