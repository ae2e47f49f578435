// `fairlead metacontroller test` for CompositeControllers and DecoratorControllers, with a real hook.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TestHook } from '../hook.ts'
import { runCommand } from '../run-command.ts'
import { fleet, ship } from './fleet.ts'

let hook: TestHook
const folder = mkdtempSync(join(tmpdir(), 'fairlead-cases-'))
beforeAll(async () => {
  hook = await TestHook.start()
})
afterAll(async () => {
  await hook[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function play(entry: object): Promise<string> {
  const path = join(folder, 'case.json')
  const resources = [{ apiVersion: 'harbour.example.com/v1', kind: 'Fleet', plural: 'fleets', namespaced: true }]
  writeFileSync(path, JSON.stringify({ resources, cases: [{ id: 'one', ...entry }] }))
  const { code, out } = await runCommand('test', { arguments: [path], options: { hook: hook.url, resolve: [] } })
  return [`exit ${code}`, ...out.split('\n')].map((line) => line.trim().replaceAll(path, 'FILE')).join('\n')
}

const sync = { webhook: { url: 'http://hook.invalid/sync' } }
const inPlace = [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method: 'InPlace' } }]
const composite = {
  kind: 'CompositeController',
  name: 'fleets',
  spec: {
    parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'fleets' },
    childResources: inPlace,
    hooks: { sync },
  },
}
const decorator = {
  kind: 'DecoratorController',
  name: 'pilots',
  spec: {
    resources: [{ apiVersion: 'harbour.example.com/v1', resource: 'fleets' }],
    attachments: inPlace,
    hooks: { sync },
  },
}
const orphan = { ...ship('c'), metadata: { ...ship('c').metadata, namespace: 'default' } }
const left = { ...ship('d'), metadata: { name: 'd', namespace: 'default' } }

test.each<[string, object, object, object, string]>([
  [
    'passes when the decision is the wanted one',
    composite,
    { status: { ships: 2, more: 1 }, children: [ship('a', 'blue'), ship('b'), ship('c')], resyncAfterSeconds: 9 },
    {
      writes: [
        { op: 'adopt', ref: 'ConfigMap/default/c' },
        { op: 'update', ref: 'ConfigMap/default/a', object: { data: { flag: 'blue' } } },
        { op: 'create', ref: 'ConfigMap/default/b' },
        { op: 'update', ref: 'ConfigMap/default/c' },
        { op: 'delete', ref: 'ConfigMap/default/z' },
      ],
      status: { ships: 2 },
      resyncAfterSeconds: 9,
    },
    'exit 0',
  ],
  [
    'passes for a decorator',
    decorator,
    { labels: { on: 'yes', off: null }, attachments: [ship('a')] },
    { writes: [{ op: 'delete', ref: 'ConfigMap/default/z' }], labels: { on: 'yes', off: null } },
    'exit 0',
  ],
  [
    'names the writes that differ',
    composite,
    { children: [ship('a')] },
    { writes: [] },
    "writes: wanted [], got [ 'adopt ConfigMap/default/c', 'delete ConfigMap/default/c', 'delete ConfigMap/default/z' ]",
  ],
  [
    'names the field that differs',
    composite,
    { children: [ship('a', 'red'), ship('z'), ship('c')] },
    {
      writes: [
        { op: 'adopt', ref: 'ConfigMap/default/c' },
        { op: 'update', ref: 'ConfigMap/default/c' },
        { op: 'update', ref: 'ConfigMap/default/a', object: { data: { flag: 'blue' } } },
      ],
    },
    "update ConfigMap/default/a.data.flag: wanted 'blue', got 'red'",
  ],
  ['fails when the sync does', composite, { children: 'none' }, {}, 'the sync failed: children in the response'],
  ['passes when the sync fails as wanted', composite, { children: 'none' }, { error: 'must be a list' }, 'exit 0'],
  ['refuses an unknown field of want', composite, { children: [] }, { colour: 'red' }, 'want.colour is unknown'],
])('a case %s', async (_title, controller, body, want, expected) => {
  hook.reply = () => ({ body })
  const parent = fleet([])
  const children = [ship('a'), ship('z')]
  expect(await play({ input: { controller, parent, children, objects: [orphan, left] }, want })).toContain(expected)
})
