// Requests to the API server: a resource written, changed, read and deleted in all encodings, definitions with objects,
// and paths of no sense.
import fc from 'fast-check'
import { encodeProtobuf } from '@fairlead/apiserver'
import { builtinResources } from '@fairlead/builtin-kinds'
import { isJsonObject, stringifyYaml } from '@fairlead/kube'
import type { JsonObject, JsonValue, TypeSchema } from '@fairlead/kube'
import { definition, gadget, widgetSchema } from './definitions.ts'
import { fieldSelector, labelSelector } from './expressions.ts'
import type { FuzzRequest, RequestInput } from './input.ts'
import { kubeObject } from './objects.ts'
import { hurt, json, jsonText, text } from './values.ts'

interface Target {
  readonly apiVersion: string
  readonly kind: string
  /** `/api/v1/namespaces/default/configmaps` */
  readonly collection: string
  readonly schema: TypeSchema | undefined
  readonly subresources: readonly string[]
}

const builtin: Target[] = builtinResources().flatMap((resource) =>
  resource.versions.map((version) => {
    const root = resource.group === '' ? `/api/${version.name}` : `/apis/${resource.group}/${version.name}`
    return {
      apiVersion: resource.group === '' ? version.name : `${resource.group}/${version.name}`,
      kind: resource.kind,
      collection: `${root}${resource.namespaced ? '/namespaces/default' : ''}/${resource.plural}`,
      schema: version.schema,
      subresources: version.subresources.map(({ name }) => name),
    }
  }),
)
const widgets: Target = {
  apiVersion: 'fuzz.example.com/v1',
  kind: 'Widget',
  collection: '/apis/fuzz.example.com/v1/namespaces/default/widgets',
  schema: { root: widgetSchema, resolve: () => undefined },
  subresources: ['status', 'scale'],
}
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const gadgets = '/apis/fuzz.example.com/v1/namespaces/default/gadgets'
const often = [
  'ConfigMap',
  'Secret',
  'Service',
  'Pod',
  'Deployment',
  'StatefulSet',
  'Job',
  'CronJob',
  'Namespace',
  'HorizontalPodAutoscaler',
  'ClusterRole',
  'RoleBinding',
  'Ingress',
]
const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(widgets) },
  { weight: 3, arbitrary: fc.constantFrom(...builtin.filter(({ kind }) => often.includes(kind))) },
  { weight: 3, arbitrary: fc.constantFrom(...builtin) },
)

const jsonType = 'application/json'
const protobufType = 'application/vnd.kubernetes.protobuf'
const accept = fc.constantFrom(
  jsonType,
  jsonType,
  'application/yaml',
  protobufType,
  `${protobufType},${jsonType}`,
  '*/*',
  'application/json;as=Table;g=meta.k8s.io;v=v1,application/json',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  'application/json;stream=watch',
  'text/html',
  '',
  'a/b;;;q=x',
  'application/json;as=__proto__;g=meta.k8s.io;v=v1',
  'application/cbor',
)

const query: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ['fieldManager', 'm'],
          ['fieldManager', 'x'.repeat(200)],
          ['force', 'true'],
          ['dryRun', 'All'],
          ['dryRun', 'Some'],
          ['fieldValidation', 'Strict'],
          ['fieldValidation', 'Warn'],
          ['fieldValidation', 'Ignore'],
          ['pretty', 'true'],
        ),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ['limit', '1'],
          ['limit', '-1'],
          ['limit', 'x'],
          ['resourceVersion', '0'],
          ['resourceVersion', '1'],
          ['resourceVersion', '1001'],
          ['resourceVersion', 'x'],
          ['resourceVersionMatch', 'Exact'],
          ['resourceVersionMatch', 'NotOlderThan'],
          ['watch', 'true'],
          ['watch', '1'],
          ['timeoutSeconds', '1'],
          ['timeoutSeconds', '-9'],
          ['allowWatchBookmarks', 'true'],
          ['sendInitialEvents', 'true'],
          ['timeout', '1s'],
          ['timeout', 'x'],
          ['continue', 'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0'],
          ['includeObject', 'Object'],
          ['gracePeriodSeconds', '0'],
          ['propagationPolicy', 'Foreground'],
          ['propagationPolicy', 'Orphan'],
          ['orphanDependents', 'true'],
          ['ignoreStoreReadErrorWithClusterBreakingPotential', 'true'],
        ),
      },
      { weight: 1, arbitrary: labelSelector.map((value) => ['labelSelector', value]) },
      { weight: 1, arbitrary: fieldSelector.map((value) => ['fieldSelector', value]) },
      {
        weight: 1,
        arbitrary: fc.tuple(
          fc.constantFrom(
            'continue',
            'limit',
            'resourceVersion',
            'resourceVersionMatch',
            'fieldManager',
            'dryRun',
            'timeoutSeconds',
            '__proto__',
            'watch',
          ),
          text,
        ),
      },
    ),
    { maxLength: 3 },
  )
  .map((pairs) => pairs.map(([name, value]) => `${encode(name as string)}=${encode(value as string)}`).join('&'))

function encode(part: string): string {
  return encodeURIComponent(part.toWellFormed())
}

function withQuery(path: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc
    .tuple(path, fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: query }))
    .map(([before, after]) => (after === '' ? before : `${before}?${after}`))
}

/** An object as a body: JSON, hurt JSON, YAML, protobuf or hurt protobuf. */
function encoded(object: fc.Arbitrary<JsonValue>): fc.Arbitrary<Pick<FuzzRequest, 'headers' | 'body' | 'base64'>> {
  return fc.oneof(
    {
      weight: 8,
      arbitrary: object.map((value) => ({ headers: { 'content-type': jsonType }, body: JSON.stringify(value) })),
    },
    { weight: 1, arbitrary: jsonText(object).map((body) => ({ headers: { 'content-type': jsonType }, body })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          object,
          fc.nat(),
          fc.constantFrom(
            '',
            ':',
            '- ',
            '&a ',
            '*a',
            '!!binary ',
            '|',
            '>',
            '<<: ',
            '\t',
            '---\n',
            '? ',
            '{',
            '%YAML 1.1\n',
          ),
        )
        .map(([value, at, piece]) => ({
          headers: { 'content-type': 'application/yaml' },
          body: at % 3 === 0 ? hurt(stringifyYaml(value), at, piece) : stringifyYaml(value),
        })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(object, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom('as it is', 'changed', 'cut'))
        .map(([value, at, byte, how]) => ({
          headers: { 'content-type': protobufType },
          base64: protobuf(value, at, byte, how),
        })),
    },
  )
}

function protobuf(value: JsonValue, at: number, byte: number, how: string): string {
  const bytes = Buffer.from((isJsonObject(value) ? tryEncode(value) : undefined) ?? Buffer.from('k8s\0'))
  if (how === 'cut') return bytes.subarray(0, at % bytes.length).toString('base64')
  if (how === 'changed') bytes[at % bytes.length] = byte
  return bytes.toString('base64')
}

/** Generated objects need not fit their protobuf types. */
function tryEncode(value: JsonObject): Uint8Array | undefined {
  try {
    return encodeProtobuf(value)
  } catch {
    return undefined
  }
}

const pointer = fc.oneof(
  fc.constantFrom(
    '',
    '/',
    '/metadata/labels',
    '/metadata/labels/a',
    '/metadata/name',
    '/metadata/finalizers/0',
    '/metadata/finalizers/-',
    '/metadata/managedFields',
    '/metadata/managedFields/0/fieldsV1',
    '/metadata/annotations/example.com~1key',
    '/metadata/resourceVersion',
    '/spec',
    '/spec/a',
    '/data',
    '/data/a',
    '/status',
    '/spec/map/0',
    '/spec/set/-',
    '/spec/containers/0',
    '/__proto__/polluted',
    '/metadata/__proto__',
    '/constructor/prototype/polluted',
    '/kind',
    '/apiVersion',
    '/spec/map/99999999999',
    '/spec/map/-1',
    '/metadata/labels/~2',
  ),
  fc.array(text, { maxLength: 3 }).map((steps) => steps.map((step) => `/${step}`).join('')),
)
const jsonPatch = fc.array(
  fc.record(
    {
      op: fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test', 'x'),
      path: pointer,
      from: pointer,
      value: json,
    },
    { requiredKeys: ['op', 'path'] },
  ),
  { maxLength: 4 },
)
const directive = fc.constantFrom<readonly [string, JsonValue]>(
  ['$patch', 'replace'],
  ['$patch', 'delete'],
  ['$patch', 'merge'],
  ['$patch', 'x'],
  ['$patch', 1],
  ['$retainKeys', ['a', 'spec']],
  ['$retainKeys', 'a'],
  ['$setElementOrder/containers', [{ name: 'a' }]],
  ['$setElementOrder/finalizers', ['example.com/a']],
  ['$deleteFromPrimitiveList/finalizers', ['example.com/a']],
  ['$setElementOrder/x', 1],
  ['$deleteFromPrimitiveList/spec', {}],
)

/** A strategic patch: part of an object with a directive somewhere. */
function strategic(object: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonValue> {
  return fc.tuple(object, fc.array(fc.tuple(fc.nat(), directive), { maxLength: 3 })).map(([value, directives]) => {
    const copy = structuredClone(value) as JsonValue
    for (const [at, [name, content]] of directives) {
      const places = objectsIn(copy)
      const place = places[at % Math.max(1, places.length)]
      if (place !== undefined) place[name] = structuredClone(content) as JsonValue
    }
    return copy
  })
}

function objectsIn(value: JsonValue): { [key: string]: JsonValue }[] {
  if (typeof value !== 'object' || value === null) return []
  const inside = Object.values(value).flatMap((each) => objectsIn(each as JsonValue))
  return Array.isArray(value) ? inside : [value as { [key: string]: JsonValue }, ...inside]
}

function patch(object: fc.Arbitrary<JsonValue>): fc.Arbitrary<Pick<FuzzRequest, 'headers' | 'body'>> {
  const of = (type: string, value: fc.Arbitrary<JsonValue>): fc.Arbitrary<Pick<FuzzRequest, 'headers' | 'body'>> =>
    jsonText(value).map((body) => ({ headers: { 'content-type': type }, body }))
  return fc.oneof(
    { weight: 3, arbitrary: of('application/json-patch+json', jsonPatch as fc.Arbitrary<JsonValue>) },
    { weight: 2, arbitrary: of('application/merge-patch+json', fc.oneof(object, json)) },
    { weight: 3, arbitrary: of('application/strategic-merge-patch+json', strategic(object)) },
    { weight: 4, arbitrary: of('application/apply-patch+yaml', object) },
    { weight: 1, arbitrary: of('application/json', json) },
  )
}

function request(
  method: string,
  path: fc.Arbitrary<string>,
  body: fc.Arbitrary<Pick<FuzzRequest, 'headers' | 'body' | 'base64'>> | undefined,
): fc.Arbitrary<FuzzRequest> {
  return fc.tuple(withQuery(path), body ?? fc.constant({ headers: {} }), accept).map(([where, content, wanted]) => ({
    method,
    path: where,
    ...content,
    headers: { ...content.headers, accept: wanted },
  }))
}

const deleteOptions = fc.oneof(
  fc.constantFrom<JsonValue>(
    {},
    { propagationPolicy: 'Foreground' },
    { propagationPolicy: 'Orphan' },
    { preconditions: { uid: 'x' } },
    { preconditions: { resourceVersion: '1' } },
    { gracePeriodSeconds: -1 },
    { dryRun: ['All'] },
    { orphanDependents: true, propagationPolicy: 'Orphan' },
  ),
  json,
)

function steps(where: Target): fc.Arbitrary<FuzzRequest[]> {
  const object = kubeObject(where.apiVersion, where.kind, where.schema)
  const one = fc.constantFrom('a', 'a', 'a', 'b').map((name) => `${where.collection}/${name}`)
  const part =
    where.subresources.length === 0
      ? one
      : fc
          .tuple(one, fc.constantFrom('', '', ...where.subresources))
          .map(([path, subresource]) => (subresource === '' ? path : `${path}/${subresource}`))
  const all = fc.constant(where.collection)
  const create = fc.oneof(
    { weight: 3, arbitrary: request('POST', all, encoded(object)) },
    { weight: 1, arbitrary: applied(one, object) },
  )
  const next = fc.oneof(
    { weight: 2, arbitrary: create },
    { weight: 2, arbitrary: request('PUT', part, encoded(object)) },
    { weight: 6, arbitrary: request('PATCH', part, patch(object)) },
    { weight: 2, arbitrary: applied(part, object) },
    { weight: 2, arbitrary: request('GET', fc.oneof(part, all), undefined) },
    { weight: 1, arbitrary: request('POST', part, encoded(object)) },
    { weight: 1, arbitrary: request('DELETE', fc.oneof(one, all), encoded(deleteOptions)) },
  )
  return fc.tuple(create, fc.array(next, { maxLength: 5 })).map(([first, more]) => [first, ...more])
}

function applied(path: fc.Arbitrary<string>, object: fc.Arbitrary<JsonValue>): fc.Arbitrary<FuzzRequest> {
  return fc
    .tuple(path, fc.constantFrom('m', 'n'), fc.constantFrom('', '&force=true'), object)
    .map(([where, manager, force, value]) => ({
      method: 'PATCH',
      path: `${where}?fieldManager=${manager}${force}`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(value),
    }))
}

const withDefinition: fc.Arbitrary<FuzzRequest[]> = fc
  .tuple(
    definition,
    fc.array(
      fc.oneof(
        request('POST', fc.constant(gadgets), encoded(gadget)),
        request('PATCH', fc.constant(`${gadgets}/a`), patch(gadget)),
        applied(fc.constant(`${gadgets}/a`), gadget),
        request('PUT', fc.constantFrom(`${gadgets}/a`, `${gadgets}/a/status`), encoded(gadget)),
        request(
          'GET',
          fc.constantFrom(gadgets, `${gadgets}/a`, '/openapi/v3/apis/fuzz.example.com/v1', '/apis/fuzz.example.com/v1'),
          undefined,
        ),
      ),
      { minLength: 1, maxLength: 4 },
    ),
    fc.option(definition),
  )
  .map(([first, uses, second]) => [
    { method: 'POST', path: definitions, headers: { 'content-type': jsonType }, body: JSON.stringify(first) },
    ...uses,
    ...(second === null
      ? []
      : [
          {
            method: 'PATCH',
            path: `${definitions}/gadgets.fuzz.example.com`,
            headers: { 'content-type': 'application/merge-patch+json' },
            body: JSON.stringify(second),
          },
          ...uses.slice(-1),
        ]),
  ])

const segment = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      'api',
      'apis',
      'v1',
      'apps',
      'namespaces',
      'default',
      'pods',
      'configmaps',
      'watch',
      'proxy',
      'status',
      'scale',
      'log',
      'exec',
      'token',
      'openapi',
      'v3',
      'v2',
      'version',
      'healthz',
      'readyz',
      'livez',
      'metrics',
      'fuzz.example.com',
      'widgets',
      'a',
      'apiextensions.k8s.io',
      'authorization.k8s.io',
      'selfsubjectaccessreviews',
      'finalize',
      'approval',
      'binding',
      'eviction',
      'ephemeralcontainers',
      'resize',
      '.well-known',
      'openid-configuration',
      '%00',
      '%',
      '%zz',
      '..',
      '',
    ),
  },
  { weight: 1, arbitrary: text.map(encode) },
)
const lost: fc.Arbitrary<FuzzRequest> = fc
  .tuple(
    fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', ''),
    withQuery(fc.array(segment, { maxLength: 8 }).map((all) => `/${all.join('/')}`)),
    encoded(json),
    accept,
    fc.array(
      fc.tuple(
        fc.constantFrom(
          'impersonate-user',
          'impersonate-group',
          'impersonate-uid',
          'impersonate-extra-a',
          'content-type',
          'user-agent',
          'accept-encoding',
          'authorization',
          'if-match',
          '__proto__',
          'x-remote-user',
        ),
        text,
      ),
      { maxLength: 2 },
    ),
  )
  .map(([method, path, content, wanted, more]) => ({
    method,
    path,
    ...content,
    headers: ownHeaders([...Object.entries(content.headers), ['accept', wanted], ...more]),
  }))

function ownHeaders(entries: readonly (readonly [string, string])[]): Record<string, string> {
  const out: Record<string, string> = {}
  for (const [name, value] of entries)
    Object.defineProperty(out, name, { value, enumerable: true, configurable: true, writable: true })
  return out
}

/** Requests in a row that have to do with each other. */
export const requests: fc.Arbitrary<RequestInput> = fc
  .oneof(
    { weight: 8, arbitrary: target.chain(steps) },
    { weight: 3, arbitrary: withDefinition },
    { weight: 2, arbitrary: fc.array(lost, { minLength: 1, maxLength: 6 }) },
  )
  .map((all) => ({ target: 'server', requests: all }))
