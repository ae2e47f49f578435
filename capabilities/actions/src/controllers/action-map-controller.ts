// The controller of action maps: reports their problems as events, and creates their embedded mappings (`kam-defs`).
import { CollisionError, ConfigMap } from '@fairlead/client'
import type { Controller, Manager, ReconcileContext } from '@fairlead/controller'
import { StatusError, controllerOf, isTerminating } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { asData } from '../engine/data/map-data.ts'
import { autoCreatedLabel, embeddedMapping, kamDefsKey } from '../engine/embedded-mapping.ts'
import { mapProblems } from '../engine/map-problems.ts'
import { mapTypeLabel } from '../engine/maps/action-map.ts'
import { configName, kappnavNamespace, trustIn } from '../engine/runs/settings.ts'

/** Starts the controller. It reconciles only maps with the label `kappnav.io/map-type`; others are used as well. */
export function startActionMapController(manager: Manager): Controller<ConfigMap> {
  /** The problems that were reported for a map, by its key. */
  const reported = new Map<string, string>()
  return manager
    .controller('action-maps')
    .for(ConfigMap, { when: ({ object, previous }) => isMap(object) || (previous !== undefined && isMap(previous)) })
    .watches(kindActionMapping, (mapping) => ownerOf(mapping))
    .withOptions({ keepReady: false })
    .onDeleted(({ key }) => void reported.delete(`${key.namespace}/${key.name}`))
    .reconcile(async (context) => {
      // Without its label, a map embeds no mapping any more.
      if (!isMap(context.object)) return removeMappings(context, undefined)
      reportProblems(context, reported)
      await applyEmbeddedMapping(context)
    })
}

function isMap({ metadata }: KubeObject): boolean {
  return metadata.labels?.[mapTypeLabel] !== undefined
}

/** Problems of one map that are reported; "fairlead actions lint" lists all. */
const maxEvents = 20

/** Emits one event per problem, once for each set of problems. */
function reportProblems({ object, events, key }: ReconcileContext<ConfigMap>, reported: Map<string, string>): void {
  const id = `${key.namespace}/${key.name}`
  // Other maps may define what this one refers to: no event for that.
  const problems = mapProblems(object)
    .filter(({ code }) => code !== 'UnknownReference')
    .slice(0, maxEvents)
  const summary = problems.map(({ field, message }) => `${field}: ${message}`).join('\n')
  if (reported.get(id) === summary) return
  reported.set(id, summary)
  for (const { code, field, message } of problems) events.warning(code, `${field}: ${message}`, { action: 'Read' })
}

/**
 * Applies the embedded mapping of a map, owned by the map. A mapping of that name with another owner is not changed.
 */
async function applyEmbeddedMapping(context: ReconcileContext<ConfigMap>): Promise<void> {
  const { object, client, events } = context
  if (isTerminating(object)) return
  const embedded = embeddedMapping(object)
  if (embedded !== undefined && 'problem' in embedded) {
    // An invalid definition does not delete the mapping that was created from a valid one.
    const { code, field, message } = embedded.problem
    events.warning(code, `${field}: ${message}`, { action: 'Create' })
    return
  }
  if (embedded !== undefined && !(await isTrusted(context))) {
    events.warning(
      'UntrustedNamespace',
      `data.${kamDefsKey}: ignored, since namespace ${object.metadata.namespace ?? ''} is not one of trusted-namespaces in ConfigMap ${kappnavNamespace}/${configName}; create the KindActionMapping itself`,
      { action: 'Create' },
    )
    await removeMappings(context, undefined)
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
        `KindActionMapping ${mapping.metadata.name ?? ''} exists and is not owned by this map; it is not changed. Rename the mapping in ${kamDefsKey}`,
        { action: 'Create' },
      )
    } else if (error instanceof StatusError && error.code === 422) {
      events.warning('InvalidMapping', error.message, { action: 'Create' })
    } else throw error
  }
}

/** The controller creates mappings only where writers of ConfigMaps may decide about mappings. */
async function isTrusted({ object, read }: ReconcileContext<ConfigMap>): Promise<boolean> {
  const config = await read.get(ConfigMap, { namespace: kappnavNamespace, name: configName })
  return trustIn(asData(config?.data))(object.metadata.namespace ?? '')
}

/** Deletes the mappings that were created from this map, except the one named `keep`. */
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
      { preconditions: { uid: metadata.uid!, resourceVersion: metadata.resourceVersion! } },
    )
  }
}

function ownerOf(mapping: KindActionMappingObject): readonly string[] {
  const owner = controllerOf(mapping)
  return owner?.kind === 'ConfigMap' && owner.apiVersion === 'v1'
    ? [`${mapping.metadata.namespace ?? ''}/${owner.name}`]
    : []
}
