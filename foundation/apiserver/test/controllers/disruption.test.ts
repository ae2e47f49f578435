// The disruption controller on a whole server. The statuses and events are those of kube-controller-manager 1.35.4 for
// the same objects, apart from the Pod that no longer matches its budget.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { kind } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { FakeClock } from '@fairlead/kube'
import type { JsonObject, KubeObject, OwnerReference } from '@fairlead/kube'
import { ApiServer } from '@fairlead/apiserver'
import { crd } from '../../../../test/support/crd.ts'
import { patience, turns } from '../../../../test/support/until.ts'

const start = '2026-01-01T00:00:00Z'
const Budget = kind('policy/v1', 'PodDisruptionBudget', { plural: 'poddisruptionbudgets', namespaced: true })
const Pod = kind('v1', 'Pod', { plural: 'pods', namespaced: true })
const poll = { timeout: patience, interval: 1 }

let server: ApiServer
let client: Client
let clock: FakeClock
let namespace: string
let namespaces = 0

beforeAll(async () => {
  clock = new FakeClock(start)
  server = await ApiServer.start({ clock, controllers: ['crd', 'disruption'] })
  client = server.client()
})
afterAll(() => server[Symbol.asyncDispose]())

/** Creates a namespace for one test. */
async function useNamespace(): Promise<void> {
  namespace = `n${++namespaces}`
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
}

const create = (object: object): Promise<KubeObject> =>
  client.create({ ...object, metadata: { namespace, ...(object as KubeObject).metadata } } as KubeObject)

const controlledBy = ({ apiVersion, kind: name, metadata }: KubeObject): OwnerReference => ({
  apiVersion,
  kind: name,
  name: metadata.name!,
  uid: metadata.uid!,
  controller: true,
})

const podSpec = { containers: [{ name: 'c', image: 'i' }] }

/** Creates Pods `PREFIX-0`…, ready ones first. */
async function pods(
  prefix: string,
  count: number,
  { owner, ready = count, conditions = [] }: { owner?: KubeObject; ready?: number; conditions?: JsonObject[] } = {},
): Promise<void> {
  for (let index = 0; index < count; index++) {
    const name = `${prefix}-${index}`
    const ownerReferences = owner === undefined ? [] : [controlledBy(owner)]
    await create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { app: 'a' }, ownerReferences },
      spec: podSpec,
    })
    const isReady = { type: 'Ready', status: index < ready ? 'True' : 'False' }
    await setStatus(Pod, name, { phase: 'Running', conditions: [isReady, ...conditions] })
  }
}

const setStatus = (of: typeof Pod, name: string, status: JsonObject): Promise<KubeObject> =>
  client.patch(of, { namespace, name }, { merge: { status } }, { subresource: 'status' })

const template = { metadata: { labels: { app: 'a' } }, spec: podSpec }

function workload(name: string, replicas: number, of = 'ReplicaSet', owner?: KubeObject): Promise<KubeObject> {
  const ownerReferences = owner === undefined ? [] : [controlledBy(owner)]
  const isV1 = of === 'ReplicationController'
  return create({
    apiVersion: isV1 ? 'v1' : 'apps/v1',
    kind: of,
    metadata: { name, ownerReferences },
    spec: { replicas, selector: isV1 ? { app: 'a' } : { matchLabels: { app: 'a' } }, template },
  })
}

const budget = (spec: object, name = 'b'): Promise<KubeObject> =>
  create({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name },
    spec: { selector: { matchLabels: { app: 'a' } }, ...spec },
  })

async function statusOf(name = 'b'): Promise<JsonObject | undefined> {
  return (await client.get(Budget, { namespace, name }))['status'] as JsonObject | undefined
}

/** Returns the whole status of a budget at some generation. */
function status(
  [currentHealthy, desiredHealthy, expectedPods, disruptionsAllowed]: readonly [number, number, number, number],
  generation = 1,
): JsonObject {
  return {
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: disruptionsAllowed > 0 ? 'True' : 'False',
        reason: disruptionsAllowed > 0 ? 'SufficientPods' : 'InsufficientPods',
        message: '',
        observedGeneration: generation,
        lastTransitionTime: expect.any(String) as unknown as string,
      },
    ],
    observedGeneration: generation,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed,
  }
}

const evict = (name: string): Promise<unknown> =>
  client.send({
    method: 'POST',
    path: `/api/v1/namespaces/${namespace}/pods/${name}/eviction`,
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } },
  })

async function eventsAbout(name: string): Promise<readonly string[]> {
  const { items } = await client.list(kind<KubeObject>('v1', 'Event', { plural: 'events', namespaced: true }), {
    namespace,
    fieldSelector: `involvedObject.name=${name}`,
  })
  return items.map((event) => `${String(event['type'])} ${String(event['reason'])}: ${String(event['message'])}`)
}

describe('the status of a budget', () => {
  const replicas = (ready: number, count: number, wanted: number) => async (): Promise<void> => {
    await pods('p', count, { owner: await workload('r', wanted), ready })
  }
  test.each<[string, () => Promise<void>, object, readonly [number, number, number, number]]>([
    ['no pods, so that none may be disrupted', async () => {}, { minAvailable: 1 }, [0, 1, 0, 0]],
    ['a number of pods without a controller', () => pods('p', 3, { ready: 2 }), { minAvailable: 1 }, [2, 1, 3, 1]],
    ['a percentage of pods without a controller as none', () => pods('p', 3), { minAvailable: '50%' }, [3, 0, 0, 0]],
    ['a maximum of pods without a controller as none', () => pods('p', 3), { maxUnavailable: 1 }, [3, 0, 0, 0]],
    ['no limit as nothing that may be disrupted', () => pods('p', 2), {}, [2, 0, 0, 0]],
    ['a maximum of the replicas of a ReplicaSet', replicas(4, 4, 5), { maxUnavailable: 2 }, [4, 3, 5, 1]],
    ['a percentage, rounded up', replicas(7, 7, 7), { minAvailable: '50%' }, [7, 4, 7, 3]],
    ['a maximal percentage, rounded up', replicas(7, 7, 7), { maxUnavailable: '30%' }, [7, 4, 7, 3]],
    ['a maximum beyond the replicas', replicas(7, 7, 7), { maxUnavailable: 20 }, [7, 0, 7, 7]],
    [
      'a Deployment once, whose pods are of two ReplicaSets',
      async () => {
        const deployment = await workload('d', 4, 'Deployment')
        await pods('p', 3, { owner: await workload('r1', 3, 'ReplicaSet', deployment) })
        await pods('q', 2, { owner: await workload('r2', 2, 'ReplicaSet', deployment) })
      },
      { minAvailable: '75%' },
      [5, 3, 4, 2],
    ],
    [
      'a StatefulSet and a ReplicationController together, without a pod that has no controller',
      async () => {
        await pods('p', 2, { owner: await workload('s', 2, 'StatefulSet') })
        await pods('q', 3, { owner: await workload('r', 3, 'ReplicationController') })
        await pods('lone', 1)
      },
      { maxUnavailable: '40%' },
      [6, 3, 5, 3],
    ],
    [
      'a ReplicaSet whose owner names a version that is gone',
      async () => {
        const owner = await workload('r', 3)
        await pods('p', 1, { owner: { ...owner, apiVersion: 'apps/v1beta2' } })
      },
      { maxUnavailable: 1 },
      [1, 2, 3, 0],
    ],
    ['every pod for an empty selector', () => pods('p', 2), { selector: {}, minAvailable: 1 }, [2, 1, 2, 1]],
    ['no pod without a selector', () => pods('p', 2), { selector: null, minAvailable: 1 }, [0, 1, 0, 0]],
  ])('counts %s', async (_, prepare, spec, expected) => {
    await useNamespace()
    await prepare()
    await budget(spec)
    await expect.poll(() => statusOf(), poll).toEqual(status(expected))
  })

  test('follows the readiness, labels and deletion of pods, and the budget', async () => {
    await useNamespace()
    await pods('p', 3)
    await budget({ minAvailable: 1 })
    await expect.poll(() => statusOf(), poll).toEqual(status([3, 1, 3, 2]))
    await setStatus(Pod, 'p-0', { conditions: [{ type: 'Ready', status: 'False' }] })
    await expect.poll(() => statusOf(), poll).toEqual(status([2, 1, 3, 1]))
    await client.patch(Pod, { namespace, name: 'p-0' }, { merge: { metadata: { labels: { app: 'z' } } } })
    await expect.poll(() => statusOf(), poll).toEqual(status([2, 1, 2, 1]))
    await client.delete(Pod, { namespace, name: 'p-1' })
    await expect.poll(() => statusOf(), poll).toEqual(status([1, 1, 1, 0]))
    await client.patch(Budget, { namespace, name: 'b' }, { merge: { spec: { minAvailable: 0 } } })
    await expect.poll(() => statusOf(), poll).toEqual(status([1, 0, 1, 1], 2))
  })
})

test('evictions go as far as the budget allows', async () => {
  await useNamespace()
  await pods('p', 3, { owner: await workload('r', 3) })
  await budget({ maxUnavailable: 1 })
  await expect.poll(() => statusOf(), poll).toEqual(status([3, 2, 3, 1]))
  await evict('p-0')
  await expect.poll(() => statusOf(), poll).toEqual(status([2, 2, 3, 0]))
  await expect(evict('p-1')).rejects.toMatchObject({
    status: {
      code: 429,
      details: {
        causes: [
          { reason: 'DisruptionBudget', message: 'The disruption budget b needs 2 healthy pods and has 2 currently' },
        ],
      },
    },
  })
})

test('a budget of pods whose controller cannot be scaled says so, until it can', async () => {
  await useNamespace()
  const failed = (message: string): JsonObject => ({
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: 'False',
        reason: 'SyncFailed',
        message,
        lastTransitionTime: expect.any(String) as unknown as string,
      },
    ],
    currentHealthy: 0,
    desiredHealthy: 0,
    disruptionsAllowed: 0,
    expectedPods: 0,
  })
  const flock = { apiVersion: 'example.com/v1', kind: 'Flock', metadata: { name: 'f', uid: 'u' } }
  await pods('p', 2, { owner: flock })
  await budget({ maxUnavailable: 1 })
  await expect.poll(() => statusOf(), poll).toEqual(failed('no matches for kind "Flock" in version "example.com/v1"'))
  await expect
    .poll(() => eventsAbout('b'), poll)
    .toEqual([
      'Warning CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: no matches for kind "Flock" in version "example.com/v1"',
    ])

  // Definitions are established by timers.
  const laterStatus = async (): Promise<JsonObject | undefined> => {
    await clock.advance(1)
    return statusOf()
  }
  const definition = await client.create(crd({ group: 'example.com', kind: 'Flock' }))
  await expect.poll(laterStatus, poll).toEqual(failed('flocks.example.com does not implement the scale subresource'))

  const scale = { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' }
  await client.patch(definition, definition.metadata.name!, {
    json: [{ op: 'add', path: '/spec/versions/0/subresources', value: { scale } }],
  })
  await expect.poll(laterStatus, poll).toEqual(failed('found no controllers for pod "p-0"'))

  const owner = await create({
    apiVersion: 'example.com/v1',
    kind: 'Flock',
    metadata: { name: 'g' },
    spec: { replicas: 2 },
  })
  for (const name of ['p-0', 'p-1'])
    await client.patch(Pod, { namespace, name }, { merge: { metadata: { ownerReferences: [controlledBy(owner)] } } })
  await expect.poll(laterStatus, poll).toEqual(status([2, 1, 2, 1]))
})

test('an evicted pod counts as gone, and again when it is not deleted within two minutes', async () => {
  await useNamespace()
  await pods('p', 3)
  await budget({ minAvailable: 1 })
  await expect.poll(() => statusOf(), poll).toEqual(status([3, 1, 3, 2]))
  const at = (seconds: number): string => `${new Date(clock.now() + seconds * 1000).toISOString().slice(0, 19)}Z`
  const disruptedPods = { 'p-0': at(-121), 'p-1': at(-100), 'p-9': at(-1) }
  await setStatus(Budget, 'b', { disruptedPods })
  const awaited = { 'p-1': disruptedPods['p-1'] }
  await expect.poll(() => statusOf(), poll).toEqual({ ...status([2, 1, 3, 1]), disruptedPods: awaited })
  await clock.advance(21_000)
  await expect.poll(() => statusOf(), poll).toEqual(status([3, 1, 3, 2]))
  const note = `Warning NotDeleted: Pod was expected by PDB ${namespace}/b to be deleted but it wasn't`
  await expect.poll(async () => [await eventsAbout('p-0'), await eventsAbout('p-1')], poll).toEqual([[note], [note]])
})

test('a condition DisruptionTarget is withdrawn where the pod lives on for two minutes', async () => {
  await useNamespace()
  const lastTransitionTime = `${new Date(clock.now() - 60_000).toISOString().slice(0, 19)}Z`
  const target = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI', message: 'm' }
  const conditions = [{ ...target, lastTransitionTime }]
  await pods('p', 1, { conditions })
  await pods('kubelet', 1, { conditions: [{ ...target, reason: 'TerminationByKubelet', lastTransitionTime }] })
  await pods('ended', 1, { conditions })
  await setStatus(Pod, 'ended-0', { phase: 'Failed' })
  const found = async (name: string): Promise<unknown> => {
    const pod = await client.get(Pod, { namespace, name })
    return (pod['status'] as { conditions: JsonObject[] }).conditions.slice(1)
  }
  await clock.advance(59_000)
  await turns()
  expect(await found('p-0')).toMatchObject(conditions)
  await clock.advance(1_000)
  const now = `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
  await expect
    .poll(() => found('p-0'), poll)
    .toEqual([
      {
        type: 'DisruptionTarget',
        status: 'False',
        observedGeneration: 1,
        lastProbeTime: null,
        lastTransitionTime: now,
      },
    ])
  expect(await found('kubelet-0')).toMatchObject([{ status: 'True' }])
  expect(await found('ended-0')).toMatchObject([{ status: 'True' }])
})

test('events tell of budgets that select no pods, pods without a controller, and pods of two budgets', async () => {
  await useNamespace()
  const selector = {
    matchLabels: { app: 'a' },
    matchExpressions: [{ key: 'x', operator: 'NotIn', values: ['y', 'z'] }],
  }
  await budget({ maxUnavailable: 1, selector })
  await expect.poll(() => eventsAbout('b'), poll).toEqual(['Normal NoPods: No matching pods found'])
  await pods('p', 1)
  await expect
    .poll(() => eventsAbout('b'), poll)
    .toContain(
      'Warning UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:map[string]string{app: a,},' +
        'MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:x,Operator:NotIn,Values:[y z],},},}) were found to be unmanaged. ' +
        'As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. ' +
        'To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
    )
  await budget({ minAvailable: 1 }, 'second')
  await expect.poll(() => statusOf('second'), poll).toEqual(status([1, 1, 1, 0]))
  await setStatus(Pod, 'p-0', { conditions: [{ type: 'Ready', status: 'False' }] })
  await expect
    .poll(() => eventsAbout('p-0'), poll)
    .toEqual([
      `Warning MultiplePodDisruptionBudgets: Pod "${namespace}/p-0" matches multiple PodDisruptionBudgets: evictions of it fail`,
    ])
})
