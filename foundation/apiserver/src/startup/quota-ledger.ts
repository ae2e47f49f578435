// Gives the ledger of ResourceQuotas its access to the store and to the handler that writes their status.
import { asJson, asObject, cloneJson } from '@fairlead/kube'
import type { JsonObject, UserInfo } from '@fairlead/kube'
import { QuotaLedger } from '../admission/limits/quota-ledger.ts'
import type { QuotaLedgerOptions } from '../admission/limits/quota-ledger.ts'
import { internalScope } from '../handlers/request-scope.ts'
import type { ServerDependencies } from '../handlers/server-dependencies.ts'
import { updateObject } from '../handlers/update.ts'
import { apiServerUser, mastersGroup } from '../identity/well-known-users.ts'
import type { DependencyParts } from './server-dependencies.ts'

const controllerUser: UserInfo = { name: 'system:kube-controller-manager', groups: [mastersGroup] }

/** Returns the ledger. `server` returns the dependencies, which are built after it. */
export function newQuotaLedger(
  { registry, clock, storages, read, listNamespace }: DependencyParts,
  server: () => ServerDependencies,
): QuotaLedger {
  const head: QuotaLedgerOptions['head'] = async (key) => {
    const entry = await storages.store.head('resourcequotas.', key)
    if (entry === undefined) return undefined
    const { metadata, ...rest } = asObject(entry.object)
    return asObject({ ...rest, metadata: { ...metadata, resourceVersion: String(entry.revision) } } as JsonObject)
  }
  const writeStatus: QuotaLedgerOptions['writeStatus'] = async (quota, manager) => {
    const resource = registry.findKind('', 'v1', 'ResourceQuota')!
    const { namespace = '', name = '' } = quota.metadata
    const user = manager === 'kube-apiserver' ? apiServerUser : controllerUser
    const { signal } = new AbortController()
    await updateObject(server(), internalScope({ resource, namespace, name, subresource: 'status', user, signal }), {
      change: () => cloneJson(asJson(quota)) as JsonObject,
      createsMissing: false,
      dryRun: false,
      manager,
    })
  }
  return new QuotaLedger({ clock, definitions: () => registry.definitions, read, listNamespace, head, writeStatus })
}
