// The Cluster port over manifests in place of a cluster. Nothing is written; what would be applied is recorded.
import { longLabelValue, parseApiVersion } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Owner, OwnerKind, Template, TemplateKind } from '../api.ts'
import type { Cluster } from '../engine/cluster.ts'
import { ownerLabel, stampLabel } from '../engine/templates/stamp.ts'
import type { Ytt } from '../ytt/ytt.ts'
import type { ManifestIndex } from './manifest-index.ts'

/** Options that the owners of one command share. */
export interface FileClusterOptions {
  readonly ytt: Ytt
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** The {@link Cluster} of one owner among manifests. */
export class FileCluster implements Cluster {
  readonly now: number
  /** The objects that would be applied, in order. */
  readonly stamped: KubeObject[] = []
  readonly #owner: Owner
  readonly #manifests: ManifestIndex
  readonly #ytt: Ytt

  /**
   * `manifests` has templates, ClusterHealthRules, and stamped objects with the status that they have in some cluster.
   */
  constructor(owner: Owner, manifests: ManifestIndex, { ytt, now }: FileClusterOptions) {
    this.#owner = owner
    this.#manifests = manifests
    this.#ytt = ytt
    this.now = now
  }

  async template(kind: TemplateKind, name: string): Promise<Template | undefined> {
    return this.#manifests.own<Template>(kind).find(({ metadata }) => metadata.name === name)
  }

  async clusterHealthRules(): Promise<readonly ClusterHealthRule[]> {
    return this.#manifests.own<ClusterHealthRule>('ClusterHealthRule')
  }

  renderYtt(template: string, context: JsonObject): Promise<JsonValue> {
    return this.#ytt.render(template, context)
  }

  async apply(desired: KubeObject): Promise<KubeObject> {
    this.stamped.push(desired)
    const live = this.#manifests.get(desired)
    return live === undefined ? desired : { ...live, ...desired, metadata: { ...live.metadata, ...desired.metadata } }
  }

  async ensureRun(desired: KubeObject): Promise<KubeObject> {
    return this.apply(desired)
  }

  async ownedObjects(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
    const { kind, metadata } = this.#owner
    // Owners in manifests have no uid to compare with the owner references of stamped objects; every stamped object has
    // this label.
    const expected = { ...labels, [ownerLabel(kind as OwnerKind)]: longLabelValue(metadata.name ?? '') }
    return this.#manifests
      .list(like)
      .filter(
        (object) =>
          (object.metadata.namespace ?? '') === (metadata.namespace ?? '') &&
          Object.entries(expected).every(([key, value]) => object.metadata.labels?.[key] === value),
      )
  }

  async stampedEarlier(resource: string): Promise<KubeObject | undefined> {
    const { kind, metadata } = this.#owner
    return this.#manifests.labelled({
      [ownerLabel(kind as OwnerKind)]: longLabelValue(metadata.name ?? ''),
      [`carto.run/${kind.toLowerCase()}-namespace`]: longLabelValue(metadata.namespace ?? ''),
      [stampLabel.resource]: longLabelValue(resource),
    })
  }

  async deleteRun(): Promise<void> {}

  async groupResourceOf({ apiVersion, kind }: KubeObject): Promise<string> {
    const { group } = parseApiVersion(apiVersion)
    const plural = this.#manifests.pluralOf({ apiVersion, kind })
    return group === '' ? plural : `${plural}.${group}`
  }
}
