// Decoding of built-in kinds, as Go's types do it.
import type { JsonObject } from '@fairlead/kube'
import { builtinResources, messageOfKind, typedForm } from '@fairlead/builtin-kinds'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'

function decode(body: JsonObject): ReturnType<typeof typedForm> {
  const type = messageOfKind(String(body['apiVersion']), String(body['kind']))
  if (type === undefined) throw new Error('no such kind')
  return typedForm(type, body)
}

const pod = (container: JsonObject): JsonObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {},
  spec: { containers: [container] },
})

describe('typedForm', () => {
  test.each<[what: string, body: JsonObject, object: JsonObject]>([
    [
      'adds required structs, drops empty optional values',
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { labels: {}, name: '' },
        spec: { ports: [], selector: null, externalIPs: ['1.2.3.4'] },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: {},
        spec: { externalIPs: ['1.2.3.4'] },
        status: { loadBalancer: {} },
      },
    ],
    [
      'keeps false, zero and the empty string of pointers',
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {},
        spec: { holderIdentity: '', leaseTransitions: 0 },
      },
      {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: {},
        spec: { holderIdentity: '', leaseTransitions: 0 },
      },
    ],
    [
      'an absent required list becomes null, an empty one stays empty',
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: {}, rules: [] },
      { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: {}, rules: [] },
    ],
    [
      'null in a map becomes the zero value',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: null, b: 'c' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data: { a: '', b: 'c' } },
    ],
    [
      'quantities and durations become canonical',
      pod({ name: 'c', resources: { limits: { cpu: 1.5, memory: '1024Ki' } } }),
      {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {},
        spec: { containers: [{ name: 'c', resources: { limits: { cpu: '1500m', memory: '1Mi' } } }] },
        status: {},
      },
    ],
    [
      'times lose their fraction and zone',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { creationTimestamp: '2001-02-03T04:05:06.5+01:00' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { creationTimestamp: '2001-02-03T03:05:06Z' } },
    ],
    [
      '__proto__ is an ordinary key',
      JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"__proto__":"x"}}') as JsonObject,
      JSON.parse('{"apiVersion":"v1","kind":"ConfigMap","metadata":{},"data":{"__proto__":"x"}}') as JsonObject,
    ],
  ])('%s', (_what, body, object) => {
    expect(JSON.stringify(sorted(decode(body).object))).toBe(JSON.stringify(sorted(object)))
  })

  test('returns the paths of unknown fields in the order of the body', () => {
    const body = { ...pod({ name: 'c', imagee: 'x', env: [{ name: 'A', valu: 'b' }] }), nope: 1 }
    expect(decode(body).unknownFields).toEqual(['spec.containers[0].imagee', 'spec.containers[0].env[0].valu', 'nope'])
  })

  test('orders fields as the type does', () => {
    const body = pod({ terminationMessagePolicy: 'File', image: 'i', imagePullPolicy: 'Always', name: 'c' })
    const containers = (decode(body).object['spec'] as { containers: JsonObject[] }).containers
    expect(Object.keys(containers[0] ?? {})).toEqual([
      'name',
      'image',
      'resources',
      'terminationMessagePolicy',
      'imagePullPolicy',
    ])
  })
})

describe('TypeMismatch of typedForm', () => {
  test.each<[message: string, body: JsonObject]>([
    [
      'json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
      { apiVersion: 'v1', kind: 'ConfigMap', data: { k: 1 } },
    ],
    [
      'json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32',
      { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 'x' } },
    ],
    [
      'json: cannot unmarshal number 1.5 into Go struct field DeploymentSpec.spec.replicas of type int32',
      { apiVersion: 'apps/v1', kind: 'Deployment', spec: { replicas: 1.5 } },
    ],
    [
      'json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of type map[string]string',
      { apiVersion: 'v1', kind: 'Secret', metadata: { labels: [] } },
    ],
    [
      'json: cannot unmarshal string into Go struct field PodSpec.spec.containers of type []v1.Container',
      { apiVersion: 'v1', kind: 'Pod', spec: { containers: 'x' } },
    ],
    ['illegal base64 data at input byte 3', { apiVersion: 'v1', kind: 'Secret', data: { k: 'not base64!!' } }],
    [
      'parsing time "2001-02-03T04:05:06Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', spec: { renewTime: '2001-02-03T04:05:06Z' } },
    ],
    [
      'parsing time "2001-13-03T04:05:06Z": month out of range',
      { apiVersion: 'v1', kind: 'Secret', metadata: { creationTimestamp: '2001-13-03T04:05:06Z' } },
    ],
    [
      'parsing time "2001-02-30T04:05:06Z": day out of range',
      { apiVersion: 'v1', kind: 'Secret', metadata: { creationTimestamp: '2001-02-30T04:05:06Z' } },
    ],
  ])('%s', (message, body) => {
    expect(() => decode(body)).toThrow(expect.objectContaining({ code: 'TypeMismatch', message }) as Error)
  })
})

test('rejects a JSON schema nested beyond the limit', () => {
  let schema: JsonObject = { type: 'object' }
  for (let depth = 0; depth < 5000; depth++) schema = { not: schema }
  const versions = [{ name: 'v1', schema: { openAPIV3Schema: schema } }]
  const body = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {},
    spec: { versions },
  }
  expect(() => decode(body)).toThrow('exceeded max depth')
})

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonObject>

test('typedForm is idempotent for any body', () => {
  const kinds = builtinResources().flatMap(({ group, kind, versions }) =>
    versions.map(({ name, decode: own }) => ({ apiVersion: group === '' ? name : `${group}/${name}`, kind, own })),
  )
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds.filter(({ own }) => own !== undefined)),
      anyJson,
      anyJson,
      ({ apiVersion, kind, own }, spec, data) => {
        const body = { apiVersion, kind, metadata: {}, spec, data, status: spec }
        let once: JsonObject
        try {
          once = own?.(body).object ?? body
        } catch (error) {
          expect(error).toMatchObject({ code: 'TypeMismatch' })
          return
        }
        const twice = own?.(once)
        expect(twice).toEqual({ object: once, unknownFields: [] })
        expect(JSON.stringify(twice?.object)).toBe(JSON.stringify(once))
      },
    ),
  )
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, member]) => [key, sorted(member)]),
  )
}

describe('quantities of a ResourceList', () => {
  // SetDefaults_ResourceList of core/v1 calls RoundUp(-3).
  test.each([
    ['500u', '1m'],
    ['1u', '1m'],
    ['1n', '1m'],
    ['1500u', '2m'],
    ['1000u', '1m'],
    ['0.0005', '1m'],
    ['0.0015', '2m'],
    ['-500u', '-1m'],
    ['1e-6', '1e-3'],
    ['999999999n', '1'],
    ['100m', '100m'],
    ['1Gi', '1Gi'],
    ['0', '0'],
  ])('%s is rounded to %s', (given, expected) => {
    const requests = { cpu: given }
    const { object } = decode(pod({ name: 'c', image: 'i', resources: { requests } }))
    expect(JSON.stringify(object)).toContain(`"requests":{"cpu":"${expected}"}`)
  })

  test('a quantity outside of a ResourceList keeps its precision', () => {
    const volumes = [{ name: 'v', emptyDir: { sizeLimit: '500u' } }]
    const { object } = decode({ apiVersion: 'v1', kind: 'Pod', metadata: {}, spec: { containers: [], volumes } })
    expect(JSON.stringify(object)).toContain('"sizeLimit":"500u"')
  })
})
