// Conversion of custom resources by the webhook of their CRD: ConversionReviews, in batches, with the checks of the
// real server. A webhook converts fields; in metadata it may change labels and annotations only.
import {
  asCustomResourceDefinition,
  asJson,
  asObject,
  isJsonObject,
  labelValue,
  parseApiVersion,
  qualifiedName,
  unknownError,
} from '@fairlead/kube'
import type { JsonObject, JsonValue, KubeObject, MutableJsonObject } from '@fairlead/kube'
import type { ResourceDefinition } from '@fairlead/builtin-kinds'
import { WebhookError } from '../webhooks/webhook-client.ts'
import type { WebhookClient } from '../webhooks/webhook-client.ts'

/** The dependencies of conversion webhooks. */
export interface ConversionSource {
  readonly client: WebhookClient
  readonly newUid: () => string
}

type Convert = NonNullable<ResourceDefinition['convert']>

const group = 'apiextensions.k8s.io'
const timeoutSeconds = 30
/** Objects per call. */
const batchSize = 500

/** Returns the conversion function of a CRD; undefined when versions differ by apiVersion alone. */
export function conversionOf(crd: KubeObject, source: ConversionSource | undefined): Convert | undefined {
  const { strategy, webhook } = asCustomResourceDefinition(crd).spec.conversion ?? {}
  if (strategy !== 'Webhook' || source === undefined) return undefined
  const config = webhook?.clientConfig ?? {}
  const version = (webhook?.conversionReviewVersions ?? []).find((name) => name === 'v1' || name === 'v1beta1')
  const converter = new WebhookConverter(source, config, version as 'v1' | 'v1beta1' | undefined)
  return (objects, apiVersion) => converter.convert(objects, apiVersion)
}

class WebhookConverter {
  readonly #source: ConversionSource
  readonly #config: Parameters<WebhookClient['post']>[0]['config']
  readonly #version: 'v1' | 'v1beta1' | undefined
  /** Running conversions of single objects, shared by all watchers of a change. */
  readonly #pending = new Map<string, Map<KubeObject, Promise<readonly KubeObject[]>>>()

  constructor(
    source: ConversionSource,
    config: Parameters<WebhookClient['post']>[0]['config'],
    version: 'v1' | 'v1beta1' | undefined,
  ) {
    this.#source = source
    this.#config = config
    this.#version = version
  }

  /** @throws StatusError 500 */
  convert(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> {
    const [object] = objects
    if (object === undefined || objects.length > 1) return this.#convertAll(objects, apiVersion)
    let pending = this.#pending.get(apiVersion)
    if (pending === undefined) this.#pending.set(apiVersion, (pending = new Map<KubeObject, never>()))
    const known = pending.get(object)
    if (known !== undefined) return known
    const conversion = this.#convertAll(objects, apiVersion).finally(() => pending.delete(object))
    pending.set(object, conversion)
    return conversion
  }

  async #convertAll(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> {
    const others = objects.filter((object) => object.apiVersion !== apiVersion)
    const converted = new Map<KubeObject, KubeObject>()
    for (let start = 0; start < others.length; start += batchSize) {
      const batch = others.slice(start, start + batchSize)
      const results = await this.#batch(batch, apiVersion)
      for (const [index, original] of batch.entries()) converted.set(original, results[index]!)
    }
    return objects.map((object) => converted.get(object) ?? object)
  }

  async #batch(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]> {
    const subject = `conversion webhook for ${objects[0]!.apiVersion}, Kind=${objects[0]!.kind}`
    if (this.#version === undefined) {
      throw unknownError('no supported conversion review versions')
    }
    let results: readonly JsonValue[]
    try {
      results = await this.#call(objects, apiVersion, this.#version)
    } catch (error) {
      if (error instanceof WebhookError || error instanceof ConversionError)
        throw unknownError(`${subject} failed: ${error.message}`)
      throw error
    }
    if (results.length !== objects.length)
      throw unknownError(`${subject} returned ${results.length} objects, expected ${objects.length}`)
    return objects.map((object, index) => {
      try {
        return checked(object, results[index]!, apiVersion)
      } catch (error) {
        if (error instanceof ConversionError) throw unknownError(`${subject} returned ${error.message}`)
        throw error
      }
    })
  }

  async #call(
    objects: readonly KubeObject[],
    desiredAPIVersion: string,
    version: 'v1' | 'v1beta1',
  ): Promise<readonly JsonValue[]> {
    const uid = this.#source.newUid()
    const review = await this.#source.client.post({
      config: this.#config,
      body: {
        kind: 'ConversionReview',
        apiVersion: `${group}/${version}`,
        request: { uid, desiredAPIVersion, objects: objects.map(asJson) },
      },
      timeoutSeconds,
      announcesTimeout: true,
    })
    const wanted = `${group}/${version}, Kind=ConversionReview`
    const given = `${textOf(review['apiVersion'])}, Kind=${textOf(review['kind'])}`
    if (given !== wanted) throw new ConversionError(`expected webhook response of ${wanted}, got ${given}`)
    const { response } = review
    if (!isJsonObject(response)) throw new ConversionError('no response provided')
    if (response['uid'] !== uid) {
      const [expected, got] = [uid, textOf(response['uid'])].map((text) => JSON.stringify(text))
      throw new ConversionError(`expected response.uid=${expected}, got ${got}`)
    }
    checkResult(isJsonObject(response['result']) ? response['result'] : {})
    const { convertedObjects } = response
    return Array.isArray(convertedObjects) ? (convertedObjects as readonly JsonValue[]) : []
  }
}

/**
 * An invalid response of a conversion webhook.
 * @internal reported as a StatusError
 */
class ConversionError extends Error {
  readonly code = 'ConversionRefused'
}

function checkResult(result: JsonObject): void {
  const status = textOf(result['status'])
  if (status === 'Success') return
  const message = textOf(result['message'])
  throw new ConversionError(message === '' ? `response.result.status was '${status}', not 'Success'` : message)
}

/** Validates the converted form of one object and restores the metadata that webhooks may not change. */
function checked(original: KubeObject, converted: JsonValue, apiVersion: string): KubeObject {
  const object = isJsonObject(converted) ? converted : {}
  const given = parseApiVersion(textOf(object['apiVersion']))
  const wanted = parseApiVersion(apiVersion)
  if (given.group !== wanted.group || given.version !== wanted.version) {
    const received = textOf(object['apiVersion'])
    throw new ConversionError(
      `invalid object at index 0: invalid groupVersion (expected ${apiVersion}, received ${received})`,
    )
  }
  if (object['kind'] !== original.kind) {
    const received = textOf(object['kind'])
    throw new ConversionError(
      `invalid object at index 0: invalid kind (expected ${original.kind}, received ${received})`,
    )
  }
  const { metadata } = object
  if (metadata === undefined) throw new ConversionError('invalid object: missing metadata')
  if (!isJsonObject(metadata))
    throw new ConversionError(`invalid metadata: invalid metadata of type ${goType(metadata)} in converted object`)
  for (const [field, shown] of [
    ['name', 'name'],
    ['namespace', 'namespace'],
    ['uid', 'UID'],
  ] as const) {
    const [before, after] = [original.metadata[field] ?? '', textOf(metadata[field])]
    if (before !== after)
      throw new ConversionError(`invalid object: must have the same ${shown}: ${before} != ${after}`)
  }
  return asObject({ ...object, metadata: restoredMetadata(original, metadata) })
}

function restoredMetadata(original: KubeObject, given: JsonObject): JsonObject {
  const metadata: MutableJsonObject = { ...(asJson(original)['metadata'] as JsonObject) }
  for (const field of ['labels', 'annotations'] as const) {
    const value = given[field]
    delete metadata[field]
    if (value === undefined || value === null) continue
    if (!isJsonObject(value))
      throw new ConversionError(
        `invalid metadata: invalid metadata.${field} of type ${goType(value)} in converted object`,
      )
    checkStringMap(field, value)
    metadata[field] = value
  }
  return metadata
}

function checkStringMap(field: 'labels' | 'annotations', map: JsonObject): void {
  for (const [key, value] of Object.entries(map)) {
    if (typeof value !== 'string')
      throw new ConversionError(`invalid metadata: invalid metadata.${field} in converted object: ${key} is no string`)
    const messages = [
      ...qualifiedName(field === 'annotations' ? key.toLowerCase() : key),
      ...(field === 'labels' ? labelValue(value) : []),
    ]
    if (messages.length > 0)
      throw new ConversionError(
        `invalid metadata: metadata.${field}: Invalid value: ${JSON.stringify(key)}: ${messages[0]}`,
      )
  }
}

function goType(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (Array.isArray(value)) return '[]interface {}'
  return typeof value === 'string' ? 'string' : typeof value === 'boolean' ? 'bool' : 'int64'
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}
