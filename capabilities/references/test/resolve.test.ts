// Resolution of references: spellings, readiness, grants, cycles, values that stay.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import { referencesCondition, resolveReferences } from '../src/index.ts'
import type { Dependent, Lookup, Permission, ReferenceRow, Referents, ResolvedReference } from '../src/index.ts'
import { ReferenceIndex, edgesOf } from '../src/index.ts'

const row: ReferenceRow = {
  fieldPath: 'endpointConfigName',
  refPath: 'endpointConfigNameRef',
  list: false,
  required: true,
  group: 'sagemaker.services.k8s.aws',
  version: 'v1alpha1',
  kind: 'EndpointConfig',
  valuePath: 'spec.endpointConfigName',
  waitFor: 'Synced',
  bothSet: 'prefer_external',
}
const id = { group: 'sagemaker.services.k8s.aws', kind: 'Endpoint', namespace: 'a', name: 'ep' }

interface Given {
  readonly generation?: number
  readonly observed?: number
  readonly synced?: 'True' | 'False'
  readonly terminal?: 'True'
  readonly deleting?: true
  readonly value?: string
  readonly namespace?: string
}

function config({
  generation = 1,
  observed = 1,
  synced = 'True',
  terminal,
  deleting,
  value = 'ec-1',
  namespace = 'a',
}: Given): KubeObject {
  return {
    apiVersion: 'sagemaker.services.k8s.aws/v1alpha1',
    kind: 'EndpointConfig',
    metadata: {
      name: 'ec',
      namespace,
      uid: 'u1',
      generation,
      ...(deleting ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { endpointConfigName: value },
    status: {
      conditions: [
        { type: 'ACK.ResourceSynced', status: synced, observedGeneration: observed, reason: '', message: '' },
        ...(terminal ? [{ type: 'ACK.Terminal', status: 'True', reason: '', message: 'quota' }] : []),
      ],
    },
  }
}

function referents(found: Lookup, permission: Permission = 'denied'): Referents {
  return { read: () => found, permission: () => permission, cycle: () => undefined }
}

function dependent(spec: JsonObject, stored: readonly ResolvedReference[] = []): Dependent {
  return { id, spec, stored, exists: stored.length > 0 }
}

const ref = (reference: JsonObject | null): JsonObject => ({ endpointName: 'e', endpointConfigNameRef: reference })

describe('spellings of a reference', () => {
  const found: Lookup = { state: 'found', object: config({}) }
  test.each<[string, JsonObject, string | undefined]>([
    ['name', { name: 'ec' }, 'ec-1'],
    ['name with an empty namespace', { name: 'ec', namespace: '' }, 'ec-1'],
    ['from', { from: { name: 'ec' } }, 'ec-1'],
    ['kubernetesReference', { kubernetesReference: { name: 'ec', namespace: 'a' } }, 'ec-1'],
    ['external', { external: 'x' }, 'x'],
    ['external identifiers', { externalIdentifiers: { name: 'x' } }, 'x'],
    ['nothing', {}, undefined],
    ['a namespace alone', { namespace: 'a' }, undefined],
    ['an empty from', { from: {} }, undefined],
    ['two spellings', { name: 'ec', external: 'x' }, undefined],
    ['a namespace beside from', { from: { name: 'ec' }, namespace: 'a' }, undefined],
    ['an ARN as a name', { name: 'arn:aws:iam::1:role/r' }, undefined],
    ['a number as a name', { name: 3 }, undefined],
    ['two identifiers', { externalIdentifiers: { name: 'x', arn: 'y' } }, undefined],
  ])('reads %s', (_, reference, value) => {
    const outcome = resolveReferences(dependent(ref(reference)), [row], referents(found))
    expect(outcome.spec?.['endpointConfigName']).toBe(value)
    const { status, reason } = referencesCondition('ACK.ReferencesResolved', outcome) ?? {}
    expect([status, reason]).toEqual(value === undefined ? ['False', 'InvalidReference'] : ['True', 'Resolved'])
  })

  test('a name that is an ARN says how to refer to it', () => {
    const { problems } = resolveReferences(dependent(ref({ name: 'arn:aws:x' })), [row], referents(found))
    expect(problems[0]?.message).toContain('set external')
  })

  test('a name that is an identifier of the cloud says how to refer to it while there is no such object', () => {
    const absent = referents({ state: 'absent' })
    const { problems } = resolveReferences(dependent(ref({ name: 'sg-0123456789abcdef0' })), [row], absent)
    expect(problems[0]?.reason).toBe('ReferentNotFound')
    expect(problems[0]?.message).toContain('set external')
    const usual = resolveReferences(dependent(ref({ name: 'web-config' })), [row], absent)
    expect(usual.problems[0]?.message).not.toContain('set external')
  })

  test('a Secret is never a source', () => {
    const secret = { ...row, group: '', kind: 'Secret', valuePath: 'data.password' }
    const { problems, spec } = resolveReferences(dependent(ref({ name: 'ec' })), [secret], referents(found))
    expect([problems[0]?.reason, spec]).toEqual(['InvalidReference', undefined])
  })
})

describe('readiness of a referent', () => {
  test.each<[string, Lookup, string, string]>([
    [
      'an unknown kind',
      { state: 'unknown', message: 'is of a kind that cannot be listed' },
      'Unknown',
      'ReferentKindUnavailable',
    ],
    ['no object', { state: 'absent' }, 'Unknown', 'ReferentNotFound'],
    [
      'a deletion',
      { state: 'found', object: config({ deleting: true, terminal: 'True' }) },
      'Unknown',
      'ReferentDeleting',
    ],
    ['Terminal before Synced', { state: 'found', object: config({ terminal: 'True' }) }, 'False', 'ReferentTerminal'],
    ['an older generation', { state: 'found', object: config({ generation: 2 }) }, 'Unknown', 'ReferentNotReady'],
    ['not synced', { state: 'found', object: config({ synced: 'False' }) }, 'Unknown', 'ReferentNotReady'],
    ['an empty value', { state: 'found', object: config({ value: '' }) }, 'Unknown', 'ValueMissing'],
  ])('%s is a condition and nothing is sent', (_, found, status, reason) => {
    const outcome = resolveReferences(dependent(ref({ name: 'ec' })), [row], referents(found))
    expect(outcome.spec).toBeUndefined()
    expect(referencesCondition('ACK.ReferencesResolved', outcome, 3)).toMatchObject({
      status,
      reason,
      observedGeneration: 3,
    })
    expect(outcome.references).toMatchObject([{ path: 'endpointConfigName', state: reason }])
  })

  test('what exists keeps the last value of the same referent, and only of that', () => {
    const stored = [
      {
        path: 'endpointConfigName',
        value: 'old',
        referent: { ...id, kind: 'EndpointConfig', name: 'ec' },
        state: 'Resolved',
      },
    ]
    const kept = resolveReferences(dependent(ref({ name: 'ec' }), stored), [row], referents({ state: 'absent' }))
    expect(kept.spec?.['endpointConfigName']).toBe('old')
    expect(kept.problems[0]?.reason).toBe('ReferentNotFound')
    const other = resolveReferences(dependent(ref({ name: 'other' }), stored), [row], referents({ state: 'absent' }))
    expect(other.spec).toBeUndefined()
  })
})

describe('references to another namespace', () => {
  const spec = ref({ name: 'ec', namespace: 'b' })
  test.each<[Permission, string, string | undefined]>([
    ['open', 'Resolved', 'ec-1'],
    ['granted', 'Resolved', 'ec-1'],
    ['denied', 'CrossNamespaceDenied', undefined],
    ['unknown', 'ReferentKindUnavailable', undefined],
  ])('%s', (permission, reason, value) => {
    let reads = 0
    const given = { ...referents({ state: 'found', object: config({ namespace: 'b' }) }, permission) }
    const counting: Referents = { ...given, read: (...args) => (reads++, given.read(...args)) }
    const outcome = resolveReferences(dependent(spec), [row], counting)
    expect(outcome.spec?.['endpointConfigName']).toBe(value)
    expect(referencesCondition('ACK.ReferencesResolved', outcome)?.reason).toBe(reason)
    expect(reads).toBe(value === undefined ? 0 : 1)
    // Only what the namespace has not allowed may stop to cross.
    expect(outcome.advisories.map((one) => one.reason)).toEqual(
      permission === 'open' ? ['CrossNamespaceOptInRequired'] : [],
    )
  })
})

describe('lists and nested fields', () => {
  const nested: ReferenceRow = {
    ...row,
    fieldPath: 'variants[].modelName',
    refPath: 'variants[].modelNameRef',
    required: false,
  }
  const list: ReferenceRow = { ...row, fieldPath: 'names', refPath: 'nameRefs', list: true, required: false }
  const found: Lookup = { state: 'found', object: config({}) }

  test('items of a list are resolved one by one, plain values stay', () => {
    const spec = { variants: [{ modelNameRef: { name: 'ec' } }, { modelName: 'plain' }, {}] }
    const outcome = resolveReferences(dependent(spec as unknown as JsonObject), [nested], referents(found))
    expect(outcome.spec).toEqual({
      variants: [{ modelNameRef: { name: 'ec' }, modelName: 'ec-1' }, { modelName: 'plain' }, {}],
    })
    expect(spec.variants[0]).toEqual({ modelNameRef: { name: 'ec' } })
  })

  test('a list of references is complete or absent', () => {
    const spec: JsonObject = { nameRefs: [{ name: 'ec' }, { external: 'x' }, { name: 'ec' }] }
    expect(resolveReferences(dependent(spec), [list], referents(found)).spec?.['names']).toEqual(['ec-1', 'x', 'ec-1'])
    const missing = resolveReferences(dependent(spec), [list], referents({ state: 'absent' }))
    expect([missing.spec, missing.problems.length]).toEqual([undefined, 2])
  })

  const reference = fc.oneof(
    fc.record({ name: fc.constantFrom('ec', 'x') }),
    fc.record({ external: fc.string({ minLength: 1 }) }),
    fc.jsonValue() as fc.Arbitrary<JsonObject>,
  )
  property.prop([fc.array(reference), fc.option(fc.string(), { nil: undefined })])(
    'any input is resolved or has a problem, and the input is never changed',
    (references, plain) => {
      const spec = { nameRefs: references, ...(plain === undefined ? {} : { names: [plain] }) } as JsonObject
      const before = JSON.stringify(spec)
      const outcome = resolveReferences(dependent(spec), [list], referents(found))
      expect(JSON.stringify(spec)).toBe(before)
      expect(outcome.spec === undefined).toBe(outcome.problems.length > 0)
    },
  )
})

describe('cycles of objects', () => {
  const peer = (waitFor: 'Synced' | 'Value'): ReferenceRow => ({
    ...row,
    fieldPath: 'peerID',
    refPath: 'peerRef',
    group: 'g',
    kind: 'Group',
    valuePath: 'status.groupID',
    required: false,
    waitFor,
  })
  const group = (name: string): Dependent['id'] => ({ group: 'g', kind: 'Group', namespace: 'a', name })
  function outcome(
    waitFor: 'Synced' | 'Value',
    other: 'Synced' | 'Value' = waitFor,
  ): ReturnType<typeof resolveReferences> {
    const index = new ReferenceIndex()
    const spec = { peerRef: { name: 'b' } }
    index.set(group('a'), edgesOf(group('a'), spec, [peer(waitFor)]))
    index.set(group('b'), edgesOf(group('b'), { peerRef: { name: 'a' } }, [peer(other)]))
    return resolveReferences({ id: group('a'), spec, stored: [], exists: false }, [peer(waitFor)], {
      ...referents({ state: 'absent' }),
      cycle: (from, to) => index.cycle(from, to),
    })
  }

  test('references that wait for Synced are a cycle, with its objects', () => {
    const [problem] = outcome('Synced').problems
    expect([problem?.reason, problem?.message]).toEqual([
      'ReferenceCycle',
      expect.stringContaining('Group a/a, Group a/b'),
    ])
  })

  test('references that wait for values are left out of the creation', () => {
    const { deferred, problems, spec } = outcome('Value')
    expect({ deferred, problems, spec }).toEqual({
      deferred: ['peerID'],
      problems: [],
      spec: { peerRef: { name: 'b' } },
    })
  })

  test('one reference that waits for Synced makes it a cycle while nothing is there', () => {
    expect(outcome('Value', 'Synced').problems[0]?.reason).toBe('ReferenceCycle')
  })
})
