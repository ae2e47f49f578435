// `fairlead variant rbac`: prints the ClusterRole for the kinds that sets select and that variants inject, ready for
// kubectl apply (design decision 13).
import type { CommandContext } from '@fairlead/controller/command'
import { formatApiVersion, parseApiVersion, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { CommandError, KindCatalog, exitCode, readManifests, usageError } from '@fairlead/offline'
import { apiGroup } from '../api.ts'
import type { PackageVariantSetSpec, PackageVariantSpec } from '../api.ts'

interface Options {
  readonly filename: readonly string[]
  readonly name: string
}

interface NamedKind {
  readonly apiVersion: string
  readonly kind: string
}

interface Injector {
  readonly group?: string
  readonly version?: string
  readonly kind?: string
}

/** Prints the ClusterRole. */
export async function run({
  options: { filename, name },
  out,
  err,
  stdin,
}: CommandContext<Options, object>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with sets and variants (-f sets.yaml)')
  const objects = (await readManifests(filename, { stdin })).map(({ object }) => object)
  const own = objects.filter(({ apiVersion }) => parseApiVersion(apiVersion).group === apiGroup)
  const injectors = own.flatMap(injectorsOf)
  if (injectors.some(({ kind }) => kind === undefined))
    err('Some injectors name no kind: add the kinds of the injection points of their packages by hand')
  const kinds = [...own.flatMap(selectedKinds), ...injectors.flatMap(injectedKind)]
  if (kinds.length === 0) throw new CommandError(`No set or variant in ${filename.join(', ')} names a kind`)
  out(stringifyYaml(roleFor(name, kinds, objects)))
  return exitCode.ok
}

function roleFor(name: string, named: readonly NamedKind[], objects: readonly KubeObject[]): JsonObject {
  const kinds = new KindCatalog([...objects, ...named.map((kind) => ({ ...kind, metadata: {} }))])
  const byGroup = new Map<string, Set<string>>()
  for (const one of named) {
    const { group, plural } = kinds.byKind(one)
    byGroup.set(group, (byGroup.get(group) ?? new Set()).add(plural))
  }
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name, labels: { 'rbac.fairlead.dev/aggregate-to-variants': 'true' } },
    rules: [...byGroup].map(([group, resources]) => ({
      apiGroups: [group],
      resources: [...resources].toSorted(),
      verbs: ['get', 'list', 'watch'],
    })),
  }
}

function selectedKinds({ kind, spec }: KubeObject): readonly NamedKind[] {
  if (kind !== 'PackageVariantSet') return []
  const { targets = [] } = spec as Partial<PackageVariantSetSpec>
  return targets.flatMap(({ objectSelector }) => objectSelector ?? [])
}

function injectorsOf({ kind, spec }: KubeObject): readonly Injector[] {
  if (kind === 'PackageVariant') {
    const { injectors = [], injectionSelectors = [] } = spec as Partial<PackageVariantSpec>
    return [...injectors, ...injectionSelectors]
  }
  if (kind !== 'PackageVariantSet') return []
  const { targets = [] } = spec as Partial<PackageVariantSetSpec>
  return targets.flatMap(({ template }) => template?.injectors ?? [])
}

/** Returns the kind of an injector. The version does not matter for rights. */
function injectedKind({ group = '', version = 'v1', kind }: Injector): readonly NamedKind[] {
  return kind === undefined ? [] : [{ apiVersion: formatApiVersion(group, version), kind }]
}
