// Columns and cells of the built-in printers, as `kubectl get` shows them.
import type { JsonObject, KubeObject, LabelSelector } from '@fairlead/kube'
import { humanAge, selectorFrom } from '@fairlead/kube'
import type { ColumnDefinition, TablePrinter } from '../definition/resource-definition.ts'
import { objectsAt, stringAt } from '../fields.ts'

/** The value of a cell. */
export type Cell = string | number | boolean | null

/** The first column of most tables: the name. */
export const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name of the object',
  priority: 0,
}

/** The cell of a column without a value. */
export const none = '<none>'

/** Creates a string column; with `priority` 1 it is shown only by `-o wide`. */
export function column(name: string, priority: number = 0, type: string = 'string'): ColumnDefinition {
  return { name, type, format: '', description: `${name} of the object`, priority }
}

/**
 * Creates a printer with the name as first column: `narrow` and `wide` name the others (`Desired:integer` where the
 * type is not string), `cells` returns their values.
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

/** Formats the time since a timestamp, `<unknown>` without one. */
export function age(timestamp: unknown, now: number): string {
  const time = typeof timestamp === 'string' ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? '<unknown>' : humanAge(now - time)
}

/** Returns the age of the object. */
export function objectAge(object: KubeObject, now: number): string {
  return age(object.metadata.creationTimestamp, now)
}

/** Returns a string, or `<none>`. */
export function orNone(text: string): string {
  return text === '' ? none : text
}

/** Returns names and images of containers, each joined by commas. */
export function containerCells(template: JsonObject): [names: string, images: string] {
  const containers = objectsAt(template, 'spec', 'containers')
  return [
    containers.map((container) => stringAt(container, 'name')).join(','),
    containers.map((container) => stringAt(container, 'image')).join(','),
  ]
}

/** Formats a label selector as `kubectl get -o wide` does. */
export function selectorCell(selector: JsonObject | undefined): string {
  if (selector === undefined) return none
  try {
    return orNone(selectorFrom(selector as LabelSelector).toString())
  } catch {
    return '<error>'
  }
}

/** Formats a map of labels as a selector. */
export function labelsCell(labels: Readonly<Record<string, string>>): string {
  return orNone(
    Object.entries(labels)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, value]) => `${key}=${value}`)
      .join(','),
  )
}

/** The printer of kinds without their own: name and creation time. */
export const defaultPrinter: TablePrinter = {
  columns: [nameColumn, { ...column('Created At'), type: 'date' }],
  cells: (object) => [object.metadata.name ?? '', object.metadata.creationTimestamp ?? null],
}
