// Checks an installation: pods, leader, webhooks and APIServices.
import { Lease, ServiceAccount, kind } from '@fairlead/client'
import type { Client, Kind } from '@fairlead/client'
import type { Capability } from '@fairlead/controller'
import { findCondition, isForbidden } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { isDelegated } from '../install/install-options.ts'
import { apiServiceNames } from '../install/server-roles.ts'
import { fail, ok, warn } from './finding.ts'
import type { Finding } from './finding.ts'
import type { Account } from './rights-check.ts'

interface Deployed extends KubeObject {
  readonly spec?: { readonly replicas?: number }
  readonly status?: { readonly readyReplicas?: number; readonly conditions?: readonly Condition[] }
}

interface Configured extends KubeObject {
  readonly webhooks?: readonly { readonly clientConfig?: { readonly caBundle?: string } }[]
}

const Deployment: Kind<Deployed> = kind('apps/v1', 'Deployment', { plural: 'deployments', namespaced: true })
const Configuration: Kind<Configured> = kind('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
  plural: 'validatingwebhookconfigurations',
  namespaced: false,
})
const ApiService: Kind<Deployed> = kind('apiregistration.k8s.io/v1', 'APIService', {
  plural: 'apiservices',
  namespaced: false,
})

/** Returns the service account of an installation; undefined when there is none, or the caller may not see it. */
export async function accountOf(client: Client, account: Account): Promise<Account | undefined> {
  try {
    return (await client.find(ServiceAccount, account)) === undefined ? undefined : account
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
}

/** Checks an existing installation. */
export async function checkInstallation(
  client: Client,
  account: Account,
  capabilities: readonly Capability[],
): Promise<Finding[]> {
  const checks = [
    () => checkPods(client, account),
    () => checkLeader(client, account),
    () => checkWebhooks(client, account),
    ...capabilities
      .filter(isDelegated)
      .flatMap((capability) => apiServiceNames(capability).map((name) => () => checkApiService(client, name))),
  ]
  return (await Promise.all(checks.map(orForbidden))).filter((finding) => finding !== undefined)
}

async function orForbidden(check: () => Promise<Finding | undefined>): Promise<Finding | undefined> {
  try {
    return await check()
  } catch (error) {
    if (isForbidden(error)) return warn('installation', `cannot be read with these rights: ${error.message}`)
    throw error
  }
}

async function checkPods(client: Client, account: Account): Promise<Finding> {
  const place = `${account.namespace}/${account.name}`
  const found = await client.find(Deployment, account)
  if (found === undefined)
    return warn('pods', `there is no Deployment ${place}: it runs no controllers in this cluster`)
  const [wanted, ready] = [found.spec?.replicas ?? 1, found.status?.readyReplicas ?? 0]
  if (ready >= wanted) return ok('pods', `${ready} of ${wanted} of ${place} are ready`)
  return fail(
    'pods',
    `${ready} of ${wanted} of ${place} are ready: kubectl describe pods -n ${account.namespace} -l app.kubernetes.io/instance=${account.name}`,
  )
}

async function checkLeader(client: Client, account: Account): Promise<Finding | undefined> {
  const lease = await client.find(Lease, account)
  if (lease === undefined) return undefined
  const { holderIdentity: holder, leaseDurationSeconds = 15, renewTime } = lease.spec ?? {}
  const age = renewTime === undefined || renewTime === null ? Infinity : client.clock.now() - Date.parse(renewTime)
  // Clocks of two machines differ: only a lease that expired long ago shows that no replica is active.
  if (!holder || age > 4 * leaseDurationSeconds * 1000)
    return fail(
      'leader',
      `no replica holds the Lease ${account.namespace}/${account.name}: kubectl logs -n ${account.namespace} deployment/${account.name}`,
    )
  return ok('leader', holder)
}

async function checkWebhooks(client: Client, { name }: Account): Promise<Finding | undefined> {
  const found = await client.find(Configuration, name)
  if (found === undefined)
    return warn(
      'webhooks',
      `there is no ValidatingWebhookConfiguration ${name}: the permissions of writers are not checked`,
    )
  const { webhooks = [] } = found
  const without = webhooks.filter(({ clientConfig }) => !clientConfig?.caBundle).length
  if (without === 0) return ok('webhooks', `${webhooks.length} of ${name} have a CA bundle`)
  return fail(
    'webhooks',
    `${without} of ${name} have no CA bundle, so writes are refused: the pods add it as soon as they run`,
  )
}

async function checkApiService(client: Client, name: string): Promise<Finding | undefined> {
  const found = await client.find(ApiService, name)
  if (found === undefined) return undefined
  const available = findCondition(found.status?.conditions ?? [], 'Available')
  if (available?.status === 'True') return ok('api', `${name} is available`)
  return fail(
    'api',
    `${name} is not available: ${available?.message ?? 'no condition'}; see docs/how-to/host-behind-an-apiservice.md`,
  )
}
