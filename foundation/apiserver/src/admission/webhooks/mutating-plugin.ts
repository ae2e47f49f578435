// The MutatingAdmissionWebhook plugin: webhooks are called one after the other, each with the object as the previous
// one left it. After a change the plugins before this one run again. Those webhooks with reinvocationPolicy IfNeeded
// are called once more after a later one, or a plugin, has changed the object.
import {
  applyJsonPatch,
  asJson,
  asObject,
  cloneJson,
  formatFieldErrors,
  internalError,
  isJsonArray,
  isJsonObject,
  jsonEqual,
  JsonPatchError,
  JsonSyntaxError,
  parseJson,
  validateManagedFields,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, StatusError } from '@fairlead/kube'
import { TypeMismatch } from '@fairlead/builtin-kinds'
import type { Draft } from '@fairlead/builtin-kinds'
import type { ServedResource } from '../../registry/registry.ts'
import { kindOfResource } from '../../request/body-decoder.ts'
import { convert } from '../../views/views.ts'
import type { AdmissionChain } from '../chain.ts'
import type { AdmissionPlugin } from '../plugin.ts'
import type { AdmissionAttributes } from '../attributes.ts'
import { isExempt } from '../attributes.ts'
import type { ReviewResponse } from './admission-review.ts'
import { callWebhook, callFailed, invocationOf } from './webhook-caller.ts'
import type { Invocation, WebhookDependencies } from './webhook-caller.ts'
import { mutatingResource, webhooksOf } from './webhook.ts'
import type { Webhook } from './webhook.ts'

/** Returns the plugin. `earlier` has the mutating plugins before it. */
export function mutatingWebhookPlugin(source: WebhookDependencies, earlier: AdmissionChain): AdmissionPlugin {
  return {
    name: 'MutatingAdmissionWebhook',
    mutate(request) {
      const webhooks = webhooksOf(source.list(mutatingResource))
      return webhooks.length === 0 || isExempt(request) ? undefined : mutate(webhooks, request, source, earlier)
    },
  }
}

async function mutate(
  webhooks: readonly Webhook[],
  original: AdmissionAttributes,
  source: WebhookDependencies,
  earlier: AdmissionChain,
): Promise<JsonObject | undefined> {
  let request = original
  /** Webhooks with reinvocationPolicy IfNeeded, and those among them that have later changes to see. */
  let reinvocable: Webhook[] = []
  const again = new Set<Webhook>()
  const call = async (webhook: Webhook): Promise<void> => {
    const invocation = await invocationOf(webhook, request, source)
    if (invocation === undefined) return
    const response = await callWebhook(invocation, true, source)
    const changed = response === undefined ? undefined : patched(invocation, response)
    if (changed !== undefined) {
      request = { ...request, object: await inOwnVersion(changed, invocation.as, original.resource) }
      for (const before of reinvocable) again.add(before)
      reinvocable = []
    }
    if (webhook.spec.reinvocationPolicy === 'IfNeeded') reinvocable.push(webhook)
  }
  for (const webhook of webhooks) await call(webhook)
  if (request !== original && request.object !== undefined) {
    const object = await earlier.mutate(request)
    if (object !== undefined && !jsonEqual(object, asJson(request.object))) {
      request = { ...request, object: asObject(object) }
      for (const webhook of reinvocable) again.add(webhook)
      reinvocable = []
    }
  }
  for (const webhook of webhooks) if (again.has(webhook)) await call(webhook)
  return request === original ? undefined : withValidManagedFields(request, original)
}

/**
 * Returns the object that a response patches; undefined when it changes nothing.
 * @throws StatusError 500
 */
function patched({ webhook, as, request }: Invocation, response: ReviewResponse): KubeObject | undefined {
  if (response.patch === '') return undefined
  const patch = readPatch(response.patch, webhook)
  if (patch.length === 0) return undefined
  const { object } = request
  if (object === undefined) {
    const what = 'attempted to modify the object, which is not supported for this operation'
    throw internalError(`admission webhook ${JSON.stringify(webhook.name)} ${what}`)
  }
  if (response.patchType !== 'JSONPatch')
    throw callFailed(webhook, `unsupported patch type ${JSON.stringify(response.patchType)}`)
  const before = asJson(object)
  // Subresources of another kind (Binding, Eviction, Scale) are patched as they are.
  const isResource = object.apiVersion === as.apiVersion && object.kind === as.definition.kind
  const patchedJson = apply(before, patch)
  if (isResource) checkType(patchedJson, before)
  const draft = (isResource ? decoded(patchedJson, as) : cloneJson(patchedJson)) as Draft
  if (isResource) as.definition.strategy.applyDefaults?.(draft)
  return jsonEqual(draft, before) ? undefined : asObject(draft)
}

function readPatch(base64: string, webhook: Webhook): readonly JsonValue[] {
  const undecodable = (reason: string): StatusError =>
    callFailed(webhook, `received undecodable patch in webhook response: ${reason}`)
  let patch: JsonValue
  try {
    patch = parseJson(Buffer.from(base64, 'base64'))
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw undecodable(error.message)
    throw error
  }
  if (isJsonArray(patch)) return patch
  if (patch === null) return []
  const what = isJsonObject(patch) ? 'object' : typeof patch === 'boolean' ? 'bool' : typeof patch
  throw undecodable(`json: cannot unmarshal ${what} into Go value of type jsonpatch.Patch`)
}

/**
 * Checks that a patch keeps apiVersion and kind.
 * @throws StatusError 500
 */
function checkType(patchedJson: JsonObject, before: JsonObject): void {
  const [given, wanted] = [patchedJson, before].map(({ apiVersion, kind }) => `${String(apiVersion)}.${String(kind)}`)
  if (given !== wanted) throw internalError(`converting (${given}) to (${wanted}): unknown conversion`)
}

function apply(document: JsonObject, patch: JsonValue): JsonObject {
  let value: JsonValue
  try {
    value = applyJsonPatch(document, patch)
  } catch (error) {
    if (error instanceof JsonPatchError) throw internalError(error.message)
    throw error
  }
  if (isJsonObject(value)) return value
  throw internalError('the patch makes the object something else than an object')
}

function decoded(value: JsonObject, as: ServedResource): JsonObject {
  try {
    const { object } = kindOfResource(as).decode(value)
    const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {}
    return cloneJson({ ...object, metadata }) as JsonObject
  } catch (error) {
    if (error instanceof TypeMismatch) throw internalError(error.message)
    throw error
  }
}

/** Keeps valid managedFields that webhooks set; invalid ones are reset with a warning. */
function withValidManagedFields(changed: AdmissionAttributes, original: AdmissionAttributes): JsonObject {
  const object = cloneJson(asJson(changed.object!)) as Draft
  const before = original.object!.metadata.managedFields
  const { managedFields } = changed.object!.metadata
  if (jsonEqual(asJson({ managedFields: managedFields ?? null }), asJson({ managedFields: before ?? null })))
    return object
  const errors = validateManagedFields(managedFields, 'metadata.managedFields')
  if (errors.length === 0) return object
  const cause = 'this could be caused by an outdated mutating admission controller; please fix your requests'
  const state = '.metadata.managedFields was in an invalid state after admission'
  original.warnings.push(`${state}; ${cause}: ${formatFieldErrors(errors)}`)
  if (before === undefined) delete object.metadata['managedFields']
  else object.metadata['managedFields'] = cloneJson(asJson(original.object!.metadata)['managedFields'] ?? null)
  return object
}

async function inOwnVersion(object: KubeObject, as: ServedResource, resource: ServedResource): Promise<KubeObject> {
  if (object.apiVersion !== as.apiVersion) return object
  const [own] = await convert([object], resource)
  return own!
}
