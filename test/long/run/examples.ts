// Every example on a real API server, by `fairlead run` as the service account of `fairlead install`: definitions,
// rights, Service, APIServices and webhooks are those that it prints; what examples grant is what
// `fairlead <capability> rbac` prints.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FakeAws, FakeAwsServer } from '@fairlead/aws/fake'
import { kind, systemClock } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import { AsyncDisposableStack, isConditionTrue } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { Simulator, parseRules } from '@fairlead/simulator'
import { capabilities } from 'fairlead'
import { readExample } from '../../../apps/cli/src/up/example.ts'
import { installDefaults } from '../../../apps/cli/src/up/defaults.ts'
import { loadExample } from '../../../apps/cli/src/up/load-example.ts'
import { startProcess } from '../../../apps/cli/src/up/process.ts'
import { freePort } from '../../support/free-port.ts'
import { ownAddress } from '../../support/own-address.ts'
import { eventually } from '../../support/until.ts'
import { Checks } from '../checks.ts'
import { Installation } from './installation.ts'

interface Observed extends KubeObject {
  readonly status?: { readonly conditions?: readonly Condition[] } & Readonly<Record<string, unknown>>
}

const ready = ({ status }: Observed): boolean => isConditionTrue(status?.conditions, 'Ready')

/** Throws until each example has what its README shows. */
const expectations: Readonly<Record<string, (client: Client) => Promise<void>>> = {
  'secret-propagation': async (client) => {
    for (const namespace of ['team-a', 'team-b']) await client.get(kind('v1', 'Secret'), { namespace, name: 'shared' })
  },
  'snapshot-schedule': async (client) => {
    const { status } = await client.get<Observed>(
      kind('snapshot.k8s.io/v1', 'SnapshotSchedule'),
      'default/my-app-snapshots',
    )
    const { volumesnapshots } = (status?.['outputs'] ?? {}) as { volumesnapshots?: { total: number; ready: number } }
    holds(volumesnapshots?.total === 10 && volumesnapshots.ready === 10, JSON.stringify(status))
  },
  'supply-chain': async (client) => {
    const { items } = await client.list<Observed>(kind('carto.run/v1alpha1', 'Workload'))
    // One of them has a failing test, which the example shows.
    holds(items.length === 3 && items.filter(ready).length === 2, JSON.stringify(items.map(({ status }) => status)))
  },
  delivery: async (client) => {
    const { items } = await client.list<Observed>(kind('carto.run/v1alpha1', 'Deliverable'))
    holds(items.length === 1 && items.every(ready), JSON.stringify(items.map(({ status }) => status)))
    const runs = await client.list<Observed>(kind('carto.run/v1alpha1', 'Runnable'))
    holds(runs.items.length === 1 && runs.items.every(ready), JSON.stringify(runs.items.map(({ status }) => status)))
  },
  'database-host': async (client) => {
    const { items } = await client.list<KubeObject & { spec: { databaseHost?: string } }>(
      kind('examples.fairlead.dev/v1', 'App'),
    )
    const rules = await client.list<Observed>(kind('references.fairlead.dev/v1alpha1', 'ReferenceRule'))
    holds(
      items.length === 3 && items.every(({ spec }) => spec.databaseHost !== undefined),
      JSON.stringify(rules.items.map(({ status }) => status?.['problems'])),
    )
  },
  actions: async (client) => {
    const { items } = await client.list<Observed>(kind('actions.kappnav.io/v1', 'KindActionMapping'))
    holds(items.length > 0 && items.every(ready), JSON.stringify(items.map(({ status }) => status)))
  },
  packages: async (client) => {
    const { items } = await client.list<KubeObject & { spec: { lifecycle: string } }>(
      kind('porch.kpt.dev/v1alpha1', 'PackageRevision'),
      { namespace: 'default' },
    )
    holds(
      items.some(({ spec }) => spec.lifecycle === 'Proposed'),
      JSON.stringify(items.map(({ spec }) => spec)),
    )
  },
  'package-variants': async (client) => {
    const { items } = await client.list<Observed>(kind('config.porch.kpt.dev/v1alpha2', 'PackageVariantSet'))
    const [set] = items
    holds(set?.status?.['ready'] === 20, JSON.stringify(set?.status))
  },
  sagemaker: async (client) => {
    const { items } = await client.list<Observed>(kind('sagemaker.services.k8s.aws/v1alpha1', 'Endpoint'))
    holds(items.length === 1 && items.every(ready), JSON.stringify(items.map(({ status }) => status)))
  },
}

function holds(claim: boolean, otherwise: string): void {
  if (!claim) throw new Error(otherwise)
}

const checks = new Checks()
const loaded = await Promise.all(capabilities.map((entry) => entry.load()))
const wanted = process.argv.slice(2)
const names = Object.keys(expectations).filter((name) => wanted.length === 0 || wanted.includes(name))
await using installation = await Installation.start(loaded)
if (installation !== undefined) {
  const { admin } = installation
  await using resources = new AsyncDisposableStack()
  const data = mkdtempSync(join(tmpdir(), 'fairlead-run-data-'))
  resources.defer(() => rmSync(data, { recursive: true, force: true }))
  const fakeAws = resources.use(await FakeAwsServer.start(new FakeAws({ clock: systemClock }), { port: 0 }))
  const examples = names.map(readExample)
  const addresses: string[] = []
  for (const example of examples)
    for (const spec of example.processes) {
      const running = resources.use(await startProcess(example, spec))
      addresses.push('--resolve', `${spec.resolve}=${running.address}`)
    }
  const simulator = new Simulator(
    examples.flatMap(({ simulate }) =>
      simulate === undefined ? [] : parseRules(readFileSync(simulate, 'utf8'), simulate),
    ),
  )
  const apiPort = await freePort()
  const flags = ['--service', 'fairlead', '--host', ownAddress!, '--api-port', String(apiPort), '--data', data]
  const running = resources.use(
    await installation.run('fairlead', [...flags, ...addresses], {
      env: {
        AWS_ENDPOINT_URL: fakeAws.url,
        AWS_ACCESS_KEY_ID: 'x',
        AWS_SECRET_ACCESS_KEY: 'x',
        AWS_REGION: 'us-east-1',
      },
    }),
  )
  await installation.leadTo(running, apiPort)
  await installDefaults(admin, loaded)
  resources.use(
    await Manager.start({ client: admin.with({ manager: 'simulator' }), setup: (manager) => simulator.setup(manager) }),
  )
  await attempt('is ready', async () => {
    const [status, body] = await running.get('/readyz')
    holds(status === 200, body)
  })
  await attempt('the webhook refuses a Repository with a password in its address', async () => {
    const repository = {
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name: 'wrong', namespace: 'default' },
      spec: { type: 'git', git: { repo: 'https://user:password@example.com/blueprints.git' } },
    }
    const refused = await admin.apply(repository, { dryRun: true }).then(
      () => 'stored',
      (error: Error) => error.message,
    )
    holds(refused.includes('packages.fairlead.dev') && refused.includes('the address has a password'), refused)
  })
  for (const example of examples) {
    await attempt(`${example.name}: the manifests are applied`, () => loadExample(admin, example))
    await attempt(example.name, () => expectations[example.name]!(admin))
  }
  for (const line of running.lines.filter(({ level }) => level === 'error' || level === 'warn'))
    console.log(`  log: ${JSON.stringify(line).slice(0, 400)}`)
  checks.check((await running.stop()) === 0, 'the process ends with 0')
}
checks.close()

async function attempt(what: string, check: () => Promise<unknown>): Promise<void> {
  const since = performance.now()
  let problem: string | undefined
  await eventually(check, 500).catch((error: unknown) => (problem = (error as Error).message))
  checks.check(problem === undefined, `${what}: ${problem?.slice(0, 800)}`)
  if (problem === undefined) console.log(`  ${what}: ${((performance.now() - since) / 1000).toFixed(1)} s`)
}
