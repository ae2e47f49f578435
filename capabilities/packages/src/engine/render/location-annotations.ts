// The annotations by which functions outside this process see where a resource lies, and change it.
import { Pair, Scalar, YAMLMap } from 'yaml'
import { keyText, mapAt, pairOf, setNode, textAt } from './fields.ts'
import type { SequenceIndent } from '../yaml/sequence-indent.ts'
import type { Resource, ResourceLocation } from './resource.ts'

const internal = 'internal.config.kubernetes.io/'
const legacy = 'config.kubernetes.io/'
const packagePathKey = `${internal}package-path`
const idKeys = [`${internal}id`, 'config.k8s.io/id']

/** Which annotations are written beside path and index. */
export interface LocationAnnotationOptions {
  /** The number by which the output of a function is matched with its input. */
  readonly id?: number
  /** Set when the package of the resource is written, which functions see and users do not. */
  readonly withPackage?: boolean
  /** Overrides the path of the location. */
  readonly path?: string
}

/** Adds the annotations of a resource's location. */
export function addLocationAnnotations(resource: Resource, options: LocationAnnotationOptions = {}): void {
  const metadata = mapAt(resource.fields, 'metadata')
  if (metadata === undefined) return
  if (mapAt(metadata, 'annotations') === undefined) setNode(metadata, 'annotations', new YAMLMap())
  const annotations = mapAt(metadata, 'annotations')!
  const { path, index, packagePath } = resource.location
  const added: Pair[] = []
  const add = (key: string, value: string | undefined): void => {
    if (value === undefined) return
    const scalar = new Scalar(value)
    scalar.type = 'QUOTE_SINGLE'
    added.push(new Pair(new Scalar(key), scalar))
  }
  const written = options.path ?? path
  if (options.id !== undefined) add(idKeys[1]!, String(options.id))
  add(`${legacy}index`, index)
  add(`${legacy}path`, written)
  if (options.id !== undefined) add(idKeys[0]!, String(options.id))
  add(`${internal}index`, index)
  if (options.withPackage === true) add(packagePathKey, packagePath === '' ? '.' : packagePath)
  add(`${internal}path`, written)
  add(`${internal}seqindent`, resource.sequenceIndent ?? 'compact')
  annotations.items.splice(resource.annotationsBefore, 0, ...added)
}

const locationKeys = new Set([
  packagePathKey,
  ...idKeys,
  ...['path', 'index', 'seqindent'].map((name) => `${internal}${name}`),
  ...['path', 'index'].map((name) => `${legacy}${name}`),
])

/** Removes the annotations of a location again. Returns the number in front of them, undefined when there were none. */
export function removeLocationAnnotations(fields: YAMLMap): number | undefined {
  const annotations = mapAt(fields, 'metadata', 'annotations')
  if (annotations === undefined) return undefined
  const first = annotations.items.findIndex((pair) => locationKeys.has(keyText(pair)))
  if (first === -1) return undefined
  annotations.items = annotations.items.filter((pair) => !locationKeys.has(keyText(pair)))
  return first
}

/** Returns the list indentation that a resource is to be written with. */
export function sequenceIndentAnnotation(fields: YAMLMap): SequenceIndent | undefined {
  const text = annotationOf(fields, `${internal}seqindent`)
  return text === 'wide' || text === 'compact' ? text : undefined
}

/** Returns the number that matches a resource with the input of its function. */
export function idOf(fields: YAMLMap): number | undefined {
  for (const key of idKeys) {
    const text = annotationOf(fields, key)
    if (text !== undefined && /^\d+$/.test(text)) return Number(text)
  }
  return undefined
}

/**
 * Reads the location of a function's output. Of the internal annotation and the legacy one, that which the function
 * changed wins.
 */
export function locationOf(
  fields: YAMLMap,
  before: ResourceLocation | undefined,
  packagePath: string,
): ResourceLocation {
  const written = annotationOf(fields, packagePathKey)
  return {
    packagePath: written === undefined || written === '' ? packagePath : written === '.' ? '' : written,
    path: changed('path', before?.path),
    index: changed('index', before?.index),
  }

  function changed(name: string, sent: string | undefined): string | undefined {
    const current = annotationOf(fields, `${internal}${name}`)
    const old = annotationOf(fields, `${legacy}${name}`)
    if (current === undefined || current === '') return old
    return current === sent && old !== undefined && old !== '' ? old : current
  }
}

function annotationOf(fields: YAMLMap, key: string): string | undefined {
  const annotations = mapAt(fields, 'metadata', 'annotations')
  return annotations === undefined || pairOf(annotations, key) === undefined ? undefined : textAt(annotations, key)
}
