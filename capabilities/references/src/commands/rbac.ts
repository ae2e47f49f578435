// `fairlead refs rbac`: the rights that ReferenceRules need, ready for kubectl apply (design decision 13).
import type { CommandContext } from '@fairlead/controller/command'
import type { JsonObject } from '@fairlead/kube'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { CommandError, KindCatalog, exitCode, readManifests, usageError } from '@fairlead/offline'
import type { ReferenceRule } from '../api.ts'
import { apiGroup } from '../api.ts'
import { parseApiVersion } from '@fairlead/kube'

/** Prints a ClusterRole for the controller and, with a namespace, the Role and RoleBinding of the account there. */
export async function run({
  options: { filename, namespace },
  out,
  stdin,
}: CommandContext<
  { readonly filename: readonly string[]; readonly namespace?: string | undefined },
  object
>): Promise<number> {
  if (filename.length === 0) throw usageError('Name files or folders with ReferenceRules (-f rules.yaml)')
  const objects = (await readManifests(filename, { stdin })).map(({ object }) => object)
  const rules = objects.filter(
    ({ apiVersion, kind }) => kind === 'ReferenceRule' && parseApiVersion(apiVersion).group === apiGroup,
  ) as unknown as readonly ReferenceRule[]
  if (rules.length === 0) throw new CommandError(`There is no ReferenceRule in ${filename.join(', ')}`)
  const named = rules.flatMap(({ spec }) => [spec.target, spec.source])
  const kinds = new KindCatalog([
    ...objects,
    ...named.map(({ apiVersion, kind }) => ({ apiVersion, kind, metadata: {} })),
  ])
  const documents = rules.flatMap((rule) => documentsFor(rule, kinds, namespace))
  out(stringifyYamlDocuments(documents))
  return exitCode.ok
}

const version = 'rbac.authorization.k8s.io/v1'

function documentsFor(
  { metadata, spec }: ReferenceRule,
  kinds: KindCatalog,
  namespace: string | undefined,
): readonly JsonObject[] {
  const [target, source] = [kinds.byKind(spec.target), kinds.byKind(spec.source)]
  const right = ({ group, plural }: typeof target, verbs: readonly string[]): JsonObject => ({
    apiGroups: [group],
    resources: [plural],
    verbs,
  })
  const name = `fairlead:references:${metadata.name}`
  const watch = ['get', 'list', 'watch']
  const controller = {
    apiVersion: version,
    kind: 'ClusterRole',
    metadata: { name, labels: { 'rbac.fairlead.dev/aggregate-to-references': 'true' } },
    rules: [right(target, watch), right(source, watch)],
  }
  if (namespace === undefined) return [controller]
  const account = { kind: 'ServiceAccount', name: spec.serviceAccountName ?? 'default', namespace }
  return [
    controller,
    {
      apiVersion: version,
      kind: 'Role',
      metadata: { name, namespace },
      rules: [right(target, ['get', 'patch']), right(source, ['get'])],
    },
    {
      apiVersion: version,
      kind: 'RoleBinding',
      metadata: { name, namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
      subjects: [account],
    },
  ]
}
