// Decisions on single groups, over the objects of files.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { asJson } from '@fairlead/kube'
import type { Cluster, Decision, Hook, Hooks } from '@fairlead/metacontroller'
import { decideGroup } from '@fairlead/metacontroller'
import { describe, expect, test } from 'vitest'
import type { HookCall } from '../src/engine/hook.ts'
import { HookBusyError } from '../src/engine/hook.ts'
import { identityOf } from '../src/engine/identity.ts'
import type { ControllerKinds } from '../src/engine/kinds.ts'
import { mapKeyOf } from '../src/engine/map-key.ts'
import type { OutputKind } from '../src/engine/resource.ts'
import { FileCluster } from '../src/offline/file-cluster.ts'
import { claim, claims, controller, outputOf, parent, snapshot, snapshots } from './objects.ts'

const owner = parent()
const input = claim('a')
const other = claim('b')

function cluster(objects: readonly KubeObject[], method: OutputKind['method'] = 'InPlace'): FileCluster {
  const kinds: ControllerKinds = {
    parent: {
      apiVersion: 'schedule.example.com/v1',
      group: 'schedule.example.com',
      kind: 'SnapshotSchedule',
      plural: 'snapshotschedules',
      namespaced: true,
    },
    inputs: [claims],
    outputs: [snapshots(method)],
    related: [],
  }
  return new FileCluster({ controller: controller(), kinds, objects: [owner, ...objects] })
}

/** Returns hooks of which map responds with these outputs; there is no tombstone hook. */
function returning(outputs: JsonValue, onCall: (call: HookCall) => void = () => {}): Hooks {
  const map: Hook = {
    strict: true,
    call: async (call) => {
      onCall(call)
      return { value: { outputs, resyncAfterSeconds: 30 }, duplicates: [] }
    },
  }
  return { map, tombstone: undefined, [Symbol.asyncDispose]: async () => {} }
}

async function decide(files: FileCluster, hooks: Hooks, of = input, reads: Cluster = files): Promise<Decision> {
  const group = { parent: files.parents[0]!, mapKey: mapKeyOf(identityOf(of)) }
  return decideGroup(reads, hooks, group, { now: 0, signal: new AbortController().signal })
}

const actions = ({ plan }: Decision): string[] => plan.map(({ op, reason }) => `${op} ${reason}`)
const wanted = snapshot('s', { class: 'fast' }) as unknown as JsonValue

describe('decideGroup', () => {
  test('plans the outputs of the map hook', async () => {
    const decision = await decide(cluster([input]), returning([wanted]))
    expect({ ...decision, plan: actions(decision) }).toEqual({
      step: 'map',
      plan: ['create Missing'],
      error: undefined,
      warning: undefined,
      isHeld: false,
      isOver: false,
      drift: 0,
      events: [],
      resyncAfterSeconds: 30,
    })
  })

  test('returns the error of a hook as a value and plans nothing', async () => {
    const error = new HookBusyError(1000)
    const hooks = returning([], () => {
      throw error
    })
    const files = cluster([input, outputOf(input, owner, snapshot('s'))])
    expect(await decide(files, hooks)).toMatchObject({ step: 'map', plan: [], error, isHeld: false, isOver: false })
  })

  test('returns an invalid response as an error and plans nothing', async () => {
    const decision = await decide(cluster([input, outputOf(input, owner, snapshot('s'))]), returning(null))
    expect(decision).toMatchObject({ plan: [], error: { name: 'ResponseError', code: 'MissingOutputs' } })
  })

  test('counts outputs that differ under OnDelete as drift', async () => {
    const decision = await decide(
      cluster([input, outputOf(input, owner, snapshot('s', { class: 'slow' }))], 'OnDelete'),
      returning([wanted]),
    )
    expect({ actions: actions(decision), drift: decision.drift }).toEqual({ actions: ['keep Drift'], drift: 1 })
  })

  test('sends the hook orphans with their owner, adopts those that it wants and leaves the others as they are', async () => {
    const [output, other] = [outputOf(input, owner, snapshot('s')), outputOf(input, owner, snapshot('copied'))]
    const orphan = { ...output, metadata: { ...output.metadata, ownerReferences: [] } }
    const copy = { ...other, metadata: { ...other.metadata, ownerReferences: [] } }
    const sent: unknown[] = []
    const hooks = returning([asJson(snapshot('s'))], ({ facts }) =>
      sent.push(facts.outputs[0]?.objects.map(({ metadata }) => metadata.ownerReferences)),
    )
    const decision = await decide(cluster([input, orphan, copy]), hooks)
    expect(sent).toEqual([[output.metadata.ownerReferences, output.metadata.ownerReferences]])
    expect(actions(decision)[0]).toBe('adopt Orphan')
    expect(decision.plan.every((action) => !('observed' in action) || action.observed.metadata.name === 's')).toBe(true)
  })

  test('deletes no orphan when its input is deleted', async () => {
    const output = outputOf(input, owner, snapshot('s'))
    const orphan = { ...output, metadata: { ...output.metadata, ownerReferences: [] } }
    const decision = await decide(cluster([orphan]), { ...returning([]), tombstone: undefined })
    expect({ plan: decision.plan, isOver: decision.isOver }).toEqual({ plan: [], isOver: true })
  })

  test('deletes nothing when an input kind is lost while the hook is called', async () => {
    const files = cluster([input, outputOf(input, owner, snapshot('s'))])
    let isKnown = true
    const reads: Cluster = {
      controller: files.controller,
      kinds: files.kinds,
      outputsKnown: true,
      relatedKnown: true,
      get inputsKnown() {
        return isKnown
      },
      input: (kind, key) => files.input(kind, key),
      output: (kind, identity) => files.output(kind, identity),
      outputsOf: (group) => files.outputsOf(group),
      orphansOf: (group) => files.orphansOf(group),
      related: (of) => files.related(of),
    }
    const decision = await decide(
      files,
      returning([], () => (isKnown = false)),
      input,
      reads,
    )
    expect({ actions: actions(decision), isHeld: decision.isHeld }).toEqual({ actions: ['keep Held'], isHeld: true })
  })

  test('deletes the outputs of a deleted input without a tombstone hook', async () => {
    const decision = await decide(cluster([outputOf(other, owner, snapshot('s'))]), returning([]), other)
    expect({ step: decision.step, actions: actions(decision) }).toEqual({
      step: 'delete',
      actions: ['delete Detached'],
    })
  })

  test('is over when neither input nor outputs are left', async () => {
    expect(await decide(cluster([]), returning([]))).toMatchObject({ step: 'nothing', isOver: true })
  })
})
