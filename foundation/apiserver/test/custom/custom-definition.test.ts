// Resource definitions of CRDs, and their lifecycle: pure functions.
import { describe, expect, test } from 'vitest'
import type { FieldError, JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { compareVersions, formatFieldError } from '@fairlead/kube'
import type { RuleEngine } from '@fairlead/apiserver'
import type { WriteContext } from '@fairlead/builtin-kinds'
import { customResourceStrategy, nextStep, resourceDefinitionFrom } from '@fairlead/apiserver'

const now = '2026-01-01T00:00:00Z'
const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

type Fields = Readonly<Record<string, unknown>>

function crd(version: Fields = {}, more: { spec?: Fields; status?: Fields; metadata?: Fields } = {}): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com', uid: 'u', ...more.metadata },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: anything }, ...version }],
      ...more.spec,
    },
    status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'], ...more.status },
  }
}

const context: WriteContext = {
  user: { name: 'u', groups: [] },
  now: 0,
  apiVersion: 'example.com/v1',
  subresource: '',
  dryRun: false,
  newUid: () => 'uid',
  read: () => undefined,
}

const widget = (more: Fields = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', creationTimestamp: '2025-12-31T00:00:00Z' },
  ...more,
})

test('versions are in Kubernetes’ order of preference', () => {
  const names = ['foo1', 'v1alpha1', 'v2', 'v1', 'v11', 'v1beta2', 'v1beta1', 'v10beta1', 'bar', 'v0', 'v2alpha1']
  expect(names.toSorted(compareVersions)).toEqual([
    'v11',
    'v2',
    'v1',
    'v10beta1',
    'v1beta2',
    'v1beta1',
    'v2alpha1',
    'v1alpha1',
    'bar',
    'foo1',
    'v0',
  ])
})

describe('resourceDefinitionFrom', () => {
  test('prefers accepted names over requested ones', () => {
    const accepted = {
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
      shortNames: ['w'],
      categories: ['all'],
    }
    const wanted = { ...accepted, shortNames: ['w', 'taken'] }
    const {
      strategy: _strategy,
      versions,
      ...definition
    } = resourceDefinitionFrom(crd({}, { spec: { names: wanted }, status: { acceptedNames: accepted } }))
    expect(definition).toMatchObject({ group: 'example.com', ...accepted, namespaced: true, storageVersion: 'v1' })
    expect(versions).toHaveLength(1)
  })

  test('has the subresources, the deprecation and the selectable fields of its version', () => {
    const scale = { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n' }
    const [version] = resourceDefinitionFrom(
      crd({
        subresources: { status: {}, scale },
        deprecated: true,
        selectableFields: [{ jsonPath: '.spec.color' }, { jsonPath: '.spec.size' }],
      }),
    ).versions
    expect(version).toMatchObject({
      subresources: [
        { name: 'status', kind: 'Widget', verbs: ['get', 'patch', 'update'] },
        { name: 'scale', kind: 'Scale', groupVersion: 'autoscaling/v1', verbs: ['get', 'patch', 'update'] },
      ],
      scale,
      deprecationWarning: 'example.com/v1 Widget is deprecated',
    })
    const object = widget({ spec: { size: 3 } })
    expect(Object.entries(version!.selectableFields).map(([name, read]) => [name, read(object)])).toEqual([
      ['spec.color', ''],
      ['spec.size', '3'],
    ])
  })
})

describe('tables of custom resources', () => {
  const cells = (columns: readonly Fields[], object: KubeObject): readonly unknown[] =>
    resourceDefinitionFrom(crd({ additionalPrinterColumns: columns })).versions[0]!.printer.cells(
      object,
      Date.parse(now),
    )

  test('show the age where no columns are declared', () => {
    const { printer } = resourceDefinitionFrom(crd()).versions[0]!
    expect(printer.columns.map(({ name, type, format, priority }) => ({ name, type, format, priority }))).toEqual([
      { name: 'Name', type: 'string', format: 'name', priority: 0 },
      { name: 'Age', type: 'date', format: '', priority: 0 },
    ])
    expect(printer.cells(widget(), Date.parse(now))).toEqual(['w', '24h'])
  })

  test.each<[string, JsonValue | undefined, unknown]>([
    ['string', 'x', 'x'],
    ['string', 3, '3'],
    ['string', { a: [1] }, '{"a":[1]}'],
    ['string', undefined, null],
    ['integer', 2.9, 2],
    ['integer', 'x', null],
    ['number', 2.5, 2.5],
    ['boolean', true, true],
    ['boolean', 'true', null],
    ['date', '2025-12-31T23:59:30Z', '30s'],
    ['date', 'yesterday', '<invalid>'],
    ['date', '', '<unknown>'],
    ['integer', null, null],
  ])('show %s %j as %j', (type, value, expected) => {
    const object = widget({ spec: value === undefined ? {} : { v: value } })
    expect(cells([{ name: 'V', type, jsonPath: '.spec.v' }], object)).toEqual(['w', expected])
  })
})

describe('customResourceStrategy', () => {
  const scaled = {
    subresources: {
      scale: { specReplicasPath: '.spec.n', statusReplicasPath: '.status.n', labelSelectorPath: '.status.sel' },
    },
  }
  const validate = async (version: Fields, object: KubeObject, engine?: RuleEngine): Promise<string[]> => {
    const strategy = customResourceStrategy(crd(version) as Parameters<typeof customResourceStrategy>[0], engine)
    return ((await strategy.validate?.(object, context)) ?? []).map(formatFieldError)
  }

  test('checks kind and apiVersion of an object first', async () => {
    expect(await validate(scaled, { ...widget({ spec: { n: -1 } }), kind: 'Gadget' })).toEqual([
      'kind: Invalid value: "Gadget": must be Widget',
    ])
  })

  test.each<[Fields, string[]]>([
    [{ spec: { n: 2 }, status: { n: 0, sel: 'a=b' } }, []],
    [{ spec: {} }, []],
    [{ spec: { n: -1 } }, ['.spec.n: Invalid value: -1: should be a non-negative integer']],
    [{ spec: { n: 2147483648 } }, ['.spec.n: Invalid value: 2147483648: should be less than or equal to 2147483647']],
    [
      { spec: { n: 'x' } },
      ['.spec.n: Invalid value: 0: .spec.n accessor error: x is of the type string, expected int64'],
    ],
    [
      { spec: 'x' },
      ['.spec.n: Invalid value: 0: .spec accessor error: x is of the type string, expected map[string]interface{}'],
    ],
    [
      { status: { sel: 1 } },
      ['.status.sel: Invalid value: "": .status.sel accessor error: 1 is of the type int64, expected string'],
    ],
  ])('checks replicas and selector of %j', async (fields, expected) => {
    expect(await validate(scaled, widget(fields))).toEqual(expected)
  })

  test('skips CEL rules for a malformed object', async () => {
    const engine: RuleEngine = {
      compile: () => [],
      rulesOf: () => ({
        validate: (): readonly FieldError[] => [{ type: 'FieldValueInvalid', field: 'spec', detail: 'by rule' }],
      }),
    }
    const schema = {
      type: 'object',
      properties: { spec: { type: 'object', properties: { a: { type: 'integer', minimum: 1 } } } },
    }
    const version = { schema: { openAPIV3Schema: schema } }
    expect(await validate(version, widget({ spec: { a: 1 } }), engine)).toEqual(['spec: Invalid value: by rule'])
    expect(await validate(version, widget({ spec: { a: 0 } }), engine)).toEqual([
      'spec.a: Invalid value: 0: spec.a in body should be greater than or equal to 1',
      'spec: Invalid value: by rule',
    ])
    expect(await validate(version, widget({ spec: { a: 'x' } }), engine)).toEqual([
      'spec.a: Invalid value: "string": spec.a in body must be of type integer: "string"',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ])
  })
})

describe('nextStep', () => {
  const finalizer = 'customresourcecleanup.apiextensions.k8s.io'
  const names = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' }
  const established = { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message: '' }
  const inProgress = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionInProgress',
    message: '',
    lastTransitionTime: now,
  }
  const dying = (conditions: readonly Fields[], finalizers: readonly string[] = [finalizer]): KubeObject =>
    crd({}, { metadata: { deletionTimestamp: now, finalizers }, status: { conditions, acceptedNames: names } })
  const reasonsIn = (object: JsonObject): unknown =>
    ((object['status'] as JsonObject)['conditions'] as unknown as readonly { type: string; reason: string }[]).map(
      ({ type, reason }) => `${type} ${reason}`,
    )

  test('rests when a definition has its accepted names', () => {
    expect(nextStep({ crd: crd({}, { status: { acceptedNames: names } }), siblings: [], instances: 0, now })).toEqual({
      step: 'rest',
    })
  })

  test.each<[string, Fields, string]>([
    ['plural', { plural: 'widgets' }, 'PluralConflict'],
    ['singular held as a short name', { shortNames: ['widget'] }, 'SingularConflict'],
    ['kind', { kind: 'Widget' }, 'KindConflict'],
    ['list kind held as a kind', { kind: 'WidgetList' }, 'ListKindConflict'],
  ])('does not establish a definition whose %s is taken', (_, held, reason) => {
    const sibling = crd({}, { metadata: { name: 'other.example.com' }, status: { acceptedNames: held } })
    const step = nextStep({ crd: crd(), siblings: [sibling], instances: 0, now })
    expect(step.step === 'write' && reasonsIn(step.object)).toEqual([
      `NamesAccepted ${reason}`,
      'Established NotAccepted',
    ])
  })

  test('keeps accepted names when new ones conflict', () => {
    const wanted = { ...names, shortNames: ['mine', 'taken'] }
    const mine = crd(
      {},
      {
        spec: { names: wanted },
        status: { conditions: [established], acceptedNames: { ...names, shortNames: ['mine'] } },
      },
    )
    const sibling = crd({}, { status: { acceptedNames: { plural: 'taken' } } })
    const step = nextStep({ crd: mine, siblings: [sibling], instances: 0, now })
    expect(step.step === 'write' && step.object['status']).toMatchObject({
      acceptedNames: { shortNames: ['mine'] },
      conditions: [
        established,
        { type: 'NamesAccepted', status: 'False', reason: 'ShortNamesConflict', message: '"taken" is already in use' },
      ],
    })
  })

  test('reports InstanceDeletionInProgress, deletes the instances, then removes the finalizer', () => {
    const first = nextStep({ crd: dying([established]), siblings: [], instances: 2, now })
    expect(first.step === 'write' && reasonsIn(first.object)).toEqual([
      'Established InitialNamesAccepted',
      'Terminating InstanceDeletionInProgress',
    ])
    expect(nextStep({ crd: dying([established, inProgress]), siblings: [], instances: 2, now })).toEqual({
      step: 'delete-instances',
    })
    const last = nextStep({
      crd: dying([established, inProgress], ['a/b', finalizer]),
      siblings: [],
      instances: 0,
      now,
    })
    expect(
      last.step === 'write' && [reasonsIn(last.object), (last.object['metadata'] as JsonObject)['finalizers']],
    ).toEqual([['Established InitialNamesAccepted', 'Terminating InstanceDeletionCompleted'], ['a/b']])
  })

  test('removes the finalizer of a definition that was never established, and waits for other finalizers', () => {
    const step = nextStep({ crd: dying([]), siblings: [], instances: 0, now })
    expect(step.step === 'write' && reasonsIn(step.object)).toEqual(['Terminating NeverEstablished'])
    expect(nextStep({ crd: dying([established], ['a/b']), siblings: [], instances: 0, now })).toEqual({ step: 'rest' })
  })

  test('rests after its own write', () => {
    const step = nextStep({ crd: crd(), siblings: [], instances: 0, now })
    const object = (step as { object: JsonObject }).object as unknown as KubeObject
    expect(nextStep({ crd: object, siblings: [], instances: 0, now })).toEqual({ step: 'rest' })
  })
})
