// Outputs whose values the server stores in another form, drops or adds: they are written once (isAsApplied).
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { controller, hook, input, policies, policy, stage, startStage, useHook } from './copies.ts'

useHook()

const quota = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'a' } }
const service = { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } }
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' } }
const tolerations = [{ key: 'berth', operator: 'Exists', effect: 'NoSchedule' }]

const outputs: readonly (readonly [string, string, object])[] = [
  ['quantities', 'resourcequotas', { ...quota, spec: { hard: { cpu: '1000m', memory: '0.5Gi' } } }],
  ['empty lists', 'resourcequotas', { ...quota, spec: { hard: { cpu: '1' }, scopes: [] } }],
  ['null fields', 'services', { ...service, spec: { ports: [{ port: 80 }], selector: null } }],
  ['tolerations', 'pods', { ...pod, spec: { containers: [{ name: 'c', image: 'i:1' }], tolerations } }],
]
const cases = outputs.flatMap(([title, resource, output]) =>
  ['InPlace', 'Recreate', 'OnDelete'].map((method) => ({ title, resource, output, method })),
)

test.each(cases)('$title: an output with $method is silent, also after a restart', async ({ resource, ...row }) => {
  const output = row.output as KubeObject
  hook.reply = () => ({ body: { outputs: [output] } })
  await startStage()
  const outputResources = [{ apiVersion: 'v1', resource, updateStrategy: { method: row.method } }]
  await stage.apply(policies)
  await stage.pass(1)
  await stage.apply(controller({ outputResources }), policy(), input('a'))
  await stage.pass(3)
  const read = async (): Promise<readonly unknown[]> => {
    const { uid, resourceVersion } = (await stage.client.get(output, 'default/a')).metadata
    return [uid, resourceVersion]
  }
  const before = await read()
  await stage.stopControllers()
  await stage.startControllers()
  await stage.apply(input('a', { changed: 'yes' }))
  await stage.pass(3)
  const calls = hook.calls.length
  await stage.pass(30)
  expect([calls > 1, hook.calls.length - calls, await read()]).toEqual([true, 0, before])
})
