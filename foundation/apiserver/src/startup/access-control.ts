// Authentication and authorization of a server.
import { randomUUID } from 'node:crypto'
import type { AsyncDisposableStack, Clock } from '@fairlead/kube'
import { alwaysAllow } from '../auth/always-allow.ts'
import { certificateAuthenticator, staticTokens } from '../auth/authenticators.ts'
import type { RbacState } from '../auth/rbac/escalation.ts'
import { RbacAuthorizer } from '../auth/rbac/rbac-authorizer.ts'
import { RoleIndex } from '../auth/rbac/role-index.ts'
import { ServiceAccountTokens } from '../auth/service-account-tokens.ts'
import { tokenKey } from '../auth/token-key.ts'
import type { Authorizer } from '../identity/authorizer.ts'
import type { Authenticator } from '../identity/credentials.ts'
import type { OpenStorage } from './open-storage.ts'
import type { ApiServerOptions } from './options.ts'

/** Issuer and audience of service account tokens, those of kubeadm's clusters. */
const tokenIssuer = 'https://kubernetes.default.svc.cluster.local'

/** The authenticators and the authorizer of a server. */
export interface AccessControl {
  readonly authenticators: readonly Authenticator[]
  readonly authorizer: Authorizer
  readonly tokens: ServiceAccountTokens
  /** Undefined without RBAC. */
  readonly rbac: RbacState | undefined
}

/** Starts access control; `resources` owns its index of roles. */
export async function startAccessControl(
  options: ApiServerOptions,
  { store, folder }: Pick<OpenStorage, 'store' | 'folder'>,
  clock: Clock,
  resources: AsyncDisposableStack,
): Promise<AccessControl> {
  const roles = options.authorization === 'RBAC' ? resources.use(await RoleIndex.follow(store)) : undefined
  const rbac = roles && { roles, authorizer: new RbacAuthorizer(roles) }
  const { issuers = [], audiences, signingKey, verificationKeys, keySetUri } = options.serviceAccountTokens ?? {}
  const [issuer = tokenIssuer, ...formerIssuers] = issuers
  const tokens = new ServiceAccountTokens({
    key: signingKey ?? (await tokenKey(folder)),
    verificationKeys,
    issuer,
    formerIssuers,
    keySetUri,
    audiences: audiences ?? [issuer, ...formerIssuers],
    clock,
    store,
    newUid: randomUUID,
  })
  const authenticators = [
    certificateAuthenticator,
    staticTokens(options.tokens ?? []),
    tokens.authenticator(),
    ...(options.authenticators ?? []),
  ]
  return { authenticators, authorizer: rbac?.authorizer ?? alwaysAllow, tokens, rbac }
}
