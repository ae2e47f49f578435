// The cluster of a timeline case: an embedded server on a fake clock, the controllers of AWS resources on it, and the
// cloud of the case behind them.
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'
import { ResourceControllers } from '@fairlead/aws'
import { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import { FakeClock, asJson, isNotFound } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { repeatableRandom } from '../../../../examples/stage.ts'
import { CaseCloud } from './case-cloud.ts'
import type { CloudTimes } from './case-cloud.ts'
import { arnOf, conditionsOf, group, kindOf, objectOf, pluralOf, region, version } from './case-objects.ts'
import type { CaseObject, CaseTable } from './case-objects.ts'
import { PausableTransport } from './pausable-transport.ts'

/** One reconcile. */
export interface CaseReconcile {
  /** `Kind/namespace/name`. */
  readonly object: string
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** The state that a cluster begins with. */
export interface ClusterInput {
  readonly table: CaseTable
  readonly objects: readonly CaseObject[]
  readonly crossNamespace: boolean
  readonly times: CloudTimes
  /** Kinds that the steps move. */
  readonly unmanaged: readonly string[]
  readonly namespaces: readonly string[]
  /** All kinds. */
  readonly kinds: readonly string[]
}

/** The cluster. */
export class CaseCluster implements AsyncDisposable {
  readonly clock: FakeClock
  readonly cloud: CaseCloud
  readonly reconciles: CaseReconcile[] = []
  readonly transport: PausableTransport
  readonly client: Client
  readonly #server: ApiServer
  readonly #store: Store
  readonly #input: ClusterInput
  #manager: Manager | undefined
  #controllers: ResourceControllers | undefined

  private constructor(clock: FakeClock, server: ApiServer, input: ClusterInput) {
    this.clock = clock
    this.cloud = new CaseCloud(() => clock.now(), input.times)
    this.#server = server
    this.#store = server.store
    this.#input = input
    this.client = server.client({ manager: 'kubectl' })
    this.transport = new PausableTransport(server.transport())
  }

  /** Starts a server with the kinds and objects of a case; no controller runs yet. */
  static async start(input: ClusterInput): Promise<CaseCluster> {
    const clock = new FakeClock('2026-01-02T00:00:00Z')
    const server = await ApiServer.start({ storage: memory(), clock, controllers: ['crd'], random: repeatableRandom() })
    const cluster = new CaseCluster(clock, server, input)
    await cluster.during(installDefinitions(cluster.client, input.kinds.map(definitionOf)))
    for (const name of input.namespaces)
      await cluster.during(cluster.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }))
    for (const object of input.objects) {
      if (object.inAWS === true)
        cluster.cloud.place(object.kind, withResolved(object), object.status ?? {}, resourceArn(object))
      await cluster.#put(objectOf(input.table, object))
    }
    return cluster
  }

  /** Starts the controllers. */
  async startControllers(): Promise<void> {
    const { table, kinds, crossNamespace, unmanaged } = this.#input
    const client = new Client({ transport: this.transport, clock: this.clock, random: repeatableRandom() })
    this.#manager = await this.during(
      Manager.start({
        client,
        setup: (manager) => {
          this.#controllers = new ResourceControllers(manager, {
            kinds: kinds.map((kind) => kindOf(table, kind)),
            resources: (kind, _region, { metadata }) => {
              this.reconciles.push({
                object: `${kind.kind}/${metadata.namespace}/${metadata.name}`,
                at: this.clock.now(),
              })
              return this.cloud.manager(kind.kind)
            },
            settings: { deletionPolicy: 'delete', resync: 36_000_000, region, tags: [] },
            crossNamespace,
            unmanaged,
          })
        },
      }),
    )
    await this.settle()
  }

  /** Lets everything happen that needs no time to pass. */
  async settle(): Promise<void> {
    for (let quiet = 0, revision = -1; quiet < 12; revision = this.#store.revision) {
      await this.clock.advance(0)
      // An object whose write is held up counts as worked on, and once more when it is queued again.
      const busy = (this.#controllers?.busy ?? 0) - 2 * this.transport.paused
      quiet = busy <= 0 && this.#store.revision === revision ? quiet + 1 : 0
    }
  }

  /** Advances to a time, and runs everything that falls due. `then` is called after each step. */
  async passTo(time: number, then: () => Promise<void>): Promise<void> {
    while (this.clock.now() < time) {
      const left = time - this.clock.now()
      await this.clock.advance(Math.max(1, Math.min(left, this.clock.untilNext() ?? left)))
      await this.settle()
      await then()
    }
  }

  /** Returns an object by `Kind/namespace/name`; undefined when there is none. */
  async object(ref: string): Promise<KubeObject | undefined> {
    const [kind = '', namespace = '', name = ''] = ref.split('/')
    try {
      return await this.client.get({ apiVersion: `${group}/${version}`, kind }, { namespace, name })
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }

  /** Returns the objects of all kinds. */
  async objects(): Promise<readonly KubeObject[]> {
    const found: KubeObject[] = []
    for (const kind of this.#input.kinds) {
      const { entries } = await this.#store.list(`${pluralOf(kind)}.${group}`)
      found.push(...entries.map(({ object }) => object as unknown as KubeObject))
    }
    return found
  }

  /** Applies a spec, and the synced condition at the new generation where the steps move the object. */
  async apply(ref: string, spec: JsonObject, synced: string | undefined): Promise<void> {
    const [kind = '', namespace = '', name = ''] = ref.split('/')
    const object = { apiVersion: `${group}/${version}`, kind, metadata: { namespace, name }, spec } as KubeObject
    await this.during(this.client.apply(object, { force: true }))
    if (synced !== undefined) await this.setStatus(ref, synced, undefined)
  }

  /** Sets the synced condition for the present generation, and merges a status. */
  async setStatus(ref: string, synced: string | undefined, status: JsonObject | undefined): Promise<void> {
    const found = await this.object(ref)
    if (found === undefined) throw new Error(`there is no ${ref}`)
    const conditions = synced === undefined ? {} : { conditions: conditionsOf({ synced }, found.metadata.generation) }
    const { namespace = '', name = '' } = found.metadata
    const merge = { status: { ...status, ...conditions } } as JsonObject
    await this.during(this.client.patch(found, { namespace, name }, { merge }, { subresource: 'status' }))
  }

  /** Changes an annotation, so that the object is reconciled. */
  async touch(ref: string): Promise<void> {
    const [kind = '', namespace = '', name = ''] = ref.split('/')
    const merge: JsonObject = { metadata: { annotations: { 'case.fairlead.dev/touched': String(this.clock.now()) } } }
    await this.during(this.client.patch({ apiVersion: `${group}/${version}`, kind }, { namespace, name }, { merge }))
  }

  async delete(ref: string): Promise<void> {
    const [kind = '', namespace = '', name = ''] = ref.split('/')
    await this.during(this.client.delete({ apiVersion: `${group}/${version}`, kind }, { namespace, name }))
  }

  async removeKind(kind: string): Promise<void> {
    await this.during(this.client.delete(definitionOf(kind), { namespace: '', name: `${pluralOf(kind)}.${group}` }))
  }

  async installKind(kind: string): Promise<void> {
    await this.during(installDefinitions(this.client, [definitionOf(kind)]))
  }

  /** Lets timers that are due fire while something is awaited. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    for (let steps = 0; !isDone; steps++) {
      if (steps > 20_000) throw new Error('It did not end in time')
      await this.clock.advance(0)
    }
    return done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.transport.resume()
    this.#controllers?.[Symbol.dispose]()
    const stopping = this.#manager?.stop()
    await this.clock.advance(60_000)
    await stopping
    await this.#server[Symbol.asyncDispose]()
  }

  async #put(object: KubeObject): Promise<void> {
    const { namespace, name } = object.metadata
    await this.#store.write({
      resource: `${pluralOf(object.kind)}.${group}`,
      key: `${namespace}/${name}`,
      expected: 0,
      object: asJson({
        ...object,
        metadata: { ...object.metadata, creationTimestamp: '2026-01-01T00:00:00Z' },
      }),
    })
  }
}

/** Returns the spec that a resource was created with. */
function withResolved({ spec, resolvedReferences = {} }: CaseObject): JsonObject {
  const copy = structuredClone(spec) as JsonObject
  for (const [path, value] of Object.entries(resolvedReferences)) {
    const steps = path.split(/[.[\]]+/).filter((one) => one !== '')
    let at = copy as unknown as Record<string, unknown>
    for (const step of steps.slice(0, -1)) at = at[step] as Record<string, unknown>
    at[steps.at(-1) as string] = value
  }
  return copy
}

function resourceArn(object: CaseObject): string {
  const metadata = object.status?.['ackResourceMetadata'] as { readonly arn?: string } | undefined
  return metadata?.arn ?? arnOf(object)
}

function definitionOf(kind: string): KubeObject {
  const plural = pluralOf(kind)
  const any = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: any, status: any } } },
        },
      ],
    },
  } as unknown as KubeObject
}
