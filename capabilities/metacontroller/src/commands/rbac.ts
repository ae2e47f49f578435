// `fairlead metacontroller rbac`: the rights that controllers need, ready for kubectl apply.
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { stringifyYamlDocuments } from '@fairlead/kube'
import { CommandError, exitCode, usageError } from '@fairlead/offline'
import type { CompositeController, DecoratorController, MapController } from '../api.ts'
import { apiVersion } from '../api.ts'
import { clusterRoleFor, compositeRoleFor, decoratorRoleFor } from '../engine/grants.ts'
import { readMapManifests } from '../offline/manifests.ts'
import { controllersNamed } from './named-controllers.ts'

/** Prints one ClusterRole for each controller of the files, or of the cluster by name. */
export async function run(
  context: CommandContext<{ readonly filename: readonly string[] }, { readonly names: readonly string[] }>,
): Promise<number> {
  const { filename: files } = context.options
  const { names } = context.arguments
  if (files.length === 0 && names.length === 0)
    throw usageError('Name a file (-f controller.yaml) or a controller of the cluster')
  const { objects } = await readMapManifests(files, context.stdin)
  const roles = objects.flatMap((object) => roleOf(object) ?? [])
  for (const name of names)
    roles.push(...(await controllersNamed(await context.client(), name)).flatMap((object) => roleOf(object) ?? []))
  if (roles.length === 0)
    throw new CommandError(
      `There is no MapController, CompositeController or DecoratorController in ${files.join(', ')}`,
    )
  context.out(stringifyYamlDocuments(roles))
  return exitCode.ok
}

function roleOf(object: KubeObject): KubeObject | undefined {
  if (object.apiVersion !== apiVersion) return undefined
  switch (object.kind) {
    case 'MapController':
      return clusterRoleFor(object as unknown as MapController)
    case 'CompositeController':
      return compositeRoleFor(object as unknown as CompositeController)
    case 'DecoratorController':
      return decoratorRoleFor(object as unknown as DecoratorController)
    default:
      return undefined
  }
}
