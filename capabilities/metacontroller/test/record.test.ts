// `fairlead metacontroller record`: cases of the calls of running controllers, which `test` plays against the hook.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { KubeObject } from '@fairlead/kube'
import { afterAll, describe, expect, test } from 'vitest'
import { freePort } from '../../../test/support/free-port.ts'
import { until } from '../../../test/support/until.ts'
import type { SyncCase } from '../src/offline/sync-case.ts'
import * as copies from './copies.ts'
import { copyOf } from './hook.ts'
import type { Ran } from './run-command.ts'
import { runCommand } from './run-command.ts'
import { fleet, fleetResponse, hook, requestOf, set, stage, controller, ship, useHook } from './sync/fleet.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-record-'))
afterAll(() => rmSync(folder, { recursive: true }))
const file = join(folder, 'cases.json')

/** Records calls of a controller while something happens. */
async function recorded(
  name: string,
  { client, to, port, during }: { client: typeof stage.client; to: string; port: number; during: () => Promise<void> },
): Promise<Ran> {
  const end = new AbortController()
  const lines: string[] = []
  const running = runCommand('record', {
    arguments: [name, file],
    options: { to, port: String(port), count: '100' },
    client,
    signal: end.signal,
    onOutput: (text) => void lines.push(text),
  })
  await until('the command listens', () => lines.some((line) => line.startsWith('Recording ')))
  await during()
  end.abort()
  return running
}

const played = (): Promise<Ran> => runCommand('test', { arguments: [file], options: { hook: hook.url, resolve: [] } })

describe('the calls of a CompositeController', () => {
  useHook()

  test('are recorded as cases that hold for the same hook and fail for another one, without any credentials', async () => {
    const port = await freePort()
    const url = `http://user:secret-password@127.0.0.1:${port}`
    const secretRef = { name: 'token', namespace: 'default', key: 'token' }
    const hooks = {
      sync: { webhook: { url: `${url}/sync?key=secret-query`, authorization: { secretRef } } },
      customize: { webhook: { url: `${url}/customize` } },
    }
    const secret = (name: string, text: string): KubeObject =>
      ({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace: 'default', labels: { chart: 'yes' } },
        data: { token: Buffer.from(text).toString('base64') },
      }) as KubeObject
    hook.reply = (call) => {
      if (call.path !== '/customize') return { body: fleetResponse(requestOf(call)) }
      const labelSelector = { matchLabels: { chart: 'yes' } }
      return { body: { relatedResources: [{ apiVersion: 'v1', resource: 'secrets', labelSelector }] } }
    }
    await set({}, secret('token', 'secret-token'), controller({}, hooks))
    const { code, out } = await recorded('fleets', {
      client: stage.client,
      to: hook.url,
      port,
      during: async () => {
        await stage.apply(fleet(['a', 'b']))
        await stage.pass(3)
        await stage.apply(fleet(['b'], { flag: 'red' }))
        await stage.pass(3)
      },
    })
    const text = readFileSync(file, 'utf8')
    const { cases } = JSON.parse(text) as { cases: SyncCase[] }
    expect([code, out]).toEqual([0, `${cases.length} cases of fleets in ${file}`])
    expect(hook.calls.find(({ path }) => path.startsWith('/sync'))?.headers.authorization).toBe('Bearer secret-token')
    expect(text).not.toMatch(/secret-|c2VjcmV0/)
    expect(cases.map(({ want }) => want.writes?.map(({ op, ref }) => `${op} ${ref}`)).slice(0, 1)).toEqual([
      ['create ConfigMap/default/a', 'create ConfigMap/default/b'],
    ])
    expect(cases.flatMap(({ want }) => want.writes ?? [])).toContainEqual({ op: 'delete', ref: 'ConfigMap/default/a' })
    await expect(played()).resolves.toMatchObject({ code: 0 })
    hook.reply = () => ({ body: { children: [ship('other')] } })
    await expect(played()).resolves.toMatchObject({ code: 1 })
  })

  test('are not recorded without the address of the hooks', async () => {
    await set()
    const options = { to: undefined, port: '0', count: '1' }
    const ran = runCommand('record', { arguments: ['fleets', file], options, client: stage.client })
    expect(await stage.during(ran)).toMatchObject({ code: 2, err: expect.stringContaining('--to http://') })
  })
})

describe('the calls of a MapController', () => {
  copies.useHook()

  test('are recorded as cases that hold for the same hook', async () => {
    const port = await freePort()
    const map = { webhook: { url: `http://127.0.0.1:${port}/map` } }
    const outputResources = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }]
    const inputResources = [{ apiVersion: 'v1', resource: 'serviceaccounts' }]
    const account = (name: string): KubeObject =>
      ({
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name, namespace: 'default', labels: { copy: 'yes' } },
      }) as KubeObject
    copies.hook.reply = ({ body }) => ({ body: { outputs: [{ ...copyOf(body.input), kind: 'ConfigMap' }] } })
    await copies.set({}, copies.controller({ inputResources, outputResources }, { map }), copies.policy())
    const { code } = await recorded('copies', {
      client: copies.stage.client,
      to: copies.hook.url,
      port,
      during: async () => {
        await copies.stage.apply(account('a'))
        await copies.stage.pass(3)
        await copies.stage.client.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, 'default/a-copy')
        await copies.stage.pass(3)
      },
    })
    const { cases } = JSON.parse(readFileSync(file, 'utf8')) as { cases: SyncCase[] }
    expect([code, cases.map(({ want }) => want)]).toEqual([
      0,
      [0, 1].map(() => ({
        mapCalled: ['ServiceAccount/default/a'],
        writes: [{ op: 'create', ref: 'ConfigMap/default/a-copy' }],
      })),
    ])
    const ran = runCommand('test', { arguments: [file], options: { hook: copies.hook.url, resolve: [] } })
    await expect(ran).resolves.toMatchObject({ code: 0 })
  })
})
