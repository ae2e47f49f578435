// `npm run test:kill -- N [--seed S]`: `fairlead up` killed with -9 N times while objects are written and maps work.
// Holds: nothing acknowledged is lost, the outputs converge, nothing is made twice. Start with main().
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { connect, kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { isAlreadyExists, isNotFound } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { HookServer } from './hook-server.ts'
import { Ledger } from './ledger.ts'
import { manifests, namespace, outputPrefix } from './kill-manifests.ts'
import { seededRandom } from './random.ts'
import { UpProcess } from './up-process.ts'

const ConfigMap = kind<KubeObject & { data?: Record<string, string> }>('v1', 'ConfigMap', {
  plural: 'configmaps',
  namespaced: true,
})
const Secret = kind<KubeObject & { data?: Record<string, string> }>('v1', 'Secret', {
  plural: 'secrets',
  namespaced: true,
})
const inputs = { namespace, labelSelector: 'kill=input' }
const outputs = { namespace, labelSelector: 'metacontroller.k8s.io/map-key' }
const writers = 8
const names = 60
const convergeMs = 60_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string', default: '1' } },
})
const rounds = Number(positionals[0] ?? '20')
const random = seededRandom(Number(values.seed))
const pick = (from: number, to: number): number => from + Math.floor(random() * (to - from))

let checks = 0
const failures: string[] = []
function check(holds: boolean, what: string): void {
  checks++
  if (!holds && failures.push(what) <= 20) console.log(`  FAILED: ${what}`)
}

/** Writes until the server is killed; the ledger holds every acknowledged write. */
async function write(client: Client, ledger: Ledger, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const name = `input-${pick(0, names)}`
    if (!ledger.begin(name)) {
      await delay(1)
      continue
    }
    const value = ledger.nextValue()
    try {
      if (ledger.exists(name) && random() < 0.1) {
        ledger.tries(name, undefined)
        await client.delete(ConfigMap, { namespace, name }, { signal })
        ledger.acknowledge(name, undefined)
      } else {
        ledger.tries(name, value)
        const object = {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace, name, labels: { kill: 'input' } },
          data: { n: value },
        }
        if (ledger.exists(name))
          await client.patch(ConfigMap, { namespace, name }, { merge: { data: { n: value } } }, { signal })
        else await client.create(object, { signal })
        ledger.acknowledge(name, value)
      }
    } catch (error) {
      // Without a response either state is possible; the next read settles it. A refusal here would be a lost or
      // doubled write.
      if (isNotFound(error) || isAlreadyExists(error))
        check(ledger.isUnsettled(name), `${name}: ${(error as Error).message}`)
      if (signal.aborted) ledger.leaveUnsettled(name)
    } finally {
      ledger.end(name)
    }
  }
}

async function readBack(client: Client, ledger: Ledger): Promise<void> {
  const found = await client.list(ConfigMap, inputs)
  const now = new Map(found.items.map((object) => [object.metadata.name as string, object.data?.['n']]))
  for (const name of ledger.names()) {
    check(
      ledger.isPossible(name, now.get(name)),
      `${name} is ${now.get(name) ?? 'gone'} after the restart; acknowledged was ${ledger.describe(name)}`,
    )
  }
  ledger.settle(now)
}

/** Waits until there is exactly the output of every input, and checks that none was ever made anew. */
async function converge(client: Client, ledger: Ledger, uids: Map<string, string>, isLast: boolean): Promise<void> {
  const deadline = performance.now() + convergeMs
  let wrong: string[] = []
  for (;;) {
    const wanted = new Map(
      (await client.list(ConfigMap, inputs)).items.map((object) => [
        `${outputPrefix}${object.metadata.name}`,
        object.data?.['n'] ?? '',
      ]),
    )
    const made = (await client.list(Secret, outputs)).items
    wrong = [
      ...made
        .filter((object) => !wanted.has(object.metadata.name as string))
        .map((object) => `${object.metadata.name} has no input`),
      ...[...wanted].flatMap(([name, value]) => {
        const same = made.filter((object) => object.metadata.name === name)
        const stands = Buffer.from(same[0]?.data?.['n'] ?? '', 'base64').toString()
        return same.length === 1 && stands === value
          ? []
          : [`${name}: ${same.length} outputs, value ${stands} instead of ${value}`]
      }),
    ]
    if (wrong.length === 0) {
      for (const object of made) {
        const name = object.metadata.name as string
        const before = uids.get(name)
        const source = name.slice(outputPrefix.length)
        check(
          before === undefined || before === object.metadata.uid || ledger.wasDeleted(source),
          `${name} was made twice`,
        )
        uids.set(name, object.metadata.uid as string)
      }
      for (const name of uids.keys()) if (!wanted.has(name)) uids.delete(name)
      ledger.forgetDeletions()
      break
    }
    if (performance.now() > deadline) break
    await delay(50)
  }
  check(
    wrong.length === 0,
    `outputs did not converge within ${convergeMs / 1000} s${isLast ? ' at the end' : ''}: ${wrong.slice(0, 5).join('; ')}`,
  )
}

async function main(): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-kill-'))
  await using hook = await HookServer.start()
  const ledger = new Ledger()
  const uids = new Map<string, string>()
  let acknowledged = 0
  try {
    for (let round = 0; round <= rounds; round++) {
      const server = await UpProcess.start(data)
      const client = await connect({ file: server.kubeconfig })
      await using _connection = client.transport
      if (round === 0)
        for (const object of manifests(hook.url)) await client.apply(object, { manager: 'kubectl', force: true })
      else await readBack(client, ledger)
      await converge(client, ledger, uids, round === rounds)
      if (round === rounds) {
        await server.stop()
        break
      }
      const stop = new AbortController()
      const work = Array.from({ length: writers }, () => write(client, ledger, stop.signal))
      await delay(pick(200, 1500))
      await server.kill()
      stop.abort(new Error('the server was killed'))
      await Promise.all(work)
      acknowledged = ledger.acknowledged
      console.log(
        `round ${round + 1} of ${rounds}: killed after ${acknowledged} acknowledged writes, ${hook.calls} hook calls`,
      )
    }
  } finally {
    rmSync(data, { recursive: true, force: true })
  }
  console.log(`${rounds} kills, ${acknowledged} acknowledged writes, ${hook.calls} hook calls`)
  console.log(`${checks - failures.length} passed, ${failures.length} failed`)
  process.exitCode = failures.length === 0 ? 0 : 1
}

await main()
