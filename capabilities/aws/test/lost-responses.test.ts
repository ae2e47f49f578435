// Every operation of AWS fails once in one way while a chain is created, changed and deleted: with or without effect,
// by an error, a closed connection, a response that is none of AWS, or none at all. The real SDK, over HTTP.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Stage, made } from './stage.ts'
import type { StageKind } from './stage.ts'

const document = (id: string): string => JSON.stringify({ Version: '2012-10-17', Statement: [], Id: id })
const role: JsonObject = { name: 'r', assumeRolePolicyDocument: document('a'), policyRefs: [{ name: 'chain' }] }
const endpoint: JsonObject = { endpointName: 'e', endpointConfigNameRef: { name: 'chain' } }
const variant = { variantName: 'v', initialInstanceCount: 1, instanceType: 'ml.m5.large' }

function config(name: string, endpointConfigName: string): KubeObject {
  const productionVariants = [{ ...variant, modelNameRef: { name: 'chain' } }]
  return made('EndpointConfig', `default/${name}`, { endpointConfigName, productionVariants })
}

const chain = [
  made('Endpoint', 'default/chain', endpoint),
  config('chain', 'c-1'),
  config('other', 'c-2'),
  made('Model', 'default/chain', { modelName: 'm', executionRoleARNRef: { name: 'chain' } }),
  made('Role', 'default/chain', role),
  made('Policy', 'default/chain', { name: 'p', policyDocument: document('p') }),
]
const changes = [
  made('Endpoint', 'default/chain', { ...endpoint, endpointConfigNameRef: { name: 'other' } }),
  made('Role', 'default/chain', {
    ...role,
    assumeRolePolicyDocument: document('b'),
    inlinePolicies: { i: document('i') },
  }),
  made('Policy', 'default/chain', { name: 'p', policyDocument: document('q') }),
]

async function allReady(stage: Stage, step: number, since: Readonly<Record<string, number>> = {}): Promise<void> {
  for (const { kind, metadata } of chain)
    await stage.until(async () => {
      const object = await stage.object(kind as StageKind, `default/${metadata.name}`)
      expect(object.metadata.generation).toBeGreaterThan(since[kind] ?? 0)
      const ready = await stage.condition(kind as StageKind, `default/${metadata.name}`, 'Ready')
      expect(ready).toMatchObject({ status: 'True', observedGeneration: object.metadata.generation })
    }, step)
}

const ways = [
  { as: 'error', status: 503, code: 'ServiceUnavailable' },
  { as: 'error', status: 500, code: 'InternalFailure' },
  { as: 'reset' },
  { as: 'garbage' },
  { as: 'hang' },
] as const

/** All cases run in `npm run test:long`; these two are the ones that differ most. */
const isTried = (name: string, tookEffect: boolean): boolean =>
  process.env['FAIRLEAD_ALL_CASES'] === '1' || (tookEffect && ['garbage', 'hang'].includes(name))
const cases = ways.flatMap((way) => {
  const name = 'status' in way ? `${way.status}` : way.as
  return [true, false]
    .filter((tookEffect) => isTried(name, tookEffect))
    .map((tookEffect) => ({ ...way, tookEffect, name }))
})

test.each(cases)(
  'each call lost once ($name, took effect: $tookEffect) makes each resource once and leaves none',
  async (failure) => {
    await using stage = await Stage.start()
    stage.aws.script({ failures: { '*': { times: 1, ...failure } } })
    // A call that hangs is given up after a minute.
    const step = failure.as === 'hang' ? 15_000 : 1000
    await stage.apply(...chain)
    await allReady(stage, step)
    await stage.apply(...changes)
    await stage.until(
      async () =>
        expect((await stage.object('Endpoint', 'default/chain')).status).toMatchObject({
          resolvedReferences: [{ value: 'c-2' }],
        }),
      step,
    )
    await allReady(stage, step, { Endpoint: 1, Role: 1, Policy: 1 })
    for (const object of chain.toReversed())
      await stage.during(stage.client.delete(object, `default/${object.metadata.name}`))
    for (const { kind, metadata } of chain)
      await stage.until(
        async () =>
          expect(
            await stage.object(kind as StageKind, `default/${metadata.name}`).then(() => 'there', isNotFound),
          ).toBe(true),
        step,
      )
    expect(stage.writes().toSorted()).toEqual([
      'AttachRolePolicy',
      'CreateEndpoint',
      'CreateEndpointConfig',
      'CreateEndpointConfig',
      'CreateModel',
      'CreatePolicy',
      'CreatePolicyVersion',
      'CreateRole',
      'DeleteEndpoint',
      'DeleteEndpointConfig',
      'DeleteEndpointConfig',
      'DeleteModel',
      'DeletePolicy',
      'DeletePolicyVersion',
      'DeleteRole',
      'DeleteRolePolicy',
      'DetachRolePolicy',
      'PutRolePolicy',
      'UpdateAssumeRolePolicy',
      'UpdateEndpoint',
    ])
    expect(stage.aws.violations).toEqual([])
  },
)
