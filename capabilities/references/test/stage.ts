// A cluster for tests of ReferenceRules: the embedded server with RBAC, the controllers under a service account with the
// capability's own rules and the right to watch the kinds of the test.
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { Manager, ClientReader, installDefinitions } from '@fairlead/controller'
import type { CapabilityInstance, PolicyRule, Relation } from '@fairlead/controller'
import type { Condition, JsonObject, KubeObject } from '@fairlead/kube'
import { crd } from '../../../test/support/crd.ts'
import { references } from '../src/index.ts'
import type { ReferenceRule, TargetProblem } from '../src/index.ts'

export const app = { apiVersion: 'test.dev/v1', kind: 'App' }
export const database = { apiVersion: 'test.dev/v1', kind: 'Database' }
export const ruleKind = { apiVersion: 'references.fairlead.dev/v1alpha1', kind: 'ReferenceRule' }
const rbac = 'rbac.authorization.k8s.io/v1'
const account = { kind: 'ServiceAccount', name: 'fairlead', namespace: 'fairlead-system' }

export const definitions: readonly KubeObject[] = [
  crd({ group: 'test.dev', kind: 'App' }),
  crd({ group: 'test.dev', kind: 'Database', status: true }),
]

/** The right to watch the kinds of the test, which an administrator grants by label. */
export const grants: readonly PolicyRule[] = [
  { apiGroups: ['test.dev'], resources: ['apps', 'databases'], verbs: ['get', 'list', 'watch'] },
]

/** Returns a namespace whose account `resolver` may read Databases and change Apps. */
export function tenant(namespace: string): readonly KubeObject[] {
  const metadata = { name: 'resolver', namespace }
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata },
    role(metadata, [
      { apiGroups: ['test.dev'], resources: ['databases'], verbs: ['get'] },
      { apiGroups: ['test.dev'], resources: ['apps'], verbs: ['get', 'patch'] },
    ]),
    {
      apiVersion: rbac,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'resolver' },
      subjects: [{ kind: 'ServiceAccount', ...metadata }],
    } as KubeObject,
  ]
}

/** Returns the binding that lets the user `user-of-<namespace>` write everything in a namespace. */
export function userOf(namespace: string): KubeObject {
  return {
    apiVersion: rbac,
    kind: 'RoleBinding',
    metadata: { name: 'users', namespace },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: `user-of-${namespace}` }],
  } as KubeObject
}

/** Returns a Role. */
export function role(
  metadata: { readonly name: string; readonly namespace: string },
  rules: readonly PolicyRule[],
): KubeObject {
  return { apiVersion: rbac, kind: 'Role', metadata, rules } as KubeObject
}

/** Returns an App that names its database in an annotation, or by a reference in its spec. */
export function appObject(
  namespace: string,
  name: string,
  of: { readonly annotation?: string; readonly ref?: JsonObject; readonly host?: string },
): KubeObject {
  const { annotation, ref, host } = of
  return {
    ...app,
    metadata: {
      name,
      namespace,
      ...(annotation === undefined ? {} : { annotations: { 'test.dev/database': annotation } }),
    },
    spec: {
      size: 1,
      ...(ref === undefined ? {} : { databaseRef: ref }),
      ...(host === undefined ? {} : { databaseHost: host }),
    },
  }
}

/** Returns a Database without a host. */
export function databaseObject(namespace: string, name: string): KubeObject {
  return { ...database, metadata: { name, namespace }, spec: {} }
}

/** Returns the rule of the tests: Apps take the host of the Database that they name. */
export function ruleObject(
  reference: JsonObject = { annotation: 'test.dev/database' },
  spec: JsonObject = {},
): KubeObject {
  return {
    ...ruleKind,
    metadata: { name: 'hosts' },
    spec: {
      target: { ...app, fieldPath: 'spec.databaseHost', reference },
      source: { ...database, valuePath: 'status.host' },
      serviceAccountName: 'resolver',
      ...spec,
    },
  }
}

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly server: ApiServer
  /** An administrator. */
  readonly client: Client
  readonly #manager: Manager

  private constructor(server: ApiServer, manager: Manager) {
    this.server = server
    this.client = server.client({ manager: 'kubectl' })
    this.#manager = manager
  }

  static async start(objects: readonly KubeObject[]): Promise<Stage> {
    const server = await ApiServer.start({ storage: memory(), authorization: 'RBAC' })
    const client = server.client({ manager: 'kubectl' })
    await installDefinitions(client, [...references.crds, ...definitions])
    for (const object of [...identity(), ...objects]) await client.apply(object)
    const user = {
      name: `system:serviceaccount:${account.namespace}:${account.name}`,
      groups: ['system:serviceaccounts', 'system:authenticated'],
    }
    const options = { resolve: new Map<string, string>(), signal: new AbortController().signal }
    const manager = await Manager.start({
      client: server.client({ as: user }),
      setup: async (starting) => {
        instances.set(server, await references.setup(starting, options))
      },
    })
    return new Stage(server, manager)
  }

  async host(namespace: string, name: string): Promise<unknown> {
    const { spec } = await this.client.get(app, `${namespace}/${name}`)
    return (spec as { databaseHost?: unknown }).databaseHost
  }

  async setHost(namespace: string, name: string, host: string): Promise<void> {
    const found = await this.client.get(database, `${namespace}/${name}`)
    await this.client.patch(found, `${namespace}/${name}`, { merge: { status: { host } } }, { subresource: 'status' })
  }

  /** Returns the edges of the graph at an object. */
  async relations(object: KubeObject): Promise<readonly Relation[]> {
    const source = await references.relations!()
    return source.relations(object, new ClientReader(this.client, { signal: new AbortController().signal }))
  }

  /** Returns the values of a metric by kind. */
  async metric(name: string): Promise<Readonly<Record<string, number>>> {
    const { values } = await this.#manager.metrics.registry.getSingleMetric(name)!.get()
    return Object.fromEntries(values.map(({ labels, value }) => [String(labels['kind']), value]))
  }

  async rule(): Promise<{
    readonly ready: Condition | undefined
    readonly problems: readonly TargetProblem[]
    readonly counts: readonly unknown[]
  }> {
    const { status } = (await this.client.get(ruleKind, 'hosts')) as unknown as ReferenceRule
    const ready = status?.conditions?.find(({ type }) => type === 'Ready') as Condition | undefined
    return { ready, problems: status?.problems ?? [], counts: [status?.resolved, status?.waiting, status?.failing] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await instances.get(this.server)?.stop()
    await this.#manager.stop(1000)
    await this.server[Symbol.asyncDispose]()
  }
}

const instances = new WeakMap<ApiServer, CapabilityInstance>()

function identity(): readonly KubeObject[] {
  const name = 'fairlead-references'
  return [
    { apiVersion: rbac, kind: 'ClusterRole', metadata: { name }, rules: [...references.rules, ...grants] },
    {
      apiVersion: rbac,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [account],
    },
  ] as unknown as readonly KubeObject[]
}
