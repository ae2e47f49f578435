import {
  FileCluster,
  PatternResolver,
  Sandbox,
  evaluateStatus,
  functionsFor,
  parseLenientJson,
  splitCommandLine,
} from '@fairlead/actions'
import { parseJson } from '@fairlead/kube'
import type { JsonObject, KubeObject } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { afterAll, describe, expect, test } from 'vitest'
import { map, merged, trader } from './objects.ts'

const sandbox = new Sandbox()
afterAll(() => sandbox[Symbol.asyncDispose]())

const labels = { app: 'trader' }
const objects: readonly KubeObject[] = [
  trader,
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'b', namespace: 'stocktrader', labels },
    status: { phase: 'Running' },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace: 'stocktrader', labels },
    status: { phase: 'Pending' },
  },
  { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'elsewhere', namespace: 'other', labels } },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: 'old',
      namespace: 'stocktrader',
      labels,
      annotations: { 'deployment.kubernetes.io/revision': '9' },
    },
  },
  {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: 'new',
      namespace: 'stocktrader',
      labels,
      annotations: { 'deployment.kubernetes.io/revision': '10' },
    },
  },
  {
    apiVersion: 'app.k8s.io/v1beta1',
    kind: 'Application',
    metadata: { name: 'app', namespace: 'stocktrader' },
    spec: { selector: { matchLabels: { app: 'trader' } } },
  },
]

async function resolved(pattern: string): Promise<unknown> {
  const set = merged(map('m', { variables: { v: 'x' }, snippets: { s: 'function s(a) { return "<" + a + ">"; }' } }))
  const resolver = new PatternResolver({
    resource: trader as unknown as JsonObject,
    merged: set,
    globalMap: async (name) => (name === 'builtin' ? { url: 'https://c' } : undefined),
    inputs: { i: 'in' },
    runSnippet: sandbox.run,
    callFunction: functionsFor(trader, new FileCluster(objects)),
  })
  return resolver.resolve(pattern, set.maps[0]).then(
    (result) => ('value' in result ? result.value : result),
    (error: { code: string }) => error.code,
  )
}

describe('a pattern', () => {
  test.each([
    ['plain', 'plain'],
    ['$5 {a} }{ $', '$5 {a} }{ $'],
    ['$$', '$'],
    ['$${input.i}', '${input.i}'],
    ['$$${input.i}', '$in'],
    ['a~20b~7Ac~zz~', 'a bzc~zz~'],
    ['${input.i}~20${input.i}', 'in in'],
    ['${snippet.s(a~20b)}', '<a b>'],
    ['${snippet.s(${snippet.s(${input.i})})}', '<<in>>'],
    ['${var.v}${var.w,default.d}${var.w,xyz}${var.w,default.}', 'xdxyz'],
    ['${builtin.url}/x', 'https://c/x'],
    ['${resource.$.spec.selector.matchLabels}', 'NoValue'],
    ['${resource.$.spec.replicas}', '3'],
    ['${resource.$.metadata}', 'NoValue'],
    ['${secret.s#k}', 'InvalidPattern'],
    ['${func.nope()}', 'FunctionFailed'],
    ['${', 'InvalidPattern'],
    ['${input.i', 'InvalidPattern'],
    ['${in put.i}', 'InvalidPattern'],
    ['${snippet.s(${x})}', 'NotResolved'],
  ])('%s resolves to %s', async (pattern, value) => {
    expect(await resolved(pattern)).toBe(value)
  })

  test.each([
    ['podlist()', '{"pods":["a","b"]}'],
    ['podlist(stocktrader,trader)', '{"pods":["a","b"]}'],
    ['podlist(stocktrader)', 'FunctionFailed'],
    ['podlist(stocktrader,nope)', 'FunctionFailed'],
    ['apppodlist(stocktrader,app)', '{"pods":["a","b"]}'],
    ['apppodlist()', 'FunctionFailed'],
    ['replicaset()', 'new'],
    ['replicaset(stocktrader,trader)', 'new'],
    ['kubectlGet(pods,-o,name)', 'pod/a\npod/b\n'],
    ['kubectlGet(Pod,a,-o,jsonpath=~7B.status.phase~7D)', 'Pending'],
    ['kubectlGet(pod/a,-o=jsonpath=~7B.metadata.name~7D)', 'a'],
    ['kubectlGet(pods,-A,-o,jsonpath=~7B.items[*].metadata.name~7D)', 'elsewhere a b'],
    ['kubectlGet(pods,-n,other,-oname)', 'pod/elsewhere\n'],
    ['kubectlGet(pods,--field-selector=status.phase=Running,-o,name)', 'pod/b\n'],
    ['kubectlGet(pods,-l,app!=trader,-A,-o,name)', ''],
    ['kubectlGet(deployments.apps,trader,-o,name)', 'deployment.apps/trader\n'],
    ['kubectlGet(pods)', 'FunctionFailed'],
    ['kubectlGet(pods,-o,wide)', 'FunctionFailed'],
    ['kubectlGet(pods,-w,-o,json)', 'FunctionFailed'],
    ['kubectlGet(pods,--kubeconfig=/etc/passwd,-o,json)', 'FunctionFailed'],
    ['kubectlGet(--raw=/api,-o,json)', 'FunctionFailed'],
    ['kubectlGet(pods,nope,-o,json)', 'FunctionFailed'],
  ])('with func.%s resolves to %s', async (call, value) => {
    expect(await resolved(`\${func.${call}}`)).toBe(value)
  })

  property.prop([fc.string()])('substitutes values verbatim', async (value) => {
    const resolver = new PatternResolver({
      resource: { v: value },
      merged: merged(),
      globalMap: async () => undefined,
      inputs: { v: value },
      runSnippet: sandbox.run,
      callFunction: async () => value,
    })
    expect(await resolver.resolve('${resource.$.v}|${input.v}|${func.f()}')).toEqual({
      value: `${value}|${value}|${value}`,
    })
  })
})

describe('a command template', () => {
  property.prop([fc.array(fc.stringMatching(/^[a-z0-9 =/.-]*[a-z0-9]$/), { minLength: 1 })])(
    'splits quoted words into themselves',
    (words) => {
      expect(splitCommandLine(words.map((word) => `"${word}"`).join(' '))).toEqual(words)
    },
  )

  test('is never split inside a segment', () => {
    expect(splitCommandLine('a${snippet.s("x",${input.y})}b c')).toEqual(['a${snippet.s("x",${input.y})}b', 'c'])
  })
})

describe('lenient JSON', () => {
  property.prop([fc.jsonValue()])('reads strict JSON without deviations', (value) => {
    const text = JSON.stringify(value)
    expect(parseLenientJson(text)).toEqual({ value: parseJson(text), deviations: [] })
  })

  test.each([
    ['{a: b}', { a: 'b' }],
    ["{'a' = 1; b => true}", { a: 1, b: true }],
    ['[1,2,]', [1, 2, null]],
    ['[,1]', [null, 1]],
    ['# c\n[/* c */ 1 // c\n]', [1]],
    ['{"a": "b\nc"}', { a: 'b\nc' }],
    ["{a: 'it\\'s'}", { a: "it's" }],
    ['{a: NULL, b: -1.5e3, c: 007}', { a: null, b: -1500, c: '007' }],
  ])('reads %j as %j with a deviation', (text, value) => {
    const read = parseLenientJson(text)
    expect(read.value).toEqual(value)
    expect(read.deviations.length).toBeGreaterThan(0)
  })
})

test.each([
  ['getStatus among its helpers', 'function of(s) { return s.phase } function getStatus(t) { return answer(t) } '],
  ['the first function where none is called getStatus', 'function status(t) { return answer(t) } '],
])('a status algorithm is called by %s', async (_, source) => {
  const helper = 'function answer(t) { return JSON.stringify({ value: JSON.parse(t).phase, flyover: "f" }) }'
  const status = await evaluateStatus({ algorithm: source + helper }, { status: { phase: 'Running' } }, sandbox.run)
  expect(status).toEqual({ value: 'Running', flyover: 'f' })
})
