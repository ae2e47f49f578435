// The attributes of a write that admission plugins read (admission.Attributes of k8s.io/apiserver), the form in which
// webhooks and expressions receive them, and refusals in the words of the real server.
import { forbidden } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, StatusError, UserInfo } from '@fairlead/kube'
import { isNamespaces } from '../objects/namespace-rules.ts'
import type { ServedResource } from '../registry/registry.ts'
import { groupVersionKind, groupVersionResource } from './matching/equivalents.ts'

/** A write on its way to the store. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT'
  readonly resource: ServedResource
  readonly subresource: string
  readonly namespace: string
  /** '' while a generated name is not known yet. */
  readonly name: string
  /** In the version of the request; undefined for DELETE. */
  readonly object: KubeObject | undefined
  /** Undefined for CREATE. */
  readonly oldObject: KubeObject | undefined
  readonly user: UserInfo
  readonly dryRun: boolean
  /** Returns CreateOptions, UpdateOptions or DeleteOptions as an object; built only when a plugin needs it. */
  readonly options?: () => JsonObject
  /** Aborted when the client disconnects. */
  readonly signal?: AbortSignal
  /** Values of `Warning` headers; plugins may add to it. */
  readonly warnings: string[]
}

/** Returns the name of the object that is written; for a new object without one, the name in its metadata. */
export function nameOf({ name, object }: AdmissionAttributes): string {
  if (name !== '') return name
  return object?.metadata.name ?? ''
}

/** Returns the namespace of a request; a Namespace is in itself. */
export function requestNamespace(attributes: AdmissionAttributes): string {
  return isNamespaces(attributes.resource.definition) ? nameOf(attributes) : attributes.namespace
}

/** Returns a 403 with the message of a refusal. */
export function refusal({ name, object, resource }: AdmissionAttributes, message: string): StatusError {
  const shown = name || object?.metadata.name || object?.metadata.generateName || 'Unknown'
  return forbidden(resource.definition, shown, message)
}

/**
 * Returns the part of an AdmissionRequest (admission.k8s.io/v1) that does not depend on the webhook: everything but
 * `uid`, `object` and `oldObject`. `as` is the version in which the request is presented.
 */
export function describeRequest(attributes: AdmissionAttributes, as: ServedResource): JsonObject {
  const { operation, resource, subresource, user, dryRun, options } = attributes
  const name = nameOf(attributes)
  const namespace = requestNamespace(attributes)
  const sub = (field: string): JsonObject => (subresource === '' ? {} : { [field]: subresource })
  return {
    kind: { ...groupVersionKind(as, subresource) },
    resource: { ...groupVersionResource(as) },
    ...sub('subResource'),
    requestKind: { ...groupVersionKind(resource, subresource) },
    requestResource: { ...groupVersionResource(resource) },
    ...sub('requestSubResource'),
    ...(name === '' ? {} : { name }),
    ...(namespace === '' ? {} : { namespace }),
    operation,
    userInfo: userInfo(user),
    dryRun,
    ...(options === undefined ? {} : { options: options() }),
  }
}

function userInfo({ name, uid, groups, extra }: UserInfo): JsonObject {
  return {
    ...(name === '' ? {} : { username: name }),
    ...(uid === undefined || uid === '' ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups: [...groups] }),
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra: extra as unknown as JsonValue }),
  }
}

const exemptResources: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
])

/**
 * Returns true for the configuration of admission itself, which is exempt: else a broken webhook or policy could never
 * be repaired.
 */
export function isExempt({ resource: { definition } }: AdmissionAttributes): boolean {
  return definition.group === 'admissionregistration.k8s.io' && exemptResources.has(definition.plural)
}
