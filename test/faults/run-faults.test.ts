// `fairlead run` over HTTPS with rights that are missing and kinds that fail, at its start and later: with leader
// election, with shards, and with webhooks. Nothing is deleted, nothing is made anew, and it goes on once the fault has
// passed. A sample of the rights and faults; FAIRLEAD_ALL_CASES tries all.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, kubeconfigText } from '@fairlead/apiserver'
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { manifests } from '../../examples/stage.ts'
import { runAccount } from '../support/run-account.ts'
import { RunProcess } from '../support/run-process.ts'
import { sampleOf } from '../support/sample.ts'
import { eventually } from '../support/until.ts'
import { DisturbedProxy } from './disturbed-proxy.ts'

const example = join(import.meta.dirname, '../../examples/secret-propagation')
const Secret = kind('v1', 'Secret')
const faults = [403, 404, 500, 'hang'] as const

let server: ApiServer
let proxy: DisturbedProxy
let admin: Client
let folder: string
let kubeconfig: string
let namespaces = 0

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fairlead-run-faults-'))
  kubeconfig = join(folder, 'account')
  server = await ApiServer.start({ authorization: 'RBAC' })
  const { url, certificateAuthority: ca } = await server.listen()
  admin = server.client({ manager: 'kubectl' })
  proxy = await DisturbedProxy.start({ url, ca })
  const { token } = await runAccount(admin, { url, ca }, [metacontroller])
  const user = { name: 'fairlead', token }
  writeFileSync(kubeconfig, kubeconfigText({ name: 'cluster', server: proxy.url, ca: proxy.ca, user }))
  await installDefinitions(admin, metacontroller.crds)
  for (const object of manifests(example))
    if (object.kind === 'CustomResourceDefinition') await installDefinitions(admin, [object])
    else await admin.apply(object)
})

afterAll(async () => {
  await proxy[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Milliseconds; all cases take more than an hour on a busy machine. */
const time = process.env['FAIRLEAD_ALL_CASES'] ? 7_200_000 : 120_000

/** Makes a namespace that receives the Secret. */
async function addNamespace(): Promise<string> {
  const name = `team-${++namespaces}`
  await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { receives: 'shared-secret' } } })
  return name
}

const hasCopy = (namespace: string): Promise<KubeObject> =>
  eventually(() => admin.get(Secret, { namespace, name: 'shared' }))

/** Returns the uids of all copies. */
async function copies(): Promise<Readonly<Record<string, string>>> {
  const { items } = await admin.list(Secret)
  const shared = items.filter(({ metadata }) => metadata.name === 'shared')
  return Object.fromEntries(shared.map(({ metadata }) => [metadata.namespace!, metadata.uid!]))
}

/** A running process, started anew where a fault has ended it. */
class Running implements AsyncDisposable {
  readonly #flags: readonly string[]
  #process: RunProcess | undefined
  #isStopped = false
  readonly #done: Promise<void>

  constructor(flags: readonly string[]) {
    this.#flags = ['--kubeconfig', kubeconfig, '--only', 'map', ...flags]
    this.#done = this.#keepRunning()
  }

  /** As a Deployment does: what ends is started again. */
  async #keepRunning(): Promise<void> {
    while (!this.#isStopped) {
      this.#process = await RunProcess.start(this.#flags).catch(() => undefined)
      if (this.#isStopped) await this.#process?.stop()
      await this.#process?.ended()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true
    proxy.heal()
    // It releases its Leases, for which the next one would have to wait otherwise.
    await this.#process?.stop()
    await this.#done
  }
}

/** Requests that fail before a fault ends; one that hangs stops what would send more. */
const failures = 3

/** Waits until a fault was met, or shown not to matter, ends it, and waits until the controller goes on. */
async function outlast(what: string, fault: (typeof faults)[number]): Promise<void> {
  const namespace = await addNamespace()
  try {
    await eventually(async () => {
      if (proxy.failed < (fault === 'hang' ? 1 : failures)) await admin.get(Secret, { namespace, name: 'shared' })
    })
    proxy.heal()
    await hasCopy(namespace)
  } catch (error) {
    throw new Error(`${what}: ${proxy.failed} requests failed; ${(error as Error).message}`, { cause: error })
  }
}

const modes = {
  'leader election': [],
  shards: ['--shards', '2'],
  webhooks: ['--webhooks=true'],
} as const

test.each(Object.entries(modes))(
  'with %s, a fault at the start or later deletes nothing',
  { timeout: time },
  async (mode, flags) => {
    const team = await addNamespace()
    proxy.used.clear()
    {
      await using _running = new Running(flags)
      await hasCopy(team)
    }
    const rights = [...proxy.used].toSorted()
    expect(rights).toContain('watch secretpropagations.examples.fairlead.dev')
    const all = rights.flatMap((right) => faults.map((fault) => ({ right, fault })))
    const before = await copies()
    const log: string[] = []
    for (const { right, fault } of sampleOf(all, 41)) {
      proxy.begin(right, fault)
      await using _running = new Running(flags)
      await outlast(`${right} ${fault} at the start`, fault)
      log.push(`${right} ${fault} start`)
    }
    await using _running = new Running(flags)
    await hasCopy(await addNamespace())
    for (const { right, fault } of sampleOf(all, 23)) {
      proxy.begin(right, fault)
      await outlast(`${right} ${fault} later`, fault)
      log.push(`${right} ${fault} later`)
    }
    console.log(`${mode}: ${rights.length} rights, ${log.length} faults tried`)
    expect(proxy.deletions).toEqual([])
    expect(await copies()).toMatchObject(before)
  },
)
