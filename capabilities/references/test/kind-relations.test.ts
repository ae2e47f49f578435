// The edges of kinds with references, of many objects: each object is read through once.
import type { ObjectReader } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { kindRelations } from '@fairlead/references'
import type { ReferringKind } from '@fairlead/references'
import { expect, test } from 'vitest'

test('reads each referring object once, however many objects it may refer to', async () => {
  const apiVersion = 'test.dev/v1'
  const app: ReferringKind = {
    group: 'test.dev',
    version: 'v1',
    kind: 'App',
    plural: 'apps',
    rows: [
      {
        group: 'test.dev',
        version: 'v1',
        kind: 'Database',
        valuePath: 'status.host',
        fieldPath: 'host',
        refPath: 'hostRef',
        list: false,
        required: false,
        waitFor: 'Value',
        bothSet: 'prefer_external',
      },
    ],
  }
  let reads = 0
  const apps = Array.from({ length: 50 }, (_one, index) => ({
    apiVersion,
    kind: 'App',
    metadata: { name: `app-${index}`, namespace: 'a' },
    get spec() {
      reads++
      return { hostRef: { from: { name: `db-${index}` } } }
    },
  })) as unknown as readonly KubeObject[]
  const read = { list: async () => ({ objects: apps }) } as unknown as ObjectReader
  const found = []
  for (let index = 0; index < 50; index++) {
    const database = { apiVersion, kind: 'Database', metadata: { name: `db-${index}`, namespace: 'a' } }
    found.push(...(await kindRelations(database, [app], read)))
  }
  expect(found.map(({ from, to }) => `${from.name} ${to.name}`)).toEqual(
    apps.map((_one, index) => `app-${index} db-${index}`),
  )
  expect(reads).toBe(50)
})
