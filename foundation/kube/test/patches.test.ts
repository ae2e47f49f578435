import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { fc, test as propertyTest } from '@fast-check/vitest'
import type { JsonObject, JsonValue, TypeSchema } from '@fairlead/kube'
import {
  JsonPatchError,
  MergePatchError,
  applyJsonPatch,
  applyJsonPatchSteps,
  applyMergePatch,
  applyStrategicMerge,
  createMergePatch,
  deepFreeze,
  isJsonArray,
  isJsonObject,
  jsonEqual,
  maxJsonPatchOperations,
  mergePatchObject,
  parseJson,
  parseYaml,
} from '@fairlead/kube'
import { dataPath, describeData, readData, readDataJson, recordings } from '../../../test/support/conformance-data.ts'
import { StepCounter } from '../../../test/growth/step-counter.ts'
import { builtInSchema } from './support/built-in-schema.ts'

const json = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<JsonValue>(null, true, 0, 1, 'x', ''),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', ''), tie('value'), { maxKeys: 3 }),
  ),
})).value
const object = fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), json)

describe('JSON patch', () => {
  // Deviations of the API server's library from the RFC, by the suite's comments, with the actual result.
  const departures = new Map<string, JsonValue>([
    // The root can be replaced and tested, not added.
    ['replace object document with array document?', 'refused'],
    ['replace array document with object document?', 'refused'],
    ['replacing the root of the document is possible with add', 'refused'],
    // A missing value is null.
    ["missing 'value' parameter to add", [1, null]],
    ["missing 'value' parameter to replace", [null]],
    ["missing 'value' parameter to test", [null]],
    // A missing field is read as null.
    ['missing from location to copy', { foo: null }],
    // Indices are parsed as integers in any form.
    ['test with bad array number that has leading zeros', ['foo', 'bar']],
    ['Out of bounds (lower)', { bar: [1, 2, '5'] }],
  ])

  const suiteCases = () =>
    ['tests.json', 'spec_tests.json'].flatMap((file) =>
      (readDataJson('third-party', 'kubernetes-merge', 'json-patch-tests', file) as readonly JsonObject[])
        .filter((record) => record['disabled'] !== true)
        .map((record, i) => ({
          name: `${file} ${i}: ${String(record['comment'] ?? record['error'] ?? '')}`,
          record,
        })),
    )

  describeData('json-patch-tests', { minimum: 100, read: suiteCases }, (cases) => {
    test.each(cases)('$name', ({ record }) => {
      const doc = deepFreeze(record['doc'] as JsonValue)
      const apply = (): JsonValue => applyJsonPatch(doc, record['patch'] as JsonValue)
      const outcome = run(apply)
      const wanted = expectation(record)
      expect({ record, outcome }).toEqual({
        record,
        outcome: wanted === 'accepted' && outcome !== 'refused' ? outcome : wanted,
      })
    })
  })

  function run(apply: () => JsonValue): JsonValue | 'refused' {
    try {
      return apply()
    } catch (error) {
      if (error instanceof JsonPatchError) return 'refused'
      throw error
    }
  }

  function expectation(record: JsonObject): JsonValue {
    const departure = departures.get(String(record['comment'] ?? record['error']))
    if (departure !== undefined) return departure
    if (record['error'] !== undefined) return 'refused'
    return record['expected'] === undefined ? 'accepted' : (record['expected'] as JsonValue)
  }

  test.each<[string, JsonValue, JsonValue, JsonValue]>([
    ['replace of a missing field sets it', {}, [{ op: 'replace', path: '/a', value: 1 }], { a: 1 }],
    ['negative indices count from the end', [1, 2, 3], [{ op: 'replace', path: '/-1', value: 9 }], [1, 2, 9]],
    ['add at the end by a negative index', [1, 2], [{ op: 'add', path: '/-1', value: 9 }], [1, 2, 9]],
    ['leading zeros are no harm', [1, 2], [{ op: 'remove', path: '/00' }], [2]],
    ['test of a missing field passes against null', {}, [{ op: 'test', path: '/a', value: null }], {}],
    ['test of the root', { a: 1 }, [{ op: 'test', path: '', value: { a: 1 } }], { a: 1 }],
    ['replace of the root', { a: 1 }, [{ op: 'replace', path: '', value: { b: 2 } }], { b: 2 }],
    ['copy of a missing field adds null', {}, [{ op: 'copy', from: '/a', path: '/b' }], { b: null }],
    ['escapes', { 'a/b': { '~': 1 } }, [{ op: 'replace', path: '/a~1b/~0', value: 2 }], { 'a/b': { '~': 2 } }],
    ['the part before the first slash is ignored', {}, [{ op: 'add', path: 'odd/a', value: 1 }], { a: 1 }],
    ['no operations', { a: 1 }, [], { a: 1 }],
    ['null is no operations', { a: 1 }, null, { a: 1 }],
  ])('%s', (_name, document, patch, expected) => {
    expect(applyJsonPatch(deepFreeze(document), deepFreeze(patch))).toEqual(expected)
  })

  test.each<[string, JsonValue, JsonValue, string, string]>([
    [
      'remove of a missing field',
      {},
      [{ op: 'remove', path: '/a' }],
      'JsonPatchNotApplicable',
      "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
    ],
    [
      'add to the root',
      {},
      [{ op: 'add', path: '', value: {} }],
      'JsonPatchNotApplicable',
      'add operation does not apply: doc is missing path: "": missing value',
    ],
    [
      'add beyond the end',
      [1],
      [{ op: 'add', path: '/3', value: 1 }],
      'JsonPatchNotApplicable',
      'Unable to access invalid index: 3: invalid index referenced',
    ],
    [
      'through a scalar',
      { a: 1 },
      [{ op: 'add', path: '/a/b', value: 1 }],
      'JsonPatchNotApplicable',
      'add operation does not apply: doc is missing path: "/a/b": missing value',
    ],
    ['an unknown operation', {}, [{ op: 'spam' }], 'JsonPatchNotApplicable', 'Unexpected kind: spam'],
    ['an object', {}, {}, 'InvalidJsonPatch', 'json: cannot unmarshal object into Go value of type jsonpatch.Patch'],
    [
      'a list of numbers',
      {},
      [1],
      'InvalidJsonPatch',
      'json: cannot unmarshal number into Go value of type jsonpatch.Operation',
    ],
    [
      'too many operations',
      {},
      Array<JsonValue>(maxJsonPatchOperations + 1).fill({ op: 'add', path: '/a', value: 1 }),
      'TooManyOperations',
      'The allowed maximum operations in a JSON patch is 10000, got 10001',
    ],
  ])('rejects %s', (_name, document, patch, code, message) => {
    expect(() => applyJsonPatch(document, patch)).toThrow(expect.objectContaining({ code, message }))
  })

  test('pauses after each operation, since each may copy or compare most of the document', () => {
    const patch = Array.from({ length: 7 }, (_, i) => ({ op: 'copy', from: '/a', path: `/b${i}` }))
    const steps = applyJsonPatchSteps({ a: {} }, patch)
    let pauses = 0
    while (steps.next().done !== true) pauses++
    expect(pauses).toBe(7)
  })

  test('reads a pointer no further than the document is deep', async () => {
    await using counter = await StepCounter.start()
    const refuse = (steps: number) => async (): Promise<void> => {
      expect(run(() => applyJsonPatch({ a: { b: 1 } }, [{ op: 'add', path: '/a/b'.repeat(steps), value: 1 }]))).toBe(
        'refused',
      )
    }
    await counter.count(refuse(10))
    // What earlier tests left behind adds a few.
    expect(await counter.count(refuse(10_000))).toBeLessThan(2 * (await counter.count(refuse(10))))
  })

  test('limits the bytes that copies add', () => {
    const patch = Array<JsonValue>(10_000).fill({ op: 'copy', from: '/a', path: '/a/-' })
    expect(() => applyJsonPatch({ a: ['x'.repeat(1000)] }, patch)).toThrow(
      expect.objectContaining({ code: 'JsonPatchNotApplicable' }),
    )
  })

  test('never changes a prototype', () => {
    const out = applyJsonPatch({}, [
      { op: 'add', path: '/__proto__', value: { a: 1 } },
      { op: 'add', path: '/__proto__/polluted', value: true },
    ])
    expect(JSON.stringify(out)).toBe('{"__proto__":{"a":1,"polluted":true}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    expect(() => applyJsonPatch({}, [{ op: 'add', path: '/constructor/x', value: 1 }])).toThrow(JsonPatchError)
  })

  propertyTest.prop([object, json])('test passes after add, and remove reverts it', (document, value) => {
    const added = applyJsonPatch(document, [
      { op: 'add', path: '/new', value },
      { op: 'test', path: '/new', value },
    ])
    const removed = applyJsonPatch(added, [{ op: 'remove', path: '/new' }])
    expect(jsonEqual(removed, document)).toBe(true)
  })
})

describe('merge patch', () => {
  test.each<[JsonValue, JsonValue, JsonValue]>([
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ a: 'foo' }, { b: { c: null } }, { a: 'foo', b: {} }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
    [{ a: [1] }, { a: [{ b: null, c: 1 }, null] }, { a: [{ c: 1 }, null] }],
    [{ a: {} }, { a: [{ b: null }] }, { a: [{ b: null }] }],
    [{ a: 1 }, {}, { a: 1 }],
  ])('%j with %j is %j', (document, patch, expected) => {
    expect(applyMergePatch(deepFreeze(document), deepFreeze(patch))).toEqual(expected)
  })

  test.each<[JsonValue, string]>([
    [[], 'error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}'],
    ['x', 'error decoding patch: json: cannot unmarshal string into Go value of type map[string]interface {}'],
    [null, 'Invalid JSON Patch'],
  ])('rejects a patch that is not an object: %j', (patch, message) => {
    expect(() => mergePatchObject(patch)).toThrow(new MergePatchError(message))
  })

  test('never changes a prototype', () => {
    const out = applyMergePatch({}, parseJson('{"__proto__":{"polluted":true},"constructor":{"x":1}}'))
    expect(JSON.stringify(out)).toBe('{"__proto__":{"polluted":true},"constructor":{"x":1}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  const withoutNulls = json.filter((value) => !JSON.stringify(value).includes('null'))
  propertyTest.prop([object, fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__'), withoutNulls)])(
    'the patch from one document to another leads there, and is idempotent',
    (from, to) => {
      const patch = createMergePatch(from, to)
      const once = applyMergePatch(from, patch)
      expect(jsonEqual(once, to)).toBe(true)
      expect(jsonEqual(applyMergePatch(once, patch), once)).toBe(true)
    },
  )
})

describe('strategic merge', () => {
  const schema: TypeSchema = {
    root: {
      type: 'object',
      properties: {
        list: {
          type: 'array',
          items: { $ref: 'Item' },
          'x-kubernetes-patch-strategy': 'merge',
          'x-kubernetes-patch-merge-key': 'name',
        },
        set: { type: 'array', items: { type: 'string' }, 'x-kubernetes-patch-strategy': 'merge' },
        atomic: { type: 'array', items: { $ref: 'Item' } },
        union: { $ref: 'Item', 'x-kubernetes-patch-strategy': 'retainKeys' },
        whole: { $ref: 'Item', 'x-kubernetes-patch-strategy': 'replace' },
        map: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
    resolve: (name) =>
      name === 'Item'
        ? {
            type: 'object',
            properties: {
              name: { type: 'string' },
              inner: {
                type: 'array',
                items: { $ref: 'Item' },
                'x-kubernetes-patch-strategy': 'merge,retainKeys',
                'x-kubernetes-patch-merge-key': 'name',
              },
            },
          }
        : undefined,
  }

  test.each<[string, JsonObject, JsonValue, JsonObject]>([
    ['merges maps', { map: { a: '1', b: '2' } }, { map: { a: null, c: '3' } }, { map: { b: '2', c: '3' } }],
    [
      'elements of the patch keep its order, the others their neighbors',
      { list: [{ name: 'a', v: 1 }, { name: 'b' }] },
      { list: [{ name: 'c' }, { name: 'b', v: 2 }] },
      { list: [{ name: 'c' }, { name: 'a', v: 1 }, { name: 'b', v: 2 }] },
    ],
    [
      'deletes an element',
      { list: [{ name: 'a' }, { name: 'b' }] },
      { list: [{ name: 'a', $patch: 'delete' }] },
      { list: [{ name: 'b' }] },
    ],
    [
      'deleting a missing element changes nothing',
      { list: [{ name: 'a' }] },
      { list: [{ name: 'x', $patch: 'delete' }] },
      { list: [{ name: 'a' }] },
    ],
    [
      'replaces a list',
      { list: [{ name: 'a' }] },
      { list: [{ name: 'b' }, { $patch: 'replace' }] },
      { list: [{ name: 'b' }] },
    ],
    ['replaces a map', { map: { a: '1' } }, { map: { $patch: 'replace', b: '2' } }, { map: { b: '2' } }],
    ['empties a map', { map: { a: '1' } }, { map: { $patch: 'delete', b: '2' } }, { map: {} }],
    [
      'lists without a strategy are replaced',
      { atomic: [{ name: 'a' }] },
      { atomic: [{ name: 'b' }] },
      { atomic: [{ name: 'b' }] },
    ],
    [
      'maps with strategy replace are replaced',
      { whole: { name: 'a', x: 1 } },
      { whole: { name: 'b' } },
      { whole: { name: 'b' } },
    ],
    ['lists of scalars unite', { set: ['a', 'b'] }, { set: ['c', 'a'] }, { set: ['c', 'a', 'b'] }],
    ['and lose what is listed', { set: ['a', 'b'] }, { '$deleteFromPrimitiveList/set': ['a', 'x'] }, { set: ['b'] }],
    [
      'sorts by $setElementOrder',
      { list: [{ name: 'a' }, { name: 'b' }, { name: 's' }] },
      { '$setElementOrder/list': [{ name: 'b' }, { name: 'a' }] },
      { list: [{ name: 'b' }, { name: 'a' }, { name: 's' }] },
    ],
    [
      'server-only elements keep their neighbors',
      { list: [{ name: 's' }, { name: 'a' }, { name: 't' }] },
      { '$setElementOrder/list': [{ name: 'a' }, { name: 'n' }], list: [{ name: 'n' }] },
      { list: [{ name: 's' }, { name: 'a' }, { name: 'n' }, { name: 't' }] },
    ],
    ['orders scalars', { set: ['a', 'b', 'c'] }, { '$setElementOrder/set': ['c', 'a'] }, { set: ['b', 'c', 'a'] }],
    [
      '$retainKeys removes other keys',
      { union: { a: 1, b: 2, name: 'n' } },
      { union: { $retainKeys: ['name', 'c'], c: 3 } },
      { union: { name: 'n', c: 3 } },
    ],
    [
      'merges below elements',
      { list: [{ name: 'a', inner: [{ name: 'x', v: 1 }] }] },
      { list: [{ name: 'a', inner: [{ name: 'x', w: 2 }] }] },
      { list: [{ name: 'a', inner: [{ name: 'x', v: 1, w: 2 }] }] },
    ],
    [
      'removes nulls and directives from new values',
      {},
      {
        map: { a: null, b: '1' },
        union: { $patch: 'delete' },
        list: [
          { name: 'a', v: null },
          { name: 'b', $patch: 'delete' },
        ],
      },
      { map: { b: '1' }, list: [{ name: 'a' }] },
    ],
    ['another type replaces', { map: { a: '1' } }, { map: ['x'] }, { map: ['x'] }],
    ['null for a list removes it', { list: [{ name: 'a' }] }, { list: null }, {}],
    ['null changes nothing', { a: 1 }, null, { a: 1 }],
  ])('%s', (_name, document, patch, expected) => {
    expect(applyStrategicMerge(deepFreeze(document), deepFreeze(patch), schema)).toEqual(expected)
  })

  test.each<[string, JsonObject, JsonValue, string, string]>([
    [
      'no merge key',
      { list: [{ name: 'a' }] },
      { list: [{ image: 'x' }] },
      'StrategicMergeNotApplicable',
      'map: map[image:x] does not contain declared merge key: name',
    ],
    [
      'an invalid order',
      { list: [{ name: 'a' }] },
      { '$setElementOrder/list': [{ name: 'a' }], list: [{ name: 'z' }] },
      'StrategicMergeNotApplicable',
      "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
    ],
    [
      'retainKeys without a key that the patch sets',
      { union: { a: 1 } },
      { union: { $retainKeys: ['a'], b: 1 } },
      'InvalidStrategicMerge',
      'invalid patch format of retainKeys',
    ],
    [
      'retainKeys that is not a list',
      { union: { a: 1 } },
      { union: { $retainKeys: 'a' } },
      'InvalidStrategicMerge',
      'invalid patch format of retainKeys',
    ],
    [
      'an unknown directive',
      { map: {} },
      { map: { $patch: 'spin' } },
      'StrategicMergeNotApplicable',
      'unknown patch type: spin in map: map[$patch:spin]',
    ],
    ['lists of lists', { list: [['a']] }, { list: [['b']] }, 'ListOfLists', 'lists of lists are not supported'],
    [
      'a patch that is a string',
      {},
      'bad',
      'InvalidStrategicMerge',
      'json: cannot unmarshal string into Go value of type map[string]interface {}',
    ],
    [
      'an order that is not a list',
      { list: [] },
      { '$setElementOrder/list': 'x' },
      'StrategicMergeNotApplicable',
      'expected a []interface {}, but received a string',
    ],
  ])('rejects %s', (_name, document, patch, code, message) => {
    expect(() => applyStrategicMerge(document, patch, schema)).toThrow(expect.objectContaining({ code, message }))
  })

  test('never changes a prototype', () => {
    const out = applyStrategicMerge({}, parseJson('{"__proto__":{"polluted":true}}'), schema)
    expect(JSON.stringify(out)).toBe('{"__proto__":{"polluted":true}}')
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  const withoutNulls = object.filter((value) => !JSON.stringify(value).includes('null'))
  propertyTest.prop([object, withoutNulls])('applying a patch of plain fields is idempotent', (document, patch) => {
    const empty: TypeSchema = { root: {}, resolve: () => undefined }
    const once = applyStrategicMerge(document, patch, empty)
    expect(jsonEqual(applyStrategicMerge(once, patch, empty), once)).toBe(true)
  })
})

/**
 * Reports whether `whole` contains `part`; lists have the same elements in the same order. The server adds defaults and
 * metadata.
 */
function isPartOf(part: JsonValue | undefined, whole: JsonValue | undefined): boolean {
  if (isJsonArray(part)) {
    return isJsonArray(whole) && part.length === whole.length && part.every((item, i) => isPartOf(item, whole[i]))
  }
  if (isJsonObject(part)) {
    // A directive in a replaced list stays in the value; the decoder of the kind drops it.
    const keys = Object.keys(part).filter((key) => !key.startsWith('$'))
    return isJsonObject(whole) && keys.every((key) => isPartOf(part[key], whole[key]))
  }
  return jsonEqual(part, whole)
}

// Annotations: the responses in kubectl's data were written by hand, and its own annotations do not follow from the
// patches.
const serverFields = [
  'annotations',
  'resourceVersion',
  'generation',
  'managedFields',
  'creationTimestamp',
  'uid',
  'selfLink',
]

function comparable(object: JsonObject): JsonObject {
  const metadata = Object.entries(object['metadata'] as JsonObject).filter(
    ([key, value]) => !serverFields.includes(key) && !(isJsonObject(value) && Object.keys(value).length === 0),
  )
  return { ...object, metadata: Object.fromEntries(metadata) }
}

const recordedStrategicMerges = () =>
  recordings('patch').flatMap(({ name, steps }) => {
    let live: JsonObject | undefined
    return steps.flatMap(({ request, response }, i) => {
      const before = live
      const { status, body } = response ?? { status: 0 }
      if (status < 300 && body !== undefined && body['kind'] !== 'Status') live = body
      const isStrategic = request?.headers?.['Content-Type'] === 'application/strategic-merge-patch+json'
      if (!isStrategic || before === undefined || body === undefined || request.body === undefined) return []
      return [{ name: `${name} ${i}`, before, patch: request.body, status, body }]
    })
  })

describeData('recorded strategic merge patches', { minimum: 30, read: recordedStrategicMerges }, (cases) => {
  test.each(cases)('$name', ({ before, patch, status, body }) => {
    const schema = builtInSchema(String(before['apiVersion']), String(before['kind']))
    const apply = (): JsonObject => applyStrategicMerge(deepFreeze(before), deepFreeze(patch), schema)
    if (status < 300) {
      const merged = comparable(apply())
      expect(isPartOf(merged, comparable(body)), JSON.stringify({ merged, body }, null, 1)).toBe(true)
    } else if (status === 422) {
      // Merged, then rejected by the validation of the kind.
      expect(apply).not.toThrow()
    } else {
      expect(apply).toThrow(String(body['message']))
    }
  })
})

const patchesOfKubectlEdit = () => {
  const root = ['third-party', 'kubernetes-merge', 'kubectl', 'pkg', 'cmd', 'edit', 'testdata']
  const folders = readdirSync(dataPath(...root)).filter((name) => name.startsWith('testcase-'))
  return folders.flatMap((name) => {
    const file = (base: JsonValue | undefined): JsonObject | undefined => {
      if (typeof base !== 'string' || !existsSync(dataPath(...root, name, base))) return undefined
      const text = readData(...root, name, base)
      return text.trim().startsWith('{') ? (parseJson(text) as JsonObject) : undefined
    }
    const { steps } = parseYaml(readData(...root, name, 'test.yaml')) as { steps: readonly JsonObject[] }
    const live = new Map<string, JsonObject>()
    return steps.flatMap((step, i) => {
      const path = String(step['expectedPath']).replace(/\?.*/, '')
      const reply = file(step['resultingOutput'])
      const patch = file(step['expectedInput'])
      const before = live.get(path)
      if (step['expectedMethod'] === 'GET' && reply !== undefined) live.set(path, reply)
      if (step['expectedMethod'] !== 'PATCH' || reply === undefined || patch === undefined || before === undefined)
        return []
      // Kinds of unknown versions, with responses that do not follow from the patches.
      if (reply['kind'] === 'Status' || name.startsWith('testcase-unknown-')) return []
      live.set(path, reply)
      return [
        {
          name: `${name} ${i}`,
          before,
          patch,
          reply,
          strategic: String(step['expectedContentType']).includes('strategic'),
        },
      ]
    })
  })
}

describeData('patches of kubectl edit', { minimum: 18, read: patchesOfKubectlEdit }, (cases) => {
  test('include strategic merge patches and merge patches', () => {
    expect(cases.filter(({ strategic }) => strategic).length).toBeGreaterThan(10)
    expect(cases.filter(({ strategic }) => !strategic).length).toBeGreaterThan(4)
  })

  test.each(cases)('$name', ({ before, patch, reply, strategic }) => {
    const apply = (): JsonValue =>
      strategic
        ? applyStrategicMerge(before, patch, builtInSchema(String(before['apiVersion']), String(before['kind'])))
        : applyMergePatch(before, patch)
    expect(comparable(apply() as JsonObject)).toEqual(comparable(reply))
  })
})
