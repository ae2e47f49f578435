import type { JsonValue, KubeObject } from '@fairlead/kube'
import { applyServerSide } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import type { Configuration } from '../src/engine/configuration.ts'
import { configurationOf, outputManager } from '../src/engine/configuration.ts'
import type { GroupFacts } from '../src/engine/group.ts'
import { nextStep } from '../src/engine/group.ts'
import type { Identity } from '../src/engine/identity.ts'
import { formatIdentity, identityOf } from '../src/engine/identity.ts'
import type { ObservedGroup, Plan } from '../src/engine/plan.ts'
import { isEmptyPlan, planDetached, planGroup, planGroupInSteps } from '../src/engine/plan.ts'
import type { OutputKind } from '../src/engine/resource.ts'
import type { MapResponse } from '../src/engine/response.ts'
import { readMapResponse } from '../src/engine/response.ts'
import { claim, configMaps, outputOf, parent, snapshot, snapshots, tagFor } from './objects.ts'

const owner = parent()
const input = claim('a')
const manager = outputManager('schedules', owner)
const provenance = { tag: tagFor(input, owner), parent: owner, hops: 1, seen: 'seen' }
const method = fc.constantFrom<OutputKind['method']>('OnDelete', 'Recreate', 'InPlace')

/** Returns the object as a server would store it after an apply, with its managedFields. */
function applied(live: KubeObject | undefined, configuration: KubeObject, by = manager): KubeObject {
  const stored = applyServerSide({
    live,
    applied: configuration,
    schemaFor: () => undefined,
    manager: by,
    force: true,
    now: '2026-01-01T00:00:00Z',
  })
  return {
    ...stored,
    metadata: { ...stored.metadata, uid: live?.metadata.uid ?? `uid-${configuration.metadata.name}` },
  }
}

function observedGroup(
  observed: readonly KubeObject[],
  others: readonly KubeObject[] = [],
  mayDelete = true,
): ObservedGroup {
  const all = new Map([...observed, ...others].map((object) => [formatIdentity(identityOf(object)), object]))
  return {
    controllerName: 'schedules',
    manager,
    parent: owner,
    observed,
    orphans: [],
    mayDelete,
    find: (_kind: OutputKind, identity: Identity) => all.get(formatIdentity(identity)),
  }
}

function responseWith(wanted: readonly KubeObject[], kinds: readonly OutputKind[]): MapResponse {
  return readMapResponse(
    { value: { outputs: wanted } as unknown as JsonValue, duplicates: [] },
    { parent: owner, kinds, strict: false },
  )
}

/** Returns the outputs after a plan was carried out without concurrent changes. */
function carriedOut(observed: readonly KubeObject[], plan: Plan): KubeObject[] {
  const after = new Map(observed.map((object) => [formatIdentity(identityOf(object)), object]))
  const put = ({ object }: Configuration): void => {
    const name = formatIdentity(identityOf(object))
    after.set(name, applied(after.get(name), object))
  }
  for (const action of plan) {
    if (action.op === 'delete') {
      after.delete(formatIdentity(identityOf(action.observed)))
      if (action.next !== undefined) put(action.next.configuration)
    }
    if (action.op === 'create' || action.op === 'update') put(action.configuration)
  }
  return [...after.values()]
}

const brief = (plan: Plan): string[] =>
  plan.map(
    (action) =>
      `${action.op} ${'observed' in action ? action.observed.metadata.name : action.op === 'refuse' ? action.identity.name : action.configuration.object.metadata.name} ${action.reason}`,
  )

const value = fc.oneof(
  fc.constantFrom('slow', 'fast'),
  fc.integer({ min: 0, max: 3 }),
  fc.array(fc.constantFrom('x', 'y'), { maxLength: 2 }),
  fc.dictionary(fc.constantFrom('p', 'q'), fc.constantFrom('1', '2')),
)
const spec = fc.dictionary(fc.constantFrom('class', 'size', 'nested', 'empty'), value)
const wishes = fc
  .dictionary(fc.constantFrom('s1', 's2', 's3', 's4'), spec)
  .map((specs) => Object.entries(specs).map(([name, of]) => snapshot(name, of)))

describe('planGroup', () => {
  property.prop([wishes, wishes, method])(
    'returns an empty plan once the plan was carried out',
    (before, wanted, how) => {
      const kinds = [snapshots(how)]
      const observed = carriedOut([], planGroup(observedGroup([]), responseWith(before, kinds), provenance))
      const plan = planGroup(observedGroup(observed), responseWith(wanted, kinds), provenance)
      const again = planGroup(observedGroup(carriedOut(observed, plan)), responseWith(wanted, kinds), provenance)
      expect(isEmptyPlan(again)).toBe(true)
    },
  )

  property.prop([wishes, wishes, method])(
    'never deletes while anything is unknown, and says what it holds',
    (before, wanted, how) => {
      const kinds = [snapshots(how)]
      const observed = carriedOut([], planGroup(observedGroup([]), responseWith(before, kinds), provenance))
      const certain = planGroup(observedGroup(observed), responseWith(wanted, kinds), provenance)
      const unsure = planGroup(observedGroup(observed, [], false), responseWith(wanted, kinds), provenance)
      expect(unsure.filter(({ op }) => op === 'delete')).toEqual([])
      expect(unsure.filter(({ reason }) => reason === 'Held').length).toBe(
        certain.filter(({ op }) => op === 'delete').length,
      )
    },
  )

  property.prop([wishes, wishes, method, fc.constantFrom('class', 'size', 'theirs')])(
    'is not moved by fields that others own',
    (before, _wanted, how, field) => {
      const kinds = [snapshots(how)]
      const observed = carriedOut([], planGroup(observedGroup([]), responseWith(before, kinds), provenance))
      const touched = observed.map((object) => {
        const isOurs = Object.hasOwn(object.spec as object, field)
        const theirs: KubeObject = {
          apiVersion: object.apiVersion,
          kind: object.kind,
          metadata: { name: object.metadata.name, namespace: 'app' },
          spec: { [field]: 'by others' },
        }
        return isOurs ? object : applied(object, theirs, 'others')
      })
      expect(isEmptyPlan(planGroup(observedGroup(touched), responseWith(before, kinds), provenance))).toBe(true)
    },
  )

  test('plans many outputs in steps, with the plan of one step', async () => {
    const named = (from: number, of: object): KubeObject[] =>
      Array.from({ length: 100 }, (_, at) => snapshot(`s${String(at + from).padStart(3, '0')}`, of))
    const kinds = [snapshots('InPlace')]
    const before = planGroup(observedGroup([]), responseWith(named(0, { class: 'slow' }), kinds), provenance)
    const view = observedGroup(carriedOut([], before))
    const response = responseWith(named(50, { class: 'fast' }), kinds)
    let pauses = 0
    const plan = await planGroupInSteps(view, response, provenance, async () => void pauses++)
    expect([plan, pauses]).toEqual([planGroup(view, response, provenance), 3])
  })

  test('orders deletes first and gives every action a reason', () => {
    const wanted = ['kept', 'changed', 'terminating'].map((name) => snapshot(name, { class: 'fast' }))
    const kinds = [snapshots('InPlace')]
    const made = (name: string, of: object): KubeObject =>
      carriedOut([], planGroup(observedGroup([]), responseWith([snapshot(name, of)], kinds), provenance))[0]!
    const terminating = made('terminating', { class: 'slow' })
    const observed = [
      made('kept', { class: 'fast' }),
      made('changed', { class: 'slow' }),
      made('unwanted', {}),
      { ...terminating, metadata: { ...terminating.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    ]
    expect(
      brief(planGroup(observedGroup(observed), responseWith([...wanted, snapshot('new')], kinds), provenance)),
    ).toEqual([
      'delete unwanted NotWanted',
      'keep kept Unchanged',
      'update changed Changed',
      'keep terminating Terminating',
      'create new Missing',
    ])
  })

  test.each([
    ['OnDelete', ['keep s Drift']],
    ['Recreate', ['delete s Recreate']],
    ['InPlace', ['update s Changed']],
  ] as const)('does to an output that differs what %s says', (how, expected) => {
    const kinds = [snapshots(how)]
    const observed = carriedOut(
      [],
      planGroup(observedGroup([]), responseWith([snapshot('s', { class: 'slow' })], kinds), provenance),
    )
    expect(
      brief(planGroup(observedGroup(observed), responseWith([snapshot('s', { class: 'fast' })], kinds), provenance)),
    ).toEqual(expected)
  })

  test('updates an output when another manager changed one of our fields', () => {
    const kinds = [snapshots('InPlace')]
    const [mine] = carriedOut(
      [],
      planGroup(observedGroup([]), responseWith([snapshot('s', { class: 'fast' })], kinds), provenance),
    )
    const theirs = {
      apiVersion: mine!.apiVersion,
      kind: mine!.kind,
      metadata: { name: 's', namespace: 'app' },
      spec: { class: 'slow' },
    }
    expect(
      brief(
        planGroup(
          observedGroup([applied(mine, theirs, 'others')]),
          responseWith([snapshot('s', { class: 'fast' })], kinds),
          provenance,
        ),
      ),
    ).toEqual(['update s Changed'])
  })

  test.each(['OnDelete', 'Recreate'] as const)(
    'keeps an output under %s that others changed and changed back, or that has a new default in its configuration',
    (how) => {
      const kinds = [snapshots(how)]
      const wanted = responseWith([snapshot('s', { class: 'fast' })], kinds)
      const [mine] = carriedOut([], planGroup(observedGroup([]), wanted, provenance))
      const theirs = (spec: object): KubeObject => ({
        apiVersion: mine!.apiVersion,
        kind: mine!.kind,
        metadata: { name: 's', namespace: 'app' },
        spec,
      })
      const back = applied(applied(mine, theirs({ class: 'slow' }), 'others'), theirs({ class: 'fast' }), 'others')
      expect(brief(planGroup(observedGroup([back]), wanted, provenance))).toEqual(['keep s Unchanged'])
      const defaulted = applied(mine, theirs({ size: 1 }), 'others')
      const named = responseWith([snapshot('s', { class: 'fast', size: 1 })], kinds)
      expect(brief(planGroup(observedGroup([defaulted]), named, provenance))).toEqual(['keep s Unchanged'])
      const less = responseWith([snapshot('s', {})], kinds)
      expect(isEmptyPlan(planGroup(observedGroup([mine!]), less, provenance))).toBe(how === 'OnDelete')
    },
  )

  test('does not recreate an output when the server normalizes a value', () => {
    const kinds = [snapshots('Recreate')]
    const [made] = carriedOut(
      [],
      planGroup(observedGroup([]), responseWith([snapshot('s', { size: '1000m' })], kinds), provenance),
    )
    expect(
      isEmptyPlan(
        planGroup(
          observedGroup([{ ...made!, spec: { size: '1' } }]),
          responseWith([snapshot('s', { size: '1000m' })], kinds),
          provenance,
        ),
      ),
    ).toBe(true)
  })

  test('refuses names of objects that it does not own, and names their owner', () => {
    const kinds = [configMaps]
    const stranger = (metadata: object): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'c', namespace: 'app', uid: 'u', ...metadata },
    })
    const wanted = responseWith([{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }], kinds)
    const messageFor = (existing: KubeObject): string =>
      planGroup(observedGroup([], [existing]), wanted, provenance).map((action) =>
        'message' in action ? `${action.reason}: ${action.message}` : action.op,
      )[0] ?? ''
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'other', controller: true }
    expect(messageFor(stranger({}))).toBe(
      'NameTaken: ConfigMap/app/c exists already and is not owned by this parent; it was left as it is. Rename one of the two, or delete it',
    )
    expect(messageFor(stranger({ ownerReferences: [reference] }))).toContain('belongs to Deployment web')
    expect(messageFor(stranger({ ownerReferences: [{ ...reference, uid: owner.metadata.uid }] }))).toContain(
      'does not carry the tag of this controller',
    )
    expect(messageFor(outputOf(claim('b'), owner, stranger({}), configMaps))).toContain(
      'OtherGroup: ConfigMap/app/c is wanted for this input, but it is an output of PersistentVolumeClaim/app/b',
    )
  })
})

describe('planDetached', () => {
  const outputs = ['s1', 's2'].map((name) => outputOf(input, owner, snapshot(name)))

  test('deletes all outputs without a hook, and those that the hook does not keep', () => {
    expect(brief(planDetached(observedGroup(outputs), undefined))).toEqual(['delete s1 Detached', 'delete s2 Detached'])
    const keep = new Set([
      'VolumeSnapshot.snapshot.example.com/app/s2',
      'VolumeSnapshot.snapshot.example.com/app/elsewhere',
    ])
    expect(brief(planDetached(observedGroup(outputs), { keep, resyncAfterSeconds: undefined, events: [] }))).toEqual([
      'delete s1 Detached',
      'keep s2 Kept',
    ])
  })

  test('keeps outputs as Held while deletes are not allowed', () => {
    expect(brief(planDetached(observedGroup(outputs, [], false), undefined))).toEqual(['keep s1 Held', 'keep s2 Held'])
  })
})

describe('nextStep', () => {
  const facts: GroupFacts = {
    parent: owner,
    input,
    outputs: [snapshot('s')],
    outputsKnown: true,
    inputsKnown: true,
    hasTombstoneHook: true,
  }
  const terminating = parent({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })

  test.each<[string, Partial<GroupFacts>, string]>([
    ['asks the map hook for an input', {}, 'map'],
    ['asks the map hook although other inputs are unknown', { inputsKnown: false }, 'map'],
    ['asks the tombstone hook without an input', { input: undefined }, 'tombstone'],
    ['deletes without an input and a hook', { input: undefined, hasTombstoneHook: false }, 'delete'],
    ['waits while the input may only be unknown', { input: undefined, inputsKnown: false }, 'wait'],
    ['waits while outputs are unknown', { outputsKnown: false }, 'wait'],
    ['stops at the end of a chain', { input: 'stopped' }, 'stop'],
    ['does nothing for a parent on its way out', { parent: terminating, input: undefined }, 'nothing'],
    ['does nothing where nothing is', { input: undefined, outputs: [] }, 'nothing'],
  ])('%s', (_title, change, step) => {
    expect(nextStep({ ...facts, ...change })).toBe(step)
  })

  const anyFacts = fc.record({
    parent: fc.constantFrom(owner, terminating),
    input: fc.constantFrom(input, 'stopped' as const, undefined),
    outputs: fc.constantFrom([], [snapshot('s')]),
    outputsKnown: fc.boolean(),
    inputsKnown: fc.boolean(),
    hasTombstoneHook: fc.boolean(),
  })
  property.prop([anyFacts])('reaches delete and tombstone only with everything known and the input deleted', (any) => {
    const step = nextStep(any)
    if (step !== 'delete' && step !== 'tombstone') return
    expect(any).toMatchObject({ parent: owner, input: undefined, outputsKnown: true, inputsKnown: true })
  })
})

describe('configurationOf', () => {
  const wanted = (metadata: object, more: object = {}): Configuration =>
    configurationOf(
      {
        identity: identityOf(snapshot('s')),
        kind: snapshots('InPlace'),
        object: { ...snapshot('s', { class: 'fast' }, metadata), ...more },
      },
      provenance,
    )

  test('takes from a response only the fields that a hook may set, and adds tag and owner', () => {
    const foreign = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'n' }
    const controller = { ...foreign, uid: 'c', controller: true }
    const { object, digest } = wanted(
      {
        uid: 'u',
        resourceVersion: '5',
        creationTimestamp: null,
        labels: { a: 'b', 'metacontroller.k8s.io/map-key': 'forged' },
        ownerReferences: [foreign, controller],
        managedFields: [],
      },
      { status: { ready: true } },
    )
    expect(object).toEqual({
      apiVersion: 'snapshot.example.com/v1',
      kind: 'VolumeSnapshot',
      metadata: {
        name: 's',
        namespace: 'app',
        labels: { a: 'b', 'metacontroller.k8s.io/map-key': provenance.tag.mapKey },
        annotations: {
          'metacontroller.k8s.io/map-controller': 'schedules',
          'metacontroller.k8s.io/map-parent': 'SnapshotSchedule.schedule.example.com/app/nightly',
          'metacontroller.k8s.io/map-input': 'PersistentVolumeClaim/app/a',
          'metacontroller.k8s.io/map-hops': '1',
          'metacontroller.k8s.io/map-applied': digest,
          'metacontroller.k8s.io/map-seen': 'seen',
        },
        ownerReferences: [
          foreign,
          {
            apiVersion: owner.apiVersion,
            kind: owner.kind,
            name: 'nightly',
            uid: 'parent-uid',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      spec: { class: 'fast' },
    })
  })

  test('has the same digest for the same output, whatever the order of its fields', () => {
    const plain = wanted({}).digest
    expect([wanted({ uid: 'u' }).digest, wanted({}, { status: {} }).digest, wanted({ labels: {} }).digest]).toEqual([
      plain,
      plain,
      plain,
    ])
    expect(wanted({ labels: { a: 'b' } }).digest).not.toBe(plain)
  })
})
