// The roles of a capability: its own rules, those that users grant it by label (design decision 13), and those that let
// users work with its kinds. `fairlead up` and an installation in a cluster have the same.
import type { Capability, PolicyRule } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { aggregatedRole, binding, role } from './role.ts'
import type { Subject } from './role.ts'

/** Returns the label by which a ClusterRole grants its rules to the capability of a name. */
export function aggregationLabel(capability: { readonly name: string }): string {
  return `rbac.fairlead.dev/aggregate-to-${capability.name}`
}

/**
 * Returns the roles of a capability, and their bindings to the service account that it runs as. Its own rules have a
 * binding too, because a controller fills the aggregated role only after a capability may have started.
 */
export function capabilityRoles(
  capability: Pick<Capability, 'name' | 'aliases' | 'rules'>,
  { name, labels, subject }: { readonly name: string; readonly labels: Labels; readonly subject: Subject },
): KubeObject[] {
  const own = `${name}-own`
  const names = [capability.name, ...(capability.aliases ?? [])]
  return [
    role({ name: own, labels: { ...labels, [aggregationLabel(capability)]: 'true' } }, capability.rules),
    aggregatedRole(
      { name, labels },
      names.map((granted) => aggregationLabel({ name: granted })),
    ),
    binding({ name: own, labels }, subject),
    binding({ name, labels }, subject),
  ]
}

type Labels = Readonly<Record<string, string>>

/** Kinds in which capabilities keep what they know: no user writes them. */
const internalKinds: ReadonlySet<string> = new Set(['packagerevs', 'controllerrevisions'])

/**
 * Returns ClusterRoles that add the namespaced kinds of a capability to Kubernetes' roles `view`, `edit` and `admin`.
 * Cluster-scoped kinds and subresources are left to administrators: they decide what controllers do with their rights,
 * and what is approved.
 */
export function userRoles(
  { crds, served = [] }: Pick<Capability, 'crds' | 'served'>,
  { name, labels }: { readonly name: string; readonly labels: Labels },
): KubeObject[] {
  const kinds = [...crds, ...served].map(({ spec }) => spec as unknown as KindSpec)
  const namespaced = kinds.filter(({ scope, names }) => scope === 'Namespaced' && !internalKinds.has(names.plural))
  const rules = (verbs: readonly string[]): PolicyRule[] =>
    [...new Set(namespaced.map(({ group }) => group))].map((group) => ({
      apiGroups: [group],
      resources: namespaced.filter((kind) => kind.group === group).map(({ names }) => names.plural),
      verbs,
    }))
  if (namespaced.length === 0) return []
  const aggregatedTo = (...roles: readonly string[]): Labels => ({
    ...labels,
    ...Object.fromEntries(roles.map((to) => [`rbac.authorization.k8s.io/aggregate-to-${to}`, 'true'])),
  })
  return [
    role({ name: `${name}-view`, labels: aggregatedTo('view', 'edit', 'admin') }, rules(['get', 'list', 'watch'])),
    role(
      { name: `${name}-edit`, labels: aggregatedTo('edit', 'admin') },
      rules(['create', 'update', 'patch', 'delete', 'deletecollection']),
    ),
  ]
}

interface KindSpec {
  readonly group: string
  readonly scope: string
  readonly names: { readonly plural: string }
}
