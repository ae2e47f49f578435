// A cluster with N inputs and one MapController that measures calls, bytes, requests by verb, times and CPU.
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Client, systemClock } from '@fairlead/client'
import type { ApiRequest, Transport } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { MapControllers, crds } from '@fairlead/metacontroller'

/** The calls that the hook got. */
export interface HookCounts {
  readonly calls: number
  /** Bytes of request bodies. */
  readonly bytes: number
}

/** The cost of an operation. */
export interface Cost extends HookCounts {
  /** Requests of the controller that change outputs, without those of status and events. */
  readonly writes: number
  /** GETs of single objects. */
  readonly gets: number
  /** CPU seconds of the process that holds server and controller. */
  readonly cpu: number
}

const copies = { apiVersion: 'bench.fairlead.dev/v1', kind: 'Copy' }

/** The cluster. */
export class MeasuredCluster implements AsyncDisposable {
  readonly server: ApiServer
  readonly #hook: ChildProcess
  readonly #port: number
  readonly #requests = { writes: 0, gets: 0 }
  #manager: Manager | undefined
  #controllers: MapControllers | undefined
  #cpu = process.cpuUsage()

  private constructor(server: ApiServer, hook: ChildProcess, port: number) {
    this.server = server
    this.#hook = hook
    this.#port = port
  }

  /** Starts a server with a parent and `inputs` inputs of 0.6 KB, and a hook with a delay in milliseconds. */
  static async start(inputs: number, hookDelay: number): Promise<MeasuredCluster> {
    const server = await ApiServer.start({ storage: memory(), controllers: ['crd'] })
    const hook = fork(fileURLToPath(new URL('hook-process.ts', import.meta.url)), [String(hookDelay)])
    const { port } = await messageOf<{ port: number }>(hook)
    const cluster = new MeasuredCluster(server, hook, port)
    const client = server.client()
    await installDefinitions(client, [...crds, definition('Copy', 'copies'), definition('Policy', 'policies')])
    await client.create({
      apiVersion: 'bench.fairlead.dev/v1',
      kind: 'Policy',
      metadata: { name: 'all', namespace: 'default' },
      spec: { selector: { matchLabels: { bench: 'map' } } },
    } as KubeObject)
    for (let first = 0; first < inputs; first += 500) {
      await Promise.all(
        Array.from({ length: Math.min(500, inputs - first) }, (_, index) => client.create(input(first + index, 0))),
      )
    }
    return cluster
  }

  /** Starts the controller. */
  async startController(): Promise<void> {
    const client = new Client({ transport: counting(this.server.transport(), this.#requests) })
    this.#manager = await Manager.start({
      client,
      setup: (manager) => {
        this.#controllers = new MapControllers(manager, { resolve: new Map() })
      },
    })
    const admin = this.server.client()
    const isThere = await admin.find({ apiVersion: 'metacontroller.k8s.io/v1alpha1', kind: 'MapController' }, 'bench')
    if (isThere === undefined) await admin.create(controller(this.#port))
    while (this.#controllers?.run('bench')?.isStarted !== true) await systemClock.sleep(1)
  }

  /** Stops the controller, as a restart does. */
  async stopController(): Promise<void> {
    await this.#controllers?.stop()
    await this.#manager?.stop()
  }

  /** Groups whose first call after the start is still to come. */
  get firstRound(): number {
    return this.#controllers?.run('bench')?.firstRound ?? 0
  }

  /** Changes inputs at once. Resolves with the milliseconds from the first change to the last write of an output. */
  async change(numbers: readonly number[], version: number): Promise<number> {
    const client = this.server.client()
    const started = performance.now()
    const done = this.outputsWritten(numbers.length)
    await Promise.all(
      numbers.map((number) =>
        client.patch({ apiVersion: 'v1', kind: 'ConfigMap' }, `default/${nameOf(number)}`, {
          merge: { data: { version: String(version) } },
        }),
      ),
    )
    return (await done) - started
  }

  /** Resolves with the time of the n-th write of an output from now on. */
  outputsWritten(count: number): Promise<number> {
    return new Promise((resolve) => {
      let left = count
      const watch = this.server.store.watchAll(({ type, entry }) => {
        if (type !== 'put' || entry.resource !== 'copies.bench.fairlead.dev' || --left > 0) return
        watch[Symbol.dispose]()
        resolve(performance.now())
      })
    })
  }

  /** Resolves when nothing is queued. */
  async quiet(): Promise<void> {
    for (let calm = 0; calm < 10; calm = (this.#controllers?.busy ?? 0) === 0 ? calm + 1 : 0)
      await systemClock.sleep(20)
  }

  /** Returns the cost since the last {@link MeasuredCluster.reset}. */
  async cost(): Promise<Cost> {
    this.#hook.send('counts')
    const { counts } = await messageOf<{ counts: HookCounts }>(this.#hook)
    const { user, system } = process.cpuUsage(this.#cpu)
    return { ...counts, ...this.#requests, cpu: (user + system) / 1e6 }
  }

  /** Resets all counts. */
  async reset(): Promise<void> {
    this.#hook.send('reset')
    await messageOf(this.#hook)
    Object.assign(this.#requests, { writes: 0, gets: 0 })
    this.#cpu = process.cpuUsage()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopController()
    this.#hook.disconnect()
    await this.server[Symbol.asyncDispose]()
  }
}

function messageOf<T>(hook: ChildProcess): Promise<T> {
  return new Promise((resolve) => hook.once('message', (message) => resolve(message as T)))
}

/** Counts requests of the controller: writes of outputs, and reads of single objects. */
function counting(inner: Transport, requests: { writes: number; gets: number }): Transport {
  return {
    address: inner.address,
    request: (request) => {
      count(request, requests)
      return inner.request(request)
    },
    watch: (request) => inner.watch(request),
    as: (who) => counting(inner.as(who), requests),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}

function count({ method, path }: ApiRequest, requests: { writes: number; gets: number }): void {
  const isOutput = path.includes('/copies/')
  if (method !== 'GET' && isOutput) requests.writes++
  if (method === 'GET' && (isOutput || path.includes('/configmaps/') || path.includes('/policies/'))) requests.gets++
}

function nameOf(number: number): string {
  return `input-${number}`
}

function input(number: number, version: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: nameOf(number), namespace: 'default', labels: { bench: 'map' } },
    data: { version: String(version), text: 'x'.repeat(400) },
  }
}

function controller(port: number): KubeObject {
  const { apiVersion } = copies
  return {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'MapController',
    metadata: { name: 'bench' },
    spec: {
      parentResource: { apiVersion, resource: 'policies' },
      inputResources: [{ apiVersion: 'v1', resource: 'configmaps' }],
      outputResources: [{ apiVersion, resource: 'copies', updateStrategy: { method: 'InPlace' } }],
      hooks: { map: { webhook: { url: `http://127.0.0.1:${port}/map` } } },
    } satisfies JsonObject,
  }
}

function definition(kind: string, plural: string): KubeObject {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const version = { name: 'v1', served: true, storage: true, schema, subresources: { status: {} } }
  const spec = {
    group: 'bench.fairlead.dev',
    scope: 'Namespaced',
    names: { kind, plural, singular: kind.toLowerCase() },
    versions: [version],
  }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.bench.fairlead.dev` },
    spec,
  }
}
