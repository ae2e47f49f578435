// References between the namespaces of two tenants, and the samples of the seed, which cross namespaces.
import { parseYamlDocuments } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { dataPath, describeData, readData } from '../../../test/support/conformance-data.ts'
import { Stage, made } from './stage.ts'

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
    await using stage = await Stage.start({ namespaces: ['xyz-namespace', 'external'] })
    const variant = { VariantName: 'v', ModelName: 'trained-model' }
    stage.aws.seed('us-east-1', {
      models: [{ ModelName: 'trained-model' }],
      endpointConfigs: [{ EndpointConfigName: 'abcd-endpoint-config', ProductionVariants: [variant] }],
    })
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
    expect(stage.writes().toSorted()).toEqual(['CreateEndpoint', 'CreateEndpoint', 'CreateEndpointConfig'])
  })
})
