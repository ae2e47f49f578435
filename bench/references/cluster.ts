// The measured clusters: the AWS controllers beside a fake AWS over HTTP on one fake clock, and ReferenceRules on real
// time. Server and controllers share this process.
import { ApiServer, memory } from '@fairlead/apiserver'
import { ResourceControllers, aws, resourceKinds } from '@fairlead/aws'
import { FakeAws, FakeAwsServer } from '@fairlead/aws/fake'
import type { Fields } from '@fairlead/aws/fake'
import { SdkApi, managerFor } from '@fairlead/aws/services'
import type { ServiceName } from '@fairlead/aws/services'
import { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import { FakeClock, findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { references } from '@fairlead/references'

const region = 'us-east-1'

/** A fake AWS that notes the real time of each call. */
class TimedAws extends FakeAws {
  /** Called with each operation and its input. */
  onCall: ((operation: string, input: Fields) => void) | undefined

  override call(service: string, at: string, operation: string, input: Fields): Promise<Fields> {
    this.onCall?.(operation, input)
    return super.call(service, at, operation, input)
  }
}

/** Options of {@link AwsCluster.start}. */
export interface AwsClusterOptions {
  /** Kinds whose status the benchmark writes. */
  readonly unmanaged?: readonly string[]
  /** Milliseconds until a resource is read again. */
  readonly resync?: number
}

/** The cluster of the AWS controllers. */
export class AwsCluster implements AsyncDisposable {
  readonly clock: FakeClock
  readonly client: Client
  readonly aws: TimedAws
  readonly #server: ApiServer
  readonly #fake: FakeAwsServer
  readonly #apis = new Map<ServiceName, SdkApi>()
  #manager: Manager | undefined
  #controllers: ResourceControllers | undefined

  private constructor(clock: FakeClock, server: ApiServer, aws: TimedAws, fake: FakeAwsServer) {
    this.clock = clock
    this.client = server.client({ manager: 'kubectl' })
    this.aws = aws
    this.#server = server
    this.#fake = fake
  }

  /** Starts a cluster with running controllers. */
  static async start({ unmanaged = [], resync = 36_000_000 }: AwsClusterOptions = {}): Promise<AwsCluster> {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    const timed = new TimedAws({ clock })
    const server = await ApiServer.start({ storage: memory(), clock, controllers: ['crd'] })
    const cluster = new AwsCluster(clock, server, timed, await FakeAwsServer.start(timed))
    await cluster.during(installDefinitions(cluster.client, [...references.crds, ...aws.crds]))
    const client = new Client({ transport: server.transport(), clock })
    const settings = { deletionPolicy: 'delete', resync, region, tags: [] } as const
    cluster.#manager = await cluster.during(
      Manager.start({
        client,
        setup: async (manager) => {
          cluster.#controllers = new ResourceControllers(manager, {
            kinds: resourceKinds,
            unmanaged,
            resources: (kind) => managerFor(kind, (service) => cluster.#api(service)),
            settings,
            crossNamespace: false,
          })
        },
      }),
    )
    return cluster
  }

  /** Lets timers that are due fire while something is awaited. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    while (!isDone) await this.clock.advance(1)
    return done
  }

  /** Lets time pass, a step at a time, until a check holds. */
  async until(holds: () => boolean | Promise<boolean>, step = 1): Promise<void> {
    while (!(await holds())) await this.clock.advance(step)
  }

  /** Resolves when no object is queued or worked on. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < 200; calm = this.#controllers?.busy === 0 ? calm + 1 : 0) await this.clock.advance(1)
  }

  /** Makes an object ready, as the controller of another process would, with an ARN. */
  async makeReady(object: KubeObject, arn: string): Promise<void> {
    const { namespace = '', name = '', generation = 1 } = object.metadata
    const found: Condition = { type: 'ACK.ResourceSynced', status: 'True', reason: 'Synced', message: '' }
    const conditions = [{ ...found, observedGeneration: generation, lastTransitionTime: '2026-01-01T00:00:00Z' }]
    const ackResourceMetadata = { arn, region, ownerAccountID: '123456789012' }
    await this.client.patch(
      object,
      `${namespace}/${name}`,
      { merge: { status: { ackResourceMetadata, conditions } as never } },
      { subresource: 'status' },
    )
  }

  /** Reports whether an object is synced. */
  async isSynced(object: KubeObject): Promise<boolean> {
    const { namespace = '', name = '' } = object.metadata
    const { status } = await this.client.get(object, `${namespace}/${name}`)
    const conditions = (status as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? []
    return findCondition(conditions, 'ACK.ResourceSynced')?.status === 'True'
  }

  /** Returns the calls of the log that failed, but for those that found nothing. */
  failed(): readonly string[] {
    return this.aws.calls.flatMap(({ operation, error }) =>
      error === undefined || /^(?:Get|Describe|List)/.test(operation) ? [] : [`${operation} ${error}`],
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#controllers?.[Symbol.dispose]()
    const stopping = this.#manager?.stop(1)
    if (stopping !== undefined) await this.during(stopping)
    for (const api of this.#apis.values()) api[Symbol.dispose]()
    await this.#fake[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }

  #api(service: ServiceName): SdkApi {
    const known = this.#apis.get(service)
    if (known !== undefined) return known
    const credentials = { accessKeyId: 'bench', secretAccessKey: 'bench' }
    const api = new SdkApi(service, { endpoint: this.#fake.url, credentials, region })
    this.#apis.set(service, api)
    return api
  }
}
