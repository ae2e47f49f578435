// `fairlead supply rbac`: prints the ClusterRole that lets the controller watch what templates stamp (design decision
// 13), and the Role with which a service account writes it, for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import { isJsonObject, parseApiVersion, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { KindCatalog, exitCode, readManifests, usageError } from '@fairlead/offline'
import { apiGroup } from '../api.ts'
import type { Runnable } from '../api.ts'

const rbac = 'rbac.authorization.k8s.io/v1'

interface Options {
  readonly filename: readonly string[]
  readonly name: string
  readonly serviceAccount: string | undefined
}

/** Prints the ClusterRole, and with `serviceAccount` a Role and its binding. */
export async function run({
  options: { filename, name, serviceAccount },
  out,
  err,
  stdin,
}: CommandContext<Options, object>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with templates (-f templates.yaml)')
  const objects = (await readManifests(filename, { stdin })).map(({ object }) => object)
  for (const { kind, metadata } of objects.filter((object) => isTemplate(object) && stampedType(object) === undefined))
    err(`${kind} ${metadata.name}: the kind that it stamps is only known when it is rendered; add the kind by hand`)
  out(stringifyYaml(roleFor(name, objects)))
  for (const object of serviceAccount === undefined ? [] : accountRole(serviceAccount, objects))
    out(`---\n${stringifyYaml(object)}`)
  return exitCode.ok
}

/** Returns the ClusterRole for the kinds that the templates among the objects stamp. Throws UnknownKindError. */
export function roleFor(name: string, objects: readonly KubeObject[]): JsonObject {
  const watched = [...stampedTypes(objects), ...objects.flatMap((object) => selectedType(object) ?? [])]
  return {
    apiVersion: rbac,
    kind: 'ClusterRole',
    metadata: { name, labels: { 'rbac.fairlead.dev/aggregate-to-supply': 'true' } },
    rules: rulesFor(watched, objects, ['get', 'list', 'watch']),
  }
}

/** Returns the Role with which a service account (`namespace/name`) writes what is stamped, and its binding. */
function accountRole(account: string, objects: readonly KubeObject[]): readonly JsonObject[] {
  const [namespace, name, more] = account.split('/')
  if (!namespace || !name || more !== undefined) throw usageError(`${account} is not an account; write NAMESPACE/NAME`)
  const metadata = { name: `fairlead-supply-${name}`, namespace }
  const verbs = ['get', 'list', 'create', 'patch', 'delete']
  return [
    { apiVersion: rbac, kind: 'Role', metadata, rules: rulesFor(stampedTypes(objects), objects, verbs) },
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', name, namespace }],
    },
  ]
}

function rulesFor(
  types: readonly KubeObject[],
  objects: readonly KubeObject[],
  verbs: readonly string[],
): JsonObject[] {
  const kinds = new KindCatalog([...objects, ...types])
  const byGroup = new Map<string, Set<string>>()
  for (const type of types) {
    const { group, plural } = kinds.byKind(type)
    byGroup.set(group, (byGroup.get(group) ?? new Set()).add(plural))
  }
  return [...byGroup].map(([group, resources]) => ({
    apiGroups: [group],
    resources: [...resources].toSorted(),
    verbs,
  }))
}

function stampedTypes(objects: readonly KubeObject[]): KubeObject[] {
  return objects.filter(isTemplate).flatMap((template) => stampedType(template) ?? [])
}

function isTemplate({ apiVersion, kind }: KubeObject): boolean {
  return parseApiVersion(apiVersion).group === apiGroup && kind.endsWith('Template')
}

/** Returns the type of the object that a Runnable selects, whose changes the controller watches. */
function selectedType({ apiVersion, kind, spec }: KubeObject): KubeObject | undefined {
  if (parseApiVersion(apiVersion).group !== apiGroup || kind !== 'Runnable') return undefined
  const { resource } = (spec as Runnable['spec'] | undefined)?.selector ?? {}
  if (!resource?.apiVersion || !resource.kind) return undefined
  return { apiVersion: resource.apiVersion, kind: resource.kind, metadata: {} }
}

/** Returns the type of the stamped object; undefined for ytt, expressions, and types that contain tags. */
function stampedType({ spec }: KubeObject): KubeObject | undefined {
  const { template } = (spec ?? {}) as { readonly template?: unknown }
  if (!isJsonObject(template)) return undefined
  const { apiVersion, kind } = template
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || `${apiVersion}${kind}`.includes('$('))
    return undefined
  return { apiVersion, kind, metadata: {} }
}
