// The validators of blueprints, templates and ClusterHealthRules.
import type { KubeObject } from '@fairlead/kube'
import { describe, expect, test } from 'vitest'
import { validators } from '@fairlead/supply'

/** Returns the errors of an object as `field: detail`. */
function errorsOf(resource: string, spec: object): string[] {
  const object = {
    apiVersion: 'carto.run/v1alpha1',
    kind: resource === 'clusterdeploymenttemplates' ? 'ClusterDeploymentTemplate' : 'K',
    metadata: { name: 'x' },
    spec,
  } as KubeObject
  return validators
    .filter(({ resources }) => resources.includes(resource))
    .flatMap((validator) => validator.validate(object, undefined).map(({ field, detail }) => `${field}: ${detail}`))
}

const ref = { kind: 'ClusterSourceTemplate', name: 't' }
const chain = (resources: readonly object[], more: object = {}): object => ({
  selector: { a: 'b' },
  resources,
  ...more,
})
const template = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }
const matchFields = [{ key: '.status.a', operator: 'Exists' }]

test('a blueprint may begin its field paths with the kind of the owner, as the documents of Cartographer do', () => {
  const options = ['a', 'b'].map((name) => ({
    name,
    selector: { matchFields: [{ key: 'workload.spec.source.git.url', operator: 'In', values: [name] }] },
  }))
  const spec = chain([{ name: 'r', templateRef: { kind: 'ClusterSourceTemplate', options } }], {
    selectorMatchFields: [{ key: 'workload.metadata.labels.x', operator: 'Exists' }],
  })
  expect(errorsOf('clustersupplychains', spec)).toEqual([])
})

describe('a blueprint is rejected', () => {
  test.each<[string, string, object, readonly string[]]>([
    [
      'without a selector',
      'clustersupplychains',
      { resources: [] },
      ['spec: at least one selector, selectorMatchExpression, selectorMatchField must be specified'],
    ],
    [
      'for a param with value and default',
      'clustersupplychains',
      chain([], { params: [{ name: 'p', value: 1, default: 2 }] }),
      ['spec.params[0]: param [p] is invalid: must set exactly one of value and default'],
    ],
    [
      'for two resources with the same name',
      'clustersupplychains',
      chain([
        { name: 'r', templateRef: ref },
        { name: 'r', templateRef: ref },
      ]),
      ['spec.resources: resource name [r] cannot appear more than once'],
    ],
    [
      'for a field that no Workload has',
      'clustersupplychains',
      { selectorMatchFields: [{ key: 'spec.nope', operator: 'Exists' }], resources: [] },
      [
        expect.stringContaining(
          'spec.selectorMatchFields[0].key: requirement key [spec.nope] is not a valid path of a Workload',
        ),
      ],
    ],
    [
      'for a field that only Workloads have',
      'clusterdeliveries',
      { selectorMatchFields: [{ key: 'spec.image', operator: 'Exists' }], resources: [] },
      [expect.stringContaining('is not a valid path of a Deliverable')],
    ],
    [
      'for values of an operator that takes none',
      'clustersupplychains',
      { selectorMatchFields: [{ key: 'spec.image', operator: 'Exists', values: ['a'] }], resources: [] },
      ['spec.selectorMatchFields[0].values: operator Exists takes no values'],
    ],
    [
      'for an unknown provider',
      'clusterdeliveries',
      chain([{ name: 'r', templateRef: ref, sources: [{ name: 's', resource: 'missing' }] }]),
      ['spec.resources[0].sources: [missing] is provided by unknown resource'],
    ],
    [
      'for an input whose provider has another kind of output',
      'clustersupplychains',
      chain([
        { name: 'a', templateRef: ref },
        { name: 'b', templateRef: { kind: 'ClusterTemplate', name: 't' }, images: [{ name: 'i', resource: 'a' }] },
      ]),
      ['spec.resources[1].images: resource [a] provides a source, not an image'],
    ],
    [
      'for a cycle',
      'clustersupplychains',
      chain([
        { name: 'a', templateRef: ref, sources: [{ name: 's', resource: 'b' }] },
        { name: 'b', templateRef: ref, sources: [{ name: 's', resource: 'a' }] },
      ]),
      ['spec.resources: the resources [a, b] wait for each other'],
    ],
    [
      'for a deployment template without a deployment',
      'clusterdeliveries',
      chain([{ name: 'd', templateRef: { kind: 'ClusterDeploymentTemplate', name: 't' } }]),
      ['spec.resources[0].deployment: resource [d] is invalid: a ClusterDeploymentTemplate needs a deployment'],
    ],
    [
      'for options with equal selectors',
      'clustersupplychains',
      chain([
        {
          name: 'o',
          templateRef: {
            kind: 'ClusterSourceTemplate',
            options: [
              { name: 'a', selector: { matchLabels: { x: 'y' } } },
              { passThrough: 'nothing', selector: { matchLabels: { x: 'y' } } },
            ],
          },
        },
      ]),
      [
        'spec.resources[0].templateRef.options: two options have the same selector, so neither can ever be selected',
        'spec.resources[0].templateRef.options[1].passThrough: pass through [nothing] does not refer to a known source input',
      ],
    ],
  ])('%s', (_title, resource, spec, expected) => {
    expect(errorsOf(resource, spec)).toEqual(expected)
  })
})

describe('a template is rejected', () => {
  test.each<[string, string, object, readonly string[]]>([
    [
      'without template, ytt and expression',
      'clustertemplates',
      {},
      ['spec: invalid template: must specify one of template, ytt or expression, found neither'],
    ],
    [
      'with both template and ytt',
      'clustertemplates',
      { template, ytt: 'x' },
      ['spec: invalid template: must specify one of template, ytt or expression, found multiple'],
    ],
    [
      'with a namespace',
      'clustertemplates',
      { template: { metadata: { namespace: 'x' } } },
      [
        'spec.template.metadata.namespace: invalid template: template should not set metadata.namespace on the child object',
      ],
    ],
    [
      'with a retention policy and the lifecycle mutable',
      'clustertemplates',
      { template, retentionPolicy: { maxFailedRuns: 1, maxSuccessfulRuns: 1 }, healthRule: { alwaysHealthy: {} } },
      ['spec.retentionPolicy: invalid template: if lifecycle is mutable, no retention policy may be set'],
    ],
    [
      'with an empty rule',
      'clustertemplates',
      { template, healthRule: {} },
      [
        expect.stringContaining(
          'spec.healthRule: invalid health rule: must specify one of alwaysHealthy, singleConditionType or multiMatch, found neither',
        ),
      ],
    ],
    [
      'with two rules',
      'clustertemplates',
      { template, healthRule: { alwaysHealthy: {}, singleConditionType: 'Ready' } },
      [expect.stringContaining('found multiple')],
    ],
    [
      'with both spellings',
      'clustertemplates',
      { template, healthRule: { alwaysHealthy: {} }, healthyConditionRule: { alwaysHealthy: {} } },
      [
        'spec.healthyConditionRule: healthRule and healthyConditionRule are two spellings of one field; set one of them',
      ],
    ],
    [
      'with matchers for the healthy state only',
      'clustertemplates',
      { template, healthRule: { multiMatch: { healthy: { matchFields }, unhealthy: {} } } },
      [
        'spec.healthRule.multiMatch.unhealthy: invalid multi match health rule: unhealthy rule has no matchFields or matchConditions',
      ],
    ],
    [
      'with an invalid path',
      'clusterimagetemplates',
      { template, imagePath: '.status[' },
      [expect.stringContaining('spec.imagePath: ')],
    ],
    [
      'with an expression that does not compile',
      'clustertemplates',
      { expression: '{' },
      [expect.stringContaining('spec.expression: ')],
    ],
    [
      'with an expression that yields no object',
      'clustertemplates',
      { expression: "'a string'" },
      ['spec.expression: must be an object, it is of type string'],
    ],
    [
      'with a health expression that yields no boolean',
      'clustertemplates',
      { template, healthRule: { expression: { healthy: "'yes'", message: "'fine'" } } },
      ['spec.healthRule.expression.healthy: must be true or false, it is of type string'],
    ],
    [
      'for a deployment without completion criteria',
      'clusterdeploymenttemplates',
      { template },
      ['spec: invalid spec: must set exactly one of spec.ObservedMatches and spec.ObservedCompletion, found neither'],
    ],
    [
      'for a run without a spec',
      'clusterruntemplates',
      { template: { metadata: {} } },
      ['spec.template.spec: a run needs a spec'],
    ],
    [
      'for a ClusterHealthRule that is auto',
      'clusterhealthrules',
      { target: { apiVersion: 'v1', kind: 'Pod' }, healthRule: { auto: {} } },
      ['spec.healthRule.auto: a ClusterHealthRule cannot itself be auto'],
    ],
  ])('%s', (_title, resource, spec, expected) => {
    expect(errorsOf(resource, spec)).toEqual(expected)
  })
})
