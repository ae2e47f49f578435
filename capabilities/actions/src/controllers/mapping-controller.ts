// Says on each KindActionMapping which of its rules are used, what is wrong with the others, and which maps they lead to.
import { ConfigMap } from '@fairlead/client'
import type { Controller, InformerUse, Manager, ReconcileContext } from '@fairlead/controller'
import { condition } from '@fairlead/kube'
import type { Condition } from '@fairlead/kube'
import { kindActionMapping } from '../api.ts'
import type { KindActionMappingObject } from '../api.ts'
import { parseMapping, rulesField } from '../engine/mapping/mapping.ts'
import type { Mapping, MapType } from '../engine/mapping/mapping.ts'
import { mapsOfRules } from '../engine/mapping/rule-maps.ts'
import type { Problem } from '../engine/data/problem.ts'

/** Entries of each list of a status. */
const maxListed = 100

/** Sets the controller up. */
export function setUpMappingController(manager: Manager): Controller<KindActionMappingObject> {
  const maps = manager.use(ConfigMap)
  const controller: Controller<KindActionMappingObject> = manager
    .controller('actions')
    .for(kindActionMapping)
    .with({ keepReady: false })
    .reconcile((context) => reconcile(context, maps))
  const listening = maps.informer.subscribe({
    changed: ({ type, object: { metadata } }) => {
      if (type === 'changed') return
      for (const mapping of controller.informer.objects.values()) {
        if (leadsTo(parseMapping(mapping), metadata.namespace ?? '', metadata.name ?? ''))
          controller.enqueue({ namespace: mapping.metadata.namespace ?? '', name: mapping.metadata.name ?? '' })
      }
    },
    state: () => {
      for (const key of controller.informer.objects.keys()) controller.enqueue(key)
    },
  })
  manager.signal.addEventListener(
    'abort',
    () => {
      listening[Symbol.dispose]()
      maps[Symbol.dispose]()
    },
    { once: true },
  )
  return controller
}

async function reconcile(
  { object, status, events }: ReconcileContext<KindActionMappingObject>,
  { informer }: InformerUse<ConfigMap>,
): Promise<void> {
  const mapping = parseMapping(object)
  const rules = (Object.keys(rulesField) as MapType[]).flatMap((type) => mapping.rules[type])
  const isKnown = informer.state === 'Synced'
  const { found, missing } = mapsOfRules(rules, object.metadata.namespace ?? '', informer.objects.keys(), maxListed)
  const conditions = conditionsOf(mapping)
  for (const problem of mapping.problems) {
    if (!wasTold(object, problem))
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
    ...(isKnown ? { maps: { found, missing } } : {}),
  })
}

function conditionsOf({ problems }: Mapping): readonly Condition[] {
  const whole = problems.find(({ code, field }) => code === 'InvalidMapping' && field === 'spec.precedence')
  if (whole !== undefined) {
    return [
      condition('Accepted', false, { reason: whole.code, message: whole.message }),
      condition('Ready', false, { reason: whole.code, message: whole.message }),
    ]
  }
  const [first] = problems
  const more = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
  return [
    condition('Accepted', true, { reason: 'Accepted', message: 'The mapping takes part' }),
    first === undefined
      ? condition('Ready', true, { reason: 'RulesUsed', message: 'Every rule is used' })
      : condition('Ready', false, { reason: first.code, message: `${first.field}: ${first.message}${more}` }),
  ]
}

/** The status says it already: an event for each look would only be noise. */
function wasTold({ status }: KindActionMappingObject, { field, message }: Problem): boolean {
  return status?.problems?.some((told) => told.field === field && told.message === message) ?? false
}

function leadsTo(mapping: Mapping, namespace: string, name: string): boolean {
  const rules = (Object.keys(rulesField) as MapType[]).flatMap((type) => mapping.rules[type])
  return (
    mapsOfRules(rules, mapping.namespace, [`${namespace}/${name}`], 1).found.length > 0 ||
    rules.some(({ mapname }) => mapname.text === name)
  )
}
