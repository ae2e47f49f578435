// Looks up the owner of an owner reference. The informers prove that it exists; only a live GET proves that it does
// not.
import { kind as kindNamed } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import { parseApiVersion } from '@fairlead/kube'
import type { KubeObject, OwnerReference } from '@fairlead/kube'
import type { AllResourcesInformer, ResourceSource } from '../all-resources-informer.ts'
import { foregroundFinalizer, waitsWith } from './owner-graph.ts'
import type { GraphNode, OwnerGraph } from './owner-graph.ts'

/**
 * The state of an owner:
 * - `solid`: it exists; the dependent stays.
 * - `waiting`: it exists and is in foreground deletion: the dependent is deleted first.
 * - `absent`: it certainly does not exist.
 * - `unknown`: its kind is not served or not synced; nothing is decided from it (design decision 7).
 * - `misplaced`: the reference is never valid: a cluster-scoped object cannot have a namespaced owner.
 */
export type OwnerState = 'solid' | 'waiting' | 'absent' | 'unknown' | 'misplaced'

/** Maximum number of cached absent owners; uids are never reused. */
const maxRemembered = 1000

/** Looks up owners. */
export class OwnerLookup {
  readonly #graph: OwnerGraph
  readonly #resources: ResourceSource
  readonly #allResources: AllResourcesInformer
  readonly #absent = new Set<string>()

  constructor(graph: OwnerGraph, resources: ResourceSource, allResources: AllResourcesInformer) {
    this.#graph = graph
    this.#resources = resources
    this.#allResources = allResources
  }

  /** Returns the state of the owner of a reference. Throws the errors of the server. */
  async stateOf(dependent: KubeObject, reference: OwnerReference, client: Client): Promise<OwnerState> {
    const kind = this.kindOf(reference)
    if (kind === undefined) return 'unknown'
    const { namespace = '' } = dependent.metadata
    if (namespace === '' && kind.namespaced === true) return 'misplaced'
    const key = { namespace: kind.namespaced === true ? namespace : '', name: reference.name }
    const known = this.#graph.node(reference.uid)
    if (known !== undefined && isAt(known, kind, key)) return presence(known.object)
    if (this.#allResources.isUnsynced(kind)) return 'unknown'
    const id = [reference.uid, kind.group, kind.kind, key.namespace, key.name].join('|')
    if (this.#absent.has(id)) return 'absent'
    const owner = await client.find(kind, key)
    if (owner?.metadata.uid === reference.uid) return presence(owner)
    this.#remember(id)
    return 'absent'
  }

  /** Returns the kind of a reference, if it is served. */
  kindOf(reference: OwnerReference): Kind | undefined {
    const { group, version } = parseApiVersion(reference.apiVersion)
    for (const definition of this.#resources.definitions) {
      if (definition.group !== group || definition.kind !== reference.kind) continue
      const served = definition.versions.find((candidate) => candidate.name === version)
      if (served?.served !== true || !served.verbs.includes('get')) continue
      return kindNamed(reference.apiVersion, reference.kind, {
        plural: definition.plural,
        namespaced: definition.namespaced,
      })
    }
    return undefined
  }

  #remember(id: string): void {
    this.#absent.add(id)
    const oldest = this.#absent.values().next().value
    if (this.#absent.size > maxRemembered && oldest !== undefined) this.#absent.delete(oldest)
  }
}

function presence(owner: KubeObject): OwnerState {
  return waitsWith(owner, foregroundFinalizer) ? 'waiting' : 'solid'
}

function isAt(
  { kind, object }: GraphNode,
  wanted: Kind,
  key: { readonly namespace: string; readonly name: string },
): boolean {
  const { namespace = '', name } = object.metadata
  return kind.group === wanted.group && kind.kind === wanted.kind && name === key.name && namespace === key.namespace
}
