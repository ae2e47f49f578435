// Request metrics: counts, durations and statuses. Plain numbers, so that counting costs next to nothing and no library
// is loaded before the first scrape; `exposition.ts` renders them under the names of the real server.
import type { ServerRequest } from '../http/message.ts'
import type { ServedResource } from '../registry/registry.ts'
import type { RequestInfo } from '../request/request-info.ts'

/** Upper bounds of the duration histogram, in seconds: those of the real server. */
export const durationBuckets: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
]

/** The labels of a request. */
export type RequestLabels = Readonly<
  Record<'verb' | 'dry_run' | 'group' | 'version' | 'resource' | 'subresource' | 'scope' | 'component', string>
>

/** Requests with the same labels. */
export interface RequestSeries {
  readonly labels: RequestLabels
  /** The number of responses by status. */
  readonly codes: ReadonlyMap<number, number>
  /** The number of requests per bucket, not cumulative; the last entry counts those above all bounds. */
  readonly buckets: readonly number[]
  /** The sum of all durations in seconds. */
  readonly sum: number
}

interface OpenSeries extends RequestSeries {
  readonly codes: Map<number, number>
  readonly buckets: number[]
  sum: number
}

/** Paths with a series of their own; all others share one, so that clients cannot fill the memory with names. */
const namedRoots: ReadonlySet<string> = new Set(
  ['api', 'apis', 'healthz', 'livez', 'readyz', 'metrics', 'openapi', 'version'].map((root) => `/${root}`),
)

/** A resolved request, as far as its labels depend on it. */
export interface MeasuredTarget {
  /** Undefined for a malformed path. */
  readonly info: RequestInfo | undefined
  readonly resource: ServedResource | undefined
}

/** Counts requests. */
export class RequestMetrics {
  readonly #monotonic: () => number
  readonly #series = new Map<string, OpenSeries>()
  /** Requests in flight: mutating, and read-only. */
  readonly inFlight: { mutating: number; readOnly: number } = { mutating: 0, readOnly: 0 }

  /** `monotonic` in milliseconds. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get series(): Iterable<RequestSeries> {
    return this.#series.values()
  }

  /** Counts a request as in flight. Call the result with the status of its response. */
  begin(request: ServerRequest, target: MeasuredTarget): (status: number) => void {
    const since = this.#monotonic()
    const kind = request.method === 'GET' || request.method === 'HEAD' ? 'readOnly' : 'mutating'
    this.inFlight[kind]++
    return (status) => {
      this.inFlight[kind]--
      const series = this.#seriesOf(labelsOf(request, target))
      series.codes.set(status, (series.codes.get(status) ?? 0) + 1)
      // The duration of a watch is the client's choice.
      if (series.labels.verb === 'WATCH') return
      const seconds = (this.#monotonic() - since) / 1000
      const place = durationBuckets.findIndex((bound) => seconds <= bound)
      series.buckets[place < 0 ? durationBuckets.length : place]!++
      series.sum += seconds
    }
  }

  #seriesOf(labels: RequestLabels): OpenSeries {
    const key = Object.values(labels).join('\0')
    let series = this.#series.get(key)
    if (series === undefined) {
      series = {
        labels,
        codes: new Map(),
        buckets: Array.from({ length: durationBuckets.length + 1 }, () => 0),
        sum: 0,
      }
      this.#series.set(key, series)
    }
    return series
  }
}

function labelsOf({ method, path, query, headers }: ServerRequest, { info, resource }: MeasuredTarget): RequestLabels {
  const dry_run = query.get('dryRun') === 'All' ? 'All' : ''
  if (info === undefined || !info.isResourceRequest || resource === undefined) {
    const subresource = namedRoots.has(path) ? path : ''
    const verb = knownMethods.has(method) ? method : 'other'
    return { verb, dry_run, group: '', version: '', resource: '', subresource, scope: '', component: 'apiserver' }
  }
  const { group, version, plural, name, namespace } = info
  const isKnown = resource.version.subresources.some((known) => known.name === info.subresource)
  return {
    verb: verbLabel(method, info.verb, headers['content-type']),
    dry_run,
    group,
    version,
    resource: plural,
    subresource: isKnown ? info.subresource : '',
    scope: name !== '' || method === 'POST' ? 'resource' : namespace === '' ? 'cluster' : 'namespace',
    component: 'apiserver',
  }
}

const knownMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Returns the label of a verb: the method, more exact for GET, DELETE and PATCH. */
function verbLabel(method: string, verb: string, contentType: ServerRequest['headers'][string]): string {
  if (method === 'GET' || method === 'DELETE') return verb.toUpperCase()
  if (method !== 'PATCH') return knownMethods.has(method) ? method : 'other'
  return String(contentType).startsWith('application/apply-patch') ? 'APPLY' : 'PATCH'
}
