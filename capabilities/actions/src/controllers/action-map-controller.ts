// Looks after action maps: tells their authors what is wrong with them, and makes the mappings that they carry (`kam-defs`).
import { CollisionError, ConfigMap } from '@fairlead/client'
import type { Controller, Manager, ReconcileContext } from '@fairlead/controller'
import { StatusError, controllerOf, isTerminating } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { mapTypeLabel } from '../engine/maps/action-map.ts'
import { mapProblems } from '../engine/map-problems.ts'
import { autoCreatedLabel, embeddedMapping, kamDefsKey } from '../engine/embedded-mapping.ts'

/** Sets the controller up. Only maps with the label `kappnav.io/map-type` are looked after; others are used all the same. */
export function setUpMapController(manager: Manager): Controller<ConfigMap> {
  const told = new Map<string, string>()
  return manager
    .controller('action-maps')
    .for(ConfigMap, { when: ({ object, previous }) => isMap(object) || (previous !== undefined && isMap(previous)) })
    .watches(kindActionMapping, (mapping) => ownerOf(mapping))
    .with({ keepReady: false })
    .gone(({ key }) => void told.delete(`${key.namespace}/${key.name}`))
    .reconcile(async (context) => {
      if (!isMap(context.object) && !carriesMapping(context.object)) return removeMappings(context, undefined)
      tellProblems(context, told)
      await keepMapping(context)
    })
}

function isMap({ metadata }: KubeObject): boolean {
  return metadata.labels?.[mapTypeLabel] !== undefined
}

function carriesMapping({ data }: ConfigMap): boolean {
  return data?.[kamDefsKey] !== undefined
}

/** One event for each thing that is wrong, once for each state of the map. */
function tellProblems({ object, events, key }: ReconcileContext<ConfigMap>, told: Map<string, string>): void {
  const id = `${key.namespace}/${key.name}`
  const problems = mapProblems(object)
  const state = problems.map(({ field, message }) => `${field}: ${message}`).join('\n')
  if (told.get(id) === state) return
  told.set(id, state)
  for (const { code, field, message } of problems) events.warning(code, `${field}: ${message}`, { action: 'Read' })
}

/** Makes the mapping that a map carries, owned by the map; one that is not ours is left alone. */
async function keepMapping(context: ReconcileContext<ConfigMap>): Promise<void> {
  const { object, client, events } = context
  if (isTerminating(object)) return
  const embedded = embeddedMapping(object)
  if (embedded !== undefined && 'problem' in embedded) {
    // What cannot be read is no reason to take a mapping away that works.
    const { code, field, message } = embedded.problem
    events.warning(code, `${field}: ${message}`, { action: 'Create' })
    return
  }
  await removeMappings(context, embedded?.mapping.metadata.name)
  if (embedded === undefined) return
  const { mapping } = embedded
  try {
    await client.apply(mapping, { owner: object })
  } catch (error) {
    if (error instanceof CollisionError) {
      events.warning(
        'NotOurs',
        `KindActionMapping ${mapping.metadata.name ?? ''} exists and does not belong to this map; it stays as it is. Give the one in ${kamDefsKey} another name`,
        { action: 'Create' },
      )
    } else if (error instanceof StatusError && error.code === 422) {
      events.warning('InvalidMapping', error.message, { action: 'Create' })
    } else throw error
  }
}

/** Deletes mappings of this map but the one that it carries now. */
async function removeMappings(
  { object, client, read }: ReconcileContext<ConfigMap>,
  keep: string | undefined,
): Promise<void> {
  const mappings = await read.list(kindActionMapping, {
    namespace: object.metadata.namespace,
    labelSelector: { matchLabels: { [autoCreatedLabel]: 'true' } },
  })
  for (const { metadata } of mappings) {
    if (controllerOf({ metadata } as KubeObject)?.uid !== object.metadata.uid || metadata.name === keep) continue
    await client.delete(
      kindActionMapping,
      { namespace: metadata.namespace!, name: metadata.name! },
      { preconditions: { uid: metadata.uid! } },
    )
  }
}

function ownerOf(mapping: KindActionMappingObject): readonly string[] {
  const owner = controllerOf(mapping)
  return owner?.kind === 'ConfigMap' && owner.apiVersion === 'v1'
    ? [`${mapping.metadata.namespace ?? ''}/${owner.name}`]
    : []
}
