// A MapController over HTTPS, and with no more rights than it is granted.
import type { ApiServer } from '@fairlead/apiserver'
import { Client, HttpsTransport, parseKubeconfig } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import type { MapController } from '@fairlead/metacontroller'
import { metacontroller } from '@fairlead/metacontroller'
import { describe, expect, test } from 'vitest'
import { clusterRoleFor } from '../src/engine/grants.ts'
import {
  conditionOf,
  configMaps,
  controller,
  hook,
  input,
  mapControllers,
  names,
  policies,
  policy,
  secrets,
  stage,
  startStage,
  useHook,
} from './copies.ts'

useHook()

describe('a MapController over HTTPS', () => {
  const transports: HttpsTransport[] = []
  const controllerClient = async (server: ApiServer): Promise<Client> => {
    const { kubeconfig } = await server.listen()
    const transport = new HttpsTransport(await parseKubeconfig(kubeconfig).connection())
    transports.push(transport)
    return new Client({ transport, clock: server.clock })
  }
  const eventually = async (holds: () => Promise<boolean>): Promise<void> => {
    for (let steps = 0; !(await holds()); steps++) {
      if (steps > 5000) throw new Error('The condition was not met in time')
      await stage.clock.advance(1)
    }
  }

  test('makes one call and one write for each change, and none for its own writes', async () => {
    await startStage({ controllerClient })
    for (const object of [policies, controller(), policy(), input('a'), input('b')]) {
      await stage.during(stage.client.apply(object))
      if (object === policies) await stage.pass(1)
    }
    await eventually(async () => (await names(secrets)).length === 2)
    await stage.during(stage.client.apply(input('c')))
    await eventually(async () => (await names(secrets)).length === 3)
    await stage.during(stage.client.delete(configMaps, 'default/a'))
    await eventually(async () => (await names(secrets)).length === 2)
    expect(hook.takeCalls().toSorted()).toEqual(['a', 'b', 'c'])
    await stage.stopControllers()
    for (const transport of transports) await transport[Symbol.asyncDispose]()
  })
})

describe('a MapController with least privilege', () => {
  const controllerClient = (server: ApiServer): Client =>
    server.client({
      as: { name: 'system:serviceaccount:fairlead:map', groups: ['system:serviceaccounts', 'system:authenticated'] },
    })
  const role = (name: string, rules: unknown): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name },
    rules,
  })
  const binding = (name: string): KubeObject => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'ServiceAccount', namespace: 'fairlead', name: 'map' }],
  })

  test('reports which right is missing and how to grant it, deletes nothing meanwhile, and continues once it is granted', async () => {
    await startStage({ server: { authorization: 'RBAC' } })
    await stage.stopControllers()
    await stage.apply(policies, role('map', metacontroller.rules), binding('map'))
    await stage.pass(1)
    await stage.startControllers({ controllerClient })
    await stage.apply(controller(), policy(), input('a'))
    await stage.pass(2)
    const refused = await conditionOf('Ready')
    expect(refused).toMatchObject({ status: 'False', reason: 'KindForbidden' })
    expect(refused?.message).toMatch(
      /cannot list resource "configmaps".*fairlead map rbac copies \| kubectl apply -f -/s,
    )
    expect(hook.takeCalls()).toEqual([])
    const granted = clusterRoleFor((await stage.client.get(mapControllers, 'copies')) as unknown as MapController)
    await stage.apply(granted, binding(granted.metadata.name ?? ''))
    await stage.pass(3)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
    expect({ calls: hook.takeCalls(), outputs: await names(secrets) }).toEqual({ calls: ['a'], outputs: ['a-copy'] })
  })

  test('retries a group at once when the right to write its outputs is granted', async () => {
    await startStage({ server: { authorization: 'RBAC' } })
    await stage.stopControllers()
    await stage.apply(policies, role('map', metacontroller.rules), binding('map'))
    await stage.pass(1)
    const copies = controller()
    const granted = clusterRoleFor(copies as unknown as MapController)
    const rules = granted.rules as { resources: string[]; verbs: string[] }[]
    const readOnly = rules.map((rule) =>
      rule.resources[0] === 'secrets' ? { ...rule, verbs: ['get', 'list', 'watch'] } : rule,
    )
    await stage.apply(role('copies', readOnly), binding('copies'))
    await stage.startControllers({ controllerClient })
    await stage.apply(copies, policy(), input('a'))
    await stage.pass(300)
    expect(await conditionOf('Ready')).toMatchObject({ status: 'False', reason: 'Forbidden' })
    await stage.apply(role('copies', rules))
    await stage.pass(2)
    expect(await names(secrets)).toEqual(['a-copy'])
    expect(await conditionOf('Ready')).toMatchObject({ status: 'True', reason: 'Serving' })
  })

  test('reads a related object that its spec names with the right to that object alone', async () => {
    await startStage({ server: { authorization: 'RBAC' } })
    await stage.stopControllers()
    await stage.apply(policies, role('map', metacontroller.rules), binding('map'))
    await stage.pass(1)
    const relatedResources = [{ apiVersion: 'v1', resource: 'serviceaccounts', names: ['source'] }]
    const copies = controller({}, { map: { webhook: { url: `${hook.url}/map` }, relatedResources } })
    const granted = clusterRoleFor(copies as unknown as MapController)
    expect(
      (granted.rules as { resources: string[] }[]).filter(({ resources }) => resources[0] === 'serviceaccounts'),
    ).toEqual([
      { apiGroups: [''], resources: ['serviceaccounts'], resourceNames: ['source'], verbs: ['get', 'list', 'watch'] },
    ])
    const account = (name: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: 'default' },
    })
    await stage.apply(granted, binding(granted.metadata.name ?? ''), account('source'), account('other'))
    await stage.startControllers({ controllerClient })
    await stage.apply(copies, policy(), input('a'))
    await stage.pass(3)
    expect(
      hook.calls.map(({ body }) => Object.keys((body['related'] as Record<string, object>)['ServiceAccount.v1'] ?? {})),
    ).toEqual([['source']])
  })
})
