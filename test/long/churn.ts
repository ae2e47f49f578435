// `node test/long/churn.ts [MINUTES] [--seed S]`: `fairlead up` under writes and 200 watchers that resume, killed with
// -9 every 20 seconds. Holds: no acknowledged write lost, no watch event lost or doubled, memory and the data folder
// bounded. Start with main().
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isAlreadyExists, isNotFound, parseYaml } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { Ledger } from '../faults/ledger.ts'
import { seededRandom } from '../faults/random.ts'
import { UpProcess } from '../faults/up-process.ts'
import { Checks } from './checks.ts'
import { ResumingWatch } from './resuming-watch.ts'
import { WatchLog } from './watch-log.ts'
import { freePort } from '../support/free-port.ts'

const ConfigMap = kind<KubeObject & { data?: Record<string, string> }>('v1', 'ConfigMap', {
  plural: 'configmaps',
  namespaced: true,
})
const namespace = 'churn'
const writers = 4
const watchers = 200
const names = 300
const lifeMs = 20_000
/** Between two writes of one writer: the watchers read 200 times what is written. */
const pauseMs = 60
const maxResidentMiB = 400
const maxFolderMiB = 200

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' } },
})
const minutes = Number(positionals[0] ?? '10')
const random = seededRandom(Number(values.seed))
const checks = new Checks()

/** Acknowledged writes by revision: name and value, '' for a deletion. */
const acknowledged = new Map<number, { readonly name: string; readonly value: string }>()

async function write(client: Client, ledger: Ledger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await delay(pauseMs * (0.5 + random()))
    const name = `object-${Math.floor(random() * names)}`
    if (!ledger.begin(name)) continue
    const value = ledger.nextValue()
    try {
      if (ledger.exists(name) && random() < 0.15) {
        ledger.tries(name, undefined)
        await client.delete(ConfigMap, { namespace, name }, { signal })
        ledger.acknowledge(name, undefined)
      } else {
        ledger.tries(name, value)
        const written: KubeObject = ledger.exists(name)
          ? await client.patch(ConfigMap, { namespace, name }, { merge: { data: { n: value } } }, { signal })
          : await client.create(
              {
                apiVersion: 'v1',
                kind: 'ConfigMap',
                metadata: { namespace, name, labels: { churn: 'yes' } },
                data: { n: value },
              },
              { signal },
            )
        acknowledged.set(Number(written.metadata.resourceVersion), { name, value })
        ledger.acknowledge(name, value)
      }
    } catch (error) {
      if (isNotFound(error) || isAlreadyExists(error))
        checks.check(ledger.isUnsettled(name), `${name}: ${(error as Error).message}`)
      if (signal.aborted) ledger.leaveUnsettled(name)
    } finally {
      ledger.end(name)
    }
  }
}

async function readBack(client: Client, ledger: Ledger): Promise<void> {
  const found = await client.list(ConfigMap, { namespace, labelSelector: 'churn=yes' })
  const now = new Map(found.items.map((object) => [object.metadata.name as string, object.data?.['n']]))
  for (const name of ledger.names())
    checks.check(
      ledger.isPossible(name, now.get(name)),
      `${name} is ${now.get(name) ?? 'gone'} after the restart; acknowledged was ${ledger.describe(name)}`,
    )
  ledger.settle(now)
}

/** The server's resident memory in MiB; undefined where the system does not report it. */
function residentMiB(pid: number): number | undefined {
  try {
    const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kib === undefined ? undefined : Number(kib) / 1024
  } catch {
    return undefined
  }
}

function folderMiB(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size / 2 ** 20, 0)
}

/** The administrator's certificate out of a kubeconfig, for watches without a client library. */
function agentFor(kubeconfig: string): Agent {
  const config = parseYaml(readFileSync(kubeconfig, 'utf8')) as unknown as {
    readonly clusters: readonly [{ readonly cluster: Record<string, string> }]
    readonly users: readonly [{ readonly user: Record<string, string> }]
  }
  const decode = (text: string | undefined): string => Buffer.from(text ?? '', 'base64').toString()
  return new Agent({
    keepAlive: true,
    maxSockets: Infinity,
    ca: decode(config.clusters[0].cluster['certificate-authority-data']),
    cert: decode(config.users[0].user['client-certificate-data']),
    key: decode(config.users[0].user['client-key-data']),
  })
}

async function main(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-churn-'))
  const port = await freePort()
  const args = ['--port', String(port)]
  const ledger = new Ledger()
  const log = new WatchLog()
  const stopWatching = new AbortController()
  let watches: { watch: ResumingWatch; reader: ReturnType<WatchLog['reader']>; events: number; done: Promise<void> }[] =
    []
  let kills = 0
  let peak = 0
  const end = performance.now() + minutes * 60_000
  try {
    for (let isLast = false; ; kills++) {
      const server = await UpProcess.start(data, args)
      const client = await connect({ file: server.kubeconfig })
      await using _connection = client.transport
      if (kills === 0) {
        await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
        const { resourceVersion } = await client.list(ConfigMap, { namespace })
        const target = {
          host: '127.0.0.1',
          port,
          agent: agentFor(server.kubeconfig),
          path: `/api/v1/namespaces/${namespace}/configmaps`,
        }
        watches = Array.from({ length: watchers }, () => {
          const watch = new ResumingWatch(target, Number(resourceVersion))
          const entry = { watch, reader: log.reader(), events: 0, done: Promise.resolve() }
          entry.done = watch.run(
            stopWatching.signal,
            (event) => {
              // What the server makes by itself is no part of the churn.
              if (!event.name.startsWith('object-')) return
              entry.events++
              const wrong = entry.reader.take(event)
              checks.check(wrong === undefined, wrong ?? '')
            },
            (what) => checks.check(false, what),
          )
          return entry
        })
      } else await readBack(client, ledger)
      if (isLast) {
        for (
          const deadline = performance.now() + 60_000;
          performance.now() < deadline && watches.some(({ reader }) => reader.behind > 0);
        )
          await delay(100)
        await server.stop()
        break
      }
      const stop = new AbortController()
      const work = Array.from({ length: writers }, () => write(client, ledger, stop.signal))
      for (const until = performance.now() + lifeMs; performance.now() < until; await delay(500))
        peak = Math.max(peak, residentMiB(server.pid) ?? 0)
      await server.kill()
      stop.abort(new Error('the server was killed'))
      await Promise.all(work)
      isLast = performance.now() >= end
      console.log(
        `kill ${kills + 1}: ${ledger.acknowledged} acknowledged writes, ${log.length} events in the log, ${Math.round(peak)} MiB at most, ${folderMiB(data).toFixed(1)} MiB of data`,
      )
    }
    stopWatching.abort()
    await Promise.all(watches.map(({ done }) => done))
    for (const { reader } of watches)
      checks.check(reader.behind === 0, `a watcher ended ${reader.behind} events behind`)
    for (const [revision, { name, value }] of acknowledged) {
      const event = log.find(revision)
      checks.check(
        event?.name === name && event.value === value,
        `no watcher saw revision ${revision}, ${name} = ${value}`,
      )
    }
    checks.check(peak < maxResidentMiB, `the server took ${Math.round(peak)} MiB, more than ${maxResidentMiB}`)
    checks.check(
      folderMiB(data) < maxFolderMiB,
      `the data folder grew to ${folderMiB(data).toFixed(1)} MiB, more than ${maxFolderMiB}`,
    )
  } finally {
    stopWatching.abort()
    rmSync(data, { recursive: true, force: true })
  }
  const events = watches.reduce((sum, watch) => sum + watch.events, 0)
  const resumes = watches.reduce((sum, { watch }) => sum + watch.resumes, 0)
  console.log(
    `${minutes} min, ${kills} kills: ${acknowledged.size} acknowledged writes read back, ${events} events at ${watchers} watchers that connected again ${resumes} times, ${Math.round(peak)} MiB at most`,
  )
  checks.close()
  process.exit()
}

await main()
