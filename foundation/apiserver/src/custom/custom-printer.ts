// Printers of custom resources: the columns that the CRD declares, or the age.
import type { DefinitionColumn, JsonValue } from '@fairlead/kube'
import {
  asJson,
  formatGoNumber,
  humanAge,
  isJsonArray,
  JsonPathError,
  marshalGoJson,
  parseColumnPath,
} from '@fairlead/kube'
import type { ColumnDefinition, TablePrinter } from '@fairlead/builtin-kinds'

type Cell = string | number | bigint | boolean | null

interface Column {
  readonly definition: ColumnDefinition
  readonly find: (value: JsonValue) => readonly JsonValue[]
}

const ageColumn: DefinitionColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'CreationTimestamp is a timestamp representing the server time when this object was created.',
}

const nameColumn: ColumnDefinition = {
  name: 'Name',
  type: 'string',
  format: 'name',
  description: 'Name must be unique within a namespace.',
  priority: 0,
}

/** Returns the printer of a version. An invalid path ends the columns, as in Kubernetes. */
export function customPrinter(declared: readonly DefinitionColumn[] | undefined): TablePrinter {
  const columns = readColumns(declared === undefined || declared.length === 0 ? [ageColumn] : declared)
  return {
    columns: [nameColumn, ...columns.map((column) => column.definition)],
    cells: (object, now) => [
      object.metadata.name ?? '',
      ...columns.map((column) => cellOf(column, asJson(object), now)),
    ],
  }
}

function readColumns(declared: readonly DefinitionColumn[]): Column[] {
  const columns: Column[] = []
  for (const { name = '', type = '', format = '', description = '', priority = 0, jsonPath = '' } of declared) {
    try {
      const find = parseColumnPath(jsonPath)
      const shownDescription =
        description === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : description
      columns.push({ definition: { name, type, format, description: shownDescription, priority }, find })
    } catch (error) {
      if (!(error instanceof JsonPathError)) throw error
      return columns
    }
  }
  return columns
}

function cellOf({ definition, find }: Column, object: JsonValue, now: number): Cell {
  const [value] = find(object)
  if (value === undefined) return null
  if (definition.type === 'string') return printed(value)
  if (value === null) return null
  switch (definition.type) {
    case 'integer':
      return typeof value === 'bigint' ? value : typeof value === 'number' ? Math.trunc(value) : null
    case 'number':
      return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null
    case 'boolean':
      return typeof value === 'boolean' ? value : null
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null
    default:
      return null
  }
}

/** Formats a value like JSONPath. */
function printed(value: JsonValue): string {
  if (value === null) return '<no value>'
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'bigint') return formatGoNumber(value)
  return typeof value === 'boolean' ? String(value) : marshalGoJson(isJsonArray(value) ? [...value] : value)
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/

function ageOf(timestamp: string, now: number): string {
  if (timestamp === '') return '<unknown>'
  const time = rfc3339.test(timestamp) ? Date.parse(timestamp) : Number.NaN
  return Number.isNaN(time) ? '<invalid>' : humanAge(now - time)
}
