// A server over HTTPS with one CompositeController, a hook and a driver; counts hook calls and the driver's writes.
import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiServer, memory } from '@fairlead/apiserver'
import { systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { crds } from '@fairlead/metacontroller'
import { crd } from '../../test/support/crd.ts'
import { Driver } from './driver.ts'
import type { DriverName } from './driver.ts'
import type { ParentSpec } from './hook-process.ts'

/** The calls that the hook got. */
export interface HookCounts {
  readonly calls: number
  /** Bytes of request bodies. */
  readonly bytes: number
}

const group = 'bench.fairlead.dev'
const apiVersion = `${group}/v1`
const Fleet = { apiVersion, kind: 'Fleet' }
const Boat = { apiVersion, kind: 'Boat' }

/** Milliseconds without a call or a write after which nothing more is expected. */
const quietMs = 1500
/** Resources whose writes are not counted: reports on the work. */
const reports = new Set([
  'events',
  'compositecontrollers',
  'leases',
  'subjectaccessreviews',
  'selfsubjectaccessreviews',
])

/** The cluster. */
export class Cluster implements AsyncDisposable {
  readonly client: Client
  driver: Driver | undefined
  readonly #server: ApiServer
  readonly #hook: ChildProcess
  readonly #port: number
  readonly #folder: string
  readonly #written: { count: number }

  private constructor(server: ApiServer, hook: ChildProcess, port: number, folder: string, written: { count: number }) {
    this.client = server.client()
    this.#server = server
    this.#hook = hook
    this.#port = port
    this.#folder = folder
    this.#written = written
  }

  /** Starts a server and a hook. */
  static async start(): Promise<Cluster> {
    const written = { count: 0 }
    const server = await ApiServer.start({
      storage: memory(),
      controllers: ['crd'],
      audit: {
        write: (event) => {
          if (isWrite(event)) written.count++
        },
      },
    })
    const { kubeconfig } = await server.listen()
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-bench-'))
    writeFileSync(join(folder, 'kubeconfig'), kubeconfig, { mode: 0o600 })
    const hook = fork(fileURLToPath(new URL('hook-process.ts', import.meta.url)))
    const { port } = await messageOf<{ port: number }>(hook)
    const cluster = new Cluster(server, hook, port, folder, written)
    const kinds = ['Fleet', 'Boat'].map((kind) => crd({ group, kind, status: true }))
    await installDefinitions(cluster.client, [...crds, ...kinds])
    return cluster
  }

  /** Creates the CompositeController of all Fleets. */
  async createController(resources: readonly JsonObject[] = [{ apiVersion, resource: 'boats' }]): Promise<void> {
    const childResources = resources.map((resource) => ({ ...resource, updateStrategy: { method: 'InPlace' } }))
    await this.client.create({
      apiVersion: 'metacontroller.k8s.io/v1alpha1',
      kind: 'CompositeController',
      metadata: { name: 'fleets' },
      spec: {
        generateSelector: true,
        parentResource: { apiVersion, resource: 'fleets' },
        childResources,
        hooks: { sync: { webhook: { url: `http://127.0.0.1:${this.#port}/sync`, timeout: '60s' } } },
      },
    } as KubeObject)
  }

  async createParent(name: string, spec: ParentSpec): Promise<void> {
    await this.client.create({ ...Fleet, metadata: { name, namespace: 'default' }, spec: spec as JsonObject })
  }

  async startDriver(name: DriverName): Promise<void> {
    this.driver = await Driver.start(name, join(this.#folder, 'kubeconfig'))
  }

  async stopDriver(): Promise<void> {
    await this.driver?.stop()
    this.driver = undefined
  }

  /** Changes a Boat as a user would; resolves with the milliseconds until the driver has set it back. */
  async disturb(name: string): Promise<number> {
    await this.client.patch(Boat, `default/${name}`, { merge: { spec: { version: 'foreign' } } })
    const begin = performance.now()
    return (await this.boatsWritten(1)) - begin
  }

  /** Resolves with the time of the n-th write of a Boat from now on. */
  boatsWritten(count: number): Promise<number> {
    return new Promise((resolve) => {
      let left = count
      const watch = this.#server.store.watchAll(({ type, entry }) => {
        if (type !== 'put' || entry.resource !== `boats.${group}` || --left > 0) return
        watch[Symbol.dispose]()
        resolve(performance.now())
      })
    })
  }

  /** Resolves when there were no calls and writes for a while. */
  async quiet(): Promise<void> {
    let [since, before] = [performance.now(), '']
    while (performance.now() - since < quietMs) {
      await systemClock.sleep(100)
      const now = `${(await this.counts()).calls} ${this.#server.store.revision}`
      if (now !== before) [since, before] = [performance.now(), now]
    }
  }

  /** Resolves after the first call of the hook, when all is quiet. */
  async synced(): Promise<void> {
    while ((await this.counts()).calls === 0) await systemClock.sleep(50)
    await this.quiet()
  }

  /** Returns the calls and writes since the last reset. */
  async counts(): Promise<HookCounts & { readonly writes: number }> {
    this.#hook.send('counts')
    const { counts } = await messageOf<{ counts: HookCounts }>(this.#hook)
    return { ...counts, writes: this.#written.count }
  }

  async reset(): Promise<void> {
    this.#hook.send('reset')
    await messageOf(this.#hook)
    this.#written.count = 0
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopDriver()
    this.#hook.disconnect()
    await this.#server[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Reports whether an audit event is a write that came over HTTPS: those of the benchmark itself come in process. */
function isWrite(event: JsonObject): boolean {
  const { verb, sourceIPs, objectRef } = event as {
    readonly verb?: string
    readonly sourceIPs?: readonly string[]
    readonly objectRef?: { readonly resource: string }
  }
  if (sourceIPs === undefined || objectRef === undefined || reports.has(objectRef.resource)) return false
  return ['create', 'update', 'patch', 'delete'].includes(verb ?? '')
}

function messageOf<T>(hook: ChildProcess): Promise<T> {
  return new Promise((resolve) => hook.once('message', (message) => resolve(message as T)))
}
