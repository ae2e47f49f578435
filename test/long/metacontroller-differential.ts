// The real Metacontroller and our controllers side by side on a server each, with the same hook and the same steps: the
// last hook requests after every step, the final objects and the reasons of events must be the same, but for the
// differences that scenarios name. Then our controllers take over what the real one made, and hand it back.
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isJsonObject } from '@fairlead/kube'
import { crds } from '@fairlead/metacontroller'
import { crd } from '../support/crd.ts'
import { Checks } from './checks.ts'
import { startOurs, startReal } from './metacontroller-process.ts'
import type { KindRef, Scenario } from './metacontroller-scenarios.ts'
import { Boat, Buoy, ConfigMap, Fleet, Ocean, scenarios } from './metacontroller-scenarios.ts'

const group = 'metacontroller.k8s.io/v1alpha1'
const Revision: KindRef = { apiVersion: group, kind: 'ControllerRevision' }
/** Milliseconds without a call or write after which a driver has settled, and the longest wait for that. */
const quiet = 900
const longest = 30_000
/** Milliseconds until a difference counts: on a busy machine a call or an event may come after a while of quiet. */
const patience = 20_000

/** One program as the hook of all scenarios: it returns what the parent holds. */
class Hook implements AsyncDisposable {
  /** Requests by path. */
  readonly requests = new Map<string, JsonObject[]>()
  count = 0
  readonly #server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject
      const path = request.url ?? ''
      this.count++
      this.requests.set(path, [...(this.requests.get(path) ?? []), body])
      const parent = (body['parent'] ?? body['object']) as unknown as { spec?: { respond?: JsonObject } }
      const answer = parent.spec?.respond?.[path.split('/').at(-1) ?? ''] ?? {}
      const { fail, nothing, ...rest } = isJsonObject(answer) ? answer : {}
      if (fail !== undefined) response.writeHead(Number(fail), { 'retry-after': '1' }).end('as asked')
      else response.end(JSON.stringify(nothing === true ? { children: null } : rest))
    })
  })

  static async start(): Promise<Hook> {
    const hook = new Hook()
    hook.#server.listen(0, '127.0.0.1')
    await once(hook.#server, 'listening')
    return hook
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

/** A server with a hook. */
class Cluster implements AsyncDisposable {
  readonly server: ApiServer
  readonly hook: Hook
  readonly client: Client

  private constructor(server: ApiServer, hook: Hook) {
    this.server = server
    this.hook = hook
    this.client = server.client({ manager: 'kubectl' })
  }

  static async start(): Promise<Cluster> {
    const cluster = new Cluster(await ApiServer.start({ storage: memory() }), await Hook.start())
    const of = 'harbour.example.com'
    await installDefinitions(cluster.client, [
      ...crds,
      crd({ group: of, kind: 'Fleet', status: true }),
      crd({ group: of, kind: 'Boat', status: true }),
      crd({ group: of, kind: 'Ocean', status: true, scope: 'Cluster' }),
      crd({ group: of, kind: 'Buoy' }),
    ])
    return cluster
  }

  /** Waits until nothing is called or written any more. */
  async settle(): Promise<void> {
    const end = performance.now() + longest
    let [since, before] = [performance.now(), '']
    while (performance.now() < end) {
      const now = `${this.hook.count} ${await this.#versions()}`
      if (now !== before) [since, before] = [performance.now(), now]
      else if (performance.now() - since > quiet) return
      await delay(50)
    }
  }

  /** Creates the namespace and the controller of a scenario. */
  async begin({ kind, spec, hooks }: Scenario, name: string): Promise<void> {
    await this.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    const webhooks = Object.entries(hooks).map(([hook, version]) => [
      hook,
      { version, webhook: { url: `${this.hook.url}/${name}/${hook}`, timeout: '5s' } },
    ])
    await this.client.create({
      apiVersion: group,
      kind,
      metadata: { name },
      spec: { ...spec, hooks: Object.fromEntries(webhooks) as JsonObject },
    } as KubeObject)
    await this.settle()
  }

  /** Deletes the controller of a scenario, and parents, which its successors would see. */
  async end({ kind }: Scenario, name: string): Promise<void> {
    await this.client.delete({ apiVersion: group, kind }, name)
    for (const one of [Fleet, Ocean, Buoy])
      for (const object of (await this.client.list(one)).items) {
        const merge = { metadata: { finalizers: null } }
        const key = { namespace: object.metadata.namespace ?? '', name: object.metadata.name ?? '' }
        await this.client.patch(one, key, { merge }).catch(() => undefined)
        await this.client.delete(one, key).catch(() => undefined)
      }
    await this.settle()
  }

  /** Returns the objects of a scenario in a form that can be compared. */
  async objects(name: string): Promise<JsonObject> {
    const found: [string, JsonValue][] = []
    for (const kind of [Fleet, Boat, Buoy, ConfigMap, Revision, Ocean]) {
      const { items } = await this.client.list(kind, kind === Ocean ? {} : { namespace: name })
      for (const item of items)
        if (item.metadata.name !== 'kube-root-ca.crt')
          found.push([`${kind.kind}/${normal(item.metadata.name ?? '', name)}`, normal(item as never, name)])
    }
    return Object.fromEntries(found.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Returns uid and resourceVersion of every object that controllers write. */
  async versions(): Promise<Record<string, string>> {
    const lists = await Promise.all([Fleet, Boat, ConfigMap, Revision, Ocean].map((kind) => this.client.list(kind)))
    return Object.fromEntries(
      lists
        .flatMap(({ items }) => items)
        .map(({ kind, metadata: { namespace, name, uid, resourceVersion } }) => [
          `${kind}/${namespace}/${name}`,
          `${uid}@${resourceVersion}`,
        ]),
    )
  }

  async #versions(): Promise<string> {
    return JSON.stringify(await this.versions())
  }

  /** Returns the last request of each hook of a scenario. */
  lastRequests(name: string): JsonObject {
    const last = [...this.hook.requests].flatMap(([path, bodies]): [string, JsonValue][] =>
      path.startsWith(`/${name}/`) ? [[path.split('/').at(-1) ?? '', normal(bodies.at(-1)!, name)]] : [],
    )
    return Object.fromEntries(last.toSorted(([a], [b]) => (a < b ? -1 : 1)))
  }

  /** Returns the reasons of events of a scenario, with their types and kinds. */
  async events(name: string): Promise<readonly string[]> {
    const lists = [{ apiVersion: 'events.k8s.io/v1', kind: 'Event' }].map((kind) => this.client.list(kind))
    const events = (await Promise.all(lists)).flatMap(({ items }) => items) as unknown as readonly {
      readonly type: string
      readonly reason: string
      readonly note: string
      readonly regarding: { readonly kind: string; readonly name: string; readonly namespace?: string }
    }[]
    const own = events
      .filter(({ regarding }) => regarding.namespace === name || regarding.name === name)
      // Metacontroller warns of a conflict, which depends on time, and tries again.
      .filter(({ note }) => !note.includes('object has been modified'))
    return [...new Set(own.map(({ type, reason, regarding }) => `${regarding.kind} ${type} ${reason}`))].toSorted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hook[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
  }
}

const uid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const volatile = new Set(['managedFields', 'resourceVersion', 'creationTimestamp', 'deletionTimestamp', 'uid', 'time'])

/** Returns a value without what differs between two runs: versions, times, uids, the address of the hook. */
function normal<T extends JsonValue>(value: T, name: string): T {
  const of = (given: JsonValue, key: string): JsonValue => {
    if (typeof given === 'string')
      return given
        .replaceAll(uid, '<uid>')
        .replaceAll(/127\.0\.0\.1:\d+/g, '<hook>')
        .replaceAll(/-[0-9a-f]{40}/g, '-<hash>')
        .replaceAll(name, '<scenario>')
    // Metacontroller lists the children of a ControllerRevision in the order of a map of Go, which is random.
    if (Array.isArray(given) && key === 'names') return (given as readonly string[]).toSorted()
    if (Array.isArray(given)) return (given as readonly JsonValue[]).map((item) => of(item, ''))
    if (!isJsonObject(given)) return given
    const fields = Object.entries(given).filter(([field]) => !volatile.has(field))
    return Object.fromEntries(
      fields
        .filter(([field]) => !(key === 'controller' && field === 'status'))
        // Go writes an empty struct where the spec has nothing.
        .filter(([field, inner]) => !(field === 'statusChecks' && isDeepStrictEqual(inner, {})))
        .map(([field, inner]): [string, JsonValue] => [field.replaceAll(name, '<scenario>'), of(inner, field)]),
    )
  }
  return of(value, '') as T
}

/** Returns the paths at which two values differ. */
function differences(real: JsonValue | undefined, ours: JsonValue | undefined, path = ''): string[] {
  if (isDeepStrictEqual(real, ours)) return []
  if (isJsonObject(real) && isJsonObject(ours))
    return [...new Set([...Object.keys(real), ...Object.keys(ours)])].flatMap((field) =>
      differences(real[field], ours[field], `${path}.${field}`),
    )
  if (Array.isArray(real) && Array.isArray(ours) && real.length === ours.length)
    return (real as readonly JsonValue[]).flatMap((item, at) =>
      differences(item, (ours as readonly JsonValue[])[at], `${path}[${at}]`),
    )
  return [`${path}: ${short(real)} there, ${short(ours)} here`]
}

function short(value: JsonValue | undefined): string {
  return value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 300)
}

/** The real Metacontroller's cluster, and ours. */
type Pair = readonly [real: Cluster, ours: Cluster]

function both<T>([real, ours]: Pair, run: (cluster: Cluster) => T | Promise<T>): Promise<[T, T]> {
  return Promise.all([run(real), run(ours)])
}

/** Returns what both show when they have settled, and the differences; waits for those to go, unless they are due. */
async function compared(pair: Pair, look: (cluster: Cluster) => Promise<JsonValue>, isDue: boolean): Promise<string[]> {
  for (const end = performance.now() + patience; ;) {
    await both(pair, (cluster) => cluster.settle())
    const found = differences(...(await both(pair, look)))
    if (isDue || found.length === 0 || performance.now() > end) return found
  }
}

/** Runs a scenario on both; returns the differences. */
async function play(pair: Pair, scenario: Scenario, name: string): Promise<string[]> {
  const { steps, differs, ignoresRequests } = scenario
  const isDue = differs !== undefined
  const found: string[] = []
  await both(pair, (cluster) => cluster.begin(scenario, name))
  for (const [at, step] of steps.entries()) {
    await both(pair, ({ client }) => step({ client, name }))
    const requests = async (cluster: Cluster): Promise<JsonValue> => ({ [`step ${at}`]: cluster.lastRequests(name) })
    const differing = await compared(pair, requests, isDue || ignoresRequests !== undefined)
    if (ignoresRequests === undefined) found.push(...differing)
  }
  const outcome = async (cluster: Cluster): Promise<JsonValue> => ({
    objects: await cluster.objects(name),
    events: (await cluster.events(name)) as JsonValue,
  })
  found.push(...(await compared(pair, outcome, isDue)))
  await both(pair, (cluster) => cluster.end(scenario, name))
  return found
}

/** Takes the objects of the real Metacontroller and hands them back: nothing is deleted, made anew or written. */
async function takeOver(binary: string, folder: string, checks: Checks): Promise<void> {
  await using cluster = await Cluster.start()
  const { client, hook } = cluster
  const rolling = ['InPlace', 'Recreate', 'OnDelete', 'RollingInPlace']
  {
    await using _real = await startReal(binary, cluster.server, folder)
    await delay(1500)
    for (const [at, method] of rolling.entries()) {
      const name = `take-over-${at}`
      await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      const parentResource = {
        apiVersion: Fleet.apiVersion,
        resource: 'fleets',
        labelSelector: { matchLabels: { method } },
      }
      const childResources = [{ apiVersion: Boat.apiVersion, resource: 'boats', updateStrategy: { method } }]
      const webhook = (of: string): JsonObject => ({ webhook: { url: `${hook.url}/${name}/${of}` } })
      const hooks = { sync: webhook('sync'), finalize: webhook('finalize') }
      const spec = { parentResource, childResources, hooks }
      await client.create({ apiVersion: group, kind: 'CompositeController', metadata: { name }, spec })
      const boats = ['a', 'b'].map((boat) => ({
        ...Boat,
        metadata: { name: boat, labels: { fleet: 'north' } },
        spec: { crew: [{ name: 'x' }] },
      }))
      await client.create({
        ...Fleet,
        metadata: { name: 'north', namespace: name, labels: { method } },
        spec: {
          selector: { matchLabels: { fleet: 'north' } },
          template: { metadata: { labels: { fleet: 'north' } } },
          respond: { sync: { children: boats, status: { n: 2 } } },
        },
      } as KubeObject)
    }
    await until(async () => boatsOf(await cluster.versions()) === 2 * rolling.length)
    await cluster.settle()
  }
  const made = await cluster.versions()
  const count = boatsOf(made)
  checks.check(count === 2 * rolling.length, `Metacontroller made ${count} of ${2 * rolling.length} children`)
  const calls = hook.count
  {
    await using _ours = await startOurs(cluster.server)
    await until(() => hook.count > calls)
    await cluster.settle()
    await delay(2000)
  }
  checks.check(hook.count > calls, 'our controllers called no hook')
  for (const difference of differences(made, await cluster.versions())) checks.check(false, `taken over${difference}`)
  const before = hook.count
  {
    await using _real = await startReal(binary, cluster.server, folder)
    await until(() => hook.count > before)
    await cluster.settle()
    await delay(2000)
  }
  checks.check(hook.count > before, 'Metacontroller called no hook after the way back')
  for (const difference of differences(made, await cluster.versions())) checks.check(false, `handed back${difference}`)
  checks.check(true, 'taken over and handed back')
  console.log(`Taken over and handed back: ${Object.keys(made).length} objects, ${hook.count} hook calls`)
}

function boatsOf(versions: Readonly<Record<string, string>>): number {
  return Object.keys(versions).filter((key) => key.startsWith('Boat/')).length
}

/** Waits until something holds, or for the longest time; the caller checks the result. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (const end = performance.now() + longest; performance.now() < end && !(await holds());) await delay(50)
}

async function playAll(binary: string, folder: string, checks: Checks, only: string | undefined): Promise<void> {
  await using real = await Cluster.start()
  await using ours = await Cluster.start()
  await using _real = await startReal(binary, real.server, folder)
  await using _ours = await startOurs(ours.server)
  await delay(2000)
  for (const [at, scenario] of scenarios.entries()) {
    const { title, differs } = scenario
    if (only !== undefined && !title.includes(only)) continue
    const found = await play([real, ours], scenario, `scenario-${at}`)
    if (only !== undefined)
      console.log(`${title}: ${found.length} differences${found.map((one) => `\n    ${one}`).join('')}`)
    if (differs === undefined) checks.check(found.length === 0, `${title}:\n    ${found.join('\n    ')}`)
    else checks.check(found.length > 0, `${title}: no difference any more`)
  }
}

async function main(): Promise<void> {
  const binary = process.env['METACONTROLLER']
  if (binary === undefined) {
    console.log('METACONTROLLER names no binary: the comparison with the real Metacontroller is skipped')
    return
  }
  const only = process.argv[2]
  const checks = new Checks()
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-metacontroller-'))
  try {
    await playAll(binary, folder, checks, only)
    if (only === undefined) await takeOver(binary, folder, checks)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  checks.close()
}

await main()
