// The service account that stamps for an owner (originals/cartographer.md §1.10): only its rights count for what templates make.
import { ServiceAccount, isClientError } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { KindUnavailable } from '@fairlead/controller'
import type { Reader } from '@fairlead/controller'
import type { BlueprintSpec, OwnerSpec } from '../api.ts'
import { clusterGrants, namespacedGrants } from './kinds.ts'

/** A service account. */
export interface Account {
  readonly namespace: string
  readonly name: string
}

/** The account of an owner: its own choice, else that of the blueprint, else `default` in its namespace. */
export function accountFor(namespace: string, owner: OwnerSpec, blueprint?: BlueprintSpec): Account {
  if (owner.serviceAccountName) return { namespace, name: owner.serviceAccountName }
  const { serviceAccountRef } = blueprint ?? {}
  if (serviceAccountRef !== undefined)
    return { namespace: serviceAccountRef.namespace || namespace, name: serviceAccountRef.name }
  return { namespace, name: 'default' }
}

/** Why an account cannot be used; undefined when it is there. Its coming wakes the reader. */
export async function accountProblem(account: Account, read: Reader): Promise<string | undefined> {
  if ((await read.get(ServiceAccount, account)) !== undefined) return undefined
  return `service account [${account.namespace}/${account.name}] not found`
}

/** A client with the rights of the account. The server adds the groups of service accounts itself. */
export function clientOf(client: Client, { namespace, name }: Account): Client {
  return client.as({ user: `system:serviceaccount:${namespace}:${name}` })
}

/** After a refusal: what grants rights wakes the reader when it changes. */
export async function wakeWhenGranted({ namespace }: Account, read: Reader): Promise<void> {
  try {
    for (const kind of namespacedGrants) await read.list(kind, { namespace })
    for (const kind of clusterGrants) await read.list(kind)
  } catch (error) {
    if (!(error instanceof KindUnavailable) && !isClientError(error)) throw error
  }
}
