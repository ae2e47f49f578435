// CustomResourceDefinitions as types, and the form in which Kubernetes validates them: what all versions share stands once, at the top.
import { jsonEqual } from '../../json.ts'
import type { JsonObject, JsonValue, KubeObject } from '../../object.ts'
import type { Condition } from '../../conditions.ts'
import type { SchemaNode } from '../schema-node.ts'

/** `openAPIV3Schema` and everything in it, with the fields that are only there to be refused. */
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

/** What a version has of its own, or all versions together. */
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

/** An object seen as a CustomResourceDefinition. Its types must have been checked (by the API server's decoder); lists may be missing. */
export function asCustomResourceDefinition(object: KubeObject): CustomResourceDefinition {
  const { spec } = object as unknown as { readonly spec?: Partial<DefinitionSpec> | null }
  if (spec?.names && spec.versions) return object as CustomResourceDefinition
  return { ...object, spec: { ...spec, names: spec?.names ?? {}, versions: spec?.versions ?? [] } }
}

/** A spec with what its versions have in common taken out of them. Field paths of errors follow this form. */
export interface FoldedSpec {
  readonly common: DefinitionParts
  readonly versions: readonly DefinitionVersion[]
}

const foldable = ['schema', 'subresources', 'additionalPrinterColumns', 'selectableFields'] as const

/** Moves each part that all versions have alike to the top, as Kubernetes does before it validates. */
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
