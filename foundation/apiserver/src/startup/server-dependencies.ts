// Builds the dependencies of the handlers: the store with resource storages in it, admission, and subresource handlers.
import { randomUUID } from 'node:crypto'
import type { Clock, KubeObject } from '@fairlead/kube'
import { capabilityValidatorsPlugin } from '../admission/capability-validators.ts'
import { certificateSignersPlugin } from '../admission/certificate-signers.ts'
import { claimResizePlugin } from '../admission/claim-resize.ts'
import { certificateSubjectPlugin } from '../admission/certificate-subject.ts'
import { AdmissionChain } from '../admission/chain.ts'
import { kindAdmissionPlugin } from '../admission/kind-admission.ts'
import { limitRangerPlugin } from '../admission/limits/limit-ranger.ts'
import { podSecurityPlugin } from '../admission/pod-security/pod-security.ts'
import { validatingAdmissionPolicyPlugin } from '../admission/policies/policy-plugin.ts'
import type { QuotaLedger } from '../admission/limits/quota-ledger.ts'
import { resourceQuotaPlugin } from '../admission/limits/resource-quota.ts'
import type { AdmissionPlugin } from '../admission/plugin.ts'
import { rbacEscalationPlugin } from '../admission/rbac-escalation.ts'
import { serviceAccountPlugin } from '../admission/service-account.ts'
import { storageProtectionPlugin } from '../admission/storage-protection.ts'
import { mutatingWebhookPlugin } from '../admission/webhooks/mutating-plugin.ts'
import { validatingWebhookPlugin } from '../admission/webhooks/validating-plugin.ts'
import type { WebhookDependencies } from '../admission/webhooks/webhook-caller.ts'
import { internalControllers } from '../controllers/index.ts'
import { componentStatusHandlers } from '../handlers/component-statuses.ts'
import { podHandlers } from '../handlers/pods/pod-handlers.ts'
import type { ResourceHandlers } from '../handlers/resource-handlers.ts'
import { reviewHandlers } from '../handlers/reviews.ts'
import type { ServerDependencies } from '../handlers/server-dependencies.ts'
import { tokenHandler } from '../handlers/token.ts'
import { protobufCodec } from '../protobuf/protobuf-codec.ts'
import type { Registry } from '../registry/registry.ts'
import type { ResourceStorages } from '../resource-storage/resource-storages.ts'
import type { Store } from '../storage/store.ts'
import { KeyedMutex } from '../storage/keyed-mutex.ts'
import { Views } from '../views/views.ts'
import type { AccessControl } from './access-control.ts'
import { runsController } from './options.ts'
import type { ApiServerOptions } from './options.ts'
import { newQuotaLedger } from './quota-ledger.ts'

/** Returns the handlers of subresources and of resources that are not stored. */
export function builtinHandlers(
  options: ApiServerOptions,
  access: AccessControl,
  store: Pick<Store, 'lastError'>,
): ResourceHandlers {
  const runsControllers = internalControllers.some((name) => runsController(options, name))
  return {
    ...podHandlers(options.podLogs),
    ...reviewHandlers(access),
    ...componentStatusHandlers({
      scheduler: () => 'Nothing schedules Pods here.',
      'controller-manager': () => (runsControllers ? undefined : 'No controllers run in this server.'),
      'etcd-0': () => store.lastError,
    }),
    'serviceaccounts/token': tokenHandler(access.tokens),
  }
}

/** The parts that the dependencies are built from. */
export interface DependencyParts {
  readonly registry: Registry
  readonly clock: Clock
  readonly access: AccessControl
  readonly storages: ResourceStorages
  readonly webhooks: WebhookDependencies
  /** Returns an object as stored, from memory. */
  readonly read: (resource: string, key: string) => KubeObject | undefined
  /** Returns every object of a resource as stored, from memory. */
  readonly list: (resource: string) => Iterable<KubeObject>
  /** Returns every object of a resource in a namespace as stored, from memory. */
  readonly listNamespace: (resource: string, namespace: string) => Iterable<KubeObject>
}

/** Builds the dependencies of the handlers, and the ledger of quotas that their admission charges. */
export function serverDependencies(
  options: ApiServerOptions,
  parts: DependencyParts,
): { readonly dependencies: ServerDependencies; readonly quotas: QuotaLedger } {
  const { registry, clock, access, storages, read, list } = parts
  const quotas = newQuotaLedger(parts, () => dependencies)
  const dependencies: ServerDependencies = {
    store: storages.store,
    registry,
    views: new Views(),
    clock,
    admission: admissionChain(options, parts, quotas),
    authorizer: access.authorizer,
    writeLocks: new KeyedMutex(),
    protobuf: protobufCodec,
    random: options.random ?? Math.random,
    newUid: randomUUID,
    handlers: storages.handlers,
    read,
    list,
  }
  return { dependencies, quotas }
}

function admissionChain(
  { validators, admission = [], disabledAdmission = [], enabledAdmission = [], random = Math.random }: ApiServerOptions,
  { registry, clock, access: { rbac, authorizer }, storages, webhooks, read, list, listNamespace }: DependencyParts,
  quotas: QuotaLedger,
): AdmissionChain {
  const isEnabled = ({ name }: AdmissionPlugin): boolean => !disabledAdmission.some((disabled) => disabled === name)
  // These run again on what webhooks have changed, as in the real server: a container that one adds gets limits, too.
  const beforeWebhooks = [
    limitRangerPlugin(listNamespace),
    ...(enabledAdmission.includes('ServiceAccount') ? [serviceAccountPlugin({ clock, random, read })] : []),
    kindAdmissionPlugin({ clock, read, list }),
    storageProtectionPlugin(),
  ].filter(isEnabled)
  const plugins: readonly AdmissionPlugin[] = [
    ...(rbac === undefined ? [] : [rbacEscalationPlugin(rbac), certificateSignersPlugin(authorizer)]),
    certificateSubjectPlugin(),
    ...beforeWebhooks,
    podSecurityPlugin({ read, listNamespace }),
    claimResizePlugin(read),
    ...(validators === undefined ? [] : [capabilityValidatorsPlugin(validators, { authorizer, registry })]),
    validatingAdmissionPolicyPlugin({ registry, authorizer, read, list }),
    mutatingWebhookPlugin(webhooks, new AdmissionChain(beforeWebhooks)),
    validatingWebhookPlugin(webhooks),
    storages.admissionPlugin(),
    ...admission,
    resourceQuotaPlugin(quotas),
  ]
  return new AdmissionChain(plugins.filter(isEnabled))
}
