// A cluster for tests of the AWS controllers: the embedded server with RBAC, the capability under an account with its own
// rules, and a fake AWS over HTTP; all on one fake clock.
import { ApiServer, memory } from '@fairlead/apiserver'
import { aws } from '@fairlead/aws'
import { FakeAws, FakeAwsServer } from '@fairlead/aws/fake'
import { Client } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import { FakeClock, findCondition } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { references } from '@fairlead/references'
import { vi } from 'vitest'
import { eventually } from '../../../test/support/until.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
const name = 'fairlead-aws'
const account = { kind: 'ServiceAccount', name, namespace: 'fairlead-system' }
const iam = 'iam.services.k8s.aws/v1alpha1'
const sagemaker = 'sagemaker.services.k8s.aws/v1alpha1'

/** apiVersion and kind of each kind. */
export const kinds = {
  Policy: { apiVersion: iam, kind: 'Policy' },
  Role: { apiVersion: iam, kind: 'Role' },
  Model: { apiVersion: sagemaker, kind: 'Model' },
  EndpointConfig: { apiVersion: sagemaker, kind: 'EndpointConfig' },
  Endpoint: { apiVersion: sagemaker, kind: 'Endpoint' },
} as const

/** Kinds of the tests. */
export type StageKind = keyof typeof kinds

/** Options of a stage. */
export interface StageOptions {
  readonly namespaces?: readonly string[]
  /** True when left out: references may cross namespaces. */
  readonly isEmbedded?: boolean
  /** Settings of the process. */
  readonly settings?: Readonly<Record<string, string>>
  /** Base URL of another AWS than the fake. */
  readonly endpoint?: string
  /** Wraps the controllers' way to the server. */
  readonly transport?: (inner: Transport) => Transport
}

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly clock: FakeClock
  readonly server: ApiServer
  /** An administrator. */
  readonly client: Client
  readonly aws: FakeAws
  readonly #fake: FakeAwsServer
  readonly #options: StageOptions
  #stop: (() => Promise<void>) | undefined

  private constructor(clock: FakeClock, server: ApiServer, fake: FakeAwsServer, options: StageOptions) {
    this.clock = clock
    this.server = server
    this.aws = fake.aws
    this.#fake = fake
    this.#options = options
    this.client = server.client({ manager: 'kubectl' })
  }

  /** Starts a cluster with running controllers. */
  static async start(options: StageOptions = {}): Promise<Stage> {
    const clock = new FakeClock('2026-01-02T00:00:00Z')
    const fake = await FakeAwsServer.start(new FakeAws({ clock }))
    const server = await ApiServer.start({ storage: memory(), clock, authorization: 'RBAC' })
    const stage = new Stage(clock, server, fake, options)
    await stage.during(installDefinitions(stage.client, [...references.crds, ...aws.crds]))
    for (const object of [...identity(), ...(options.namespaces ?? []).map(namespaceObject)])
      await stage.during(stage.client.apply(object))
    await stage.startControllers()
    return stage
  }

  /** Starts the controllers, as a process that starts does. */
  async startControllers(): Promise<void> {
    const user = {
      name: `system:serviceaccount:${account.namespace}:${account.name}`,
      groups: ['system:serviceaccounts', 'system:authenticated'],
    }
    const { endpoint = this.#fake.url, isEmbedded = true, settings, transport = (inner) => inner } = this.#options
    // Nothing of the machine's own environment may reach AWS.
    for (const variable of ['AWS_PROFILE', 'AWS_ACCESS_KEY_ID', 'AWS_REGION', 'AWS_DEFAULT_REGION'])
      vi.stubEnv(variable, undefined)
    vi.stubEnv('AWS_ENDPOINT_URL', endpoint)
    const own = this.server.client({ as: user })
    const client = new Client({ transport: transport(own.transport), clock: this.clock, random: own.random })
    const options = {
      resolve: new Map<string, string>(),
      signal: new AbortController().signal,
      isEmbedded,
      settings: new Map(Object.entries(settings ?? {})),
    }
    let stop: (() => Promise<void>) | undefined
    const manager = await this.during(
      Manager.start({
        client,
        setup: async (starting) => {
          const instance = await aws.setup(starting, options)
          stop = () => instance.stop()
        },
      }),
    )
    this.#stop = async () => {
      await stop?.()
      const stopping = manager.stop(1)
      await this.during(stopping)
    }
  }

  /** Stops the controllers, as a process that ends does. */
  async stopControllers(): Promise<void> {
    await this.#stop?.()
    this.#stop = undefined
  }

  /** Applies objects in order. */
  async apply(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.during(this.client.apply(object, { force: true }))
  }

  /** Lets time pass, a second at a time, until a check holds. */
  async until<T>(check: () => T | Promise<T>, step: number = 1000): Promise<T> {
    return eventually(async () => {
      await this.clock.advance(step)
      return check()
    })
  }

  /** Returns an object. */
  object(kind: StageKind, key: string): Promise<KubeObject> {
    return this.client.get(kinds[kind], key)
  }

  /** Returns a condition of an object. */
  async condition(kind: StageKind, key: string, type: string): Promise<Condition | undefined> {
    const { status } = await this.object(kind, key)
    return findCondition((status as { conditions?: readonly Condition[] } | undefined)?.conditions, type)
  }

  /** Returns the names of calls that changed something and succeeded, in order. */
  writes(): readonly string[] {
    return this.aws.calls
      .filter(({ operation, error }) => error === undefined && !/^(?:Get|List|Describe)/.test(operation))
      .map(({ operation }) => operation)
  }

  /** Returns the calls that failed, but for those that found nothing. */
  failed(): readonly string[] {
    return this.aws.calls
      .filter(({ operation, error }) => error !== undefined && !/^(?:Get|Describe)/.test(operation))
      .map(({ operation, error }) => `${operation} ${error}`)
  }

  /** Lets timers that are due fire while something is awaited. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    while (!isDone) await this.clock.advance(1)
    return done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopControllers()
    vi.unstubAllEnvs()
    await this.#fake[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

function namespaceObject(namespace: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }
}

function identity(): readonly KubeObject[] {
  return [
    { apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules: aws.rules },
    {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [account],
    },
  ] as unknown as readonly KubeObject[]
}

/** Returns an object of a kind. */
export function made(
  kind: StageKind,
  key: string,
  spec: JsonObject,
  annotations: Readonly<Record<string, string>> = {},
): KubeObject {
  const [namespace = '', objectName = ''] = key.split('/')
  return { ...kinds[kind], metadata: { namespace, name: objectName, annotations }, spec } as KubeObject
}
