// Ownership of fields after server-side apply and updates; the expectations are from the recordings' area `apply`.
import { describe, expect, test } from 'vitest'
import {
  applyServerSide,
  asJson,
  asObject,
  deepFreeze,
  fieldManagerOf,
  formatFieldError,
  isConflict,
  keepUnchangedTimes,
  lastAppliedAnnotation,
  managedFieldsOfParent,
  managedFieldsOfScale,
  resetFieldsOf,
  StatusError,
  structuralSchema,
  trackUpdate,
  validateFieldManager,
  validateManagedFields,
} from '@fairlead/kube'
import type {
  ApplyRequest,
  JsonObject,
  KubeObject,
  ManagedFieldsEntry,
  SchemaNode,
  TypeSchema,
  UpdateRequest,
} from '@fairlead/kube'

const text: SchemaNode = { type: 'string' }

/** The schema of the recordings' Widget. */
const widget: TypeSchema = structuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        replicas: { type: 'integer' },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            required: ['port'],
            properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' }, name: text },
          },
        },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        atomic: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: text },
        plain: { type: 'array', items: { type: 'object', properties: { a: text } } },
        amap: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { x: text, y: text } },
        gmap: { type: 'object', additionalProperties: text },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        ios: { 'x-kubernetes-int-or-string': true },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: text,
        conditions: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['type'],
          items: { type: 'object', properties: { type: text, status: text } },
        },
      },
    },
  },
})

/** One object on a server: each apply or update is a second later than the one before. */
class Subject {
  live: KubeObject | undefined
  #second = 0
  readonly #schema: TypeSchema

  constructor(schema: TypeSchema = widget) {
    this.#schema = schema
  }

  #now(): string {
    return new Date(Date.UTC(2026, 0, 1, 0, 0, this.#second++)).toISOString().replace('.000Z', 'Z')
  }

  apply(manager: string, body: JsonObject, options: Partial<ApplyRequest> = {}): this {
    const applied = asObject({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      ...body,
      metadata: { name: 'w', ...(body.metadata as JsonObject) },
    })
    const common = { live: this.live, schemaFor: () => this.#schema, manager, now: this.#now() }
    this.live = stored(applyServerSide({ ...common, applied, force: false, ...options }), this.live)
    return this
  }

  update(manager: string, body: JsonObject, options: Partial<UpdateRequest> = {}): this {
    const updated = asObject({
      ...this.live,
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', ...this.live?.metadata },
      ...body,
    })
    const common = { live: this.live, schemaFor: () => this.#schema, manager, now: this.#now() }
    this.live = stored(trackUpdate({ ...common, updated, ...options }), this.live)
    return this
  }

  get managers(): unknown {
    return this.live!.metadata.managedFields?.map(({ manager, operation, subresource, time, fieldsV1 }) => [
      [manager, operation, ...(subresource ? [subresource] : []), ...(time === undefined ? ['no time'] : [])].join(' '),
      fieldsV1,
    ])
  }
}

function stored(object: KubeObject, before: KubeObject | undefined): KubeObject {
  return { ...object, metadata: { ...object.metadata, uid: before?.metadata.uid ?? 'u' } }
}

function statusOf(run: () => unknown): readonly [number, string] {
  try {
    run()
  } catch (error) {
    if (error instanceof StatusError) return [error.code, error.message]
    throw error
  }
  throw new Error('was not refused')
}

function conflictsOf(run: () => unknown): unknown {
  try {
    run()
  } catch (error) {
    if (isConflict(error)) return error.status.details!.causes!.map(({ message, field }) => `${message}: ${field}`)
    throw error
  }
  return []
}

describe('applyServerSide', () => {
  test('owns the applied fields and removes those not applied any more', () => {
    const subject = new Subject().apply('m', { spec: { gmap: { k: 'v', l: 'w' } } })
    expect(subject.managers).toEqual([['m Apply', { 'f:spec': { 'f:gmap': { 'f:k': {}, 'f:l': {} } } }]])
    subject.apply('m', { spec: { gmap: { k: 'v' } } })
    expect(subject.live!.spec).toEqual({ gmap: { k: 'v' } })
    subject.apply('m', {})
    expect(subject.live).toEqual({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', uid: 'u' } })
  })

  test('shares equal fields among managers, and removes one with its last manager', () => {
    const subject = new Subject()
      .apply('one', { spec: { gmap: { k: 'v' } } })
      .apply('two', { spec: { gmap: { k: 'v', b: '2' } } })
    subject.apply('one', { spec: { gmap: {} } })
    expect(subject.live!.spec).toEqual({ gmap: { b: '2', k: 'v' } })
    expect(subject.managers).toEqual([
      ['one Apply', { 'f:spec': { 'f:gmap': {} } }],
      ['two Apply', { 'f:spec': { 'f:gmap': { 'f:b': {}, 'f:k': {} } } }],
    ])
    subject.apply('two', {})
    expect(subject.live!.spec).toEqual({ gmap: null })
  })

  test('a manager that changed nothing has no time', () => {
    const subject = new Subject().apply('one', { spec: { replicas: 1 } }).apply('two', { spec: { replicas: 1 } })
    expect(subject.managers).toEqual([
      ['two Apply no time', { 'f:spec': { 'f:replicas': {} } }],
      ['one Apply', { 'f:spec': { 'f:replicas': {} } }],
    ])
  })

  test('returns the live object itself when nothing changes', () => {
    const subject = new Subject().apply('one', { spec: { set: ['a'], ports: [{ port: 80 }], amap: { x: '1' } } })
    const live = deepFreeze(subject.live!)
    const applied = asObject({ ...asJson(live), metadata: { name: 'w' } })
    expect(
      applyServerSide({
        live,
        applied,
        schemaFor: () => widget,
        manager: 'one',
        force: false,
        now: '2027-01-01T00:00:00Z',
      }),
    ).toBe(live)
  })

  const conflicts: readonly (readonly [string, JsonObject, JsonObject, readonly string[]])[] = [
    ['a scalar', { replicas: 1 }, { replicas: 2 }, ['.spec.replicas']],
    ['an agreed scalar', { replicas: 1 }, { replicas: 1 }, []],
    ['a number and a string', { ios: '5%' }, { ios: 5 }, ['.spec.ios']],
    ['an atomic list', { atomic: ['a'] }, { atomic: ['b'] }, ['.spec.atomic']],
    ['a list without a type', { plain: [{ a: '1' }] }, { plain: [{ a: '2' }] }, ['.spec.plain']],
    ['an atomic map', { amap: { x: '1' } }, { amap: { y: '1' } }, ['.spec.amap']],
    ['different keys of a map', { gmap: { x: '1' } }, { gmap: { y: '1' } }, []],
    ['different items of a set', { set: ['a'] }, { set: ['b'] }, []],
    [
      'the same item of a list map',
      { ports: [{ port: 80, name: 'a' }] },
      { ports: [{ port: 80, protocol: 'TCP', name: 'b' }] },
      ['.spec.ports[port=80,protocol="TCP"].name'],
    ],
    ['free-form fields', { free: { a: { b: 1, c: 2 } } }, { free: { a: { b: 2, d: 1 } } }, ['.spec.free.a.b']],
    ['free-form lists', { free: { a: [1] } }, { free: { a: [2] } }, ['.spec.free.a']],
  ]
  test.each(conflicts)('detects conflicts of %s (%#)', (_, first, second, expected) => {
    const subject = new Subject().apply('one', { spec: first })
    expect(conflictsOf(() => subject.apply('two', { spec: second }))).toEqual(
      expected.map((path) => `conflict with "one": ${path}`),
    )
    subject.apply('two', { spec: second }, { force: true })
    expect(conflictsOf(() => subject.apply('two', { spec: second }))).toEqual([])
  })

  test('names updates with their version and subresources in conflicts', () => {
    const subject = new Subject().update('u', { spec: { replicas: 1 } })
    subject.update('s', { status: { phase: 'P' } }, { subresource: 'status' })
    expect(conflictsOf(() => subject.apply('a', { spec: { replicas: 2 }, status: { phase: 'Q' } }))).toEqual([
      'conflict with "s" with subresource "status" using example.com/v1: .status.phase',
      'conflict with "u" using example.com/v1: .spec.replicas',
    ])
  })

  const wrong: readonly (readonly [string, JsonObject, string])[] = [
    ['an unknown field', { spec: { junk: 1 } }, '.spec.junk: field not declared in schema'],
    ['unknown metadata', { metadata: { name: 'w', junk: 1 } }, '.metadata.junk: field not declared in schema'],
    ['a duplicate item of a set', { spec: { set: ['a', 'a'] } }, '.spec.set: duplicate entries for key [="a"]'],
    [
      'a duplicate item of a list map',
      { spec: { ports: [{ port: 80 }, { port: 80, protocol: 'TCP' }] } },
      '.spec.ports: duplicate entries for key [port=80,protocol="TCP"]',
    ],
    [
      'a string for a number',
      { spec: { replicas: '1' } },
      '.spec.replicas: expected numeric (int or float), got string',
    ],
    [
      'a number for a string',
      { spec: { gmap: { a: 1 } } },
      '.spec.gmap.a: expected string, got &value.valueUnstructured{Value:1}',
    ],
    ['a list for a map', { spec: { gmap: ['a'] } }, '.spec.gmap: expected map, got &{[a]}'],
    ['a map for a list', { spec: { set: { a: 1 } } }, '.spec.set: expected list, got &{map[a:1]}'],
    [
      'a null in a set',
      { spec: { set: [null] } },
      `.spec.set: element 0: associative list without keys has an element that's an explicit null`,
    ],
    [
      'a scalar in a list map',
      { spec: { ports: [1] } },
      '.spec.ports: element 0: associative list with keys may not have non-map elements',
    ],
  ]
  test.each(wrong)('rejects %s', (_, body, finding) => {
    const message = `failed to create typed patch object (/w; example.com/v1, Kind=Widget): ${finding}`
    expect(statusOf(() => new Subject().apply('m', body))).toEqual([500, message])
  })

  test('lists several errors on separate lines', () => {
    expect(statusOf(() => new Subject().apply('m', { spec: { replicas: 'x', set: ['a', 'a'] } }))[1]).toEqual(
      [
        'failed to create typed patch object (/w; example.com/v1, Kind=Widget): errors:',
        '  .spec.replicas: expected numeric (int or float), got string',
        '  .spec.set: duplicate entries for key [="a"]',
      ].join('\n'),
    )
  })

  test.each([
    [{ metadata: { managedFields: [] } }, 400, 'metadata.managedFields must be nil'],
    [{ kind: 'Gadget' }, 400, 'invalid object type: example.com/v1, Kind=Gadget'],
    [{ apiVersion: 'example.com/v2' }, 400, 'invalid object type: example.com/v2, Kind=Widget'],
  ])('rejects %j', (body, code, message) => {
    expect(statusOf(() => new Subject().apply('m', {}).apply('m', body))).toEqual([code, message])
  })

  test('creates the manager before-first-apply for existing fields', () => {
    const subject = new Subject()
    subject.live = asObject({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', uid: 'u' },
      spec: { replicas: 1, gmap: { a: 'b' } },
    })
    expect(conflictsOf(() => subject.apply('m', { spec: { replicas: 2 } }))).toEqual([
      'conflict with "before-first-apply" using example.com/v1: .spec.replicas',
    ])
    subject.apply('m', { spec: { replicas: 1 } })
    expect(subject.managers).toEqual([
      ['m Apply no time', { 'f:spec': { 'f:replicas': {} } }],
      ['before-first-apply Update', { 'f:spec': { '.': {}, 'f:gmap': { '.': {}, 'f:a': {} }, 'f:replicas': {} } }],
    ])
  })

  test('creates the manager before-first-apply when nothing is applied', () => {
    const subject = new Subject()
    subject.live = asObject({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', uid: 'u' },
      spec: { replicas: 1 },
    })
    subject.apply('m', {})
    expect(subject.managers).toEqual([['before-first-apply Update', { 'f:spec': { '.': {}, 'f:replicas': {} } }]])
  })

  test('does not own the reset fields of the endpoint', () => {
    const subject = new Subject().apply(
      's',
      { status: { phase: 'P' } },
      { subresource: 'status', resetFields: resetFieldsOf('status', true) },
    )
    subject.apply('m', { spec: { replicas: 1 }, status: { phase: 'Q' } }, { resetFields: resetFieldsOf('', true) })
    expect(subject.managers).toEqual([
      ['s Apply status', { 'f:status': { 'f:phase': {} } }],
      ['m Apply', { 'f:spec': { 'f:replicas': {} } }],
    ])
  })

  test('removes an item of a list map with its defaults, except fields of other managers', () => {
    const subject = new Subject().apply('one', { spec: { ports: [{ port: 80 }, { port: 81 }] } })
    subject.live = {
      ...subject.live!,
      spec: {
        ports: [
          { port: 80, protocol: 'TCP' },
          { port: 81, protocol: 'TCP' },
        ],
      },
    }
    subject.apply('two', { spec: { ports: [{ port: 81, name: 'n' }] } })
    subject.apply('one', {})
    expect(subject.live!.spec).toEqual({ ports: [{ port: 81, protocol: 'TCP', name: 'n' }] })
  })

  test('inserts new items in the applied order and keeps the live order otherwise', () => {
    const subject = new Subject().apply('one', { spec: { set: ['a', 'b', 'c', 'd'] } })
    expect(subject.apply('two', { spec: { set: ['x', 'c', 'y', 'a', 'z'] } }).live!.spec).toEqual({
      set: ['b', 'x', 'c', 'd', 'y', 'a', 'z'],
    })
  })
})

describe('kubectl apply --server-side over client-side objects', () => {
  const sent = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w' },
    spec: { gmap: { k: 'v' }, replicas: 1 },
  }
  const created = { ...sent, metadata: { name: 'w', annotations: { [lastAppliedAnnotation]: JSON.stringify(sent) } } }

  test('takes ownership of fields of client-side apply, and updates the annotation', () => {
    const subject = new Subject().update('kubectl-client-side-apply', created)
    subject.apply('kubectl', { spec: { gmap: { k: '<w>' } } })
    expect(subject.live!.metadata.annotations).toEqual({
      [lastAppliedAnnotation]:
        '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"spec":{"gmap":{"k":"\\u003cw\\u003e"}}}\n',
    })
    expect(subject.live!.spec).toEqual({ gmap: { k: '<w>' }, replicas: 1 })
  })

  test('conflicts with fields that another manager changed since', () => {
    const subject = new Subject()
      .update('kubectl-client-side-apply', created)
      .update('scaler', { spec: { gmap: { k: 'v' }, replicas: 5 } })
    expect(conflictsOf(() => subject.apply('kubectl', { spec: { gmap: { k: 'w' }, replicas: 1 } }))).toEqual([
      'conflict with "scaler" using example.com/v1: .spec.replicas',
    ])
  })

  test('other managers than kubectl conflict with client-side apply', () => {
    const subject = new Subject().update('kubectl-client-side-apply', created)
    expect(conflictsOf(() => subject.apply('helm', { spec: { gmap: { k: 'w' } } }))).toHaveLength(1)
  })
})

describe('trackUpdate', () => {
  test('the updating manager owns changed and new fields; removed ones have no manager', () => {
    const subject = new Subject().apply('a', { spec: { gmap: { k: 'v', l: 'w' }, replicas: 1 } })
    subject.update('u', { spec: { gmap: { k: 'changed' }, replicas: 1, set: ['x'] } })
    expect(subject.managers).toEqual([
      ['a Apply', { 'f:spec': { 'f:replicas': {} } }],
      ['u Update', { 'f:spec': { 'f:gmap': { 'f:k': {} }, 'f:set': { '.': {}, 'v:"x"': {} } } }],
    ])
  })

  test('updates the time of an entry only when its fields change', () => {
    const subject = new Subject().update('u', { spec: { replicas: 1 } })
    const before = subject.live!.metadata.managedFields
    subject.update('u', { spec: { replicas: 1 } })
    expect(subject.live!.metadata.managedFields).toEqual(before)
  })

  test.each([
    ['an empty list', []],
    ['a list with an empty entry', [{}]],
  ])('removes all managers when the body has %s as managedFields', (_, managedFields) => {
    const subject = new Subject().update('u', { spec: { replicas: 1 } })
    subject.update('u', { metadata: { name: 'w', uid: 'u', managedFields } as JsonObject })
    expect(subject.managers).toEqual(undefined)
    subject.update('u', { spec: { replicas: 2 } })
    expect(subject.managers).toEqual(undefined)
  })

  const entry = {
    manager: 'x',
    operation: 'Update',
    apiVersion: 'example.com/v1',
    fieldsType: 'FieldsV1',
    fieldsV1: { 'f:spec': { 'f:replicas': {} } },
  }
  test.each([
    ['managers in the body replace the stored ones', entry, [['x Update no time', entry.fieldsV1]]],
    ['an unknown operation is ignored', { ...entry, operation: 'Bad' }, 'as before'],
    ['a missing apiVersion is ignored', { ...entry, apiVersion: '' }, 'as before'],
    ['an unknown fieldsType is ignored', { ...entry, fieldsType: 'FieldsV2' }, 'as before'],
    ['a broken path element is ignored', { ...entry, fieldsV1: { 'k:{': {} } }, 'as before'],
  ])('%s', (_, sent, expected) => {
    const subject = new Subject().update('u', { spec: { replicas: 1 } })
    const before = subject.managers
    subject.update('u', { metadata: { name: 'w', uid: 'u', managedFields: [sent] } as JsonObject })
    expect(subject.managers).toEqual(expected === 'as before' ? before : expected)
  })

  test('merges the oldest of more than ten update managers into ancient-changes', () => {
    const subject = new Subject()
    for (let index = 0; index < 12; index++) {
      subject.update(`u${index}`, {
        spec: { free: Object.fromEntries(Array.from({ length: index + 1 }, (_, n) => [`f${n}`, n])) },
      })
    }
    const managers = subject.managers as readonly (readonly [string, JsonObject])[]
    expect(managers.map(([name]) => name)).toEqual([
      'ancient-changes Update',
      ...Array.from({ length: 9 }, (_, n) => `u${n + 3} Update`),
    ])
    expect(managers[0]![1]).toEqual({
      'f:spec': { '.': {}, 'f:free': { '.': {}, 'f:f0': {}, 'f:f1': {}, 'f:f2': {} } },
    })
  })

  test('drops managers of versions that are not served, and compares others in their version', () => {
    const old = { ...entry, apiVersion: 'example.com/v0' }
    const other = { ...entry, manager: 'y', apiVersion: 'example.com/v1beta1' }
    const subject = new Subject()
    subject.update('u', {
      metadata: { name: 'w', managedFields: [old, other] } as JsonObject,
      spec: { gmap: { a: 'b' } },
    })
    subject.update(
      'u',
      { spec: { gmap: { a: 'b' }, set: ['x'] } },
      { schemaFor: (version) => (version === 'example.com/v0' ? undefined : widget) },
    )
    expect((subject.managers as [string][]).map(([name]) => name)).toEqual(['y Update no time', 'u Update'])
  })
})

describe('managers after a schema change', () => {
  const withMap = (more: SchemaNode): TypeSchema =>
    structuralSchema({
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { map: { type: 'object', additionalProperties: text, ...more } } },
      },
    })
  const granular = withMap({})
  const atomic = withMap({ 'x-kubernetes-map-type': 'atomic' })

  test('own a map that became atomic as a whole', () => {
    const subject = new Subject(granular)
      .apply('one', { spec: { map: { a: '1' } } })
      .apply('two', { spec: { map: { b: '2' } } })
    const schemaFor = (): TypeSchema => atomic
    expect(conflictsOf(() => subject.apply('one', { spec: { map: { a: '1' } } }, { schemaFor }))).toEqual([
      'conflict with "two": .spec.map',
    ])
    subject.apply('one', { spec: { map: { a: '3' } } }, { schemaFor, force: true })
    expect(subject.live!.spec).toEqual({ map: { a: '3' } })
    expect(subject.managers).toEqual([['one Apply', { 'f:spec': { 'f:map': {} } }]])
  })
})

describe('apply with a recursive schema', () => {
  test('merges at every depth', () => {
    const tree: SchemaNode = { type: 'object', additionalProperties: { $ref: 'tree' } }
    const schema: TypeSchema = {
      root: { type: 'object', properties: { spec: tree } },
      resolve: (name) => (name === 'tree' ? tree : undefined),
    }
    const subject = new Subject(schema)
      .apply('one', { spec: { a: { b: {} } } })
      .apply('two', { spec: { a: { c: {} } } })
    expect(subject.apply('one', {}).live!.spec).toEqual({ a: { c: {} } })
  })
})

describe('keepUnchangedTimes', () => {
  test('reverts a write that changes only times', () => {
    const subject = new Subject().apply('m', { spec: { replicas: 1 } })
    const old = subject.live!
    const moved = {
      ...old,
      metadata: {
        ...old.metadata,
        managedFields: [{ ...old.metadata.managedFields![0]!, time: '2027-01-01T00:00:00Z' }],
      },
    }
    expect(keepUnchangedTimes(old, moved)).toEqual(old)
    const changed = { ...moved, spec: { replicas: 2 } }
    expect(keepUnchangedTimes(old, changed)).toBe(changed)
  })
})

describe('managedFields of scale and its parent', () => {
  const paths = { 'apps/v1': ['spec', 'replicas'] }
  const entryOf = (manager: string, fields: JsonObject, more: object = {}): ManagedFieldsEntry => ({
    manager,
    operation: 'Apply',
    apiVersion: 'apps/v1',
    time: '2026-01-01T00:00:00Z',
    fieldsType: 'FieldsV1',
    fieldsV1: fields,
    ...more,
  })
  const parent = [
    entryOf('a', { 'f:spec': { 'f:paused': {}, 'f:replicas': {} } }),
    entryOf('b', { 'f:spec': { 'f:paused': {} } }),
  ]
  const replicas = { 'f:spec': { 'f:replicas': {} } }

  test('scale has only the managers of the replicas', () => {
    expect(managedFieldsOfScale(parent, paths)).toEqual([entryOf('a', replicas, { apiVersion: 'autoscaling/v1' })])
  })

  test('removes the replicas from managers that lost them; the new manager has no time', () => {
    const scale = [entryOf('s', replicas, { apiVersion: 'autoscaling/v1', subresource: 'scale' })]
    const { time: _, ...untimed } = entryOf('s', replicas, { subresource: 'scale' })
    expect(managedFieldsOfParent(parent, scale, 'apps/v1', paths)).toEqual([
      untimed,
      entryOf('a', { 'f:spec': { 'f:paused': {} } }),
      entryOf('b', { 'f:spec': { 'f:paused': {} } }),
    ])
  })

  test("does not change when the scale's managers are unchanged", () => {
    expect(managedFieldsOfParent(parent, managedFieldsOfScale(parent, paths), 'apps/v1', paths)).toEqual(parent)
  })
})

describe('field manager names', () => {
  test.each([
    ['m', 'kubectl/v1.33', 'm'],
    [undefined, 'kubectl/v1.33 (linux)', 'kubectl'],
    ['', 'a\u0007b', 'ab'],
    [undefined, undefined, ''],
    [undefined, 'x'.repeat(200), 'x'.repeat(128)],
  ])('fieldManager %j and User-Agent %j give %j', (manager, agent, expected) => {
    expect(fieldManagerOf(manager, agent)).toEqual(expected)
  })

  test('must be printable and at most 128 bytes', () => {
    expect(validateFieldManager('x'.repeat(129), 'fieldManager').map(formatFieldError)).toEqual([
      'fieldManager: Too long: may not be more than 128 bytes',
    ])
    expect(validateFieldManager('a\u0007', 'fieldManager').map(formatFieldError)).toEqual([
      'fieldManager: Invalid value: "a\\a": invalid character U+0007 (at position 1)',
    ])
  })

  test('are validated in managedFields entries too', () => {
    const entries = [
      { manager: 'x'.repeat(129), operation: 'Bad' as 'Apply', fieldsType: 'FieldsV2', subresource: 's'.repeat(257) },
    ]
    expect(validateManagedFields(entries, 'metadata.managedFields').map(({ field }) => field)).toEqual([
      'metadata.managedFields[0].operation',
      'metadata.managedFields[0].fieldsType',
      'metadata.managedFields[0].manager',
      'metadata.managedFields[0].subresource',
    ])
  })
})
