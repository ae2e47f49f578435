// The resources of a blueprint as a dependency graph. Their order in the blueprint does not matter, cycles do
// (originals/cartographer.md §5.2).
import type { BlueprintResource, TemplateKind } from '../../api.ts'

/** Kinds of outputs that flow from one resource to another. */
export type InputKind = 'source' | 'image' | 'config' | 'deployment'

/** One input of a resource. */
export interface Input {
  readonly kind: InputKind
  /** Name of the input in the template; '' for a deployment. */
  readonly name: string
  /** Name of the resource that provides it. */
  readonly resource: string
}

/** Returns the inputs of a resource in the order of status: sources, images, deployment, configs. */
export function inputsOf(resource: BlueprintResource): Input[] {
  const { sources = [], images = [], configs = [], deployment } = resource
  return [
    ...sources.map((input): Input => ({ kind: 'source', ...input })),
    ...images.map((input): Input => ({ kind: 'image', ...input })),
    ...(deployment === undefined ? [] : [{ kind: 'deployment', name: '', resource: deployment.resource } as const]),
    ...configs.map((input): Input => ({ kind: 'config', ...input })),
  ]
}

/** Returns the kind of output of resources with such a template; undefined for a ClusterTemplate, which has none. */
export function provides(kind: TemplateKind): InputKind | undefined {
  switch (kind) {
    case 'ClusterSourceTemplate':
    case 'ClusterDeploymentTemplate':
      return 'source'
    case 'ClusterImageTemplate':
      return 'image'
    case 'ClusterConfigTemplate':
      return 'config'
    case 'ClusterTemplate':
      return undefined
  }
}

/** Returns the names of the resources that are part of a cycle, in the order of the blueprint. */
export function cyclicResources(resources: readonly BlueprintResource[]): Set<string> {
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  const reaches = (from: string, goal: string, seen: Set<string>): boolean => {
    const resource = byName.get(from)
    if (resource === undefined || seen.has(from)) return false
    seen.add(from)
    return inputsOf(resource).some((input) => input.resource === goal || reaches(input.resource, goal, seen))
  }
  return new Set(resources.map(({ name }) => name).filter((name) => reaches(name, name, new Set())))
}
