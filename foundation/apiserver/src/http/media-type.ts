// Content negotiation: the media types that a client accepts, and the representations and transformations of the
// server. The API server has two stages with different error messages: the route's list of types, then the serializers.
import { failure } from '@fairlead/kube'
import type { StatusError } from '@fairlead/kube'

/** A media type of an Accept or Content-Type header. */
export interface MediaType {
  /** Lower case, without parameters: `application/json`. */
  readonly type: string
  readonly parameters: Readonly<Record<string, string>>
}

/** The encoding of a response. */
export type Encoding = 'json' | 'yaml' | 'protobuf'

/** A transformation that the client requested (`as`, `g`, `v` of the Accept header). */
export interface Transform {
  readonly kind: string
  readonly group: string
  readonly version: string
}

/** The result of negotiation. */
export interface Negotiated {
  readonly encoding: Encoding
  readonly transform: Transform | undefined
  /** The value of the Content-Type header. */
  readonly contentType: string
}

export const jsonType = 'application/json'
export const yamlType = 'application/yaml'
export const protobufType = 'application/vnd.kubernetes.protobuf'

const encodings: Readonly<Record<string, Encoding>> = {
  [jsonType]: 'json',
  [yamlType]: 'yaml',
  [protobufType]: 'protobuf',
}

/** Every representation of objects, in the server's order. */
export const objectTypes: readonly string[] = [jsonType, yamlType, protobufType]
/** Representations of a watch. */
export const streamTypes: readonly string[] = [`${jsonType};stream=watch`, `${protobufType};stream=watch`]

/** Parses one media type; undefined for an invalid one. */
export function parseMediaType(text: string): MediaType | undefined {
  const [type, ...rest] = text.split(';')
  const name = type!.trim().toLowerCase()
  if (!name.includes('/') && name !== '*') return undefined
  const parameters: Record<string, string> = {}
  for (const part of rest) {
    const equals = part.indexOf('=')
    if (equals < 0) continue
    parameters[part.slice(0, equals).trim().toLowerCase()] = unquote(part.slice(equals + 1).trim())
  }
  return { type: name, parameters }
}

/** Returns the clauses of an Accept header, most wanted first; clauses of equal quality stay in order. */
export function parseAccept(header: string): readonly MediaType[] {
  return header
    .split(',')
    .map((text) => parseMediaType(text))
    .filter((clause) => clause !== undefined)
    .map((clause) => ({ clause, quality: qualityOf(clause) }))
    .filter(({ quality }) => quality > 0)
    .toSorted((a, b) => b.quality - a.quality)
    .map(({ clause }) => clause)
}

/** An Accept header, parsed on first use. */
export class Accept {
  readonly header: string
  /** There is no Accept header, or an empty one: JSON. */
  readonly isAbsent: boolean
  #clauses: readonly MediaType[] | undefined

  constructor(header: string, clauses?: readonly MediaType[]) {
    this.header = header
    this.isAbsent = clauses === undefined ? header.trim() === '' : clauses.length === 0
    this.#clauses = clauses
  }

  /** The media types, most wanted first. */
  get clauses(): readonly MediaType[] {
    return (this.#clauses ??= parseAccept(this.header))
  }

  /** Returns the header without one media type; absent when nothing else was accepted. */
  without(type: string): Accept {
    return new Accept(
      '',
      this.clauses.filter((clause) => clause.type !== type),
    )
  }
}

/** Returns true when a route that produces `types` may respond to a client that sent `accept`. */
export function isAcceptableRoute(accept: string, types: readonly string[]): boolean {
  const names = new Set(types.map((type) => type.split(';')[0]))
  return accept.split(',').some((text) => {
    const type = text.split(';')[0]!.trim()
    return type === '' || type === '*/*' || names.has(type)
  })
}

/** Returns the 406 of a route that produces nothing that the client accepts. */
export function routeNotAcceptable(types: readonly string[]): StatusError {
  return failure(406, 'NotAcceptable', `406: Not Acceptable\n\nAvailable representations: ${types.join(', ')}`, {})
}

/**
 * Picks the representation of an object; undefined when none fits.
 * @param allows decides whether a transformation is possible in an encoding
 */
export function negotiateObject(
  accept: Accept,
  allows: (transform: Transform, encoding: Encoding) => boolean,
): Negotiated | undefined {
  if (accept.isAbsent) return { encoding: 'json', transform: undefined, contentType: jsonType }
  for (const { type, parameters } of accept.clauses) {
    for (const candidate of objectTypes) {
      if (!typeMatches(type, candidate) || !mayStream(candidate, parameters)) continue
      const transform = transformOf(parameters)
      const encoding = encodings[candidate]!
      if (transform !== undefined && !allows(transform, encoding)) continue
      return { encoding, transform, contentType: candidate }
    }
  }
  return undefined
}

/** Picks the representation of a watch; YAML has no stream form. */
export function negotiateStream(
  accept: Accept,
  allows: (transform: Transform, encoding: Encoding) => boolean,
): Negotiated | undefined {
  if (accept.isAbsent) return { encoding: 'json', transform: undefined, contentType: jsonType }
  for (const { type, parameters } of accept.clauses) {
    for (const candidate of [jsonType, protobufType]) {
      if (!typeMatches(type, candidate)) continue
      const transform = transformOf(parameters)
      const encoding = encodings[candidate]!
      if (transform !== undefined && !allows(transform, encoding)) continue
      return { encoding, transform, contentType: encoding === 'json' ? jsonType : `${protobufType};stream=watch` }
    }
  }
  return undefined
}

/** Returns the encoding of a body; JSON without a Content-Type, undefined for one that is not supported. */
export function bodyEncoding(contentType: string): Encoding | undefined {
  if (contentType.trim() === '') return 'json'
  const type = parseMediaType(contentType)?.type
  return type === undefined || !Object.hasOwn(encodings, type) ? undefined : encodings[type]
}

function transformOf(parameters: Readonly<Record<string, string>>): Transform | undefined {
  const { as, g = '', v = '' } = parameters
  return as === undefined ? undefined : { kind: as, group: g, version: v }
}

/** Returns false for a clause that asks for a stream which the type does not have: YAML has none. */
export function mayStream(type: string, { stream = '' }: Readonly<Record<string, string>>): boolean {
  return stream === '' || (stream === 'watch' && type !== yamlType)
}

function typeMatches(accepted: string, candidate: string): boolean {
  if (accepted === candidate || accepted === '*/*' || accepted === '*') return true
  return accepted.endsWith('/*') && candidate.startsWith(accepted.slice(0, -1))
}

function qualityOf({ parameters }: MediaType): number {
  const quality = Number(parameters['q'] ?? '1')
  return Number.isNaN(quality) ? 1 : quality
}

function unquote(text: string): string {
  return text.length >= 2 && text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
}

// media types of PATCH
export const jsonPatchType = 'application/json-patch+json'
export const mergePatchType = 'application/merge-patch+json'
export const strategicPatchType = 'application/strategic-merge-patch+json'
export const applyPatchType = 'application/apply-patch+yaml'
