// The service account of an owner (originals/cartographer.md §1.10): everything is stamped with its rights and no
// others.
import { ServiceAccount, isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { KindUnavailable, serviceAccountSubject } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import type { BlueprintSpec, Owner, OwnerSpec } from '../api.ts'
import { clusterRoleKinds, roleKinds } from './kinds.ts'

/** Namespace and name of a service account. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/**
 * Returns the account of an owner: the one that it names, else the one of its blueprint, else `default` in its
 * namespace.
 */
export function accountFor(
  namespace: string,
  owner: OwnerSpec,
  blueprint?: Pick<BlueprintSpec, 'serviceAccountRef'>,
): Account {
  if (owner.serviceAccountName) return { namespace, name: owner.serviceAccountName }
  const { serviceAccountRef } = blueprint ?? {}
  if (serviceAccountRef !== undefined)
    return { namespace: serviceAccountRef.namespace || namespace, name: serviceAccountRef.name }
  return { namespace, name: 'default' }
}

/**
 * Returns the account that deletes the objects of an owner that no blueprint selects: the one that it names, else the
 * one that stamped them.
 */
export function removalAccount({ metadata, spec, status }: Owner): Account {
  const { serviceAccountRef } = status ?? {}
  return accountFor(metadata.namespace ?? '', spec, serviceAccountRef && { serviceAccountRef })
}

/**
 * Returns an error message when the account does not exist, undefined when it does. Its creation requeues the reader.
 */
export async function accountProblem(account: Account, read: Reader): Promise<string | undefined> {
  if ((await read.get(ServiceAccount, account)) !== undefined) return undefined
  return `service account [${account.namespace}/${account.name}] not found`
}

/** Returns a client that impersonates the account. The API server adds the groups of service accounts. */
export function impersonate(client: Client, account: Account): Client {
  return client.as({ user: serviceAccountSubject(account).user })
}

/**
 * Requeues the reader when RBAC in the account's namespace or in the cluster changes: for owners whose account was
 * refused.
 */
export async function requeueOnGrant({ namespace }: Account, read: Reader): Promise<void> {
  try {
    for (const kind of roleKinds) await read.list(kind, { namespace })
    for (const kind of clusterRoleKinds) await read.list(kind)
  } catch (error) {
    if (!(error instanceof KindUnavailable) && !isClientError(error)) throw error
  }
}

/** Shortest interval between two attempts after a refusal by RBAC, in milliseconds. */
const deniedRetry = 120_000

/**
 * Returns the interval between two attempts after a refusal by RBAC, in milliseconds; a grant that the controller sees
 * ends it. It depends on the uid, so that the attempts of many owners spread.
 */
export function deniedInterval({ metadata }: KubeObject): number {
  const share = Number.parseInt((metadata.uid ?? '').slice(0, 4), 16) / 0xffff
  return deniedRetry * (1 + (Number.isNaN(share) ? 0 : share) / 2)
}
