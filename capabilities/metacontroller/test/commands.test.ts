// The commands of map on files, as the program runs them: a CommandError is printed and gives the exit code.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandContext } from '@fairlead/controller'
import { parseYaml, parseYamlDocuments } from '@fairlead/kube'
import { afterAll, describe, expect, test } from 'vitest'
import { dataPath, describeData, readDataJson } from '../../../test/support/conformance-data.ts'
import type { Ran } from './run-command.ts'
import { runCommand as run } from './run-command.ts'

const folder = mkdtempSync(join(tmpdir(), 'fairlead-map-'))
afterAll(() => rmSync(folder, { recursive: true }))
const root = fileURLToPath(new URL('../../..', import.meta.url))

async function runCommand(
  name: string,
  options: Record<string, unknown>,
  args: CommandContext['arguments'] = [],
  stdin = '',
): Promise<Ran> {
  return run(name, { options, arguments: args, stdin })
}

function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const controller = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: copies}
spec:
  parentResource: {apiVersion: v1, resource: serviceaccounts}
  inputResources: [{apiVersion: v1, resource: configmaps}]
  outputResources: [{apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}]
  hooks:
    map:
      expression: |
        [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": input.metadata.name + "-copy"}, "stringData": input.data}]
`
const objects = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: owner}
---
apiVersion: v1
kind: ConfigMapList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {k: "1"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {k: "2"}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: elsewhere, namespace: other}, data: {}}
---
apiVersion: v1
kind: Secret
metadata: {name: b-copy}
`

describe('fairlead metacontroller rbac', () => {
  test('prints the rights of composite and decorator controllers', async () => {
    const path = file(
      'sync.yaml',
      `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: fleets}
spec:
  parentResource: {apiVersion: harbour.example.com/v1, resource: fleets}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {webhook: {url: "http://hook.ns/sync", authorization: {secretRef: {name: token, namespace: ns, key: key}}}}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: flags}
spec:
  resources: [{apiVersion: apps/v1, resource: statefulsets}]
  attachments: [{apiVersion: v1, resource: services}]
  hooks: {customize: {webhook: {url: "http://hook.ns/customize"}}}
`,
    )
    const { out } = await runCommand('rbac', { filename: [path] }, { names: [] } as never)
    const child = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete']
    const rulesOf = (group: string, parent: string, of: string): object[] => [
      { apiGroups: [group], resources: [parent], verbs: ['get', 'list', 'watch', 'patch', 'update'] },
      { apiGroups: [group], resources: [`${parent}/status`], verbs: ['update'] },
      { apiGroups: [group], resources: [`${parent}/finalizers`], verbs: ['update'] },
      { apiGroups: [''], resources: [of], verbs: child },
    ]
    expect(out.match(/^#.*$/gm)).toEqual([
      '# The customize hook of DecoratorController flags asks for related kinds: add get, list and watch for each.',
    ])
    expect(parseYamlDocuments(out)).toMatchObject([
      {
        metadata: { name: 'fairlead:composite:fleets' },
        rules: [
          ...rulesOf('harbour.example.com', 'fleets', 'configmaps'),
          { apiGroups: [''], resources: ['secrets'], resourceNames: ['token'], verbs: ['get'] },
        ],
      },
      { metadata: { name: 'fairlead:decorator:flags' }, rules: rulesOf('apps', 'statefulsets', 'services') },
    ])
  })
})

describe('fairlead map render', () => {
  const files = [file('controller.yaml', controller), file('objects.yaml', objects)]

  test('prints the actions of each group with their reasons', async () => {
    expect(await runCommand('render', { filename: files })).toEqual({
      code: 1,
      err: '',
      out: [
        'ServiceAccount/default/owner',
        '  ConfigMap/default/a  (called the map hook)',
        '    create  Secret default/a-copy  Missing',
        '  ConfigMap/default/b  (called the map hook)',
        '    refuse  Secret default/b-copy  NameTaken: Secret/default/b-copy exists already and is not owned by this parent; it was left as it is. Rename one of the two, or delete it',
      ].join('\n'),
    })
  })

  test('prints the objects that would be applied as YAML, and every group as JSON', async () => {
    const { out } = await runCommand('render', { filename: files, output: 'yaml' })
    const [secret] = parseYamlDocuments(out) as { metadata: object; stringData: object }[]
    expect(secret).toMatchObject({
      kind: 'Secret',
      metadata: { name: 'a-copy', namespace: 'default' },
      stringData: { k: '1' },
    })
    const json = JSON.parse(
      (await runCommand('render', { filename: [files[0]!, '-'], output: 'json' }, [], objects)).out,
    ) as { plans: { title: string; parts: { title: string; step: string; actions: { op: string }[] }[] }[] }
    expect(
      json.plans.map(({ title, parts }) => [
        title,
        parts.map(({ step, actions }) => [step, ...actions.map(({ op }) => op)]),
      ]),
    ).toEqual([
      [
        'ServiceAccount/default/owner',
        [
          ['map', 'create'],
          ['map', 'refuse'],
        ],
      ],
    ])
  })

  test('calls the hook server of --hook instead of the hook in the file', async () => {
    const server = createServer(
      (request, response) =>
        void response.end(JSON.stringify({ outputs: request.url === '/map' ? [] : null, resyncAfterSeconds: 7 })),
    )
    await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
    const { out, code } = await runCommand('render', {
      filename: files,
      hook: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    server.closeAllConnections()
    await new Promise((closed) => server.close(closed))
    expect({ out, code }).toEqual({
      code: 0,
      out: [
        'ServiceAccount/default/owner',
        '  ConfigMap/default/a  (called the map hook, resync in 7 s)',
        '  ConfigMap/default/b  (called the map hook, resync in 7 s)',
      ].join('\n'),
    })
  })

  test.each<[string, string, string]>([
    [
      'an expression of the wrong type',
      controller.replace('[{"apiVersion"', '{"apiVersion"').replace(': input.data}]', ': input.data}'),
      'broken.yaml:2: MapController copies: spec.hooks.map.expression: ',
    ],
    [
      'an expression that cannot be parsed',
      controller.replace('[{"apiVersion"', '[{{"apiVersion"'),
      'broken.yaml:2: MapController copies: spec.hooks.map.expression: ',
    ],
    [
      'an unknown resource',
      controller.replace('resource: secrets', 'resource: gadgets'),
      'broken.yaml:2: MapController copies: Kubernetes has no resource gadgets in v1',
    ],
    ['broken YAML', `${controller}\n  - : [`, 'broken.yaml:13: '],
    [
      'a field that a MapController does not have',
      controller.replace('  hooks:', '  hook: {}\n  hooks:'),
      'broken.yaml:2: MapController copies: spec.hook: Forbidden: unknown field',
    ],
    [
      'an enum value that a MapController does not have',
      controller.replace('InPlace', 'Sometimes'),
      'broken.yaml:2: MapController copies: spec.outputResources[0].updateStrategy.method: Unsupported value: "Sometimes"',
    ],
  ])('refuses %s', async (_title, text, message) => {
    const ran = await runCommand('render', { filename: [file('broken.yaml', text), files[1]!] })
    expect({ code: ran.code, err: ran.err.includes(message) ? message : ran.err }).toEqual({ code: 1, err: message })
  })

  test('reads folders recursively and takes Lists apart', async () => {
    mkdirSync(join(folder, 'nested/deeper'), { recursive: true })
    file('nested/controller.yaml', controller)
    file('nested/deeper/objects.yaml', objects)
    const { out } = await runCommand('render', { filename: [join(folder, 'nested')] })
    expect(out.split('\n').filter((line) => line.includes('ConfigMap'))).toEqual([
      '  ConfigMap/default/a  (called the map hook)',
      '  ConfigMap/default/b  (called the map hook)',
    ])
  })

  test('prints the adoption of an orphan before its other actions', async () => {
    const { out: applied } = await runCommand('render', { filename: files, output: 'yaml' })
    const orphan = applied.replace(/ {2}ownerReferences:\n(?: {2}- .*\n(?: {4}.*\n)*)/, '')
    const { out } = await runCommand('render', { filename: [...files, file('orphan.yaml', orphan)] })
    expect(out.split('\n').slice(0, 4)).toEqual([
      'ServiceAccount/default/owner',
      '  ConfigMap/default/a  (called the map hook)',
      '    adopt   Secret default/a-copy  Orphan',
      '    update  Secret default/a-copy  Changed',
    ])
  })

  test('prints why a chain of maps that is too long is stopped', async () => {
    const looped = objects.replace(
      'metadata: {name: a}, data',
      'metadata: {name: a, annotations: {metacontroller.k8s.io/map-hops: "8"}}, data',
    )
    const { out } = await runCommand('render', { filename: [files[0]!, file('looped.yaml', looped)] })
    expect(out.split('\n').slice(1, 3)).toEqual([
      '  ConfigMap/default/a  (the chain of maps is too long)',
      "    ConfigMap/default/a was made by 8 maps in a row and is not mapped any further; check whether two parents select each other's outputs",
    ])
  })

  test('notes that the scope of a parent without a CustomResourceDefinition is taken for namespaced', async () => {
    const policies = controller.replace(
      '{apiVersion: v1, resource: serviceaccounts}',
      '{apiVersion: q.example.com/v1, resource: policies}',
    )
    const policy = 'apiVersion: q.example.com/v1\nkind: Policy\nmetadata: {name: small}\n'
    const { err } = await runCommand('render', {
      filename: [file('policies.yaml', policies), file('policy.yaml', policy)],
    })
    expect(err).toBe(
      'note: the scope of Policy (q.example.com/v1) is not known and taken for namespaced: add its CustomResourceDefinition with -f',
    )
  })

  test.each([
    [{ hook: 'notaurl' }, '--hook notaurl is not a URL: write for example http://127.0.0.1:8080'],
    [{ resolve: ['x'] }, '--resolve x: write name=host:port, for example my-hook.my-namespace=127.0.0.1:8080'],
  ])('exits 2 for a flag of another form: %j', async (options, err) => {
    expect(await runCommand('render', { filename: files, ...options })).toEqual({ code: 2, out: '', err })
  })

  test('exits 2 without files and for an unknown output format', async () => {
    expect((await runCommand('render', {})).code).toBe(2)
    expect((await runCommand('render', { filename: files, output: 'xml' })).code).toBe(2)
    expect((await runCommand('render', { filename: [files[1]!] })).err).toContain(
      'There is no MapController, CompositeController or DecoratorController in',
    )
  })
})

async function passesAll(path: string): Promise<void> {
  const { out, code } = await runCommand('test', {}, [path])
  expect({ out: out.replace(/\d+ passed/, 'all passed'), code }).toEqual({ out: 'all passed, 0 failed', code: 0 })
}

describe('fairlead map test', () => {
  const own = fileURLToPath(new URL('cases', import.meta.url))

  test('passes the cases of this package', () => passesAll(own))

  const sharedFile = ['cases', 'mapcontroller.json'] as const
  const sharedCases = () => (readDataJson(...sharedFile) as unknown as { cases: readonly unknown[] }).cases

  describeData('on the conformance cases', { minimum: 28, read: sharedCases }, () => {
    test('passes all cases', () => passesAll(dataPath(...sharedFile)))
  })

  test('prints each disagreement of a case and exits 1', async () => {
    const { cases, resources } = JSON.parse(readFileSync(join(own, 'mapcontroller.json'), 'utf8')) as {
      cases: { id: string; want: object }[]
      resources: unknown
    }
    const entry = cases.find(({ id }) => id === 'name-of-another-owner')!
    const path = file(
      'wrong.json',
      JSON.stringify({
        resources,
        cases: [
          { ...entry, want: { writes: [], mapCalls: 2, status: { outputs: { volumesnapshots: { total: 5 } } } } },
        ],
      }),
    )
    const { out, code } = await runCommand('test', {}, [path])
    expect(code).toBe(1)
    expect(out).toContain('create VolumeSnapshot/app/y was not wanted')
    expect(out).toContain('mapCalls: wanted 2, got 1')
    expect(out).toContain('status.outputs.volumesnapshots.total: wanted 5, got 1')
    expect(out).toContain('0 passed, 1 failed')
  })

  test('refuses a file without cases and a path that does not exist', async () => {
    const path = file('empty.json', '{}')
    expect(await runCommand('test', {}, [path])).toEqual({
      code: 1,
      out: '',
      err: `${path}: a case file must have the list cases`,
    })
    expect((await runCommand('test', {}, [join(folder, 'missing')])).err).toContain('missing')
  })

  test('exits 2 when there is no case at all', async () => {
    const path = file('none.json', '{"cases": []}')
    expect(await runCommand('test', {}, [path])).toEqual({
      code: 2,
      out: '',
      err: `there are no tests in ${path}: a case file is JSON with the list cases (capabilities/metacontroller/README.md, "Test hooks")`,
    })
  })

  test('passes the case of the README', async () => {
    const readme = readFileSync(join(root, 'capabilities/metacontroller/README.md'), 'utf8')
    const path = file('readme.json', /```json file=cases\/copies.json\n([^]*?)```/.exec(readme)![1]!)
    expect(await runCommand('test', {}, [path])).toEqual({ code: 0, out: '1 passed, 0 failed', err: '' })
  })
})

describe('fairlead map rbac', () => {
  test('prints the ClusterRole that the snapshot-schedule example ships', async () => {
    const manifests = join(root, 'examples/snapshot-schedule/manifests')
    const { out, code } = await runCommand('rbac', { filename: [join(manifests, '3-controller.yaml')] })
    expect(code).toBe(0)
    expect(parseYaml(out)).toEqual(parseYaml(readFileSync(join(manifests, '2-rbac.yaml'), 'utf8')))
  })

  test('grants Secrets and ConfigMaps of credentials by name, namespaces when a selector reads them, and related kinds', async () => {
    const more = controller.replace(
      'expression: |',
      'relatedResources: [{apiVersion: v1, resource: pods, namespaceSelector: {}}]\n      webhook: {url: "https://x/", caBundle: {configMapRef: {name: ca, namespace: ns}}, authorization: {secretRef: {name: token, namespace: ns, key: k}}}\n    tombstone:\n      expression: |',
    )
    const { rules } = parseYaml((await runCommand('rbac', { filename: [file('more.yaml', more)] })).out) as unknown as {
      rules: { resources: string[]; verbs: string[]; resourceNames?: string[] }[]
    }
    const brief = rules.map(
      ({ resources, verbs, resourceNames }) =>
        `${resources.join()} ${verbs.join()}${resourceNames === undefined ? '' : ` ${resourceNames.join()}`}`,
    )
    expect(brief).toEqual([
      'serviceaccounts get,list,watch',
      'serviceaccounts/status patch',
      'serviceaccounts/finalizers update',
      'configmaps get,list,watch',
      'secrets get,list,watch,create,patch,delete',
      'pods get,list,watch',
      'namespaces get,list,watch',
      'configmaps get ca',
      'secrets get token',
    ])
  })

  test('exits 2 without a file and without a name', async () => {
    expect((await runCommand('rbac', {})).code).toBe(2)
  })
})
