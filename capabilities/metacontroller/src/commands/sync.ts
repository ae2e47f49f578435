// `fairlead metacontroller sync`: asks controllers to call their hooks again, for everything or for one parent.
import type { Client } from '@fairlead/client'
import { systemClock } from '@fairlead/client'
import type { CommandContext } from '@fairlead/controller/command'
import type { KubeObject } from '@fairlead/kube'
import { formatTime, keyOf } from '@fairlead/kube'
import { CommandError, exitCode } from '@fairlead/offline'
import { syncRequestedAnnotation } from '../engine/annotations.ts'
import type { ResourceName } from '../engine/kinds.ts'
import { clientKind } from '../runtime/client-kind.ts'
import { discoveredResource } from '../runtime/discovered-resource.ts'
import { controllersNamed, parentsOf } from './named-controllers.ts'

/** Writes the annotation that requests a sync; prints what it was written to. */
export async function run(
  context: CommandContext<unknown, { readonly name: string; readonly parent: string | undefined }>,
): Promise<number> {
  const client = await context.client()
  const { name, parent } = context.arguments
  const controllers = await controllersNamed(client, name)
  const targets =
    parent === undefined ? controllers : await parentsNamed(client, parent, controllers.flatMap(parentsOf), name)
  for (const target of targets) {
    const annotations = { [syncRequestedAnnotation]: formatTime(systemClock.now()) }
    await client.patch(target, keyOf(target), { merge: { metadata: { annotations } } })
    const { namespace, name: of = '' } = target.metadata
    context.out(`${target.kind} ${namespace === undefined ? of : `${namespace}/${of}`}: sync requested`)
  }
  return exitCode.ok
}

/** Returns the parents of a name: `name`, or `namespace/name`. Throws CommandError when there is none. */
async function parentsNamed(
  client: Client,
  parent: string,
  resources: readonly ResourceName[],
  controller: string,
): Promise<readonly KubeObject[]> {
  const found: KubeObject[] = []
  for (const resource of resources) {
    const object = await client.find<KubeObject>(
      clientKind(await discoveredResource(client.discovery, resource)),
      parent,
    )
    if (object !== undefined) found.push(object)
  }
  const kinds = resources.map(({ resource }) => resource).join(', ')
  if (found.length === 0)
    throw new CommandError(
      `There is no parent ${parent} of ${controller} (${kinds}); name one as namespace/name, or as name when it is cluster-scoped or in the namespace of the context`,
    )
  return found
}
