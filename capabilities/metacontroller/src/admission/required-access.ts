// The rights that the author of a controller needs. Those of a MapController: its inputs and related objects are sent
// to the hook that the spec names, its Secrets become credentials of that call, and its outputs are written. Without
// the check, the right to write MapControllers would be worth every right that other MapControllers were granted.
import type { RequiredAccess, Validator } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { asJson, jsonEqual, parseApiVersion } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import type { CompositeController, DecoratorController, MapController, MapControllerSpec } from '../api.ts'
import type { CredentialSource } from '../engine/grants.ts'
import { credentialSources, webhooksOf } from '../engine/grants.ts'

/** Refuses controllers that read or write what their author may not. */
export const controllerAccess: readonly Validator[] = [
  accessValidator('mapcontrollers', (object) => requiredAccess((object as unknown as MapController).spec)),
  accessValidator('compositecontrollers', (object) => {
    const {
      parentResource,
      childResources = [],
      hooks,
      endpointConfigs = [],
    } = (object as unknown as CompositeController).spec
    return syncAccess([parentResource], childResources, [...webhooksOf(hooks), ...endpointConfigs])
  }),
  accessValidator('decoratorcontrollers', (object) => {
    const { resources, attachments = [], hooks, endpointConfigs = [] } = (object as unknown as DecoratorController).spec
    return syncAccess(resources, attachments, [...webhooksOf(hooks), ...endpointConfigs])
  }),
]

function accessValidator(resource: string, accessOf: (object: KubeObject) => readonly RequiredAccess[]): Validator {
  return {
    group: apiGroup,
    resources: [resource],
    validate: () => [],
    authorize: (object, old) =>
      old !== undefined && jsonEqual(asJson(object)['spec'] ?? null, asJson(old)['spec'] ?? null)
        ? []
        : accessOf(object),
  }
}

type Resource = Pick<MapControllerSpec['parentResource'], 'apiVersion' | 'resource'>

function accessTo(
  { apiVersion, resource }: Resource,
  verbs: readonly string[],
  reason: string,
  scope: Pick<RequiredAccess, 'namespace' | 'name'> = {},
): RequiredAccess[] {
  const { group } = parseApiVersion(apiVersion)
  return verbs.map((verb) => ({ verb, group, resource, ...scope, reason }))
}

/** Returns the rights that the author of a CompositeController or DecoratorController needs. */
function syncAccess(
  parents: readonly Resource[],
  children: readonly Resource[],
  sources: readonly CredentialSource[],
): RequiredAccess[] {
  return [
    ...parents.flatMap((parent) =>
      accessTo(
        parent,
        ['list', 'update'],
        `objects of ${parent.resource} are sent to the hook and changed as it responds`,
      ),
    ),
    ...children.flatMap((child) =>
      accessTo(
        child,
        ['list', 'create', 'update', 'delete'],
        `objects of ${child.resource} are written as the hook responds`,
      ),
    ),
    ...sources.flatMap(credentialAccess),
  ]
}

function credentialAccess({ caBundle, authorization, basicAuth, clientTLS }: CredentialSource): RequiredAccess[] {
  const get = (
    resource: string,
    ref: { readonly namespace: string; readonly name: string },
    reason: string,
  ): RequiredAccess[] =>
    accessTo({ apiVersion: 'v1', resource }, ['get'], reason, { namespace: ref.namespace, name: ref.name })
  const secrets = [caBundle?.secretRef, authorization?.secretRef, basicAuth?.secretRef, clientTLS?.secretRef]
  const bundle = caBundle?.configMapRef
  return [
    ...secrets.flatMap((ref) =>
      ref === undefined ? [] : get('secrets', ref, `the Secret ${ref.namespace}/${ref.name} is sent to the hook`),
    ),
    ...(bundle === undefined
      ? []
      : get('configmaps', bundle, `the ConfigMap ${bundle.namespace}/${bundle.name} is read for the hook`)),
  ]
}

/** Returns the rights that the author of a spec needs. */
export function requiredAccess(spec: MapControllerSpec): RequiredAccess[] {
  const required: RequiredAccess[] = []
  const require = (...access: Parameters<typeof accessTo>): void => void required.push(...accessTo(...access))
  require(spec.parentResource, ['list'], 'spec.parentResource is sent to the hook')
  for (const [at, input] of spec.inputResources.entries())
    require(input, ['list'], `spec.inputResources[${at}] is sent to the hook`)
  for (const [at, output] of spec.outputResources.entries())
    require(output, [
      'list',
      'create',
      'patch',
      'delete',
    ], `spec.outputResources[${at}] is written as the hook responds`)
  for (const [at, rule] of (spec.hooks.map.relatedResources ?? []).entries()) {
    const { namespace, names } = rule
    const reason = `spec.hooks.map.relatedResources[${at}] is sent to the hook`
    const scope = namespace === undefined ? {} : { namespace }
    if (names === undefined) require(rule, ['list'], reason, scope)
    else for (const name of names) require(rule, ['get'], reason, { ...scope, name })
  }
  required.push(...credentialSources(spec).flatMap(credentialAccess))
  return required
}
