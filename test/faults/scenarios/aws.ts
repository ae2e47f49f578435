// AWS resources under faults: a chain of four kinds; meanwhile the endpoint moves to another configuration, an endpoint
// and its configuration are deleted, and a role changes. What is in AWS is compared as well.
import { AwsError, ResourceControllers, aws, resourceKinds } from '@fairlead/aws'
import { FakeAws, FakeError } from '@fairlead/aws/fake'
import type { Fields } from '@fairlead/aws/fake'
import { managerFor } from '@fairlead/aws/services'
import type { ApiObject, ServiceApi } from '@fairlead/aws/services'
import type { Clock, JsonObject, KubeObject } from '@fairlead/kube'
import { kinds, made } from '../../../capabilities/aws/test/stage.ts'
import type { Scenario } from '../scenario.ts'

const region = 'us-east-1'
const trust = JSON.stringify({ Version: '2012-10-17', Statement: [] })

/** The fake of the trial. It speaks to the controllers without HTTP, so that a trial sees when nothing is under way. */
class Cloud {
  readonly #created = new Map<string, number>()
  #fake: FakeAws | undefined

  /** Returns the calls to a service, on the clock of the trial. */
  api(clock: Clock, service: string): ServiceApi {
    const fake = (this.#fake ??= new FakeAws({ clock }))
    return {
      call: async (operation, input) => {
        try {
          const output = await fake.call(service, region, operation, input)
          this.#count(operation, input)
          return withDates(output)
        } catch (error) {
          if (!(error instanceof FakeError)) throw error
          throw new AwsError(error.code, error.message, { status: error.status, cause: error })
        }
      },
    }
  }

  /** Returns how often each resource was created and deleted, and what was deleted although it was in use. */
  state(): JsonObject {
    return {
      calls: Object.fromEntries([...this.#created].toSorted(([a], [b]) => (a < b ? -1 : 1))),
      violations: this.#fake?.violations ?? [],
    }
  }

  #count(operation: string, input: ApiObject): void {
    if (!/^(?:Create|Delete|Attach|Detach)/.test(operation)) return
    const { RoleName, PolicyName, ModelName, EndpointName, EndpointConfigName } = input
    const name = RoleName ?? PolicyName ?? ModelName ?? EndpointName ?? EndpointConfigName ?? input['PolicyArn']
    const call = `${operation} ${String(name)}`
    this.#created.set(call, (this.#created.get(call) ?? 0) + 1)
  }
}

/** Times of SageMaker are seconds since the epoch; the SDK returns Dates. */
function withDates(output: Fields): ApiObject {
  return Object.fromEntries(
    Object.entries(output).map(([name, value]) => [
      name,
      name.endsWith('Time') && typeof value === 'number' ? new Date(value * 1000) : value,
    ]),
  ) as ApiObject
}

let cloud = new Cloud()

function config(name: string): KubeObject {
  const variant = {
    variantName: 'v',
    modelNameRef: { name: 'm' },
    initialInstanceCount: 1,
    instanceType: 'ml.m5.large',
  }
  return made('EndpointConfig', `default/${name}`, { endpointConfigName: name, productionVariants: [variant] })
}

function endpoint(name: string, of: string): KubeObject {
  return made('Endpoint', `default/${name}`, { endpointName: name, endpointConfigNameRef: { name: of } })
}

function role(name: string, more: JsonObject): KubeObject {
  return made('Role', `default/${name}`, { name, assumeRolePolicyDocument: trust, ...more })
}

/** The scenario. */
export const awsScenario: Scenario = {
  name: 'aws',
  capability: {
    ...aws,
    async setup(manager) {
      const controllers = new ResourceControllers(manager, {
        kinds: resourceKinds,
        resources: (kind) => managerFor(kind, (service) => cloud.api(manager.clock, service)),
        settings: { deletionPolicy: 'delete', resync: 36_000_000, region, tags: [] },
        crossNamespace: false,
      })
      return { stop: async () => controllers[Symbol.dispose]() }
    },
  },
  definitions: [],
  grants: [],
  objects: [
    made('Policy', 'default/p', { name: 'p', policyDocument: trust }),
    role('r', { policyRefs: [{ name: 'p' }] }),
    made('Model', 'default/m', { modelName: 'm', executionRoleARNRef: { name: 'r' } }),
    config('one'),
    config('two'),
    config('ends'),
    endpoint('moves', 'one'),
    endpoint('ends', 'ends'),
  ],
  deleted: [],
  kinds: Object.values(kinds),
  prepare() {
    cloud = new Cloud()
  },
  outside: () => cloud.state(),
  async change(client) {
    await client.apply(endpoint('moves', 'two'))
    await client.delete(kinds.EndpointConfig, 'default/ends')
    await client.delete(kinds.Endpoint, 'default/ends')
    await client.apply(role('r', { policyRefs: [{ name: 'p' }], description: 'changed' }))
    await client.apply(role('new', { permissionsBoundaryRef: { name: 'p' } }))
  },
}
