// Calls by the AWS SDK, which is loaded with the first of them: nothing that starts without a call waits for it.
// Retries, credentials and signatures: one attempt for each call, as the work queue retries; the SDK's default chain.
import { systemClock } from '@fairlead/client'
import type { Clock } from '@fairlead/kube'
import { AwsError } from '../engine/aws-error.ts'
import type { ServiceName } from '../engine/service-model.ts'
import type { ApiObject, ServiceApi } from './service-api.ts'

/** Place that calls go to. */
export interface SdkOptions {
  readonly region: string
  /** Base URL of all services; that of AWS, or of the environment (AWS_ENDPOINT_URL), when left out. */
  readonly endpoint?: string
  /** Credentials; those of the SDK's default chain when left out. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: string }
  /** Ends calls without a response; the system's clock when left out. */
  readonly clock?: Clock
}

/** Milliseconds within which a response must be complete: ACK's limit. */
const responseLimit = 60_000

interface SdkClient {
  send(command: object, options: { readonly abortSignal: AbortSignal }): Promise<object>
  destroy(): void
}
type Constructor<T> = new (input: object) => T
type Sdk = Readonly<Record<string, unknown>>

const load: Readonly<Record<ServiceName, () => Promise<Sdk>>> = {
  iam: () => import('@aws-sdk/client-iam'),
  sagemaker: () => import('@aws-sdk/client-sagemaker'),
}
const clientNames: Readonly<Record<ServiceName, string>> = { iam: 'IAMClient', sagemaker: 'SageMakerClient' }

interface SdkError {
  readonly name?: string
  readonly Code?: string
  readonly message?: string
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $retryable?: { readonly throttling?: boolean }
}

function awsError(thrown: unknown): AwsError {
  const { name, Code, message = '', $metadata, $retryable } = thrown as SdkError
  const status = $metadata?.httpStatusCode
  return new AwsError(Code ?? name ?? 'Unknown', message, {
    // An error without a response has a status of the SDK's own at times.
    ...(status === undefined ? {} : { status }),
    throttled: $retryable?.throttling === true || status === 429,
    cause: thrown,
  })
}

/** One service in one region. */
export class SdkApi implements ServiceApi, Disposable {
  readonly #service: ServiceName
  readonly #options: SdkOptions
  #loaded: Promise<{ readonly sdk: Sdk; readonly client: SdkClient }> | undefined

  constructor(service: ServiceName, options: SdkOptions) {
    this.#service = service
    this.#options = options
  }

  async call(operation: string, input: ApiObject): Promise<ApiObject> {
    this.#loaded ??= this.#load()
    const { sdk, client } = await this.#loaded
    const Command = sdk[`${operation}Command`] as Constructor<object>
    const { clock = systemClock } = this.#options
    const limit = new AbortController()
    using _timer = clock.timer(responseLimit, () => limit.abort())
    try {
      return (await client.send(new Command(input), { abortSignal: limit.signal })) as ApiObject
    } catch (error) {
      if (!limit.signal.aborted) throw awsError(error)
      const message = `${operation} had no response within ${responseLimit / 1000} s`
      throw new AwsError('RequestTimeout', message, { cause: error })
    }
  }

  [Symbol.dispose](): void {
    void this.#loaded?.then(({ client }) => client.destroy())
  }

  async #load(): Promise<{ readonly sdk: Sdk; readonly client: SdkClient }> {
    const sdk = await load[this.#service]()
    const Client = sdk[clientNames[this.#service]] as Constructor<SdkClient>
    const { clock: _clock, ...options } = this.#options
    return { sdk, client: new Client({ ...options, maxAttempts: 1 }) }
  }
}
