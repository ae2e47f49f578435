// What annotations of namespaces and objects may decide: region, account, endpoint, deletion, adoption.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Stage, kinds, made } from './stage.ts'
import type { StageKind, StageOptions } from './stage.ts'

const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const prefix = 'services.k8s.aws'
const model = made('Model', 'tenant/m', { modelName: 'm' })
const role: JsonObject = { name: 'r', assumeRolePolicyDocument: trust }

type Annotations = Readonly<Record<string, string | null>>

async function tenant(options: StageOptions, annotations: Annotations): Promise<Stage> {
  const stage = await Stage.start({ ...options, namespaces: ['tenant'] })
  await annotate(stage, annotations)
  return stage
}

async function annotate(stage: Stage, annotations: Annotations): Promise<void> {
  await stage.during(
    stage.client.patch({ apiVersion: 'v1', kind: 'Namespace' }, 'tenant', { merge: { metadata: { annotations } } }),
  )
}

async function shows(stage: Stage, kind: StageKind, key: string, type: string, condition: JsonObject): Promise<void> {
  await stage.until(async () => expect(await stage.condition(kind, key, type)).toMatchObject(condition))
}

const ready = (stage: Stage, kind: StageKind, key: string): Promise<void> =>
  shows(stage, kind, key, 'Ready', { status: 'True' })

async function deleted(stage: Stage, kind: StageKind, key: string): Promise<void> {
  await stage.during(stage.client.delete(kinds[kind], key))
  await stage.until(async () => expect(await stage.object(kind, key).then(() => 'there', isNotFound)).toBe(true))
}

test('a namespace chooses no endpoint that the settings do not allow, and no call goes there', async () => {
  const requests: unknown[] = []
  const server = createServer(({ headers }, response) => {
    requests.push(headers)
    response.writeHead(500).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await using _server = { [Symbol.asyncDispose]: async () => void server.close() }
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const allowed of [undefined, 'http://127.0.0.1:1', url]) {
    await using stage = await tenant(allowed === undefined ? {} : { settings: { 'allowed-endpoint-urls': allowed } }, {
      [`${prefix}/endpoint-url`]: url,
    })
    await stage.apply(model)
    if (allowed === url) {
      await stage.until(() => expect(requests).not.toEqual([]))
      continue
    }
    await shows(stage, 'Model', 'tenant/m', 'ACK.Terminal', { status: 'True', reason: 'EndpointNotAllowed' })
    expect([requests, stage.aws.calls]).toEqual([[], []])
    // Without the annotation the object goes on at once.
    await annotate(stage, { [`${prefix}/endpoint-url`]: null })
    await ready(stage, 'Model', 'tenant/m')
  }
})

test('an annotated region that is none becomes no part of a host', async () => {
  await using stage = await tenant({}, { [`${prefix}/default-region`]: 'x.attacker.example/' })
  await stage.apply(model)
  await shows(stage, 'Model', 'tenant/m', 'ACK.Terminal', { status: 'True', reason: 'InvalidRegion' })
  await annotate(stage, { [`${prefix}/default-region`]: 'eu-west-1' })
  await ready(stage, 'Model', 'tenant/m')
  expect((await stage.object('Model', 'tenant/m')).status).toMatchObject({
    ackResourceMetadata: { region: 'eu-west-1' },
  })
})

test('nothing is made for a namespace of another account', async () => {
  const annotations = { [`${prefix}/owner-account-id`]: '999999999999' }
  await using stage = await tenant({ settings: { 'aws-account-id': '123456789012' } }, annotations)
  await stage.apply(model)
  await shows(stage, 'Model', 'tenant/m', 'ACK.Terminal', { status: 'True', reason: 'AccountNotServed' })
  expect(stage.aws.calls).toEqual([])
  await annotate(stage, { [`${prefix}/owner-account-id`]: '123456789012' })
  await ready(stage, 'Model', 'tenant/m')
})

test('the deletion policy of a namespace counts for its service, below that of the object', async () => {
  await using stage = await tenant({}, { 'sagemaker.services.k8s.aws/deletion-policy': 'retain' })
  const own = { ...model.metadata, name: 'own', annotations: { [`${prefix}/deletion-policy`]: 'delete' } }
  await stage.apply(model, { ...model, metadata: own, spec: { modelName: 'own' } } as KubeObject)
  await stage.apply(made('Role', 'tenant/r', role))
  for (const [kind, key] of [
    ['Model', 'tenant/m'],
    ['Model', 'tenant/own'],
    ['Role', 'tenant/r'],
  ] as const) {
    await ready(stage, kind, key)
    await deleted(stage, kind, key)
  }
  expect(stage.writes().filter((name) => name.startsWith('Delete'))).toEqual(['DeleteModel', 'DeleteRole'])
})

test('an annotation that is misspelt deletes and adopts nothing, and says what to write', async () => {
  await using stage = await Stage.start()
  stage.aws.seed('us-east-1', { roles: [{ RoleName: 'r', AssumeRolePolicyDocument: trust }] })
  await stage.apply(made('Model', 'default/m', { modelName: 'm' }))
  await ready(stage, 'Model', 'default/m')
  const merge = { metadata: { annotations: { [`${prefix}/deletion-policy`]: 'Retain' } } }
  await stage.during(stage.client.patch(kinds.Model, 'default/m', { merge }))
  await stage.during(stage.client.delete(kinds.Model, 'default/m'))
  await shows(stage, 'Model', 'default/m', 'ACK.Terminal', {
    reason: 'InvalidAnnotation',
    message: `the annotation ${prefix}/deletion-policy: Retain: write delete or retain`,
  })
  await stage.apply(
    made('Role', 'default/r', role, {
      [`${prefix}/adoption-policy`]: 'adopt',
      [`${prefix}/adoption-fields`]: 'name: r',
    }),
  )
  await shows(stage, 'Role', 'default/r', 'ACK.Terminal', { reason: 'InvalidAnnotation' })
  expect(stage.writes()).toEqual(['CreateModel'])
})

test('an object that may not refer across namespaces holds back no deletion there, and one that may does until then', async () => {
  await using stage = await tenant({ isEmbedded: false }, {})
  stage.aws.seed('us-east-1', {
    models: [{ ModelName: 'm' }],
    endpointConfigs: [{ EndpointConfigName: 'free', ProductionVariants: [{ VariantName: 'v', ModelName: 'm' }] }],
  })
  const variants = [{ variantName: 'a', modelName: 'm', initialInstanceCount: 1, instanceType: 'ml.m5.large' }]
  await stage.apply(
    made('EndpointConfig', 'default/c', { endpointConfigName: 'c', productionVariants: variants }),
    made('Endpoint', 'tenant/e', { endpointName: 'e', endpointConfigName: 'free' }),
  )
  await ready(stage, 'EndpointConfig', 'default/c')
  await ready(stage, 'Endpoint', 'tenant/e')
  const spec = { endpointConfigName: null, endpointConfigNameRef: { name: 'c', namespace: 'default' } }
  await stage.during(stage.client.patch(kinds.Endpoint, 'tenant/e', { merge: { spec } }))
  await shows(stage, 'Endpoint', 'tenant/e', 'ACK.ReferencesResolved', { reason: 'CrossNamespaceDenied' })
  const grant = {
    apiVersion: 'references.fairlead.dev/v1alpha1',
    kind: 'ReferenceGrant',
    metadata: { name: 'endpoints', namespace: 'default' },
    spec: {
      from: [{ group: 'sagemaker.services.k8s.aws', kind: 'Endpoint', namespace: 'tenant' }],
      to: [{ group: 'sagemaker.services.k8s.aws', kind: 'EndpointConfig' }],
    },
  }
  await stage.apply(grant)
  await ready(stage, 'Endpoint', 'tenant/e')
  await stage.during(stage.client.delete(kinds.EndpointConfig, 'default/c'))
  await shows(stage, 'EndpointConfig', 'default/c', 'Ready', { reason: 'DeletionBlocked' })
  await stage.during(stage.client.delete(grant, 'default/endpoints'))
  await stage.until(async () =>
    expect(await stage.object('EndpointConfig', 'default/c').then(() => 'there', isNotFound)).toBe(true),
  )
})

test('an object adopts nothing that another object has, until that lets it go', async () => {
  await using stage = await tenant({}, {})
  const retained = { [`${prefix}/deletion-policy`]: 'retain' }
  const adopting = { [`${prefix}/adoption-policy`]: 'adopt-or-create' }
  stage.aws.seed('us-east-1', { roles: [{ RoleName: 'free', AssumeRolePolicyDocument: trust }] })
  await stage.apply(made('Role', 'default/r', role, retained))
  await ready(stage, 'Role', 'default/r')
  const free = { ...role, name: 'free' }
  await stage.apply(
    made('Role', 'tenant/r', { ...role, description: 'taken' }, adopting),
    made('Role', 'default/free', free, adopting),
    made('Role', 'tenant/free', { ...free, description: 'other' }, adopting),
  )
  await shows(stage, 'Role', 'tenant/r', 'ACK.Terminal', { reason: 'ResourceOwnedByAnotherObject' })
  expect(await stage.condition('Role', 'tenant/r', 'ACK.Adopted')).toBeUndefined()
  // Of two that adopt at the same time one gets it.
  await stage.until(async () => {
    const states = ['default/free', 'tenant/free'].map(
      async (key) => (await stage.condition('Role', key, 'Ready'))?.reason,
    )
    expect((await Promise.all(states)).toSorted()).toEqual(['ResourceOwnedByAnotherObject', 'Synced'])
  })
  await deleted(stage, 'Role', 'tenant/r')
  await stage.apply(made('Role', 'tenant/r', role, adopting))
  await deleted(stage, 'Role', 'default/r')
  await ready(stage, 'Role', 'tenant/r')
  expect(stage.writes().filter((name) => name.endsWith('Role') && name !== 'UpdateRole')).toEqual(['CreateRole'])
})
