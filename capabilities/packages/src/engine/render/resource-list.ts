// The wire format of functions outside this process: a ResourceList (`config.kubernetes.io/v1`) as YAML.
import { Document, isMap, isScalar } from 'yaml'
import type { YAMLMap, YAMLSeq } from 'yaml'
import type { JsonValue } from '@fairlead/kube'
import type { FunctionResult } from '../function-runner.ts'
import { PackageError } from '../package-error.ts'
import { formatDocument } from '../yaml/format.ts'
import { jsonOf } from '../yaml/json-value.ts'
import { yamlDocuments } from '../yaml/yaml-file.ts'
import { listAt, textAt, valueAt } from './fields.ts'
import { syncWithInput } from './input-sync.ts'
import type { LocationAnnotationOptions } from './location-annotations.ts'
import {
  addLocationAnnotations,
  idOf,
  locationOf,
  removeLocationAnnotations,
  sequenceIndentAnnotation,
} from './location-annotations.ts'
import { Resource } from './resource.ts'

/** Writes the input of a function; every resource has a number, by which its output is found again. */
export function formatFunctionInput(items: readonly Resource[], config: YAMLMap | undefined): string {
  return formatResourceList(items, {
    config,
    annotations: (_, index) => ({ id: index + 1, withPackage: true }),
  })
}

/** Writes resources as a ResourceList with the annotations of their locations. */
export function formatResourceList(
  items: readonly Resource[],
  {
    config,
    annotations = () => ({}),
  }: {
    readonly config?: YAMLMap | undefined
    readonly annotations?: (resource: Resource, index: number) => LocationAnnotationOptions
  } = {},
): string {
  let text = 'apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:'
  text += items.length === 0 ? ' []\n' : '\n'
  for (const [index, item] of items.entries()) {
    addLocationAnnotations(item, annotations(item, index))
    text += listItem(formatDocument(item.document))
    removeLocationAnnotations(item.fields)
  }
  if (config === undefined) return text
  const document = new Document()
  document.contents = config as unknown as Document['contents']
  return `${text}functionConfig:\n${indent(formatDocument(document))}`
}

/** The output of a function. */
export interface FunctionListOutput {
  readonly items: readonly Resource[]
  readonly results: readonly FunctionResult[]
}

/**
 * Reads the output of a function. Resources that were in its input get the comments and the key order back which they
 * had there.
 * @param packagePath package of resources that name none
 * @throws PackageError `InvalidYaml`
 */
export function parseFunctionOutput(
  output: string,
  input: readonly Resource[],
  packagePath: string,
): FunctionListOutput {
  const documents = yamlDocuments('', output).filter((document) => !document.isEmpty)
  const [list] = documents
  if (list === undefined) return { items: [], results: [] }
  const root = list.root
  const isList = documents.length === 1 && root !== undefined && isListKind(textAt(root, 'kind'))
  const resource = (fields: unknown, document?: Document): Resource => {
    if (!isMap(fields)) throw new PackageError('InvalidYaml', 'the output of the function holds an item that is no map')
    return outputResource(fields, document, input, packagePath)
  }
  if (!isList) return { items: documents.map(({ nodes }) => resource(nodes.contents, nodes)), results: [] }
  const results = valueAt(root, 'results')
  const items = listAt(root, 'items')
  if (items !== undefined) moveComments(items)
  return {
    items: (items?.items ?? []).map((item) => resource(item)),
    results: results === undefined ? [] : parseResults(jsonOf(results, list.nodes)),
  }
}

/** Moves the comments in front of items to their first keys, where a document of its own has them. */
function moveComments(list: YAMLSeq): void {
  for (const [index, item] of list.items.entries()) {
    if (!isMap(item)) continue
    const holder = index === 0 && typeof item.commentBefore !== 'string' ? list : item
    const key = item.items[0]?.key
    if (typeof holder.commentBefore !== 'string' || !isScalar(key)) continue
    key.commentBefore ??= holder.commentBefore
    holder.commentBefore = null
  }
}

function isListKind(kind: string | undefined): boolean {
  return kind === 'ResourceList' || kind === 'List'
}

function outputResource(
  fields: YAMLMap,
  parsed: Document | undefined,
  input: readonly Resource[],
  packagePath: string,
): Resource {
  const id = idOf(fields)
  const before = id === undefined ? undefined : input[id - 1]
  const location = locationOf(fields, before?.location, packagePath)
  const sequenceIndent = before?.sequenceIndent ?? sequenceIndentAnnotation(fields)
  const document = parsed ?? new Document()
  document.contents = fields as unknown as Document['contents']
  const annotationsBefore = removeLocationAnnotations(fields)
  const resource = new Resource(document, location, sequenceIndent)
  if (annotationsBefore !== undefined) resource.annotationsBefore = annotationsBefore
  if (before !== undefined) {
    const hasComment = isScalar(fields.items[0]?.key) && typeof fields.items[0].key.commentBefore === 'string'
    if (!hasComment) document.commentBefore ??= before.document.commentBefore
    syncWithInput(before.fields, fields)
  }
  return resource
}

/** Reads results: a list, or the older form with `items`. */
function parseResults(value: JsonValue): readonly FunctionResult[] {
  const wrapped = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  const items = wrapped === undefined ? value : (wrapped as Readonly<Record<string, JsonValue>>)['items']
  return Array.isArray(items) ? (items as unknown as FunctionResult[]) : []
}

/** Writes a document as an item of a list; the comments in front of it stay in the first column. */
function listItem(text: string): string {
  const lines = text.split('\n')
  const first = lines.findIndex((line) => line !== '' && !line.startsWith('#'))
  const head = lines.slice(0, first).map((line) => `${line}\n`)
  return `${head.join('')}- ${indent(lines.slice(first).join('\n')).slice(2)}`
}

function indent(text: string): string {
  return text.replaceAll(/^(?=.)/gm, '  ')
}
