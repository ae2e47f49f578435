import { describe, expect, test } from 'vitest'
import { formatFieldError } from '@fairlead/kube'
import type { KubeObject } from '@fairlead/kube'
import { CrdSchemas, ManifestError, validManifests } from '@fairlead/offline'

const definition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'schedules.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Schedule', plural: 'schedules' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            required: ['spec'],
            properties: {
              spec: {
                type: 'object',
                required: ['period'],
                properties: {
                  period: { type: 'string', pattern: '^[0-9]+[hm]$' },
                  policy: { type: 'string', enum: ['Keep', 'Delete'], default: 'Keep' },
                  keep: { type: 'integer', minimum: 1 },
                  days: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
                },
                'x-kubernetes-validations': [
                  { rule: "self.policy == 'Delete' || !has(self.keep)", message: 'keep needs policy Delete' },
                ],
              },
            },
          },
        },
      },
    ],
  },
}

function schedule(spec: unknown, more: object = {}): KubeObject {
  return {
    apiVersion: 'example.com/v1',
    kind: 'Schedule',
    metadata: { name: 'nightly', namespace: 'a' },
    spec,
    ...more,
  }
}

const schemas = new CrdSchemas([definition])

test('withDefaults fills in the defaults of the schema and leaves other kinds alone', () => {
  expect(schemas.withDefaults(schedule({ period: '1h' })).spec).toEqual({ period: '1h', policy: 'Keep' })
  const other: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }
  expect(schemas.withDefaults(other)).toBe(other)
})

describe('check', () => {
  test.each<[string, KubeObject, string[]]>([
    ['accepts a valid object', schedule({ period: '1h' }), []],
    ['accepts kinds without a definition', { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, x: 1 }, []],
    ['reports a missing required field', schedule(undefined), ['spec: Required value']],
    [
      'reports a pattern that does not match',
      schedule({ period: 'daily' }),
      ['spec.period: Invalid value: "daily": spec.period in body should match \'^[0-9]+[hm]$\''],
    ],
    [
      'reports a value outside of an enum',
      schedule({ period: '1h', policy: 'Drop' }),
      ['spec.policy: Unsupported value: "Drop": supported values: "Keep", "Delete"'],
    ],
    [
      'reports a wrong type',
      schedule({ period: 5 }),
      ['spec.period: Invalid value: "integer": spec.period in body must be of type string: "integer"'],
    ],
    [
      'reports unknown fields of the object and of its metadata',
      schedule({ period: '1h', perod: '2h' }, { metadata: { name: 'a', lables: {} } }),
      ['metadata.lables: Forbidden: unknown field', 'spec.perod: Forbidden: unknown field'],
    ],
    [
      'reports duplicates in a set',
      schedule({ period: '1h', days: ['mon', 'mon'] }),
      ['spec.days[1]: Duplicate value: "mon"'],
    ],
    [
      'runs CEL rules after the defaults were filled in',
      schedule({ period: '1h', keep: 3 }),
      ['spec: Invalid value: keep needs policy Delete'],
    ],
    [
      'reports a version that the definition does not serve',
      { ...schedule({ period: '1h' }), apiVersion: 'example.com/v2' },
      ['apiVersion: Unsupported value: "example.com/v2": supported values: "example.com/v1"'],
    ],
    [
      'reports metadata that the API server cannot decode',
      schedule({ period: '1h' }, { metadata: { name: 'a', finalizers: {} } }),
      [
        'metadata: Invalid value: json: cannot unmarshal object into Go struct field ObjectMeta.finalizers of type []string',
      ],
    ],
  ])('%s', (_title, object, errors) => {
    expect(
      schemas
        .check(object)
        .map(formatFieldError)
        .map((text) => text.replace(/Invalid value: \{.*\}: /, 'Invalid value: ')),
    ).toEqual(errors)
  })

  test('accepts everything under a definition without a schema, and ignores malformed definitions', () => {
    const spec = { ...(definition.spec as object), versions: [{ name: 'v1' }] }
    expect(new CrdSchemas([{ ...definition, spec }]).check(schedule({ any: 1 }))).toEqual([])
    const malformed = { ...definition, spec: { names: 'x' } }
    expect(new CrdSchemas([malformed]).check(schedule({ any: 1 }))).toEqual([])
  })

  test('a later definition of a kind replaces an earlier one', () => {
    const spec = { ...(definition.spec as object), versions: [{ name: 'v1' }] }
    expect(new CrdSchemas([definition, { ...definition, spec }]).check(schedule({}))).toEqual([])
  })
})

describe('validManifests', () => {
  test('returns the manifests with defaults', () => {
    const manifests = [{ file: 'a.yaml', line: 3, object: schedule({ period: '1h' }) }]
    expect(validManifests(manifests, schemas)).toEqual([
      { file: 'a.yaml', line: 3, object: schedule({ period: '1h', policy: 'Keep' }) },
    ])
  })

  test('lists every error with file, line, object and field path', () => {
    const manifests = [
      { file: 'a.yaml', line: 3, object: schedule({ period: '1h', perod: 1 }) },
      { file: 'b.yaml', line: 1, object: schedule({ period: '1h', policy: 'Drop' }) },
    ]
    const run = (): unknown => validManifests(manifests, schemas)
    expect(run).toThrow(ManifestError)
    expect(run).toThrow(
      'a.yaml:3: Schedule nightly: spec.perod: Forbidden: unknown field\n' +
        'b.yaml:1: Schedule nightly: spec.policy: Unsupported value: "Drop": supported values: "Keep", "Delete"',
    )
  })
})
