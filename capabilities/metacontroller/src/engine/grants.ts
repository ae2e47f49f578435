// The rights that a MapController needs beyond those of the capability: one ClusterRole per controller (design decision
// 13).
import type { PolicyRule } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { parseApiVersion } from '@fairlead/kube'
import type {
  CompositeController,
  DecoratorController,
  EndpointConfig,
  MapController,
  MapControllerSpec,
} from '../api.ts'

const read = ['get', 'list', 'watch']

/** Returns the rules for a spec: one for each resource, with all its verbs. */
export function rulesFor(spec: MapControllerSpec): PolicyRule[] {
  const grants = new Grants()
  const grant = (
    of: { readonly apiVersion: string; readonly resource: string },
    verbs: readonly string[],
    subresource = '',
  ): void => grants.add(parseApiVersion(of.apiVersion).group, of.resource + subresource, verbs)
  const related = spec.hooks.map.relatedResources ?? []
  grant(spec.parentResource, read)
  grant(spec.parentResource, ['patch'], '/status')
  // The OwnerReferencesPermissionEnforcement plugin requires it to set blockOwnerDeletion.
  grant(spec.parentResource, ['update'], '/finalizers')
  for (const input of spec.inputResources) grant(input, read)
  for (const output of spec.outputResources) grant(output, [...read, 'create', 'patch', 'delete'])
  for (const rule of related) {
    const { group } = parseApiVersion(rule.apiVersion)
    if (rule.names === undefined) grant(rule, read)
    // A list or watch of one name is a request for the object of that name.
    else for (const name of rule.names) grants.add(group, rule.resource, read, name)
  }
  const byNamespace = [...spec.inputResources, ...related].some(
    ({ namespaceSelector }) => namespaceSelector !== undefined,
  )
  if (byNamespace) grants.add('', 'namespaces', read)
  for (const source of credentialSources(spec)) addCredentials(grants, source)
  return grants.rules()
}

/** A resource as a spec names it. */
type Resource = Pick<CompositeController['spec']['parentResource'], 'apiVersion' | 'resource'>

/**
 * Returns the rules for a CompositeController or DecoratorController. The kinds that its customize hook asks for are
 * not known beforehand.
 */
export function syncRulesFor({
  parents,
  children,
  sources,
}: {
  readonly parents: readonly Resource[]
  readonly children: readonly Resource[]
  readonly sources: readonly CredentialSource[]
}): PolicyRule[] {
  const grants = new Grants()
  const grant = ({ apiVersion, resource }: Resource, verbs: readonly string[], subresource = ''): void =>
    grants.add(parseApiVersion(apiVersion).group, resource + subresource, verbs)
  for (const parent of parents) {
    grant(parent, [...read, 'patch', 'update'])
    grant(parent, ['update'], '/status')
    grant(parent, ['update'], '/finalizers')
  }
  for (const child of children) grant(child, [...read, 'create', 'patch', 'update', 'delete'])
  for (const source of sources) addCredentials(grants, source)
  return grants.rules()
}

/** Returns the ClusterRole of a CompositeController. */
export function compositeRoleFor({ metadata, spec }: Pick<CompositeController, 'metadata' | 'spec'>): KubeObject {
  const { parentResource, childResources = [], hooks, endpointConfigs = [] } = spec
  const sources = [...webhooksOf(hooks), ...endpointConfigs]
  return clusterRole(
    'composite',
    metadata.name,
    syncRulesFor({ parents: [parentResource], children: childResources, sources }),
  )
}

/** Returns the ClusterRole of a DecoratorController. */
export function decoratorRoleFor({ metadata, spec }: Pick<DecoratorController, 'metadata' | 'spec'>): KubeObject {
  const { resources, attachments = [], hooks, endpointConfigs = [] } = spec
  const sources = [...webhooksOf(hooks), ...endpointConfigs]
  return clusterRole('decorator', metadata.name, syncRulesFor({ parents: resources, children: attachments, sources }))
}

/** Returns the webhooks of a CompositeController or DecoratorController that are called. */
export function webhooksOf(hooks: DecoratorController['spec']['hooks']): readonly CredentialSource[] {
  return [hooks?.sync?.webhook, hooks?.finalize?.webhook, hooks?.customize?.webhook].filter(
    (webhook) => webhook !== undefined,
  )
}

/** Returns the ClusterRole that grants them. */
export function clusterRoleFor(controller: Pick<MapController, 'metadata' | 'spec'>): KubeObject {
  return clusterRole('map', controller.metadata.name, rulesFor(controller.spec))
}

function clusterRole(kind: string, name: string | undefined, rules: readonly PolicyRule[]): KubeObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: {
      name: `fairlead:${kind}:${name ?? ''}`,
      labels: { 'rbac.fairlead.dev/aggregate-to-metacontroller': 'true' },
    },
    rules,
  }
}

/** Returns the parts of a spec that name Secrets and ConfigMaps with credentials of hooks. */
export function credentialSources({ hooks, endpointConfigs = [] }: MapControllerSpec): CredentialSource[] {
  const webhooks = [hooks.map.webhook, hooks.tombstone?.webhook].filter((webhook) => webhook !== undefined)
  return [...webhooks, ...endpointConfigs]
}

/** Secrets and ConfigMaps with the credentials of a hook. */
export type CredentialSource = Pick<EndpointConfig, 'caBundle' | 'authorization' | 'basicAuth' | 'clientTLS'>

function addCredentials(grants: Grants, source: CredentialSource): void {
  const bundle = source.caBundle
  if (bundle?.configMapRef !== undefined) grants.add('', 'configmaps', ['get'], bundle.configMapRef.name)
  const secrets = [
    bundle?.secretRef,
    source.authorization?.secretRef,
    source.basicAuth?.secretRef,
    source.clientTLS?.secretRef,
  ]
  for (const ref of secrets) if (ref !== undefined) grants.add('', 'secrets', ['get'], ref.name)
}

/** Verbs by resource, and for named objects by name. */
class Grants {
  readonly #verbs = new Map<
    string,
    {
      readonly group: string
      readonly resource: string
      readonly verbs: Set<string>
      readonly names: Set<string> | undefined
    }
  >()

  add(group: string, resource: string, verbs: readonly string[], name?: string): void {
    const id = `${group}/${resource}/${name === undefined ? '' : 'named'}`
    let known = this.#verbs.get(id)
    if (known === undefined)
      this.#verbs.set(
        id,
        (known = { group, resource, verbs: new Set(), names: name === undefined ? undefined : new Set() }),
      )
    for (const verb of verbs) known.verbs.add(verb)
    if (name !== undefined) known.names?.add(name)
  }

  rules(): PolicyRule[] {
    return [...this.#verbs.values()].map(({ group, resource, verbs, names }) => ({
      apiGroups: [group],
      resources: [resource],
      ...(names === undefined ? {} : { resourceNames: [...names] }),
      verbs: [...verbs],
    }))
  }
}
