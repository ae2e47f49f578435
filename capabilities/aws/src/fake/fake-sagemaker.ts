// SageMaker of the fake in one region: models, endpoint configurations, endpoints and their tags.
import type { FakeContext, Fields } from './fake-context.ts'
import { FakeError, validation } from './fake-error.ts'
import type { FakeIam } from './fake-iam.ts'

interface Stored {
  readonly input: Fields
  readonly arn: string
  readonly createdAt: number
}

interface Endpoint {
  readonly name: string
  readonly arn: string
  /** Name of the configuration in use, and of the one that is being brought in. */
  readonly config: string
  readonly nextConfig: string | undefined
  readonly deploymentConfig: unknown
  readonly createdAt: number
  readonly modifiedAt: number
  /** The phase that ends at a time, and how the endpoint is afterwards. */
  readonly phase: { readonly status: 'Creating' | 'Updating' | 'Deleting'; readonly until: number } | undefined
  readonly status: 'InService' | 'Failed'
  readonly failureReason: string | undefined
}

interface Tag {
  readonly Key: string
  readonly Value: string
}

const named = /^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}$/

/** The SageMaker of one account and region. */
export class FakeSageMaker {
  readonly #context: FakeContext
  readonly #region: string
  readonly #iam: FakeIam
  readonly #models = new Map<string, Stored>()
  readonly #configs = new Map<string, Stored>()
  readonly #endpoints = new Map<string, Endpoint>()
  readonly #tags = new Map<string, readonly Tag[]>()

  constructor(region: string, iam: FakeIam, context: FakeContext) {
    this.#region = region
    this.#iam = iam
    this.#context = context
  }

  /** Operations by their names. */
  readonly operations: Readonly<Record<string, (input: Fields) => Fields>> = {
    CreateModel: (input) => {
      this.#checkRole(input['ExecutionRoleArn'])
      const { arn } = this.#store(this.#models, 'model', 'ModelName', input)
      return { ModelArn: arn }
    },
    DescribeModel: (input) => {
      const { input: given, arn, createdAt } = this.#stored(this.#models, 'model', input['ModelName'])
      const { Tags: _tags, ...fields } = given
      return {
        ...fields,
        ModelArn: arn,
        CreationTime: seconds(createdAt),
        EnableNetworkIsolation: given['EnableNetworkIsolation'] ?? false,
      }
    },
    DeleteModel: (input) => {
      const { arn } = this.#stored(this.#models, 'model', input['ModelName'])
      for (const [config, { input: given }] of this.#configs)
        if (modelsOf(given).includes(input['ModelName']))
          this.#context.violation(`DeleteModel ${String(input['ModelName'])}: endpoint configuration ${config} uses it`)
      this.#models.delete(String(input['ModelName']))
      this.#tags.delete(arn)
      return {}
    },
    CreateEndpointConfig: (input) => {
      const variants = (input['ProductionVariants'] ?? []) as readonly Fields[]
      if (variants.length === 0 || variants.length > 10)
        throw validation('1 validation error detected: productionVariants must have length less than or equal to 10')
      for (const model of modelsOf(input)) this.#stored(this.#models, 'model', model)
      if (input['ExecutionRoleArn'] !== undefined) this.#checkRole(input['ExecutionRoleArn'])
      const { arn } = this.#store(this.#configs, 'endpoint-config', 'EndpointConfigName', input)
      return { EndpointConfigArn: arn }
    },
    DescribeEndpointConfig: (input) => {
      const name = input['EndpointConfigName']
      const { input: given, arn, createdAt } = this.#stored(this.#configs, 'endpoint-config', name)
      const { Tags: _tags, ...fields } = given
      return {
        ...fields,
        EndpointConfigArn: arn,
        CreationTime: seconds(createdAt),
        EnableNetworkIsolation: given['EnableNetworkIsolation'] ?? false,
      }
    },
    DeleteEndpointConfig: (input) => {
      const name = String(input['EndpointConfigName'])
      const { arn } = this.#stored(this.#configs, 'endpoint-config', name)
      for (const endpoint of this.#endpoints.values())
        if (this.#present(endpoint) !== undefined && [endpoint.config, endpoint.nextConfig].includes(name))
          this.#context.violation(`DeleteEndpointConfig ${name}: endpoint ${endpoint.name} uses it`)
      this.#configs.delete(name)
      this.#tags.delete(arn)
      return {}
    },
    CreateEndpoint: (input) => this.#createEndpoint(input),
    DescribeEndpoint: (input) => this.#describeEndpoint(this.#endpoint(input)),
    UpdateEndpoint: (input) => this.#updateEndpoint(input),
    DeleteEndpoint: (input) => {
      const endpoint = this.#endpoint(input)
      if (endpoint.phase !== undefined) throw validation(`Cannot update in-progress endpoint "${endpoint.arn}".`)
      const until = this.#context.now() + this.#context.script().endpointDeleting
      this.#endpoints.set(endpoint.name, { ...endpoint, phase: { status: 'Deleting', until } })
      return {}
    },
    AddTags: (input) => {
      const arn = String(input['ResourceArn'])
      const added = (input['Tags'] ?? []) as readonly Tag[]
      const keys = new Set(added.map(({ Key }) => Key))
      this.#tags.set(arn, [...(this.#tags.get(arn) ?? []).filter(({ Key }) => !keys.has(Key)), ...added])
      return { Tags: this.#tags.get(arn) }
    },
    DeleteTags: (input) => {
      const arn = String(input['ResourceArn'])
      const keys = (input['TagKeys'] ?? []) as readonly string[]
      this.#tags.set(
        arn,
        (this.#tags.get(arn) ?? []).filter(({ Key }) => !keys.includes(Key)),
      )
      return {}
    },
    ListTags: (input) => ({ Tags: this.#tags.get(String(input['ResourceArn'])) ?? [] }),
  }

  #createEndpoint(input: Fields): Fields {
    const name = String(input['EndpointName'])
    const config = String(input['EndpointConfigName'])
    this.#stored(this.#configs, 'endpoint-config', config)
    const before = this.#endpoints.get(name)
    const arn = this.#arn('endpoint', name)
    if (before !== undefined && this.#present(before) !== undefined)
      throw validation(`Cannot create already existing endpoint "${arn}".`)
    const now = this.#context.now()
    const script = this.#context.script()
    const reason = script.failingEndpoints[name]
    this.#endpoints.set(name, {
      name,
      arn,
      config,
      nextConfig: undefined,
      deploymentConfig: undefined,
      createdAt: now,
      modifiedAt: now,
      phase: { status: 'Creating', until: now + script.endpointCreating },
      status: reason === undefined ? 'InService' : 'Failed',
      failureReason: reason,
    })
    this.#tags.set(arn, (input['Tags'] ?? []) as readonly Tag[])
    return { EndpointArn: arn }
  }

  #updateEndpoint(input: Fields): Fields {
    const endpoint = this.#endpoint(input)
    const config = String(input['EndpointConfigName'])
    if (endpoint.phase !== undefined) throw validation(`Cannot update in-progress endpoint "${endpoint.arn}".`)
    if (endpoint.status === 'Failed') throw validation(`Cannot update endpoint "${endpoint.arn}" in Failed status.`)
    this.#stored(this.#configs, 'endpoint-config', config)
    const script = this.#context.script()
    const reason = script.failingEndpoints[endpoint.name]
    const now = this.#context.now()
    this.#endpoints.set(endpoint.name, {
      ...endpoint,
      nextConfig: config,
      deploymentConfig: input['DeploymentConfig'],
      modifiedAt: now,
      phase: { status: 'Updating', until: now + script.endpointUpdating },
      failureReason: reason,
    })
    return { EndpointArn: endpoint.arn }
  }

  #describeEndpoint({ name, arn, config, createdAt, modifiedAt, phase, ...rest }: Endpoint): Fields {
    const { status, failureReason, deploymentConfig } = rest
    const input: Fields = this.#configs.get(config)?.input ?? {}
    const variants = ((input['ProductionVariants'] ?? []) as readonly Fields[]).map((variant) => ({
      VariantName: variant['VariantName'],
      CurrentWeight: variant['InitialVariantWeight'] ?? 1,
      DesiredWeight: variant['InitialVariantWeight'] ?? 1,
      CurrentInstanceCount: variant['InitialInstanceCount'] ?? 1,
      DesiredInstanceCount: variant['InitialInstanceCount'] ?? 1,
    }))
    return {
      EndpointName: name,
      EndpointArn: arn,
      EndpointConfigName: config,
      EndpointStatus: phase?.status ?? status,
      CreationTime: seconds(createdAt),
      LastModifiedTime: seconds(modifiedAt),
      ...(phase === undefined && status === 'InService' ? { ProductionVariants: variants } : {}),
      ...(phase === undefined && failureReason !== undefined ? { FailureReason: failureReason } : {}),
      ...(deploymentConfig === undefined ? {} : { LastDeploymentConfig: deploymentConfig }),
    }
  }

  /** Returns the endpoint as it is now; undefined when its deletion is over. */
  #present(endpoint: Endpoint): Endpoint | undefined {
    const { phase, config, nextConfig, failureReason } = endpoint
    if (phase === undefined || this.#context.now() < phase.until) return endpoint
    if (phase.status === 'Deleting') return undefined
    // A failed update leaves the configuration as it was.
    const used = failureReason === undefined ? (nextConfig ?? config) : config
    return { ...endpoint, phase: undefined, config: used, nextConfig: undefined }
  }

  #endpoint(input: Fields): Endpoint {
    const name = String(input['EndpointName'])
    const stored = this.#endpoints.get(name)
    const present = stored === undefined ? undefined : this.#present(stored)
    if (present === undefined) {
      this.#endpoints.delete(name)
      throw validation(`Could not find endpoint "${this.#arn('endpoint', name)}".`)
    }
    this.#endpoints.set(name, present)
    return present
  }

  #store(among: Map<string, Stored>, type: string, key: string, input: Fields): Stored {
    const name = String(input[key])
    if (!named.test(name))
      throw validation(
        `1 validation error detected: Value '${name}' at '${key[0]?.toLowerCase()}${key.slice(1)}' failed to satisfy constraint: Member must satisfy regular expression pattern: ${named.source}`,
      )
    const arn = this.#arn(type, name)
    if (among.has(name))
      throw validation(`Cannot create already existing ${type.replace('-config', ' configuration')} "${arn}".`)
    const stored = { input, arn, createdAt: this.#context.now() }
    among.set(name, stored)
    this.#tags.set(arn, (input['Tags'] ?? []) as readonly Tag[])
    return stored
  }

  #stored(among: ReadonlyMap<string, Stored>, type: string, name: unknown): Stored {
    const stored = among.get(String(name))
    if (stored !== undefined) return stored
    const what = type === 'endpoint-config' ? 'endpoint configuration' : type
    throw validation(`Could not find ${what} "${this.#arn(type, String(name))}".`)
  }

  #checkRole(given: unknown): void {
    if (typeof given !== 'string') return
    const role = this.#iam.roleOf(given)
    const isUsable =
      role !== undefined && this.#context.now() >= role.createdAt + this.#context.script().rolePropagation
    if (!isUsable)
      throw validation(
        `Could not assume role ${given}. Please ensure that the role exists and allows principal 'sagemaker.amazonaws.com' to assume the role.`,
      )
  }

  #arn(type: string, name: string): string {
    return `arn:aws:sagemaker:${this.#region}:${this.#context.account}:${type}/${name.toLowerCase()}`
  }
}

function modelsOf({ ProductionVariants, ShadowProductionVariants }: Fields): readonly unknown[] {
  const variants = [ProductionVariants, ShadowProductionVariants].flatMap((list) => (list ?? []) as readonly Fields[])
  return variants.flatMap(({ ModelName }) => (ModelName === undefined ? [] : [ModelName]))
}

/** Times of the JSON protocol are seconds since the epoch. */
function seconds(milliseconds: number): number {
  return milliseconds / 1000
}

/** Reports an operation that the fake does not have. */
export function unknownOperation(name: string): FakeError {
  return new FakeError('UnknownOperationException', `the fake AWS has no operation ${name}`, 404)
}
