// Cases of one reconcile of one object: the engine on the objects of the case and a cloud that answers at once.
import { reconcileResource } from '@fairlead/aws'
import type { Outcome, ReconcileInput } from '@fairlead/aws'
import type { Condition, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { ReferenceIndex, edgesOf, idKey } from '@fairlead/references'
import type { BothSet, ObjectId } from '@fairlead/references'
import { holdsFragments, sameValue } from '../comparison.ts'
import type { Disagreement } from '../comparison.ts'
import { isAdmitted } from './admission.ts'
import { CaseCloud } from './case-cloud.ts'
import type { CloudCall } from './case-cloud.ts'
import { arnOf, finalizerOf, group, kindOf, objectOf, region } from './case-objects.ts'
import type { CaseObject, CaseTable } from './case-objects.ts'

/** Input of a case. */
export interface ReconcileCase {
  readonly table: CaseTable
  readonly objects: readonly CaseObject[]
  readonly crossNamespace: boolean
  readonly reconcile: string
  readonly bothSet?: BothSet
  readonly times?: number
}

/** A condition as a case expects it. */
export interface WantedCondition {
  readonly status?: string
  readonly reason?: string
  readonly messageContains?: readonly string[]
}

interface Result {
  readonly calls: readonly CloudCall[]
  readonly conditions: readonly Condition[]
  readonly lookups: number
  /** Set while the object has our finalizer. */
  readonly held: boolean
  readonly outcome: Outcome
}

const now = Date.parse('2026-01-02T00:00:00Z')

function idOf({ kind, metadata }: KubeObject): ObjectId {
  return { group, kind, namespace: metadata.namespace ?? '', name: metadata.name ?? '' }
}

async function reconcileOnce(given: ReconcileCase): Promise<Result> {
  const { table, crossNamespace, reconcile, bothSet } = given
  const objects = new Map(
    given.objects.map((one) => [`${one.kind}/${one.namespace}/${one.name}`, objectOf(table, one)]),
  )
  const index = new ReferenceIndex()
  for (const object of objects.values()) {
    const id = idOf(object)
    index.set(id, edgesOf(id, object['spec'] as JsonObject, kindOf(table, object.kind, bothSet).rows))
  }
  const cloud = new CaseCloud(() => now)
  for (const one of given.objects)
    if (one.inAWS === true)
      cloud.place(one.kind, { ...one.spec, ...one.resolvedReferences }, one.status ?? {}, arnOf(one))
  // Pure adoption takes over what is there.
  const object = objects.get(reconcile)
  if (object === undefined) throw new Error(`the case has no object ${reconcile}`)
  if (object.metadata.annotations?.['services.k8s.aws/adoption-policy'] === 'adopt')
    cloud.place(object.kind, object['spec'] as JsonObject, {}, arnOf({ kind: object.kind, name: 'adopted' }))
  const id = idOf(object)
  const finalizer = finalizerOf(object.kind)
  let held = object.metadata.finalizers?.includes(finalizer) === true
  const lookups = new Set<string>()
  const input: ReconcileInput = {
    id,
    object,
    kind: kindOf(table, object.kind, bothSet),
    finalizer,
    settings: { deletionPolicy: 'delete', resync: 36_000_000, region, tags: {} },
    now,
    manager: cloud.manager(object.kind),
    referents: {
      read: (kind, namespace, name) => {
        lookups.add(`${kind.kind}/${namespace}/${name}`)
        const found = objects.get(`${kind.kind}/${namespace}/${name}`)
        return found === undefined ? { state: 'absent' } : { state: 'found', object: found }
      },
      permission: () => (crossNamespace ? 'open' : 'denied'),
      cycle: (from, to) => index.cycle(from, to),
    },
    store: {
      hold: async () => void (held = true),
      release: async () => void (held = false),
      record: async () => {},
      annotate: async () => {},
      fill: async () => undefined,
    },
    dependents: () =>
      index.dependentsOf(id).map((dependent) => {
        const found = objects.get(`${dependent.kind}/${dependent.namespace}/${dependent.name}`)
        const exists = found?.metadata.finalizers?.includes(finalizerOf(dependent.kind)) === true
        return { id: dependent, exists, sameCycle: index.cycle(dependent, id) !== undefined }
      }),
  }
  const before = JSON.stringify(object['spec'])
  const outcome = await reconcileResource(input)
  if (JSON.stringify(object['spec']) !== before) throw new Error(`the spec of ${idKey(id)} was changed`)
  return { calls: cloud.calls, conditions: outcome.status?.conditions ?? [], lookups: lookups.size, held, outcome }
}

/** Returns what is not as wanted about a condition; `of` are all candidates. */
export function conditionDisagreements(of: readonly Condition[], wanted: WantedCondition): Disagreement[] {
  const fits = of.some(
    ({ status, reason, message }) =>
      (wanted.status === undefined || wanted.status === status) &&
      (wanted.reason === undefined || wanted.reason === reason) &&
      holdsFragments(message, wanted.messageContains ?? []),
  )
  return fits ? [] : [{ at: 'condition', wanted, came: of }]
}

/** Returns the value at a path with list indexes. */
export function valueAtPath(root: JsonValue | undefined, path: string): JsonValue | null {
  let at: unknown = root
  for (const step of path.split(/[.[\]]+/).filter((one) => one !== ''))
    at = (at as Readonly<Record<string, unknown>> | undefined)?.[step]
  return (at ?? null) as JsonValue | null
}

/** Returns the paths of the fields of the table that have a value in a spec. */
function valuePaths({ table, reconcile }: ReconcileCase, spec: JsonObject | undefined): readonly string[] {
  const below = (at: JsonValue | undefined, [step, ...steps]: readonly string[]): readonly string[] => {
    if (step === undefined) return at === undefined || at === null ? [] : ['']
    const value = (at as JsonObject | undefined)?.[step.replace('[]', '')]
    const join = (path: string, rest: string): string =>
      (rest === '' || rest.startsWith('[') ? path : `${path}.`) + rest
    if (!step.endsWith('[]')) return below(value, steps).map((rest) => join(step, rest))
    return ((value ?? []) as readonly JsonValue[]).flatMap((item, index) =>
      below(item, steps).map((rest) => join(`${step.slice(0, -2)}[${index}]`, rest)),
    )
  }
  const rows = table[reconcile.split('/')[0]!] ?? []
  return rows.flatMap(({ field }) => below(spec, field.split('.')))
}

/** Plays a case of resolution. */
export async function playResolution(
  given: ReconcileCase,
  want: Readonly<Record<string, unknown>>,
): Promise<Disagreement[]> {
  const disagreements: Disagreement[] = []
  for (let time = 0; time < (given.times ?? 1); time++) disagreements.push(...(await resolutionOnce(given, want)))
  if (want['admission'] !== undefined) {
    const came = (await isAdmitted(given)) ? 'admitted' : 'refused'
    disagreements.push(...sameValue('admission', want['admission'], came))
  }
  return disagreements
}

async function resolutionOnce(given: ReconcileCase, want: Readonly<Record<string, unknown>>): Promise<Disagreement[]> {
  const { calls, conditions, lookups, held } = await reconcileOnce(given)
  const resolved = conditions.filter(({ type }) => type === 'ACK.ReferencesResolved')
  const handed = calls.findLast(({ isWrite }) => isWrite) ?? calls.at(-1)
  const checks: Readonly<Record<string, (wanted: never) => Disagreement[]>> = {
    resolved: (wanted: Readonly<Record<string, JsonValue>>) => {
      const paths = [...Object.keys(wanted), ...valuePaths(given, handed?.spec)]
      return sameValue(
        'resolved',
        wanted,
        Object.fromEntries(paths.map((path) => [path, valueAtPath(handed?.spec, path)])),
      )
    },
    condition: (wanted: WantedCondition | null) =>
      wanted === null ? sameValue('condition', [], resolved) : conditionDisagreements(resolved, wanted),
    awsCalls: (wanted) =>
      sameValue(
        'awsCalls',
        wanted,
        calls.map(({ name }) => name),
      ),
    advisory: (wanted) => sameValue('advisory', wanted, conditions.find(({ type }) => type === 'ACK.Advisory')?.reason),
    lookups: (wanted) => sameValue('lookups', wanted, lookups),
    managed: (wanted) => sameValue('managed', wanted, held),
  }
  return Object.entries(want).flatMap(([key, wanted]) => checks[key]?.(wanted as never) ?? [])
}

/** Plays a case of deletion. */
export async function playDeletion(
  given: ReconcileCase,
  want: Readonly<Record<string, unknown>>,
): Promise<Disagreement[]> {
  const { calls, conditions, held } = await reconcileOnce(given)
  const writes = calls.filter(({ isWrite }) => isWrite)
  const wanted = want['awsWrites'] as readonly { readonly call: string; readonly with?: JsonObject }[]
  return [
    ...sameValue(
      'awsWrites',
      wanted.map(({ call, with: fields = {} }) => [call, fields]),
      writes.map(({ name, spec }, at) => [
        name,
        Object.fromEntries(Object.keys(wanted[at]?.with ?? {}).map((path) => [path, valueAtPath(spec, path)])),
      ]),
    ),
    ...sameValue('finalizer', want['finalizer'], held ? 'kept' : 'removed'),
    ...(want['condition'] === undefined
      ? []
      : conditionDisagreements(conditions, want['condition'] as WantedCondition)),
  ]
}
