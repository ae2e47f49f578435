// The ground of the commands: objects from files stand for the cluster. What is stamped is what would be applied.
import { longLabelValue } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import type { ClusterHealthRule, Template, TemplateKind } from '../api.ts'
import type { Ground } from '../engine/cluster.ts'
import { evaluateYtt } from '../ytt/ytt-program.ts'
import { pluralOf } from './plural.ts'

/** A {@link Ground} of objects. Keeps what was stamped, in order. */
export class OfflineGround implements Ground {
  readonly now: number
  readonly stamped: KubeObject[] = []
  readonly #objects: readonly KubeObject[]
  readonly #ytt: string | undefined

  /** `objects` are templates, rules of kinds, and stamped objects as they are in some cluster. */
  constructor(objects: readonly KubeObject[], options: { readonly ytt: string | undefined; readonly now: number }) {
    this.#objects = objects
    this.#ytt = options.ytt
    this.now = options.now
  }

  async template(kind: TemplateKind, name: string): Promise<Template | undefined> {
    return this.#objects.find((object) => object.kind === kind && object.metadata.name === name) as Template | undefined
  }

  async healthDefaults(): Promise<readonly ClusterHealthRule[]> {
    return this.#objects.filter(
      ({ kind }) => kind === 'ClusterHealthRule',
    ) as readonly KubeObject[] as readonly ClusterHealthRule[]
  }

  ytt(text: string, context: JsonObject): Promise<JsonValue> {
    return evaluateYtt(text, context, this.#ytt)
  }

  async apply(wanted: KubeObject): Promise<KubeObject> {
    this.stamped.push(wanted)
    const live = this.#objects.find((object) => isSame(object, wanted))
    return live === undefined ? wanted : { ...live, ...wanted, metadata: { ...live.metadata, ...wanted.metadata } }
  }

  async ensureRun(wanted: KubeObject): Promise<KubeObject> {
    return this.apply(wanted)
  }

  async owned(like: KubeObject, labels: Readonly<Record<string, string>>): Promise<readonly KubeObject[]> {
    return this.#objects.filter((object) => {
      const own = object.metadata.labels ?? {}
      const fits = Object.entries(labels).every(([key, value]) => own[key] === longLabelValue(value))
      return fits && object.kind === like.kind && object.apiVersion === like.apiVersion
    })
  }

  async discard(): Promise<void> {}

  async resourceOf({ apiVersion, kind }: KubeObject): Promise<string> {
    const [group] = apiVersion.includes('/') ? apiVersion.split('/') : []
    return group === undefined ? pluralOf(kind) : `${pluralOf(kind)}.${group}`
  }
}

function isSame(object: KubeObject, wanted: KubeObject): boolean {
  const { name, namespace } = object.metadata
  return (
    object.apiVersion === wanted.apiVersion &&
    object.kind === wanted.kind &&
    name === wanted.metadata.name &&
    (namespace ?? '') === (wanted.metadata.namespace ?? '')
  )
}
