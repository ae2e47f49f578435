// Tags of resources: those of the spec, changed after the creation; those of the system and of other people.
import { isNotFound } from '@fairlead/kube'
import type { JsonObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { Stage, kinds, made } from './stage.ts'
import type { StageKind } from './stage.ts'

const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })

type Tags = Readonly<Record<string, string>>

async function tagsOf(stage: Stage, operation: string, input: JsonObject): Promise<Tags> {
  const service = operation === 'ListTags' ? 'sagemaker' : 'iam'
  const output = await stage.aws.call(service, 'us-east-1', operation, input)
  const { Tags } = (output['Role'] ?? output['Policy'] ?? output) as {
    readonly Tags: readonly { Key: string; Value: string }[]
  }
  return Object.fromEntries(Tags.map(({ Key, Value }) => [Key, Value]))
}

function own(tags: Tags): Tags {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !key.startsWith('services.k8s.aws/')))
}

const list = (tags: Tags): JsonObject[] => Object.entries(tags).map(([key, value]) => ({ key, value }))

interface Case {
  readonly kind: StageKind
  readonly spec: JsonObject
  /** The call that returns the tags. */
  readonly read: readonly [operation: string, input: JsonObject]
}

const cases: readonly Case[] = [
  { kind: 'Role', spec: { name: 'x', assumeRolePolicyDocument: trust }, read: ['GetRole', { RoleName: 'x' }] },
  {
    kind: 'Policy',
    spec: { name: 'x', policyDocument: trust },
    read: ['GetPolicy', { PolicyArn: 'arn:aws:iam::123456789012:policy/x' }],
  },
  {
    kind: 'Model',
    spec: { modelName: 'x' },
    read: ['ListTags', { ResourceArn: 'arn:aws:sagemaker:us-east-1:123456789012:model/x' }],
  },
]

test.each(cases)(
  'tags of a $kind follow its spec; a spec without tags leaves them alone',
  async ({ kind, spec, read }) => {
    await using stage = await Stage.start()
    const write = (tags: Tags | undefined): Promise<void> =>
      stage.apply(made(kind, 'default/x', { ...spec, ...(tags === undefined ? {} : { tags: list(tags) }) }))
    const tags = (): Promise<Tags> => stage.during(tagsOf(stage, ...read))
    const { uid } = await write({ team: 'a', cost: '1', 'services.k8s.aws/object-uid': 'forged' }).then(async () =>
      stage.until(async () => {
        expect(await stage.condition(kind, 'default/x', 'Ready')).toMatchObject({ status: 'True' })
        return (await stage.object(kind, 'default/x')).metadata
      }),
    )
    expect(await tags()).toEqual({
      team: 'a',
      cost: '1',
      'services.k8s.aws/controller-version': `${kind === 'Model' ? 'sagemaker' : 'iam'}-fairlead`,
      'services.k8s.aws/namespace': 'default',
      'services.k8s.aws/object-uid': uid,
    })
    await write({ team: 'b', new: '' })
    await stage.until(async () => expect(own(await tags())).toEqual({ team: 'b', new: '' }))
    const before = stage.writes().length
    await write(undefined)
    await stage.until(async () =>
      expect(await stage.condition(kind, 'default/x', 'Ready')).toMatchObject({
        status: 'True',
        observedGeneration: 3,
      }),
    )
    expect(stage.writes().slice(before)).toEqual([])
    await write({})
    await stage.until(async () => expect(own(await tags())).toEqual({}))
    expect((await tags())['services.k8s.aws/object-uid']).toBe(uid)
    expect(stage.failed()).toEqual([])
    await stage.during(stage.client.delete(kinds[kind], 'default/x'))
    await stage.until(async () =>
      expect(await stage.object(kind, 'default/x').then(() => 'there', isNotFound)).toBe(true),
    )
  },
)
