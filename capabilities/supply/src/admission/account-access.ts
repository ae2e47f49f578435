// The rights that writers of blueprints, owners and Runnables need: objects are stamped as the service account that
// these name, so a user who names one must have the right to impersonate it.
import type { RequiredAccess } from '@fairlead/controller'
import { goQuote } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import type { Blueprint, Owner, Runnable } from '../api.ts'

interface NamedAccount {
  readonly name: string
  /** Every namespace when empty: an account of this name in the namespace of each owner. */
  readonly namespace?: string
}

/** Returns the rights that a write of a ClusterSupplyChain or ClusterDelivery requires. */
export function blueprintAccess(object: KubeObject, old: KubeObject | undefined): readonly RequiredAccess[] {
  const account = (object as Blueprint).spec.serviceAccountRef
  return changed('spec.serviceAccountRef', account, (old as Blueprint | undefined)?.spec.serviceAccountRef)
}

/**
 * Returns the rights that a write of a Workload or Deliverable requires. `default` of its own namespace requires none:
 * it is the account of owners that name none. The account in the status deletes what was stamped.
 */
export function ownerAccess(object: KubeObject, old: KubeObject | undefined): readonly RequiredAccess[] {
  const { status } = object as Owner
  const { status: oldStatus } = (old ?? {}) as Partial<Owner>
  return [
    ...runnableAccess(object, old),
    ...(isDefault(object, status?.serviceAccountRef)
      ? []
      : changed('status.serviceAccountRef', status?.serviceAccountRef, oldStatus?.serviceAccountRef)),
  ]
}

/** Returns the rights that a write of a Runnable requires; `default` requires none. */
export function runnableAccess(object: KubeObject, old: KubeObject | undefined): readonly RequiredAccess[] {
  const account = specAccount(object)
  return isDefault(object, account) ? [] : changed('spec.serviceAccountName', account, old && specAccount(old))
}

function specAccount({ metadata, spec }: KubeObject): NamedAccount | undefined {
  const name = (spec as Runnable['spec'] | undefined)?.serviceAccountName
  return name ? { namespace: metadata.namespace, name } : undefined
}

function isDefault({ metadata }: KubeObject, account: NamedAccount | undefined): boolean {
  return account?.name === 'default' && account.namespace === metadata.namespace
}

function changed(
  field: string,
  account: NamedAccount | undefined,
  old: NamedAccount | undefined,
): readonly RequiredAccess[] {
  if (account === undefined) return []
  const namespace = account.namespace || undefined
  const { name } = account
  if (old !== undefined && old.name === name && (old.namespace || undefined) === namespace) return []
  const scope = namespace === undefined ? 'every namespace' : `the namespace ${goQuote(namespace)}`
  const reason = `${field} names the service account ${goQuote(name)} of ${scope}, and objects are written with its rights`
  return [{ verb: 'impersonate', group: '', version: 'v1', resource: 'serviceaccounts', namespace, name, reason }]
}
