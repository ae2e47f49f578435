// Removes what recorded cases must not have: values of Secrets, credentials of hooks, metadata that only a server
// writes. Pure.
import type { JsonObject, JsonValue, KubeObject } from '@fairlead/kube'
import { asJson, asObject, isJsonObject } from '@fairlead/kube'
import { lastAppliedAnnotation } from '../children/merge.ts'

/** The value of every entry of a Secret, in base64. */
const redacted = 'cmVkYWN0ZWQ='
const kubectlAnnotation = 'kubectl.kubernetes.io/last-applied-configuration'

/** Returns whether an object is a Secret. */
export function isSecret({ apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>): boolean {
  return apiVersion === 'v1' && kind === 'Secret'
}

/** Returns an object without values of Secrets, and without what a manifest does not need. */
export function recordable(object: KubeObject): KubeObject {
  const { metadata = {}, ...content } = asJson(object)
  const { managedFields: _fields, creationTimestamp: _created, annotations, ...kept } = metadata as JsonObject
  const left = Object.entries(isJsonObject(annotations) ? annotations : {}).filter(
    ([name]) => name !== kubectlAnnotation && !(isSecret(object) && name === lastAppliedAnnotation),
  )
  const marks: JsonObject = left.length === 0 ? {} : { annotations: Object.fromEntries(left) }
  return asObject({ ...(isSecret(object) ? withoutValues(content) : content), metadata: { ...kept, ...marks } })
}

function withoutValues({ stringData: _left, ...content }: JsonObject): JsonObject {
  const { data } = content
  if (!isJsonObject(data)) return content
  return { ...content, data: Object.fromEntries(Object.keys(data).map((key) => [key, redacted])) }
}

/** Fields of webhooks and endpointConfigs that name credentials; without a cluster they could not be read. */
const credentialFields: ReadonlySet<string> = new Set(['authorization', 'basicAuth', 'clientTLS', 'caBundle'])

/** Returns the spec of a controller without credentials of its hooks, and addresses without user and query. */
export function withoutCredentials(spec: JsonObject): JsonObject {
  const { hooks, endpointConfigs: _left, ...others } = spec
  return { ...others, ...(hooks === undefined ? {} : { hooks: cleaned(hooks) }) }
}

function cleaned(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(cleaned)
  if (!isJsonObject(value)) return value
  const fields = Object.entries(value).filter(([name]) => !credentialFields.has(name))
  return Object.fromEntries(
    fields.map(([name, field]) => [
      name,
      name === 'url' && typeof field === 'string' ? plainUrl(field) : cleaned(field),
    ]),
  )
}

function plainUrl(text: string): string {
  const url = URL.parse(text)
  return url === null ? '' : url.origin + url.pathname
}
