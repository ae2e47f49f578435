// The controllers inside the server: ordinary controllers of @fairlead/controller on a client of the server itself. Start with startControllers.
import type { Client } from '@fairlead/client'
import { Manager } from '@fairlead/controller'
import type { Logger } from '@fairlead/controller'
import { setUpRoleAggregation } from './cluster-role-aggregation.ts'
import type { ControllerContext } from './controller-context.ts'
import { AllResourcesInformer } from './all-resources-informer.ts'
import type { ResourceSource } from './all-resources-informer.ts'
import { setUpEventExpiry, setUpJobExpiry } from './expiry.ts'
import { setUpGarbageCollection } from './gc/garbage-collector.ts'
import { setUpIdleWorkloads } from './idle-workloads.ts'
import { setUpNamespaces } from './namespaces.ts'
import { setUpPolicyStatus } from './policy-status.ts'
import { setUpServiceAccounts } from './service-accounts.ts'

export type { ResourceSource } from './all-resources-informer.ts'

/**
 * What a controller is for:
 * - `namespace`: empties namespaces that are deleted, and lets them go.
 * - `gc`: deletes what has lost its owners; foreground and orphan deletion.
 * - `role-aggregation`: fills aggregated ClusterRoles.
 * - `service-account`: ServiceAccount `default` and ConfigMap `kube-root-ca.crt` in every namespace.
 * - `events`: deletes Events after an hour.
 * - `job-ttl`: deletes finished Jobs after their time.
 * - `policy-status`: type checks ValidatingAdmissionPolicies.
 * - `idle-workloads`: one Event on each Pod, Deployment and Job that nothing runs.
 */
export type InternalController =
  | 'namespace'
  | 'gc'
  | 'role-aggregation'
  | 'service-account'
  | 'events'
  | 'job-ttl'
  | 'idle-workloads'
  | 'policy-status'

const setups: Readonly<Record<InternalController, (context: ControllerContext, options: ControllersOptions) => void>> =
  {
    namespace: setUpNamespaces,
    gc: setUpGarbageCollection,
    'role-aggregation': setUpRoleAggregation,
    'service-account': (context, { rootCertificate }) => setUpServiceAccounts(context, rootCertificate),
    events: setUpEventExpiry,
    'job-ttl': setUpJobExpiry,
    'idle-workloads': setUpIdleWorkloads,
    'policy-status': setUpPolicyStatus,
  }

/** Every controller there is. */
export const internalControllers: readonly InternalController[] = Object.keys(setups) as InternalController[]

/** How the controllers are started. */
export interface ControllersOptions {
  /** A client of the server that may do everything; over the in-process transport. */
  readonly client: Client
  /** The served resources; the Registry. */
  readonly resources: ResourceSource
  /** Which of them run; all when left out. */
  readonly controllers?: readonly InternalController[]
  /** Milliseconds between a cause and what a controller does about it; 0 when left out. */
  readonly delay?: number
  /** PEM of the authority that signed the server's certificate, made when first asked for; without it `kube-root-ca.crt` is left out. */
  readonly rootCertificate?: () => Promise<string>
  /** Silent when left out. */
  readonly logger?: Logger
}

/** Starts the controllers. Resolves when they listen; what they have to do they do later. Disposing lets work in progress end. */
export async function startControllers(options: ControllersOptions): Promise<AsyncDisposable> {
  const { client, resources, delay = 0, controllers = internalControllers, logger } = options
  const stops = new DisposableStack()
  const manager = await Manager.start({
    client,
    ...(logger === undefined ? {} : { logger }),
    setup: (host) => {
      let every: AllResourcesInformer | undefined
      const context: ControllerContext = {
        manager: host,
        resources,
        delay,
        allResources: () => (every ??= stops.use(new AllResourcesInformer(host, resources))),
        onStop: (disposable) => void stops.use(disposable),
      }
      for (const name of new Set(controllers)) setups[name](context, options)
      every?.start()
    },
  })
  return {
    [Symbol.asyncDispose]: async () => {
      stops.dispose()
      await manager.stop()
    },
  }
}
