// The metrics of the server in Prometheus' text form: its own under the names of the real one, and those of the
// process, event loop lag among them. Loaded on the first scrape.
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { resourceName } from '@fairlead/builtin-kinds'
import type { RegistryReader } from '../registry/registry.ts'
import type { Store } from '../storage/store.ts'
import { durationBuckets } from './request-metrics.ts'
import type { RequestMetrics } from './request-metrics.ts'

/** Sources of the metrics. */
export interface MetricSources {
  readonly requests: RequestMetrics
  readonly registry: RegistryReader
  readonly store: Pick<Store, 'count' | 'revision' | 'bytes'>
  /** The version that the server reports. */
  readonly version: Readonly<Record<string, string>>
}

const requestLabels = ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const

/** The media type of the text. */
export const contentType: string = Registry.PROMETHEUS_CONTENT_TYPE

/** Returns a function that renders the current metrics. */
export function exposition({ requests, registry, store, version }: MetricSources): () => Promise<string> {
  const register = new Registry()
  const registers = [register]
  new Counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, dry run, resource, scope and HTTP status',
    labelNames: [...requestLabels, 'code'],
    registers,
    collect() {
      this.reset()
      for (const { labels, codes } of requests.series)
        for (const [code, count] of codes) this.inc({ ...labels, code }, count)
    },
  })
  new Gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests in flight',
    labelNames: ['request_kind'],
    registers,
    collect() {
      this.set({ request_kind: 'mutating' }, requests.inFlight.mutating)
      this.set({ request_kind: 'readOnly' }, requests.inFlight.readOnly)
    },
  })
  new Gauge({
    name: 'apiserver_resource_objects',
    help: 'Objects in the store',
    labelNames: ['group', 'resource'],
    registers,
    collect() {
      this.reset()
      for (const definition of registry.definitions) {
        const objects = store.count(resourceName(definition))
        if (objects > 0) this.set({ group: definition.group, resource: definition.plural }, objects)
      }
    },
  })
  new Gauge({
    name: 'fairlead_store_revision',
    help: 'The newest revision of the store',
    registers,
    collect() {
      this.set(store.revision)
    },
  })
  if (store.bytes !== undefined) storedBytes(store.bytes, registers)
  new Gauge({
    name: 'kubernetes_build_info',
    help: 'The version that the server reports, always 1',
    labelNames: ['major', 'minor', 'git_version', 'platform'],
    registers,
  }).set(
    {
      major: version['major']!,
      minor: version['minor']!,
      git_version: version['gitVersion']!,
      platform: version['platform']!,
    },
    1,
  )
  collectDefaultMetrics({ register })
  return async () => durations(requests) + (await register.metrics())
}

/** Adds the gauges of stored bytes: one under the real server's name and labels, and the limit. */
function storedBytes(bytes: { readonly live: number; readonly limit: number }, registers: Registry[]): void {
  new Gauge({
    name: 'apiserver_storage_size_bytes',
    help: 'Bytes of JSON of the live objects in the store',
    labelNames: ['storage_cluster_id'],
    registers,
    collect() {
      this.set({ storage_cluster_id: 'etcd-0' }, bytes.live)
    },
  })
  new Gauge({
    name: 'fairlead_store_limit_bytes',
    help: 'Bytes of JSON that live objects may take; writes that would add to them are refused beyond',
    registers,
  }).set(bytes.limit)
}

/** Renders the histogram of durations, which the library cannot take in from counts made elsewhere. */
function durations(requests: RequestMetrics): string {
  const name = 'apiserver_request_duration_seconds'
  const lines = [`# HELP ${name} Seconds until the response, watches left out`, `# TYPE ${name} histogram`]
  for (const { labels, buckets, sum } of requests.series) {
    const text = Object.entries(labels)
      .map(([label, value]) => `${label}=${JSON.stringify(value)}`)
      .join(',')
    let count = 0
    const upTo = buckets.map((more, place) => {
      count += more
      return `${name}_bucket{${text},le="${durationBuckets[place] ?? '+Inf'}"} ${count}`
    })
    if (count > 0) lines.push(...upTo, `${name}_sum{${text}} ${sum}`, `${name}_count{${text}} ${count}`)
  }
  return `${lines.join('\n')}\n`
}
