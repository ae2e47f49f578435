// `fairlead metacontroller rbac`: the rights that controllers need, ready for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { parseApiVersion, stringifyYamlDocuments } from '@fairlead/kube'
import { CommandError, KindCatalog, exitCode, usageError } from '@fairlead/offline'
import type { CompositeController, DecoratorController, MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { clusterRoleFor, compositeRoleFor, credentialSources, decoratorRoleFor, webhooksOf } from '../engine/grants.ts'
import type { ResourceName } from '../engine/kinds.ts'
import type { Account } from '../engine/namespaced-grants.ts'
import { namespacedRoles } from '../engine/namespaced-grants.ts'
import { readMapManifests } from '../offline/manifests.ts'
import { controllersNamed, resourcesNamedBy } from './named-controllers.ts'

interface Options {
  readonly filename: readonly string[]
  readonly namespace: readonly string[]
  readonly serviceAccount: string
}

/**
 * Prints one ClusterRole for each controller of the files, or of the cluster by name; Roles for one that is limited to
 * namespaces, or where namespaces are named.
 */
export async function run(context: CommandContext<Options, { readonly names: readonly string[] }>): Promise<number> {
  const { filename: files } = context.options
  const { names } = context.arguments
  if (files.length === 0 && names.length === 0)
    throw usageError('Name a file (-f controller.yaml) or a controller of the cluster')
  const { objects } = await readMapManifests(files, context.stdin)
  const found = [...objects]
  for (const name of names) found.push(...(await controllersNamed(await context.client(), name)))
  const roles = found.flatMap((object) => rolesOf(object, context.options, new KindCatalog(objects)))
  if (roles.length === 0)
    throw new CommandError(
      `There is no MapController, CompositeController or DecoratorController in ${files.join(', ')}`,
    )
  context.out(found.flatMap(noteOnCustomize).join('') + stringifyYamlDocuments(roles))
  return exitCode.ok
}

/** Returns a YAML comment where a customize hook decides which kinds are read. */
function noteOnCustomize(object: KubeObject): readonly string[] {
  const { hooks } = (object['spec'] ?? {}) as Partial<CompositeController['spec']>
  if (object.apiVersion !== apiVersion || hooks?.customize === undefined) return []
  return [
    `# The customize hook of ${object.kind} ${object.metadata.name ?? ''} asks for related kinds: add get, list and watch for each.\n`,
  ]
}

function rolesOf(
  object: KubeObject,
  { namespace: named, serviceAccount }: Options,
  catalog: KindCatalog,
): readonly KubeObject[] {
  const role = roleOf(object)
  if (role === undefined) return []
  const { spec } = object as unknown as MapController | CompositeController | DecoratorController
  const namespaces = named.length > 0 ? named : (spec.namespaces ?? [])
  if (namespaces.length === 0) return [role]
  const sources =
    'inputResources' in spec ? credentialSources(spec) : [...webhooksOf(spec.hooks), ...(spec.endpointConfigs ?? [])]
  const versions = new Map(resourcesNamedBy(spec).map((name) => [groupOf(name), name]))
  const isClusterScoped = ({ group, resource }: { readonly group: string; readonly resource: string }): boolean => {
    if (resource === 'namespaces' && group === '') return true
    const name = versions.get(`${resource}.${group}`)
    return name !== undefined && !catalog.byResource(name).namespaced
  }
  return namespacedRoles({ role, namespaces, account: accountOf(serviceAccount), sources, isClusterScoped })
}

function groupOf({ apiVersion: version, resource }: ResourceName): string {
  return `${resource}.${parseApiVersion(version).group}`
}

function accountOf(text: string): Account {
  const [namespace, name, more] = text.split(/[/:]/)
  if (!namespace || !name || more !== undefined) throw usageError(`--service-account ${text} is not NAMESPACE/NAME`)
  return { namespace, name }
}

function roleOf(object: KubeObject): KubeObject | undefined {
  if (object.apiVersion !== apiVersion) return undefined
  switch (object.kind) {
    case 'MapController':
      return clusterRoleFor(object as unknown as MapController)
    case 'CompositeController':
      return compositeRoleFor(object as unknown as CompositeController)
    case 'DecoratorController':
      return decoratorRoleFor(object as unknown as DecoratorController)
    default:
      return undefined
  }
}
