// The values that expressions of policies and webhooks see. Conversions are done once per request and version, and only
// when an expression reads them.
import { namespaceType, requestType } from '@fairlead/builtin-kinds'
import type { JsonObject, KubeObject, UserInfo } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import { authorizerValue, fromJson, fromTypedJson } from '@fairlead/kube/cel'
import type { AccessCheck, CelValue } from '@fairlead/kube/cel'
import type { Authorizer } from '../../identity/authorizer.ts'
import type { ServedResource } from '../../registry/registry.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { describeRequest, nameOf, requestNamespace } from '../attributes.ts'

/** The values of the declared variables, for one request in one version. */
export class RequestValues {
  readonly #request: AdmissionAttributes
  readonly #as: ServedResource
  readonly #namespace: KubeObject | undefined
  readonly #authorizer: Authorizer
  #values: Readonly<Record<string, CelValue>> | undefined

  /** `request` has its objects in the version of `as`. */
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
