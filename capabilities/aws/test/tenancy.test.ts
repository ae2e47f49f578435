// References between the namespaces of two tenants, and the samples of the seed, which cross namespaces: on `fairlead
// fake-aws`, with what the samples take for given.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FakeCall } from '@fairlead/aws/fake'
import { parseYamlDocuments } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { dataPath, describeData, readData } from '../../../test/support/conformance-data.ts'
import { launcher } from '../../../test/support/launcher.ts'
import { Stage, made } from './stage.ts'
import type { StageKind } from './stage.ts'

const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })

test('no value crosses a namespace without a ReferenceGrant, and one ends the wait', async () => {
  await using stage = await Stage.start({ namespaces: ['owner', 'guest'], isEmbedded: false })
  const model = made('Model', 'guest/m', { modelName: 'm', executionRoleARNRef: { name: 'r', namespace: 'owner' } })
  const forged = made('Model', 'guest/forged', {
    modelName: 'forged',
    executionRoleARNRef: { from: { name: 'r', namespace: 'owner' } },
  })
  await stage.apply(made('Role', 'owner/r', { name: 'r', assumeRolePolicyDocument: trust }), model, forged)
  for (const key of ['guest/m', 'guest/forged'])
    await stage.until(async () =>
      expect(await stage.condition('Model', key, 'ACK.ReferencesResolved')).toMatchObject({
        status: 'False',
        reason: 'CrossNamespaceDenied',
      }),
    )
  await stage.until(async () =>
    expect(await stage.condition('Role', 'owner/r', 'Ready')).toMatchObject({ status: 'True' }),
  )
  expect(stage.writes()).toEqual(['CreateRole'])
  expect(JSON.stringify(await stage.object('Model', 'guest/m'))).not.toContain('arn:aws:iam')
  await stage.apply({
    apiVersion: 'references.fairlead.dev/v1alpha1',
    kind: 'ReferenceGrant',
    metadata: { name: 'models-of-guest', namespace: 'owner' },
    spec: {
      from: [{ group: 'sagemaker.services.k8s.aws', kind: 'Model', namespace: 'guest' }],
      to: [{ group: 'iam.services.k8s.aws', kind: 'Role', name: 'r' }],
    },
  } as unknown as KubeObject)
  for (const key of ['guest/m', 'guest/forged'])
    await stage.until(async () =>
      expect(await stage.condition('Model', key, 'Ready')).toMatchObject({ status: 'True' }),
    )
})

const marks: Readonly<Record<string, string>> = {
  'app.kubernetes.io/managed-by': 'fairlead-aws',
  'references.services.k8s.aws/force-deletion': 'true',
  'references.fairlead.dev/grant': 'of-guest',
  'references.fairlead.dev/namespace': 'owner',
  'sagemaker.services.k8s.aws/last-endpoint-config-for-update': 'c',
  'services.k8s.aws/adopted': 'true',
  'services.k8s.aws/deletion-policy': 'retain',
  'services.k8s.aws/namespace': 'owner',
  'services.k8s.aws/owner-account-id': '123456789012',
  'services.k8s.aws/region': 'us-east-1',
}
const adopting = (policy: string): Readonly<Record<string, string>> => ({
  'services.k8s.aws/adoption-policy': policy,
  'services.k8s.aws/adoption-fields': '{"name":"r"}',
})

test('no value crosses a namespace by what a user of it writes: spellings, labels, annotations, owners, finalizers, grants', async () => {
  await using stage = await Stage.start({ namespaces: ['owner', 'guest'], isEmbedded: false })
  await stage.apply(made('Role', 'owner/r', { name: 'r', assumeRolePolicyDocument: trust }), {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'users', namespace: 'guest' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'guest' }],
  } as unknown as KubeObject)
  const { uid = '' } = await stage.until(async () => {
    expect(await stage.condition('Role', 'owner/r', 'Ready')).toMatchObject({ status: 'True' })
    return (await stage.object('Role', 'owner/r')).metadata
  })
  const owner = { apiVersion: 'iam.services.k8s.aws/v1alpha1', kind: 'Role', name: 'r', uid }
  const to = { name: 'r', namespace: 'owner' }
  const model = (name: string, reference: JsonObject, metadata: object = {}): KubeObject => {
    const object = made('Model', `guest/${name}`, { modelName: name, executionRoleARNRef: reference })
    return { ...object, metadata: { ...object.metadata, ...metadata } }
  }
  const finalizers = ['finalizers.sagemaker.services.k8s.aws/Model']
  const models = [
    model('plain', to),
    model('from', { from: to }),
    model('wrapped', { kubernetesReference: to }),
    model('marked', to, { annotations: marks, labels: { ...marks } }),
    model('held', to, { finalizers }),
    model('adopted', to, { annotations: { ...adopting('adopt-or-create'), 'services.k8s.aws/adopted': 'true' } }),
    model('owned', to, { finalizers: ['example.dev/stays'], ownerReferences: [{ ...owner, controller: true }] }),
  ]
  // Objects of the guest that name the resource itself in place of its object.
  const role = (name: string, annotations: Readonly<Record<string, string>>): KubeObject =>
    made('Role', `guest/${name}`, { name: 'r', assumeRolePolicyDocument: trust }, annotations)
  const roles = [
    role('same', {}),
    role('adopt', adopting('adopt')),
    role('adopt-or-create', adopting('adopt-or-create')),
    role('read-only', { 'services.k8s.aws/read-only': 'true' }),
    role('read-only-adopt', { 'services.k8s.aws/read-only': 'true', ...adopting('adopt') }),
  ]
  const guest = stage.server.client({ manager: 'kubectl', as: { name: 'guest', groups: [] } })
  for (const object of [...models, ...roles]) await stage.during(guest.apply(object))
  const grant = (namespace: string): KubeObject =>
    ({
      apiVersion: 'references.fairlead.dev/v1alpha1',
      kind: 'ReferenceGrant',
      metadata: { name: 'of-guest', namespace },
      spec: {
        from: [
          { group: 'sagemaker.services.k8s.aws', kind: 'Model', namespace: 'guest' },
          { group: 'iam.services.k8s.aws', kind: 'Role', namespace: 'guest' },
        ],
        to: [{ group: 'iam.services.k8s.aws', kind: 'Role' }],
      },
    }) as unknown as KubeObject
  await stage.during(guest.apply(grant('guest')))
  await expect(stage.during(guest.apply(grant('owner')))).rejects.toThrow('forbidden')

  for (const { metadata } of models)
    await stage.until(async () =>
      expect(await stage.condition('Model', `guest/${metadata.name}`, 'ACK.ReferencesResolved')).toMatchObject({
        status: 'False',
        reason: 'CrossNamespaceDenied',
      }),
    )
  for (const { metadata } of roles)
    await stage.until(async () =>
      expect(await stage.condition('Role', `guest/${metadata.name}`, 'ACK.Terminal')).toMatchObject({ status: 'True' }),
    )
  const seen = [...models, ...roles].map(({ kind, metadata }) =>
    stage.object(kind as StageKind, `guest/${metadata.name}`),
  )
  expect(JSON.stringify(await Promise.all(seen))).not.toMatch(/arn:aws:iam|AROA/)
  expect(stage.writes()).toEqual(['CreateRole'])

  // The owner's grant is the one that counts.
  await stage.apply(grant('owner'))
  for (const { metadata } of models.filter(
    (one) => one.metadata.annotations?.['services.k8s.aws/adopted'] === undefined,
  ))
    if (metadata.name !== 'owned')
      await stage.until(async () =>
        expect(await stage.condition('Model', `guest/${metadata.name}`, 'Ready')).toMatchObject({ status: 'True' }),
      )
  await stage.until(async () =>
    expect(await stage.condition('Role', 'guest/read-only', 'Ready')).toMatchObject({ status: 'True' }),
  )
})

/** What the samples name, and no object describes. */
const seed = `
models:
  - ModelName: trained-model
endpointConfigs:
  - EndpointConfigName: abcd-endpoint-config
    ProductionVariants:
      - VariantName: v
        ModelName: trained-model
`

/** Starts `fairlead fake-aws` with a seed; returns its URL. */
async function fakeAws(cleanup: AsyncDisposableStack, text: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-seed-'))
  cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'seed.yaml'), text)
  const args = [launcher, 'fake-aws', '--port', '0', '--seed', join(folder, 'seed.yaml')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  cleanup.defer(() => void child.kill())
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^export AWS_ENDPOINT_URL=(.+)$/.exec(line)?.[1]
    if (url !== undefined) return url
  }
  throw new Error('fairlead fake-aws ended')
}

/** Returns the manifests of the seed's samples, each as it is written there. */
function samples(): readonly (readonly KubeObject[])[] {
  const text = readData('seeds/resource-references.md')
  return text
    .slice(text.indexOf('### Sample Specs'))
    .split('```')
    .filter((block) => block.includes('apiVersion:'))
    .map((block) => parseYamlDocuments(block).filter((one) => one !== null) as unknown as readonly KubeObject[])
}

describeData('samples of the seed', { minimum: 2, read: () => (dataPath() === '' ? [] : samples()) }, (all) => {
  test('run as they are written, each in a namespace of its own', async () => {
    await using cleanup = new AsyncDisposableStack()
    const endpoint = await fakeAws(cleanup, seed)
    const stage = cleanup.use(await Stage.start({ namespaces: ['xyz-namespace', 'external'], endpoint }))
    for (const [index, objects] of all.entries())
      for (const object of objects) {
        const namespace = object.metadata.namespace ?? (index === 0 ? 'default' : 'external')
        await stage.apply({ ...object, metadata: { ...object.metadata, namespace } })
      }
    for (const key of ['default/xgboost-endpoint', 'external/xgboost-endpoint'])
      await stage.until(async () =>
        expect(await stage.condition('Endpoint', key, 'Ready')).toMatchObject({ status: 'True' }),
      )
    expect(await stage.condition('Endpoint', 'default/xgboost-endpoint', 'ACK.Advisory')).toMatchObject({
      reason: 'CrossNamespaceOptInRequired',
    })
    const log = (await (await fetch(`${endpoint}/_fake/log`)).json()) as readonly FakeCall[]
    const writes = log.filter(({ operation }) => !operation.startsWith('Describe'))
    expect(writes.map(({ operation, error }) => `${operation} ${error ?? 'ok'}`).toSorted()).toEqual([
      'CreateEndpoint ok',
      'CreateEndpoint ok',
      'CreateEndpointConfig ok',
    ])
  })
})
