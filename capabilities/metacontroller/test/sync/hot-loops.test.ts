// Children that made Metacontroller call hooks and write without end (specs/metacontroller.md §6): values that the server
// adds or stores in another form, null fields, and tolerations that admission adds.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { recorded } from '../../../../test/support/recorded-client.ts'
import { controller, fleet, hook, requestOf, set, ship, ships, stage, useHook } from './fleet.ts'

useHook()

const named = { name: 'a', labels: { fleet: 'north' } }
const service = { apiVersion: 'v1', kind: 'Service', metadata: named, spec: { ports: [{ port: 80 }] } }
const dns = {
  ...service,
  spec: { ports: ['TCP', 'UDP'].map((protocol) => ({ name: protocol.toLowerCase(), port: 53, protocol })) },
}
const noSelector = { ...service, metadata: { ...named, annotations: null }, spec: { ...service.spec, selector: null } }
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: named, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
const tolerations = [{ key: 'berth', operator: 'Exists', effect: 'NoSchedule' }]
const tolerant = { ...pod, spec: { ...pod.spec, tolerations } }

const quota = {
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: named,
  spec: { hard: { cpu: '1000m', memory: '0.5Gi' } },
}
const empties = { ...quota, metadata: { ...named, finalizers: [] }, spec: { hard: { cpu: '1' }, scopes: [] } }

const children: readonly (readonly [string, string, object])[] = [
  ['fields that the server adds', 'services', service],
  ['ports with the same number', 'services', dns],
  ['null fields', 'services', noSelector],
  ['tolerations that admission adds', 'pods', pod],
  ['tolerations of its own beside those that admission adds', 'pods', tolerant],
  ['quantities that the server stores in another form', 'resourcequotas', quota],
  ['empty lists', 'resourcequotas', empties],
]
const cases = children.flatMap(([title, resource, child]) =>
  ['InPlace', 'Recreate', 'RollingInPlace', 'RollingRecreate'].flatMap((method) =>
    ['dynamic-apply', 'server-side-apply'].map((strategy) => ({ title, resource, child, method, strategy })),
  ),
)

/** Returns what a write changes: the uid and the version of a child. */
async function versionOf(child: object): Promise<readonly (string | undefined)[]> {
  const { uid, resourceVersion } = (await stage.client.get(child as KubeObject, 'default/a')).metadata
  return [uid, resourceVersion]
}

test.each(cases)(
  '$title: $method with $strategy is silent, also after a restart and beside another manager',
  async ({ resource, child, method, strategy }) => {
    hook.reply = () => ({ body: { children: [child] } })
    const settings = { 'apply-strategy': strategy }
    const childResources = [{ apiVersion: 'v1', resource, updateStrategy: { method } }]
    await set({ settings }, controller({ childResources }), fleet([]))
    await stage.client.patch(child as KubeObject, 'default/a', { merge: { metadata: { labels: { note: 'n' } } } })
    const before = await versionOf(child)
    await stage.pass(3)
    await stage.stopControllers()
    await stage.startControllers({ settings })
    await stage.pass(3)
    hook.calls.length = 0
    await stage.pass(30)
    expect([hook.calls.length, await versionOf(child)]).toEqual([0, before])
  },
)

test.each(['InPlace', 'Recreate', 'RollingInPlace', 'RollingRecreate'])(
  '%s with dynamic-apply takes back what another manager changes or removes, and follows the hook',
  async (method) => {
    let cpu = '1000m'
    const wanted = (): object => ({ ...quota, spec: { hard: { ...quota.spec.hard, cpu } } })
    hook.reply = () => ({ body: { children: [wanted()] } })
    const childResources = [{ apiVersion: 'v1', resource: 'resourcequotas', updateStrategy: { method } }]
    await set({}, controller({ childResources }), fleet([]))
    const read = (): Promise<KubeObject & { spec?: { hard?: object } }> =>
      stage.client.get(quota as KubeObject, 'default/a')
    const [made] = await versionOf(quota)
    const limits: unknown[] = []
    const foreign: readonly JsonObject[] = [{ cpu: '5' }, { memory: null }, { pods: '3' }]
    for (const hard of foreign) {
      await stage.client.patch(quota as KubeObject, 'default/a', { merge: { spec: { hard } } })
      await stage.pass(3)
      limits.push((await read()).spec?.hard)
    }
    cpu = '2000m'
    await stage.apply(fleet([], { flag: 'other' }))
    await stage.pass(3)
    const { metadata, spec } = await read()
    const stored = { cpu: '1', memory: '512Mi' }
    expect([...limits, spec?.hard, metadata.uid === made]).toEqual([
      stored,
      stored,
      { ...stored, pods: '3' },
      { cpu: '2', memory: '512Mi', ...(method.includes('Recreate') ? {} : { pods: '3' }) },
      !method.includes('Recreate'),
    ])
  },
)

test.each(['Recreate', 'RollingInPlace'])(
  '%s with dynamic-apply is silent about an adopted child whose values the server stored in another form',
  async (method) => {
    hook.reply = () => ({ body: { children: [quota] } })
    const childResources = [{ apiVersion: 'v1', resource: 'resourcequotas', updateStrategy: { method } }]
    await set()
    await stage.apply({ ...quota, metadata: { ...named, namespace: 'default' } } as KubeObject)
    const [made] = await versionOf(quota)
    await stage.apply(controller({ childResources }), fleet([]))
    await stage.pass(3)
    hook.calls.length = 0
    await stage.pass(30)
    const [uid] = await versionOf(quota)
    expect([hook.calls.length, uid]).toEqual([0, made])
  },
)

test('Recreate with dynamic-apply recreates a changed child where dry runs of updates are refused', async () => {
  const childResources = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'Recreate' } }]
  hook.reply = (call) => ({ body: { children: [ship('a', requestOf(call).parent.spec.flag)] } })
  await set()
  await stage.stopControllers()
  const { client, transport } = recorded(stage.server.client())
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 400, reason: 'BadRequest' }
  transport.instead = ({ method, query }) =>
    method === 'PUT' && query?.dryRun !== undefined
      ? { status: 400, headers: {}, body: status, warnings: [] }
      : undefined
  await stage.startControllers({ controllerClient: () => client })
  await stage.apply(controller({ childResources }), fleet([], { flag: 'red' }))
  await stage.pass(3)
  const before = (await ships())['a']
  await stage.apply(fleet([], { flag: 'blue' }))
  await stage.pass(3)
  const after = (await ships())['a']
  expect([before?.data, after?.data, after?.metadata.uid === before?.metadata.uid]).toEqual([
    { flag: 'red' },
    { flag: 'blue' },
    false,
  ])
})

test.each(['InPlace', 'Recreate'])('%s with dynamic-apply takes back what a subresource changes', async (method) => {
  const labels = { fleet: 'north' }
  const template = { metadata: { labels }, spec: pod.spec }
  const kind = { apiVersion: 'apps/v1', kind: 'Deployment' }
  const deployment = { ...kind, metadata: named, spec: { replicas: 2, selector: { matchLabels: labels }, template } }
  hook.reply = () => ({ body: { children: [deployment] } })
  const childResources = [{ apiVersion: 'apps/v1', resource: 'deployments', updateStrategy: { method } }]
  await set({}, controller({ childResources }), fleet([]))
  await stage.client.patch(kind, 'default/a', { merge: { spec: { replicas: 5 } } }, { subresource: 'scale' })
  await stage.pass(3)
  const { spec } = (await stage.client.get(kind, 'default/a')) as KubeObject & { spec?: { replicas?: number } }
  expect(spec?.replicas).toBe(2)
})
