// Definitions of custom resources: structural schemas with rules, mostly acceptable, and objects of the fixed one that
// every run has.
import fc from 'fast-check'
import type { JsonValue, SchemaNode } from '@fairlead/kube'
import { cel } from './expressions.ts'
import { json, number, ownObject, text } from './values.ts'

/** The schema of `widgets.fuzz.example.com`: every kind of list and map, defaults, rules, free parts. */
export const widgetSchema: SchemaNode = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      'x-kubernetes-validations': [{ rule: '!has(self.size) || self.size != 13', message: 'not thirteen' }],
      properties: {
        size: { type: 'integer', format: 'int32', default: 1, maximum: 1000 },
        replicas: { type: 'integer' },
        port: { 'x-kubernetes-int-or-string': true },
        ratio: { type: 'number' },
        name: { type: 'string', pattern: '^[a-z]*$', maxLength: 20, nullable: true },
        when: { type: 'string', format: 'date-time' },
        bytes: { type: 'string', format: 'byte' },
        set: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        map: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'protocol'],
          items: {
            type: 'object',
            required: ['port'],
            properties: {
              port: { type: 'integer' },
              protocol: { type: 'string', default: 'TCP' },
              note: { type: 'string' },
            },
          },
        },
        atomic: {
          type: 'array',
          'x-kubernetes-list-type': 'atomic',
          items: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
        whole: { type: 'object', 'x-kubernetes-map-type': 'atomic', properties: { a: { type: 'string' } } },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        table: {
          type: 'object',
          additionalProperties: { type: 'object', properties: { a: { type: 'string', default: 'x' } } },
        },
        inner: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
        choice: { type: 'string', enum: ['a', 'b'] },
      },
    },
    status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
  },
}

/** The definition of the widgets. */
export const widgetDefinition: JsonValue = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.fuzz.example.com' },
  spec: {
    group: 'fuzz.example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: {
            specReplicasPath: '.spec.replicas',
            statusReplicasPath: '.status.replicas',
            labelSelectorPath: '.status.selector',
          },
        },
        additionalPrinterColumns: [
          { name: 'Size', type: 'integer', jsonPath: '.spec.size' },
          { name: 'When', type: 'date', jsonPath: '.spec.when' },
          { name: 'Notes', type: 'string', jsonPath: '.spec.map[?(@.protocol=="TCP")].note' },
        ],
        selectableFields: [{ jsonPath: '.spec.choice' }],
        schema: { openAPIV3Schema: widgetSchema as JsonValue },
      },
    ],
  },
}

const rule = fc.record(
  {
    rule: cel,
    message: text,
    messageExpression: cel,
    reason: fc.constantFrom('FieldValueInvalid', 'X'),
    fieldPath: fc.constantFrom('.a', '.b', '.x', 'a', '['),
    optionalOldSelf: fc.boolean(),
  },
  { requiredKeys: ['rule'] },
)

const leaf: fc.Arbitrary<JsonValue> = fc.record(
  {
    type: fc.constantFrom('string', 'integer', 'number', 'boolean', 'object', 'array', 'null', ''),
    format: fc.constantFrom('date-time', 'int64', 'byte', 'ipv4', 'cidr', 'duration', 'uuid', 'x'),
    default: json,
    enum: fc.array(json, { maxLength: 3 }),
    nullable: fc.boolean(),
    maxLength: number,
    minimum: number,
    maxItems: number,
    multipleOf: number,
    pattern: fc.constantFrom('^a+$', '(', '(a+)+$', '[', '\\d'),
    'x-kubernetes-int-or-string': fc.boolean(),
    'x-kubernetes-preserve-unknown-fields': fc.boolean(),
    'x-kubernetes-embedded-resource': fc.boolean(),
    'x-kubernetes-validations': fc.array(rule, { maxLength: 2 }),
  },
  { requiredKeys: ['type'] },
) as fc.Arbitrary<JsonValue>

const node: fc.Arbitrary<JsonValue> = fc.letrec<{ node: JsonValue }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 4, depthSize: 'small', withCrossShrink: true },
    {
      weight: 3,
      arbitrary: fc.constantFrom<JsonValue>(
        { type: 'string' },
        { type: 'integer', default: 1 },
        { type: 'boolean' },
        { 'x-kubernetes-int-or-string': true },
        { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        { type: 'string', maxLength: 5 },
      ),
    },
    {
      weight: 1,
      arbitrary: fc
        .subarray(
          [
            'default',
            'enum',
            'nullable',
            'maxLength',
            'pattern',
            'format',
            'x-kubernetes-validations',
            'x-kubernetes-int-or-string',
            'minimum',
          ],
          { maxLength: 2 },
        )
        .chain((kept) =>
          leaf.map((all) =>
            ownObject(
              Object.entries(all as { [key: string]: JsonValue }).filter(
                ([name]) => name === 'type' || kept.includes(name),
              ),
            ),
          ),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .tuple(
          fc.array(
            fc.tuple(fc.constantFrom('a', 'b', 'list', 'map', 'any', '__proto__', 'self', 'in', 'a-b'), tie('node')),
            { maxLength: 3 },
          ),
          fc.array(rule, { maxLength: 2 }),
        )
        .map(([entries, rules]) => ({
          type: 'object',
          properties: ownObject(entries),
          ...(rules.length > 0 ? { 'x-kubernetes-validations': rules as unknown as JsonValue } : {}),
        })),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(tie('node'), fc.constantFrom('atomic', 'set', 'map', undefined), fc.constantFrom(undefined, 5, 1000))
        .map(([items, type, maxItems]) => ({
          type: 'array',
          items,
          ...(type === undefined ? {} : { 'x-kubernetes-list-type': type }),
          ...(type === 'map' ? { 'x-kubernetes-list-map-keys': ['a'] } : {}),
          ...(maxItems === undefined ? {} : { maxItems }),
        })),
    },
    { weight: 1, arbitrary: tie('node').map((additionalProperties) => ({ type: 'object', additionalProperties })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(tie('node'), fc.constantFrom('not', 'allOf', 'anyOf', 'oneOf'))
        .map(([inner, how]) => ({ type: 'object', [how]: how === 'not' ? inner : [inner] })),
    },
  ),
})).node

/** A definition `gadgets.fuzz.example.com` with any schema. */
export const definition: fc.Arbitrary<JsonValue> = fc
  .tuple(node, fc.array(rule, { maxLength: 2 }), fc.integer({ min: 0, max: 20 }), json, text)
  .map(([spec, rules, mood, noise, path]) => ({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'gadgets.fuzz.example.com' },
    spec: {
      group: 'fuzz.example.com',
      scope: mood === 0 ? 'Cluster' : 'Namespaced',
      names: {
        plural: 'gadgets',
        singular: 'gadget',
        kind: 'Gadget',
        listKind: 'GadgetList',
        ...(mood === 1 ? { shortNames: noise } : {}),
      },
      ...(mood === 2 ? { conversion: noise } : {}),
      ...(mood === 3 ? { preserveUnknownFields: noise } : {}),
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          ...(mood === 4 ? { subresources: noise } : mood < 12 ? { subresources: { status: {} } } : {}),
          ...(mood === 5 ? { subresources: { scale: { specReplicasPath: path, statusReplicasPath: path } } } : {}),
          ...(mood === 6 ? { additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: path }] } : {}),
          ...(mood === 7 ? { selectableFields: [{ jsonPath: path }] } : {}),
          schema:
            mood === 8
              ? noise
              : {
                  openAPIV3Schema: {
                    type: 'object',
                    properties: { spec },
                    ...(rules.length > 0 ? { 'x-kubernetes-validations': rules as unknown as JsonValue } : {}),
                  },
                },
        },
        ...(mood === 9 ? [noise] : []),
      ],
    },
  })) as fc.Arbitrary<JsonValue>

/** Objects of the gadgets: whatever their schema says. */
export const gadget: fc.Arbitrary<JsonValue> = fc
  .oneof(
    json,
    fc
      .array(fc.tuple(fc.constantFrom('a', 'b', 'list', 'map', 'any', '__proto__'), json), { maxLength: 4 })
      .map((entries) => ownObject(entries)),
  )
  .map((spec) => ({ apiVersion: 'fuzz.example.com/v1', kind: 'Gadget', metadata: { name: 'a' }, spec }))
