// One trial of a scenario: the capability's controllers on an embedded server over HTTPS, with exactly the rights of
// their roles, on a clock that the trial moves. Start with tryScenario.
import { isDeepStrictEqual } from 'node:util'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Listening } from '@fairlead/apiserver'
import { Client, HttpsTransport, parseKubeconfig, systemClock } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { CapabilityInstance, PolicyRule } from '@fairlead/controller'
import { FakeClock, StatusError } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { Disturbance, DisturbedTransport, formatResource } from '../support/disturbed-transport.ts'
import type { Fault } from '../support/disturbed-transport.ts'
import { patience } from '../support/until.ts'
import { singleRights } from './scenario.ts'
import type { Scenario } from './scenario.ts'

/** A disruption of the controllers in a trial; nothing fails without a right. */
export interface Disruption {
  /** The right that is concerned, such as `list configmaps`. */
  readonly right?: string
  /** `missing`: the role of the controllers lacks the right. */
  readonly fault?: Fault | 'missing'
  /** The disruption begins before the controllers start, or while they run. */
  readonly when?: 'start' | 'middle'
  /** Milliseconds by which events of watches are late. */
  readonly eventDelay?: number
  /** Milliseconds by which responses of writes are late. */
  readonly responseDelay?: number
}

/** The outcome of a trial. */
export interface Outcome {
  /** Paths of the objects for which deletions were sent, each once, sorted. */
  readonly deleted: readonly string[]
  /** Paths of deletions that were sent without a uid or a resourceVersion. */
  readonly unconditional: readonly string[]
  /** The objects in the end, by kind and key. */
  readonly state: Readonly<Record<string, JsonObject>>
  /** The objects at the end of the disruption, by kind and key. */
  readonly meanwhile: Readonly<Record<string, JsonObject>>
  /** Paths of the objects for which deletions were sent before the disruption ended, each once, sorted. */
  readonly deletedMeanwhile: readonly string[]
  /** Objects that exist all the time, and that a response denied. */
  readonly denied: readonly string[]
  /** The objects of the beginning that are still the same ones in the end. */
  readonly survivors: readonly string[]
  /** The rights that were used, by the controllers and those that they impersonate. */
  readonly used: readonly string[]
  /** Requests that failed or hung. */
  readonly failed: number
  /** Seconds from the end of the disruption to the end state, on the trial's clock. */
  readonly seconds: number
}

const user = {
  name: 'system:serviceaccount:fairlead-system:controllers',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:fairlead-system', 'system:authenticated'],
}
const rbac = 'rbac.authorization.k8s.io/v1'
const clusterRole = { apiVersion: rbac, kind: 'ClusterRole' }

/** Seconds that pass before a change is made, while the disruption lasts, and after everything has ended. */
const phases = { before: 5, during: 40, after: 60 }
/** Seconds within which the end state must be reached: the longest backoff (design decision 14) and its jitter. */
const healing = 2000

/**
 * Runs a scenario with a disruption. With `expected` it waits after the disruption until the state is that, and gives
 * up when the longest backoff has passed; without, it waits until the controllers are idle.
 */
export async function tryScenario(scenario: Scenario, disruption: Disruption, expected?: Outcome): Promise<Outcome> {
  await using trial = await Trial.start(scenario)
  await trial.startControllers()
  await trial.pass(phases.during)
  await trial.begin()
  const before = await trial.uids()
  return await trial.run(disruption, before, expected)
}

class Trial implements AsyncDisposable {
  readonly #scenario: Scenario
  readonly #server: ApiServer
  readonly #admin: Client
  readonly #clock: FakeClock
  readonly #disturbance = new Disturbance()
  #instance: CapabilityInstance | undefined
  #manager: Manager | undefined
  #transport: HttpsTransport | undefined
  #listening: Listening | undefined
  readonly #served: Disposable[] = []
  #companion: AsyncDisposable | undefined
  /** Objects that exist all the time, and that a response denied. */
  readonly #denied = new Set<string>()

  private constructor(scenario: Scenario, server: ApiServer, clock: FakeClock) {
    this.#scenario = scenario
    this.#server = server
    this.#clock = clock
    this.#admin = server.client({ manager: 'test' })
  }

  /** Starts the server with the scenario's objects. */
  static async start(scenario: Scenario): Promise<Trial> {
    scenario.prepare?.()
    const server = await ApiServer.start({
      storage: memory(),
      authorization: 'RBAC',
      tokens: [{ token: 'controllers', user }],
    })
    const trial = new Trial(scenario, server, new FakeClock(Date.now()))
    const definitions = [...scenario.capability.crds, ...scenario.definitions]
    await installDefinitions(trial.#admin, definitions)
    await trial.#grant(trial.#rights())
    await trial.#admin.create({
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name: 'controllers' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'controllers' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user.name }],
    } as KubeObject)
    trial.#companion = await scenario.companion?.(server)
    for (const object of scenario.objects) await trial.#admin.apply(object)
    return trial
  }

  /** Starts the controllers, as a process that starts does. */
  async startControllers(): Promise<void> {
    this.#listening ??= await this.#server.listen()
    const { kubeconfig } = this.#listening
    const { server, ca } = await parseKubeconfig(kubeconfig).connection()
    this.#transport = new HttpsTransport({ server, ca, token: 'controllers' })
    const transport = new DisturbedTransport(this.#transport, this.#disturbance)
    const client = new Client({ transport, clock: this.#clock, random: () => 0.5 })
    const setup = async (manager: Manager): Promise<void> => {
      this.#instance = await this.#scenario.capability.setup(manager, { resolve: new Map(), signal: manager.signal })
    }
    this.#manager = await this.#during(Manager.start({ client, clock: this.#clock, setup }))
    for (const storage of this.#instance?.storages ?? []) this.#served.push(await this.#server.addStorage(storage))
  }

  /** Stops the controllers, as a process that ends does. */
  async stopControllers(): Promise<void> {
    for (const served of this.#served.splice(0)) served[Symbol.dispose]()
    await this.#during(Promise.all([this.#instance?.stop(), this.#manager?.stop(1000)]))
    await this.#transport?.[Symbol.asyncDispose]()
    this.#instance = this.#manager = this.#transport = undefined
  }

  /** Lets time pass until the scenario's objects are as they must be before a disruption. */
  async begin(): Promise<void> {
    const end = performance.now() + patience
    while (!(await this.#holds(this.#scenario.begins))) {
      if (performance.now() > end) throw new Error('The controllers do not reach the state before the disruption')
      await this.pass(5)
    }
  }

  /** Carries out the disruption and the changes, and ends the disruption. */
  async run(
    disruption: Disruption,
    before: ReadonlyMap<string, string>,
    expected: Outcome | undefined,
  ): Promise<Outcome> {
    const disturbance = this.#disturbance
    disturbance.eventDelay = disruption.eventDelay ?? 0
    disturbance.responseDelay = disruption.responseDelay ?? 0
    if (disruption.when === 'start') {
      await this.stopControllers()
      await this.#begin(disruption)
      await this.startControllers()
    } else await this.#begin(disruption)
    await this.pass(phases.before)
    await this.#scenario.change(this.#admin)
    await this.#askForLasting()
    await this.pass(phases.during)
    await this.#askForLasting()
    const meanwhile = { meanwhile: await this.#state(), deletedMeanwhile: this.#deleted() }
    await this.#end(disruption)
    const healed = this.#clock.now()
    const end = performance.now() + (this.#scenario.holds === undefined ? 0 : patience)
    while (!(await this.#isHealed(expected))) {
      if (this.#clock.now() - healed > healing * 1000 && performance.now() > end) break
      await this.#askForLasting()
      await this.pass(5)
    }
    const seconds = (this.#clock.now() - healed) / 1000
    await this.pass(phases.after)
    // What works by the real clock may have begun anew, as the fake one went on: it comes to its end.
    while (this.#scenario.holds !== undefined && !(await this.#isHealed(expected)) && performance.now() < end)
      await systemClock.sleep(20)
    return { ...(await this.#outcome(before, seconds)), ...meanwhile }
  }

  /** Reports whether the state is the expected one; in the run that finds it out, whether it is the end state. */
  async #isHealed(expected: Outcome | undefined): Promise<boolean> {
    if (expected !== undefined) return isDeepStrictEqual(await this.#state(), expected.state)
    return this.#holds(this.#scenario.holds)
  }

  async #holds(condition: ((client: Client) => Promise<boolean>) | undefined): Promise<boolean> {
    if (condition === undefined) return true
    return (await this.#during(unlessUnavailable(condition(this.#admin)))) ?? false
  }

  /** Lets seconds pass, and everything happen that falls due. */
  async pass(seconds: number): Promise<void> {
    const end = this.#clock.now() + seconds * 1000
    await this.#settle()
    while (this.#clock.now() < end) {
      const left = end - this.#clock.now()
      await this.#clock.advance(Math.min(left, Math.max(250, this.#clock.untilNext() ?? left)))
      await this.#settle()
    }
  }

  /** Returns the uids of the objects, by kind and key. */
  async uids(): Promise<ReadonlyMap<string, string>> {
    const objects = await this.#objects()
    return new Map(objects.map((object) => [identityOf(object), object.metadata.uid ?? '']))
  }

  /** Returns the paths of the objects for which deletions were sent, each once, sorted. */
  #deleted(): readonly string[] {
    // Names of ControllerRevisions end with a hash of a uid.
    const paths = this.#disturbance.deletions.map(({ path }) => path.replace(/-[0-9a-f]{40}$/, '-<hash>'))
    return [...new Set(paths)].toSorted()
  }

  async #outcome(
    before: ReadonlyMap<string, string>,
    seconds: number,
  ): Promise<Omit<Outcome, 'meanwhile' | 'deletedMeanwhile'>> {
    const { deletions, used, failed } = this.#disturbance
    const after = await this.uids()
    const isUnconditional = ({ uid, resourceVersion }: JsonObject): boolean =>
      uid === undefined || resourceVersion === undefined
    return {
      deleted: this.#deleted(),
      unconditional: deletions.flatMap(({ path, preconditions }) => (isUnconditional(preconditions) ? [path] : [])),
      denied: [...this.#denied].toSorted(),
      state: await this.#state(),
      survivors: [...before].flatMap(([id, uid]) => (after.get(id) === uid ? [id] : [])).toSorted(),
      used: [...used].toSorted(),
      failed,
      seconds,
    }
  }

  #rights(): readonly PolicyRule[] {
    const { capability, definitions, grants } = this.#scenario
    return singleRights([...capability.rules, ...grants], [...capability.crds, ...definitions])
  }

  async #begin({ right, fault }: Disruption): Promise<void> {
    if (right === undefined || fault === undefined) return
    this.#disturbance.refusesStreaming = right.startsWith('list ')
    if (fault === 'missing') await this.#grant(this.#rights().filter((rule) => nameOf(rule) !== right))
    else this.#disturbance.begin(right, fault)
    this.#disturbance.interrupt(right)
  }

  async #end({ fault }: Disruption): Promise<void> {
    if (fault === 'missing') await this.#grant(this.#rights())
    this.#disturbance.heal()
  }

  async #grant(rules: readonly PolicyRule[]): Promise<void> {
    await this.#admin.apply({ ...clusterRole, metadata: { name: 'controllers' }, rules } as unknown as KubeObject)
  }

  async #objects(): Promise<readonly KubeObject[]> {
    const lists = await this.#during(
      Promise.all(
        this.#scenario.kinds.map((kind) => unlessUnavailable(this.#admin.list(kind)).then((list) => list?.items ?? [])),
      ),
    )
    return lists.flat()
  }

  /** Reads the objects that exist all the time, and notes those that a response denies. */
  async #askForLasting(): Promise<void> {
    const { kind, keys = [] } = this.#scenario.lasting ?? {}
    if (kind === undefined) return
    const list = unlessUnavailable(this.#admin.list(kind)).then((found) => {
      const names = found?.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
      for (const key of keys) if (names?.includes(key) === false) this.#denied.add(`${key} in a list`)
    })
    const reads = keys.map(async (key) => {
      const found = await unlessUnavailable(this.#admin.find(kind, key).then((object) => object !== undefined))
      if (found === false) this.#denied.add(key)
    })
    await this.#during(Promise.all([list, ...reads]))
  }

  async #state(): Promise<Readonly<Record<string, JsonObject>>> {
    const outside = await this.#during(unlessUnavailable(Promise.resolve(this.#scenario.outside?.(this.#admin))))
    return {
      ...Object.fromEntries((await this.#objects()).map((object) => [identityOf(object), summaryOf(object)])),
      ...(outside === undefined ? {} : { outside }),
    }
  }

  /** Waits until no request is under way and nothing is written. */
  async #settle(): Promise<void> {
    const end = performance.now() + patience
    for (let quiet = 0, revision = -1; quiet < 20; revision = this.#server.store.revision) {
      if (performance.now() > end) throw new Error('The controllers do not become idle')
      await this.#clock.advance(0)
      const isQuiet = this.#disturbance.busy === 0 && this.#server.store.revision === revision
      quiet = isQuiet ? quiet + 1 : 0
    }
  }

  /** Lets time pass in small steps while something is awaited. */
  async #during<T>(promise: Promise<T>): Promise<T> {
    let isDone = false
    const done = promise.finally(() => (isDone = true))
    done.catch(() => {})
    for (let steps = 0; !isDone; steps++) await this.#clock.advance(steps < 100 ? 0 : 10)
    return done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disturbance.heal()
    await this.stopControllers()
    await this.#companion?.[Symbol.asyncDispose]()
    await this.#server[Symbol.asyncDispose]()
  }
}

/** Returns the result of a request, or undefined when it is refused for now. */
async function unlessUnavailable<T>(request: Promise<T>): Promise<T | undefined> {
  try {
    return await request
  } catch (error) {
    if (isUnavailable(error)) return undefined
    throw error
  }
}

/** Reports whether a capability refuses what it does not know yet. */
function isUnavailable(error: unknown): boolean {
  return error instanceof StatusError && error.code === 503
}

/** Returns the name of a single right, as a transport records it. */
export function nameOf({ apiGroups, resources, verbs }: PolicyRule): string {
  return `${verbs[0]} ${formatResource(apiGroups?.[0] ?? '', resources?.[0] ?? '')}`
}

function identityOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${metadata.namespace === undefined ? '' : `${metadata.namespace}/`}${metadata.name}`
}

/** Returns the fields of an object that must be the same in every run: no uids, times and versions. */
function summaryOf(object: KubeObject): JsonObject {
  const { metadata } = object
  const { spec, data, status } = object as { readonly spec?: JsonValue; readonly data?: JsonValue; status?: JsonObject }
  const conditions = (status?.['conditions'] ?? []) as readonly JsonObject[]
  const resources = (status?.['resources'] ?? []) as readonly JsonObject[]
  return {
    ...(spec === undefined ? {} : { spec }),
    ...(data === undefined ? {} : { data }),
    isTerminating: metadata.deletionTimestamp !== undefined,
    owners: (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind} ${name}`),
    isObserved: status?.['observedGeneration'] === undefined || status['observedGeneration'] === metadata.generation,
    conditions: Object.fromEntries(
      conditions.map(({ type, status: value, reason }) => [String(type), `${String(value)} ${String(reason)}`]),
    ),
    resources: resources.map(({ name }) => String(name)),
  }
}
