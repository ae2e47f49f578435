// Children that made Metacontroller call hooks and write without end (specs/metacontroller.md §6): values that the server
// adds or stores in another form, null fields, and tolerations that admission adds.
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { controller, fleet, hook, set, stage, useHook } from './fleet.ts'

useHook()

const named = { name: 'a', labels: { fleet: 'north' } }
const service = { apiVersion: 'v1', kind: 'Service', metadata: named, spec: { ports: [{ port: 80 }] } }
const noSelector = { ...service, metadata: { ...named, annotations: null }, spec: { ...service.spec, selector: null } }
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: named, spec: { containers: [{ name: 'c', image: 'i:1' }] } }
const tolerations = [{ key: 'berth', operator: 'Exists', effect: 'NoSchedule' }]
const tolerant = { ...pod, spec: { ...pod.spec, tolerations } }

const children: readonly (readonly [string, string, object])[] = [
  ['fields that the server adds', 'services', service],
  ['null fields', 'services', noSelector],
  ['tolerations that admission adds', 'pods', pod],
  ['tolerations of its own beside those that admission adds', 'pods', tolerant],
]
const cases = children.flatMap(([title, resource, child]) =>
  ['InPlace', 'Recreate'].flatMap((method) =>
    ['dynamic-apply', 'server-side-apply'].map((strategy) => ({ title, resource, child, method, strategy })),
  ),
)

test.each(cases)('$title: $method with $strategy is silent', async ({ resource, child, method, strategy }) => {
  hook.reply = () => ({ body: { children: [child] } })
  const childResources = [{ apiVersion: 'v1', resource, updateStrategy: { method } }]
  await set({ settings: { 'apply-strategy': strategy } }, controller({ childResources }), fleet([]))
  await stage.pass(3)
  const read = (): Promise<KubeObject> => stage.client.get(child as KubeObject, 'default/a')
  const { uid, resourceVersion } = (await read()).metadata
  hook.calls.length = 0
  await stage.pass(30)
  const after = (await read()).metadata
  expect([hook.calls.length, after.uid, after.resourceVersion]).toEqual([0, uid, resourceVersion])
})
