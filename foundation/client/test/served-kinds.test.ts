// The kinds of a server by the names that kubectl takes.
import { ApiServer } from '@fairlead/apiserver'
import { CustomResourceDefinition, kindNamed, servedKinds } from '@fairlead/client'
import type { ServedKind } from '@fairlead/client'
import { isConditionTrue } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { afterAll, beforeAll, expect, test } from 'vitest'

const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object' } },
})
const definition = (group: string, names: object, versions: readonly object[]): KubeObject =>
  ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${(names as { plural: string }).plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, versions },
  }) as KubeObject

let server: ApiServer
let kinds: readonly ServedKind[]
beforeAll(async () => {
  server = await ApiServer.start()
  const client = server.client()
  const definitions = [
    definition('a.dev', { kind: 'Application', plural: 'applications', singular: 'application', shortNames: ['app'] }, [
      version('v1', true),
    ]),
    definition('b.dev', { kind: 'App', plural: 'apps', singular: 'app' }, [
      version('v1', true),
      version('v1beta1', false),
    ]),
    definition('c.dev', { kind: 'Event', plural: 'events', singular: 'event' }, [version('v1', true)]),
  ]
  for (const one of definitions) await client.create(one)
  for (const { metadata } of definitions)
    await client.waitFor(CustomResourceDefinition, metadata.name!, ({ status }) =>
      isConditionTrue((status as { conditions?: readonly Condition[] } | undefined)?.conditions, 'Established'),
    )
  kinds = await servedKinds(server.client())
})
afterAll(() => server[Symbol.asyncDispose]())

test.each([
  ['deploy', 'apps/v1 Deployment'],
  ['Deployment', 'apps/v1 Deployment'],
  ['deployments.apps', 'apps/v1 Deployment'],
  ['deployments.v1.apps', 'apps/v1 Deployment'],
  ['po', 'v1 Pod'],
  ['pods.v1', 'v1 Pod'],
  // The core group comes first.
  ['events', 'v1 Event'],
  ['events.c.dev', 'c.dev/v1 Event'],
  // A name wins over the short name of another kind.
  ['app', 'b.dev/v1 App'],
  ['app.a.dev', 'a.dev/v1 Application'],
  ['apps.v1beta1.b.dev', 'b.dev/v1beta1 App'],
  ['apps.v2.b.dev', undefined],
  ['nosuch', undefined],
  // It is only posted to.
  ['tokenreview', undefined],
])('%s is %s', (name, expected) => {
  const found = kindNamed(kinds, name)
  expect(found && `${found.apiVersion} ${found.kind}`).toBe(expected)
})
