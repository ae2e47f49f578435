// `/metrics`: for whoever may GET that path.
import { methodNotAllowed } from '@fairlead/kube'
import type { Route } from '../http/route.ts'
import { uncached } from '../response/response.ts'
import type { Measured } from './exposition.ts'

/** Answers in Prometheus' text form. */
export function metricsRoute(measured: Measured): Route {
  let loaded: Promise<{ contentType: string; text: () => Promise<string> }> | undefined
  return {
    async handle(request, segments) {
      if (segments.length !== 1 || segments[0] !== 'metrics') return undefined
      if (request.method !== 'GET') throw methodNotAllowed()
      const { contentType, text } = await (loaded ??= load(measured))
      return {
        status: 200,
        headers: { ...uncached, 'content-type': contentType },
        body: { kind: 'bytes', bytes: Buffer.from(await text()) },
      }
    },
  }
}

async function load(measured: Measured): Promise<{ contentType: string; text: () => Promise<string> }> {
  const { contentType, exposition } = await import('./exposition.ts')
  return { contentType, text: exposition(measured) }
}
