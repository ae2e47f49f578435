// `fairlead supply rbac`: what the controller must be allowed to watch for some templates, ready for kubectl apply (design decision 13).
import type { CommandContext } from '@fairlead/controller'
import { isJsonObject, parseApiVersion, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { DocumentError, readObjects } from '../offline/documents.ts'
import { pluralOf } from '../offline/plural.ts'

/** Prints one ClusterRole. */
export async function run({ options, out, err, stdin }: CommandContext): Promise<number> {
  const files = (options['filename'] ?? []) as readonly string[]
  if (files.length === 0) {
    err('Name files or folders with templates (-f templates.yaml)')
    return 2
  }
  try {
    const objects = await readObjects(files, stdin)
    const templates = objects.filter(
      ({ apiVersion, kind }) => apiVersion.startsWith('carto.run/') && kind.endsWith('Template'),
    )
    const unknown = templates.filter((template) => stampedKind(template) === undefined)
    for (const { kind, metadata } of unknown)
      err(`${kind} ${metadata.name}: what it stamps cannot be told from its text; add its kind by hand`)
    out(stringifyYaml(roleFor(String(options['name'] ?? 'fairlead:supply:stamped'), templates)))
    return 0
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    err(error.message)
    return 1
  }
}

/** The ClusterRole for what the templates stamp, as far as their text tells it. */
export function roleFor(name: string, templates: readonly KubeObject[]): JsonObject {
  const byGroup = new Map<string, Set<string>>()
  for (const template of templates) {
    const kind = stampedKind(template)
    if (kind === undefined) continue
    byGroup.set(kind.group, (byGroup.get(kind.group) ?? new Set()).add(kind.resource))
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

function stampedKind({ spec }: KubeObject): { readonly group: string; readonly resource: string } | undefined {
  const { template } = spec as { template?: unknown }
  if (!isJsonObject(template)) return undefined
  const { apiVersion, kind } = template
  if (typeof apiVersion !== 'string' || typeof kind !== 'string' || `${apiVersion}${kind}`.includes('$('))
    return undefined
  return { group: parseApiVersion(apiVersion).group, resource: pluralOf(kind) }
}
