// The authorizer of a server without RBAC: authenticated users have all permissions.
import type { Authorizer } from '../identity/authorizer.ts'
import { anonymousName } from '../identity/well-known-users.ts'

const publicPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz', '/version'])

/** Allows every request of authenticated users; anonymous ones may read health and version only. */
export const alwaysAllow: Authorizer = {
  authorize: ({ user, path }) =>
    user.name !== anonymousName || (path !== undefined && publicPaths.has(path))
      ? { allowed: true, reason: 'AlwaysAllow: no RBAC in this server' }
      : { allowed: false, reason: '' },
  rulesFor: () => ({
    resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
    incomplete: false,
  }),
}
