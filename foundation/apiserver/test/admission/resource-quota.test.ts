// Admission by ResourceQuotas with its controller. Messages, scopes and names of resources are those of
// kube-apiserver 1.35.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { eventually } from '../../../../test/support/until.ts'
import { crd } from '../../../../test/support/crd.ts'
import { failureOf, TestApi } from '../support/api.ts'
import type { Answer } from '../support/api.ts'

const core = '/api/v1/namespaces/default'
const pods = `${core}/pods`
const configMaps = `${core}/configmaps`
const services = `${core}/services`
const claims = `${core}/persistentvolumeclaims`
const quotas = `${core}/resourcequotas`

let api: TestApi

beforeEach(async () => {
  api = await TestApi.start({ controllers: ['crd', 'resource-quota'] })
})
afterEach(() => api[Symbol.asyncDispose]())

async function statusOf(name: string): Promise<JsonObject> {
  const { body } = await api.get(`${quotas}/${name}`)
  return body['status'] as JsonObject
}

async function usedOf(name: string): Promise<JsonValue | undefined> {
  return (await statusOf(name))['used']
}

/** Creates a quota and waits for its status. */
async function limit(name: string, hard: JsonObject, more: JsonObject = {}): Promise<void> {
  const { status, text } = await api.post(quotas, { metadata: { name }, spec: { hard, ...more } })
  expect(status, text).toBe(201)
  await eventually(async () => expect((await statusOf(name))['hard']).toBeDefined())
}

async function usage(name: string, expected: JsonObject): Promise<void> {
  await eventually(async () => expect(await usedOf(name)).toEqual(expected))
}

function pod(name: string, resources: JsonObject = {}, spec: JsonObject = {}): JsonObject {
  return { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i', resources }], ...spec } }
}

const configMap = (name: string): JsonObject => ({ metadata: { name } })

function refused(answer: Answer): unknown {
  const { status, message } = failureOf(answer)
  return [status, message]
}

test('measures what exists when a quota is created, and writes limits and usage to its status', async () => {
  await api.post(configMaps, configMap('a'))
  await api.post(pods, pod('p', { requests: { cpu: '100m' }, limits: { cpu: '1', memory: '1Gi' } }))
  await limit('q', { configmaps: '5', 'count/pods': '3', pods: '3', 'requests.cpu': '1', 'limits.memory': '4Gi' })
  expect(await statusOf('q')).toEqual({
    hard: { configmaps: '5', 'count/pods': '3', pods: '3', 'requests.cpu': '1', 'limits.memory': '4Gi' },
    used: { configmaps: '1', 'count/pods': '1', pods: '1', 'requests.cpu': '100m', 'limits.memory': '1Gi' },
  })
})

test('refuses what exceeds a limit, naming only the exceeded ones', async () => {
  await limit('q', { pods: '1', 'requests.cpu': '1', 'requests.memory': '1Gi' })
  expect((await api.post(pods, pod('a', { requests: { cpu: '600m', memory: '1Mi' } }))).status).toBe(201)
  expect(refused(await api.post(pods, pod('b', { requests: { cpu: '500m', memory: '1Mi' } })))).toEqual([
    403,
    'pods "b" is forbidden: exceeded quota: q, requested: pods=1,requests.cpu=500m, used: pods=1,requests.cpu=600m, limited: pods=1,requests.cpu=1',
  ])
  expect(await usedOf('q')).toEqual({ pods: '1', 'requests.cpu': '600m', 'requests.memory': '1Mi' })
})

test('refuses containers without the cpu and memory that a quota limits', async () => {
  await limit('q', { 'requests.cpu': '1', 'limits.memory': '1Gi' })
  const found = await api.post(pods, pod('p', {}, { initContainers: [{ name: 'init', image: 'i' }] }))
  expect(refused(found)).toEqual([
    403,
    'pods "p" is forbidden: failed quota: q: must specify limits.memory for: c,init; requests.cpu for: c,init',
  ])
})

test('refuses objects while the usage of a limit is unknown', async () => {
  await using bare = await TestApi.start({ controllers: false })
  await bare.post(quotas, { metadata: { name: 'q' }, spec: { hard: { configmaps: '1' } } })
  expect((await bare.post(configMaps, configMap('before'))).status).toBe(201)
  await bare.send(
    'PATCH',
    `${quotas}/q/status`,
    { status: { hard: { configmaps: '1' } } },
    { contentType: 'application/merge-patch+json' },
  )
  expect(refused(await bare.post(configMaps, configMap('a')))).toEqual([
    403,
    'configmaps "a" is forbidden: status unknown for quota: q, resources: configmaps',
  ])
})

test('admits exactly as many of many concurrent creations as the limit allows', async () => {
  await limit('q', { 'count/configmaps': '10' })
  await limit('second', { configmaps: '12' })
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, index) => api.post(configMaps, configMap(`m${index}`))),
  )
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(10)
  expect(answers.filter(({ status }) => status === 403)).toHaveLength(50)
  await usage('q', { 'count/configmaps': '10' })
  await usage('second', { configmaps: '10' })
})

test('never exceeds a limit while objects are deleted, created and measured at once', async () => {
  await limit('q', { configmaps: '5' })
  let most = 0
  const watch = api.server.store.watch('configmaps.', api.server.store.revision, () => {
    most = Math.max(most, api.server.store.count('configmaps.', 'default/'))
  })
  await Promise.all(
    Array.from({ length: 20 }, async (_, writer) => {
      for (let round = 0; round < 10; round++) {
        const { status } = await api.post(configMaps, configMap(`m${writer}`))
        if (status === 201) await api.delete(`${configMaps}/m${writer}`)
      }
    }),
  )
  watch[Symbol.dispose]()
  expect(most).toBeGreaterThan(0)
  expect(most).toBeLessThanOrEqual(5)
  await usage('q', { configmaps: '0' })
})

test('releases the usage of deleted objects and of pods that have ended', async () => {
  await limit('q', { pods: '1', 'count/pods': '5', configmaps: '1' })
  await api.post(configMaps, configMap('a'))
  await api.post(pods, pod('p'))
  await usage('q', { configmaps: '1', 'count/pods': '1', pods: '1' })
  await api.delete(`${configMaps}/a`)
  await api.merge(`${pods}/p/status`, { status: { phase: 'Succeeded' } })
  await usage('q', { configmaps: '0', 'count/pods': '1', pods: '0' })
})

test('corrects the usage after a creation that failed behind admission', async () => {
  await api.post(configMaps, configMap('a'))
  await limit('q', { configmaps: '5' })
  expect((await api.post(configMaps, configMap('a'))).status).toBe(409)
  await usage('q', { configmaps: '1' })
})

test('checks dry runs without charging them', async () => {
  await limit('q', { configmaps: '1' })
  expect((await api.post(`${configMaps}?dryRun=All`, configMap('a'))).status).toBe(201)
  expect(await usedOf('q')).toEqual({ configmaps: '0' })
  await api.post(configMaps, configMap('a'))
  expect((await api.post(`${configMaps}?dryRun=All`, configMap('b'))).status).toBe(403)
})

test('measures again when the limits change, and raises the limit', async () => {
  await limit('q', { configmaps: '1' })
  await api.post(configMaps, configMap('a'))
  await api.merge(`${quotas}/q`, { spec: { hard: { configmaps: '2', secrets: '3' } } })
  await usage('q', { configmaps: '1', secrets: '0' })
  expect((await api.post(configMaps, configMap('b'))).status).toBe(201)
})

test('counts custom resources and resources of other groups as count/<resource>.<group>', async () => {
  await api.post(
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    crd({ group: 'example.com', kind: 'Widget' }) as unknown as JsonObject,
  )
  const widgets = '/apis/example.com/v1/namespaces/default/widgets'
  await eventually(async () => expect((await api.get(widgets)).status).toBe(200))
  await limit('q', { 'count/widgets.example.com': '1', 'count/leases.coordination.k8s.io': '1' })
  const widget = (name: string): JsonObject => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } })
  expect((await api.post(widgets, widget('a'))).status).toBe(201)
  expect(refused(await api.post(widgets, widget('b')))).toEqual([
    403,
    'widgets.example.com "b" is forbidden: exceeded quota: q, requested: count/widgets.example.com=1, used: count/widgets.example.com=1, limited: count/widgets.example.com=1',
  ])
  expect(await usedOf('q')).toEqual({ 'count/leases.coordination.k8s.io': '0', 'count/widgets.example.com': '1' })
})

test('counts node ports and load balancers of services, and charges changes of their type', async () => {
  await limit('q', { services: '5', 'services.nodeports': '1', 'services.loadbalancers': '1' })
  const service = (name: string, type: string, more: JsonObject = {}): JsonObject => ({
    metadata: { name },
    spec: { type, ports: [{ port: 80 }], ...more },
  })
  await api.post(services, service('a', 'LoadBalancer', { allocateLoadBalancerNodePorts: false }))
  await api.post(services, service('b', 'ClusterIP'))
  expect((await api.merge(`${services}/b`, { spec: { type: 'NodePort' } })).status).toBe(200)
  const found = await api.post(services, service('c', 'NodePort'))
  expect(refused(found)).toEqual([
    403,
    'services "c" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1',
  ])
  await usage('q', { services: '2', 'services.loadbalancers': '1', 'services.nodeports': '1' })
})

test('counts the storage of claims, in all and by storage class', async () => {
  const ofClass = 'fast.storageclass.storage.k8s.io/requests.storage'
  await limit('q', { 'requests.storage': '10Gi', [ofClass]: '2Gi', persistentvolumeclaims: '5' })
  const claim = (name: string, storage: string, storageClassName: string): JsonObject => ({
    metadata: { name },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage } } },
  })
  expect((await api.post(claims, claim('a', '2Gi', 'fast'))).status).toBe(201)
  expect((await api.post(claims, claim('b', '3Gi', 'slow'))).status).toBe(201)
  expect(refused(await api.post(claims, claim('c', '1Gi', 'fast')))).toEqual([
    403,
    `persistentvolumeclaims "c" is forbidden: exceeded quota: q, requested: ${ofClass}=1Gi, used: ${ofClass}=2Gi, limited: ${ofClass}=2Gi`,
  ])
  expect(await usedOf('q')).toEqual({ [ofClass]: '2Gi', persistentvolumeclaims: '2', 'requests.storage': '5Gi' })
})

describe('a quota with a scope', () => {
  const busy = { requests: { cpu: '1' } }
  const affinity = {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'zone', namespaces: ['other'], labelSelector: { matchLabels: { a: 'b' } } },
        ],
      },
    },
  }
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ['Terminating', { scopes: ['Terminating'] }, pod('in', {}, { activeDeadlineSeconds: 5 }), pod('out')],
    ['NotTerminating', { scopes: ['NotTerminating'] }, pod('in'), pod('out', {}, { activeDeadlineSeconds: 5 })],
    ['BestEffort', { scopes: ['BestEffort'] }, pod('in'), pod('out', busy)],
    ['NotBestEffort', { scopes: ['NotBestEffort'] }, pod('in', busy), pod('out')],
    ['CrossNamespacePodAffinity', { scopes: ['CrossNamespacePodAffinity'] }, pod('in', {}, affinity), pod('out')],
    [
      'PriorityClass In',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } },
      pod('in', {}, { priorityClassName: 'high' }),
      pod('out', {}, { priorityClassName: 'low' }),
    ],
    [
      'PriorityClass Exists',
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'Exists' }] } },
      pod('in', {}, { priorityClassName: 'low' }),
      pod('out'),
    ],
  ])('%s counts only the pods in it', async (_scope, spec, inside, outside) => {
    for (const name of ['high', 'low'])
      await api.post('/apis/scheduling.k8s.io/v1/priorityclasses', { metadata: { name }, value: 1 })
    await limit('q', { pods: '1' }, spec)
    const again = { ...inside, metadata: { name: 'again' } }
    const statuses: number[] = []
    for (const body of [inside, outside, again]) statuses.push((await api.post(pods, body)).status)
    expect(statuses).toEqual([201, 201, 403])
    await api.merge(`${quotas}/q`, { spec: { hard: { pods: '2' } } })
    await usage('q', { pods: '1' })
  })

  test('does not count other resources than pods', async () => {
    await limit('q', { pods: '1' }, { scopes: ['BestEffort'] })
    expect((await api.post(configMaps, configMap('a'))).status).toBe(201)
  })
})
