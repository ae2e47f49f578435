// The managers by the real SDK against the fake AWS over HTTP.
import { resourceKinds } from '@fairlead/aws'
import type { ResourceManager } from '@fairlead/aws'
import { FakeAws, FakeAwsServer } from '@fairlead/aws/fake'
import { SdkApi, managerFor } from '@fairlead/aws/services'
import { FakeClock } from '@fairlead/kube'
import { expect, test } from 'vitest'

const trust = JSON.stringify({
  Version: '2012-10-17',
  Statement: [{ Effect: 'Allow', Principal: { Service: 'sagemaker.amazonaws.com' }, Action: 'sts:AssumeRole' }],
})

interface Cloud extends AsyncDisposable {
  readonly aws: FakeAws
  readonly clock: FakeClock
  manager(kind: string): ResourceManager
}

async function cloud(): Promise<Cloud> {
  const clock = new FakeClock('2026-01-02T00:00:00Z')
  const aws = new FakeAws({ clock })
  const server = await FakeAwsServer.start(aws)
  const options = {
    region: 'eu-west-1',
    endpoint: server.url,
    credentials: { accessKeyId: 'fake', secretAccessKey: 'fake' },
  }
  const apis = { iam: new SdkApi('iam', options), sagemaker: new SdkApi('sagemaker', options) }
  return {
    aws,
    clock,
    manager: (name) =>
      managerFor(
        resourceKinds.find(({ kind }) => kind === name)!,
        (service) => apis[service],
      ),
    [Symbol.asyncDispose]: async () => {
      for (const api of Object.values(apis)) api[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}

const arn = 'arn:aws:iam::123456789012:role/r'

test('what is seeded has been there for long: the delays of the script are over for it', async () => {
  await using fake = await cloud()
  fake.aws.script({ rolePropagation: 5000, iamVisibility: 5000, endpointCreating: 5000 })
  fake.aws.seed('eu-west-1', {
    roles: [{ RoleName: 'r', AssumeRolePolicyDocument: trust }],
    models: [{ ModelName: 'm', ExecutionRoleArn: arn }],
    endpointConfigs: [{ EndpointConfigName: 'c', ProductionVariants: [{ VariantName: 'v', ModelName: 'm' }] }],
    endpoints: [{ EndpointName: 'e', EndpointConfigName: 'c' }],
  })
  expect(await fake.manager('Role').read({ name: 'r' }, {})).toMatchObject({ arn })
  const endpoint = await fake.manager('Endpoint').read({ endpointName: 'e' }, {})
  expect(endpoint).toMatchObject({ status: { endpointStatus: 'InService' } })
  const models = fake.manager('Model')
  await models.create({ modelName: 'm2', executionRoleARN: arn }, {})
  await fake.manager('Role').create({ name: 'new', assumeRolePolicyDocument: trust }, {})
  await expect(models.create({ modelName: 'm3', executionRoleARN: `${arn.slice(0, -1)}new` }, {})).rejects.toThrow(
    'Could not assume role',
  )
})

test('a role is created, read, given policies and deleted with them', async () => {
  await using fake = await cloud()
  const policies = fake.manager('Policy')
  const roles = fake.manager('Role')
  const document = JSON.stringify({ Version: '2012-10-17', Statement: [] })
  const policy = await policies.create({ name: 'p', policyDocument: document, description: 'reads' }, { owner: 'x' })
  expect(policy.arn).toBe('arn:aws:iam::123456789012:policy/p')
  expect(await policies.tags(policy)).toEqual({ owner: 'x' })
  const wanted = { name: 'r', assumeRolePolicyDocument: trust, description: 'runs', policies: [policy.arn!] }
  expect(await roles.read(wanted, {})).toBeUndefined()
  const created = await roles.create(wanted, { owner: 'y' })
  expect(created.arn).toBe(arn)
  const spec = { ...wanted, inlinePolicies: { more: document } }
  const change = { spec, observed: created, fields: ['policies', 'inlinePolicies'], annotations: {} }
  expect((await roles.update(change)).spec).toEqual({
    ...spec,
    path: '/',
    maxSessionDuration: 3600,
  })
  await expect(policies.delete({}, policy)).rejects.toMatchObject({ code: 'DeleteConflict', status: 409 })
  await roles.delete(spec, (await roles.read(spec, {}))!)
  expect(await roles.read(spec, {})).toBeUndefined()
  await policies.delete({}, policy)
  expect(await policies.read({ name: 'p' }, {})).toBeUndefined()
})

test('a policy keeps five versions and is found by name when its ARN is not known', async () => {
  await using fake = await cloud()
  const policies = fake.manager('Policy')
  const document = (n: number): string => JSON.stringify({ Version: '2012-10-17', Statement: [], Id: `${n}` })
  await policies.create({ name: 'p', path: '/team/', policyDocument: document(0) }, {})
  for (let n = 1; n < 8; n++) {
    const observed = (await policies.read({ name: 'p', path: '/team/' }, {}))!
    expect(observed.spec['policyDocument']).toBe(document(n - 1))
    const spec = { name: 'p', policyDocument: document(n) }
    await policies.update({ spec, observed, fields: ['policyDocument'], annotations: {} })
  }
  expect(fake.aws.calls.filter(({ error }) => error !== undefined)).toEqual([])
})

test('the chain of SageMaker is created in order, updated, and deleted without a violation', async () => {
  await using fake = await cloud()
  fake.aws.script({ endpointCreating: 60_000, endpointUpdating: 60_000, endpointDeleting: 60_000 })
  await fake.manager('Role').create({ name: 'r', assumeRolePolicyDocument: trust }, {})
  const models = fake.manager('Model')
  const model = {
    modelName: 'm',
    executionRoleARN: arn,
    primaryContainer: { image: 'registry/image', modelDataURL: 's3://b/m' },
  }
  expect(await models.read(model, {})).toBeUndefined()
  await models.create(model, { owner: 'x' })
  const seen = await models.read(model, {})
  expect(seen?.spec).toEqual({ ...model, enableNetworkIsolation: false })
  expect(await models.tags(seen!)).toEqual({ owner: 'x' })
  const configs = fake.manager('EndpointConfig')
  const config = (name: string): Parameters<ResourceManager['create']>[0] => ({
    endpointConfigName: name,
    productionVariants: [
      {
        variantName: 'v',
        modelName: 'm',
        initialInstanceCount: 1,
        instanceType: 'ml.m5.large',
        initialVariantWeight: 1,
      },
    ],
  })
  await configs.create(config('one'), {})
  await configs.create(config('two'), {})
  const endpoints = fake.manager('Endpoint')
  const endpoint = { endpointName: 'e', endpointConfigName: 'one' }
  await endpoints.create(endpoint, {})
  expect((await endpoints.read(endpoint, {}))?.status['endpointStatus']).toBe('Creating')
  await expect(endpoints.delete(endpoint, { spec: {}, status: {} })).rejects.toMatchObject({
    code: 'ValidationException',
    status: 400,
  })
  await fake.clock.advance(60_000)
  const inService = (await endpoints.read(endpoint, {}))!
  expect(inService).toMatchObject({ status: { endpointStatus: 'InService' }, spec: { endpointConfigName: 'one' } })
  const spec = { ...endpoint, endpointConfigName: 'two' }
  const updated = await endpoints.update({ spec, observed: inService, fields: ['endpointConfigName'], annotations: {} })
  expect(updated.annotations).toEqual({ 'sagemaker.services.k8s.aws/last-endpoint-config-for-update': 'two' })
  await fake.clock.advance(60_000)
  expect((await endpoints.read(spec, {}))?.spec['endpointConfigName']).toBe('two')
  await endpoints.delete(spec, inService)
  expect((await endpoints.read(spec, {}))?.status['endpointStatus']).toBe('Deleting')
  await fake.clock.advance(60_000)
  expect(await endpoints.read(spec, {})).toBeUndefined()
  for (const name of ['one', 'two']) await configs.delete(config(name), { spec: {}, status: {} })
  await models.delete(model, seen!)
  expect(fake.aws.violations).toEqual([])
})

test('deleting what is in use is taken, as AWS does, and recorded as a violation', async () => {
  await using fake = await cloud()
  const region = 'eu-west-1'
  fake.aws.seed(region, {
    models: [{ ModelName: 'm' }],
    endpointConfigs: [{ EndpointConfigName: 'c', ProductionVariants: [{ VariantName: 'v', ModelName: 'm' }] }],
    endpoints: [{ EndpointName: 'e', EndpointConfigName: 'c' }],
  })
  await fake.manager('EndpointConfig').delete({ endpointConfigName: 'c' }, { spec: {}, status: {} })
  expect(fake.aws.violations).toEqual(['DeleteEndpointConfig c: endpoint e uses it'])
})

test('errors keep the code, message and status of the service', async () => {
  await using fake = await cloud()
  fake.aws.script({ rolePropagation: 10_000, failures: { DescribeModel: { times: 1, code: 'ThrottlingException' } } })
  await fake.manager('Role').create({ name: 'r', assumeRolePolicyDocument: trust }, {})
  const models = fake.manager('Model')
  await expect(models.read({ modelName: 'm' }, {})).rejects.toMatchObject({
    code: 'ThrottlingException',
    status: 400,
  })
  await expect(models.create({ modelName: 'm', executionRoleARN: arn }, {})).rejects.toMatchObject({
    code: 'ValidationException',
    message: expect.stringMatching(/^Could not assume role/),
  })
  await expect(fake.manager('Role').create({ name: 'r', assumeRolePolicyDocument: trust }, {})).rejects.toMatchObject({
    code: 'EntityAlreadyExists',
    status: 409,
  })
  await fake.clock.advance(10_000)
  expect((await models.create({ modelName: 'm', executionRoleARN: arn }, {})).arn).toBe(
    'arn:aws:sagemaker:eu-west-1:123456789012:model/m',
  )
})
