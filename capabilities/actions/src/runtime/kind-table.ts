// Kinds by the names that kubectl accepts: `pods`, `po`, `Pod`, `deployments.apps`, `deployments.v1.apps`.
import type { Client } from '@fairlead/client'
import type { JsonObject } from '@fairlead/kube'
import type { ResourceKind } from '../engine/cluster.ts'

interface Named extends ResourceKind {
  readonly names: readonly string[]
}

/**
 * Minimum milliseconds between two discovery requests when names are unknown: clients may repeat a name that does not
 * exist.
 */
const rediscoveryInterval = 5000

/** Kinds from discovery, read once, and again when a name is unknown. */
export class KindTable {
  readonly #client: Client
  #kinds: Promise<readonly Named[]> | undefined
  #discoveredAt = 0

  constructor(client: Client) {
    this.#client = client
  }

  /** Forgets the kinds: the server serves others now. */
  reset(): void {
    this.#kinds = undefined
  }

  /**
   * Returns the kind of a name, as kubectl does: from the core group if it is there, else from the first group in the
   * order of discovery, in its preferred version.
   */
  async kindOf(type: string): Promise<ResourceKind | undefined> {
    const [name = '', ...rest] = type.toLowerCase().split('.')
    const found = pick(await this.#load(), name, rest)
    if (found !== undefined || this.#client.clock.monotonic() - this.#discoveredAt < rediscoveryInterval) return found
    this.#kinds = undefined
    return pick(await this.#load(), name, rest)
  }

  #load(): Promise<readonly Named[]> {
    if (this.#kinds === undefined) {
      this.#discoveredAt = this.#client.clock.monotonic()
      const loading = this.#discover()
      this.#kinds = loading
      loading.catch(() => {
        if (this.#kinds === loading) this.#kinds = undefined
      })
    }
    return this.#kinds
  }

  async #discover(): Promise<readonly Named[]> {
    const groups = (await this.#client.send({ method: 'GET', path: '/apis' })) as unknown as {
      groups?: readonly {
        preferredVersion: { groupVersion: string }
        versions?: readonly { groupVersion: string }[]
      }[]
    }
    const preferred = (groups.groups ?? []).map(({ preferredVersion }) => preferredVersion.groupVersion)
    const others = (groups.groups ?? []).flatMap(({ versions: all = [] }) =>
      all.map(({ groupVersion }) => groupVersion),
    )
    const versions = new Set(['v1', ...preferred, ...others])
    return (await Promise.all([...versions].map((apiVersion) => this.#resources(apiVersion)))).flat()
  }

  async #resources(apiVersion: string): Promise<readonly Named[]> {
    const path = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`
    const { status, body } = await this.#client.sendRaw({ method: 'GET', path })
    if (status !== 200) return []
    const { resources = [] } = body as JsonObject as unknown as { resources?: readonly WireResource[] }
    return resources
      .filter(({ name, verbs = [] }) => !name.includes('/') && verbs.includes('get'))
      .map(({ name, kind, singularName = '', shortNames = [], namespaced }) => ({
        apiVersion,
        kind,
        group: apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '',
        plural: name,
        namespaced,
        names: [name, kind.toLowerCase(), singularName, ...shortNames],
      }))
  }
}

interface WireResource {
  readonly name: string
  readonly kind: string
  readonly singularName?: string
  readonly shortNames?: readonly string[]
  readonly namespaced: boolean
  readonly verbs?: readonly string[]
}

function pick(kinds: readonly Named[], name: string, rest: readonly string[]): Named | undefined {
  const group = rest.join('.')
  const [version = '', ...groupOfVersion] = rest
  return kinds.find(
    (kind) =>
      kind.names.includes(name) &&
      (group === '' ||
        kind.group === group ||
        (kind.apiVersion.endsWith(`/${version}`) && kind.group === groupOfVersion.join('.')) ||
        (kind.group === '' && group === kind.apiVersion)),
  )
}
