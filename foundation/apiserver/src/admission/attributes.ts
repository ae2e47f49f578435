// What links say about a request to others: the names by which webhooks and expressions know it, and refusals in the words of the real server.
import { forbidden } from '@fairlead/kube'
import type { JsonObject, JsonValue, StatusError } from '@fairlead/kube'
import type { UserInfo } from '../identity/user.ts'
import type { ServedResource } from '../registry/registry.ts'
import type { DeleteOptions } from '../request/write-options.ts'
import { isNamespaces } from '../handlers/namespace-rules.ts'
import type { AdmissionRequest } from './admission.ts'
import { groupVersionKind, groupVersionResource } from './matching/equivalents.ts'

/** The name of what is written; for a new object without one what it has to go by. */
export function nameOf({ name, object }: AdmissionRequest): string {
  if (name !== '') return name
  return object?.metadata.name ?? ''
}

/** The namespace that a request is in; a Namespace is in itself. */
export function placeOf(request: AdmissionRequest): string {
  return isNamespaces(request.resource.definition) ? nameOf(request) : request.namespace
}

/** 403 for a refusal; a refusal that is one already stays as it is. */
export function refusal(request: AdmissionRequest, message: string): StatusError {
  const { name, object, resource } = request
  const shown = name || object?.metadata.name || object?.metadata.generateName || 'Unknown'
  return forbidden(resource.definition, shown, message)
}

/** The part of an AdmissionRequest (admission.k8s.io/v1) that is there whoever asks: everything but `uid`, `object` and `oldObject`. */
export function describeRequest(request: AdmissionRequest, as: ServedResource): JsonObject {
  const { operation, resource, subresource, user, dryRun, options } = request
  const name = nameOf(request)
  const namespace = placeOf(request)
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

const optionsVersion = 'meta.k8s.io/v1'

/** CreateOptions or UpdateOptions of a request as an object: what its query says. */
export function writeOptionsObject(kind: 'CreateOptions' | 'UpdateOptions', query: URLSearchParams): JsonObject {
  const text = (field: string): JsonObject => {
    const value = query.get(field) ?? ''
    return value === '' ? {} : { [field]: value }
  }
  return {
    kind,
    apiVersion: optionsVersion,
    ...dryRunField(query),
    ...text('fieldManager'),
    ...text('fieldValidation'),
  }
}

/** DeleteOptions as an object. */
export function deleteOptionsObject(options: DeleteOptions): JsonObject {
  const { dryRun, gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } = options
  return {
    kind: 'DeleteOptions',
    apiVersion: optionsVersion,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(Object.keys(preconditions).length === 0 ? {} : { preconditions: { ...preconditions } }),
    ...(orphanDependents === undefined ? {} : { orphanDependents }),
    ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    ...(dryRun ? { dryRun: ['All'] } : {}),
  }
}

function dryRunField(query: URLSearchParams): JsonObject {
  const values = query.getAll('dryRun').filter((value) => value !== '')
  return values.length === 0 ? {} : { dryRun: values }
}

const exemptResources: ReadonlySet<string> = new Set([
  'mutatingadmissionpolicies',
  'mutatingadmissionpolicybindings',
  'mutatingwebhookconfigurations',
  'validatingadmissionpolicies',
  'validatingadmissionpolicybindings',
  'validatingwebhookconfigurations',
])

/** What configures admission is not held to it: else a broken webhook or policy could never be repaired. */
export function isExempt({ resource: { definition } }: AdmissionRequest): boolean {
  return definition.group === 'admissionregistration.k8s.io' && exemptResources.has(definition.plural)
}
