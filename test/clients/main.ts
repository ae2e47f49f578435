// `npm run test:clients`: clients that no one here wrote against the embedded server over HTTPS, one table of
// expectations for all of them: informers whose connections are cut, leader election whose leader is killed,
// server-side apply. Start with main().
import { isDeepStrictEqual } from 'node:util'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ApiServer } from '@fairlead/apiserver'
import { kind } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { Checks } from '../long/checks.ts'
import { seededRandom } from '../faults/random.ts'
import { ClientProgram } from './client-program.ts'
import type { ClientCommand, ClientLine } from './client-program.ts'
import { CuttingProxy } from './cutting-proxy.ts'
import { goClient, javaClient, nodeClient, pythonClientProgram } from './toolchains.ts'

const ConfigMap = kind<KubeObject & { data?: Record<string, string> }>('v1', 'ConfigMap', {
  plural: 'configmaps',
  namespaced: true,
})
const labels = { seen: 'yes' }
const names = 25
const writes = 400
const cutEvery = 80
/**
 * From here the server cannot be reached for a while, and what happens meanwhile is compacted: clients must list anew.
 */
const outageAt = 240
const checks = new Checks()

/** A server of its own for each role, behind a proxy whose connections can be cut. */
async function withServer(
  play: (server: ApiServer, proxy: CuttingProxy, kubeconfig: string) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-clients-'))
  try {
    await using server = await ApiServer.start({ authorization: 'RBAC' })
    const { host, port, url, kubeconfig } = await server.listen()
    await using proxy = await CuttingProxy.start({ host, port })
    const file = join(folder, 'kubeconfig')
    writeFileSync(file, kubeconfig.replaceAll(url, `https://${host}:${proxy.port}`), { mode: 0o600 })
    await play(server, proxy, file)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The last value of every existing name that a client has received. */
function seenBy(lines: readonly ClientLine[]): Record<string, string> {
  const seen = new Map<string, string>()
  for (const { event, name = '', n = '' } of lines) {
    if (event === 'add' || event === 'update') seen.set(name, n)
    else if (event === 'delete') seen.delete(name)
  }
  return Object.fromEntries([...seen].toSorted())
}

async function informs(client: ClientCommand): Promise<string> {
  let summary = ''
  await withServer(async (server, proxy, kubeconfig) => {
    const admin = server.client()
    const random = seededRandom(7)
    const standing = new Map<string, string>()
    const write = async (i: number): Promise<void> => {
      const name = `seen-${Math.floor(random() * names)}`
      const n = String(i)
      if (!standing.has(name))
        await admin.create({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { namespace: 'default', name, labels },
          data: { n },
        })
      else if (random() < 0.15) {
        await admin.delete(ConfigMap, { namespace: 'default', name })
        standing.delete(name)
        return
      } else await admin.patch(ConfigMap, { namespace: 'default', name }, { merge: { data: { n } } })
      standing.set(name, n)
    }
    for (let i = 0; i < 30; i++) await write(i)
    await using program = new ClientProgram(client, ['informer', 'default'], kubeconfig)
    checks.check(
      await program.until((lines) => lines.some(({ event }) => event === 'synced')),
      `${client.name}: the informer synced ${program.errors}`,
    )
    for (let i = 30; i < writes; i++) {
      await write(i)
      if (i % cutEvery === 0) {
        proxy.cut()
        proxy.isDown = i === outageAt
      }
      if (i === outageAt + cutEvery / 2) {
        await server.store.compact(server.store.revision)
        proxy.isDown = false
      }
      await delay(5)
    }
    const wanted = (): Record<string, string> => Object.fromEntries([...standing].toSorted())
    const agrees = await program.until((lines) => isDeepStrictEqual(seenBy(lines), wanted()))
    checks.check(
      agrees,
      `${client.name}: the events add up to the list: ${JSON.stringify(seenBy(program.lines))} instead of ${JSON.stringify(wanted())} ${program.errors}`,
    )
    const last = new Map<string, number>()
    let events = 0
    for (const { event, name = '', n } of program.lines) {
      if (event !== 'add' && event !== 'update') continue
      events++
      checks.check(Number(n) > (last.get(name) ?? -1), `${client.name}: ${name} went from ${last.get(name)} to ${n}`)
      last.set(name, Number(n))
    }
    await program.end()
    await program.until((lines) => lines.at(-1)?.event === 'cache', 5_000)
    const cache = Object.fromEntries(Object.entries(program.lines.at(-1)?.objects ?? {}).toSorted())
    checks.check(isDeepStrictEqual(cache, wanted()), `${client.name}: its cache is the list`)
    summary = `${events} events of ${writes} writes over ${proxy.cuts} cuts and a compaction`
  })
  return summary
}

async function elects(client: ClientCommand): Promise<string> {
  const leads = (program: ClientProgram): boolean =>
    program.lines.findLast(({ event }) => event === 'leading' || event === 'stopped')?.event === 'leading'
  await withServer(async (_server, _proxy, kubeconfig) => {
    await using one = new ClientProgram(client, ['elect', 'default', 'leader', 'one'], kubeconfig)
    checks.check(await one.until(() => leads(one)), `${client.name}: the first candidate leads ${one.errors}`)
    await using two = new ClientProgram(client, ['elect', 'default', 'leader', 'two'], kubeconfig)
    await two.until(() => leads(two), 4_000)
    checks.check(leads(one) && !leads(two), `${client.name}: only one leads while it lives`)
    one.kill()
    checks.check(
      await two.until(() => leads(two), 20_000),
      `${client.name}: the second leads after the first has ended ${two.errors}`,
    )
  })
  return 'one leader at a time, taken over after a kill'
}

const applied: readonly ClientLine[] = [
  { event: 'applied', step: 'create', data: { a: '1', b: '1' }, managers: ['one Apply'] },
  { event: 'refused', step: 'conflict', code: 409, reason: 'Conflict' },
  { event: 'applied', step: 'force', data: { a: '2', b: '1' }, managers: ['one Apply', 'two Apply'] },
  { event: 'applied', step: 'drop', data: { a: '2', c: '3' }, managers: ['one Apply', 'two Apply'] },
]

async function applies(client: ClientCommand): Promise<string> {
  await withServer(async (_server, _proxy, kubeconfig) => {
    await using program = new ClientProgram(client, ['apply', 'default'], kubeconfig)
    await program.until((lines) => lines.length === applied.length)
    checks.check(
      isDeepStrictEqual(program.lines, applied),
      `${client.name}: applies: ${JSON.stringify(program.lines)} ${program.errors}`,
    )
  })
  return `${applied.length} applies with a conflict`
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-built-clients-'))
  try {
    for (const find of [nodeClient, pythonClientProgram, () => goClient(folder), () => javaClient(folder)]) {
      const found = find()
      if ('skipped' in found) {
        console.log(found.skipped)
        continue
      }
      for (const [role, play] of Object.entries({ informer: informs, 'leader election': elects, apply: applies })) {
        console.log(`${found.command.name}, ${role}: ${await play(found.command)}`)
      }
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  checks.close()
}

await main()
