// A ReferenceRule over many targets of one source.
import { ApiServer, memory } from '@fairlead/apiserver'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { references } from '@fairlead/references'
import type { Figure } from '../figure.ts'

const app = { apiVersion: 'bench.fairlead.dev/v1', kind: 'App' }
const database = { apiVersion: 'bench.fairlead.dev/v1', kind: 'Database' }

/** Measures the targets that one source wakes when it gets its value. */
export async function manyDependents(targets: number): Promise<readonly Figure[]> {
  console.log(`references: ${targets} dependents of one referent …`)
  await using server = await ApiServer.start({ storage: memory(), controllers: ['crd'] })
  const client = server.client({ manager: 'kubectl' })
  await installDefinitions(client, [...references.crds, definition('App', 'apps'), definition('Database', 'databases')])
  let instance: CapabilityInstance | undefined
  await using manager = await Manager.start({
    client: server.client({ manager: 'fairlead-references' }),
    setup: async (starting) => {
      instance = await references.setup(starting, { resolve: new Map(), signal: starting.signal })
    },
  })
  const metric = async (name: string, reason?: string): Promise<number> => {
    const { values } = (await manager.metrics.registry.getSingleMetric(name)?.get()) ?? { values: [] }
    return values
      .filter(({ labels }) => reason === undefined || labels['reason'] === reason)
      .reduce((sum, { value }) => sum + value, 0)
  }
  await client.create({ ...database, metadata: { name: 'main', namespace: 'default' } })
  for (let first = 0; first < targets; first += 500)
    await Promise.all(
      Array.from({ length: Math.min(500, targets - first) }, (_, index) =>
        client.create({
          ...app,
          metadata: { name: `app-${first + index}`, namespace: 'default' },
          spec: { databaseRef: { name: 'main' } },
        }),
      ),
    )
  await client.create(rule)
  await reached(async () => (await metric('fairlead_references_edges')) === targets)
  await settled(async () => metric('fairlead_references_resolutions_total'))
  const [woken, reconciled] = [await metric('fairlead_references_wakeups_total'), await runs(manager)]
  const started = performance.now()
  await client.patch(database, 'default/main', { merge: { status: { host: 'a' } } }, { subresource: 'status' })
  await reached(async () => (await metric('fairlead_references_wakeups_total')) - woken >= targets)
  const wakeup = performance.now() - started
  await reached(async () => (await metric('fairlead_references_resolutions_total', 'Resolved')) >= targets)
  const seconds = (performance.now() - started) / 1000
  await settled(() => runs(manager))
  const all = (await metric('fairlead_references_wakeups_total')) - woken
  const last = await client.get(app, `default/app-${targets - 1}`)
  const isSet = (last['spec'] as { readonly databaseHost?: string }).databaseHost === 'a'
  const made = (await runs(manager)) - reconciled
  await instance?.stop()
  const name = `${targets} dependents of one referent that gets its value`
  return [
    { figure: `${name}: woken`, asked: String(targets), reached: String(all), holds: all === targets, exact: true },
    {
      figure: `${name}: values set for each`,
      asked: '1',
      reached: isSet ? '1' : 'none',
      holds: isSet,
      exact: true,
    },
    {
      figure: `${name}: the last is woken after, s`,
      asked: '5',
      reached: (wakeup / 1000).toFixed(2),
      holds: wakeup <= 5000,
    },
    { figure: `${name}: the last has its value after, s`, asked: '-', reached: seconds.toFixed(1), holds: undefined },
    { figure: `${name}: runs, with those of own writes`, asked: '-', reached: String(made), holds: undefined },
  ]
}

async function runs(manager: Manager): Promise<number> {
  const { values } = (await manager.metrics.registry.getSingleMetric('controller_runtime_reconcile_total')?.get()) ?? {
    values: [],
  }
  return values
    .filter(({ labels }) => String(labels['controller']).startsWith('reference-rule-'))
    .reduce((sum, { value }) => sum + value, 0)
}

async function reached(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** Resolves when a number stays the same for half a second. */
async function settled(count: () => Promise<number>): Promise<void> {
  for (let before = -1; ;) {
    const now = await count()
    if (now === before) return
    before = now
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

const rule = {
  apiVersion: 'references.fairlead.dev/v1alpha1',
  kind: 'ReferenceRule',
  metadata: { name: 'hosts' },
  spec: {
    target: { ...app, fieldPath: 'spec.databaseHost', reference: { path: 'spec.databaseRef' } },
    source: { ...database, valuePath: 'status.host' },
    serviceAccountName: 'default',
  },
} as unknown as KubeObject

function definition(kind: string, plural: string): KubeObject {
  const open = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.bench.fairlead.dev` },
    spec: {
      group: 'bench.fairlead.dev',
      names: { kind, plural },
      scope: 'Namespaced',
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: { type: 'object', properties: { spec: open, status: open } } },
        },
      ],
    },
  } as unknown as KubeObject
}
