// Checks the value paths of references against the schemas of the kinds that they name (originals/ack.md §6.1 item 9).
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { annotationOf, referencesAnnotation } from '../engine/reference-annotation.ts'
import { checkValuePath } from '../engine/value-path.ts'
import { GeneratorError } from './generator-error.ts'
import type { GeneratedKind } from './generate.ts'
import { referentsOf } from './references.ts'
import type { GeneratedReference } from './references.ts'

/** Schemas of kinds by `group/version/kind`. */
export type KindSchemas = ReadonlyMap<string, JsonObject>

interface Definition {
  readonly group: string
  readonly names: { readonly kind: string }
  readonly versions: readonly { readonly name: string; readonly schema?: { readonly openAPIV3Schema?: JsonValue } }[]
}

/** Returns the schemas of CustomResourceDefinitions; other objects are left out. */
export function schemasOf(definitions: readonly KubeObject[]): KindSchemas {
  return new Map(
    definitions.flatMap((definition): [string, JsonObject][] => {
      if (definition.kind !== 'CustomResourceDefinition') return []
      const { group, names, versions } = definition['spec'] as unknown as Definition
      return versions.flatMap(({ name, schema }): [string, JsonObject][] =>
        isJsonObject(schema?.openAPIV3Schema) ? [[`${group}/${name}/${names.kind}`, schema.openAPIV3Schema]] : [],
      )
    }),
  )
}

/**
 * Returns the kind with every value path in the spelling of the schema that it leads through, and with its references
 * in an annotation of its definition. Kinds without a known schema are not checked.
 * @throws GeneratorError `InvalidReference`
 */
export function withCheckedPaths(kind: GeneratedKind, schemas: KindSchemas): GeneratedKind {
  if (kind.references.length === 0) return kind
  const references = kind.references.map((row): GeneratedReference => {
    const paths = referentsOf(row).map((referent) => {
      const schema = schemas.get(`${referent.group}/${referent.version}/${referent.kind}`)
      if (schema === undefined) return referent.valuePath
      const checked = checkValuePath(referent.kind, schema, referent.valuePath)
      if ('error' in checked)
        throw new GeneratorError('InvalidReference', `${kind.kind}.spec.${row.fieldPath}: references: ${checked.error}`)
      return checked.path
    })
    const kinds = row.kinds?.map((one, index) => ({ ...one, valuePath: paths[index + 1] ?? one.valuePath }))
    return { ...row, valuePath: paths[0] ?? row.valuePath, ...(kinds === undefined ? {} : { kinds }) }
  })
  const { metadata } = kind.crd
  const annotation = annotationOf(references.map(({ sourceSection: _section, ...row }) => row))
  const annotations = { ...metadata.annotations, [referencesAnnotation]: annotation }
  return { ...kind, references, crd: { ...kind.crd, metadata: { ...metadata, annotations } } }
}
