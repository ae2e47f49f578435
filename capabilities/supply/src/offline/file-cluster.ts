// The Cluster port over files: manifests in place of a cluster. Nothing is written; what would be applied is recorded.
import { longLabelValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Template, TemplateKind } from '../api.ts'
import type { Cluster } from '../engine/cluster.ts'
import { renderYtt } from '../ytt/ytt-program.ts'
import { pluralOf } from './plural.ts'

/** A {@link Cluster} of manifests. */
export class FileCluster implements Cluster {
  readonly now: number
  /** The objects that would be applied, in order. */
  readonly stamped: KubeObject[] = []
  readonly #objects: readonly KubeObject[]
  readonly #ytt: string | undefined

  /** `objects` are templates, ClusterHealthRules, and stamped objects with the status that they have in some cluster. */
  constructor(objects: readonly KubeObject[], options: { readonly ytt: string | undefined; readonly now: number }) {
    this.#objects = objects
    this.#ytt = options.ytt
    this.now = options.now
  }

  async template(kind: TemplateKind, name: string): Promise<Template | undefined> {
    return this.#objects.find((object): object is Template => object.kind === kind && object.metadata.name === name)
  }

  async clusterHealthRules(): Promise<readonly ClusterHealthRule[]> {
    return this.#objects.filter((object): object is ClusterHealthRule => object.kind === 'ClusterHealthRule')
  }

  renderYtt(template: string, context: JsonObject): Promise<JsonValue> {
    return renderYtt(template, context, this.#ytt)
  }

  async apply(desired: KubeObject): Promise<KubeObject> {
    this.stamped.push(desired)
    const live = this.#objects.find((object) => isSame(object, desired))
    return live === undefined ? desired : { ...live, ...desired, metadata: { ...live.metadata, ...desired.metadata } }
  }

  async ensureRun(desired: KubeObject): Promise<KubeObject> {
    return this.apply(desired)
  }

  async ownedObjects(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
    return this.#objects.filter((object) => {
      const own = object.metadata.labels ?? {}
      const matches = Object.entries(labels).every(([key, value]) => own[key] === longLabelValue(value))
      return matches && object.kind === like.kind && object.apiVersion === like.apiVersion
    })
  }

  async deleteRun(): Promise<void> {}

  async groupResourceOf({ apiVersion, kind }: KubeObject): Promise<string> {
    const [group] = apiVersion.includes('/') ? apiVersion.split('/') : []
    return group === undefined ? pluralOf(kind) : `${pluralOf(kind)}.${group}`
  }
}

function isSame(object: KubeObject, desired: KubeObject): boolean {
  const { name, namespace } = object.metadata
  return (
    object.apiVersion === desired.apiVersion &&
    object.kind === desired.kind &&
    name === desired.metadata.name &&
    (namespace ?? '') === (desired.metadata.namespace ?? '')
  )
}
