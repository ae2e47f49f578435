// `pods/log`: the logs of a container, from the source that the server was given.
import { badRequest, failure, fieldErrors, invalid } from '@fairlead/kube'
import type { FieldError, KubeObject } from '@fairlead/kube'
import { booleanParameter, integerParameter } from '../../request/query.ts'
import { uncached } from '../../response/response.ts'
import type { ResourceHandler } from '../resource-handlers.ts'
import { nodeOf, readPod } from './pod.ts'

/** The options of a request for logs. */
export interface LogRequest {
  /** '' for the only one. */
  readonly container: string
  readonly follow: boolean
  readonly previous: boolean
  readonly timestamps: boolean
  readonly tailLines: number | undefined
  readonly signal: AbortSignal
}

/** A source of logs; returns undefined for a pod that it does not know. */
export type PodLogs = (pod: KubeObject, request: LogRequest) => AsyncIterable<Uint8Array> | undefined

/** Returns the handler of logs. Without a source only pods that never ran have logs (empty ones). */
export function logHandler(logs: PodLogs | undefined): ResourceHandler {
  return async (server, scope) => {
    const { query, signal } = scope
    checkOptions(scope.name, query)
    const pod = await readPod(server, scope)
    const request: LogRequest = {
      container: query.get('container') ?? '',
      follow: booleanParameter(query, 'follow') ?? false,
      previous: booleanParameter(query, 'previous') ?? false,
      timestamps: booleanParameter(query, 'timestamps') ?? false,
      tailLines: integerParameter(query, 'tailLines'),
      signal,
    }
    checkContainer(pod, request.container)
    const chunks = logs?.(pod, request)
    const headers = { ...uncached, 'content-type': 'text/plain' }
    if (chunks !== undefined) return { status: 200, headers, body: { kind: 'stream', chunks } }
    if (nodeOf(pod) === '') return { status: 204, headers: uncached, body: { kind: 'bytes', bytes: new Uint8Array() } }
    const message = `pods "${scope.name}" has no logs: nothing in this server runs it. Start a runner, or ask the cluster that does.`
    throw failure(404, 'NotFound', message, { name: scope.name, kind: 'pods' })
  }
}

/**
 * Validates PodLogOptions.
 * @throws StatusError 422
 */
function checkOptions(name: string, query: URLSearchParams): void {
  const errors: FieldError[] = []
  const atLeast = (field: string, least: number): void => {
    const value = integerParameter(query, field)
    if (value === undefined || value >= least) return
    const detail = least === 0 ? 'must be greater than or equal to 0' : 'must be greater than 0'
    errors.push(fieldErrors.invalid(field, value, detail))
  }
  atLeast('tailLines', 0)
  atLeast('limitBytes', 1)
  const since = query.get('sinceTime')
  if (since !== null) checkTime(since)
  if (query.has('sinceSeconds') && since !== null)
    errors.push(fieldErrors.forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'))
  else atLeast('sinceSeconds', 1)
  if (query.has('stream')) errors.push(fieldErrors.forbidden('stream', 'may not be specified'))
  if (errors.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, name, errors)
}

/** @throws StatusError 400 for a time that is not RFC 3339 */
function checkTime(text: string): void {
  if (/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text)) return
  const quoted = JSON.stringify(text)
  throw badRequest(`parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`)
}

/** @throws StatusError 400 for a container that is not there, or that several containers leave open */
function checkContainer(pod: KubeObject, name: string): void {
  const spec = (pod['spec'] ?? {}) as Readonly<Record<string, readonly { readonly name: string }[] | undefined>>
  const namesIn = (list: string): string[] => (spec[list] ?? []).map((container) => container.name)
  const lists = ['initContainers', 'containers', 'ephemeralContainers'].map(namesIn)
  if (name !== '') {
    if (lists.flat().includes(name)) return
    throw badRequest(`container ${name} is not valid for pod ${pod.metadata.name}`)
  }
  if (lists[1]!.length < 2) return
  const names = lists.flat().join(' ')
  throw badRequest(`a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names}]`)
}
