// Cases of a timeline: steps on a cluster with the controllers, on fake time.
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { isTerminating } from '@fairlead/kube'
import { sameValue } from '../comparison.ts'
import type { Disagreement } from '../comparison.ts'
import { CaseCluster } from './case-cluster.ts'
import type { CloudCall, CloudTimes } from './case-cloud.ts'
import { pluralOf } from './case-objects.ts'
import type { CaseObject, CaseTable } from './case-objects.ts'
import { conditionDisagreements, valueAtPath } from './reconcile-case.ts'
import type { WantedCondition } from './reconcile-case.ts'

interface Step {
  readonly at?: number
  readonly event: string
  readonly object: string
  readonly spec?: JsonObject
  readonly synced?: string
  readonly status?: JsonObject
}

/** Input of a case. */
export interface TimelineCase {
  readonly table: CaseTable
  readonly objects: readonly CaseObject[]
  readonly crossNamespace: boolean
  readonly fakeAws?: CloudTimes
  readonly steps: readonly Step[]
}

interface Wanted {
  readonly calls?: readonly string[]
  readonly counts?: Readonly<Record<string, { readonly min?: number; readonly max?: number }>>
  readonly failedCalls?: readonly { readonly call: string; readonly error: string; readonly condition?: string }[]
  readonly timing?: readonly { readonly call: string; readonly at: number; readonly within: number }[]
  readonly reconciles?: readonly {
    readonly object: string
    readonly from?: number
    readonly to?: number
    readonly afterStep?: number
    readonly min?: number
    readonly max?: number
  }[]
  readonly after?: readonly {
    readonly step: number
    readonly object: string
    readonly condition?: WantedCondition
  }[]
  readonly end?: Readonly<Record<string, unknown>>
}

/** Seconds after a step without a time: a watch that broke is begun again within them. */
const pause = 5
/** Seconds that pass after the last step, for what takes time by itself. */
const ending = 120

function conditionsIn(object: KubeObject | undefined): readonly Condition[] {
  return (object?.['status'] as { readonly conditions?: readonly Condition[] } | undefined)?.conditions ?? []
}

function storedValue(object: KubeObject | undefined, field: string): JsonValue | undefined {
  const stored = (object?.['status'] as { readonly resolvedReferences?: readonly JsonObject[] } | undefined)
    ?.resolvedReferences
  return stored?.find(({ path }) => path === field)?.['value']
}

/** Plays a case. */
export async function playTimeline(given: TimelineCase, want: Wanted): Promise<Disagreement[]> {
  const { table, objects, steps, crossNamespace, fakeAws = {} } = given
  const kinds = new Set([
    ...Object.entries(table).flatMap(([kind, rows]) => [kind, ...rows.map((row) => row.kind)]),
    ...objects.map(({ kind }) => kind),
    ...steps.map(({ object }) => object.split('/')[0] as string),
  ])
  const places = [
    ...objects.map(({ namespace }) => namespace),
    ...steps.flatMap(({ object }) => object.split('/').slice(1, 2)),
  ]
  const namespaces = new Set(places.filter((name) => name !== 'default'))
  const unmanaged = new Set(
    steps.flatMap(({ object, synced }) => (synced === undefined ? [] : [object.split('/')[0] as string])),
  )
  await using cluster = await CaseCluster.start({
    table,
    objects,
    crossNamespace,
    times: fakeAws,
    unmanaged: [...unmanaged],
    kinds: [...kinds],
    namespaces: [...namespaces],
  })
  const begin = cluster.clock.now()
  const shown = new Set<string>()
  const look = async (): Promise<void> => {
    for (const object of await cluster.objects())
      for (const { type, status } of conditionsIn(object)) if (status === 'True') shown.add(type)
  }
  const disagreements: Disagreement[] = []
  // A reconcile that begins in the first step is the first one of its object.
  const begins = steps[0]?.event === 'reconcile-begins' ? steps[0] : undefined
  if (begins !== undefined) cluster.transport.pause(pathOf(begins.object))
  await cluster.startControllers()
  const rests = [cluster.reconciles.length]
  for (const [index, step] of steps.entries()) {
    if (step.at !== undefined) await cluster.passTo(begin + step.at * 1000, look)
    if (step !== begins) await take(cluster, step)
    // Steps of one time happen together; without a time, each has as long as it needs.
    if (step.at === undefined) await cluster.passTo(cluster.clock.now() + pause * 1000, look)
    else if (steps[index + 1]?.at !== step.at) await cluster.settle()
    await look()
    rests.push(cluster.reconciles.length)
    for (const after of want.after ?? []) {
      if (after.step !== index) continue
      const object = await cluster.object(after.object)
      if (after.condition !== undefined)
        disagreements.push(
          ...conditionDisagreements(
            conditionsIn(object).filter(
              ({ type }) => after.condition?.status === undefined || type === 'ACK.ReferencesResolved',
            ),
            after.condition,
          ),
        )
      if ((after as { readonly [key: string]: unknown })['gone'] === true)
        disagreements.push(...sameValue(`after ${index}`, undefined, object))
    }
  }
  await cluster.passTo(cluster.clock.now() + ending * 1000, look)
  const { calls } = cluster.cloud
  const made = calls.filter(({ isWrite, error }) => isWrite && error === undefined)
  disagreements.push(...callDisagreements(want, calls, made, shown, begin))
  for (const wanted of want.reconciles ?? []) {
    const { object, from, to, afterStep, min = 0, max = Infinity } = wanted
    const first = afterStep === undefined ? 0 : (rests[afterStep === -1 ? 0 : afterStep] ?? 0)
    const count = cluster.reconciles
      .slice(first)
      .filter(
        (one) =>
          one.object === object &&
          (from === undefined || one.at >= begin + from * 1000) &&
          (to === undefined || one.at <= begin + to * 1000),
      ).length
    if (count < min || count > max) disagreements.push({ at: 'reconciles', wanted, came: count })
  }
  if (want.end !== undefined) disagreements.push(...(await endDisagreements(cluster, want.end)))
  return disagreements
}

function pathOf(ref: string): string {
  const [kind = '', namespace = '', name = ''] = ref.split('/')
  return `/namespaces/${namespace}/${pluralOf(kind)}/${name}`
}

async function take(cluster: CaseCluster, { event, object, spec = {}, synced, status }: Step): Promise<void> {
  switch (event) {
    case 'apply':
      return cluster.apply(object, spec, synced)
    case 'status':
      return cluster.setStatus(object, synced, status)
    case 'delete':
      return cluster.delete(object)
    case 'remove-kind':
      return cluster.removeKind(object)
    case 'install-kind':
      return cluster.installKind(object)
    case 'reconcile-begins':
      cluster.transport.pause(pathOf(object))
      return cluster.touch(object)
    case 'reconcile-ends':
      return cluster.transport.resume()
    default:
      throw new Error(`${event} is not a step here`)
  }
}

function callDisagreements(
  want: Wanted,
  calls: readonly CloudCall[],
  made: readonly CloudCall[],
  shown: ReadonlySet<string>,
  begin: number,
): Disagreement[] {
  const names = made.map(({ name }) => name)
  const failed = calls.filter(({ error }) => error !== undefined)
  const { failedCalls } = want
  return [
    ...(want.calls === undefined ? [] : sameValue('calls', want.calls, names)),
    ...Object.entries(want.counts ?? {}).flatMap(([name, { min = 0, max = Infinity }]) => {
      const count = names.filter((one) => one === name).length
      return count < min || count > max ? [{ at: `counts ${name}`, wanted: { min, max }, came: count }] : []
    }),
    ...(want.timing ?? []).flatMap((wanted) => {
      const call = made.find(({ name }) => name === wanted.call)
      const at = call === undefined ? undefined : (call.at - begin) / 1000
      const fits = at !== undefined && at >= wanted.at && at <= wanted.at + wanted.within
      return fits ? [] : [{ at: 'timing', wanted, came: at }]
    }),
    ...(failedCalls === undefined
      ? []
      : failed
          .filter(({ name, error }) => !failedCalls.some((one) => one.call === name && one.error === error))
          .map(({ name, error }) => ({ at: 'failedCalls', wanted: failedCalls, came: { name, error } }))),
    ...(failedCalls ?? []).flatMap(({ condition }) =>
      condition === undefined || failed.length === 0 || shown.has(condition)
        ? []
        : [{ at: 'failedCalls', wanted: condition, came: [...shown] }],
    ),
  ]
}

async function endDisagreements(cluster: CaseCluster, end: Readonly<Record<string, unknown>>): Promise<Disagreement[]> {
  const objects = await cluster.objects()
  const all = new Map(objects.map((one) => [`${one.kind}/${one.metadata.namespace}/${one.metadata.name}`, one]))
  const isTrue = (ref: string, type: string): boolean =>
    conditionsIn(all.get(ref)).some((one) => one.type === type && one.status === 'True')
  const refs = (value: unknown): readonly string[] => (value ?? []) as readonly string[]
  const fields = (value: unknown): readonly [string, string, unknown][] =>
    Object.entries((value ?? {}) as Readonly<Record<string, JsonObject>>).flatMap(([ref, of]) =>
      Object.entries(of).map(([field, one]): [string, string, unknown] => [ref, field, one]),
    )
  return [
    ...refs(end['synced']).flatMap((ref) => sameValue(`synced ${ref}`, true, isTrue(ref, 'ACK.ResourceSynced'))),
    ...refs(end['gone']).flatMap((ref) =>
      sameValue(
        `deleted ${ref}`,
        undefined,
        all.get(ref) && { terminating: isTerminating(all.get(ref)!), conditions: conditionsIn(all.get(ref)) },
      ),
    ),
    ...fields(end['resolved']).flatMap(([ref, field, value]) =>
      sameValue(`resolved ${ref} ${field}`, value, storedValue(all.get(ref), field)),
    ),
    ...fields(end['resolvedFrom']).flatMap(([ref, field, from]) => {
      const [other = '', path = ''] = from as readonly string[]
      const wanted = valueAtPath(all.get(other) as unknown as JsonValue | undefined, path)
      return sameValue(`resolvedFrom ${ref} ${field}`, wanted, storedValue(all.get(ref), field))
    }),
    ...Object.entries((end['advisory'] ?? {}) as JsonObject).flatMap(([ref, reason]) =>
      sameValue(
        `advisory ${ref}`,
        reason,
        conditionsIn(all.get(ref)).find(({ type }) => type === 'ACK.Advisory')?.reason,
      ),
    ),
    ...(end['terminal'] === undefined
      ? []
      : sameValue('terminal', end['terminal'], [...all.keys()].filter((ref) => isTrue(ref, 'ACK.Terminal')).length)),
    ...(end['violations'] === undefined ? [] : sameValue('violations', end['violations'], cluster.cloud.violations)),
  ]
}
