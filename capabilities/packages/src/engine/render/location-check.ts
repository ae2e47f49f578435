// Where the resources of a function's output may lie.
import { cleanPath } from './function-config.ts'
import type { Resource } from './resource.ts'

/**
 * Gives every generated resource a package and a file of its own: `[<namespace>/]<kind>_<name>.yaml`.
 * @returns kpt's message when a path leaves the package, or two resources claim one place
 */
export function placeResources(resources: readonly Resource[], packagePath: string): string | undefined {
  const taken = new Set<string>()
  for (const resource of resources) {
    const { location } = resource
    if (location.path === undefined || location.path === '') {
      const file = `${resource.kind.toLowerCase()}_${resource.name}.yaml`
      const path = resource.namespace === '' ? file : `${resource.namespace}/${file}`
      resource.location = { packagePath: location.packagePath ?? packagePath, path, index: location.index }
    }
    const { path = '', index = '', packagePath: folder } = resource.location
    const clean = cleanPath(path)
    if (clean.startsWith('../'))
      return `function must not modify resources outside of package: resource has path ${path}`
    const place = JSON.stringify([folder, clean, index])
    if (taken.has(place))
      return `resource at path ${JSON.stringify(clean)} and index ${JSON.stringify(index)} already exists`
    taken.add(place)
  }
  return undefined
}
