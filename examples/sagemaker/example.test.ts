// The sagemaker example: on the embedded server with RBAC and a fake AWS over HTTP.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isNotFound } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { Stage } from '../../capabilities/aws/test/stage.ts'
import type { StageKind } from '../../capabilities/aws/test/stage.ts'
import { manifest } from '../stage.ts'

const file = join(fileURLToPath(new URL('.', import.meta.url)), 'manifests/endpoint.yaml')
const order: readonly StageKind[] = ['Policy', 'Role', 'Model', 'EndpointConfig', 'Endpoint']

describe('the sagemaker example', () => {
  test('is ready in order without a failing call, and is deleted in order without a violation', async () => {
    await using stage = await Stage.start()
    stage.aws.script({ endpointCreating: 5000, endpointDeleting: 5000 })
    const objects = manifest(file)
    await stage.apply(...objects)
    await stage.until(async () => {
      for (const kind of order)
        expect(await stage.condition(kind, 'default/churn', 'Ready')).toMatchObject({ status: 'True' })
    })
    expect(stage.writes()).toEqual([
      'CreatePolicy',
      'CreateRole',
      'AttachRolePolicy',
      'CreateModel',
      'CreateEndpointConfig',
      'CreateEndpoint',
    ])
    expect(stage.failed()).toEqual([])
    const { spec, status } = await stage.object('Endpoint', 'default/churn')
    expect(spec).toEqual({ endpointName: 'churn', endpointConfigNameRef: { name: 'churn' } })
    expect(status).toMatchObject({
      endpointStatus: 'InService',
      resolvedReferences: [{ path: 'endpointConfigName', value: 'churn-small', state: 'Resolved' }],
    })

    // The referents first, as `kubectl delete -f` of a file in this order would not.
    for (const object of objects.toReversed())
      await stage.during(stage.client.delete(object, `default/${object.metadata.name}`))
    await stage.until(async () => {
      for (const kind of order)
        expect(await stage.object(kind, 'default/churn').then(() => 'there', isNotFound)).toBe(true)
    })
    expect(stage.writes().slice(6)).toEqual([
      'DeleteEndpoint',
      'DeleteEndpointConfig',
      'DeleteModel',
      'DetachRolePolicy',
      'DeleteRole',
      'DeletePolicy',
    ])
    expect(stage.failed()).toEqual([])
    expect(stage.aws.violations).toEqual([])
  })
})
