// The kinds of a MapController, asked of discovery.
import type { Discovery } from '@fairlead/client'
import { formatApiVersion, parseApiVersion } from '@fairlead/kube'
import type { MapControllerSpec } from '../api.ts'
import type { InputKind, OutputKind, RelatedKind, ResolvedResource } from '../engine/resource.ts'
import { outputKind } from '../engine/resource.ts'

/** What a MapController works with. */
export interface ControllerKinds {
  readonly parent: ResolvedResource
  readonly inputs: readonly InputKind[]
  readonly outputs: readonly OutputKind[]
  readonly related: readonly RelatedKind[]
}

/** Looks up every kind that a spec names. Throws ClientError `UnknownKind` for one that the server does not serve. */
export async function resolveKinds(discovery: Discovery, spec: MapControllerSpec): Promise<ControllerKinds> {
  const resolve = (resource: { readonly apiVersion: string; readonly resource: string }): Promise<ResolvedResource> =>
    resolveResource(discovery, resource.apiVersion, resource.resource)
  return {
    parent: await resolve(spec.parentResource),
    inputs: await Promise.all(spec.inputResources.map(async (input) => ({ ...(await resolve(input)), spec: input }))),
    outputs: await Promise.all(spec.outputResources.map(async (output) => outputKind(await resolve(output), output))),
    related: await Promise.all(
      (spec.hooks.map.relatedResources ?? []).map(async (rule) => ({ ...(await resolve(rule)), spec: rule })),
    ),
  }
}

/** Names of the CustomResourceDefinitions that a spec may need; built-in kinds have none. */
export function definitionNames(spec: MapControllerSpec): string[] {
  const resources = [
    spec.parentResource,
    ...spec.inputResources,
    ...spec.outputResources,
    ...(spec.hooks.map.relatedResources ?? []),
  ]
  const named = resources.map(({ apiVersion, resource }) => ({ group: parseApiVersion(apiVersion).group, resource }))
  return [
    ...new Set(named.filter(({ group }) => group.includes('.')).map(({ group, resource }) => `${resource}.${group}`)),
  ]
}

async function resolveResource(discovery: Discovery, apiVersion: string, plural: string): Promise<ResolvedResource> {
  const { kind, namespaced } = await discovery.kindOf(apiVersion, plural)
  const { group, version } = parseApiVersion(apiVersion)
  return { apiVersion: formatApiVersion(group, version), group, kind, plural, namespaced: namespaced === true }
}
