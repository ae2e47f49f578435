// The webhook of git servers: `POST /webhooks/git/<namespace>/<repository>` reads a repository at once. The caller
// needs the right to get the Repository; the body is not used, so that every git server can call.
import type { Route } from '@fairlead/controller'
import { RepositoryKind } from '../api.ts'

/** Returns the route. `sync` starts to read a repository. */
export function webhookRoute(sync: (key: { readonly namespace: string; readonly name: string }) => void): Route {
  return {
    prefix: '/webhooks/git',
    async handle({ method, path, client, signal }) {
      const [namespace, name, ...rest] = path
      if (method !== 'POST' || namespace === undefined || name === undefined || rest.length > 0) return undefined
      await client.get(RepositoryKind, { namespace, name }, { signal })
      sync({ namespace, name })
      return { status: 202, body: { message: `The repository ${namespace}/${name} is read` } }
    },
  }
}
