// `fairlead metacontroller render` for CompositeControllers and DecoratorControllers, with a real hook.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withLastApplied } from '../../src/children/merge.ts'
import { TestHook } from '../hook.ts'
import { runCommand } from '../run-command.ts'
import { composite, decorator, fleet, fleetDefinition, fleets, ship } from './fleet.ts'

let hook: TestHook
let folder: string
beforeEach(async () => {
  hook = await TestHook.start()
  folder = mkdtempSync(join(tmpdir(), 'fairlead-render-'))
})
afterEach(async () => {
  await hook[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true })
})

async function render(objects: readonly KubeObject[], options: object = {}): Promise<{ code: number; out: string }> {
  const file = join(folder, 'objects.yaml')
  writeFileSync(file, stringifyYamlDocuments([fleetDefinition, ...objects]))
  const ran = await runCommand('render', { options: { filename: [file], resolve: [], output: 'text', ...options } })
  return { code: ran.code, out: [ran.out, ran.err].filter((text) => text !== '').join('\n') }
}

function fleetsController(method: string, hooks: object = {}, spec: object = {}): KubeObject {
  return {
    ...composite,
    metadata: { name: 'fleets' },
    spec: {
      parentResource: { apiVersion: 'harbour.example.com/v1', resource: 'fleets' },
      childResources: [{ apiVersion: 'v1', resource: 'configmaps', updateStrategy: { method } }],
      hooks: { sync: { webhook: { url: `${hook.url}/sync` } }, ...hooks },
      ...spec,
    },
  } as unknown as KubeObject
}

function owned(child: KubeObject, parent = 'uid-north'): KubeObject {
  const metadata = {
    ...child.metadata,
    namespace: 'default',
    uid: `uid-${child.metadata.name}`,
    ownerReferences: [{ ...fleets, name: 'north', uid: parent, controller: true }],
  }
  return { ...withLastApplied(child), metadata: { ...withLastApplied(child).metadata, ...metadata } } as KubeObject
}

const placed = (child: KubeObject): KubeObject => ({
  ...child,
  metadata: { ...child.metadata, namespace: 'default' },
})
const north = (spec: object = {}, metadata: object = {}): KubeObject =>
  fleet([], spec, { uid: 'uid-north', ...metadata })
const respond = (body: object): void => {
  hook.reply = () => ({ body })
}

test('prints what the controller would write for each parent, and why', async () => {
  respond({ status: { ready: 1 }, children: [ship('a', 'blue'), ship('b', 'red'), ship('c')], resyncAfterSeconds: 9 })
  const existing = [owned(placed(ship('a', 'red'))), owned(placed(ship('b', 'red'))), owned(placed(ship('z')))]
  const { code, out } = await render([fleetsController('InPlace'), north(), ...existing, placed(ship('orphan'))])
  expect(out.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '))).toEqual([
    'Fleet.harbour.example.com/default/north (called the sync hook, resync in 9 s)',
    'adopt ConfigMap default/orphan Selected',
    'delete ConfigMap default/z NotWanted',
    'delete ConfigMap default/orphan NotWanted',
    'update ConfigMap default/a Changed',
    'keep ConfigMap default/b Unchanged',
    'create ConfigMap default/c Missing',
    'update Fleet default/north Status: {"ready":1,"observedGeneration":0}',
  ])
  expect(code).toBe(0)
  const [request] = hook.calls as unknown as [{ body: { children: JsonObject } }]
  expect(Object.keys(request.body.children['ConfigMap.v1'] as JsonObject)).toEqual(['a', 'b', 'z', 'orphan'])
})

test('prints the next step of a rollout, and its revisions', async () => {
  respond({ children: [ship('a', 'blue'), ship('b', 'blue')] })
  const revision = {
    apiVersion: 'metacontroller.k8s.io/v1alpha1',
    kind: 'ControllerRevision',
    metadata: {
      ...owned(ship('old', 'x')).metadata,
      name: 'old',
      labels: {
        fleet: 'north',
        'metacontroller.k8s.io/apiGroup': 'harbour.example.com',
        'metacontroller.k8s.io/resource': 'fleets',
      },
    },
    parentPatch: { spec: { flag: 'red' } },
    children: [{ apiGroup: '', kind: 'ConfigMap', names: ['a', 'b'] }],
  } as unknown as KubeObject
  hook.reply = ({ body }) => {
    const { flag = 'blue' } = (body.parent as unknown as { spec: { flag?: string } }).spec
    return { body: { children: [ship('a', flag), ship('b', flag)] } }
  }
  const existing = [owned(placed(ship('a', 'red'))), owned(placed(ship('b', 'red')))]
  const history = { revisionHistory: { fieldPaths: ['spec.flag'] } }
  const parentResource = { apiVersion: 'harbour.example.com/v1', resource: 'fleets', ...history }
  const given = [fleetsController('RollingInPlace', {}, { parentResource }), north({ flag: 'blue' })]
  const { out } = await render([...given, ...existing, revision])
  expect(out).toMatch(/create +ControllerRevision default\/fleets.harbour.example.com-\w+ +NewRevision/)
  expect(out).toMatch(/keep +ControllerRevision default\/old +Revision/)
  expect(out).toMatch(/update +ConfigMap default\/a +Changed/)
  expect(out).toMatch(/keep +ConfigMap default\/b +Unchanged/)
  expect(out).toContain('RolloutProgressing')
})

test('sends related objects that the customize hook asks for', async () => {
  hook.reply = ({ path }) => ({
    body:
      path === '/customize'
        ? { relatedResources: [{ apiVersion: 'v1', resource: 'configmaps', names: ['settings'] }] }
        : { children: [] },
  })
  const customize = { webhook: { url: 'http://elsewhere.example.com/customize' } }
  const settings = { ...ship('settings'), metadata: { name: 'settings', namespace: 'default' } }
  await render([fleetsController('InPlace', { customize }), north(), settings], { hook: hook.url })
  const sync = hook.calls.find(({ path }) => path === '/sync') as unknown as { body: { related: JsonObject } }
  expect(Object.keys(sync.body.related['ConfigMap.v1'] as JsonObject)).toEqual(['settings'])
})

test('calls the finalize hook for a parent that is being deleted, and says that it is not finalized yet', async () => {
  respond({ children: [], finalized: false })
  const finalize = { webhook: { url: `${hook.url}/finalize` } }
  const ending = {
    deletionTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['metacontroller.io/compositecontroller-fleets'],
  }
  const { out } = await render([fleetsController('InPlace', { finalize }), north({}, ending)])
  expect(out).toContain('(called the finalize hook)')
  expect(out).toContain('is not finalized yet')
  expect(hook.calls.map(({ path }) => path)).toEqual(['/finalize'])
})

test('prints labels, annotations and attachments of a DecoratorController', async () => {
  respond({ labels: { seen: 'yes' }, attachments: [ship('a')] })
  const flags = {
    ...decorator,
    metadata: { name: 'flags' },
    spec: {
      resources: [{ apiVersion: 'harbour.example.com/v1', resource: 'fleets' }],
      attachments: [{ apiVersion: 'v1', resource: 'configmaps' }],
      hooks: { sync: { webhook: { url: `${hook.url}/sync` } } },
    },
  } as unknown as KubeObject
  const { out } = await render([flags, north()])
  expect(out).toMatch(/create +ConfigMap default\/a +Missing/)
  expect(out).toContain('Metadata: {"labels":{"seen":"yes"},"annotations":{}}')
})

test('fails with the reason when a hook fails, a selector is invalid or a spec cannot be carried out', async () => {
  hook.reply = () => ({ status: 500, body: 'broken' })
  const failed = await render([fleetsController('InPlace'), north()])
  expect([failed.code, failed.out.includes('500')]).toEqual([1, true])
  const empty = await render([fleetsController('InPlace'), north({ selector: {} })])
  expect([empty.code, empty.out]).toEqual([1, expect.stringContaining('.spec.selector must have either')])
  const invalid = await render([fleetsController('InPlace', { sync: { webhook: { url: 'http://[' } } }), north()])
  expect(invalid.code).not.toBe(0)
})
