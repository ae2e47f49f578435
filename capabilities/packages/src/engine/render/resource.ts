// A resource of a package while it is rendered: its fields as parsed nodes, and where it is written.
import type { Document } from 'yaml'
import { Pair, Scalar, YAMLMap, isMap, isScalar } from 'yaml'
import type { SequenceIndent } from '../yaml/sequence-indent.ts'
import { isNull, keyText, mapAt, pairOf, removeField, setText, textAt, textsAt } from './fields.ts'

/** Where a resource is written. */
export interface ResourceLocation {
  /** The folder of the package below the root package; empty for the root. Undefined for a generated resource. */
  readonly packagePath: string | undefined
  /** The file below that folder; undefined for a generated resource that names none. */
  readonly path: string | undefined
  /** The position among the file's documents, a number as functions write it; undefined to append. */
  readonly index: string | undefined
}

/** One resource. Functions change its fields in place. */
export class Resource {
  /** The parsed document; kept for its comments and its style. */
  readonly document: Document
  /** The fields; empty when the document is no map, which the check for resources refuses. */
  readonly fields: YAMLMap
  /** The indentation of lists, which the written file keeps. */
  readonly sequenceIndent: SequenceIndent | undefined
  location: ResourceLocation
  /** The number of annotations in front of those of the location, which functions outside this process see. */
  annotationsBefore: number

  constructor(document: Document, location: ResourceLocation, sequenceIndent?: SequenceIndent) {
    this.document = document
    this.location = location
    this.sequenceIndent = sequenceIndent
    this.fields = isMap(document.contents) ? document.contents : new YAMLMap()
    reserveAnnotations(this.fields)
    this.annotationsBefore = mapAt(this.fields, 'metadata', 'annotations')?.items.length ?? 0
  }

  get apiVersion(): string {
    return textAt(this.fields, 'apiVersion') ?? ''
  }

  get kind(): string {
    return textAt(this.fields, 'kind') ?? ''
  }

  get name(): string {
    return textAt(this.fields, 'metadata', 'name') ?? ''
  }

  get namespace(): string {
    return textAt(this.fields, 'metadata', 'namespace') ?? ''
  }

  /** The API group; empty for the core group. */
  get group(): string {
    const slash = this.apiVersion.indexOf('/')
    return slash === -1 ? '' : this.apiVersion.slice(0, slash)
  }

  get version(): string {
    return this.apiVersion.slice(this.apiVersion.indexOf('/') + 1)
  }

  get labels(): Map<string, string> {
    return textsAt(this.fields, 'metadata', 'labels')
  }

  get annotations(): Map<string, string> {
    return textsAt(this.fields, 'metadata', 'annotations')
  }

  annotation(key: string): string | undefined {
    return textAt(this.fields, 'metadata', 'annotations', key)
  }

  setAnnotation(key: string, value: string): void {
    setText(this.fields, ['metadata', 'annotations', key], value)
  }

  removeAnnotation(key: string): void {
    const annotations = mapAt(this.fields, 'metadata', 'annotations')
    if (annotations !== undefined) removeField(annotations, key)
  }

  /** Formats the resource without empty `metadata.annotations`, as kpt writes it. */
  format(format: (document: Document) => string): string {
    const metadata = mapAt(this.fields, 'metadata')
    if (metadata === undefined || mapAt(metadata, 'annotations')?.items.length !== 0) return format(this.document)
    const { items } = metadata
    metadata.items = items.filter((pair) => keyText(pair) !== 'annotations')
    try {
      return format(this.document)
    } finally {
      metadata.items = items
    }
  }

  /** Joins the comment at the top of the document with that of the first key, as a function's input and output do. */
  joinHeader(): void {
    const { commentBefore } = this.document
    const key = this.fields.items[0]?.key
    if (typeof commentBefore !== 'string' || !isScalar(key)) return
    key.commentBefore = typeof key.commentBefore === 'string' ? `${commentBefore}\n${key.commentBefore}` : commentBefore
    this.document.commentBefore = null
  }

  /** Returns a copy that shares nothing with this resource. */
  clone(): Resource {
    return new Resource(this.document.clone(), this.location, this.sequenceIndent)
  }
}

/**
 * Adds an empty `metadata.annotations`, so that annotations which functions set come before the labels or the
 * namespace that earlier functions added. kpt has its own bookkeeping annotations there while functions run.
 */
function reserveAnnotations(fields: YAMLMap): void {
  const metadata = mapAt(fields, 'metadata')
  if (metadata === undefined) return
  const annotations = pairOf(metadata, 'annotations')
  if (annotations === undefined) metadata.items.push(new Pair(new Scalar('annotations'), new YAMLMap()))
  else if (annotations.value === null || isNull(annotations.value)) annotations.value = new YAMLMap()
}

/** Reports whether `config.kubernetes.io/local-config` keeps a resource out of the cluster. */
export function isLocalConfig(resource: Resource): boolean {
  const value = resource.annotation('config.kubernetes.io/local-config')
  return value !== undefined && value !== '' && value !== 'false'
}
