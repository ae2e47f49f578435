// A cluster for tests of sets: the embedded server with RBAC, packages and variants with exactly the rights that they
// declare, and managed repositories in a temporary folder.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import type { Client } from '@fairlead/client'
import { ClientReader, Manager, installDefinitions } from '@fairlead/controller'
import type { Capability, Relation } from '@fairlead/controller'
import { findCondition } from '@fairlead/kube'
import type { Condition, KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind, RepositoryKind, packages } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind, variants } from '@fairlead/variants'
import type { PackageVariant, PackageVariantSet } from '@fairlead/variants'

/** The cluster. */
export class SetStage implements AsyncDisposable {
  readonly server: ApiServer
  /** The administrator. */
  readonly client: Client
  readonly namespace: string
  readonly #stops: (() => Promise<unknown>)[] = []
  private constructor(server: ApiServer, namespace: string) {
    this.server = server
    this.client = server.client({ manager: 'test' })
    this.namespace = namespace
  }

  /** Starts the cluster with the namespace team-a and the upstream repository `catalog`. */
  static async start(): Promise<SetStage> {
    const validators = [...(packages.admission ?? []), ...(variants.admission ?? [])]
    const stage = new SetStage(
      await ApiServer.start({ storage: memory(), authorization: 'RBAC', validators }),
      'team-a',
    )
    await installDefinitions(stage.client, [...packages.crds, ...variants.crds])
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-sets-test-'))
    stage.#stops.push(async () => rmSync(folder, { recursive: true, force: true }))
    for (const capability of [packages, variants]) await stage.#run(capability, folder)
    return stage.#prepared()
  }

  /** Returns the same cluster with another namespace, for a test of its own. */
  inNamespace(namespace: string): Promise<SetStage> {
    return new SetStage(this.server, namespace).#prepared()
  }

  async #prepared(): Promise<this> {
    await this.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: this.namespace } })
    await this.repository('catalog')
    return this
  }

  async #run(capability: Capability, folder: string): Promise<void> {
    const name = `system:serviceaccount:fairlead-system:fairlead-${capability.name}`
    await this.grant(capability.name, capability.rules, name)
    const as = { name, groups: ['system:serviceaccounts', 'system:serviceaccounts:fairlead-system'] }
    const client = this.server.client({ as, manager: `fairlead-${capability.name}` })
    const manager = await Manager.start({ client })
    const dataFolder = join(folder, capability.name)
    const instance = await capability.setup(manager, { resolve: new Map(), signal: manager.signal, dataFolder })
    const served: Disposable[] = []
    for (const storage of instance.storages ?? []) served.push(await this.server.addStorage(storage))
    this.#stops.unshift(async () => {
      for (const one of served) one[Symbol.dispose]()
      await instance.stop()
      await manager.stop(2000)
    })
  }

  /** Returns the edges of an object that the variants know. */
  async relations(object: KubeObject): Promise<readonly Relation[]> {
    const source = await variants.relations!()
    return source.relations(object, new ClientReader(this.client, { signal: new AbortController().signal }))
  }

  /** Grants a user rules in all namespaces. */
  async grant(name: string, rules: readonly object[], user: string): Promise<void> {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    await this.client.create({ apiVersion, kind: 'ClusterRole', metadata: { name }, rules } as KubeObject)
    await this.client.create({
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    } as KubeObject)
  }

  /** Registers a managed repository and waits until it is ready. */
  async repository(name: string, labels: Readonly<Record<string, string>> = {}): Promise<void> {
    const object = {
      apiVersion: RepositoryKind.apiVersion,
      kind: 'Repository',
      metadata: { name, namespace: this.namespace, labels },
    }
    await this.client.create({ ...object, spec: { type: 'git', git: {} } } as KubeObject)
    await this.client.waitFor(
      RepositoryKind,
      { namespace: this.namespace, name },
      (repository) => findCondition(repository.status?.conditions ?? [], 'Ready')?.status === 'True',
    )
  }

  /** Publishes a package with files, in the workspace v1. */
  package(repository: string, packageName: string, files: Readonly<Record<string, string>>): Promise<void> {
    return this.publish(repository, packageName, 'v1', undefined, files)
  }

  /** Publishes a new revision of a package: the first one, or a copy of another workspace. */
  async publish(
    repository: string,
    packageName: string,
    workspaceName: string,
    source?: string,
    files: Readonly<Record<string, string>> = {},
  ): Promise<void> {
    const sourceRef = { name: `${repository}.${packageName}.${source}` }
    const tasks = source === undefined ? [] : [{ type: 'edit', edit: { sourceRef } }]
    const spec = { repository, packageName, workspaceName, tasks }
    const apiVersion = PackageRevisionKind.apiVersion
    const { metadata } = await this.client.create<KubeObject>({
      apiVersion,
      kind: 'PackageRevision',
      metadata: { namespace: this.namespace },
      spec,
    })
    const key = { namespace: this.namespace, name: metadata.name! }
    if (Object.keys(files).length > 0) {
      const object = await this.client.get(PackageRevisionResourcesKind, key)
      await this.client.update({
        ...object,
        spec: { ...object.spec, resources: { ...object.spec.resources, ...files } },
      })
    }
    for (const [lifecycle, options] of [
      ['Proposed', {}],
      ['Published', { subresource: 'approval' }],
    ] as const) {
      const revision = await this.client.get(PackageRevisionKind, key)
      await this.client.update({ ...revision, spec: { ...revision.spec, lifecycle } }, options)
    }
  }

  /** Applies a set. */
  apply(name: string, spec: object): Promise<PackageVariantSet> {
    const { apiVersion, kind } = PackageVariantSetKind
    return this.client.apply({
      apiVersion,
      kind,
      metadata: { name, namespace: this.namespace },
      spec,
    } as PackageVariantSet)
  }

  /** Returns a set as soon as `holds` is true of it. */
  set(name: string, holds: (set: PackageVariantSet) => boolean): Promise<PackageVariantSet> {
    return this.client.waitFor(
      PackageVariantSetKind,
      { namespace: this.namespace, name },
      (set) => set.status?.observedGeneration === set.metadata.generation && holds(set),
    )
  }

  /** Returns the variants of the namespace in the order of their names. */
  async variants(): Promise<readonly PackageVariant[]> {
    const { items } = await this.client.list(PackageVariantKind, { namespace: this.namespace })
    return items.toSorted((a, b) => (a.metadata.name! < b.metadata.name! ? -1 : 1))
  }

  /** Returns a variant as soon as it exists and `holds` is true of it. */
  variant(name: string, holds: (variant: PackageVariant) => boolean = () => true): Promise<PackageVariant> {
    return this.client.waitFor(PackageVariantKind, { namespace: this.namespace, name }, holds)
  }

  /** Returns the files of the first draft of a downstream, as soon as its variant is ready. */
  async draft(name: string): Promise<Readonly<Record<string, string>>> {
    const { metadata, status } = await this.variant(
      name,
      (variant) =>
        variant.status?.observedGeneration === variant.metadata.generation &&
        variant.status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true,
    )
    const key = { namespace: metadata.namespace!, name: status!.downstreamTargets![0]!.name }
    return (await this.client.get(PackageRevisionResourcesKind, key)).spec.resources
  }

  /** Resolves when a variant is deleted. */
  deleted(name: string): Promise<void> {
    return this.client.waitForDeletion(PackageVariantKind, { namespace: this.namespace, name })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const stop of this.#stops) await stop()
    await this.server[Symbol.asyncDispose]()
  }
}

/** Returns the reason and message of a condition. */
export function conditionOf({ status }: PackageVariantSet, type: string): Partial<Condition> {
  const { reason = '', message = '' } = status?.conditions?.find((condition) => condition.type === type) ?? {}
  return { reason, message }
}
