// Printing of objects in kubectl's formats.
import { asJson, parseJsonPath, relaxedJsonPath, stringifyJson, stringifyYaml } from '@fairlead/kube'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { usageError } from '@fairlead/offline/command-error'

/** A column of a table. */
export interface TableColumn {
  readonly name: string
  cell(object: KubeObject): string
}

/** Options of {@link printed}. */
export interface OutputOptions {
  /** Format of `-o`; '' for the table. */
  readonly output: string
  readonly columns: readonly TableColumn[]
  /** Columns that `-o wide` adds. */
  readonly wide?: readonly TableColumn[]
  readonly withNamespace?: boolean
  /** Tables have a header. */
  readonly headers: boolean
  /** One object is named: JSON and YAML print no list. */
  readonly isSingle: boolean
}

/** Returns the objects as kubectl prints them. @throws CommandError for an unknown format */
export function printed(objects: readonly KubeObject[], options: OutputOptions): string {
  const { output, columns, wide = [], withNamespace = false, headers } = options
  const [format, ...rest] = output.split('=')
  const template = rest.join('=')
  switch (format) {
    case '':
    case 'wide': {
      const namespace = { name: 'NAMESPACE', cell: ({ metadata }: KubeObject) => metadata.namespace ?? '' }
      return table(
        objects,
        [...(withNamespace ? [namespace] : []), ...columns, ...(format === 'wide' ? wide : [])],
        headers,
      )
    }
    case 'name':
      return objects
        .map(({ kind, apiVersion, metadata }) => `${kind.toLowerCase()}.${apiVersion.split('/')[0]}/${metadata.name}\n`)
        .join('')
    case 'json':
      return `${indented(listed(objects, options))}\n`
    case 'yaml':
      return stringifyYaml(listed(objects, options))
    case 'jsonpath':
      return objects
        .map((object) => `${parseJsonPath(relaxed(template), { allowMissingKeys: true }).execute(asJson(object))}\n`)
        .join('')
    case 'custom-columns':
      return table(objects, customColumns(template), headers)
    default:
      throw usageError(
        `unable to match a printer suitable for the output format "${format}", allowed formats are: custom-columns,json,jsonpath,name,wide,yaml`,
      )
  }
}

/** Returns rows in columns, three blanks apart, as kubectl aligns them. */
export function aligned(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  return rows
    .map(
      (row) =>
        row.map((cell, index) => (index === row.length - 1 ? cell : cell.padEnd(widths[index]! + 3))).join('') + '\n',
    )
    .join('')
}

function table(objects: readonly KubeObject[], columns: readonly TableColumn[], headers: boolean): string {
  const header = columns.map(({ name }) => name)
  return aligned([
    ...(headers ? [header] : []),
    ...objects.map((object) => columns.map((column) => column.cell(object))),
  ])
}

function listed(objects: readonly KubeObject[], { isSingle }: OutputOptions): JsonValue {
  if (isSingle && objects.length === 1) return asJson(objects[0]!)
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: objects.map((object) => asJson(object)),
    metadata: { resourceVersion: '' },
  }
}

function customColumns(specification: string): readonly TableColumn[] {
  return specification.split(',').map((part) => {
    const colon = part.indexOf(':')
    if (colon <= 0) throw usageError(`unexpected custom-columns spec: ${part}, expected <header>:<json-path-expr>`)
    const template = parseJsonPath(relaxedJsonPath(part.slice(colon + 1)), { allowMissingKeys: true })
    return {
      name: part.slice(0, colon),
      cell: (object) => template.find(asJson(object)).flat().map(text).join(',') || '<none>',
    }
  })
}

function indented(value: JsonValue): string {
  return JSON.stringify(JSON.parse(stringifyJson(value)), undefined, 4)
}

function relaxed(template: string): string {
  return template.includes('{') ? template : relaxedJsonPath(template)
}

function text(value: JsonValue): string {
  return typeof value === 'string'
    ? value
    : value === null
      ? '<none>'
      : typeof value === 'object'
        ? stringifyJson(value)
        : String(value)
}
