// The engine as pure functions: health rules, templates, the YAML of outputs, selection, completion of deployments.
import type { JsonValue, KubeObject } from '@fairlead/kube'
import { test as property, fc } from '@fast-check/vitest'
import { describe, expect, test } from 'vitest'
import {
  chooseTemplate,
  cyclicResources,
  goYaml,
  healthOf,
  incompleteness,
  interpolate,
  mergeParams,
  orphans,
  pathProblem,
  readyFrom,
  reasonOfType,
  resourcesHealthy,
  stampDigest,
  stamped,
  runsToPrune,
  verdict,
} from '@fairlead/supply'
import type { BlueprintResource, HealthRule, Run, TemplateOption } from '@fairlead/supply'

const object = (
  status: Record<string, unknown>,
  metadata: object = {},
  kind = 'Widget',
  apiVersion = 'test.run/v1',
): KubeObject => ({ apiVersion, kind, metadata: { name: 'w', ...metadata }, status }) as KubeObject
const health = (rule: HealthRule, of: KubeObject | undefined, more: object = {}): readonly string[] => {
  const { status, reason, message } = healthOf({
    spelling: 'healthRule',
    rule,
    templateKind: 'ClusterTemplate',
    object: of,
    ...more,
  })
  return [status, reason, message]
}

describe('health', () => {
  test.each<[string, HealthRule, KubeObject | undefined, readonly string[]]>([
    ['a rule without an object', { singleConditionType: 'Ready' }, undefined, ['Unknown', 'NoStampedObject', '']],
    [
      'an object that is being deleted',
      { alwaysHealthy: {} },
      object({}, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      ['Unknown', 'Terminating', 'the object is being deleted since 2026-01-01T00:00:00Z'],
    ],
    [
      'a status of an earlier generation',
      { singleConditionType: 'Ready' },
      object({ observedGeneration: 1, conditions: [{ type: 'Ready', status: 'True' }] }, { generation: 2 }),
      ['Unknown', 'Stale', 'the status is about generation 1, the object is at generation 2'],
    ],
    [
      'conditions of which one is malformed',
      { singleConditionType: 'Ready' },
      object({ conditions: [null, { type: 'Ready', status: 1 }, { type: 'Ready', status: 'True', message: 'ok' }] }),
      ['True', 'ReadyCondition', 'ok'],
    ],
    [
      'a condition type that is not a valid reason',
      { singleConditionType: 'kpack.io/Ready' },
      object({ conditions: [{ type: 'kpack.io/Ready', status: 'True' }] }),
      ['True', 'kpack_io_ReadyCondition', ''],
    ],
    [
      'an index out of range',
      {
        multiMatch: {
          healthy: { matchFields: [{ key: '.status.a[3]', operator: 'DoesNotExist' }] },
          unhealthy: { matchFields: [{ key: '.status.b', operator: 'Exists' }] },
        },
      },
      object({ a: [] }),
      ['True', 'MatchedField', 'field value: <absent>'],
    ],
    [
      'a healthy expression that is true',
      {
        expression: {
          healthy: 'object.status.done >= object.status.wanted',
          message: "string(object.status.done) + ' of ' + string(object.status.wanted)",
        },
      },
      object({ done: 3, wanted: 3 }),
      ['True', 'MatchedExpression', '3 of 3'],
    ],
    [
      'an unhealthy expression that is true',
      { expression: { healthy: 'true', unhealthy: 'object.status.errors > 5' } },
      object({ errors: 6 }),
      ['False', 'MatchedExpression', ''],
    ],
    [
      'an expression over a missing field',
      { expression: { healthy: 'object.status.done == 3' } },
      object({}),
      ['Unknown', 'NoMatchesFulfilled', ''],
    ],
    [
      'a kind with a built-in rule',
      { auto: {} },
      object({ phase: 'Bound' }, {}, 'PersistentVolumeClaim', 'v1'),
      ['True', 'DefaultRule', 'the claim is bound'],
    ],
    [
      'a kind that follows the conventions',
      { auto: {} },
      object({
        conditions: [
          { type: 'Stalled', status: 'True', message: 'stuck' },
          { type: 'Ready', status: 'True' },
        ],
      }),
      ['False', 'DefaultRule', 'stuck'],
    ],
    [
      'a kind without a default rule',
      { auto: {} },
      object({}),
      [
        'Unknown',
        'NoDefaultRule',
        'there is no default health rule for Widget in test.run/v1; give the template one, or create a ClusterHealthRule',
      ],
    ],
  ])('of %s', (_title, rule, of, expected) => {
    expect(health(rule, of)).toEqual(expected)
  })

  test('reports the error of an expression', () => {
    expect(health({ expression: { healthy: 'object.status +' } }, object({})).slice(0, 2)).toEqual([
      'Unknown',
      'ExpressionError',
    ])
  })

  test('reports an expression that is neither true nor false', () => {
    const rule = { expression: { healthy: 'object.status.phase' } }
    expect(health(rule, object({ phase: 'Running' }))).toEqual([
      'Unknown',
      'ExpressionError',
      '[object.status.phase] must be true or false, it is "Running"',
    ])
    expect(health(rule, object({})).slice(0, 2)).toEqual(['Unknown', 'NoMatchesFulfilled'])
  })

  test('prefers a ClusterHealthRule to the built-in rule of a kind', () => {
    const defaults = [
      {
        apiVersion: 'carto.run/v1alpha1',
        kind: 'ClusterHealthRule',
        metadata: { name: 'w' },
        spec: { target: { apiVersion: 'test.run/*', kind: 'Widget' }, healthRule: { singleConditionType: 'Fine' } },
      },
    ]
    expect(
      health({ auto: {} }, object({ conditions: [{ type: 'Fine', status: 'False', message: 'not' }] }), { defaults }),
    ).toEqual(['False', 'DefaultRule', 'not'])
  })

  property.prop([fc.string({ minLength: 1 })])('has reasons that the API accepts', (type) => {
    expect(reasonOfType(type)).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/)
  })

  property.prop([fc.array(fc.constantFrom('True', 'False', 'Unknown'))])(
    'of an owner is the worst of its resources',
    (states) => {
      const resources = states.map((status, index) => ({
        name: `r${index}`,
        healthy: verdict(status as 'True', 'R', 'm'),
      }))
      const worst = states.includes('False') ? 'False' : states.includes('Unknown') ? 'Unknown' : 'True'
      expect(resourcesHealthy(resources).status).toBe(worst)
      expect(readyFrom([resourcesHealthy(resources)]).status).toBe(worst)
    },
  )
})

describe('templates', () => {
  test('report the path of a tag that cannot be evaluated', () => {
    expect(() => interpolate({ spec: { containers: [{ image: '$(params.none)$' }] } }, { params: {} })).toThrow(
      'failed to interpolate template at path [spec.containers[0].image]: evaluate tag $(params.none)$: jsonpath returned empty list: params.none',
    )
  })

  test('keep integers exact, read nested params, and do not evaluate tags inside values', () => {
    const context = { params: { a: { b: 9007199254740993n, tag: '$(params.a.b)$' } } }
    expect(
      interpolate(
        { n: '$(params.a.b)$', text: 'x$(params.a.b)$', once: '$(params.a.tag)$', two: '$(params.a.b)$$(params.a.b)$' },
        context,
      ),
    ).toEqual({
      n: 9007199254740993n,
      text: 'x9007199254740993',
      once: '$(params.a.b)$',
      two: '90071992547409939007199254740993',
    })
  })

  property.prop([fc.jsonValue({ noUnicodeString: false } as never)])('without tags stay as they are', (value) => {
    fc.pre(!JSON.stringify(value).includes('$('))
    expect(interpolate(value as JsonValue, {})).toEqual(value)
  })

  test('stamp into the namespace of the owner and shorten long labels', () => {
    const owner = {
      apiVersion: 'carto.run/v1alpha1',
      kind: 'Workload',
      metadata: { name: 'a'.repeat(70), namespace: 'ns', uid: 'u' },
    }
    const made = stamped({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', ownerReferences: [] } }, owner, {
      'carto.run/workload-name': owner.metadata.name,
    })
    expect(made.metadata.namespace).toBe('ns')
    expect(made.metadata.labels?.['carto.run/workload-name']).toMatch(/^a{52}-[0-9a-f]{10}$/)
    expect(made.metadata.annotations).toEqual({ 'carto.run/workload-name': owner.metadata.name })
    expect(() =>
      stamped({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'other' } }, owner, {}),
    ).toThrow('cannot set namespace')
    expect(() => stamped({ apiVersion: 'v1', kind: 'ConfigMap' }, owner, {})).toThrow(
      'neither metadata.name nor metadata.generateName',
    )
  })

  test('have a digest that does not depend on the order of keys', () => {
    const [a, b] = [
      { x: 1, y: { z: 1, w: 2 } },
      { y: { w: 2, z: 1 }, x: 1 },
    ].map((spec) => stampDigest({ apiVersion: 'v1', kind: 'K', metadata: {}, spec }))
    expect(a).toBe(b)
  })
})

describe('the YAML of outputs', () => {
  test.each<[JsonValue, string]>([
    ['plain', 'plain\n'],
    ['', '""\n'],
    ['yes', '"yes"\n'],
    ['1.5', '"1.5"\n'],
    ['0x1f', '"0x1f"\n'],
    ['12:30:45', '"12:30:45"\n'],
    ['2026-01-01', '"2026-01-01"\n'],
    ['a: b', "'a: b'\n"],
    ['# no comment', "'# no comment'\n"],
    ['-', "'-'\n"],
    ["it's", "it's\n"],
    ['tab\there', '"tab\\there"\n'],
    ['two\nlines', '|-\n    two\n    lines\n'],
    ['two\nlines\n', '|\n    two\n    lines\n'],
    [null, 'null\n'],
    [1234567.5, '1.2345675e+06\n'],
    [[], '[]\n'],
    [{}, '{}\n'],
    [[1, [2, { b: 1, a: [] }]], '- 1\n- - 2\n  - a: []\n    b: 1\n'],
    [{ list: [{ a: { b: 1 }, c: 2 }] }, 'list:\n    - a:\n        b: 1\n      c: 2\n'],
    [{ a٤: 1, a3: 2, a٣: 3 }, 'a3: 2\na٣: 3\na٤: 1\n'],
    [{ a10: 1, a2: 2, b: 'x\ny' }, 'a2: 2\na10: 1\nb: |-\n    x\n    y\n'],
  ])('of %j', (value, expected) => {
    expect(goYaml(value)).toBe(expected)
  })
})

describe('choices', () => {
  const resource = (more: Partial<BlueprintResource>): BlueprintResource => ({
    name: 'r',
    templateRef: { kind: 'ClusterSourceTemplate', name: 't' },
    ...more,
  })

  test('of templates report several matching options', () => {
    const options: readonly TemplateOption[] = [
      { name: 'a', selector: { matchLabels: { x: '1' } } },
      { passThrough: 'in', selector: { matchLabels: { y: '1' } } },
    ]
    const choose = (labels: Record<string, string>): unknown =>
      chooseTemplate(
        resource({ templateRef: { kind: 'ClusterSourceTemplate', options } }),
        { metadata: { labels } },
        'chain',
      )
    expect(choose({ x: '1' })).toEqual({ kind: 'template', name: 'a' })
    expect(choose({ y: '1' })).toEqual({ kind: 'pass-through', input: 'in' })
    expect(choose({ x: '1', y: '1' })).toEqual({
      kind: 'none',
      submitted: verdict(
        'False',
        'TemplateOptionsMatchError',
        'expected exactly 1 option to match, found [2] matching options [a, in] for resource [r] in supply chain [chain]',
      ),
    })
    expect(choose({})).toEqual({
      kind: 'none',
      submitted: verdict(
        'False',
        'TemplateOptionsMatchError',
        'expected exactly 1 option to match, found [0] matching options [] for resource [r] in supply chain [chain]; its options are [a, in]',
      ),
    })
  })

  test('of an owner do not override a value, but do override a later default', () => {
    const owner = [{ name: 'p', value: 'own' }]
    expect(mergeParams({ blueprint: [{ name: 'p', value: 'bp' }], owner })).toEqual({ p: 'bp' })
    expect(
      mergeParams({ blueprint: [{ name: 'p', value: 'bp' }], resource: [{ name: 'p', default: 'res' }], owner }),
    ).toEqual({ p: 'own' })
    expect(mergeParams({ owner: [{ name: '__proto__', value: 1 }] })).toEqual(JSON.parse('{"__proto__": 1}'))
  })

  test('of resources report the names in a cycle', () => {
    const from = (name: string, provider?: string): BlueprintResource =>
      resource({ name, sources: provider === undefined ? [] : [{ name: 'in', resource: provider }] })
    expect([...cyclicResources([from('a', 'c'), from('b', 'a'), from('c', 'b'), from('d', 'a'), from('e')])]).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  property.prop([
    fc.array(fc.constantFrom('True', 'False', 'Unknown'), { maxLength: 20 }),
    fc.integer({ min: 1, max: 5 }),
    fc.integer({ min: 1, max: 5 }),
  ])('of retention keep exactly as many as they say, the newest', (states, maxSuccessfulRuns, maxFailedRuns) => {
    const runs = states.map((health, created): Run => ({ name: `run-${created}`, created, health: health as 'True' }))
    const pruned = new Set(runsToPrune(runs, { maxSuccessfulRuns, maxFailedRuns }).map(({ created }) => created))
    for (const [state, limit] of [
      ['True', maxSuccessfulRuns],
      ['False', maxFailedRuns],
      ['Unknown', Infinity],
    ] as const) {
      const all = runs.filter(({ health }) => health === state).map(({ created }) => created)
      expect(all.filter((created) => !pruned.has(created))).toEqual(all.slice(-Math.min(limit, all.length || 1)))
    }
  })

  test('of orphans exclude objects of resources that could not be evaluated', () => {
    const labelsOf = (name: string, template: string): object => ({
      name,
      uid: name,
      labels: {
        'carto.run/resource-name': name,
        'carto.run/template-kind': 'ClusterImageTemplate',
        'carto.run/cluster-template-name': template,
      },
    })
    const owned = [
      ...['a', 'b', 'renamed'].map((name) => object({}, labelsOf(name, 'image'))),
      object({}, labelsOf('removed', 'other')),
    ]
    const resources = [resource({ name: 'a' }), resource({ name: 'b' })]
    const template = { kind: 'ClusterImageTemplate', metadata: { name: 'image' }, spec: {} } as never
    const waits = { submitted: verdict('Unknown', 'MissingValueAtPath'), stamped: false }
    const orphansOf = (more: object): unknown =>
      orphans(
        owned,
        resources,
        resources.map((one) => ({ resource: one, ...waits, ...more })),
      ).map(({ metadata }) => metadata.name)
    expect(orphansOf({ template })).toEqual(['removed'])
    // Without a template, a resource may stamp any object.
    expect(orphansOf({})).toEqual([])
    const passed = { submitted: verdict('True', 'PassThrough'), stamped: true }
    expect(
      orphans(owned, resources, [{ resource: resources[0]!, ...passed }]).map(({ metadata }) => metadata.name),
    ).toEqual(['a', 'renamed', 'removed'])
  })
})

describe('a deployment', () => {
  const completion = {
    observedCompletion: {
      succeeded: { key: '.status.phase', value: 'Done' },
      failed: { key: '.status.phase', value: 'Broken' },
    },
  }
  test.each<[string, Record<string, unknown>, readonly string[] | undefined]>([
    ['is incomplete while it has no status', {}, ['Unknown', 'ConditionNotMet']],
    [
      'is incomplete while its status is of an earlier generation',
      { observedGeneration: 1, phase: 'Done' },
      ['Unknown', 'ConditionNotMet'],
    ],
    [
      'has failed when the failed condition is met',
      { observedGeneration: 2, phase: 'Broken' },
      ['False', 'FailedConditionMet'],
    ],
    [
      'is incomplete while the success condition is not met',
      { observedGeneration: 2, phase: 'Working' },
      ['Unknown', 'ConditionNotMet'],
    ],
    ['is complete when the success condition is met', { observedGeneration: 2, phase: 'Done' }, undefined],
  ])('%s', (_title, status, expected) => {
    const found = incompleteness('r', completion, object(status, { generation: 2 }))
    expect(found && [found.status, found.reason]).toEqual(expected)
  })

  test('compares lists and maps by value', () => {
    const spec = { observedMatches: [{ input: '.status.a', output: '.status.b' }] }
    expect(incompleteness('r', spec, object({ a: [1, { x: 1 }], b: [1, { x: 1 }] }))).toBeUndefined()
    expect(incompleteness('r', spec, object({ a: [1], b: [2] }))?.message).toBe(
      'resource [r] condition not met: input [.status.a] and output [.status.b] do not match: [1] != [2]',
    )
  })
})

test('reports invalid paths', () => {
  expect(pathProblem('.status.a')).toBeUndefined()
  expect(pathProblem('.status[')).toBeTypeOf('string')
  expect(pathProblem(' ')).toBe('the path is empty')
})
