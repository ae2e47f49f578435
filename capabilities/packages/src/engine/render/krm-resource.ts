// The fields that every resource of a package must have.
import type { Resource } from './resource.ts'

const kustomizations = new Set(['kustomization.yaml', 'kustomization.yml', 'Kustomization'])

/** Returns what a resource lacks, undefined when it has all; kustomizations need nothing. */
export function krmProblem(resource: Resource): string | undefined {
  if (isKustomization(resource)) return undefined
  if (resource.fields.items.length === 0) return 'resource must have `apiVersion`, `kind`, and `name`'
  if (resource.apiVersion === '') return 'resource must have `apiVersion`'
  if (resource.kind === '') return 'resource must have `kind`'
  if (resource.name === '') return 'resource must have `metadata.name`'
  return undefined
}

/** Checks all resources of a function's input or output. @returns kpt's message, undefined when all are resources */
export function krmProblemOf(resources: readonly Resource[]): string | undefined {
  for (const resource of resources) {
    const problem = krmProblem(resource)
    if (problem !== undefined)
      return `resource list must contain only KRM resources: ${resource.location.path ?? ''}: ${problem}`
  }
  return undefined
}

function isKustomization(resource: Resource): boolean {
  const file = resource.location.path?.split('/').at(-1) ?? ''
  return (
    kustomizations.has(file) ||
    resource.apiVersion.startsWith('kustomize.config.k8s.io') ||
    (resource.apiVersion === '' && resource.kind === 'Kustomization')
  )
}
