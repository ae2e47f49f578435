// `fairlead up` killed with -9 between a creation in AWS and the write of the status: the process that starts next makes
// nothing twice, takes each resource for its object, and leaves none behind. The fake AWS outlives the processes.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeAws, FakeAwsServer } from '@fairlead/aws/fake'
import { connect, systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { findCondition, isNotFound } from '@fairlead/kube'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { UpProcess } from '../../../test/faults/up-process.ts'
import { eventually } from '../../../test/support/until.ts'
import { made } from './stage.ts'

const region = 'us-east-1'
const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const variant = { variantName: 'v', initialInstanceCount: 1, instanceType: 'ml.m5.large' }

/** Objects of all kinds that refer to each other, or to what the seed holds. */
function objects(isChain: boolean): readonly KubeObject[] {
  const named = (name: string): JsonObject => (isChain ? { name: 'x' } : { external: name })
  return [
    made('Policy', 'default/x', { name: 'p', policyDocument: trust }),
    made('Role', 'default/x', {
      name: 'r',
      assumeRolePolicyDocument: trust,
      ...(isChain ? { policyRefs: [{ name: 'x' }] } : {}),
    }),
    made('Model', 'default/x', {
      modelName: 'm',
      executionRoleARNRef: named('arn:aws:iam::123456789012:role/seeded'),
    }),
    made('EndpointConfig', 'default/x', {
      endpointConfigName: 'c',
      productionVariants: [{ ...variant, modelNameRef: named('seeded') }],
    }),
    made('Endpoint', 'default/x', { endpointName: 'e', endpointConfigNameRef: named('seeded') }),
  ]
}

const creations = ['CreatePolicy', 'CreateRole', 'CreateModel', 'CreateEndpointConfig', 'CreateEndpoint']
const reads: readonly (readonly [service: string, operation: string, input: JsonObject])[] = [
  ['iam', 'GetPolicy', { PolicyArn: 'arn:aws:iam::123456789012:policy/p' }],
  ['iam', 'GetRole', { RoleName: 'r' }],
  ['sagemaker', 'DescribeModel', { ModelName: 'm' }],
  ['sagemaker', 'DescribeEndpointConfig', { EndpointConfigName: 'c' }],
  ['sagemaker', 'DescribeEndpoint', { EndpointName: 'e' }],
]

async function start(data: string, fake: FakeAwsServer): Promise<{ readonly up: UpProcess; readonly client: Client }> {
  const { AWS_PROFILE: _profile, AWS_ACCESS_KEY_ID: _key, ...environment } = process.env
  const env = { ...environment, AWS_REGION: region, AWS_ENDPOINT_URL: fake.url }
  const up = await UpProcess.start(data, ['--only', 'aws'], { env })
  return { up, client: await connect({ file: up.kubeconfig }) }
}

/** A creation of each kind at the same time, or in all cases of one kind after the other: a kill for each. */
const cases = [
  { way: 'all kinds at once', isChain: false },
  { way: 'each kind in its turn', isChain: true },
].filter(({ isChain }) => !isChain || process.env['FAIRLEAD_ALL_CASES'] === '1')

test.each(cases)(
  'a process killed after creations in AWS, $way, makes none twice and leaves none',
  async ({ isChain }) => {
    await using cleanup = new AsyncDisposableStack()
    const data = mkdtempSync(join(tmpdir(), 'fairlead-aws-killed-'))
    cleanup.defer(() => rmSync(data, { recursive: true, force: true }))
    const aws = new FakeAws({ clock: systemClock })
    aws.seed(region, {
      roles: [{ RoleName: 'seeded', AssumeRolePolicyDocument: trust }],
      models: [{ ModelName: 'seeded' }],
      endpointConfigs: [
        { EndpointConfigName: 'seeded', ProductionVariants: [{ VariantName: 'v', ModelName: 'seeded' }] },
      ],
    })
    const fake = cleanup.use(await FakeAwsServer.start(aws))
    const hang = { times: 1, as: 'hang', tookEffect: true } as const
    aws.script({ failures: Object.fromEntries(creations.map((name) => [name, hang])) })
    const tookEffect = (): readonly string[] =>
      aws.calls.flatMap(({ operation, error }) =>
        error === undefined && creations.includes(operation) ? [operation] : [],
      )

    let { up, client } = await start(data, fake)
    cleanup.defer(() => up.kill())
    const all = objects(isChain)
    for (const object of all) await client.apply(object)
    // Each creation took effect, and its response never comes.
    for (const expected of isChain ? creations.map((_, index) => index + 1) : [creations.length]) {
      await eventually(() => expect(tookEffect()).toHaveLength(expected))
      const written = await Promise.all(all.map((object) => client.get(object, 'default/x')))
      const unwritten = written.filter(({ status }) => (status as JsonObject)?.['ackResourceMetadata'] === undefined)
      expect(unwritten.map(({ kind }) => `Create${kind}`)).toEqual(creations.slice(isChain ? expected - 1 : 0))
      await client.transport[Symbol.asyncDispose]()
      await up.kill()
      ;({ up, client } = await start(data, fake))
    }
    for (const object of all)
      await eventually(async () => {
        const { status } = (await client.get(object, 'default/x')) as { readonly status?: JsonObject }
        const conditions = status?.['conditions'] as unknown as readonly Condition[]
        expect(findCondition(conditions, 'Ready')).toMatchObject({ status: 'True' })
      })
    expect(tookEffect().toSorted()).toEqual(creations.toSorted())

    for (const object of all) await client.delete(object, 'default/x')
    for (const object of all)
      await eventually(async () =>
        expect(await client.get(object, 'default/x').then(() => 'there', isNotFound)).toBe(true),
      )
    for (const [service, operation, input] of reads)
      await expect(aws.call(service, region, operation, input), operation).rejects.toMatchObject({
        code: service === 'iam' ? 'NoSuchEntity' : 'ValidationException',
      })
    expect(aws.violations).toEqual([])
    await client.transport[Symbol.asyncDispose]()
  },
)
