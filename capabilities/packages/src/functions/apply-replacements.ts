// apply-replacements: copies a field of one resource into fields of others, as kustomize's replacements do.
import type { Node, YAMLMap } from 'yaml'
import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { SelectorError, parseLabelSelector } from '@fairlead/kube'
import { compileRegex } from '@fairlead/kube'
import { listAt, mapAt, mapsAt, scalarText, setScalar, textAt } from '../engine/render/fields.ts'
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'
import type { Resource } from '../engine/render/resource.ts'
import { ConfigError, configType, functionApiVersion } from './config.ts'
import { findPlaces, splitPath } from './replacement-path.ts'
import { functionFailure } from './sdk-failure.ts'
import { plainNode } from './typed-scalar.ts'

interface FieldOptions {
  readonly delimiter: string
  readonly index: number
  readonly create: boolean
}

const defaultPath = 'metadata.name'

/** Applies replacements in their order; the first that cannot be applied fails the function. */
export function applyReplacements({ items, config }: FunctionInput): FunctionOutcome {
  try {
    for (const replacement of replacementsOf(config)) apply(replacement, items)
    return { results: [] }
  } catch (error) {
    if (!(error instanceof ConfigError) && !(error instanceof SelectorError)) throw error
    return { results: [{ message: error.message, severity: 'error' }], failure: functionFailure }
  }
}

function replacementsOf(config: YAMLMap | undefined): readonly YAMLMap[] {
  const { apiVersion, kind } = configType(config)
  if (config === undefined || config.items.length === 0)
    throw new ConfigError('FunctionConfig is missing. Expect `ApplyReplacements`')
  if (kind !== 'ApplyReplacements' || apiVersion !== functionApiVersion)
    throw new ConfigError(
      `received functionConfig of kind ${kind} and apiVersion ${apiVersion}, only functionConfig of kind ApplyReplacements and apiVersion ${functionApiVersion} is supported`,
    )
  return mapsAt(config, 'replacements')
}

function apply(replacement: YAMLMap, items: readonly Resource[]): void {
  const source = mapAt(replacement, 'source')
  const literal = textAt(replacement, 'sourceValue')
  const targets = mapsAt(replacement, 'targets')
  if ((source === undefined && literal === undefined) || targets.length === 0)
    throw new ConfigError('replacements must specify a source and at least one target')
  if (source !== undefined && literal !== undefined)
    throw new ConfigError('value and resource selectors are mutually exclusive')
  const value = source === undefined ? (literal ?? '') : sourceValue(source, items)
  for (const target of targets) applyTo(target, value, items)
}

/** Returns the value of a source: a string, or the node of a map or list. */
function sourceValue(source: YAMLMap, items: readonly Resource[]): string | Node {
  const matches = items.filter((item) => isSelected(item, source, isEqual))
  const described = describe(source)
  if (matches.length > 1) throw new ConfigError(`multiple matches for selector ${described}`)
  const [resource] = matches
  if (resource === undefined) throw new ConfigError(`nothing selected by ${described}`)
  const path = textAt(source, 'fieldPath') ?? defaultPath
  const [place] = findPlaces(resource.fields, splitPath(path))
  if (place === undefined || (isScalar(place.node) && place.node.value === null))
    throw new ConfigError(`fieldPath \`${path}\` is missing for replacement source ${described}`)
  const { delimiter, index } = optionsOf(mapAt(source, 'options'))
  if (delimiter === '') return isScalar(place.node) ? scalarText(place.node) : place.node
  if (!isScalar(place.node)) throw new ConfigError('delimiter option can only be used with scalar nodes')
  const text = scalarText(place.node)
  const part = index < 0 ? undefined : text.split(delimiter)[index]
  if (part === undefined) throw new ConfigError(`options.index ${index} is out of bounds for value ${text}`)
  return part
}

function applyTo(target: YAMLMap, value: string | Node, items: readonly Resource[]): void {
  const select = mapAt(target, 'select')
  if (select === undefined) throw new ConfigError('target must specify resources to select')
  const rejects = mapsAt(target, 'reject')
  const paths = (listAt(target, 'fieldPaths')?.items ?? []).map((item) => (isScalar(item) ? scalarText(item) : ''))
  const options = optionsOf(mapAt(target, 'options'))
  for (const resource of items) {
    if (!isSelected(resource, select, isMatch) || rejects.some((reject) => isSelected(resource, reject, isMatch)))
      continue
    for (const path of paths.length === 0 ? [defaultPath] : paths) setAt(resource.fields, path, value, options)
  }
}

function setAt(fields: YAMLMap, path: string, value: string | Node, options: FieldOptions): void {
  const parts = splitPath(path)
  if (setInText(fields, parts, value, options)) return
  const places = findPlaces(fields, parts, options.create ? kindOf(value) : undefined)
  if (places.length === 0)
    throw new ConfigError(
      `unable to find ${options.create ? 'or create ' : ''}field ${JSON.stringify(path)} in replacement target`,
    )
  for (const { node, replace } of places) setPlace(node, replace, value, options)
}

function setPlace(node: Node, replace: (node: Node) => void, value: string | Node, options: FieldOptions): void {
  if (options.delimiter !== '' && !isScalar(node))
    throw new ConfigError('delimiter option can only be used with scalar nodes')
  if (isScalar(node) && typeof value === 'string') {
    const text = options.delimiter === '' ? value : withPart(scalarText(node), value, options)
    // The type of the field stays: a number that is copied into a string is one.
    if (typeof node.value === 'string' && node.value !== '') setScalar(node, text, { keepStyle: true })
    else plainNode(node, text)
  } else replace(typeof value === 'string' ? newScalar(value) : (value.clone() as Node))
}

function newScalar(text: string): Node {
  const { contents } = parseDocument('""')
  const scalar = contents as unknown as Parameters<typeof plainNode>[0]
  delete scalar.type
  plainNode(scalar, text)
  return scalar
}

function withPart(text: string, value: string, { delimiter, index }: FieldOptions): string {
  const parts = text.split(delimiter)
  if (index < 0) return [value, ...parts].join(delimiter)
  return (index >= parts.length ? [...parts, value] : parts.with(index, value)).join(delimiter)
}

/** Sets a field inside a string that holds JSON or YAML. Returns whether the path leads into one. */
function setInText(fields: YAMLMap, parts: readonly string[], value: string | Node, options: FieldOptions): boolean {
  for (let length = 1; length < parts.length; length += 1) {
    const [place] = findPlaces(fields, parts.slice(0, length))
    if (place === undefined) return false
    if (!isScalar(place.node)) continue
    const text = scalarText(place.node)
    const document = parseDocument(text)
    const root = document.contents as Node | null
    if (!isMap(root)) return false
    const places = findPlaces(root, parts.slice(length), options.create ? kindOf(value) : undefined)
    if (places.length === 0) return false
    for (const { node, replace } of places) setPlace(node, replace, value, options)
    const isJson = /^\s*[[{]/.test(text)
    const indent = text.includes('\n') ? 2 : undefined
    const changed = isJson ? JSON.stringify(document.toJS(), null, indent) : document.toString({ lineWidth: 0 })
    setScalar(place.node, changed, { keepStyle: true })
    return true
  }
  return false
}

function kindOf(value: string | Node): 'scalar' | 'map' | 'list' {
  if (typeof value === 'string') return 'scalar'
  return isSeq(value) ? 'list' : 'map'
}

function optionsOf(options: YAMLMap | undefined): FieldOptions {
  return {
    delimiter: options === undefined ? '' : (textAt(options, 'delimiter') ?? ''),
    index: options === undefined ? 0 : Number(textAt(options, 'index') ?? 0),
    create: options !== undefined && textAt(options, 'create') === 'true',
  }
}

function isSelected(
  resource: Resource,
  selector: YAMLMap,
  matches: (wanted: string, actual: string) => boolean,
): boolean {
  const fields = {
    group: resource.group,
    version: resource.version,
    kind: resource.kind,
    name: resource.name,
    namespace: resource.namespace,
  }
  return (
    Object.entries(fields).every(([key, actual]) => {
      const wanted = textAt(selector, key) ?? ''
      return wanted === '' || matches(wanted, actual)
    }) &&
    labelsMatch(textAt(selector, 'labelSelector'), resource.labels) &&
    labelsMatch(textAt(selector, 'annotationSelector'), resource.annotations)
  )
}

function isEqual(wanted: string, actual: string): boolean {
  return wanted === actual
}

/** Selectors of targets are regular expressions over the whole value. */
function isMatch(wanted: string, actual: string): boolean {
  return wanted === actual || compileRegex(`^(?:${wanted})$`).test(actual)
}

function labelsMatch(selector: string | undefined, labels: ReadonlyMap<string, string>): boolean {
  if (selector === undefined || selector === '') return true
  return parseLabelSelector(selector).matches(Object.fromEntries(labels))
}

/** Describes a selector as kustomize does: `[noGrp].[noVer].ConfigMap/name.[noNs]`. */
function describe(selector: YAMLMap): string {
  const field = (key: string, none: string): string => textAt(selector, key) || none
  const type = `${field('kind', '[noKind]')}.${field('version', '[noVer]')}.${field('group', '[noGrp]')}`
  return `${type}/${field('name', '[noName]')}.${field('namespace', '[noNs]')}`
}
