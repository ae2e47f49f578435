// What expressions of policies and webhooks speak of, as types and as values. Conversions are done once per request and version, and only when an
// expression asks.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import {
  authorizerType,
  authorizerValue,
  fromJson,
  fromTypedJson,
  listOf,
  mapOf,
  objectOf,
  types,
} from '@fairlead/kube/cel'
import type { AccessCheck, CelType, CelValue } from '@fairlead/kube/cel'
import type { Authorizer } from '../../identity/authorizer.ts'
import type { UserInfo } from '../../identity/user.ts'
import type { ServedResource } from '../../registry/registry.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { describeRequest, nameOf, requestNamespace } from '../attributes.ts'

/** Types by variable. */
export type Declarations = Readonly<Record<string, CelType>>

function fields(name: string, members: Declarations): CelType {
  return objectOf(`kubernetes.${name}`, new Map(Object.entries(members)))
}

const { string, bool, dyn, int, timestamp } = types
const kindType = fields('GroupVersionKind', { group: string, version: string, kind: string })
const resourceType = fields('GroupVersionResource', { group: string, version: string, resource: string })

/** The type of `request`: an AdmissionRequest without its uid and objects. */
const requestType = fields('AdmissionRequest', {
  kind: kindType,
  resource: resourceType,
  subResource: string,
  requestKind: kindType,
  requestResource: resourceType,
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: fields('UserInfo', {
    username: string,
    uid: string,
    groups: listOf(string),
    extra: mapOf(string, listOf(string)),
  }),
  dryRun: bool,
  options: dyn,
})

/** The type of `namespaceObject`. */
const namespaceType = fields('Namespace', {
  metadata: fields('NamespaceMetadata', {
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string, string),
    annotations: mapOf(string, string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: int,
    deletionTimestamp: timestamp,
    generation: int,
    resourceVersion: string,
    finalizers: listOf(string),
  }),
  spec: fields('NamespaceSpec', { finalizers: listOf(string) }),
  status: fields('NamespaceStatus', { phase: string }),
})

/** What every expression of admission knows; the objects have no declared form. */
export const requestDeclarations: Declarations = {
  object: dyn,
  oldObject: dyn,
  request: requestType,
  namespaceObject: namespaceType,
}

/** The `authorizer`, for expressions that decide. */
export const authorizerDeclaration: Declarations = { authorizer: authorizerType }

/** The values behind the declarations, for one request seen as one version. */
export class RequestValues {
  readonly #request: AdmissionAttributes
  readonly #as: ServedResource
  readonly #namespace: KubeObject | undefined
  readonly #authorizer: Authorizer
  #values: Readonly<Record<string, CelValue>> | undefined

  /** `request` carries its objects in the version of `as`. */
  constructor(
    request: AdmissionAttributes,
    as: ServedResource,
    namespace: KubeObject | undefined,
    authorizer: Authorizer,
  ) {
    this.#request = request
    this.#as = as
    this.#namespace = namespace
    this.#authorizer = authorizer
  }

  /** `object`, `oldObject`, `request`, `namespaceObject`, `authorizer`. */
  get values(): Readonly<Record<string, CelValue>> {
    this.#values ??= this.#make()
    return this.#values
  }

  #make(): Readonly<Record<string, CelValue>> {
    const { object, oldObject, subresource, resource } = this.#request
    return {
      object: valueOf(object),
      oldObject: valueOf(oldObject),
      request: fromTypedJson(describeRequest(this.#request, this.#as), requestType),
      namespaceObject:
        this.#namespace === undefined ? null : fromTypedJson(shownNamespace(this.#namespace), namespaceType),
      authorizer: authorizerValue(this.#check(), {
        group: resource.definition.group,
        resource: resource.definition.plural,
        subresource,
        namespace: requestNamespace(this.#request),
        name: nameOf(this.#request),
      }),
    }
  }

  #check(): AccessCheck {
    const { user } = this.#request
    return ({ serviceAccount, verb, path, group, resource, subresource, namespace, name }) => {
      const asker = serviceAccount === undefined ? user : serviceAccountUser(serviceAccount)
      return this.#authorizer.authorize(
        path === undefined
          ? {
              user: asker,
              verb,
              group: group ?? '',
              version: '*',
              resource: resource ?? '',
              subresource,
              namespace,
              name,
            }
          : { user: asker, verb, path },
      )
    }
  }
}

function serviceAccountUser({ namespace, name }: { readonly namespace: string; readonly name: string }): UserInfo {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
}

function valueOf(object: KubeObject | undefined): CelValue {
  return object === undefined ? null : fromJson(asJson(object))
}

function shownNamespace(namespace: KubeObject): JsonObject {
  const { metadata, spec, status } = asJson(namespace)
  return { metadata: metadata ?? {}, spec: spec ?? {}, status: status ?? {} }
}
