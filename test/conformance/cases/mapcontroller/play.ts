// Plays a case: brings a cluster into the state of the case, triggers its event and collects the result.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { FailingGroup } from '@fairlead/metacontroller'
import type { CaseResponse, CaseOutput } from '@fairlead/metacontroller'
import { formatIdentity, mapKeyOf } from '@fairlead/metacontroller'
import { parseRef, refOf } from '@fairlead/metacontroller'
import { CaseCluster } from './case-cluster.ts'
import type { Responder, RecordedCall } from './hook-server.ts'
import type { MapCase, MapInput } from './map-case.ts'
import type { RecordedWrite } from './recording-transport.ts'

/** The result of a case. */
export interface CaseResult {
  readonly calls: readonly RecordedCall[]
  readonly writes: readonly RecordedWrite[]
  readonly status: unknown
  readonly events: readonly KubeObject[]
  readonly failing: readonly {
    readonly ref: string
    readonly kind: 'backoff' | 'after'
    readonly seconds: number | undefined
  }[]
  /** References of `want.unchanged` whose object changed. */
  readonly changed: readonly string[]
  readonly parentUid: string
  /** The map key of a reference. */
  readonly mapKey: (ref: string) => string
}

/** Long enough for the first round of calls after a start, in milliseconds. */
const firstRound = 61_000
/** Long enough for status to be written, in milliseconds. */
const statusPause = 2_500

/** Plays a case on a cluster of its own. */
export async function play(of: MapCase): Promise<CaseResult> {
  const { input, want } = of
  const refs = referencesOf(input)
  const keys = new Map<string, string>()
  const isSettling = input.trigger.type !== 'full-sync'
  await using cluster = await CaseCluster.start(
    of,
    (mapKey) => keys.get(mapKey),
    isSettling ? settlingResponder(of) : scriptedResponder(input),
  )
  for (const ref of refs) {
    const key = mapKeyOf(cluster.identity(ref))
    const other = keys.get(key)
    if (other !== undefined) throw new Error(`${ref} and ${other} share the map key ${key}`)
    keys.set(key, ref)
  }
  const before = isSettling
    ? stateBefore(of, cluster)
    : { inputs: input.inputs, outputs: input.outputs, parent: input.parent }
  await cluster.put(before.parent)
  for (const object of before.inputs) await cluster.put(object)
  for (const output of before.outputs) await cluster.putOutput(output)
  const untouched = new Map<string, string | undefined>()
  for (const ref of want.unchanged ?? []) untouched.set(ref, await cluster.stored(ref))
  const failing = new Map<string, CaseResult['failing'][number]>()
  const look = (): void => {
    for (const group of cluster.run?.state().failing ?? [])
      if (!failing.has(group.input)) failing.set(group.input, describe(group, cluster, refs))
  }

  await cluster.startController()
  await cluster.settle()
  look()
  for (let passed = 0; (cluster.run?.firstRound ?? 0) > 0 && passed < firstRound; passed += 1000)
    await cluster.pass(1000, look)
  if (isSettling) {
    await cluster.pass(statusPause)
    cluster.hooks.restart(scriptedResponder(input))
    cluster.transport.writes.length = 0
    await trigger(of, cluster)
    look()
  }
  const calls = [...cluster.hooks.calls]
  await cluster.pass(statusPause, look)
  const parent = await cluster.client.find(input.parent, {
    namespace: input.parent.metadata.namespace ?? '',
    name: input.parent.metadata.name ?? '',
  })
  const changed: string[] = []
  for (const [ref, stored] of untouched) if ((await cluster.stored(ref)) !== stored) changed.push(ref)
  const { items } = await cluster.client.list({ apiVersion: 'events.k8s.io/v1', kind: 'Event' })
  return {
    calls,
    writes: [...cluster.transport.writes],
    status: parent?.status,
    events: items,
    failing: [...failing.values()],
    changed,
    parentUid: cluster.parentUid,
    mapKey: (ref) => mapKeyOf(cluster.identity(ref)),
  }
}

/** Returns a responder that responds as the case says. */
function scriptedResponder({ hooks }: MapInput): Responder {
  return (hook, ref) => {
    const response: CaseResponse | undefined =
      (hook === 'map' ? hooks.map?.[ref] : hooks.tombstone?.[ref]) ??
      (hook === 'map' ? hooks.mapDefault : hooks.tombstoneDefault)
    return response ?? { error: { status: 500, body: `The case has no response of the ${hook} hook for ${ref}` } }
  }
}

/** Returns a responder that changes nothing: every group keeps its outputs. */
function settlingResponder(of: MapCase): Responder {
  return (_hook, ref) => ({
    outputs: [...of.input.outputs, ...removedOutput(of)]
      .filter(({ taggedFor }) => taggedFor === ref)
      .map(desiredOutput),
  })
}

function desiredOutput({ object, lastApplied }: CaseOutput): JsonValue {
  if (lastApplied !== undefined) return asJson(lastApplied)
  const { namespace, name, labels, annotations } = object.metadata
  return asJson({ ...object, metadata: { name, namespace, labels, annotations } })
}

/** The state before the trigger; what a case gives is the state after it. */
function stateBefore(of: MapCase, cluster: CaseCluster): Pick<MapInput, 'inputs' | 'outputs' | 'parent'> {
  const { input } = of
  const { trigger: event, parent } = input
  const inputs = [...input.inputs]
  const at = 'ref' in event ? inputs.findIndex((object) => refOf(object) === event.ref) : -1
  const found = inputs[at]
  switch (event.type) {
    case 'input-added':
      if (found !== undefined) inputs.splice(at, 1)
      return { inputs, outputs: input.outputs, parent }
    case 'input-updated':
      if (found !== undefined) {
        const labels = event.oldLabels ?? found.metadata.labels
        inputs[at] = {
          ...found,
          metadata: {
            ...found.metadata,
            labels,
            annotations: { ...found.metadata.annotations, 'case.fairlead.dev/before': 'the update' },
          },
        }
      }
      return { inputs, outputs: input.outputs, parent }
    case 'input-deleted':
      return { inputs: [...inputs, removedInput(input, cluster, event.ref)], outputs: input.outputs, parent }
    case 'output-deleted':
      return { inputs, outputs: [...input.outputs, ...removedOutput(of)], parent }
    case 'parent-spec-updated': {
      const generation = (parent.metadata.generation ?? 1) - 1
      const spec = { ...(parent.spec as object), before: 'the update' }
      return {
        inputs,
        outputs: input.outputs,
        parent: { ...parent, metadata: { ...parent.metadata, generation }, spec },
      }
    }
    default:
      return { inputs, outputs: input.outputs, parent }
  }
}

async function trigger(of: MapCase, cluster: CaseCluster): Promise<void> {
  const { input } = of
  const { trigger: event, parent } = input
  const given = 'ref' in event ? input.inputs.find((object) => refOf(object) === event.ref) : undefined
  switch (event.type) {
    case 'full-sync':
      return
    case 'input-added':
    case 'input-updated':
      if (given === undefined) throw new Error(`${event.ref} is not among the inputs`)
      await cluster.put(given)
      break
    case 'input-deleted':
      await cluster.remove(removedInput(input, cluster, event.ref))
      break
    case 'output-deleted':
      for (const { object } of removedOutput(of)) await cluster.remove(object)
      break
    case 'parent-spec-updated':
      await cluster.change(parent, (stored) => ({
        ...stored,
        metadata: { ...(stored.metadata as object), generation: parent.metadata.generation ?? 1 },
        spec: asJson(parent).spec ?? {},
      }))
      break
    case 'parent-status-updated':
      await cluster.change(parent, (stored) => ({
        ...stored,
        status: { ...(stored.status as object | undefined), touched: true },
      }))
      break
    case 'clock-advance':
      await cluster.pass(event.seconds * 1000)
      break
  }
  await cluster.settle()
}

/** The input that was deleted: a case gives only its reference, and it matched. */
function removedInput({ parent }: MapInput, cluster: CaseCluster, ref: string): KubeObject {
  const { kind, namespace, name } = parseRef(ref)
  const selector = ((parent.spec as { selector?: unknown } | undefined)?.selector ?? {}) as {
    matchLabels?: Record<string, string>
    matchExpressions?: { key: string; operator: string; values?: string[] }[]
  }
  const labels = { ...selector.matchLabels }
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    if (operator === 'In') labels[key] ??= values?.[0] ?? ''
    if (operator === 'Exists') labels[key] ??= 'there'
  }
  return {
    apiVersion: cluster.resource({ kind }).apiVersion,
    kind,
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), labels },
  }
}

/** Returns the deleted output as the hook had returned it. */
function removedOutput({ input: { trigger: event, hooks }, resources }: MapCase): CaseOutput[] {
  if (event.type !== 'output-deleted') return []
  const { kind, namespace, name } = parseRef(event.ref)
  const response = hooks.map?.[event.wasTaggedFor]
  const returned = Array.isArray(response?.outputs) ? (response.outputs as unknown as KubeObject[]) : []
  const output = returned.find((object) => object.kind === kind && object.metadata.name === name)
  const apiVersion = output?.apiVersion ?? resources.find((resource) => resource.kind === kind)?.apiVersion
  if (apiVersion === undefined) throw new Error(`The file lists no resource for the kind of ${event.ref}`)
  const object = {
    ...output,
    apiVersion,
    kind,
    metadata: { ...output?.metadata, name, ...(namespace === undefined ? {} : { namespace }) },
  }
  return [{ object, owner: 'parent', taggedFor: event.wasTaggedFor }]
}

function describe(
  { input, retry, retryAt }: FailingGroup,
  cluster: CaseCluster,
  refs: ReadonlySet<string>,
): CaseResult['failing'][number] {
  const ref = [...refs].find((one) => formatIdentity(cluster.identity(one)) === input) ?? input
  return { ref, kind: retry, seconds: retryAt === undefined ? undefined : (retryAt - cluster.clock.now()) / 1000 }
}

/** Returns the references of all inputs of a case. */
function referencesOf({ trigger: event, inputs, outputs, hooks }: MapInput): Set<string> {
  const tagged = outputs.flatMap(({ taggedFor }) => taggedFor ?? [])
  const named = event.type === 'output-deleted' ? [event.wasTaggedFor] : 'ref' in event ? [event.ref] : []
  return new Set([
    ...inputs.map(refOf),
    ...tagged,
    ...named,
    ...Object.keys(hooks.map ?? {}),
    ...Object.keys(hooks.tombstone ?? {}),
  ])
}
