// A fake AWS in memory: IAM, SageMaker and the caller's identity, with scripted delays and failures, a log of calls and
// the violations that AWS itself lets pass (originals/ack.md §4.4). The protocols are in protocol.ts.
import type { Clock } from '@fairlead/kube'
import type { FakeContext, Fields } from './fake-context.ts'
import { FakeError } from './fake-error.ts'
import { FakeIam } from './fake-iam.ts'
import { FakeSageMaker, unknownOperation } from './fake-sagemaker.ts'
import { quickScript } from './script.ts'
import type { Script, ScriptedFailure } from './script.ts'

/** One call of the log. */
export interface FakeCall {
  readonly service: string
  readonly operation: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Code of the error; undefined for a call that took effect. */
  readonly error?: string
  /** Set when the call took effect, and its response was lost. */
  readonly isLost?: boolean
}

/** Options of {@link FakeAws}. */
export interface FakeAwsOptions {
  readonly clock: Clock
  readonly account?: string
  readonly script?: Partial<Script>
}

/** Resources that are there from the beginning: inputs of the operations that create them, in this order. */
export interface Seed {
  readonly policies?: readonly Fields[]
  readonly roles?: readonly Fields[]
  readonly models?: readonly Fields[]
  readonly endpointConfigs?: readonly Fields[]
  readonly endpoints?: readonly Fields[]
}

/** Age of what is seeded, in milliseconds. */
const seedAge = 24 * 3600 * 1000

/** Calls that the log keeps. */
const longestLog = 10_000

/** The fake. */
export class FakeAws {
  readonly account: string
  readonly calls: FakeCall[] = []
  readonly violations: string[] = []
  readonly #clock: Clock
  readonly #context: FakeContext
  readonly #iam: FakeIam
  readonly #regions = new Map<string, FakeSageMaker>()
  readonly #failed = new Map<string, number>()
  #script: Script
  #isSeeding = false

  constructor({ clock, account = '123456789012', script = {} }: FakeAwsOptions) {
    this.#clock = clock
    this.account = account
    this.#script = { ...quickScript, ...script }
    this.#context = {
      account,
      now: () => clock.now() - (this.#isSeeding ? seedAge : 0),
      script: () =>
        this.#isSeeding ? { ...quickScript, failingEndpoints: this.#script.failingEndpoints } : this.#script,
      violation: (message) => void this.violations.push(message),
    }
    this.#iam = new FakeIam(this.#context)
  }

  /** Changes what the fake does from now on. */
  script(changes: Partial<Script>): void {
    this.#script = { ...this.#script, ...changes }
    this.#failed.clear()
  }

  /** Removes all resources, the log and the violations. */
  reset(): void {
    this.#iam.reset()
    this.#regions.clear()
    this.#failed.clear()
    this.calls.length = 0
    this.violations.length = 0
  }

  /**
   * Creates what a seed lists, in a region, as if it had been there for a day: the delays of the script are over.
   * Throws FakeError for what cannot be created.
   */
  seed(region: string, { policies = [], roles = [], models = [], endpointConfigs = [], endpoints = [] }: Seed): void {
    this.#isSeeding = true
    try {
      for (const input of policies) this.#run('iam', region, 'CreatePolicy', input)
      for (const input of roles) this.#run('iam', region, 'CreateRole', input)
      for (const input of models) this.#run('sagemaker', region, 'CreateModel', input)
      for (const input of endpointConfigs) this.#run('sagemaker', region, 'CreateEndpointConfig', input)
      for (const input of endpoints) this.#run('sagemaker', region, 'CreateEndpoint', input)
    } finally {
      this.#isSeeding = false
    }
  }

  /** Makes a call. Throws FakeError for one that is refused. */
  async call(service: string, region: string, operation: string, input: Fields): Promise<Fields> {
    const { latency } = this.#script
    if (latency > 0) await new Promise<void>((resolve) => void this.#clock.timer(latency, resolve))
    if (this.calls.length >= longestLog) this.calls.shift()
    const entry = { service, operation, at: this.#clock.now() }
    const failure = this.#nextFailure(operation)
    try {
      if (failure !== undefined && failure.tookEffect !== true) throw scripted(operation, failure)
      const output = this.#run(service, region, operation, input)
      this.calls.push(failure === undefined ? entry : { ...entry, isLost: true })
      if (failure === undefined) return output
    } catch (error) {
      this.calls.push({ ...entry, error: error instanceof FakeError ? error.code : 'InternalFailure' })
      throw error
    }
    throw scripted(operation, failure)
  }

  #nextFailure(operation: string): ScriptedFailure | undefined {
    const failure = this.#script.failures[operation] ?? this.#script.failures['*']
    if (failure === undefined) return undefined
    const failed = this.#failed.get(operation) ?? 0
    if (failed >= failure.times) return undefined
    this.#failed.set(operation, failed + 1)
    return failure
  }

  #run(service: string, region: string, operation: string, input: Fields): Fields {
    if (service === 'sts' && operation === 'GetCallerIdentity')
      return { Account: this.account, Arn: `arn:aws:iam::${this.account}:user/fake`, UserId: 'AIDAFAKE' }
    const { operations } = service === 'sagemaker' ? this.#sagemaker(region) : this.#iam
    const run = Object.hasOwn(operations, operation) ? operations[operation] : undefined
    if (run === undefined) throw unknownOperation(operation)
    return run(input)
  }

  #sagemaker(region: string): FakeSageMaker {
    let found = this.#regions.get(region)
    if (found === undefined) this.#regions.set(region, (found = new FakeSageMaker(region, this.#iam, this.#context)))
    return found
  }
}

function scripted(operation: string, { code = 'InternalFailure', status, as }: ScriptedFailure): FakeError {
  return new FakeError(code, `${operation} fails as scripted`, status, as)
}
