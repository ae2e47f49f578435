// Manifests held against the schemas of Kubernetes' own kinds, which are among the conformance data.
import { unknownFields, validateValue } from '@fairlead/kube'
import type { JsonValue, KubeObject, SchemaNode } from '@fairlead/kube'
import { readDataJson } from '../../../../test/support/conformance-data.ts'

/** The kinds and schemas of one version of Kubernetes. */
export interface KubernetesSchemas {
  readonly kinds: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly schemas: Readonly<Record<string, SchemaNode>>
}

/** Reads the schemas. Throws where there are none. */
export function readSchemas(): KubernetesSchemas {
  return readDataJson('kubernetes', 'schemas.json') as unknown as KubernetesSchemas
}

/** Returns kind, namespace and name. */
export function idOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`
}

/** Returns unknown fields and invalid values of objects, and kinds that Kubernetes does not have. */
export function problemsOf(objects: readonly KubeObject[], { kinds, schemas }: KubernetesSchemas): string[] {
  return objects.flatMap((object) => {
    const name = kinds[object.apiVersion]?.[object.kind]
    if (name === undefined) return [`${idOf(object)}: no such kind`]
    const schema = { root: schemas[name]!, resolve: (ref: string) => schemas[ref] }
    const value = object as unknown as JsonValue
    const errors = validateValue(value, schema).map(({ field, detail }) => `${field} ${detail}`)
    return [...unknownFields(value, schema), ...errors].map((problem) => `${idOf(object)}: ${problem}`)
  })
}
