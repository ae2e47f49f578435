// CustomResourceDefinitions: defaults, warnings, and the rules that the recordings do not cover.
import { describe, expect, test } from 'vitest'
import type { JsonValue, KubeObject } from '@fairlead/kube'
import {
  apiApprovalOf,
  customResourceDefinitionWarnings,
  defaultCustomResourceDefinition,
  formatFieldError,
  isProtectedGroup,
  validateCustomResourceDefinition,
} from '@fairlead/kube'

const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

type Fields = Readonly<Record<string, unknown>>

function version(name: string, more: Fields = {}, schema: Fields = anything): Fields {
  return { name, served: true, storage: name === 'v1', schema: { openAPIV3Schema: schema }, ...more }
}

function crd(spec: Fields = {}, more: Fields = {}): KubeObject {
  const whole = {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [version('v1')],
    ...spec,
  }
  return defaultCustomResourceDefinition({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: whole,
    ...more,
  })
}

const errorsOf = (object: KubeObject, old?: KubeObject): string[] =>
  validateCustomResourceDefinition(object, old).map(formatFieldError)

/** Returns the errors of the schema of a property `spec`, without the path of that property. */
function schemaErrors(schema: Fields): string[] {
  const path = 'spec.validation.openAPIV3Schema.properties[spec]'
  return errorsOf(crd({ versions: [version('v1', {}, { type: 'object', properties: { spec: schema } })] })).map(
    (error) => error.replace(path, ''),
  )
}

describe('defaultCustomResourceDefinition', () => {
  test('sets names, conversion, the port of a webhook and storedVersions', () => {
    const webhook = { clientConfig: { service: { name: 's', namespace: 'n' } }, conversionReviewVersions: ['v1'] }
    expect(crd({ conversion: { strategy: 'Webhook', webhook } })).toMatchObject({
      spec: {
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        conversion: { webhook: { clientConfig: { service: { name: 's', namespace: 'n', port: 443 } } } },
      },
      status: { storedVersions: ['v1'] },
    })
    expect(crd()['spec']).toMatchObject({ conversion: { strategy: 'None' } })
  })

  test('returns a complete definition unchanged', () => {
    const complete = crd()
    expect(defaultCustomResourceDefinition(complete)).toBe(complete)
  })
})

describe('spec of a CustomResourceDefinition', () => {
  test.each<[string, Fields, string[]]>([
    [
      'a group with a dot',
      { group: 'example' },
      [
        'metadata.name: Invalid value: "widgets.example.com": must be spec.names.plural+"."+spec.group',
        'spec.group: Invalid value: "example": should be a domain with at least one dot',
      ],
    ],
    [
      'a scope',
      { scope: 'World' },
      ['spec.scope: Unsupported value: "World": supported values: "Cluster", "Namespaced"'],
    ],
    ['a scope at all', { scope: '' }, ['spec.scope: Required value']],
    [
      'a schema per version',
      { versions: [{ name: 'v1', served: true, storage: true }] },
      ['spec.versions[0].schema.openAPIV3Schema: Required value'],
    ],
    [
      'kind and listKind that differ',
      { names: { plural: 'widgets', kind: 'Widget', listKind: 'Widget' } },
      ['spec.names.listKind: Invalid value: "Widget": kind and listKind may not be the same'],
    ],
    [
      'one storage version',
      { versions: [version('v1', { storage: false })] },
      [
        'spec.versions: Invalid value: [{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]: must have exactly one version marked as storage version',
        'status.storedVersions: Invalid value: null: must have at least one stored version',
      ],
    ],
    [
      'a warning for deprecated versions only',
      { versions: [version('v1', { deprecationWarning: 'x' })] },
      ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
    ],
    [
      'printable warnings',
      { versions: [version('v1', { deprecated: true, deprecationWarning: 'é\n' })] },
      [
        'spec.versions[0].deprecationWarning: Invalid value: "é\\n": must only contain printable UTF-8 characters; non-printable character found at index 2',
      ],
    ],
    [
      'columns with a type',
      { versions: [version('v1', { additionalPrinterColumns: [{ name: 'A', type: 'odd', jsonPath: 'spec' }] })] },
      [
        'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of boolean,date,integer,number,string',
        'spec.additionalPrinterColumns[0].JSONPath: Invalid value: "spec": must be a simple json path starting with .',
      ],
    ],
    [
      'scale paths where they belong',
      {
        versions: [
          version('v1', { subresources: { scale: { specReplicasPath: '.status.x', statusReplicasPath: '' } } }),
        ],
      },
      [
        'spec.subresources.scale.specReplicasPath: Invalid value: ".status.x": should be a json path under .spec',
        'spec.subresources.scale.statusReplicasPath: Required value',
      ],
    ],
    [
      'no webhook without its strategy',
      { conversion: { strategy: 'None', webhook: { conversionReviewVersions: ['v1'] } } },
      ['spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook'],
    ],
    [
      'a webhook with it',
      { conversion: { strategy: 'Webhook' } },
      [
        'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
        'spec.conversion.conversionReviewVersions: Required value',
      ],
    ],
    [
      'a webhook that can be trusted',
      {
        conversion: {
          strategy: 'Webhook',
          webhook: { clientConfig: { url: 'http://u@x/?q' }, conversionReviewVersions: ['v9'] },
        },
      },
      [
        'spec.conversion.webhookClientConfig.url: Invalid value: "http": \'https\' is the only allowed URL scheme; desired format: https://host[/path]',
        'spec.conversion.webhookClientConfig.url: Invalid value: "u": user information is not permitted in the URL',
        'spec.conversion.webhookClientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
        'spec.conversion.conversionReviewVersions: Invalid value: ["v9"]: must include at least one of v1, v1beta1',
      ],
    ],
    [
      'pruning',
      { preserveUnknownFields: true },
      [
        'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
      ],
    ],
  ])('requires %s', (_, spec, expected) => {
    expect(errorsOf(crd(spec))).toEqual(expected)
  })

  test('reports errors of shared values once, others with their version', () => {
    const bad = { type: 'object', properties: { a: {} } }
    expect(errorsOf(crd({ versions: [version('v1'), version('v2', {}, bad)] }))).toEqual([
      'spec.versions[1].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ])
    expect(errorsOf(crd({ versions: [version('v1', {}, bad), version('v2', {}, bad)] }))).toEqual([
      'spec.validation.openAPIV3Schema.properties[a].type: Required value: must not be empty for specified object fields',
    ])
  })
})

describe('selectableFields of a CustomResourceDefinition', () => {
  const schema = {
    type: 'object',
    properties: {
      spec: { type: 'object', properties: { a: { type: 'string' }, n: { type: 'number' } } },
      metadata: { type: 'object', properties: { name: { type: 'string' } } },
    },
  }
  const select = (...paths: string[]): string[] =>
    errorsOf(
      crd({ versions: [version('v1', { selectableFields: paths.map((jsonPath) => ({ jsonPath })) }, schema)] }),
    ).map((error) => error.replace('spec.selectableFields', ''))

  test.each<[string[], string[]]>([
    [['.spec.a'], []],
    [['.spec.b'], ['[0].jsonPath: Invalid value: ".spec.b": is an invalid path: does not refer to a valid field']],
    [
      ["['spec'].a"],
      ['[0].jsonPath: Invalid value: "[\'spec\'].a": is an invalid path: array notation is not allowed'],
    ],
    [['spec'], ['[0].jsonPath: Invalid value: "spec": is an invalid path: expected [ or . but got: spec']],
    [
      ['.spec.n'],
      [
        '[0].jsonPath: Invalid value: ".spec.n": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      ],
    ],
    [['.metadata.name'], ['[0].jsonPath: Invalid value: ".metadata.name": must not point to fields in metadata']],
    [['.spec.a', '.spec.a'], ['[1].jsonPath: Duplicate value: ".spec.a"']],
    [[''], ['[0].jsonPath: Required value']],
  ])('%j', (paths, expected) => {
    expect(select(...paths)).toEqual(expected)
  })
})

describe('structural schema', () => {
  test.each<[string, Fields, string[]]>([
    ['of a list has items', { type: 'array' }, ['.items: Required value: must be specified']],
    [
      'declares before it restricts only at the root',
      { type: 'object', allOf: [{ properties: { a: { minLength: 1 } } }] },
      [],
    ],
    [
      'may take types in the int-or-string alternative',
      { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
      [],
    ],
    [
      'may not in others',
      { type: 'object', oneOf: [{ type: 'string', nullable: true }] },
      [
        '.oneOf[0].nullable: Forbidden: must be false to be structural',
        '.oneOf[0].type: Forbidden: must be empty to be structural',
      ],
    ],
    [
      'has no metadata in alternatives',
      { type: 'object', not: { properties: { metadata: {} } } },
      ['.not.properties[metadata]: Forbidden: must not be specified in a nested context'],
    ],
    [
      'of a set has items that are there',
      { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string', nullable: true } },
      ['.items.nullable: Forbidden: cannot be nullable when x-kubernetes-list-type is set'],
    ],
    [
      'of a map list has scalar keys',
      {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', required: ['k'], properties: { k: { type: 'object' } } },
      },
      [
        '.items.properties[k].type: Invalid value: "object": must be a scalar type if parent array\'s x-kubernetes-list-type is map',
      ],
    ],
    [
      'has rules with an expression',
      {
        type: 'object',
        'x-kubernetes-validations': [{ rule: ' ' }, { rule: 'a\nb' }, { rule: 'a', reason: 'Odd', fieldPath: '.nope' }],
      },
      [
        '.x-kubernetes-validations[0].rule: Required value: rule is not specified',
        '.x-kubernetes-validations[1].message: Required value: message must be specified if rule contains line breaks',
        '.x-kubernetes-validations[2].reason: Unsupported value: "Odd": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
        '.x-kubernetes-validations[2].fieldPath: Invalid value: ".nope": must be a valid path',
      ],
    ],
    [
      'has defaults that embedded objects could have',
      {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        'x-kubernetes-preserve-unknown-fields': true,
        default: { kind: 'K' },
      },
      ['.default.apiVersion: Required value'],
    ],
    [
      'has defaults in metadata that make it valid',
      {
        type: 'object',
        'x-kubernetes-embedded-resource': true,
        properties: { kind: { type: 'string', default: 'No_' } },
      },
      [
        ".properties[kind].default: Invalid value: \"No_\": must result in valid metadata: kind: Invalid value: \"No_\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
      ],
    ],
  ])('%s', (_, schema, expected) => {
    expect(schemaErrors(schema)).toEqual(expected)
  })

  test('must declare the fields that alternatives of its root restrict', () => {
    const schema = {
      type: 'object',
      properties: { a: { type: 'string' } },
      anyOf: [{ properties: { a: { minLength: 1 }, b: { minLength: 1 } } }],
    }
    expect(errorsOf(crd({ versions: [version('v1', {}, schema)] }))).toEqual([
      'spec.validation.openAPIV3Schema.properties[b]: Required value: because it is defined in spec.validation.openAPIV3Schema.anyOf[0].properties[b]',
    ])
  })

  test('allows no keywords at its root when status is a subresource', () => {
    const schema = { type: 'object', properties: { spec: anything }, minProperties: 1 }
    const [error] = errorsOf(crd({ versions: [version('v1', { subresources: { status: {} } }, schema)] }))
    expect(error).toMatch(
      /^spec\.validation\.openAPIV3Schema: .*fields are allowed at the root of the schema if the status subresource is enabled$/,
    )
  })
})

describe('update of a CustomResourceDefinition', () => {
  const established = {
    status: { storedVersions: ['v1'], conditions: [{ type: 'Established', status: 'True', reason: 'R', message: '' }] },
  }

  test('rejects changes of scope and kind of an established definition', () => {
    const changed = { scope: 'Cluster', names: { plural: 'widgets', kind: 'Gadget' } }
    expect(errorsOf(crd(changed, established), crd({}, established))).toEqual([
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Gadget": field is immutable',
    ])
    expect(errorsOf(crd(changed), crd())).toEqual([])
  })

  test('returns the errors of the CEL engine', () => {
    const calls: JsonValue[] = []
    const compile = (_schema: unknown, path: string, old: unknown): [] => {
      calls.push(`${path} ${old === undefined ? 'new' : 'changed'}`)
      return []
    }
    validateCustomResourceDefinition(crd(), undefined, { compile })
    validateCustomResourceDefinition(crd(), crd(), { compile })
    validateCustomResourceDefinition(crd({ versions: [version('v1', {}, { type: 'string' })] }), undefined, { compile })
    expect(calls).toEqual(['spec.validation.openAPIV3Schema new', 'spec.validation.openAPIV3Schema changed'])
  })
})

test('warns about unknown formats that the definition did not have before', () => {
  const withFormat = (format: string): KubeObject =>
    crd({
      versions: [
        version(
          'v1',
          {},
          { type: 'object', properties: { a: { type: 'string', format }, n: { type: 'integer', format: 'odd' } } },
        ),
      ],
    })
  expect(customResourceDefinitionWarnings(withFormat('odd'))).toEqual(['unrecognized format "odd"'])
  expect(customResourceDefinitionWarnings(withFormat('odd'), withFormat('odd'))).toEqual([])
  expect(customResourceDefinitionWarnings(withFormat('date-time'))).toEqual([])
})

describe('api-approved.kubernetes.io annotation', () => {
  test.each([
    ['k8s.io', true],
    ['a.k8s.io', true],
    ['x.kubernetes.io', true],
    ['notk8s.io', false],
    ['example.com', false],
  ])('%s is protected: %s', (group, expected) => {
    expect(isProtectedGroup(group)).toBe(expected)
  })

  test.each([
    ['https://github.com/x', 'Approved'],
    ['unapproved, why', 'Bypassed'],
    ['bad', 'Invalid'],
    ['', 'Missing'],
  ])('%j is parsed as %s', (value, expected) => {
    expect(apiApprovalOf({ annotations: { 'api-approved.kubernetes.io': value } }).state).toBe(expected)
  })
})
