// Late initialisation (ADR 0502): with the setting, values that the service filled in are copied into specs, by a field
// manager of their own; without it no spec is written.
import { isConflict } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { roleKind } from '../src/engine/kinds.ts'
import { lateFields } from '../src/engine/late-initialize.ts'
import { Stage, kinds, made } from './stage.ts'
import type { StageKind } from './stage.ts'

const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const on = { settings: { 'late-initialize': 'true' } }
const role = { name: 'r', assumeRolePolicyDocument: trust }
const filledRole = { ...role, path: '/', maxSessionDuration: 3600 }

/** Returns the object once it is ready in its present generation. */
async function ready(stage: Stage, kind: StageKind, key: string, spec: JsonObject): Promise<KubeObject> {
  return stage.until(async () => {
    const object = await stage.object(kind, key)
    expect(object['spec']).toEqual(spec)
    expect(await stage.condition(kind, key, 'Ready')).toMatchObject({
      status: 'True',
      observedGeneration: object.metadata.generation,
    })
    return object
  })
}

/** Returns the top-level fields of the spec that a field manager has. */
function fieldsOf({ metadata }: KubeObject, manager: string): readonly string[] {
  const entries = (metadata.managedFields ?? []).filter(
    (one) => one.manager === manager && one.subresource === undefined,
  )
  return entries.flatMap(({ fieldsV1 }) =>
    Object.keys(((fieldsV1 as JsonObject)['f:spec'] ?? {}) as JsonObject)
      .filter((name) => name !== '.')
      .map((name) => name.slice(2)),
  )
}

test('fields that the service filled in come into the spec, under a field manager of their own', async () => {
  await using stage = await Stage.start(on)
  await stage.apply(
    made('Role', 'default/r', role),
    made('Policy', 'default/p', { name: 'p', policyDocument: trust }),
    made('Model', 'default/m', { modelName: 'm' }),
  )
  const filled = await ready(stage, 'Role', 'default/r', filledRole)
  await ready(stage, 'Policy', 'default/p', { name: 'p', policyDocument: trust, path: '/' })
  await ready(stage, 'Model', 'default/m', { modelName: 'm', enableNetworkIsolation: false })
  expect(fieldsOf(filled, 'fairlead-late-initialize').toSorted()).toEqual(['maxSessionDuration', 'path'])
  expect(await stage.condition('Role', 'default/r', 'ACK.LateInitialized')).toMatchObject({ status: 'True' })
  expect(stage.writes().toSorted()).toEqual(['CreateModel', 'CreatePolicy', 'CreateRole'])
  expect(stage.failed()).toEqual([])
})

test('a field that the user sets is never overwritten, not even when it is set to what the service chose', async () => {
  await using stage = await Stage.start(on)
  await stage.apply(made('Role', 'default/r', { ...role, maxSessionDuration: 7200 }))
  const given = await ready(stage, 'Role', 'default/r', { ...filledRole, maxSessionDuration: 7200 })
  expect(fieldsOf(given, 'fairlead-late-initialize')).toEqual(['path'])
  // A field that was filled in is the user's from the moment that the user sets it, and stays set.
  const longer = made('Role', 'default/r', { ...role, path: '/', maxSessionDuration: 9000 })
  await stage.apply(longer)
  const taken = await ready(stage, 'Role', 'default/r', { ...filledRole, maxSessionDuration: 9000 })
  expect(fieldsOf(taken, 'kubectl').toSorted()).toEqual([
    'assumeRolePolicyDocument',
    'maxSessionDuration',
    'name',
    'path',
  ])
  const { MaxSessionDuration } = (await stage.during(stage.aws.call('iam', 'us-east-1', 'GetRole', { RoleName: 'r' })))[
    'Role'
  ] as { readonly MaxSessionDuration: number }
  expect(MaxSessionDuration).toBe(9000)
})

test('a filled field that the user removes is filled again with what the service has, and the others stay', async () => {
  await using stage = await Stage.start(on)
  await stage.apply(made('Role', 'default/r', role))
  await ready(stage, 'Role', 'default/r', filledRole)
  const merge = { spec: { maxSessionDuration: null } }
  await stage.during(stage.client.patch(kinds.Role, 'default/r', { merge }))
  await ready(stage, 'Role', 'default/r', filledRole)
  // An apply of another value without force is refused, as for every field of another manager.
  const other = { ...made('Role', 'default/r', { ...role, maxSessionDuration: 7200 }) }
  await expect(
    stage.during(
      stage.client.apply(other).then(
        () => 'applied',
        (error: unknown) => isConflict(error),
      ),
    ),
  ).resolves.toBe(true)
})

test('without the setting no spec is written, and nothing is said of late initialisation', async () => {
  await using stage = await Stage.start()
  await stage.apply(made('Role', 'default/r', role))
  const object = await ready(stage, 'Role', 'default/r', role)
  expect(object.metadata.generation).toBe(1)
  expect(fieldsOf(object, 'fairlead-late-initialize')).toEqual([])
  expect(await stage.condition('Role', 'default/r', 'ACK.LateInitialized')).toBeUndefined()
})

test.each<[string, JsonObject, JsonObject, readonly (readonly [string, JsonValue])[]]>([
  ['is absent', {}, { a: 1, b: { c: 'x' } }, [['a', 1]]],
  [
    'is absent from a map that the spec has',
    { b: {} },
    { a: 1, b: { c: false } },
    [
      ['a', 1],
      ['b.c', false],
    ],
  ],
  ['is set, to whatever value', { a: 0, b: { c: null } }, { a: 1, b: { c: 'x' } }, []],
  ['has no value in AWS either', { b: {} }, { a: null }, []],
  ['is below a list', { b: [{}] }, { b: [{ c: 'x' }] }, []],
])('a marked field that %s', (_, spec, observed, filled) => {
  expect([...lateFields({ ...roleKind, lateInitialized: ['a', 'b.c'] }, spec, observed)]).toEqual(filled)
})
