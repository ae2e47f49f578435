// A cluster for tests of supply chains: the embedded server with RBAC, the controllers with exactly the rights that
// they declare, the kind Thing to stamp, and a namespace per tenant with a service account `builder` and its role.
import { ApiServer, memory } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import type { Transport } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { Clock, KubeObject } from '@fairlead/kube'
import { crds, startControllers, supply, validators } from '@fairlead/supply'
import type { Blueprint, Owner, Template } from '@fairlead/supply'
import { patience } from '../../../test/support/until.ts'
import { Disturbance, DisturbedTransport } from '../../../test/support/disturbed-transport.ts'
import { FaultyTransport } from './faulty-transport.ts'
import type { Faults } from './faulty-transport.ts'
import { crd } from '../../../test/support/crd.ts'

const rbac = 'rbac.authorization.k8s.io/v1'
export const account = {
  name: 'system:serviceaccount:fairlead-system:fairlead-supply',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:fairlead-system'],
}

/** The kind that templates of tests stamp. */
export const thing = { apiVersion: 'test.run/v1', kind: 'Thing' }
export const workload = { apiVersion: 'carto.run/v1alpha1', kind: 'Workload' }
export const runnable = { apiVersion: 'carto.run/v1alpha1', kind: 'Runnable' }

const free = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }
const thingDefinition: KubeObject = crd({
  group: 'test.run',
  kind: 'Thing',
  schema: { type: 'object', properties: { spec: free, status: free } },
  status: true,
})

/** A Thing as tests read it. */
export interface Thing extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>
  readonly status?: Readonly<Record<string, unknown>>
}

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly server: ApiServer
  readonly client: Client
  #manager: Manager | undefined

  private constructor(server: ApiServer) {
    this.server = server
    this.client = server.client({ manager: 'test' })
  }

  /** Starts the cluster with its tenants and the controllers. `admission` enables the validators. */
  static async set(
    options: { readonly tenants?: readonly string[]; readonly admission?: boolean } = {},
  ): Promise<Stage> {
    const checks = options.admission === true ? validators : []
    const stage = new Stage(await ApiServer.start({ storage: memory(), authorization: 'RBAC', validators: checks }))
    await installDefinitions(stage.client, [...crds, thingDefinition])
    await stage.grant('supply-own', supply.rules, account.name)
    await stage.grant(
      'supply-stamped',
      [{ apiGroups: ['test.run', ''], resources: ['things', 'configmaps'], verbs: ['get', 'list', 'watch'] }],
      account.name,
    )
    for (const tenant of options.tenants ?? ['team-a']) await stage.tenant(tenant)
    await stage.startControllers()
    return stage
  }

  /** Starts the controllers, as after a start of the process. */
  async startControllers(clock?: Clock, faults?: Faults | Disturbance): Promise<Manager> {
    const direct = this.server.client({ as: account }).transport
    const transport = disturbed(direct, faults)
    const client = new Client({ transport, clock })
    this.#manager = await Manager.start({ client, setup: (manager) => startControllers(manager) })
    return this.#manager
  }

  /** Stops the controllers. */
  async stopControllers(): Promise<void> {
    await this.#manager?.stop(2000)
    this.#manager = undefined
  }

  /** Creates a namespace with a service account that may stamp Things and ConfigMaps there. */
  async tenant(namespace: string, resources: readonly string[] = ['things', 'configmaps']): Promise<void> {
    await this.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await this.client.create({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'builder', namespace } })
    await this.client.create({
      apiVersion: rbac,
      kind: 'Role',
      metadata: { name: 'builder', namespace },
      rules: [{ apiGroups: ['test.run', ''], resources, verbs: ['get', 'list', 'create', 'patch', 'delete'] }],
    } as KubeObject)
    await this.bindTenant(namespace)
  }

  /** Binds the role of a namespace to its account `builder`. */
  async bindTenant(namespace: string): Promise<void> {
    await this.client.create({
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata: { name: 'builder', namespace },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'builder' },
      subjects: [{ kind: 'ServiceAccount', name: 'builder', namespace }],
    } as KubeObject)
  }

  async grant(name: string, rules: readonly object[], user: string): Promise<void> {
    await this.client.create({ apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules } as KubeObject)
    await this.client.create({
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    } as KubeObject)
  }

  async apply(...objects: readonly KubeObject[]): Promise<void> {
    for (const object of objects) await this.client.apply(object, { force: true })
  }

  /** Sets the status of a Thing, as its controller would. */
  async setStatus(key: string, status: object): Promise<void> {
    await this.client.patch(thing, key, { merge: { status: status as never } }, { subresource: 'status' })
  }

  /** Returns the owner as soon as `holds` is true of it. */
  owner(key: string, holds: (owner: Owner) => boolean, kind: typeof workload = workload): Promise<Owner> {
    return this.client.waitFor(kind, key, (object) => holds(object as Owner)) as Promise<Owner>
  }

  /** Returns the owner as soon as its Ready has this status for its current generation. */
  ready(key: string, status: string, kind: typeof workload = workload): Promise<Owner> {
    return this.owner(
      key,
      (owner) =>
        owner.status?.observedGeneration === owner.metadata.generation && conditionsOf(owner)['Ready']?.[0] === status,
      kind,
    )
  }

  things(namespace = 'team-a'): Promise<readonly Thing[]> {
    return this.client.list<Thing>(thing, { namespace }).then(({ items }) => items)
  }

  /** Polls until `holds` is true; throws after the limit of all tests. */
  async until(holds: () => Promise<boolean>, what: string): Promise<void> {
    const { clock } = this.client
    for (const end = clock.monotonic() + patience; !(await holds()); await clock.sleep(5))
      if (clock.monotonic() > end) throw new Error(`It did not come true that ${what}`)
  }

  /** Resolves when nothing was written for a number of event-loop ticks: the controllers are idle. */
  async settle(): Promise<void> {
    for (let quiet = 0, revision = -1; quiet < 40; revision = this.server.store.revision) {
      await this.client.list(workload)
      await new Promise((resolve) => setImmediate(resolve))
      quiet = this.server.store.revision === revision ? quiet + 1 : 0
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopControllers()
    await this.server[Symbol.asyncDispose]()
  }
}

function disturbed(direct: Transport, faults: Faults | Disturbance | undefined): Transport {
  if (faults === undefined) return direct
  return faults instanceof Disturbance ? new DisturbedTransport(direct, faults) : new FaultyTransport(direct, faults)
}

/** Returns conditions as `type -> [status, reason, message]`. */
export function conditionsOf(object: {
  readonly status?: {
    readonly conditions?: readonly { type: string; status: string; reason: string; message: string }[]
  }
}): Record<string, readonly [string, string, string]> {
  return Object.fromEntries(
    (object.status?.conditions ?? []).map(({ type, status, reason, message }) => [type, [status, reason, message]]),
  )
}

/** Returns `status.resources` by name, each with its conditions as above. */
export function resourcesOf(owner: Owner): Record<string, Record<string, readonly [string, string, string]>> {
  return Object.fromEntries(
    (owner.status?.resources ?? []).map((entry) => [entry.name, conditionsOf({ status: entry as never })]),
  )
}

/** Returns a template. */
export function template(kind: Template['kind'], name: string, spec: Template['spec']): Template {
  return { apiVersion: 'carto.run/v1alpha1', kind, metadata: { name }, spec }
}

/** Returns a supply chain for Workloads labelled `type: <type>`. */
export function supplyChain(
  name: string,
  type: string,
  resources: Blueprint['spec']['resources'],
  more: Partial<Blueprint['spec']> = {},
): Blueprint {
  return {
    apiVersion: 'carto.run/v1alpha1',
    kind: 'ClusterSupplyChain',
    metadata: { name },
    spec: { selector: { type }, ...more, resources },
  }
}

/** Returns a Workload of a tenant. */
export function workloadOf(
  name: string,
  type: string,
  spec: Record<string, unknown> = {},
  namespace = 'team-a',
): Owner {
  return {
    ...workload,
    metadata: { name, namespace, labels: { type } },
    spec: { serviceAccountName: 'builder', ...spec },
  }
}

/** The template of a source: its Thing has the git URL of the Workload. */
export const sourceTemplate: Template = template('ClusterSourceTemplate', 'source', {
  urlPath: '.status.url',
  revisionPath: '.status.revision',
  healthRule: { singleConditionType: 'Ready' },
  template: {
    ...thing,
    metadata: { name: '$(workload.metadata.name)$-source' },
    spec: { url: '$(workload.spec.source.git.url)$' },
  },
})
/** The template of an image that is built from a source. */
export const imageTemplate: Template = template('ClusterImageTemplate', 'image', {
  imagePath: '.status.image',
  template: {
    ...thing,
    metadata: { name: '$(workload.metadata.name)$-image' },
    spec: { from: '$(source.url)$@$(source.revision)$' },
  },
})
/** The supply chain of a source and an image. */
export const chain: Blueprint = supplyChain('chain', 'web', [
  {
    name: 'image',
    templateRef: { kind: 'ClusterImageTemplate', name: 'image' },
    sources: [{ name: 'source', resource: 'source' }],
  },
  { name: 'source', templateRef: { kind: 'ClusterSourceTemplate', name: 'source' } },
])
export const git = { source: { git: { url: 'https://example.test/app.git' } } }
export const readyStatus = {
  url: 'https://example.test/app.tgz',
  revision: 'main@1',
  conditions: [{ type: 'Ready', status: 'True', message: 'fetched' }],
}
