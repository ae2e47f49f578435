// The controllers under faults: a process that dies, AWS that refuses or throttles, kinds that cannot be listed.
import { aws } from '@fairlead/aws'
import { CustomResourceDefinition } from '@fairlead/client'
import type { ApiRequest, ApiResponse, Impersonation, Transport } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Stage, kinds, made } from './stage.ts'
import type { StageKind } from './stage.ts'

const trust = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'sagemaker.amazonaws.com' }, Action: 'sts:AssumeRole' }],
})

const role = made('Role', 'default/r', { name: 'r', assumeRolePolicyDocument: trust })
const model = made('Model', 'default/m', { modelName: 'm', executionRoleARNRef: { name: 'r' } })

function config(name: string, endpointConfigName: string): KubeObject {
  return made('EndpointConfig', `default/${name}`, {
    endpointConfigName,
    productionVariants: [
      { variantName: 'v', modelNameRef: { name: 'm' }, initialInstanceCount: 1, instanceType: 'ml.m5.large' },
    ],
  })
}

const endpoint = made('Endpoint', 'default/e', { endpointName: 'e', endpointConfigNameRef: { name: 'c' } })

async function ready(stage: Stage, kind: StageKind, key: string): Promise<void> {
  await stage.until(async () => expect(await stage.condition(kind, key, 'Ready')).toMatchObject({ status: 'True' }))
}

async function isDeleted(stage: Stage, kind: StageKind, key: string): Promise<boolean> {
  return stage.object(kind, key).then(() => false, isNotFound)
}

/** Loses writes of status, as a process does that dies before them; or refuses to list a kind, or does not know it. */
class FaultyTransport implements Transport {
  isLosing = false
  unlistable: { readonly plural: string; readonly response: ApiResponse } | undefined
  readonly #inner: Transport

  constructor(inner: Transport) {
    this.#inner = inner
  }

  get address(): string {
    return this.#inner.address
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    if (this.isLosing && request.method === 'PATCH' && request.path.endsWith('/status'))
      throw new Error('connection lost')
    return this.#refusal(request) ?? this.#inner.request(request)
  }

  async watch(request: ApiRequest): ReturnType<Transport['watch']> {
    const refused = this.#refusal(request)
    return refused === undefined ? this.#inner.watch(request) : { refused }
  }

  as(who: Impersonation): Transport {
    return this.#inner.as(who)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#inner[Symbol.asyncDispose]()
  }

  #refusal({ method, path }: ApiRequest): ApiResponse | undefined {
    return method === 'GET' && path.endsWith(`/${this.unlistable?.plural}`) ? this.unlistable?.response : undefined
  }
}

const forbidden: ApiResponse = {
  status: 403,
  headers: {},
  warnings: [],
  body: {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    reason: 'Forbidden',
    message: 'endpoints is forbidden: the test forbids it',
    code: 403,
  },
}

test('a role that was created before its status was written is not created again, nor taken for that of another', async () => {
  const faulty: FaultyTransport[] = []
  await using stage = await Stage.start({
    transport: (inner) => {
      const transport = new FaultyTransport(inner)
      faulty.push(transport)
      // The first process dies between the creation and the status write.
      transport.isLosing = faulty.length === 1
      return transport
    },
  })
  await stage.apply(role)
  await stage.until(() => expect(stage.writes()).toEqual(['CreateRole']))
  await stage.stopControllers()
  await stage.startControllers()
  await ready(stage, 'Role', 'default/r')
  expect(stage.writes()).toEqual(['CreateRole'])
  expect((await stage.object('Role', 'default/r')).status).toMatchObject({
    ackResourceMetadata: { arn: 'arn:aws:iam::123456789012:role/r', ownerAccountID: '123456789012' },
  })
})

test('a resource of the same name is neither taken over nor deleted, unless the object adopts it', async () => {
  await using stage = await Stage.start()
  stage.aws.seed('us-east-1', { roles: [{ RoleName: 'r', AssumeRolePolicyDocument: trust }] })
  await stage.apply(role)
  await stage.until(async () =>
    expect(await stage.condition('Role', 'default/r', 'ACK.Terminal')).toMatchObject({
      status: 'True',
      reason: 'ResourceAlreadyExists',
    }),
  )
  await stage.during(stage.client.delete(kinds.Role, 'default/r'))
  await stage.until(async () => expect(await isDeleted(stage, 'Role', 'default/r')).toBe(true))
  expect(stage.writes()).toEqual([])

  const annotations = { 'services.k8s.aws/adoption-policy': 'adopt-or-create' }
  const adopting = made('Role', 'default/r', role['spec'] as JsonObject, annotations)
  await stage.apply(adopting)
  await ready(stage, 'Role', 'default/r')
  expect((await stage.object('Role', 'default/r')).metadata.annotations?.['services.k8s.aws/adopted']).toBe('true')
  expect(stage.writes()).toEqual([])
})

test('a role that cannot be assumed yet is tried every two seconds, and shown as recoverable', async () => {
  await using stage = await Stage.start()
  // The role can be assumed once the condition was seen: the clock of the stage runs ahead of this test.
  stage.aws.script({ rolePropagation: 1e9 })
  await stage.apply(model, role)
  await stage.until(async () => {
    expect(await stage.condition('Model', 'default/m', 'ACK.Recoverable')).toMatchObject({ status: 'True' })
    expect(stage.aws.calls.filter(({ operation }) => operation === 'CreateModel').length).toBeGreaterThan(2)
  })
  stage.aws.script({ rolePropagation: 0 })
  await ready(stage, 'Model', 'default/m')
  const creates = stage.aws.calls.filter(({ operation }) => operation === 'CreateModel')
  expect(new Set(stage.failed())).toEqual(new Set(['CreateModel ValidationException']))
  const waits = creates.slice(1).map(({ at }, index) => at - creates[index]!.at)
  for (const wait of waits) expect(wait).toBeGreaterThanOrEqual(2000)
  expect(await stage.condition('Model', 'default/m', 'ACK.Terminal')).toBeUndefined()
})

test('throttled calls are repeated until they pass, and nothing is created twice', async () => {
  await using stage = await Stage.start()
  const failures = { '*': { times: 2, code: 'ThrottlingException' } }
  stage.aws.script({ failures })
  await stage.apply(endpoint, config('c', 'c-1'), model, role)
  await ready(stage, 'Endpoint', 'default/e')
  expect(stage.writes().filter((name) => name.startsWith('Create'))).toEqual([
    'CreateRole',
    'CreateModel',
    'CreateEndpointConfig',
    'CreateEndpoint',
  ])
})

test('a referent that is replaced by one with another value updates its dependents', async () => {
  await using stage = await Stage.start()
  await stage.apply(endpoint, config('c', 'c-1'), config('d', 'c-2'), model, role)
  await ready(stage, 'Endpoint', 'default/e')
  await ready(stage, 'EndpointConfig', 'default/d')
  await stage.apply(made('Endpoint', 'default/e', { endpointName: 'e', endpointConfigNameRef: { name: 'd' } }))
  await stage.until(async () =>
    expect((await stage.object('Endpoint', 'default/e')).status).toMatchObject({
      resolvedReferences: [{ value: 'c-2', state: 'Resolved' }],
    }),
  )
  await stage.until(() => expect(stage.writes()).toContain('UpdateEndpoint'))
  await ready(stage, 'Endpoint', 'default/e')
  expect(stage.failed()).toEqual([])
})

test('a referent waits for its dependents, and is deleted at once where it is forced', async () => {
  await using stage = await Stage.start()
  await stage.apply(endpoint, config('c', 'c-1'), model, role)
  await ready(stage, 'Endpoint', 'default/e')
  await stage.during(stage.client.delete(kinds.EndpointConfig, 'default/c'))
  await stage.until(async () =>
    expect(await stage.condition('EndpointConfig', 'default/c', 'ACK.ResourceSynced')).toMatchObject({
      status: 'False',
      reason: 'DeletionBlocked',
      message: expect.stringContaining('Endpoint default/e'),
    }),
  )
  const merge = { metadata: { annotations: { 'references.services.k8s.aws/force-deletion': 'true' } } }
  await stage.during(stage.client.patch(kinds.EndpointConfig, 'default/c', { merge }))
  await stage.until(async () => expect(await isDeleted(stage, 'EndpointConfig', 'default/c')).toBe(true))
  expect(stage.aws.violations).toEqual(['DeleteEndpointConfig c-1: endpoint e uses it'])
})

const unserved: ApiResponse = { status: 404, headers: {}, warnings: [], body: '404 page not found\n' }

test.each([
  { state: 'cannot be listed', response: forbidden, says: 'Endpoint cannot be listed now' },
  { state: 'is not served', response: unserved, says: 'Endpoint is not served now' },
])('nothing is deleted in AWS while a kind that could refer to it $state', async ({ response, says }) => {
  const faulty: FaultyTransport[] = []
  await using stage = await Stage.start({
    transport: (inner) => {
      const transport = new FaultyTransport(inner)
      faulty.push(transport)
      if (faulty.length > 1) transport.unlistable = { plural: 'endpoints', response }
      return transport
    },
  })
  await stage.apply(endpoint, config('c', 'c-1'), model, role)
  await ready(stage, 'Endpoint', 'default/e')
  await stage.stopControllers()
  await stage.during(stage.client.delete(kinds.EndpointConfig, 'default/c'))
  await stage.startControllers()
  await stage.until(async () =>
    expect(await stage.condition('EndpointConfig', 'default/c', 'ACK.ResourceSynced')).toMatchObject({
      reason: 'DeletionBlocked',
      message: expect.stringContaining(says),
    }),
  )
  expect(stage.writes()).not.toContain('DeleteEndpointConfig')
  // Once they can, the Endpoint is seen, and holds it back; it goes when the Endpoint goes.
  faulty[1]!.unlistable = undefined
  await stage.during(stage.client.delete(kinds.Endpoint, 'default/e'))
  await stage.until(async () => expect(await isDeleted(stage, 'EndpointConfig', 'default/c')).toBe(true), 30_000)
  expect(stage.aws.violations).toEqual([])
})

test('grants that cannot be read are unknown: nothing crosses a namespace, the object says why, and they count once read', async () => {
  const faulty: FaultyTransport[] = []
  await using stage = await Stage.start({
    namespaces: ['owner'],
    isEmbedded: false,
    transport: (inner) => {
      faulty.push(new FaultyTransport(inner))
      faulty[0]!.unlistable = { plural: 'referencegrants', response: forbidden }
      return faulty[0]!
    },
  })
  await stage.apply(
    made('Role', 'owner/r', { name: 'r', assumeRolePolicyDocument: trust }),
    {
      apiVersion: 'references.fairlead.dev/v1alpha1',
      kind: 'ReferenceGrant',
      metadata: { name: 'models', namespace: 'owner' },
      spec: {
        from: [{ group: 'sagemaker.services.k8s.aws', kind: 'Model', namespace: 'default' }],
        to: [{ group: 'iam.services.k8s.aws', kind: 'Role' }],
      },
    } as unknown as KubeObject,
    made('Model', 'default/m', { modelName: 'm', executionRoleARNRef: { name: 'r', namespace: 'owner' } }),
  )
  await ready(stage, 'Role', 'owner/r')
  await stage.until(async () =>
    expect(await stage.condition('Model', 'default/m', 'ACK.ReferencesResolved')).toMatchObject({
      status: 'Unknown',
      reason: 'ReferentKindUnavailable',
      message: expect.stringContaining('ReferenceGrants cannot be read now'),
    }),
  )
  expect(stage.writes()).toEqual(['CreateRole'])
  faulty[0]!.unlistable = undefined
  await ready(stage, 'Model', 'default/m')
})

test.each([
  { lost: 'by a response that is none of AWS', as: 'garbage', iamVisibility: 0 },
  { lost: 'by a closed connection, and not seen at once', as: 'reset', iamVisibility: 5000 },
  { lost: 'not at all, and not seen at once', as: undefined, iamVisibility: 5000 },
] as const)('a creation whose outcome is lost $lost leaves no role when the object is deleted at once', async (one) => {
  await using stage = await Stage.start()
  const { as, iamVisibility } = one
  stage.aws.script({ iamVisibility })
  if (as !== undefined) stage.aws.script({ failures: { CreateRole: { times: 1, as, tookEffect: true } } })
  await stage.apply(role)
  await stage.until(() => expect(stage.writes()).toEqual(['CreateRole']), 0)
  await stage.during(stage.client.delete(kinds.Role, 'default/r'))
  await stage.until(async () => expect(await isDeleted(stage, 'Role', 'default/r')).toBe(true))
  expect(stage.writes()).toEqual(['CreateRole', 'DeleteRole'])
})

test('a new role that IAM does not show yet is neither created again nor lost from the status', async () => {
  await using stage = await Stage.start()
  stage.aws.script({ iamVisibility: 8000 })
  await stage.apply(role)
  await ready(stage, 'Role', 'default/r')
  const { status } = await stage.object('Role', 'default/r')
  await stage.apply(made('Role', 'default/r', role['spec'] as JsonObject, { note: 'read it again' }))
  await stage.until(() => expect(stage.aws.calls.filter(({ operation }) => operation === 'GetRole')).toHaveLength(3))
  expect((await stage.object('Role', 'default/r')).status).toEqual(status)
  expect([...stage.writes(), ...stage.failed()]).toEqual(['CreateRole'])
})

test('an endpoint follows its configuration when that is recreated with another name, and keeps it meanwhile', async () => {
  await using stage = await Stage.start()
  const retained = { 'services.k8s.aws/deletion-policy': 'retain' }
  const [first, second] = ['c-1', 'c-2'].map((name): KubeObject => {
    const object = config('c', name)
    return { ...object, metadata: { ...object.metadata, annotations: retained } }
  })
  await stage.apply(endpoint, first!, model, role)
  await ready(stage, 'Endpoint', 'default/e')
  await stage.during(stage.client.delete(kinds.EndpointConfig, 'default/c'))
  await stage.until(async () => expect(await isDeleted(stage, 'EndpointConfig', 'default/c')).toBe(true))
  await stage.until(async () =>
    expect(await stage.condition('Endpoint', 'default/e', 'ACK.ReferencesResolved')).toMatchObject({
      status: 'Unknown',
    }),
  )
  expect((await stage.object('Endpoint', 'default/e')).status).toMatchObject({ endpointStatus: 'InService' })
  await stage.apply(second!)
  await stage.until(() => expect(stage.writes()).toContain('UpdateEndpoint'))
  const followed = { endpointStatus: 'InService', resolvedReferences: [{ value: 'c-2', state: 'Resolved' }] }
  await stage.until(async () => expect((await stage.object('Endpoint', 'default/e')).status).toMatchObject(followed))
  expect(stage.writes().filter((name) => name.startsWith('Delete'))).toEqual([])
})

test('the definition of a referring kind is deleted with its resources, and works once it is restored', async () => {
  await using stage = await Stage.start()
  await stage.apply(endpoint, config('c', 'c-1'), model, role)
  await ready(stage, 'Endpoint', 'default/e')
  const name = 'endpoints.sagemaker.services.k8s.aws'
  await stage.during(stage.client.delete(CustomResourceDefinition, name))
  await stage.until(async () => expect(await stage.client.find(CustomResourceDefinition, name)).toBeUndefined())
  expect(stage.writes().at(-1)).toBe('DeleteEndpoint')
  await stage.during(stage.client.delete(kinds.EndpointConfig, 'default/c'))
  await stage.until(async () => expect(await isDeleted(stage, 'EndpointConfig', 'default/c')).toBe(true))
  await stage.during(installDefinitions(stage.client, aws.crds))
  await stage.apply(endpoint, config('c', 'c-3'))
  await ready(stage, 'Endpoint', 'default/e')
  expect(stage.aws.violations).toEqual([])
})
