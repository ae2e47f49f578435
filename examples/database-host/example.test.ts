// The database-host example: on the embedded server with RBAC, controllers under an account with the rights of the
// example and no more.
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { references } from '@fairlead/references'
import { Simulator, parseRules } from '@fairlead/simulator'
import { describe, expect, test } from 'vitest'
import { eventually } from '../../test/support/until.ts'
import { manifest } from '../stage.ts'

const folder = fileURLToPath(new URL('.', import.meta.url))
const app = { apiVersion: 'examples.fairlead.dev/v1', kind: 'App' }
const rule = { apiVersion: 'references.fairlead.dev/v1alpha1', kind: 'ReferenceRule' }
const account = { kind: 'ServiceAccount', name: 'fairlead-references', namespace: 'fairlead-system' }
const granted = { 'rbac.fairlead.dev/aggregate-to-references': 'true' }

/** The identity that `fairlead up` gives the capability. */
const identity = [
  { kind: 'ClusterRole', metadata: { name: 'own', labels: granted }, rules: references.rules },
  {
    kind: 'ClusterRole',
    metadata: { name: 'all' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: granted }] },
  },
  {
    kind: 'ClusterRoleBinding',
    metadata: { name: 'all' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all' },
    subjects: [account],
  },
].map((object) => ({ apiVersion: 'rbac.authorization.k8s.io/v1', ...object })) as unknown as readonly KubeObject[]

describe('the database-host example', () => {
  test('sets the hosts that the rule may set, follows them, and keeps them when a grant goes', async () => {
    await using cleanup = new AsyncDisposableStack()
    const server = cleanup.use(await ApiServer.start({ storage: memory(), authorization: 'RBAC' }))
    const client = server.client({ manager: 'kubectl' })
    await installDefinitions(client, references.crds)
    for (const object of identity) await client.create(object)
    const user = {
      name: `system:serviceaccount:${account.namespace}:${account.name}`,
      groups: ['system:authenticated'],
    }
    const options = { resolve: new Map<string, string>(), signal: new AbortController().signal }
    const manager = await Manager.start({
      client: server.client({ as: user }),
      setup: async (starting) => {
        const instance = await references.setup(starting, options)
        cleanup.defer(() => instance.stop())
      },
    })
    cleanup.defer(() => manager.stop(1000))
    const rules = parseRules(readFileSync(join(folder, 'simulate.yaml'), 'utf8'), 'simulate.yaml')
    const simulating = await Manager.start({
      client: server.client(),
      setup: (starting) => void new Simulator(rules).setup(starting),
    })
    cleanup.defer(() => simulating.stop(1000))
    for (const file of readdirSync(join(folder, 'manifests')).toSorted())
      for (const object of manifest(join(folder, 'manifests', file))) await client.apply(object)

    const hosts = async (): Promise<Record<string, unknown>> => {
      const { items } = await client.list(app)
      return Object.fromEntries(
        items.map(({ metadata, spec }) => [metadata.name, (spec as { databaseHost?: string }).databaseHost]),
      )
    }
    const west = 'main.west.db.example.com'
    await eventually(async () =>
      expect(await hosts()).toEqual({ shop: west, report: west, legacy: 'legacy.example.com' }),
    )
    await eventually(async () => {
      const { status } = await client.get(rule, 'database-host')
      expect(status).toMatchObject({
        resolved: 2,
        waiting: 0,
        failing: 1,
        problems: [{ name: 'legacy', reason: 'ReferenceIgnored' }],
      })
    })

    await client.delete(
      { apiVersion: 'references.fairlead.dev/v1alpha1', kind: 'ReferenceGrant' },
      'team-a/apps-of-team-b',
    )
    await eventually(async () => {
      const { status } = await client.get(rule, 'database-host')
      expect(status).toMatchObject({ resolved: 1, failing: 2 })
    })
    await client.patch({ apiVersion: 'examples.fairlead.dev/v1', kind: 'Database' }, 'team-a/main', {
      merge: { spec: { zone: 'east' } },
    })
    const east = 'main.east.db.example.com'
    await eventually(async () =>
      expect(await hosts()).toEqual({ shop: east, report: west, legacy: 'legacy.example.com' }),
    )
  })
})
