// The CRDs as manuals: `kubectl explain` reads the descriptions.
import { crds } from '@fairlead/aws'
import { isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { expect, test } from 'vitest'

/** Returns the paths of fields below a schema whose descriptions match. */
function fields(
  schema: JsonValue | undefined,
  at: string,
  matches: (description: JsonValue | undefined) => boolean,
): readonly string[] {
  if (!isJsonObject(schema)) return []
  const { properties, items, additionalProperties } = schema
  return [
    ...Object.entries((properties ?? {}) as Readonly<Record<string, JsonObject>>).flatMap(([name, one]) => [
      ...(matches(one['description']) ? [`${at}.${name}`] : []),
      ...fields(one, `${at}.${name}`, matches),
    ]),
    ...fields(items, `${at}[]`, matches),
    ...fields(additionalProperties, `${at}{}`, matches),
  ]
}

const kinds = crds.map((crd) => {
  const { names, versions } = crd['spec'] as unknown as {
    readonly names: { readonly kind: string }
    readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: JsonObject } }]
  }
  const { spec, status } = versions[0].schema.openAPIV3Schema['properties'] as JsonObject
  return { kind: names.kind, spec, status }
})

test.each(kinds)('every field of $kind has a description that is a sentence', ({ spec, status }) => {
  const isNoSentence = (description: JsonValue | undefined): boolean =>
    typeof description !== 'string' || !/^[A-Z].*\.$/.test(description)
  expect([...fields(spec, 'spec', isNoSentence), ...fields(status, 'status', isNoSentence)]).toEqual([])
})

test.each(kinds)('the top-level fields of $kind say what they are for', ({ spec, status }) => {
  const isGenerated = (description: JsonValue | undefined): boolean => String(description).startsWith('Field ')
  const generated = [...fields(spec, 'spec', isGenerated), ...fields(status, 'status', isGenerated)]
  expect(generated.filter((path) => path.split('.').length === 2)).toEqual([])
})
