// What users and clients get beyond menus: forms, addresses, status, several Jobs, and Applications in part.
import { actions, crds } from '@fairlead/actions'
import type { ActionService, Caller } from '@fairlead/actions'
import { ApiServer } from '@fairlead/apiserver'
import { CustomResourceDefinition } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { isConditionTrue, parseJson } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../test/support/until.ts'
import { applicationDefinition, kam, map } from './objects.ts'

const rbac = 'rbac.authorization.k8s.io'
const web = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'a', name: 'web' }

let server: ApiServer
let service: ActionService
let admin: Client
let caller: Caller
const stack = new AsyncDisposableStack()

const labels = { app: 'web' }
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } }

function deployment(name: string, more: JsonObject = {}, namespace = 'a'): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels, ...more },
    spec: { replicas: 2, selector: { matchLabels: labels }, template },
  }
}

/** Changes the map of Deployments, and waits until a menu has its actions. */
async function maps(data: Readonly<Record<string, JsonValue>>): Promise<void> {
  await admin.apply(map('deployments', data), { force: true })
  const wanted = JSON.stringify(data)
  await eventually(async () => {
    const { merged } = await service.resolve(caller, web)
    const { 'url-actions': urls = [], 'cmd-actions': commands = [] } = parseJson(wanted) as Record<string, JsonObject[]>
    expect(merged.actions.map(({ fields }) => fields)).toEqual([...urls, ...commands])
    expect(merged.parts).toMatchObject({ inputs: data['inputs'] ?? {}, snippets: data['snippets'] ?? {} })
  })
}

async function get(
  path: string,
  query: Readonly<Record<string, string>> = {},
): Promise<{ status: number; body: unknown }> {
  const { status, body } = await admin.sendRaw({ method: 'GET', path, query: { ...web, ...query } })
  return { status, body }
}

beforeAll(async () => {
  server = stack.use(await ApiServer.start({ authorization: 'RBAC' }))
  admin = server.client({ manager: 'kubectl' })
  caller = { client: admin, user: { name: 'admin', groups: [] } }
  const manager = stack.use(await Manager.start({ client: server.client(), crds: [...crds, applicationDefinition] }))
  const instance = await actions.setup(manager, { resolve: new Map(), signal: manager.signal })
  stack.defer(() => instance.stop())
  for (const route of instance.routes ?? []) server.serve(route)
  service = instance.service
  await admin.waitFor(CustomResourceDefinition, 'applications.app.k8s.io', ({ status }) =>
    isConditionTrue(status?.conditions, 'Established'),
  )
  for (const name of ['kappnav', 'a', 'b'])
    await admin.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
  await admin.create(deployment('web', { annotations: { value: 'a b&c=d#e?f', host: 'evil.example.com/#' } }))
  const mapping = kam('default', [{ apiVersion: 'apps/v1', kind: 'Deployment', mapname: 'deployments' }])
  const spec = {
    ...(mapping.spec as JsonObject),
    statusMappings: [{ apiVersion: '*/*', kind: '*', mapname: 'status.${kind}' }],
    sectionMappings: [{ apiVersion: '*/*', kind: '*', mapname: 'sections' }],
  }
  await admin.create({ ...mapping, spec })
})

afterAll(() => stack.disposeAsync())

describe('the form of an action', () => {
  const inputs = {
    f: {
      fields: {
        count: { label: 'Replicas', type: 'string', default: '${resource.$.spec.replicas}', validator: 'is_count' },
        size: { type: 'select', values: ['small', 'large'], optional: true, default: 'none' },
        pods: { type: 'multiselect', values: ['${func.podlist()}'], optional: true },
        other: { default: '${resource.$.spec.nothing}', optional: true },
      },
    },
  }
  const snippets = {
    is_count: 'function v(t) { return JSON.stringify({valid: /^[0-9]+$/.test(JSON.parse(t).value), message: "no"}) }',
  }
  const go = { name: 'go', image: 'i', 'cmd-pattern': 'run ${input.count}', 'requires-input': 'f' }

  test('has its choices and defaults resolved for the resource', async () => {
    await maps({ 'cmd-actions': [go], inputs, snippets })
    expect(await get('/api/actions/go/form')).toMatchObject({
      status: 200,
      body: {
        action: 'go',
        form: {
          name: 'f',
          fields: [
            { name: 'count', label: 'Replicas', isOptional: false, default: '2', hasChoices: false },
            { name: 'size', label: 'size', type: 'select', values: ['small', 'large'], default: 'none' },
            { name: 'pods', isMultiple: true, hasChoices: true, values: [] },
            { name: 'other', isOptional: true },
          ],
        },
      },
    })
    expect(await get('/api/actions/nope/form')).toMatchObject({ status: 404 })
  })

  test('gives the default of a required field when the user gives no value, and validates it', async () => {
    const command = async (body: JsonObject): Promise<unknown> => {
      const [job] = await service.run(caller, web, 'go', { inputs: body, dryRun: true })
      return (job!.spec as { template: { spec: { containers: [{ command: unknown }] } } }).template.spec.containers[0]
        .command
    }
    await maps({ 'cmd-actions': [go], inputs, snippets })
    expect(await command({})).toEqual(['run', '2'])
    expect(await command({ count: '5' })).toEqual(['run', '5'])
    const wrong = { f: { fields: { ...inputs.f.fields, count: { ...inputs.f.fields.count, default: 'x' } } } }
    await maps({ 'cmd-actions': [go], inputs: wrong, snippets })
    await expect(command({})).rejects.toThrow('"count": no')
  })

  test('accepts no choice when its pattern gives none', async () => {
    await maps({ 'cmd-actions': [go], inputs, snippets })
    await expect(service.run(caller, web, 'go', { inputs: { pods: 'foo' } })).rejects.toThrow('is not a choice')
  })
})

describe('a url action', () => {
  test('takes inputs from the query, validated and encoded', async () => {
    const url = { name: 'search', 'url-pattern': 'https://x/find?q=${input.q}', 'requires-input': 'f' }
    await maps({ 'url-actions': [url], inputs: { f: { fields: { q: {} } } } })
    expect(await get('/api/actions/search/url', { 'input.q': 'a b&c' })).toMatchObject({
      body: { url: 'https://x/find?q=a%20b%26c' },
    })
    expect(await get('/api/actions/search/url')).toMatchObject({ status: 422, body: { error: 'validation-error' } })
    expect(await get('/api/actions/search/url', { 'input.nope': 'x' })).toMatchObject({ status: 422 })
  })

  test.each([
    ['https://x/?q=${resource.$.metadata.annotations.value}', 'https://x/?q=a%20b%26c%3Dd%23e%3Ff'],
    ['https://x/#/${resource.$.metadata.annotations.value}', 'https://x/#/a%20b%26c%3Dd%23e%3Ff'],
    ['https://x/${resource.$.metadata.annotations.value}/y', 'https://x/a%20b&c=d%23e%3Ff/y'],
    ['https://${resource.$.metadata.name}.corp/', 'https://web.corp/'],
    ['https://x/?q=${func.encode(${resource.$.metadata.annotations.value})}', 'https://x/?q=a%20b%26c%3Dd%23e%3Ff'],
    ['/~09/evil.com', '/%09/evil.com'],
  ])('encodes values, so that they do not change where it leads: %s', async (pattern, wanted) => {
    await maps({ 'url-actions': [{ name: 'open', 'url-pattern': pattern }] })
    expect(await get('/api/actions/open/url')).toMatchObject({ status: 200, body: { url: wanted } })
  })

  test.each([
    'https://${resource.$.metadata.annotations.host}.corp/',
    'https://user@${resource.$.metadata.annotations.value}/',
    'java${resource.$.metadata.name}script:alert(1)',
  ])('refuses a value that is more than part of a host name: %s', async (pattern) => {
    await maps({ 'url-actions': [{ name: 'open', 'url-pattern': pattern }] })
    expect(await get('/api/actions/open/url')).toMatchObject({ status: 422, body: { error: 'pattern-error' } })
  })

  test('that repeats a long value is refused before it fills the memory', async () => {
    const long = 'x'.repeat(60_000)
    await admin.patch(web, web, { merge: { metadata: { annotations: { long } } } })
    const repeated = '${resource.$.metadata.annotations.long}'.repeat(5000)
    await maps({
      'url-actions': [{ name: 'open', 'url-pattern': `/${repeated}` }],
      'cmd-actions': [{ name: 'go', image: 'i', 'cmd-pattern': `run x${repeated}` }],
    })
    expect(await get('/api/actions/open/url')).toMatchObject({ status: 422 })
    await expect(service.run(caller, web, 'go')).rejects.toMatchObject({ code: 'TooLarge' })
    await admin.patch(web, web, { merge: { metadata: { annotations: { long: null } } } })
  })
})

describe('several Jobs', () => {
  const perPod = {
    name: 'each',
    image: 'i',
    'cmd-pattern': 'kubectl exec path:podName:string ${input.pods} -- x',
    'requires-input': 'f',
  }
  const inputs = { f: { fields: { pods: { type: 'string' } } } }

  test('of which one is refused: the error names those that were created', async () => {
    await maps({ 'cmd-actions': [perPod], inputs })
    const name = 'refuse-p3'
    await admin.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: ['batch'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['jobs'] }],
        },
        validations: [
          {
            expression: '!object.spec.template.spec.containers[0].command.exists(c, c == "p3")',
            message: 'no p3 here',
          },
        ],
      },
    })
    await admin.create({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    })
    let error: unknown
    await eventually(async () => {
      error = await service
        .run(caller, web, 'each', { inputs: { pods: 'p1,p1,p2,p3,p4' } })
        .catch((one: unknown) => one)
      expect(error).toBeInstanceOf(Error)
    })
    const { message } = error as Error
    expect(message).toMatch(/no p3 here; 2 of 4 Jobs were created before: kappnav\/kappnav-\S+, kappnav\/kappnav-\S+$/)
    for (const key of message.slice(message.indexOf('before: ') + 8).split(', '))
      await admin.get({ apiVersion: 'batch/v1', kind: 'Job' }, key)
  })

  test('are 100 at most', async () => {
    await maps({ 'cmd-actions': [perPod], inputs })
    const pods = Array.from({ length: 101 }, (_value, index) => `p${index}`).join(',')
    await expect(service.run(caller, web, 'each', { inputs: { pods } })).rejects.toMatchObject({ code: 'TooLarge' })
  })
})

describe('the status of a resource', () => {
  const algorithm =
    'function getStatus(t) { var s = JSON.parse(t); return JSON.stringify({value: s.observedGeneration > 9 ? "Normal" : "Problem", "flyover.nls": ["key", "1"]}) }'

  test('is derived from numbers beyond 2^53, and carries the key of its flyover with its arguments', async () => {
    await admin.create(map('status.deployment', { algorithm }))
    await admin.patch(
      web,
      web,
      { merge: { status: { observedGeneration: parseJson('9007199254740993') } } },
      { subresource: 'status' },
    )
    await eventually(async () =>
      expect(await service.status(caller, web)).toEqual({ value: 'Normal', flyover: 'Normal', 'flyover.nls': 'key,1' }),
    )
  })

  test('says why an algorithm gave none', async () => {
    await admin.apply(map('status.deployment', { algorithm: 'function getStatus() { throw new Error("broken") }' }), {
      force: true,
    })
    await eventually(async () =>
      expect(await service.status(caller, web)).toMatchObject({
        value: 'Unknown',
        problem: expect.stringContaining('broken') as string,
      }),
    )
    await admin.apply(map('status.deployment', { algorithm: 'function getStatus() { return "[]" }' }), { force: true })
    await eventually(async () =>
      expect(await service.status(caller, web)).toMatchObject({
        problem: expect.stringContaining('no JSON object') as string,
      }),
    )
  })
})

describe('an Application', () => {
  const application = (name: string, kinds: readonly JsonObject[], more: JsonObject = {}): KubeObject => ({
    apiVersion: 'app.k8s.io/v1beta1',
    kind: 'Application',
    metadata: { name, namespace: 'a', labels, ...more },
    spec: { selector: { matchLabels: labels }, componentKinds: kinds },
  })
  const ref = (name: string): typeof web => ({
    apiVersion: 'app.k8s.io/v1beta1',
    kind: 'Application',
    namespace: 'a',
    name,
  })

  test('has the first status of app-status-precedence that a component has, also of nested Applications', async () => {
    const byName =
      'function getStatus(t) { return JSON.stringify({value: JSON.parse(t).replicas > 2 ? "Warning" : "Normal"}) }'
    await admin.apply(map('status.deployment', { algorithm: byName }), { force: true })
    await admin.create(deployment('other'))
    const apps = { group: 'apps', kind: 'Deployment' }
    await admin.create(application('outer', [{ group: 'app.k8s.io', kind: 'Application' }]))
    await admin.create(application('inner', [apps, { group: 'app.k8s.io', kind: 'Application' }]))
    await eventually(async () => expect(await service.status(caller, ref('outer'))).toMatchObject({ value: 'Normal' }))
    await admin.patch(
      web,
      { namespace: 'a', name: 'other' },
      { merge: { status: { replicas: 3 } } },
      { subresource: 'status' },
    )
    for (const name of ['outer', 'inner'])
      expect(await service.status(caller, ref(name))).toEqual({
        value: 'Warning',
        flyover: '1 of 2 components: Deployment other',
      })
    await admin.create(map('kappnav-config', { 'app-status-precedence': 'Normal, Warning', 'status-unknown': '?' }))
    await eventually(async () => expect(await service.status(caller, ref('outer'))).toMatchObject({ value: 'Normal' }))
    await admin.create(application('empty', []))
    expect(await service.status(caller, ref('empty'))).toEqual({ value: '?', flyover: '?' })
  })

  test('shows the components that the caller may list, and says which are missing', async () => {
    await admin.create(deployment('elsewhere', {}, 'b'))
    await admin.create(
      application(
        'partly',
        [
          { group: 'apps', kind: 'Deployment' },
          { group: '', kind: 'Service' },
          { group: 'example.com', kind: 'Nope' },
        ],
        { annotations: { 'kappnav.component.namespaces': 'b' } },
      ),
    )
    const rules = [
      { apiGroups: ['app.k8s.io'], resources: ['applications'], verbs: ['get'] },
      { apiGroups: ['apps'], resources: ['deployments'], verbs: ['list'] },
    ]
    await admin.create({ apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'bob', namespace: 'a' }, rules })
    await admin.create({
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: { name: 'bob', namespace: 'a' },
      roleRef: { apiGroup: rbac, kind: 'Role', name: 'bob' },
      subjects: [{ apiGroup: rbac, kind: 'User', name: 'bob' }],
    })
    const user = { name: 'bob', groups: ['system:authenticated'] }
    const found = await service.applications.components(
      { client: server.client({ as: user }), user },
      { namespace: 'a', name: 'partly' },
    )
    expect(found.components.map(({ resource }) => resource.name)).toEqual(['other', 'web'])
    expect(found.unknown).toEqual([
      expect.stringMatching(/cannot list resource "deployments" in API group "apps" in the namespace "b"/),
      expect.stringMatching(/cannot list resource "services" in API group "" in the namespace "a"/),
      expect.stringMatching(/cannot list resource "services" in API group "" in the namespace "b"/),
      'the server has no kind Nope in group example.com',
    ])
  })
})

describe("the original's mapping endpoint", () => {
  test('returns candidates and merged maps of status and sections', async () => {
    const sections = {
      sections: [{ name: 's', datasource: 'd' }],
      'section-datasources': [{ name: 'd', type: 'labels-annotations' }],
    }
    await admin.create(map('sections', sections))
    const path = '/kappnav/kindactionmapping/Deployment'
    await eventually(async () =>
      expect(await get(path, { type: 'sections', apiversion: 'apps/v1' })).toEqual({
        status: 200,
        body: { 'candidate-maps': ['sections@kappnav'], map: sections },
      }),
    )
    expect(await get(path, { type: 'status-mapping' })).toMatchObject({
      status: 200,
      body: { 'candidate-maps': ['status.deployment@kappnav'], map: { algorithm: expect.any(String) as string } },
    })
    expect(await get(path, { type: 'nope' })).toMatchObject({ status: 400 })
    expect(await get('/kappnav/resource/commands', { time: 'garbage' })).toMatchObject({ status: 400 })
  })
})

describe('the events of mappings and maps', () => {
  /** Events of an object, those that were combined counted as often as they occurred. */
  const eventsOf = async (name: string): Promise<number> =>
    (await admin.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' }, { namespace: 'kappnav' })).items
      .filter(({ regarding }) => (regarding as { name?: string }).name === name)
      .reduce((sum, { series }) => sum + ((series as { count?: number } | undefined)?.count ?? 1), 0)
  const mapping = { apiVersion: 'actions.kappnav.io/v1', kind: 'KindActionMapping' }

  test('are 20 at most, and are not emitted again when the object is reconciled again', async () => {
    await admin.create(map('many', { 'url-actions': Array.from({ length: 200 }, () => ({})) }))
    const invalid = Array.from({ length: 150 }, () => ({ apiVersion: 'v1', kind: 'Pod', mapname: '${nope}' }))
    await admin.create(kam('many-rules', invalid))
    await eventually(async () => expect(await eventsOf('many')).toBeGreaterThan(5))
    await eventually(async () => expect(await eventsOf('many-rules')).toBeGreaterThan(5))
    for (const precedence of [3, 4, 5]) {
      const changed = await admin.patch(mapping, 'kappnav/many-rules', { merge: { spec: { precedence } } })
      await admin.waitFor(mapping, 'kappnav/many-rules', ({ status }) =>
        JSON.stringify(status ?? {}).includes(`"observedGeneration":${String(changed.metadata.generation)}`),
      )
    }
    for (const name of ['many', 'many-rules']) expect(await eventsOf(name)).toBeLessThanOrEqual(20)
  })
})
