// The types of CustomResourceDefinitions, and the internal form in which Kubernetes validates them: values shared by
// all versions are at the top level.
import { jsonEqual } from '../../json.ts'
import type { JsonObject, JsonValue, KubeObject } from '../../object.ts'
import type { Condition } from '../../conditions.ts'
import type { SchemaNode } from '../schema-node.ts'

/** `openAPIV3Schema` with every nested schema, including the fields that validation rejects. */
export interface JsonSchemaProps extends Omit<SchemaNode, Nested> {
  readonly id?: string
  readonly $schema?: string
  readonly properties?: Readonly<Record<string, JsonSchemaProps>>
  readonly additionalProperties?: JsonSchemaProps | boolean
  readonly items?: JsonSchemaProps | readonly JsonSchemaProps[]
  readonly allOf?: readonly JsonSchemaProps[]
  readonly anyOf?: readonly JsonSchemaProps[]
  readonly oneOf?: readonly JsonSchemaProps[]
  readonly not?: JsonSchemaProps
  readonly additionalItems?: JsonSchemaProps | boolean
  readonly patternProperties?: Readonly<Record<string, JsonSchemaProps>>
  readonly definitions?: Readonly<Record<string, JsonSchemaProps>>
  readonly dependencies?: Readonly<Record<string, JsonSchemaProps | readonly string[]>>
}

type Nested = 'properties' | 'additionalProperties' | 'items' | 'allOf' | 'anyOf' | 'oneOf' | 'not'

/** `spec.names` and `status.acceptedNames`. */
export interface DefinitionNames {
  readonly plural?: string
  readonly singular?: string
  readonly kind?: string
  readonly listKind?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
}

/** `additionalPrinterColumns[]`. */
export interface DefinitionColumn {
  readonly name?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly priority?: number
  readonly jsonPath?: string
}

/** `subresources`. */
export interface DefinitionSubresources {
  readonly status?: JsonObject
  readonly scale?: {
    readonly specReplicasPath?: string
    readonly statusReplicasPath?: string
    readonly labelSelectorPath?: string
  }
}

/** The fields that each version has, or all versions share. */
export interface DefinitionParts {
  readonly schema?: { readonly openAPIV3Schema?: JsonSchemaProps }
  readonly subresources?: DefinitionSubresources
  readonly additionalPrinterColumns?: readonly DefinitionColumn[]
  readonly selectableFields?: readonly { readonly jsonPath?: string }[]
}

/** `spec.versions[]`. */
export interface DefinitionVersion extends DefinitionParts {
  readonly name: string
  readonly served?: boolean
  readonly storage?: boolean
  readonly deprecated?: boolean
  readonly deprecationWarning?: string
}

/** `spec.conversion`. */
export interface DefinitionConversion {
  readonly strategy?: string
  readonly webhook?: {
    readonly clientConfig?: {
      readonly url?: string
      readonly service?: {
        readonly name?: string
        readonly namespace?: string
        readonly path?: string
        readonly port?: number
      }
      readonly caBundle?: string
    }
    readonly conversionReviewVersions?: readonly string[]
  }
}

/** `spec`. */
export interface DefinitionSpec {
  readonly group?: string
  readonly scope?: string
  readonly names: DefinitionNames
  readonly versions: readonly DefinitionVersion[]
  readonly conversion?: DefinitionConversion
  readonly preserveUnknownFields?: boolean
}

/** `status`. */
export interface DefinitionStatus {
  readonly conditions?: readonly Condition[] | null
  readonly acceptedNames?: DefinitionNames
  readonly storedVersions?: readonly string[]
}

/** A CustomResourceDefinition of apiextensions.k8s.io/v1. */
export interface CustomResourceDefinition extends KubeObject {
  readonly spec: DefinitionSpec
  readonly status?: DefinitionStatus
}

/**
 * Casts an object to a CustomResourceDefinition. The API server's decoder has checked its types; lists may be missing.
 */
export function asCustomResourceDefinition(object: KubeObject): CustomResourceDefinition {
  const { spec } = object as unknown as { readonly spec?: Partial<DefinitionSpec> | null }
  if (spec?.names && spec.versions) return object as CustomResourceDefinition
  return { ...object, spec: { ...spec, names: spec?.names ?? {}, versions: spec?.versions ?? [] } }
}

/** A spec with the values that its versions share at the top level. Field paths of errors follow this form. */
export interface FoldedSpec {
  readonly common: DefinitionParts
  readonly versions: readonly DefinitionVersion[]
}

const foldable = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

/** Moves the values that all versions share to the top level, as Kubernetes does before validation. */
export function foldSpec(spec: DefinitionSpec): FoldedSpec {
  const [first] = spec.versions
  if (first === undefined) return { common: {}, versions: [] }
  const alike = foldable.filter((part) => spec.versions.every((version) => isAlike(version[part], first[part])))
  const common = Object.fromEntries(alike.map((part) => [part, first[part]])) as DefinitionParts
  const versions = spec.versions.map((version) => {
    const own = Object.entries(version).filter(([part]) => !alike.some((name) => name === part))
    return Object.fromEntries(own) as unknown as DefinitionVersion
  })
  return { common, versions }
}

function isAlike(a: unknown, b: unknown): boolean {
  return isEmpty(a) && isEmpty(b) ? true : jsonEqual(a as JsonValue, b as JsonValue)
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}
