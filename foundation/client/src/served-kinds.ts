// The kinds that a server serves, by aggregated discovery, and their names as kubectl takes them.
import { isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import type { Client } from './client.ts'
import type { CallOptions } from './options.ts'

/** A kind in one version, with its names. */
export interface ServedKind {
  /** '' for the core group. */
  readonly group: string
  readonly version: string
  readonly apiVersion: string
  readonly kind: string
  readonly plural: string
  readonly singular: string
  readonly shortNames: readonly string[]
  readonly namespaced: boolean
  readonly verbs: readonly string[]
  /** Set for the version that clients use when they name none. */
  readonly isPreferred: boolean
}

const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

/**
 * Returns the kinds that a server serves, in all versions, the core group first. Two requests. Groups whose extension
 * API server does not answer are left out.
 */
export async function servedKinds(client: Client, { signal }: CallOptions = {}): Promise<readonly ServedKind[]> {
  const documents = await Promise.all(
    ['/api', '/apis'].map((path) => client.send({ method: 'GET', path, accept, signal })),
  )
  return documents.flatMap((document) => items(document, 'items')).flatMap(kindsOfGroup)
}

/**
 * Returns the kind of a name as kubectl takes it, in any case: plural, singular, short name or kind, alone
 * (`deploy`), with a group (`deployments.apps`) or with version and group (`deployments.v1.apps`). The first group of
 * discovery wins, in its preferred version.
 */
export function kindNamed(kinds: readonly ServedKind[], type: string): ServedKind | undefined {
  const [name = '', ...rest] = type.toLowerCase().split('.')
  const [version = '', ...groupOfVersion] = rest
  const readable = kinds.filter(({ verbs }) => verbs.includes('get'))
  // A name wins over the short name of another kind.
  const named = [
    ...readable.filter(({ plural, singular, kind }) => [plural, singular, kind.toLowerCase()].includes(name)),
    ...readable.filter(({ shortNames }) => shortNames.includes(name)),
  ]
  if (rest.length === 0) return named.find(({ isPreferred }) => isPreferred)
  return (
    named.find(({ group, isPreferred }) => isPreferred && group === rest.join('.')) ??
    named.find((kind) => kind.version === version && kind.group === groupOfVersion.join('.'))
  )
}

function kindsOfGroup(group: JsonValue): readonly ServedKind[] {
  const name = text(field(field(group, 'metadata'), 'name'))
  const seen = new Set<string>()
  return items(group, 'versions').flatMap((entry) => {
    const version = text(field(entry, 'version'))
    return items(entry, 'resources').map((resource): ServedKind => {
      const plural = text(field(resource, 'resource'))
      const isPreferred = !seen.has(plural)
      seen.add(plural)
      return {
        group: name,
        version,
        apiVersion: name === '' ? version : `${name}/${version}`,
        kind: text(field(field(resource, 'responseKind'), 'kind')),
        plural,
        singular: text(field(resource, 'singularResource')),
        shortNames: items(resource, 'shortNames').map(text),
        namespaced: field(resource, 'scope') === 'Namespaced',
        verbs: items(resource, 'verbs').map(text),
        isPreferred,
      }
    })
  })
}

function field(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined
}

function items(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const list = field(value, name)
  return Array.isArray(list) ? list : []
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
