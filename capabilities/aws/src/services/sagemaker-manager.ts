// The calls of SageMaker's kinds, which differ in names only: operations and shapes come from the carried model.
import { isJsonArray, isJsonObject } from '@fairlead/kube'
import type { JsonObject, JsonValue } from '@fairlead/kube'
import { AwsError } from '../engine/aws-error.ts'
import type { Change, Observed, ResourceManager, TagChange } from '../engine/resource-manager.ts'
import { serviceModel } from '../engine/service-model.ts'
import type { ApiObject, ServiceApi } from './service-api.ts'
import { fieldNamesOf, pick, toFields, toInput } from './shape-mapping.ts'
import { statusFields } from './status-fields.ts'

/** Kinds of SageMaker. */
export type SageMakerKind = 'Model' | 'EndpointConfig' | 'Endpoint'

/** Beginning of the ValidationException that says that there is no such resource. */
const notFound: Readonly<Record<SageMakerKind, string>> = {
  Model: 'Could not find model',
  EndpointConfig: 'Could not find endpoint configuration',
  Endpoint: 'Could not find endpoint',
}

/** Annotation with the endpoint configuration of the last update, by its resolved name. */
export const lastConfigAnnotation: string = 'sagemaker.services.k8s.aws/last-endpoint-config-for-update'

/** Renames of what DescribeEndpoint returns. */
const describedAs = { LastDeploymentConfig: 'DeploymentConfig' }

/** Makes the calls for one kind. */
export class SageMakerManager implements ResourceManager {
  readonly #api: ServiceApi
  readonly #kind: SageMakerKind
  readonly #key: string
  readonly #specFields: readonly string[]
  readonly #statusFields: readonly string[]

  constructor(kind: SageMakerKind, api: ServiceApi) {
    this.#api = api
    this.#kind = kind
    this.#key = `${kind[0]?.toLowerCase()}${kind.slice(1)}Name`
    this.#specFields = fieldNamesOf(serviceModel('sagemaker'), this.#input('Create'))
    this.#statusFields = statusFields(kind)
  }

  async read(spec: JsonObject): Promise<Observed | undefined> {
    const name = spec[this.#key]
    if (typeof name !== 'string') return undefined
    try {
      return this.#observed(await this.#api.call(`Describe${this.#kind}`, { [`${this.#kind}Name`]: name }))
    } catch (error) {
      if (
        error instanceof AwsError &&
        error.code === 'ValidationException' &&
        error.message.startsWith(notFound[this.#kind])
      )
        return undefined
      throw error
    }
  }

  async tags({ arn }: Observed): Promise<Readonly<Record<string, string>>> {
    if (arn === undefined) return {}
    const found: Record<string, string> = {}
    let token: string | undefined
    do {
      const page = await this.#api.call('ListTags', {
        ResourceArn: arn,
        ...(token === undefined ? {} : { NextToken: token }),
      })
      for (const { Key, Value } of (page['Tags'] ?? []) as readonly { readonly Key: string; readonly Value: string }[])
        found[Key] = Value
      token = page['NextToken'] as string | undefined
    } while (token !== undefined)
    return found
  }

  async tag({ arn }: Observed, { set, remove }: TagChange): Promise<void> {
    const added = Object.entries(set).map(([Key, Value]) => ({ Key, Value }))
    // Removed first: a resource has at most 50 tags.
    if (remove.length > 0) await this.#api.call('DeleteTags', { ResourceArn: arn, TagKeys: remove })
    if (added.length > 0) await this.#api.call('AddTags', { ResourceArn: arn, Tags: added })
  }

  async create(spec: JsonObject, tags: Readonly<Record<string, string>>): Promise<Observed> {
    const input = toInput(serviceModel('sagemaker'), this.#input('Create'), spec)
    const own = (input['Tags'] ?? []) as readonly ApiObject[]
    const given = new Set(own.map(({ Key }) => Key))
    const added = Object.entries(tags)
      .filter(([key]) => !given.has(key))
      .map(([Key, Value]) => ({ Key, Value }))
    const output = await this.#api.call(`Create${this.#kind}`, { ...input, Tags: [...own, ...added] })
    const arn = output[`${this.#kind}Arn`]
    return {
      spec,
      // An endpoint is being created from the moment that the call returns.
      status: this.#kind === 'Endpoint' ? { endpointStatus: 'Creating' } : {},
      ...(typeof arn === 'string' ? { arn } : {}),
    }
  }

  async update({
    spec,
    observed,
    annotations,
  }: Change): Promise<Observed & { readonly annotations?: Readonly<Record<string, string>> }> {
    const wanted = spec['endpointConfigName'] as string
    const reason = observed.status['failureReason']
    const isRetried = annotations[lastConfigAnnotation] === wanted && observed.spec['endpointConfigName'] !== wanted
    // A failed update leaves the endpoint in service with its old configuration: the same one would fail again, unless
    // the service itself was at fault.
    if (isRetried && typeof reason === 'string' && reason !== '' && !reason.startsWith('Request to service failed'))
      throw new AwsError(
        'EndpointUpdateError',
        `unable to update endpoint. check FailureReason. latest EndpointConfigName is ${String(observed.spec['endpointConfigName'])}`,
      )
    await this.#api.call('UpdateEndpoint', {
      ...toInput(serviceModel('sagemaker'), this.#input('Update'), spec),
      RetainAllVariantProperties: true,
    })
    return {
      ...observed,
      spec: { ...observed.spec, endpointConfigName: wanted },
      status: { ...observed.status, endpointStatus: 'Updating' },
      annotations: { [lastConfigAnnotation]: wanted },
    }
  }

  async delete(spec: JsonObject): Promise<void> {
    await this.#api.call(`Delete${this.#kind}`, { [`${this.#kind}Name`]: spec[this.#key] as string })
  }

  #observed(output: ApiObject): Observed {
    const model = serviceModel('sagemaker')
    const shape = model.operations.get(`Describe${this.#kind}`)?.output as string
    let fields = toFields(model, shape, output, this.#kind === 'Endpoint' ? describedAs : {})
    const arn = output[`${this.#kind}Arn`]
    const { productionVariants } = fields
    // A volume is reported of serverless variants, too, which have none.
    if (this.#kind === 'EndpointConfig' && isJsonArray(productionVariants))
      fields = { ...fields, productionVariants: productionVariants.map(withoutVolume) }
    return {
      spec: pick(fields, this.#specFields),
      status: pick(fields, this.#statusFields),
      ...(typeof arn === 'string' ? { arn } : {}),
    }
  }

  #input(verb: string): string {
    return serviceModel('sagemaker').operations.get(`${verb}${this.#kind}`)?.input as string
  }
}

function withoutVolume(variant: JsonValue): JsonValue {
  if (!isJsonObject(variant) || variant['serverlessConfig'] === undefined) return variant
  const { volumeSizeInGB: _volume, ...rest } = variant
  return rest
}
