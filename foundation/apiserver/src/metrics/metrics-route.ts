// `/metrics`: for users who may GET that path.
import { methodNotAllowed } from '@fairlead/kube'
import type { Route } from '../http/route.ts'
import { uncached } from '../response/response.ts'
import type { MetricSources } from './exposition.ts'

/** Returns the route; it responds in Prometheus' text form. `others` returns further metrics in that form. */
export function metricsRoute(sources: MetricSources, others: () => Promise<string> = async () => ''): Route {
  let loaded: Promise<{ contentType: string; text: () => Promise<string> }> | undefined
  return {
    rootPaths: () => ['/metrics'],
    async handle(request) {
      if (request.path !== '/metrics') return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      const { contentType, text } = await (loaded ??= load(sources))
      return {
        status: 200,
        headers: { ...uncached, 'content-type': contentType },
        body: { kind: 'bytes', bytes: Buffer.from((await text()) + (await others())) },
      }
    },
  }
}

async function load(sources: MetricSources): Promise<{ contentType: string; text: () => Promise<string> }> {
  const { contentType, exposition } = await import('./exposition.ts')
  return { contentType, text: exposition(sources) }
}
