// remove-local-config-resources: drops resources that never go to a cluster.
import type { FunctionInput, FunctionOutcome } from '../engine/render/resource-function.ts'

/** Drops resources whose annotation `config.kubernetes.io/local-config` is `true`. */
export function removeLocalConfigResources({ items }: FunctionInput): FunctionOutcome {
  const isLocal = (item: (typeof items)[number]): boolean =>
    item.annotation('config.kubernetes.io/local-config')?.toLowerCase() === 'true'
  const removed = items.filter((item) => isLocal(item))
  if (removed.length === 0)
    return {
      results: [{ message: 'Found no resources to prune with the local config annotation', severity: 'warning' }],
    }
  return {
    items: items.filter((item) => !isLocal(item)),
    results: [
      { message: `Number of resources pruned: ${removed.length}`, severity: 'info' },
      ...removed.map((item) => ({
        message: `Resource name: [${item.name}]`,
        severity: 'info' as const,
        file: { path: item.location.path ?? '' },
      })),
    ],
  }
}
