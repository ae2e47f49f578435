// A cluster for the examples of supply chains: the embedded server with RBAC and admission, the controllers under a
// service account that has the capability's own rules and those that an example grants by label, and the simulator.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { Condition, KubeObject } from '@fairlead/kube'
import { readManifests } from '@fairlead/offline'
import { Simulator, parseRules } from '@fairlead/simulator'
import { supply } from '@fairlead/supply'

const namespace = 'fairlead-system'
const name = 'fairlead-supply'
const label = { 'rbac.fairlead.dev/aggregate-to-supply': 'true' }
const role = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name }
const rbac = 'rbac.authorization.k8s.io/v1'
const identity = [
  { apiVersion: rbac, kind: 'ClusterRole', metadata: { name: `${name}-own`, labels: label }, rules: supply.rules },
  {
    apiVersion: rbac,
    kind: 'ClusterRole',
    metadata: { name },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: label }] },
  },
  {
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: role,
    subjects: [{ kind: 'ServiceAccount', name, namespace }],
  },
] as unknown as readonly KubeObject[]

/** Milliseconds that a condition may take on a machine that is busy with other things. */
export const waitTimeout = 30_000
/** Milliseconds that a test of an example may take on such a machine. */
export const testTimeout = 60_000

/** The cluster. */
export interface ExampleStage extends AsyncDisposable {
  readonly client: Client
}

/** Starts the cluster and applies the manifests of an example, files by name. */
export async function stageFor(example: string): Promise<ExampleStage> {
  await using started = new AsyncDisposableStack()
  const server = started.use(
    await ApiServer.start({ storage: memory(), authorization: 'RBAC', validators: supply.admission }),
  )
  const client = server.client({ manager: 'kubectl' })
  await installDefinitions(client, supply.crds)
  for (const object of identity) await client.create(object)
  const user = {
    name: `system:serviceaccount:${namespace}:${name}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`],
  }
  const options = { resolve: new Map<string, string>(), signal: new AbortController().signal }
  const rules = join(example, 'simulate.yaml')
  if (existsSync(rules)) {
    const simulator = new Simulator(parseRules(readFileSync(rules, 'utf8'), rules))
    started.use(await Manager.start({ client: server.client(), setup: (manager) => simulator.setup(manager) }))
  }
  started.use(
    await Manager.start({ client: server.client({ as: user }), setup: (manager) => supply.setup(manager, options) }),
  )
  const manifests = await readManifests([join(example, 'manifests')], { stdin: async () => '' })
  for (const { object } of manifests) {
    if (object.kind === 'CustomResourceDefinition') await installDefinitions(client, [object])
    else await client.apply(object)
  }
  const running = started.move()
  return { client, [Symbol.asyncDispose]: () => running.disposeAsync() }
}

/**
 * Waits until the `Ready` condition of an object has this status and reason and is about its current generation. The
 * reason distinguishes the final outcome from an earlier one with the same status: `SupplyChainNotFound`, which is
 * False too, is reported until the blueprint is in the cache.
 */
export function waitForReady(
  client: Client,
  kind: { readonly apiVersion: string; readonly kind: string },
  key: string,
  [status, reason]: readonly [status: string, reason: string],
): Promise<KubeObject> {
  return client.waitFor(
    kind,
    key,
    (object) => {
      const { conditions = [] } = (object.status ?? {}) as { conditions?: readonly Condition[] }
      const ready = conditions.find(({ type }) => type === 'Ready')
      const isCurrent = ready?.observedGeneration === object.metadata.generation
      return isCurrent && ready?.status === status && ready.reason === reason
    },
    { timeout: waitTimeout },
  )
}

/** Returns a condition of an object as `[status, reason, message]`. */
export function conditionOf(object: unknown, type: string): readonly string[] | undefined {
  const { conditions = [] } = (object ?? {}) as {
    conditions?: readonly { type: string; status: string; reason: string; message: string }[]
  }
  const found = conditions.find((one) => one.type === type)
  return found === undefined ? undefined : [found.status, found.reason, found.message]
}

/** Returns `Healthy` of every entry of `status.resources`, by name. */
export function healthOfResources(status: unknown): Record<string, readonly string[] | undefined> {
  const { resources = [] } = (status ?? {}) as { resources?: readonly { name: string }[] }
  return Object.fromEntries(resources.map((entry) => [entry.name, conditionOf(entry, 'Healthy')]))
}
