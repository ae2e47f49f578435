// Names from the cluster for completion. Names that cannot be fetched quickly are left out: completion never fails.
import { loadKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isJsonObject } from '@fairlead/kube'
import type { JsonValue } from '@fairlead/kube'
import { clientFromKubeconfig } from '../connect.ts'

type Given = Readonly<Record<string, string | undefined>>

/** Time limit: a user waits at the keyboard. Milliseconds. */
const patience = 2_000

interface Resource {
  readonly plural: string
  readonly singular: string
  readonly apiVersion: string
  readonly kind: string
  readonly namespaced: boolean
}

/** Returns the contexts of the kubeconfig. */
export function contextNames({ kubeconfig }: Given): Promise<readonly string[]> {
  return quietly(async () => [
    ...(await loadKubeconfig(kubeconfig === undefined ? {} : { file: kubeconfig })).contexts.keys(),
  ])
}

/** Returns the namespaces of the cluster. */
export function namespaceNames(given: Given): Promise<readonly string[]> {
  return withClient(given, (client) => namesOf(client, { apiVersion: 'v1', kind: 'Namespace' }, undefined))
}

/**
 * Returns `type/name` candidates for a word: types up to the slash, then names of that type. TYPE and KIND match every
 * type.
 */
export function resourceNames(kinds: readonly string[], word: string, given: Given): Promise<readonly string[]> {
  return withClient(given, async (client) => {
    const all = kinds.includes('TYPE') || kinds.includes('KIND')
    const types = (await resources(client)).filter(
      ({ singular, plural }) => all || kinds.includes(singular) || kinds.includes(plural),
    )
    const slash = word.indexOf('/')
    // Events are served by two groups.
    if (slash < 0) return [...new Set(types.map(({ singular }) => `${singular}/`))]
    const type = word.slice(0, slash)
    const found = types.find(({ singular, plural, kind }) =>
      [singular, plural, kind.toLowerCase()].includes(type.toLowerCase()),
    )
    if (found === undefined) return []
    const names = await namesOf(client, found, found.namespaced ? (given['namespace'] ?? client.namespace) : undefined)
    return names.map((name) => `${type}/${name}`)
  })
}

async function namesOf(
  client: Client,
  { apiVersion, kind }: Pick<Resource, 'apiVersion' | 'kind'>,
  namespace: string | undefined,
): Promise<string[]> {
  const { items } = await client.list(
    { apiVersion, kind },
    { ...(namespace !== undefined && { namespace }), pageSize: 500 },
  )
  return items.map(({ metadata }) => metadata.name as string)
}

/** Returns all listable resources, by two requests for aggregated discovery. */
async function resources(client: Client): Promise<Resource[]> {
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
  const documents = await Promise.all(['/api', '/apis'].map((path) => client.send({ method: 'GET', path, accept })))
  return documents
    .flatMap((document) => fields(document, 'items'))
    .flatMap((group) => {
      const name = text((group as { metadata?: { name?: JsonValue } }).metadata?.name)
      const [version] = fields(group, 'versions')
      const apiVersion = name === '' ? text(member(version, 'version')) : `${name}/${text(member(version, 'version'))}`
      return fields(version, 'resources').flatMap((resource): Resource[] => {
        const verbs = fields(resource, 'verbs')
        if (!verbs.includes('list')) return []
        return [
          {
            plural: text(member(resource, 'resource')),
            singular: text(member(resource, 'singularResource')),
            apiVersion,
            kind: text(member(member(resource, 'responseKind'), 'kind')),
            namespaced: member(resource, 'scope') === 'Namespaced',
          },
        ]
      })
    })
}

function member(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? value[name] : undefined
}

function fields(value: JsonValue | undefined, name: string): readonly JsonValue[] {
  const list = member(value, name)
  return Array.isArray(list) ? list : []
}

function text(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** Returns what a cluster answers in time; nothing when there is none. */
export function withClient(
  given: Given,
  ask: (client: Client) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  return quietly(async () => {
    const client = await clientFromKubeconfig(given)
    try {
      using _patience = client.clock.timer(patience, () => void client.transport[Symbol.asyncDispose]())
      return await ask(client)
    } finally {
      await client.transport[Symbol.asyncDispose]()
    }
  })
}

async function quietly(ask: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await ask()
  } catch {
    return []
  }
}
