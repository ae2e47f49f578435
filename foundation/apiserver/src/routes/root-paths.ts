// `GET /`: the paths that this server serves. Health checks of other systems (Cluster API) read it.
import type { Route } from '../http/route.ts'
import { valueResponse } from '../response/response.ts'

/** Serves `/` and `/index.html`, like k8s.io/apiserver's routes.Index. */
export function rootPathsRoute(routes: readonly Route[]): Route {
  return {
    handle({ path }) {
      if (path !== '/' && path !== '/index.html') return undefined
      const paths = routes.flatMap((route) => route.rootPaths?.() ?? []).toSorted()
      return valueResponse(200, { paths }, { encoding: 'json', pretty: true, encodeProtobuf: undefined })
    },
  }
}
