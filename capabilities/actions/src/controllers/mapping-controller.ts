// The controller of KindActionMappings: reports in their status the rules in use, the problems of the others, and the
// maps they name.
import { ConfigMap, chunkSize, yieldIfLong } from '@fairlead/client'
import { after } from '@fairlead/controller'
import type { Controller, InformerUse, KindUnavailable, Manager, ReconcileContext, Result } from '@fairlead/controller'
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject, KindActionMappingStatus } from '../api.ts'
import type { Problem } from '../engine/data/problem.ts'
import { parsedMapping } from '../engine/catalog.ts'
import { rulesField } from '../engine/mapping/mapping.ts'
import type { Mapping, MapType } from '../engine/mapping/mapping.ts'
import { MapFinder } from '../engine/mapping/rule-maps.ts'
import type { RuleMaps } from '../engine/mapping/rule-maps.ts'

/** Maximum entries of each list in a status. */
const maxListed = 100

/** Milliseconds after which a mapping is looked at again while the ConfigMaps are listed for the first time. */
const syncingDelay = 500

/** Problems of one mapping that are reported as events: the status lists them as well. */
const maxEvents = 20

/**
 * Starts the controller. Dispose the result to release its informer of ConfigMaps; the manager stops the controller.
 */
export function startMappingController(manager: Manager): Disposable {
  const maps = manager.use(ConfigMap)
  const controller: Controller<KindActionMappingObject> = manager
    .controller('actions')
    .for(kindActionMapping)
    .withOptions({ keepReady: false })
    .reconcile((context) => reconcile(context, maps))
  const subscription = maps.informer.subscribe({
    changed: ({ type, object: { metadata } }) => {
      if (type === 'changed') return
      for (const mapping of controller.informer.lastKnown.values()) {
        if (finderOf(mapping).names(metadata.namespace ?? '', metadata.name ?? ''))
          controller.enqueue({ namespace: mapping.metadata.namespace ?? '', name: mapping.metadata.name ?? '' })
      }
    },
    state: () => {
      for (const key of controller.informer.lastKnown.keys()) controller.enqueue(key)
    },
  })
  return {
    [Symbol.dispose]() {
      subscription[Symbol.dispose]()
      maps[Symbol.dispose]()
    },
  }
}

async function reconcile(
  { object, status, events }: ReconcileContext<KindActionMappingObject>,
  { informer }: InformerUse<ConfigMap>,
): Promise<Result> {
  const mapping = parsedMapping(object)
  const rules = (Object.keys(rulesField) as MapType[]).reduce((sum, type) => sum + mapping.rules[type].length, 0)
  const maps = await mapsOf(object, informer)
  const known = informer.read()
  // At the start they are known in a moment: until then the status stays as it is.
  if (!known.known && known.reason.code === 'KindSyncing' && informer.error === undefined) return after(syncingDelay)
  const conditions = conditionsOf(mapping, known.known ? undefined : known.reason)
  for (const problem of mapping.problems.slice(0, maxEvents)) {
    if (!isReported(object, problem))
      events.warning(problem.code, `${problem.field}: ${problem.message}`, { action: 'Read' })
  }
  await status.apply({
    conditions,
    rules,
    ...(mapping.problems.length === 0
      ? {}
      : {
          problems: mapping.problems.slice(0, maxListed).map(({ field, code, message }) => ({ field, code, message })),
        }),
    ...(maps === undefined ? lastMaps(object) : { maps }),
  })
  return undefined
}

function lastMaps({ status }: KindActionMappingObject): Pick<KindActionMappingStatus, 'maps'> {
  return status?.maps === undefined ? {} : { maps: status.maps }
}

/** `unknown`: why the ConfigMaps, and so the maps in the status, cannot be known. */
function conditionsOf({ problems }: Mapping, unknown: KindUnavailable | undefined): readonly Condition[] {
  const invalid = problems.find(({ code, field }) => code === 'InvalidMapping' && field === 'spec.precedence')
  if (invalid !== undefined) {
    return [
      condition('Accepted', false, { reason: invalid.code, message: invalid.message }),
      condition('Ready', false, { reason: invalid.code, message: invalid.message }),
    ]
  }
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  const accepted = condition('Accepted', true, { reason: 'Accepted', message: 'The mapping is used' })
  if (first !== undefined) {
    const message = `${first.field}: ${first.message}${more}`
    return [accepted, condition('Ready', false, { reason: first.code, message })]
  }
  if (unknown !== undefined) {
    const message = `${unknown.message}; status.maps lists what was last known`
    return [accepted, condition('Ready', 'Unknown', { reason: unknown.code, message })]
  }
  return [accepted, condition('Ready', true, { reason: 'RulesUsed', message: 'All rules are used' })]
}

/** Reports whether a problem is in the status already: it needs no further event. */
function isReported({ status }: KindActionMappingObject, { field, message }: Problem): boolean {
  return status?.problems?.some((reported) => reported.field === field && reported.message === message) ?? false
}

/** Returns the maps that a mapping names; undefined while ConfigMaps are unknown. */
async function mapsOf(
  mapping: KindActionMappingObject,
  informer: InformerUse<ConfigMap>['informer'],
): Promise<RuleMaps | undefined> {
  const finder = finderOf(mapping)
  const found: string[] = []
  let count = 0
  for (const { metadata } of informer.lastKnown.values()) {
    if (++count % chunkSize === 0) await yieldIfLong()
    const { namespace = '', name = '' } = metadata
    if (finder.names(namespace, name)) found.push(`${namespace}/${name}`)
  }
  // Read at the end: the cache may have lost its connection meanwhile.
  return informer.read().known ? finder.summary(found, maxListed) : undefined
}

const finders = new WeakMap<KindActionMappingObject, MapFinder>()

function finderOf(mapping: KindActionMappingObject): MapFinder {
  let finder = finders.get(mapping)
  if (finder === undefined) finders.set(mapping, (finder = new MapFinder(parsedMapping(mapping))))
  return finder
}
