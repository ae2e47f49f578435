// A cluster for tests of map controllers: the embedded server, the controllers and the simulator on a fake clock.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { ApiServerOptions } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import { FakeClock, asObject, parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import {
  MapControllers,
  callServices,
  compositeControllers,
  crds,
  decoratorControllers,
  parseSettings,
} from '@fairlead/metacontroller'
import { Simulator, parseRules } from '@fairlead/simulator'
import { patience } from '../test/support/until.ts'

/** Options of a stage. */
export interface StageOptions {
  /** Folder of an example, whose `simulate.yaml` is used. */
  readonly example?: string
  /** `host:port` by host name, for hooks. */
  readonly resolve?: Readonly<Record<string, string>>
  /** Flags of Metacontroller by name. */
  readonly settings?: Readonly<Record<string, string>>
  readonly server?: Omit<ApiServerOptions, 'clock' | 'storage'>
  /** The client that controllers use, made from the server's own. */
  readonly controllerClient?: (server: ApiServer) => Client | Promise<Client>
}

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly clock: FakeClock
  readonly server: ApiServer
  /** An administrator's client, with kubectl's field manager. */
  readonly client: Client
  #manager: Manager | undefined
  #controllers: MapControllers | undefined
  #others: readonly { readonly busy: number; stop(): Promise<void> }[] = []

  private constructor(clock: FakeClock, server: ApiServer) {
    this.clock = clock
    this.server = server
    this.client = server.client({ manager: 'kubectl' })
  }

  /** Sets a stage; controllers run when this resolves. */
  static async set(options: StageOptions = {}): Promise<Stage> {
    const clock = new FakeClock('2026-01-01T00:00:00Z')
    const server = await ApiServer.start({ ...options.server, storage: memory(), clock, random: repeatableRandom() })
    const stage = new Stage(clock, server)
    await stage.during(installDefinitions(server.client(), crds))
    await stage.startControllers(options)
    return stage
  }

  /** The map controllers. */
  get controllers(): MapControllers {
    if (this.#controllers === undefined) throw new Error('No controllers run on this stage')
    return this.#controllers
  }

  /** The manager of the controllers. */
  get manager(): Manager {
    if (this.#manager === undefined) throw new Error('No controllers run on this stage')
    return this.#manager
  }

  /** Starts the controllers, as a process that starts does. */
  async startControllers({ example, resolve, controllerClient, settings }: StageOptions = {}): Promise<void> {
    const rules = example === undefined ? undefined : join(example, 'simulate.yaml')
    const client = controllerClient === undefined ? this.server.client() : await controllerClient(this.server)
    const starting = Manager.start({
      client,
      random: repeatableRandom(),
      setup: (manager) => {
        const options = { resolve: new Map(Object.entries(resolve ?? {})) }
        const calls = callServices(manager, options)
        this.#controllers = new MapControllers(manager, options, calls)
        const dependencies = { ...calls, settings: parseSettings(new Map(Object.entries(settings ?? {}))) }
        this.#others = [compositeControllers(manager, dependencies), decoratorControllers(manager, dependencies)]
        if (rules !== undefined && existsSync(rules))
          new Simulator(parseRules(readFileSync(rules, 'utf8'), rules)).setup(manager)
      },
    })
    this.#manager = await this.during(starting)
  }

  /** Stops the controllers, as a process that ends does. */
  async stopControllers(): Promise<void> {
    const stopping = Promise.all([
      ...this.#others.map((controllers) => controllers.stop()),
      this.#controllers?.stop(),
      this.#manager?.stop(1000),
    ])
    this.#others = []
    this.#controllers = undefined
    this.#manager = undefined
    await this.during(stopping)
  }

  /** Applies objects in order. */
  async apply(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.during(this.client.apply(object))
    await this.settle()
  }

  /** Lets everything happen that needs no time to pass. */
  async settle(): Promise<void> {
    const end = performance.now() + patience
    for (let quiet = 0, revision = -1; quiet < 10; revision = this.server.store.revision) {
      if (performance.now() > end) throw new Error('The controllers do not become idle')
      await this.clock.advance(0)
      const busy = this.#others.reduce((sum, controllers) => sum + controllers.busy, this.#controllers?.busy ?? 0)
      quiet = busy === 0 && this.server.store.revision === revision ? quiet + 1 : 0
    }
  }

  /** Lets so many seconds pass, and everything happen that falls due. */
  async pass(seconds: number): Promise<void> {
    const end = this.clock.now() + seconds * 1000
    await this.settle()
    while (this.clock.now() < end) {
      const left = end - this.clock.now()
      await this.clock.advance(Math.min(left, Math.max(1, this.clock.untilNext() ?? left)))
      await this.settle()
    }
  }

  /** Lets time pass in small steps while something is awaited. */
  async during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    const end = performance.now() + patience
    for (let steps = 0; !isDone; steps++) {
      if (performance.now() > end) throw new Error('What is awaited does not happen')
      await this.clock.advance(steps < 1000 ? 0 : 10)
    }
    return done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopControllers()
    await this.during(this.server[Symbol.asyncDispose]())
  }
}

/** Numbers in [0, 1) that differ, and are the same in every run. */
export function repeatableRandom(): () => number {
  let state = 1
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** The objects of a file of manifests. */
export function manifest(path: string): KubeObject[] {
  return parseYamlDocuments(readFileSync(path, 'utf8')).map((document) => asObject(document as JsonObject))
}

/** The objects of all manifests of an example, files in order. */
export function manifests(example: string): KubeObject[] {
  const folder = join(example, 'manifests')
  return readdirSync(folder)
    .toSorted()
    .flatMap((file) => manifest(join(folder, file)))
}
