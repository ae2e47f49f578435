// The controller of KindActionMappings: reports in their status the rules in use, the problems of the others, and the
// maps they name.
import { ConfigMap } from '@fairlead/client'
import type { Controller, InformerUse, Manager, ReconcileContext } from '@fairlead/controller'
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import type { Problem } from '../engine/data/problem.ts'
import { parseMapping, rulesField } from '../engine/mapping/mapping.ts'
import type { Mapping, MapType } from '../engine/mapping/mapping.ts'
import { mapsOfRules } from '../engine/mapping/rule-maps.ts'

/** Maximum entries of each list in a status. */
const maxListed = 100

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
        if (canName(parseMapping(mapping), metadata.namespace ?? '', metadata.name ?? ''))
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
): Promise<void> {
  const mapping = parseMapping(object)
  const rules = (Object.keys(rulesField) as MapType[]).flatMap((type) => mapping.rules[type])
  const maps = informer.read()
  const conditions = conditionsOf(mapping)
  for (const problem of mapping.problems) {
    if (!isReported(object, problem))
      events.warning(problem.code, `${problem.field}: ${problem.message}`, { action: 'Read' })
  }
  await status.apply({
    conditions,
    rules: rules.length,
    ...(mapping.problems.length === 0
      ? {}
      : {
          problems: mapping.problems.slice(0, maxListed).map(({ field, code, message }) => ({ field, code, message })),
        }),
    ...(maps.known
      ? { maps: mapsOfRules(rules, object.metadata.namespace ?? '', maps.objects.keys(), maxListed) }
      : {}),
  })
}

function conditionsOf({ problems }: Mapping): readonly Condition[] {
  const invalid = problems.find(({ code, field }) => code === 'InvalidMapping' && field === 'spec.precedence')
  if (invalid !== undefined) {
    return [
      condition('Accepted', false, { reason: invalid.code, message: invalid.message }),
      condition('Ready', false, { reason: invalid.code, message: invalid.message }),
    ]
  }
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  return [
    condition('Accepted', true, { reason: 'Accepted', message: 'The mapping is used' }),
    first === undefined
      ? condition('Ready', true, { reason: 'RulesUsed', message: 'All rules are used' })
      : condition('Ready', false, { reason: first.code, message: `${first.field}: ${first.message}${more}` }),
  ]
}

/** Reports whether a problem is in the status already: it needs no further event. */
function isReported({ status }: KindActionMappingObject, { field, message }: Problem): boolean {
  return status?.problems?.some((reported) => reported.field === field && reported.message === message) ?? false
}

function canName(mapping: Mapping, namespace: string, name: string): boolean {
  const rules = (Object.keys(rulesField) as MapType[]).flatMap((type) => mapping.rules[type])
  return (
    mapsOfRules(rules, mapping.namespace, [`${namespace}/${name}`], 1).found.length > 0 ||
    rules.some(({ mapname }) => mapname.text === name)
  )
}
