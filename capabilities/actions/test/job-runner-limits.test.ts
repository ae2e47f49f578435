// What the job runner keeps and bounds: logs beyond a restart, pods that run at once, fields that need a kubelet.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JobRunner } from '@fairlead/actions'
import type { JobRunnerOptions } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { isConditionTrue } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually, patience } from '../../../test/support/until.ts'

const jobKind = { apiVersion: 'batch/v1', kind: 'Job' }
const podKind = { apiVersion: 'v1', kind: 'Pod' }
const node = process.execPath

let folder: string
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'fairlead-test-'))))
afterAll(() => rmSync(folder, { recursive: true }))

function job(name: string, script: string, container: JsonObject = {}, pod: JsonObject = {}): KubeObject {
  return {
    ...jobKind,
    metadata: { name, namespace: 'default' },
    spec: {
      backoffLimit: 0,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [{ name: 'c', image: 'i', command: [node, '-e', script], ...container }],
          ...pod,
        },
      },
    },
  }
}

const isEnded = ({ status }: KubeObject): boolean => {
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly Condition[] }
  return isConditionTrue(conditions, 'Complete') || isConditionTrue(conditions, 'Failed')
}

async function logOf(client: Client, name: string, query = ''): Promise<string> {
  const path = `/api/v1/namespaces/default/pods/${name}-0/log`
  const parameters = Object.fromEntries(new URLSearchParams(query))
  return String(await client.send({ method: 'GET', path, query: parameters }))
}

/** A server whose runner can be replaced, as by a restart. */
async function start(options: Partial<JobRunnerOptions>): Promise<{
  readonly client: Client
  readonly restart: () => Promise<void>
  readonly [Symbol.asyncDispose]: () => Promise<void>
}> {
  let runner = new JobRunner({ mode: 'process', ...options })
  const server = await ApiServer.start({ podLogs: (pod, query) => runner.logs(pod, query) })
  const launch = (): Promise<Manager> => Manager.start({ client: server.client(), setup: (made) => runner.setUp(made) })
  let manager = await launch()
  const stop = async (): Promise<void> => {
    await runner[Symbol.asyncDispose]()
    await manager.stop()
  }
  return {
    client: server.client(),
    async restart() {
      await stop()
      runner = new JobRunner({ mode: 'process', ...options })
      manager = await launch()
    },
    async [Symbol.asyncDispose]() {
      await stop()
      await server[Symbol.asyncDispose]()
    },
  }
}

describe('the logs of a job runner with a folder', () => {
  test('outlive the runner, and go with their pod', async () => {
    const logFolder = join(folder, 'logs')
    await using running = await start({ logFolder })
    const { client, restart } = running
    await client.create(job('kept', 'console.log("one"); console.log("two")'))
    await client.waitFor(jobKind, 'default/kept', isEnded, { timeout: patience })
    await restart()
    expect(await logOf(client, 'kept')).toBe('one\ntwo\n')
    expect(await logOf(client, 'kept', 'tailLines=1')).toBe('two\n')
    expect(readdirSync(logFolder).length).toBe(1)
    await client.delete(jobKind, 'default/kept', { propagation: 'Background' })
    await client.waitForDeletion(podKind, 'default/kept-0')
    await eventually(() => expect(readdirSync(logFolder)).toEqual([]))
  })

  test('are deleted at the next start when their pod was deleted meanwhile', async () => {
    const logFolder = join(folder, 'stale')
    await using running = await start({ logFolder })
    const { client } = running
    await client.create(job('other', 'console.log("x")'))
    await client.waitFor(jobKind, 'default/other', isEnded, { timeout: patience })
    await using next = await start({ logFolder })
    await next.client.create(job('first', 'console.log("x")'))
    await next.client.waitFor(jobKind, 'default/first', isEnded, { timeout: patience })
    await eventually(() => expect(readdirSync(logFolder).length).toBe(1))
  })
})

describe('a job runner', () => {
  test('runs as many pods at once as it may, and the others after them', async () => {
    await using running = await start({ maxRunning: 2 })
    const { client } = running
    const names = ['a', 'b', 'c', 'd', 'e']
    let most = 0
    for (const name of names) await client.create(job(name, 'setTimeout(() => {}, 50)'))
    await eventually(async () => {
      const { items } = await client.list(podKind, { namespace: 'default' })
      const phases = items.map(({ status }) => (status as { phase?: string } | undefined)?.phase)
      most = Math.max(most, phases.filter((phase) => phase === 'Running').length)
      expect(phases).toEqual(names.map(() => 'Succeeded'))
    })
    expect(most).toBeLessThanOrEqual(2)
  })

  test.each<readonly [string, JsonObject, JsonObject]>([
    ['env-from', { envFrom: [{ configMapRef: { name: 'x' } }] }, {}],
    ['value-from', { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'x', key: 'y' } } }] }, {}],
    ['init-containers', {}, { initContainers: [{ name: 'init', image: 'i' }] }],
    ['volumes', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }, { volumes: [{ name: 'v', emptyDir: {} }] }],
  ])('fails a Job rather than ignore what its command may depend on: %s', async (name, container, pod) => {
    await using running = await start({})
    const { client } = running
    await client.create(job(name, 'console.log("ran")', container, pod))
    await client.waitFor(jobKind, `default/${name}`, isEnded, { timeout: patience })
    expect(await logOf(client, name)).toMatch(/needs a kubelet/)
  })
})
