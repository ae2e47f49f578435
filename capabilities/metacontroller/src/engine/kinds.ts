// The kinds that the spec of a MapController names, resolved.
import { parseApiVersion } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { InputKind, OutputKind, RelatedKind, ResolvedResource } from './resource.ts'
import { outputKind } from './resource.ts'

/** The kinds of a MapController. */
export interface ControllerKinds {
  readonly parent: ResolvedResource
  readonly inputs: readonly InputKind[]
  readonly outputs: readonly OutputKind[]
  readonly related: readonly RelatedKind[]
}

/** A resource as a spec names it: apiVersion and plural. */
export interface ResourceName {
  readonly apiVersion: string
  readonly resource: string
}

/** Resolves every kind that a spec names. Throws what `resolve` throws for a kind that it does not know. */
export async function resolveKinds(
  spec: MapControllerSpec,
  resolve: (name: ResourceName) => ResolvedResource | Promise<ResolvedResource>,
): Promise<ControllerKinds> {
  return {
    parent: await resolve(spec.parentResource),
    inputs: await Promise.all(spec.inputResources.map(async (input) => ({ ...(await resolve(input)), spec: input }))),
    outputs: await Promise.all(spec.outputResources.map(async (output) => outputKind(await resolve(output), output))),
    related: await Promise.all(
      (spec.hooks.map.relatedResources ?? []).map(async (rule) => ({ ...(await resolve(rule)), spec: rule })),
    ),
  }
}

/** Returns the resources that a spec names. */
export function resourcesOf(spec: MapControllerSpec): readonly ResourceName[] {
  return [
    spec.parentResource,
    ...spec.inputResources,
    ...spec.outputResources,
    ...(spec.hooks.map.relatedResources ?? []),
  ]
}

/** Names of the CustomResourceDefinitions that resources may need; built-in kinds have none. */
export function definitionNames(resources: readonly ResourceName[]): string[] {
  const named = resources.map(({ apiVersion, resource }) => ({ group: parseApiVersion(apiVersion).group, resource }))
  return [
    ...new Set(named.filter(({ group }) => group.includes('.')).map(({ group, resource }) => `${resource}.${group}`)),
  ]
}
