// `fairlead map rbac`: the rights that MapControllers need, ready for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { CommandError, exitCode, usageError } from '@fairlead/offline'
import type { MapController } from '../api.ts'
import { mapControllerKind } from '../controllers/map-controller.ts'
import { clusterRoleFor } from '../engine/grants.ts'
import { readMapManifests } from '../offline/manifests.ts'

/** Prints one ClusterRole for each MapController of the files, or of the cluster by name. */
export async function run(
  context: CommandContext<{ readonly filename: readonly string[] }, { readonly names: readonly string[] }>,
): Promise<number> {
  const { filename: files } = context.options
  const { names } = context.arguments
  if (files.length === 0 && names.length === 0)
    throw usageError('Name a file (-f controller.yaml) or a MapController of the cluster')
  const read = await readMapManifests(files, context.stdin)
  const controllers: Pick<MapController, 'metadata' | 'spec'>[] = read.controllers.map(({ controller }) => controller)
  if (names.length > 0) {
    const client = await context.client()
    for (const name of names) controllers.push(await client.get(mapControllerKind, name))
  }
  if (controllers.length === 0) throw new CommandError(`There is no MapController in ${files.join(', ')}`)
  context.out(stringifyYamlDocuments(controllers.map(clusterRoleFor)))
  return exitCode.ok
}
