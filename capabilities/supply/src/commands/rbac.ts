// `fairlead supply rbac`: prints the ClusterRole that lets the controller watch what templates stamp, for kubectl apply
// (design decision 13).
import type { CommandContext } from '@fairlead/controller/command'
import { isJsonObject, parseApiVersion, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { KindCatalog, exitCode, readManifests, usageError } from '@fairlead/offline'
import { apiGroup } from '../api.ts'
import type { Runnable } from '../api.ts'

/** Prints one ClusterRole. */
export async function run({
  options: { filename, name },
  out,
  err,
  stdin,
}: CommandContext<{ readonly filename: readonly string[]; readonly name: string }, object>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with templates (-f templates.yaml)')
  const objects = (await readManifests(filename, { stdin })).map(({ object }) => object)
  for (const { kind, metadata } of objects.filter((object) => isTemplate(object) && stampedType(object) === undefined))
    err(`${kind} ${metadata.name}: the kind that it stamps is only known when it is rendered; add the kind by hand`)
  out(stringifyYaml(roleFor(name, objects)))
  return exitCode.ok
}

/** Returns the ClusterRole for the kinds that the templates among the objects stamp. Throws UnknownKindError. */
export function roleFor(name: string, objects: readonly KubeObject[]): JsonObject {
  const stamped = objects.flatMap((object) =>
    isTemplate(object) ? (stampedType(object) ?? []) : (selectedType(object) ?? []),
  )
  const kinds = new KindCatalog([...objects, ...stamped])
  const byGroup = new Map<string, Set<string>>()
  for (const type of stamped) {
    const { group, plural } = kinds.byKind(type)
    byGroup.set(group, (byGroup.get(group) ?? new Set()).add(plural))
  }
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: { 'rbac.fairlead.dev/aggregate-to-supply': 'true' } },
    rules: [...byGroup].map(([group, resources]) => ({
      apiGroups: [group],
      resources: [...resources].toSorted(),
      verbs: ['get', 'list', 'watch'],
    })),
  }
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
