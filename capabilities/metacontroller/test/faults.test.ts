// Random actions of users and random faults of server and hook: no output is lost meanwhile, and in the end the state
// is that of a run without faults.
import type { ApiServer } from '@fairlead/apiserver'
import type { ApiRequest, ApiResponse, Transport } from '@fairlead/client'
import { Client } from '@fairlead/client'
import type { KubeObject } from '@fairlead/kube'
import { isNotFound } from '@fairlead/kube'
import { fc, test as property } from '@fast-check/vitest'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { Stage, repeatableRandom } from '../../../examples/stage.ts'
import { inputAnnotation } from '../src/engine/tag.ts'
import { TestHook, copyOf } from './hook.ts'

type Action =
  | {
      readonly do: 'put input' | 'delete input' | 'unlabel input' | 'delete output' | 'put stranger' | 'delete stranger'
      readonly name: string
    }
  | { readonly do: 'pass'; readonly seconds: number }
  | { readonly do: 'restart' | 'recreate parent' }

const name = fc.constantFrom('a', 'b', 'c')
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom(
        'put input',
        'delete input',
        'unlabel input',
        'delete output',
        'put stranger',
        'delete stranger',
      ),
      name,
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), seconds: fc.integer({ min: 1, max: 90 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart', 'recreate parent') }) },
)

/** Faults come with this likelihood while they are on. */
interface Faults {
  likelihood: number
  readonly random: () => number
}

const inputOf = (of: string, labels: object = { copy: 'yes' }): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: of, namespace: 'default', labels },
    data: {},
  }) as KubeObject
const parent: KubeObject = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'all', namespace: 'default' } }
const stranger = (of: string): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: `${of}-copy`, namespace: 'default' },
  data: { made: 'YnloYW5k' },
})
const secrets = { apiVersion: 'v1', kind: 'Secret' }

/** Responds 503 instead of writing a Secret, or after writing it: the client cannot distinguish the two. */
function faulty(inner: Transport, faults: Faults, deleted: (path: string) => Promise<void>): Transport {
  const unavailable: ApiResponse = {
    status: 503,
    headers: {},
    body: {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'unavailable',
      reason: 'ServiceUnavailable',
      code: 503,
    },
    warnings: [],
  }
  const request = async (sent: ApiRequest): Promise<ApiResponse> => {
    if (sent.method === 'GET' || !sent.path.includes('/secrets/')) return inner.request(sent)
    if (sent.method === 'DELETE') await deleted(sent.path)
    if (faults.random() >= faults.likelihood) return inner.request(sent)
    if (faults.random() < 0.5) await inner.request(sent)
    return unavailable
  }
  return {
    address: inner.address,
    request,
    watch: (sent) => inner.watch(sent),
    as: (who) => faulty(inner.as(who), faults, deleted),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}

/** Number of random sequences; `npm run test:long` sets 50. */
const runs = Number(process.env['FAIRLEAD_FAULT_RUNS'] ?? 5)

let hook: TestHook
beforeAll(async () => {
  hook = await TestHook.start()
})
afterAll(() => hook[Symbol.asyncDispose]())

describe('a map controller under faults', () => {
  property.prop([fc.array(action, { minLength: 5, maxLength: 20 })], { numRuns: runs })(
    'deletes no output whose input is there, touches no stranger, and converges to what it would be without faults',
    async (actions) => {
      const faults: Faults = { likelihood: 0.3, random: repeatableRandom() }
      const wrongDeletes: string[] = []
      hook.reply = ({ body }) =>
        faults.random() < faults.likelihood ? { status: 500, body: 'no' } : { body: { outputs: [copyOf(body.input)] } }
      const controllerClient = (server: ApiServer): Client => {
        const deleted = async (path: string): Promise<void> => {
          const output = await server.client().find(secrets, `default/${path.split('/').at(-1)}`)
          const [, , of] = (output?.metadata.annotations?.[inputAnnotation] ?? '').split('/')
          const input =
            of === undefined
              ? undefined
              : await server.client().find({ apiVersion: 'v1', kind: 'ConfigMap' }, `default/${of}`)
          if (output?.metadata.annotations === undefined || input?.metadata.labels?.['copy'] === 'yes')
            wrongDeletes.push(path)
        }
        return new Client({
          transport: faulty(server.transport(), faults, deleted),
          clock: server.clock,
          random: repeatableRandom(),
        })
      }
      await using stage = await Stage.set({ controllerClient })
      const controller: KubeObject = {
        apiVersion: 'metacontroller.k8s.io/v1alpha1',
        kind: 'MapController',
        metadata: { name: 'copies' },
        spec: {
          parentResource: {
            apiVersion: 'v1',
            resource: 'serviceaccounts',
            labelSelector: { matchLabels: { maps: 'yes' } },
          },
          inputResources: [
            { apiVersion: 'v1', resource: 'configmaps', labelSelector: { matchLabels: { copy: 'yes' } } },
          ],
          outputResources: [{ apiVersion: 'v1', resource: 'secrets', updateStrategy: { method: 'InPlace' } }],
          hooks: { map: { webhook: { url: `${hook.url}/map` } } },
        },
      }
      const policy: KubeObject = { ...parent, metadata: { ...parent.metadata, labels: { maps: 'yes' } } }
      await stage.apply(controller, policy)
      await stage.pass(2)
      const strangers = new Map<string, string>()
      /** UIDs of outputs that the deletion of the parent released; those that no hook response names again stay. */
      const released = new Set<string | undefined>()
      const ignoreMissing = (error: unknown): void => {
        if (!isNotFound(error)) throw error
      }
      const isOurs = async (of: string): Promise<boolean | undefined> => {
        const found = await stage.client.find(secrets, `default/${of}-copy`)
        return found && found.metadata.annotations?.[inputAnnotation] !== undefined
      }
      for (const one of actions) {
        if (one.do === 'pass') await stage.pass(one.seconds)
        else if (one.do === 'restart') {
          await stage.stopControllers()
          await stage.startControllers({ controllerClient })
        } else if (one.do === 'recreate parent') {
          await stage.client.delete(policy, 'default/all', { propagation: 'Orphan' })
          await stage.settle()
          for (const { metadata } of (await stage.client.list(secrets, { namespace: 'default' })).items)
            if (metadata.ownerReferences === undefined) released.add(metadata.uid)
          await stage.apply(policy)
        } else if (one.do === 'put input') await stage.apply(inputOf(one.name))
        else if (one.do === 'unlabel input') await stage.apply(inputOf(one.name, {}))
        else if (one.do === 'delete input')
          await stage.client.delete({ apiVersion: 'v1', kind: 'ConfigMap' }, `default/${one.name}`).catch(ignoreMissing)
        else if (one.do === 'delete output' && (await isOurs(one.name)) === true)
          await stage.client.delete(secrets, `default/${one.name}-copy`)
        else if (one.do === 'put stranger' && (await isOurs(one.name)) === undefined) {
          const made = await stage.client.create(stranger(one.name))
          strangers.set(one.name, made.metadata.uid ?? '')
        } else if (one.do === 'delete stranger' && strangers.delete(one.name))
          await stage.client.delete(secrets, `default/${one.name}-copy`)
        await stage.settle()
      }
      faults.likelihood = 0
      await stage.pass(2500)

      const { items: inputs } = await stage.client.list(
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { namespace: 'default', labelSelector: 'copy=yes' },
      )
      const { items: outputs } = await stage.client.list(secrets, { namespace: 'default' })
      const wanted = inputs
        .map(({ metadata }) => `${metadata.name}-copy`)
        .filter((of) => !strangers.has(of.replace('-copy', '')))
      const owned = outputs.filter(
        ({ metadata: { annotations, name: of = '', ownerReferences, uid } }) =>
          annotations?.[inputAnnotation] !== undefined &&
          (wanted.includes(of) || ownerReferences !== undefined || !released.has(uid)),
      )
      const { metadata: current } = await stage.client.get(policy, 'default/all')
      expect({
        outputs: owned.map(({ metadata }) => metadata.name).toSorted(),
        owners: owned.map(({ metadata }) => metadata.ownerReferences?.map(({ uid }) => uid)),
        strangers: outputs
          .filter(
            ({ metadata }) => metadata.annotations?.[inputAnnotation] === undefined && metadata.name?.endsWith('-copy'),
          )
          .map(({ metadata, data }) => [
            metadata.name,
            metadata.uid,
            data,
            metadata.managedFields?.map(({ manager }) => manager),
          ]),
        wrongDeletes,
      }).toEqual({
        outputs: wanted.toSorted(),
        owners: owned.map(() => [current.uid]),
        strangers: [...strangers].toSorted().map(([of, uid]) => [`${of}-copy`, uid, stranger(of).data, ['kubectl']]),
        wrongDeletes: [],
      })
    },
    120_000 + 20_000 * runs,
  )
})
