// `fairlead map drift`: the outputs of MapControllers of a cluster that differ from what their hook wants and are left
// as they are.
import type { Client } from '@fairlead/client'
import { CustomResourceDefinition, systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { exitCode } from '@fairlead/offline'
import { KindCatalog, hostAddresses } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { mapControllerKind } from '../controllers/map-controller.ts'
import { differingFields } from '../engine/difference.ts'
import { formatIdentity, identityOf } from '../engine/identity.ts'
import { definitionNames, resolveKinds, resourcesOf } from '../engine/kinds.ts'
import type { ResolvedResource } from '../engine/resource.ts'
import { mapKeyLabel } from '../engine/tag.ts'
import type { RenderedGroup } from '../offline/rendering.ts'
import { renderController } from '../offline/rendering.ts'
import { clientKind } from '../runtime/client-kind.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import { clusterHooks } from './offline-hooks.ts'

/** Prints a line for every output that drifts; exit code 1 when a hook failed. */
export async function run(
  context: CommandContext<{ readonly resolve: readonly string[] }, { readonly names: readonly string[] }>,
): Promise<number> {
  const client = await context.client()
  const { names } = context.arguments
  const controllers =
    names.length === 0
      ? (await client.list(mapControllerKind)).items
      : await Promise.all(names.map((name) => client.get(mapControllerKind, name)))
  let hasFailed = false
  for (const controller of controllers) {
    const groups = await renderedGroups(context, client, controller)
    for (const { input, error } of groups) {
      if (error === undefined) continue
      hasFailed = true
      context.err(`${input}: ${error instanceof Error ? error.message : String(error)}`)
    }
    const lines = groups.flatMap((group) => driftOf(group).map((line) => `${controller.metadata.name ?? ''}  ${line}`))
    if (lines.length > 0) context.out(lines.join('\n'))
  }
  return hasFailed ? exitCode.error : exitCode.ok
}

function driftOf({ input, plan }: RenderedGroup): readonly string[] {
  return plan.flatMap((action) => {
    if (action.op !== 'keep' || action.reason !== 'Drift' || action.configuration === undefined) return []
    const fields = differingFields(action.observed, action.configuration.object)
    const differs = fields.length === 0 ? 'fields that the hook no longer returns' : fields.join(', ')
    return [`${formatIdentity(identityOf(action.observed))}  (from ${input})  ${differs}`]
  })
}

/** Calls the hook for every group, with the rights of the user. */
async function renderedGroups(
  { options, signal }: CommandContext<{ readonly resolve: readonly string[] }, unknown>,
  client: Client,
  controller: MapController,
): Promise<readonly RenderedGroup[]> {
  const objects = await objectsOf(client, controller)
  await using hooks = clusterHooks(controller, client, hostAddresses(options.resolve))
  const parents = await renderController({
    controller,
    objects,
    catalog: new KindCatalog(objects),
    hooks,
    now: systemClock.now(),
    signal,
  })
  return parents.flatMap(({ groups }) => groups)
}

/** Returns all objects that a controller reads, and the definitions of their kinds. */
async function objectsOf(client: Client, { spec }: MapController): Promise<readonly KubeObject[]> {
  const kinds = await resolveKinds(spec, (name) => discoveredResource(client.discovery, name))
  const list = async (
    resource: ResolvedResource,
    options: Parameters<Client['list']>[1] = {},
  ): Promise<KubeObject[]> => [...(await client.list(clientKind(resource), options)).items]
  const byNamespace = [...kinds.inputs, ...kinds.related].some((of) => of.spec.namespaceSelector !== undefined)
  const lists = await Promise.all([
    list(kinds.parent),
    ...kinds.inputs.map((kind) => list(kind)),
    ...kinds.outputs.map((kind) => list(kind, { labelSelector: mapKeyLabel })),
    ...kinds.related.map((kind) => list(kind)),
    ...(byNamespace ? [client.list({ apiVersion: 'v1', kind: 'Namespace' }).then(({ items }) => [...items])] : []),
  ])
  const definitions = await Promise.all(
    definitionNames(resourcesOf(spec)).map((name) => client.find<KubeObject>(CustomResourceDefinition, name)),
  )
  const found = [...lists.flat(), ...definitions.filter((definition) => definition !== undefined)]
  // A kind may be listed twice, as input and as output.
  return [...new Map(found.map((object) => [object.metadata.uid, object])).values()]
}
