// Generated TypeScript types of custom resources.
import { crdTypes } from '@fairlead/references/generator'
import type { StructuralSchema } from '@fairlead/references/generator'
import { describe, expect, test } from 'vitest'

function typesOf(schema: StructuralSchema): string {
  const versions = [
    { name: 'v1', storage: true, schema: { openAPIV3Schema: { type: 'object', properties: { spec: schema } } } },
  ]
  return crdTypes([
    { kind: 'CustomResourceDefinition', spec: { group: 'example.com', names: { kind: 'Widget' }, versions } },
  ]).join('\n')
}

describe('generated types of a custom resource', () => {
  test('have descriptions, required fields and nesting', () => {
    const schema: StructuralSchema = {
      type: 'object',
      description: 'Desired state.',
      required: ['size'],
      properties: {
        size: { type: 'integer', description: 'Its size.\nIn meters.' },
        color: { type: 'string', enum: ['red', "it's"], default: 'red' },
        policies: {
          type: 'array',
          items: { type: 'object', properties: { name: { type: 'string', nullable: true } } },
        },
      },
    }
    expect(typesOf(schema)).toBe(`
export interface Widget {
  readonly apiVersion: 'example.com/v1'
  readonly kind: 'Widget'
  readonly metadata: ObjectMeta
  /** Desired state. */
  readonly spec?: WidgetSpec
}

export interface WidgetSpecPolicy {
  readonly name?: string | null
}

/** Desired state. */
export interface WidgetSpec {
  /**
   * Its size.
   * In meters.
   */
  readonly size: number
  readonly color: 'red' | "it's"
  readonly policies?: readonly WidgetSpecPolicy[]
}`)
  })

  test.each<[type: string, schema: StructuralSchema]>([
    ['number | string', { 'x-kubernetes-int-or-string': true }],
    [
      'KubeObject',
      { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
    ],
    ['Readonly<Record<string, unknown>>', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }],
    [
      'Readonly<Record<string, readonly string[]>>',
      { type: 'object', additionalProperties: { type: 'array', items: { type: 'string' } } },
    ],
    ['readonly (1 | 2)[]', { type: 'array', items: { type: 'integer', enum: [1, 2] } }],
    ['unknown', { 'x-kubernetes-preserve-unknown-fields': true }],
    ['boolean | null', { type: 'boolean', nullable: true }],
  ])('have %s', (type, schema) => {
    expect(typesOf({ type: 'object', properties: { field: schema } })).toContain(`  readonly field?: ${type}\n`)
  })

  test('of versions that are not stored have the version in their name', () => {
    const schema = { openAPIV3Schema: { type: 'object', properties: {} } }
    const versions = [
      { name: 'v1', storage: true, schema },
      { name: 'v1alpha1', storage: false, schema },
    ]
    const text = crdTypes([
      { kind: 'CustomResourceDefinition', spec: { group: 'example.com', names: { kind: 'Widget' }, versions } },
    ]).join('\n')
    expect([...text.matchAll(/interface (\w+)/g)].map((match) => match[1])).toEqual(['Widget', 'WidgetV1alpha1'])
  })
})
