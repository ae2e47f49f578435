// `pods/log`: the logs of a container, from the source that the server was given.
import { failure } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
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
    const pod = await readPod(server, scope)
    const { query, signal } = scope
    const request: LogRequest = {
      container: query.get('container') ?? '',
      follow: booleanParameter(query, 'follow') ?? false,
      previous: booleanParameter(query, 'previous') ?? false,
      timestamps: booleanParameter(query, 'timestamps') ?? false,
      tailLines: integerParameter(query, 'tailLines'),
      signal,
    }
    const chunks = logs?.(pod, request)
    const headers = { ...uncached, 'content-type': 'text/plain' }
    if (chunks !== undefined) return { status: 200, headers, body: { kind: 'stream', chunks } }
    if (nodeOf(pod) === '') return { status: 204, headers: uncached, body: { kind: 'bytes', bytes: new Uint8Array() } }
    const message = `pods "${scope.name}" has no logs: nothing in this server runs it. Start a runner, or ask the cluster that does.`
    throw failure(404, 'NotFound', message, { name: scope.name, kind: 'pods' })
  }
}
