// Benchmarks of package variants (specs/variants.md §5): a set over 250, 500 and 1,000 targets in ten repositories.
import { PackageRevisionKind } from '@fairlead/packages'
import type { Figure } from '../figure.ts'
import { VariantCluster } from './cluster.ts'

const repositories = 10

const deployment = (image: string): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  replicas: 2
  template:
    spec:
      containers:
        - name: web
          image: ${image}
`

/** Measures the named numbers of targets: 250, 500, 1000. */
export async function run(names: readonly string[] = []): Promise<readonly Figure[]> {
  const figures: Figure[] = []
  for (const targets of [250, 500, 1000])
    if (names.length === 0 || names.includes(String(targets))) figures.push(...(await measure(targets)))
  return figures
}

/** Scenarios with exact counts. */
export const counted: readonly string[] = ['250']

async function measure(targets: number): Promise<readonly Figure[]> {
  console.log(`variants: ${targets} targets …`)
  await using cluster = await VariantCluster.start()
  await cluster.packages.register('catalog')
  const packageNames = Array.from({ length: targets / repositories }, (_, index) => `web-${index}`)
  const names = Array.from({ length: repositories }, (_, index) => `edge-${index}`)
  for (const name of names) await cluster.packages.register(name)
  await cluster.publish('v1', { 'deployment.yaml': deployment('web:1') })
  let peak = 0
  const sampler = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 50)
  const created = await seconds(async () => {
    await cluster.apply(names.map((name) => ({ name, packageNames })))
    await cluster.drafted(targets, 'catalog.web.v1')
  })
  const upgraded = await seconds(async () => {
    await cluster.publish('v2', { 'deployment.yaml': deployment('web:2') }, 'catalog.web.v1')
    await cluster.drafted(targets, 'catalog.web.v2')
  })
  clearInterval(sampler)
  await cluster.quiet()
  const reconciles = await reconcilesOfOneEvent(cluster)
  const resync = await resyncOf(cluster, targets)
  const scale = targets / 1000
  const timed = (figure: string, value: number, limit: number): Figure => ({
    figure: `${targets} targets: ${figure}, s`,
    asked: String(limit),
    reached: value.toFixed(1),
    holds: value <= limit,
  })
  const exact = (figure: string, value: number, limit: number): Figure => ({
    figure: `${targets} targets: ${figure}`,
    asked: limit === 0 ? '0' : `<= ${limit}`,
    reached: String(value),
    holds: value <= limit,
    exact: true,
  })
  const megabytes = peak / 2 ** 20
  return [
    timed('all drafts made', created, 60 * scale),
    timed('a new upstream revision, all drafts upgraded', upgraded, 90 * scale),
    {
      figure: `${targets} targets: memory at its peak, MB`,
      asked: '600',
      reached: megabytes.toFixed(0),
      holds: megabytes <= 600,
    },
    exact('reconciles of variants by one event of a downstream revision', reconciles, 2),
    timed('resync after a start', resync.seconds, 1),
    exact('reads of files by a resync', resync.reads, 0),
    exact('writes of a resync', resync.writes, 0),
  ]
}

async function seconds(run: () => Promise<void>): Promise<number> {
  const started = performance.now()
  await run()
  return (performance.now() - started) / 1000
}

/** Changes a label of one draft. */
async function reconcilesOfOneEvent(cluster: VariantCluster): Promise<number> {
  const before = await cluster.reconciles()
  const key = { namespace: 'default', name: 'edge-3.web-1.packagevariant-1' }
  await cluster.client.patch(PackageRevisionKind, key, { merge: { metadata: { labels: { seen: 'yes' } } } })
  await cluster.quiet()
  return (await cluster.reconciles()) - before
}

/** Restarts the capability: every variant is reconciled once, and nothing has changed. */
async function resyncOf(
  cluster: VariantCluster,
  targets: number,
): Promise<{ readonly seconds: number; readonly reads: number; readonly writes: number }> {
  await cluster.stopVariants()
  const taken = await seconds(async () => {
    await cluster.startVariants()
    while ((await cluster.reconciles()) < targets) await new Promise((resolve) => setTimeout(resolve, 5))
  })
  await cluster.quiet()
  return { seconds: taken, ...cluster.requests }
}
