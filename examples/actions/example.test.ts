import { fileURLToPath } from 'node:url'
import { JobRunner, actions, crds, defaults } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { CustomResourceDefinition } from '@fairlead/client'
import type { ApiResponse, Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Command } from '@fairlead/controller'
import { isConditionTrue } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { manifests } from '../stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const trader = '?apiVersion=apps/v1&kind=Deployment&namespace=stocktrader&name=trader'

let server: ApiServer
let admin: Client
const stack = new AsyncDisposableStack()

beforeAll(async () => {
  const runner = stack.use(new JobRunner({ mode: 'process' }))
  server = stack.use(await ApiServer.start({ authorization: 'RBAC', podLogs: runner.logs }))
  admin = server.client({ manager: 'kubectl' })
  const manager = stack.use(
    await Manager.start({ client: server.client(), crds, setup: (started) => runner.setUp(started) }),
  )
  const instance = await actions.setup(manager, { resolve: new Map(), signal: new AbortController().signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  // As "fairlead up" does, and without force: the example conflicts with no default object.
  const installer = server.client({ manager: 'fairlead-defaults' })
  for (const object of defaults) await installer.apply(object)
  for (const object of manifests(folder)) {
    await admin.apply(object)
    if (object.kind === 'CustomResourceDefinition')
      await admin.waitFor(CustomResourceDefinition, object.metadata.name!, (made) =>
        isConditionTrue(made.status?.conditions, 'Established'),
      )
  }
  await admin.waitFor(
    { apiVersion: 'actions.kappnav.io/v1', kind: 'KindActionMapping' },
    'appsody/appsody',
    ({ status }) => status !== undefined,
  )
})

afterAll(() => stack.disposeAsync())

const as = (name: string): Client => server.client({ as: { name, groups: ['system:authenticated'] } })

async function call(client: Client, method: 'GET' | 'POST', path: string, body?: JsonObject): Promise<ApiResponse> {
  const [bare = '', query = ''] = path.split('?')
  return client.sendRaw({
    method,
    path: bare,
    query: Object.fromEntries(new URLSearchParams(query)),
    ...(body === undefined ? {} : { body }),
  })
}

/** Runs `fairlead actions …` and returns its exit code and output. */
async function fairlead(
  name: string,
  args: readonly (string | readonly string[] | undefined)[],
  options: Readonly<Record<string, unknown>> = {},
): Promise<{ code: number; out: string; err: string }> {
  const command = (await actions.commands!()).find((one) => one.name === name) as Command
  const out: string[] = []
  const err: string[] = []
  const running = command.run({
    arguments: args,
    options,
    stdin: async () => '',
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
    client: async () => admin,
    signal: new AbortController().signal,
  })
  // As the program does.
  const code = await running.catch((error: Error) => {
    err.push(error.message)
    return error instanceof CommandError ? error.exitCode : 1
  })
  return { code, out: out.join('\n'), err: err.join('\n') }
}

const seedCandidates = [
  'stocktrader.actions.deployment-liberty.trader (instance specific, precedence 1)',
  'appsody.actions.deployment-liberty (subkind specific, precedence 2)',
  'kappnav.actions.deployment-liberty (subkind specific, precedence 1)',
  'appsody.actions.deployment (kind specific, precedence 2)',
  'kappnav.actions.deployment (kind specific, precedence 1)',
]

describe('the actions example', () => {
  test("explains the seed's five candidates in the seed's order, with their states", async () => {
    const { code, out, err } = await fairlead('why', ['deployment/trader'])
    const [candidates = '', results = ''] = out.split('\n\n')
    expect(candidates.split('\n').map((line) => line.split(' in ')[0])).toEqual(seedCandidates)
    expect(candidates.split('\n').map((line) => line.split(': ').at(-1))).toEqual([
      'merged',
      'not found',
      'not found',
      'merged, replaces what follows',
      'cut by a map with policy replace',
    ])
    expect(results).toBe(
      '\nurl klog: from stocktrader/stocktrader.actions.deployment-liberty.trader, instead of appsody/appsody.actions.deployment\nurl appsody-action: from appsody/appsody.actions.deployment\ncmd trace: from stocktrader/stocktrader.actions.deployment-liberty.trader\n  runs echo trace of ${resource.$.metadata.name} set to ${input.spec} at ${input.level} in busybox:1.36'.trim(),
    )
    expect(err).toContain('using the one in stocktrader')
    expect(code).toBe(0)
  })

  test("prints the five lines for the seed's objects as written, without a cluster", async () => {
    const { code, out } = await fairlead('why', [undefined], {
      filename: [`${folder}/seed/trader.yaml`],
      kam: [`${folder}/seed/mappings.yaml`],
    })
    expect(out.split('\n').map((line) => line.split(' in ')[0])).toEqual(seedCandidates)
    expect(code).toBe(0)
  })

  test('lists the actions of the trader', async () => {
    const { out } = await fairlead('list', ['deployment/trader'], { namespace: 'stocktrader' })
    expect(out.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
      ['TYPE', 'NAME'],
      ['url', 'klog'],
      ['url', 'appsody-action'],
      ['cmd', 'trace'],
    ])
  })

  test('runs a command with inputs, and prints its log and history', async () => {
    const ran = await fairlead('run', ['deployment/trader', 'trace'], {
      namespace: 'stocktrader',
      input: ['spec=*=all; $(reboot)'],
      wait: true,
    })
    expect(ran).toMatchObject({ code: 0, err: '' })
    expect(ran.out).toContain('trace of trader set to *=all; $(reboot) at fine')
    const job = /job\.batch\/(\S+) created/.exec(ran.out)![1]!
    const history = await fairlead('history', [], {})
    expect(history.out).toMatch(new RegExp(`Succeeded +trace +Deployment stocktrader/trader .* kappnav/${job}`))
    expect((await fairlead('logs', [`kappnav/${job}`])).out).toBe('trace of trader set to *=all; $(reboot) at fine\n')
  })

  test('resolves a url action with a snippet', async () => {
    const { out } = await fairlead('run', ['deployment/trader', 'klog'], { namespace: 'stocktrader' })
    expect(out).toBe(
      'https://kibana.example.com:8443/kibana/app/kibana#/discover?query=kubernetes.namespace%3Astocktrader%20and%20kubernetes.labels.app%3Atrader',
    )
  })

  test('refuses inputs that a validator refuses', async () => {
    expect(
      await fairlead('run', ['deployment/trader', 'trace'], { namespace: 'stocktrader', input: ['spec=all'] }),
    ).toEqual({
      code: 1,
      out: '',
      err: 'validation-error: "spec": should be of the form package=level',
    })
  })

  test('runs the command over HTTP for a user with the right', async () => {
    const menu = await call(as('trudy'), 'GET', `/api/actions${trader}`)
    expect(
      (menu.body as { actions: { name: string; isAllowed: boolean }[] }).actions.map(({ name, isAllowed }) => [
        name,
        isAllowed,
      ]),
    ).toEqual([
      ['klog', true],
      ['appsody-action', true],
      ['trace', true],
    ])
    const answer = await call(as('trudy'), 'POST', `/api/actions/trace/run${trader}`, {
      inputs: { spec: 'a=b', level: 'finest' },
      application: { name: 'stock-trader', namespace: 'stocktrader' },
    })
    expect(answer.status).toBe(200)
    const [job] = (answer.body as { jobs: readonly { metadata: { name: string; labels: JsonValue } }[] }).jobs
    expect(job!.metadata.labels).toMatchObject({
      'kappnav-job-application-name': 'stock-trader',
      'kappnav-job-component-sub-kind': 'liberty',
    })
    await admin.waitFor(
      { apiVersion: 'batch/v1', kind: 'Job' },
      `kappnav/${job!.metadata.name}`,
      ({ status }) => (status as { succeeded?: number } | undefined)?.succeeded === 1,
    )
    const logs = await call(as('trudy'), 'GET', `/api/actions/logs?namespace=kappnav&job=${job!.metadata.name}`)
    expect(logs.body).toEqual({
      logs: [{ pod: `${job!.metadata.name}-0`, text: 'trace of trader set to a=b at finest\n' }],
    })
  })

  test('responds with 403 to users without the right to run or to see', async () => {
    const before = (await admin.list({ apiVersion: 'batch/v1', kind: 'Job' }, { namespace: 'kappnav' })).items.length
    const menu = await call(as('victor'), 'GET', `/api/actions${trader}`)
    expect(
      (menu.body as { actions: { name: string; isAllowed: boolean }[] }).actions.map(({ name, isAllowed }) => [
        name,
        isAllowed,
      ]),
    ).toEqual([
      ['klog', true],
      ['appsody-action', true],
      ['trace', false],
    ])
    const answer = await call(as('victor'), 'POST', `/api/actions/trace/run${trader}`, { inputs: { spec: 'a=b' } })
    expect(answer).toMatchObject({
      status: 403,
      body: {
        kind: 'Status',
        reason: 'Forbidden',
        message:
          'forbidden: actions.actions.kappnav.io "trace" is forbidden: User "victor" cannot run resource "actions" in API group "actions.kappnav.io" in the namespace "stocktrader"',
      },
    })
    expect((await call(as('nobody'), 'GET', `/api/actions${trader}`)).status).toBe(403)
    expect((await admin.list({ apiVersion: 'batch/v1', kind: 'Job' }, { namespace: 'kappnav' })).items.length).toBe(
      before,
    )
  })

  test('lists the components of the Application with their menus in one call', async () => {
    const { body } = await call(as('trudy'), 'GET', '/api/actions/components?namespace=stocktrader&name=stock-trader')
    const { components, unknown } = body as {
      components: { resource: { kind: string }; actions: { name: string }[] }[]
      unknown: string[]
    }
    expect(components.map(({ resource, actions: found }) => [resource.kind, ...found.map(({ name }) => name)])).toEqual(
      [
        ['Deployment', 'klog', 'appsody-action', 'trace'],
        ['Service', 'detail', 'events'],
      ],
    )
    expect(unknown).toEqual([])
    const path = '/api/actions/components?namespace=stocktrader&name=stock-trader&form=shared'
    const { items, ...shared } = (await call(as('trudy'), 'GET', path)).body as {
      items: object[]
      components: { actions: number[] }[]
    }
    const whole = shared.components.map((one) => ({ ...one, actions: one.actions.map((position) => items[position]) }))
    expect({ ...shared, components: whole }).toEqual(body)
    expect(new Set(items.map((item) => JSON.stringify(item))).size).toBe(items.length)
    expect(await call(as('trudy'), 'GET', path.replace('shared', 'other'))).toMatchObject({ status: 400 })
  })

  test('reports in the status of mappings that all rules are used', async () => {
    const { status } = await admin.get(
      { apiVersion: 'actions.kappnav.io/v1beta1', kind: 'KindActionMapping' },
      'appsody/appsody',
    )
    expect(status).toMatchObject({
      rules: 2,
      maps: { found: ['appsody/appsody.actions.deployment'], missing: ['appsody/appsody.actions.deployment-liberty'] },
      conditions: [
        { type: 'Accepted', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    })
  })
})
