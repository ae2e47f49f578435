import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { JobRunner } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { patience } from '../../../test/support/until.ts'

const jobKind = { apiVersion: 'batch/v1', kind: 'Job' }
const node = process.execPath

let client: Client
const stack = new AsyncDisposableStack()

async function startRunner(runner: JobRunner, on: AsyncDisposableStack): Promise<Client> {
  const server = on.use(await ApiServer.start({ podLogs: runner.logs }))
  const manager = await Manager.start({ client: server.client(), setup: (made) => void runner.setUp(made) })
  on.defer(() => manager.stop())
  on.use(runner)
  return server.client()
}

beforeAll(async () => {
  client = await startRunner(new JobRunner({ mode: 'process' }), stack)
})
afterAll(() => stack.disposeAsync())

function job(
  name: string,
  command: readonly string[] | undefined,
  spec: JsonObject = {},
  container: JsonObject = {},
): KubeObject {
  return {
    ...jobKind,
    metadata: { name, namespace: 'default' },
    spec: {
      backoffLimit: 0,
      ...spec,
      template: {
        spec: {
          restartPolicy: 'Never',
          containers: [
            { name: 'c', image: 'i', ...(command === undefined ? {} : { command: [...command] }), ...container },
          ],
        },
      },
    },
  }
}

const conditionOf = ({ status }: KubeObject): string | undefined =>
  (status as { conditions?: readonly { type: string; status: string; reason: string }[] } | undefined)?.conditions
    ?.filter((one) => one.status === 'True')
    .map(({ type, reason }) => `${type} ${reason}`)
    .at(-1)

async function ended(
  made: KubeObject,
  by: Client = client,
): Promise<{ condition: string | undefined; log: string; phase: unknown }> {
  await by.create(made)
  const name = made.metadata.name!
  const done = await by.waitFor(jobKind, `default/${name}`, (one) => conditionOf(one) !== undefined, {
    timeout: patience,
  })
  const pod = (
    await by.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace: 'default', labelSelector: `job-name=${name}` })
  ).items.at(-1)
  const log =
    pod && (await by.send({ method: 'GET', path: `/api/v1/namespaces/default/pods/${pod.metadata.name!}/log` }))
  return {
    condition: conditionOf(done),
    log: String(log ?? ''),
    phase: (pod?.status as { phase?: string } | undefined)?.phase,
  }
}

describe('the job runner', () => {
  test('runs a command and keeps the output of both streams', async () => {
    expect(
      await ended(
        job('prints', [
          node,
          '-e',
          'console.log("out"); console.error("err"); console.log(process.argv[1])',
          'a b; $(c)',
        ]),
      ),
    ).toEqual({
      condition: 'Complete CompletionsReached',
      log: expect.stringMatching(/^(out\nerr\na b|err\nout\na b|out\na b).*\n/) as string,
      phase: 'Succeeded',
    })
  })

  test('passes literal variables, and none of its own environment', async () => {
    process.env['FAIRLEAD_TEST_SECRET'] = 'secret'
    const { log } = await ended(
      job(
        'environment',
        [node, '-e', 'console.log(process.env.GIVEN, process.env.FAIRLEAD_TEST_SECRET)'],
        {},
        { env: [{ name: 'GIVEN', value: 'yes' }] },
      ),
    )
    delete process.env['FAIRLEAD_TEST_SECRET']
    expect(log).toBe('yes undefined\n')
  })

  test.each([
    ['fails', [node, '-e', 'process.exit(3)'], {}, 'Failed BackoffLimitExceeded', ''],
    ['missing', ['/no/such/program'], {}, 'Failed BackoffLimitExceeded', 'cannot be started'],
    ['entrypoint', undefined, {}, 'Failed BackoffLimitExceeded', 'has no command'],
    ['late', [node, '-e', 'setInterval(() => {}, 1000)'], { activeDeadlineSeconds: 1 }, 'Failed DeadlineExceeded', ''],
    [
      'floods',
      [
        node,
        '-e',
        'const x = "x".repeat(65536); const go = () => { while (process.stdout.write(x)); process.stdout.once("drain", go) }; go()',
      ],
      {},
      'Failed BackoffLimitExceeded',
      'output exceeded',
    ],
  ] as const)('marks as failed the Job "%s"', async (name, command, spec, condition, log) => {
    const result = await ended(job(name, command, spec))
    expect(result).toMatchObject({ condition, phase: 'Failed' })
    expect(result.log).toContain(log)
  })

  test('kills the command of a Job that is deleted', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-test-'))
    await client.create(job('deleted', [node, '-e', 'console.log(process.pid); setInterval(() => {}, 1000)']))
    const { name } = (
      await client.waitFor(
        { apiVersion: 'v1', kind: 'Pod' },
        'default/deleted-0',
        ({ status }) => (status as { phase?: string }).phase === 'Running',
      )
    ).metadata
    const path = `/api/v1/namespaces/default/pods/${name!}/log`
    let pid = 0
    while (pid === 0) {
      pid = Number(await client.send({ method: 'GET', path }))
      await new Promise(setImmediate)
    }
    await client.delete(jobKind, 'default/deleted', { propagation: 'Background' })
    await client.waitForDeletion({ apiVersion: 'v1', kind: 'Pod' }, 'default/deleted-0')
    const isAlive = (): boolean => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    for (const end = performance.now() + patience; isAlive() && performance.now() < end;)
      await new Promise(setImmediate)
    expect(isAlive()).toBe(false)
    rmSync(folder, { recursive: true })
  })

  test('logs why a service account cannot be used', async () => {
    await using own = new AsyncDisposableStack()
    const runner = new JobRunner({
      mode: 'process',
      kubeconfigFor: async () => Promise.reject(new Error('serviceaccounts "x" not found')),
    })
    const by = await startRunner(runner, own)
    const result = await ended(job('account', ['true']), by)
    expect(result).toMatchObject({ condition: 'Failed BackoffLimitExceeded' })
    expect(result.log).toContain('serviceaccounts "x" not found')
  })

  test('takes over a Job whose pod ran when the runner ended', async () => {
    await using own = new AsyncDisposableStack()
    const server = own.use(await ApiServer.start())
    const by = server.client()
    const made = await by.create(job('survivor', [node, '-e', '']))
    await by.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'survivor-0',
        namespace: 'default',
        labels: { 'job-name': 'survivor', 'batch.kubernetes.io/controller-uid': made.metadata.uid! },
      },
      spec: { nodeName: 'fairlead', restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] },
    })
    for (const [kind, name, status] of [
      ['Pod', 'survivor-0', { phase: 'Running' }],
      ['Job', 'survivor', { startTime: new Date().toISOString().replace(/\.\d+/, ''), active: 1, ready: 1 }],
    ] as const) {
      await by.patch(
        kind === 'Pod' ? { apiVersion: 'v1', kind } : jobKind,
        { namespace: 'default', name },
        { merge: { status } },
        { subresource: 'status' },
      )
    }
    const runner = own.use(new JobRunner({ mode: 'process' }))
    const manager = await Manager.start({ client: by, setup: (started) => void runner.setUp(started) })
    own.defer(() => manager.stop())
    const done = await by.waitFor(jobKind, 'default/survivor', (one) => conditionOf(one) !== undefined, {
      timeout: patience,
    })
    expect(conditionOf(done)).toBe('Failed BackoffLimitExceeded')
  })

  test.each([
    ['nul', ['true', 'a\u0000b']],
    ['nothing', ['']],
    ['huge', ['true', 'x'.repeat(200_000)]],
  ])('ends a Job whose arguments the operating system refuses: %s', async (name, command) => {
    const result = await ended(job(`refused-${name}`, command))
    expect(result).toMatchObject({ condition: 'Failed BackoffLimitExceeded', phase: 'Failed' })
    expect(result.log).toContain('cannot be started')
    await client.delete(jobKind, `default/refused-${name}`, { propagation: 'Background' })
    await client.waitForDeletion({ apiVersion: 'v1', kind: 'Pod' }, `default/refused-${name}-0`)
  })

  describe('with a container engine', () => {
    let folder: string
    const path = process.env['PATH']
    const engines = new AsyncDisposableStack()
    let by: Client

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'fairlead-test-'))
      const source = `#!${node}
const { appendFileSync, readFileSync } = require('node:fs')
const argv = process.argv.slice(2)
appendFileSync(${JSON.stringify(join(folder, 'calls'))}, argv.slice(0, 2).join(' ') + '\\n')
const file = argv.find((one) => one.startsWith('--env-file='))
console.log(JSON.stringify({ argv, file: file && readFileSync(file.slice(11), 'utf8'), own: process.env.DOCKER_HOST ?? '' }))
`
      writeFileSync(join(folder, 'podman'), source, { mode: 0o755 })
      process.env['PATH'] = `${folder}:${path ?? ''}`
      by = await startRunner(new JobRunner({ mode: 'podman' }), engines)
    })
    afterAll(async () => {
      process.env['PATH'] = path
      await engines.disposeAsync()
      rmSync(folder, { recursive: true })
    })

    test.each(['--volume=/:/host', '--privileged', '-v', 'a b', 'i --privileged'])(
      'starts nothing for the image %j',
      async (image) => {
        const name = `image-${createHash('sha256').update(image).digest('hex').slice(0, 8)}`
        const result = await ended(job(name, ['sh'], {}, { image, args: ['alpine'] }), by)
        expect(result.condition).toBe('Failed BackoffLimitExceeded')
        expect(result.log).toContain('is not an image reference')
      },
    )

    test('passes variables to the container alone, in a file', async () => {
      const env = [
        { name: 'PATH', value: '/evil' },
        { name: 'DOCKER_HOST', value: 'tcp://evil' },
        { name: 'LINES', value: 'a\nb' },
      ]
      const { log } = await ended(job('variables', ['sh'], {}, { env }), by)
      const { argv, file, own } = JSON.parse(log) as { argv: string[]; file: string; own: string }
      expect(file).toBe('PATH=/evil\nDOCKER_HOST=tcp://evil\n')
      expect(argv).toContain('--env=LINES=a\nb')
      expect(argv.filter((one) => one.includes('evil'))).toEqual([])
      expect(own).toBe('')
    })

    test.each([
      [{ runAsNonRoot: true, runAsUser: 1001 }, '--user=1001'],
      [{ runAsUser: 5, runAsGroup: 6 }, '--user=5:6'],
      [{ runAsNonRoot: true }, '--user=65534'],
    ])('honours the security context %j', async (securityContext, option) => {
      const { log } = await ended(job(`user${option.replaceAll(/\D/g, '-')}e`, ['sh'], {}, { securityContext }), by)
      expect((JSON.parse(log) as { argv: string[] }).argv).toContain(option)
    })

    test('kills no container when a Job has ended', async () => {
      await ended(job('same', ['sh']), by)
      await by.delete(jobKind, 'default/same', { propagation: 'Background' })
      await by.waitForDeletion({ apiVersion: 'v1', kind: 'Pod' }, 'default/same-0')
      expect(readFileSync(join(folder, 'calls'), 'utf8')).not.toContain('kill')
    })

    test('passes the command unchanged', async () => {
      const { log } = await ended(job('engine', ['run.sh', '--privileged', 'a b']), by)
      expect((JSON.parse(log) as { argv: string[] }).argv).toEqual([
        'run',
        '--rm',
        '--init',
        '--sig-proxy=true',
        expect.stringMatching(/^--name=fairlead-[0-9a-f-]{36}$/),
        '--cap-drop=ALL',
        '--security-opt=no-new-privileges',
        '--entrypoint=run.sh',
        '--',
        'i',
        '--privileged',
        'a b',
      ])
    })
  })
})
