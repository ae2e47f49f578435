// The rights that the author of a MapController needs: its inputs and related objects are sent to the hook that the spec
// names, its Secrets become credentials of that call, and its outputs are written. Without the check, the right to write
// MapControllers would be worth every right that other MapControllers were granted.
import type { RequiredAccess, Validator } from '@fairlead/controller'
import { asJson, jsonEqual, parseApiVersion } from '@fairlead/kube'
import { apiGroup } from '../api.ts'
import type { MapController, MapControllerSpec } from '../api.ts'
import { credentialSources } from '../engine/grants.ts'

/** Refuses MapControllers that read or write what their author may not. */
export const mapControllerAccess: Validator = {
  group: apiGroup,
  resources: ['mapcontrollers'],
  validate: () => [],
  authorize: (object, old) => {
    if (old !== undefined && jsonEqual(asJson(object)['spec'] ?? null, asJson(old)['spec'] ?? null)) return []
    return requiredAccess((object as unknown as MapController).spec)
  },
}

/** Returns the rights that the author of a spec needs. */
export function requiredAccess(spec: MapControllerSpec): RequiredAccess[] {
  const required: RequiredAccess[] = []
  const require = (
    of: { readonly apiVersion: string; readonly resource: string },
    verbs: readonly string[],
    reason: string,
    scope: Pick<RequiredAccess, 'namespace' | 'name'> = {},
  ): void => {
    const { group } = parseApiVersion(of.apiVersion)
    for (const verb of verbs) required.push({ verb, group, resource: of.resource, ...scope, reason })
  }
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
  for (const source of credentialSources(spec)) {
    const { caBundle, authorization, basicAuth, clientTLS } = source
    const secrets = [caBundle?.secretRef, authorization?.secretRef, basicAuth?.secretRef, clientTLS?.secretRef]
    for (const ref of secrets) {
      if (ref === undefined) continue
      const { namespace, name } = ref
      const reason = `the Secret ${namespace}/${name} is sent to the hook`
      require({ apiVersion: 'v1', resource: 'secrets' }, ['get'], reason, { namespace, name })
    }
    if (caBundle?.configMapRef === undefined) continue
    const { namespace, name } = caBundle.configMapRef
    const reason = `the ConfigMap ${namespace}/${name} is read for the hook`
    require({ apiVersion: 'v1', resource: 'configmaps' }, ['get'], reason, { namespace, name })
  }
  return required
}
