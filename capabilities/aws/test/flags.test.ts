// Settings of the process: ACK's flags, as they are parsed and as the controllers obey them.
import { aws, resourceKinds } from '@fairlead/aws'
import { SettingError } from '@fairlead/controller'
import { isNotFound } from '@fairlead/kube'
import { expect, test } from 'vitest'
import { flagNames, parseFlags, withResync } from '../src/engine/flags.ts'
import { Stage, kinds, made } from './stage.ts'

const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })
const fallback = { crossNamespace: false }

test('no flag gives the defaults of ACK', () => {
  const flags = parseFlags(new Map(), resourceKinds, fallback)
  expect(flags).toEqual({
    deletionPolicy: 'delete',
    crossNamespace: false,
    lateInitialize: false,
    resync: 36_000_000,
    resyncOf: new Map(),
  })
  expect(resourceKinds.map((kind) => withResync(kind, flags))).toEqual(resourceKinds)
})

test('the period of a kind goes before that of the generator, which goes before the default of the process', () => {
  const flags = parseFlags(
    new Map([
      ['reconcile-default-resync-seconds', '3600'],
      ['reconcile-resource-resync-seconds', 'endpoint=60, Role=120'],
    ]),
    resourceKinds,
    fallback,
  )
  const periods = resourceKinds.map((kind) => [kind.kind, withResync(kind, flags).resync ?? flags.resync])
  expect(Object.fromEntries(periods)).toEqual({
    Role: 120_000,
    Policy: 3_600_000,
    Model: 3_600_000,
    EndpointConfig: 3_600_000,
    Endpoint: 60_000,
  })
})

test.each([
  ['colour', 'red', 'colour: there is no such setting; there are deletion-policy, enable-cross-namespace, '],
  ['deletion-policy', 'Retain', 'deletion-policy=Retain: write delete or retain'],
  ['enable-cross-namespace', 'yes', 'enable-cross-namespace=yes: write true or false'],
  ['late-initialize', 'yes', 'late-initialize=yes: write true or false'],
  ['reconcile-default-resync-seconds', '0', 'reconcile-default-resync-seconds=0: write a number of seconds from 1'],
  ['reconcile-default-resync-seconds', '1e9', 'reconcile-default-resync-seconds=1e9: write a number of seconds from 1'],
  ['reconcile-resource-resync-seconds', 'Bucket=5', 'there is no kind Bucket; write <kind>=<seconds>'],
  ['reconcile-resource-resync-seconds', 'Role', 'reconcile-resource-resync-seconds=Role: write a number of seconds'],
])('the setting %s=%s is refused', (name, value, message) => {
  const parse = (): unknown => parseFlags(new Map([[name, value]]), resourceKinds, fallback)
  expect(parse).toThrow(SettingError)
  expect(parse).toThrow(message)
})

test('the capability declares every flag that it takes', () => {
  expect(aws.settings).toEqual(flagNames)
})

test('deletion-policy=retain keeps the model, and enable-cross-namespace=true needs no grant in a cluster', async () => {
  await using stage = await Stage.start({
    namespaces: ['owner', 'guest'],
    isEmbedded: false,
    settings: { 'deletion-policy': 'retain', 'enable-cross-namespace': 'true' },
  })
  await stage.apply(
    made('Role', 'owner/r', { name: 'r', assumeRolePolicyDocument: trust }),
    made('Model', 'guest/m', { modelName: 'm', executionRoleARNRef: { name: 'r', namespace: 'owner' } }),
  )
  await stage.until(async () =>
    expect(await stage.condition('Model', 'guest/m', 'Ready')).toMatchObject({ status: 'True' }),
  )
  await stage.during(stage.client.delete(kinds.Model, 'guest/m'))
  await stage.until(async () => expect(await stage.object('Model', 'guest/m').then(() => false, isNotFound)).toBe(true))
  expect(stage.writes()).toEqual(['CreateRole', 'CreateModel'])
})
