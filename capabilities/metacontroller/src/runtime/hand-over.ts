// Hands the outputs of MapControllers that were deleted over to the one that replaces them (`spec.replaces`): a
// MapController that is renamed or split keeps its outputs.
import type { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { asJson, isConflict, isNotFound, keyOf } from '@fairlead/kube'
import { outputManagerOf } from '../engine/configuration.ts'
import { outputRole } from '../engine/group.ts'
import { controllerAnnotation, tagOf } from '../engine/tag.ts'
import type { KindCache } from './kind-cache.ts'

/** The controllers of a hand-over. */
export interface HandOver {
  readonly client: Client
  /** The name of the MapController that replaces. */
  readonly controllerName: string
  /** The names of those that it replaces and that do not exist. */
  readonly replaced: ReadonlySet<string>
}

/**
 * Tags the outputs in the caches as those of the new controller, and makes its field manager the manager of their
 * fields. Changes no other field, and nothing that has changed since.
 */
export async function handOver(outputs: readonly KindCache[], options: HandOver): Promise<void> {
  for (const informer of outputs) {
    for (const output of informer.lastKnown.values()) {
      const tag = tagOf(output)
      if (tag === undefined || !options.replaced.has(tag.controller)) continue
      if (outputRole(output, tag.controller).role !== 'foreign') await handOverOne(output, options)
    }
  }
}

async function handOverOne(output: KubeObject, { client, controllerName }: HandOver): Promise<void> {
  const tag = tagOf(output)
  if (tag === undefined) return
  const { uid = null, resourceVersion = null, managedFields = [] } = output.metadata
  const [before, after] = [tag.controller, controllerName].map((name) => outputManagerOf(name, tag.parent))
  const merge = asJson({
    metadata: {
      uid,
      resourceVersion,
      annotations: { [controllerAnnotation]: controllerName },
      managedFields: managedFields.map((entry) => (entry.manager === before ? { ...entry, manager: after } : entry)),
    },
  })
  try {
    await client.patch(output, keyOf(output), { merge }, { manager: `${client.manager}-adopt` })
  } catch (error) {
    // Deleted or changed meanwhile; the group reports what is left.
    if (!isNotFound(error) && !isConflict(error)) throw error
  }
}
