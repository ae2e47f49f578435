// The place of a resource: region, account and endpoint, by annotations of the object and its namespace
// (originals/ack.md §3.9). A user who may change a namespace must not choose where the credentials of the process go.
import type { KubeObject } from '@fairlead/kube'
import type { Finding } from './conditions.ts'
import { regionAnnotation } from './policies.ts'
import type { Annotations } from './policies.ts'
import { confirmedArn, statusOf } from './resource-status.ts'

const defaultRegion = 'services.k8s.aws/default-region'
const endpointUrl = 'services.k8s.aws/endpoint-url'
const ownerAccount = 'services.k8s.aws/owner-account-id'

/** Settings of the process that bound what namespaces may choose. */
export interface PlacementSettings {
  readonly region: string
  /** Endpoints that namespaces may choose. */
  readonly endpointUrls?: readonly string[]
  /** Account of the credentials; namespaces that name another one are refused. */
  readonly accountId?: string
}

/** The place of a resource. */
export interface Placement {
  readonly region: string
  /** Base URL that the namespace chose; undefined for that of the process. */
  readonly endpoint?: string
  /** The reason why no call may be made. */
  readonly refusal?: Finding
}

const regionName = /^[a-z]{2}(-[a-z]+)+-\d+$/

/** Returns the place of an object's resource: where it is, else what the object, its namespace or the process say. */
export function placementOf(object: KubeObject, namespace: Annotations, settings: PlacementSettings): Placement {
  const known = statusOf(object)['ackResourceMetadata'] as { readonly region?: string } | undefined
  const region =
    known?.region ?? object.metadata.annotations?.[regionAnnotation] ?? namespace[defaultRegion] ?? settings.region
  const endpoint = namespace[endpointUrl]
  const refusal = refusalOf(object, namespace, region, settings)
  return {
    region,
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(refusal === undefined ? {} : { refusal }),
  }
}

function refusalOf(
  object: KubeObject,
  namespace: Annotations,
  region: string,
  { accountId, endpointUrls = [], region: ownRegion }: PlacementSettings,
): Finding | undefined {
  const endpoint = namespace[endpointUrl]
  // The region becomes a part of the host that is called.
  if (region !== ownRegion && !regionName.test(region))
    return { reason: 'InvalidRegion', message: `${JSON.stringify(region)} is no region; write one such as eu-west-1` }
  if (endpoint !== undefined && !endpointUrls.includes(endpoint))
    return {
      reason: 'EndpointNotAllowed',
      message: `the namespace asks for ${endpointUrl}: ${endpoint}, and calls there carry credentials; allow it by the setting aws.allowed-endpoint-urls, or remove the annotation`,
    }
  const account = namespace[ownerAccount]
  const ownedBy = confirmedArn(object)?.split(':')[4] ?? accountId
  if (account === undefined || account === ownedBy) return undefined
  const own = ownedBy === undefined ? 'is not known (set aws.aws-account-id)' : `is ${ownedBy}`
  return {
    reason: 'AccountNotServed',
    message: `the namespace asks for ${ownerAccount}: ${account}, and the account of this process ${own}; run another process with credentials of that account`,
  }
}
