// Composite and decorator controllers under faults: a parent whose children are changed in place, made anew and rolled
// out, or follow related objects, and objects with attachments and a finalizer.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KubeObject } from '@fairlead/kube'
import { metacontroller } from '@fairlead/metacontroller'
import { crd } from '../../support/crd.ts'
import type { Scenario } from '../scenario.ts'

const group = 'test.example.com'
const apiVersion = `${group}/v1`
const controllers = 'metacontroller.k8s.io/v1alpha1'
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' }
const labels = { fleet: 'north' }
const children: readonly (readonly [string, string])[] = [
  ['Boat', 'InPlace'],
  ['Raft', 'Recreate'],
  ['Ship', 'RollingInPlace'],
]

interface Request {
  readonly parent: { readonly spec: { readonly names: readonly string[]; readonly flag: string } }
  readonly object: KubeObject
  readonly related: Readonly<Record<string, Readonly<Record<string, KubeObject>>>>
}

/**
 * The hooks: a child of every kind for each name of the parent, a buoy for each related chart; a flag for every object
 * that is not finalized.
 */
function respond(path: string | undefined, { parent, object, related }: Request): object {
  if (path === '/finalize') return { attachments: [], finalized: true }
  if (path === '/customize')
    return { relatedResources: [{ apiVersion, resource: 'charts', labelSelector: { matchLabels: { sea: 'baltic' } } }] }
  if (path === '/decorate')
    return {
      labels: { decorated: 'yes' },
      attachments: [{ apiVersion, kind: 'Flag', metadata: { name: object.metadata.name } }],
    }
  const { names, flag } = parent.spec
  const of = (kind: string) => (name: string) => ({ apiVersion, kind, metadata: { name, labels }, spec: { flag } })
  const buoys = Object.values(related[`Chart.${apiVersion}`] ?? {}).map(({ metadata }) =>
    of('Buoy')(metadata.name ?? ''),
  )
  return {
    status: { names: names.length },
    children: [...children.flatMap(([kind]) => names.map(of(kind))), ...buoys],
  }
}

const hook = createServer((request, response) => {
  void request.toArray().then((chunks) => {
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Request
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(respond(request.url, body)))
  })
})
await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve))
hook.unref()
const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}`

function fleet(names: readonly string[], flag: string): KubeObject {
  const spec = { selector: { matchLabels: labels }, names, flag }
  return { apiVersion, kind: 'Fleet', metadata: { name: 'north', namespace: 'default' }, spec } as KubeObject
}

function input(name: string, decorate: string): KubeObject {
  return { ...configMap, metadata: { name, namespace: 'default', labels: { decorate } } }
}

function chart(name: string): KubeObject {
  return { apiVersion, kind: 'Chart', metadata: { name, namespace: 'default', labels: { sea: 'baltic' } } }
}

const childKinds = [...children.map(([kind]) => kind), 'Buoy']
const plurals = [...childKinds, 'Flag'].map((kind) => `${kind.toLowerCase()}s`)
const read = ['get', 'list', 'watch']

/** The scenario. */
export const syncScenario: Scenario = {
  name: 'composite and decorator',
  capability: metacontroller,
  definitions: [
    crd({ group, kind: 'Fleet', status: true }),
    ...[...childKinds, 'Flag', 'Chart'].map((kind) => crd({ group, kind, status: true })),
  ],
  grants: [
    { apiGroups: [group], resources: ['fleets'], verbs: [...read, 'patch', 'update'] },
    { apiGroups: [group], resources: ['fleets/status'], verbs: ['update'] },
    { apiGroups: [group], resources: ['charts'], verbs: read },
    { apiGroups: [''], resources: ['configmaps'], verbs: [...read, 'patch', 'update'] },
    { apiGroups: [group], resources: plurals, verbs: [...read, 'create', 'patch', 'update', 'delete'] },
  ],
  objects: [
    {
      apiVersion: controllers,
      kind: 'CompositeController',
      metadata: { name: 'fleets' },
      spec: {
        parentResource: { apiVersion, resource: 'fleets' },
        childResources: [...children, ['Buoy', 'InPlace'] as const].map(([kind, method]) => ({
          apiVersion,
          resource: `${kind.toLowerCase()}s`,
          updateStrategy: { method },
        })),
        hooks: { sync: { webhook: { url: `${url}/sync` } }, customize: { webhook: { url: `${url}/customize` } } },
      },
    } as KubeObject,
    {
      apiVersion: controllers,
      kind: 'DecoratorController',
      metadata: { name: 'flags' },
      spec: {
        resources: [{ ...configMapResource(), labelSelector: { matchLabels: { decorate: 'yes' } } }],
        attachments: [{ apiVersion, resource: 'flags' }],
        hooks: {
          sync: { webhook: { url: `${url}/decorate` } },
          finalize: { webhook: { url: `${url}/finalize` } },
        },
      },
    } as KubeObject,
    fleet(['a', 'b', 'c'], 'red'),
    chart('n'),
    chart('s'),
    input('x', 'yes'),
    input('y', 'yes'),
  ],
  deleted: [
    '/apis/metacontroller.k8s.io/v1alpha1/namespaces/default/controllerrevisions/fleets.test.example.com-<hash>',
    '/apis/test.example.com/v1/namespaces/default/boats/a',
    '/apis/test.example.com/v1/namespaces/default/buoys/s',
    '/apis/test.example.com/v1/namespaces/default/flags/x',
    '/apis/test.example.com/v1/namespaces/default/rafts/a',
    '/apis/test.example.com/v1/namespaces/default/rafts/b',
    '/apis/test.example.com/v1/namespaces/default/rafts/c',
    '/apis/test.example.com/v1/namespaces/default/ships/a',
  ],
  kinds: [
    { apiVersion: controllers, kind: 'CompositeController' },
    { apiVersion: controllers, kind: 'DecoratorController' },
    { apiVersion, kind: 'Fleet' },
    ...[...childKinds, 'Flag'].map((kind) => ({ apiVersion, kind })),
  ],
  async change(client) {
    await client.apply(fleet(['b', 'c', 'd'], 'blue'))
    await client.delete({ apiVersion, kind: 'Chart' }, 'default/s')
    await client.apply(input('x', 'no'))
    await client.apply(input('z', 'yes'))
  },
}

function configMapResource(): object {
  return { apiVersion: 'v1', resource: 'configmaps' }
}
