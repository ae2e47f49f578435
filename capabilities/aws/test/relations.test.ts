// The edges of AWS resources in the graph of derived objects.
import { ApiServer } from '@fairlead/apiserver'
import { aws } from '@fairlead/aws'
import { ClientReader, installDefinitions } from '@fairlead/controller'
import type { Relation } from '@fairlead/controller'
import type { JsonValue } from '@fairlead/kube'
import { references } from '@fairlead/references'
import { expect, test } from 'vitest'
import { kinds, made } from './stage.ts'

const format = ({ type, from, to }: Relation): string =>
  `${from.kind}/${from.namespace}/${from.name} ${type} ${to.kind}/${to.namespace}/${to.name}`

test('an AWS resource is related to what it refers to and to what refers to it, in all namespaces', async () => {
  await using server = await ApiServer.start()
  const client = server.client()
  await installDefinitions(client, [...references.crds, ...aws.crds])
  await client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shared' } })
  const policyDocument = '{"Version":"2012-10-17","Statement":[]}'
  const policy = made('Policy', 'shared/read', { name: 'read', policyDocument })
  const role = made('Role', 'default/app', {
    name: 'app',
    assumeRolePolicyDocument: policyDocument,
    policyRefs: [{ from: { name: 'read', namespace: 'shared' } }, { from: { name: 'missing' } }],
  })
  for (const object of [policy, role]) await client.create(object)
  const relationsOf = async (kind: keyof typeof kinds, key: string): Promise<readonly string[]> => {
    const read = new ClientReader(client, { signal: new AbortController().signal })
    const object = await client.get(kinds[kind], key)
    const sources = await Promise.all([aws, references].map((capability) => capability.relations!()))
    const found = await Promise.all(sources.map((source) => source.relations(object, read)))
    // aws has a table of its references, and its definitions declare them.
    expect(found[1]!.map(format)).toEqual(found[0]!.map(format))
    return found[0]!.map(format)
  }
  expect(await relationsOf('Role', 'default/app')).toEqual([
    'Role/default/app refers-to Policy/shared/read',
    'Role/default/app refers-to Policy/default/missing',
  ])
  expect(await relationsOf('Policy', 'shared/read')).toEqual(['Role/default/app refers-to Policy/shared/read'])
})

test('a reference holds when its controller has recorded the value, and says else what waits for it', async () => {
  await using server = await ApiServer.start()
  const client = server.client()
  await installDefinitions(client, [...references.crds, ...aws.crds])
  const role = made('Role', 'default/app', {
    name: 'app',
    assumeRolePolicyDocument: '{"Version":"2012-10-17","Statement":[]}',
    policyRefs: [{ from: { name: 'read' } }, { from: { name: 'missing' } }],
  })
  const created = await client.create(role)
  const referent = (name: string) => ({ group: 'iam.services.k8s.aws', kind: 'Policy', namespace: 'default', name })
  const resolvedReferences: JsonValue = [
    { path: 'policies[0]', value: 'arn:aws:iam::1:policy/read', referent: referent('read'), state: 'Resolved' },
    { path: 'policies[1]', referent: referent('missing'), state: 'ReferentMissing' },
  ]
  const status = { observedGeneration: created.metadata.generation!, resolvedReferences }
  const object = await client.patch(kinds.Role, 'default/app', { merge: { status } }, { subresource: 'status' })
  const source = await aws.relations!()
  const found = await source.relations(object, new ClientReader(client, { signal: new AbortController().signal }))
  expect(found.map(({ to, holds }) => [to.name, holds])).toEqual([
    ['read', true],
    ['missing', { reason: 'ReferentMissing', message: 'policies[1] waits for it' }],
  ])
})
