// Breaking changes of CRDs, a change at a time.
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { breakingChanges } from '@fairlead/references/generator'
import { expect, test } from 'vitest'

function definition(a: JsonObject, more: JsonObject = {}, version: JsonObject = {}): KubeObject {
  const properties = { a, b: { type: 'string' } }
  const openAPIV3Schema = { type: 'object', properties, ...more }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'things.x.dev' },
    spec: {
      group: 'x.dev',
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, ...version }],
    },
  } as KubeObject
}

const text: JsonObject = { type: 'string' }

test.each<[string, KubeObject, KubeObject, readonly string[]]>([
  ['nothing', definition(text), definition(text), []],
  ['a new field', definition(text), definition(text, { properties: { a: text, b: text, c: text } }), []],
  ['a removed field', definition(text), definition(text, { properties: { a: text } }), ['v1: b: the field is removed']],
  [
    'a removed field of the items of a list',
    definition({ type: 'array', items: { type: 'object', properties: { x: text } } }),
    definition({ type: 'array', items: { type: 'object' } }),
    ['v1: a[].x: the field is removed'],
  ],
  [
    'a removed field where unknown ones are kept',
    definition(text),
    definition(text, { properties: { a: text }, 'x-kubernetes-preserve-unknown-fields': true }),
    [],
  ],
  ['a removed version', definition(text), definition(text, {}, { name: 'v2' }), ['v1: the version is removed']],
  [
    'a version that is no longer served',
    definition(text),
    definition(text, {}, { served: false }),
    ['v1: the version is no longer served'],
  ],
  ['another type', definition(text), definition({ type: 'integer' }), ['v1: a: the type was string, is integer']],
  ['a wider number', definition({ type: 'integer' }), definition({ type: 'number' }), []],
  [
    'a narrower number',
    definition({ type: 'number' }),
    definition({ type: 'integer' }),
    ['v1: a: the type was number, is integer'],
  ],
  [
    'a new required field',
    definition(text),
    definition(text, { required: ['b'] }),
    ['v1: b: the field is required now'],
  ],
  [
    'a new required field with a default',
    definition(text),
    definition({ ...text, default: 'x' }, { required: ['a'] }),
    [],
  ],
  [
    'a removed value of an enum',
    definition({ ...text, enum: ['x', 'y'] }),
    definition({ ...text, enum: ['y', 'z'] }),
    ['v1: a: the values "x" are removed'],
  ],
  ['a new value of an enum', definition({ ...text, enum: ['x'] }), definition({ ...text, enum: ['x', 'y'] }), []],
  [
    'an enum where there was none',
    definition(text),
    definition({ ...text, enum: ['x'] }),
    ['v1: a: only "x" are allowed now'],
  ],
  [
    'a tighter bound',
    definition({ ...text, maxLength: 9 }),
    definition({ ...text, maxLength: 8 }),
    ['v1: a: maxLength was 9, is 8'],
  ],
  ['a looser bound', definition({ ...text, minLength: 2 }), definition({ ...text, minLength: 1 }), []],
  ['a new pattern', definition(text), definition({ ...text, pattern: 'x' }), ['v1: a: pattern was none, is "x"']],
  ['no pattern any more', definition({ ...text, pattern: 'x' }), definition(text), []],
  [
    'null that is refused',
    definition({ ...text, nullable: true }),
    definition(text),
    ['v1: a: null is no longer allowed'],
  ],
  [
    'a set where there was a list',
    definition({ type: 'array', items: text }),
    definition({ type: 'array', items: text, 'x-kubernetes-list-type': 'set' }),
    ['v1: a: x-kubernetes-list-type was "atomic", is "set"'],
  ],
  [
    'a new rule',
    definition(text),
    definition({ ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'x' }] }),
    ['v1: a: the rule self == oldSelf is new'],
  ],
])('%s', (_, before, after, expected) => {
  const found = breakingChanges(before, after)
  expect(found.map(({ at, message }) => `${at}: ${message}`)).toEqual(expected)
})

test('a definition that is removed', () =>
  expect(breakingChanges(definition(text), undefined)).toEqual([
    { definition: 'things.x.dev', at: '', message: 'the definition is removed' },
  ]))
