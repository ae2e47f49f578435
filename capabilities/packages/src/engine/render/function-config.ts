// The config that a function gets: the pipeline's `configMap` as a ConfigMap, or the resource at `configPath`.
import { Scalar, YAMLMap, Pair } from 'yaml'
import type { KptFunction } from '../kptfile/kptfile.ts'
import { setNode, setText } from './fields.ts'
import { joinPath } from './package-tree.ts'
import type { Resource } from './resource.ts'

/** Returns a ConfigMap with the strings of a pipeline's `configMap`, undefined when there is none. */
export function configMapOf(data: Readonly<Record<string, string>> | undefined): YAMLMap | undefined {
  const entries = Object.entries(data ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return undefined
  const config = new YAMLMap()
  setText(config, ['apiVersion'], 'v1')
  setText(config, ['kind'], 'ConfigMap')
  setText(config, ['metadata', 'name'], 'function-input')
  const map = new YAMLMap()
  for (const [key, value] of entries) map.items.push(new Pair(new Scalar(key), new Scalar(String(value))))
  setNode(config, 'data', map)
  return config
}

/**
 * Returns a function's config. A resource at `configPath` is the one in memory, which earlier functions can change,
 * unless `configs` has one for its path below the root package.
 */
export function functionConfig(
  step: KptFunction,
  packagePath: string,
  resources: readonly Resource[],
  configs?: ReadonlyMap<string, YAMLMap>,
): YAMLMap | undefined {
  if (step.configPath === undefined || step.configPath === '') return configMapOf(step.configMap)
  const path = cleanPath(step.configPath)
  const given = configs?.get(joinPath(packagePath, path))
  // A function may put its config, or parts of it, into its output.
  if (given !== undefined) return given.clone() as YAMLMap
  return resources.find(({ location }) => location.packagePath === packagePath && location.path === path)?.fields
}

/** Returns a relative path without `.`, `..` and empty parts where they can be resolved. */
export function cleanPath(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else parts.push(part)
  }
  return `${path.startsWith('/') ? '/' : ''}${parts.join('/')}`
}
