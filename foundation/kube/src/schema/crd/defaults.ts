// Defaults and warnings of CustomResourceDefinitions.
import { isJsonObject } from '../../own-property.ts'
import type { JsonObject, JsonValue, KubeObject } from '../../object.ts'
import { formatCheck } from '../format.ts'
import { asCustomResourceDefinition } from './definition.ts'
import { schemasIn } from './visit-schema.ts'

/**
 * Returns the definition with its defaults: singular, listKind, conversion `None`, the port of a conversion webhook,
 * storedVersions. Returns the same object when nothing is missing.
 */
export function defaultCustomResourceDefinition(crd: KubeObject): KubeObject {
  const { spec, status } = asCustomResourceDefinition(crd)
  const { kind = '', singular = '', listKind = '' } = spec.names
  const names = {
    ...(singular === '' && kind !== '' ? { singular: kind.toLowerCase() } : {}),
    ...(listKind === '' && kind !== '' ? { listKind: `${kind}List` } : {}),
  }
  const conversion = defaultConversion(spec.conversion as JsonObject | undefined)
  const storage =
    (status?.storedVersions ?? []).length > 0 ? undefined : spec.versions.find((version) => version.storage === true)
  const isComplete = Object.keys(names).length === 0 && conversion === spec.conversion && storage === undefined
  if (isComplete) return crd
  return {
    ...crd,
    spec: {
      ...(crd as unknown as { readonly spec?: JsonObject | null }).spec,
      names: { ...spec.names, ...names },
      conversion,
    },
    ...(storage === undefined ? {} : { status: { ...status, storedVersions: [storage.name] } }),
  }
}

function defaultConversion(conversion: JsonObject | undefined): JsonObject {
  if (conversion === undefined || conversion === null) return { strategy: 'None' }
  if (isEmptyWebhook(conversion['webhook'])) {
    const { webhook: _empty, ...rest } = conversion
    return rest
  }
  const service = at(conversion, 'webhook', 'clientConfig', 'service')
  if (!isJsonObject(service) || service['port'] !== undefined) return conversion
  const webhook = conversion['webhook'] as JsonObject
  const clientConfig = { ...(webhook['clientConfig'] as JsonObject), service: { ...service, port: 443 } }
  return { ...conversion, webhook: { ...webhook, clientConfig } }
}

/** Reports whether the value is empty in Kubernetes' internal form. */
function isEmptyWebhook(webhook: JsonValue | undefined): boolean {
  if (!isJsonObject(webhook)) return false
  const { clientConfig, conversionReviewVersions: versions } = webhook
  return (clientConfig ?? null) === null && (!Array.isArray(versions) || versions.length === 0)
}

function at(value: JsonValue | undefined, ...path: readonly string[]): JsonValue | undefined {
  return path.reduce<JsonValue | undefined>((current, key) => (isJsonObject(current) ? current[key] : undefined), value)
}

/** Returns the string formats in a definition's schemas that Kubernetes does not know and ignores. */
export function unrecognizedFormats(crd: KubeObject): string[] {
  const found = asCustomResourceDefinition(crd).spec.versions.flatMap((version) =>
    [...schemasIn(version.schema?.openAPIV3Schema)].flatMap(({ type, format = '' }) =>
      type === 'string' && format !== '' && formatCheck(format) === undefined ? [format] : [],
    ),
  )
  return [...new Set(found)]
}

/** Returns the warnings of a new or changed definition: unknown formats that it did not have before. */
export function customResourceDefinitionWarnings(crd: KubeObject, old?: KubeObject): string[] {
  const known = new Set(old === undefined ? [] : unrecognizedFormats(old))
  return unrecognizedFormats(crd)
    .filter((format) => !known.has(format))
    .map((format) => `unrecognized format ${JSON.stringify(format)}`)
}
