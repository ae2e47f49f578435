// The controllers inside the server: ordinary controllers of @fairlead/controller on a client of the server itself.
// Start reading at startControllers.
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { KeyPair, Logger } from '@fairlead/controller'
import { DisposableStack } from '@fairlead/kube'
import { setUpCertificateSigning } from './certificate-signing.ts'
import { setUpRoleAggregation } from './cluster-role-aggregation.ts'
import type { ControllerContext } from './controller-context.ts'
import { AllResourcesInformer } from './all-resources-informer.ts'
import type { ResourceSource } from './all-resources-informer.ts'
import { setUpDisruptionBudgets } from './disruption/disruption-budgets.ts'
import { setUpStaleDisruptionTargets } from './disruption/stale-targets.ts'
import { setUpEndpointSliceMirroring } from './endpoint-slices/mirroring.ts'
import { setUpEndpointSlices, setUpEndpoints } from './endpoint-slices/selected-endpoints.ts'
import { setUpEventExpiry, setUpJobExpiry } from './expiry.ts'
import { setUpGarbageCollection } from './gc/garbage-collector.ts'
import { setUpIdleWorkloads } from './idle-workloads.ts'
import { setUpNamespaces } from './namespaces.ts'
import { setUpPolicyStatus } from './policy-status.ts'
import type { QuotaLedger } from '../admission/limits/quota-ledger.ts'
import { setUpResourceQuotas } from './resource-quotas.ts'
import { setUpServiceAccounts } from './service-accounts.ts'
import { setUpAttributesClassProtection, setUpClaimProtection, setUpVolumeProtection } from './storage-protection.ts'

export type { ResourceSource } from './all-resources-informer.ts'

/**
 * Names of controllers:
 * - `namespace`: deletes the content of terminating namespaces and removes their finalizer.
 * - `gc`: garbage collection by owner references; background, foreground and orphan deletion.
 * - `role-aggregation`: fills aggregated ClusterRoles.
 * - `service-account`: ServiceAccount `default` and ConfigMap `kube-root-ca.crt` in every namespace.
 * - `certificate-signing`: signs approved requests for client certificates.
 * - `events`: deletes Events after an hour.
 * - `job-ttl`: deletes finished Jobs after their `ttlSecondsAfterFinished`.
 * - `policy-status`: type checks ValidatingAdmissionPolicies.
 * - `resource-quota`: limits and usage in the status of ResourceQuotas.
 * - `endpoints`: makes Endpoints of Services with a selector, and deletes those of deleted Services.
 * - `endpointslice`: makes EndpointSlices of Services with a selector.
 * - `endpointslice-mirroring`: mirrors Endpoints of Services without a selector into EndpointSlices.
 * - `pvc-protection`, `pv-protection`, `vac-protection`: remove the finalizers of claims, volumes and attribute classes
 *   that are not used.
 * - `disruption`: the status of PodDisruptionBudgets, by which evictions are allowed or refused.
 * - `idle-workloads`: records an Event on each Pod, Deployment and Job that nothing runs.
 */
export type InternalController =
  | 'namespace'
  | 'gc'
  | 'role-aggregation'
  | 'service-account'
  | 'certificate-signing'
  | 'events'
  | 'job-ttl'
  | 'endpoints'
  | 'endpointslice'
  | 'endpointslice-mirroring'
  | 'disruption'
  | 'idle-workloads'
  | 'policy-status'
  | 'resource-quota'
  | 'pvc-protection'
  | 'pv-protection'
  | 'vac-protection'

const setups: Readonly<Record<InternalController, (context: ControllerContext, options: ControllersOptions) => void>> =
  {
    namespace: setUpNamespaces,
    gc: setUpGarbageCollection,
    'role-aggregation': setUpRoleAggregation,
    'service-account': (context, { rootCertificate }) => setUpServiceAccounts(context, rootCertificate),
    'certificate-signing': (context, { clientAuthority }) => setUpCertificateSigning(context, clientAuthority),
    events: setUpEventExpiry,
    'job-ttl': setUpJobExpiry,
    endpoints: setUpEndpoints,
    endpointslice: setUpEndpointSlices,
    'endpointslice-mirroring': setUpEndpointSliceMirroring,
    disruption: (context) => {
      setUpDisruptionBudgets(context)
      setUpStaleDisruptionTargets(context)
    },
    'idle-workloads': setUpIdleWorkloads,
    'policy-status': setUpPolicyStatus,
    'resource-quota': (context, { quotas }) => setUpResourceQuotas(context, quotas),
    'pvc-protection': setUpClaimProtection,
    'pv-protection': setUpVolumeProtection,
    'vac-protection': setUpAttributesClassProtection,
  }

/** The names of all controllers. */
export const internalControllers: readonly InternalController[] = Object.keys(setups) as InternalController[]

/** Options of {@link startControllers}. */
export interface ControllersOptions {
  /** A client of the server with all permissions, over the in-process transport. */
  readonly client: Client
  /** The served resources; the Registry. */
  readonly resources: ResourceSource
  /** The controllers to run; all when left out. */
  readonly controllers?: readonly InternalController[]
  /** Milliseconds between an event and its reconcile; 0 when left out. */
  readonly delay?: number
  /**
   * Returns the PEM of the server's certificate authority, created on first use; without it there is no
   * `kube-root-ca.crt`.
   */
  readonly rootCertificate?: () => Promise<string>
  /**
   * Returns the authority of client certificates, created on first use; without it `certificate-signing` does nothing.
   */
  readonly clientAuthority?: () => Promise<KeyPair>
  /** The usage of ResourceQuotas; without it `resource-quota` does nothing. */
  readonly quotas?: QuotaLedger
  /** Silent when left out. */
  readonly logger?: Logger
}

/**
 * Starts the controllers. Resolves once they are subscribed, before their first reconcile. Disposing waits for running
 * reconciles.
 */
export async function startControllers(options: ControllersOptions): Promise<AsyncDisposable> {
  const { client, resources, delay = 0, controllers = internalControllers, logger } = options
  const stops = new DisposableStack()
  const manager = await Manager.start({
    client,
    ...(logger === undefined ? {} : { logger }),
    setup: (host) => {
      let allResources: AllResourcesInformer | undefined
      const context: ControllerContext = {
        manager: host,
        resources,
        delay,
        allResources: () => (allResources ??= stops.use(new AllResourcesInformer(host, resources))),
        onStop: (disposable) => void stops.use(disposable),
      }
      for (const name of new Set(controllers)) setups[name](context, options)
      allResources?.start()
    },
  })
  return {
    [Symbol.asyncDispose]: async () => {
      stops.dispose()
      await manager.stop()
    },
  }
}
