// Laws of field sets, merging and server-side apply, over random values of a schema with every type of list and map.
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import {
  applyServerSide,
  asJson,
  asObject,
  checkValue,
  compareValues,
  decodeFieldSet,
  decodeManagers,
  deepFreeze,
  differenceOf,
  emptyFieldSet,
  encodeFieldSet,
  equalFieldSets,
  fieldPaths,
  fieldSetOfPaths,
  fieldsOfValue,
  hasPath,
  intersectionOf,
  isSubset,
  mergeValues,
  objectTypeOf,
  recursiveDifferenceOf,
  structuralSchema,
  trackUpdate,
  trackUpdateSteps,
  unionOf,
} from '@fairlead/kube'
import type { FieldSet, JsonObject, JsonValue, KubeObject, SchemaNode } from '@fairlead/kube'

const text: SchemaNode = { type: 'string' }
const schema = structuralSchema({
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        number: { type: 'integer' },
        map: { type: 'object', additionalProperties: text },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
        list: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: { type: 'object', properties: { name: text, value: text } },
        },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', additionalProperties: text },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      },
    },
  },
})
const type = objectTypeOf(schema)

const name = fc.constantFrom('a', 'b', 'c', 'd')
const word = fc.constantFrom('1', '2', '3')
const texts = fc.dictionary(name, word, { maxKeys: 3 })
const free: fc.Arbitrary<JsonValue> = fc.letrec<{ tree: JsonValue }>((tie) => ({
  tree: fc.oneof(
    { depthSize: 'small' },
    word,
    fc.integer({ max: 5, min: 0 }),
    fc.array(word, { maxLength: 2 }),
    fc.dictionary(name, tie('tree'), { maxKeys: 2 }),
  ),
})).tree

/** Generates specs with some of the `fields`. */
function specs(
  fields: readonly string[] = ['number', 'map', 'set', 'list', 'whole', 'free'],
): fc.Arbitrary<JsonObject> {
  const all: Record<string, fc.Arbitrary<JsonValue>> = {
    number: fc.integer({ min: 0, max: 3 }),
    map: texts,
    set: fc.uniqueArray(word, { maxLength: 3 }),
    list: fc.uniqueArray(fc.record({ name, value: word }, { requiredKeys: ['name'] }), {
      maxLength: 3,
      selector: (item) => item.name,
    }),
    whole: texts,
    free: fc.dictionary(name, free, { maxKeys: 3 }),
  }
  return fc.record(Object.fromEntries(fields.map((field) => [field, all[field]!])), {
    requiredKeys: [],
  }) as fc.Arbitrary<JsonObject>
}

function configuration(spec: JsonObject): KubeObject {
  return asObject({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec })
}

function apply(live: KubeObject | undefined, manager: string, spec: JsonObject | undefined, force = true): KubeObject {
  const { spec: _, ...bare } = configuration({})
  const applied = asObject(spec === undefined ? asJson(bare) : asJson(configuration(spec)))
  const result = applyServerSide({
    live,
    applied,
    schemaFor: () => schema,
    manager,
    force,
    now: '2026-01-01T00:00:00Z',
  })
  return deepFreeze(asObject({ ...asJson(result), metadata: { ...result.metadata, uid: 'u' } as JsonObject }))
}

function update(live: KubeObject | undefined, manager: string, spec: JsonObject): KubeObject {
  const updated = asObject({ ...asJson(configuration(spec)), metadata: { name: 'w', uid: 'u' } })
  return deepFreeze(trackUpdate({ live, updated, schemaFor: () => schema, manager, now: '2026-01-01T00:00:00Z' }))
}

function ownedBy(object: KubeObject, manager: string): FieldSet {
  return (
    [...decodeManagers(object.metadata.managedFields).values()].find((candidate) => candidate.name === manager)
      ?.fields ?? emptyFieldSet
  )
}

/** Normalizes values: lists merge regardless of order, and null, {} and [] are equal for ownership. */
function content(value: unknown): JsonValue {
  if (Array.isArray(value))
    return value.map(content).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  if (typeof value !== 'object' || value === null) return value as JsonValue
  const entries = Object.entries(value).map(([key, field]) => [key, content(field)] as const)
  return Object.fromEntries(
    entries
      .filter(([, field]) => field !== null && JSON.stringify(field) !== '{}' && JSON.stringify(field) !== '[]')
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  )
}

/** Returns every field of an object, structs and maps included. */
function existing(object: JsonValue): FieldSet {
  return unionOf(fieldsOfValue(object, type), compareValues({}, object, type).added)
}

const fieldSets: fc.Arbitrary<FieldSet> = fc
  .array(fc.array(fc.constantFrom('f:a', 'f:b', 'k:{"name":"x"}', 'v:1', 'i:0'), { minLength: 1, maxLength: 3 }), {
    maxLength: 8,
  })
  .map(fieldSetOfPaths)

function pathsOf(set: FieldSet): readonly string[] {
  return [...fieldPaths(set)].map((path) => path.join(' '))
}

describe('field sets', () => {
  test('behave like sets of paths', () => {
    fc.assert(
      fc.property(fieldSets, fieldSets, (a, b) => {
        const left = new Set(pathsOf(a))
        const right = new Set(pathsOf(b))
        expect(new Set(pathsOf(unionOf(a, b)))).toEqual(left.union(right))
        expect(new Set(pathsOf(intersectionOf(a, b)))).toEqual(left.intersection(right))
        expect(new Set(pathsOf(differenceOf(a, b)))).toEqual(left.difference(right))
        const below = [...left].filter(
          (path) => ![...right].some((other) => path === other || path.startsWith(`${other} `)),
        )
        expect(pathsOf(recursiveDifferenceOf(a, b)).toSorted()).toEqual(below.toSorted())
        expect(isSubset(a, b)).toEqual(left.isSubsetOf(right))
        expect(equalFieldSets(a, b)).toEqual(left.symmetricDifference(right).size === 0)
        for (const path of fieldPaths(a)) expect(hasPath(b, path)).toEqual(right.has(path.join(' ')))
      }),
    )
  })

  test('round-trip through fieldsV1', () => {
    fc.assert(
      fc.property(fieldSets, (set) => {
        const thawed = JSON.parse(JSON.stringify(encodeFieldSet(set))) as JsonObject
        expect(pathsOf(decodeFieldSet(thawed))).toEqual(pathsOf(set))
        expect(pathsOf(decodeFieldSet(encodeFieldSet(set)))).toEqual(pathsOf(set))
      }),
    )
  })

  test('share one document and one decoded set where they are equal', () => {
    fc.assert(
      fc.property(fieldSets, (set) => {
        const document = encodeFieldSet(set)
        expect(encodeFieldSet(fieldSetOfPaths(fieldPaths(set)))).toBe(document)
        const received = deepFreeze(JSON.parse(JSON.stringify(document)) as JsonObject)
        expect(decodeFieldSet(received)).toBe(decodeFieldSet(document))
        expect(encodeFieldSet(decodeFieldSet(received))).toBe(document)
      }),
    )
  })

  test('decode the documents of a caller without keeping or freezing them', () => {
    const received = Object.freeze({ 'f:data': { 'f:only-frozen-at-the-top': {} } })
    const set = decodeFieldSet(received)
    expect(encodeFieldSet(set)).not.toBe(received)
    expect(Object.isFrozen(received['f:data'])).toBe(false)
  })

  test('of thousands of fields are decoded and encoded in steps', () => {
    const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`f:k${i}`, {}]))
    const entry = { manager: 'm', operation: 'Update', apiVersion: 'v1', fieldsType: 'FieldsV1' } as const
    const managedFields = [{ ...entry, fieldsV1: { 'f:spec': { 'f:map': fields } } }]
    const steps = trackUpdateSteps({
      live: undefined,
      updated: asObject({ ...asJson(configuration({})), metadata: { name: 'w', managedFields } as never }),
      schemaFor: () => undefined,
      manager: 'other',
      now: '2026-01-01T00:00:00Z',
    })
    let pauses = 0
    while (steps.next().done !== true) pauses++
    // One for every thousand fields, twice.
    expect(pauses).toBeGreaterThan(2 * 19)
  })

  test('stay the same object when an operation changes nothing', () => {
    fc.assert(
      fc.property(fieldSets, fieldSets, (a, b) => {
        const all = unionOf(a, b)
        expect(unionOf(all, b)).toBe(all)
        const rest = differenceOf(a, b)
        expect(differenceOf(rest, b)).toBe(rest)
      }),
    )
  })
})

describe('merge values', () => {
  const objects = specs().map((spec) => deepFreeze(asJson(configuration(spec))))

  test('are valid by their schema', () => {
    fc.assert(
      fc.property(objects, (object) => {
        expect(checkValue(object, type)).toEqual([])
      }),
    )
  })

  test('merging contains all applied values and is idempotent', () => {
    fc.assert(
      fc.property(objects, objects, (live, applied) => {
        const merged = mergeValues(live, applied, type)!
        expect(pathsOf(differenceOf(fieldsOfValue(applied, type), existing(merged)))).toEqual([])
        expect(content(mergeValues(merged, applied, type)!)).toEqual(content(merged))
        expect(mergeValues(live, live, type)).toBe(live)
      }),
    )
  })

  test('merging two long lists moves no item for another one', () => {
    let moved = 0
    const { shift } = Array.prototype
    const set = Array.from({ length: 2_000 }, (_, i) => `example.com/finalizer-${i}`)
    using _shifts = vi.spyOn(Array.prototype, 'shift').mockImplementation(function (this: unknown[]) {
      moved += this.length
      return shift.call(this)
    })
    expect(mergeValues({ spec: { set } }, { spec: { set: [...set, 'new'] } }, type)).toEqual({
      spec: { set: [...set, 'new'] },
    })
    expect(moved).toBeLessThan(set.length)
  })

  test('comparing is empty for equal values and symmetric otherwise', () => {
    fc.assert(
      fc.property(objects, objects, (a, b) => {
        const there = compareValues(a, b, type)
        const back = compareValues(b, a, type)
        expect(pathsOf(there.added)).toEqual(pathsOf(back.removed))
        expect(pathsOf(there.removed)).toEqual(pathsOf(back.added))
        expect(pathsOf(there.modified)).toEqual(pathsOf(back.modified))
        const none = compareValues(a, JSON.parse(JSON.stringify(a)) as JsonObject, type)
        expect([none.added.size, none.removed.size, none.modified.size]).toEqual([0, 0, 0])
      }),
    )
  })
})

describe('server-side apply', () => {
  test('is idempotent', () => {
    fc.assert(
      fc.property(specs(), specs(), (before, spec) => {
        const once = apply(apply(undefined, 'other', before), 'm', spec)
        expect(content(apply(once, 'm', spec))).toEqual(content(once))
      }),
    )
  })

  test('removes its fields when an empty configuration is applied', () => {
    fc.assert(
      fc.property(specs(), specs(), (before, spec) => {
        const base = update(undefined, 'creator', before)
        const applied = apply(base, 'm', { ...spec, ...before }, false)
        const back = apply(applied, 'm', undefined)
        expect(content(back.spec)).toEqual(content(before))
        expect(ownedBy(back, 'm').size).toEqual(0)
      }),
    )
  })

  test('commutes for disjoint configurations', () => {
    fc.assert(
      fc.property(specs(['number', 'set', 'free']), specs(['map', 'list', 'whole']), (left, right) => {
        const one = apply(apply(undefined, 'l', left, false), 'r', right, false)
        const two = apply(apply(undefined, 'r', right, false), 'l', left, false)
        expect(content(one.spec)).toEqual(content(two.spec))
        for (const manager of ['l', 'r']) expect(pathsOf(ownedBy(one, manager))).toEqual(pathsOf(ownedBy(two, manager)))
      }),
    )
  })

  test('owns exactly the applied fields', () => {
    fc.assert(
      fc.property(specs(), specs(), (before, spec) => {
        const live = apply(update(undefined, 'u', before), 'm', spec)
        const listed = fieldsOfValue({ spec }, type)
        expect(pathsOf(ownedBy(live, 'm'))).toEqual(pathsOf(listed))
        expect(content(mergeValues(asJson(live), { spec }, type)!)).toEqual(content(live))
      }),
    )
  })

  test('leaves no manager of a missing field', () => {
    const act = fc.record({ manager: fc.constantFrom('x', 'y', 'z'), spec: specs(), isApply: fc.boolean() })
    fc.assert(
      fc.property(fc.array(act, { minLength: 1, maxLength: 6 }), (acts) => {
        let live: KubeObject | undefined
        for (const { manager, spec, isApply } of acts)
          live = isApply ? apply(live, manager, spec) : update(live, manager, spec)
        const all = existing(asJson(live!))
        for (const manager of decodeManagers(live!.metadata.managedFields).values()) {
          expect(pathsOf(differenceOf(manager.fields, all))).toEqual([])
        }
      }),
    )
  })
})
