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

/**
 * Returns the names of the resources that are part of a cycle, in the order of the blueprint: those of
 * strongly connected components with more than one resource, and those that are their own input.
 */
export function cyclicResources(resources: readonly BlueprintResource[]): Set<string> {
  const providers = new Map(
    resources.map((resource) => [resource.name, [...new Set(inputsOf(resource).map((input) => input.resource))]]),
  )
  const cyclic = new Set<string>()
  for (const component of components(providers)) {
    const [only = ''] = component
    if (component.length > 1 || providers.get(only)?.includes(only)) for (const name of component) cyclic.add(name)
  }
  return new Set(resources.map(({ name }) => name).filter((name) => cyclic.has(name)))
}

interface Visit {
  readonly name: string
  readonly edges: readonly string[]
  next: number
}

/** Returns the strongly connected components of a graph. Iterative: a chain can be longer than a stack is deep. */
function components(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = []
  /** Order of the first visit, and the lowest order that is reachable. */
  const [order, lowest] = [new Map<string, number>(), new Map<string, number>()]
  const [open, isOpen]: [string[], Set<string>] = [[], new Set()]
  const visits: Visit[] = []
  const visit = (name: string): void => {
    lowest.set(name, order.size)
    order.set(name, order.size)
    open.push(name)
    isOpen.add(name)
    visits.push({ name, edges: graph.get(name) ?? [], next: 0 })
  }
  const lower = (name: string, to: number): void => void lowest.set(name, Math.min(lowest.get(name)!, to))
  for (const root of graph.keys()) {
    if (!order.has(root)) visit(root)
    for (let current = visits.at(-1); current !== undefined; current = visits.at(-1)) {
      const edge = current.edges[current.next++]
      if (edge !== undefined) {
        if (!order.has(edge)) visit(edge)
        else if (isOpen.has(edge)) lower(current.name, order.get(edge)!)
        continue
      }
      visits.pop()
      const { name } = current
      const parent = visits.at(-1)
      if (parent !== undefined) lower(parent.name, lowest.get(name)!)
      if (lowest.get(name) !== order.get(name)) continue
      const component = open.splice(open.lastIndexOf(name))
      for (const one of component) isOpen.delete(one)
      found.push(component)
    }
  }
  return found
}

/** Most names in a message. */
const mostNames = 10

/** Formats names for a message; of many only the first. */
export function formatNames(names: Iterable<string>): string {
  const all = [...names]
  const more = all.length > mostNames ? ` and ${all.length - mostNames} more` : ''
  return `[${all.slice(0, mostNames).join(', ')}]${more}`
}
