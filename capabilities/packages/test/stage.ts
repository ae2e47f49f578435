// A cluster for tests of packages: the embedded server with RBAC, the capability with exactly the rights that it
// declares, and git repositories in temporary folders.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ApiServer, memory } from '@fairlead/apiserver'
import { Client } from '@fairlead/client'
import { ClientReader, installDefinitions, Manager } from '@fairlead/controller'
import type { CapabilityInstance, Validator } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind, PackageRevisionResourcesKind, packages, RepositoryKind } from '@fairlead/packages'
import type { PackageRevision, PackageRevisionResources, Repository, Task } from '@fairlead/packages'
import { DisturbedTransport } from '../../../test/support/disturbed-transport.ts'
import type { Disturbance } from '../../../test/support/disturbed-transport.ts'

const account = {
  name: 'system:serviceaccount:fairlead-system:fairlead-packages',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:fairlead-system'],
}

/** The cluster. */
export class Stage implements AsyncDisposable {
  readonly server: ApiServer
  /** The administrator. */
  readonly client: Client
  readonly folder: string
  #manager: Manager | undefined
  #instance: CapabilityInstance | undefined
  #served: Disposable[] = []

  private constructor(server: ApiServer, folder: string) {
    this.server = server
    this.client = server.client({ manager: 'test' })
    this.folder = folder
  }

  /** Starts the cluster with the namespaces of its tenants, and the validators of another capability. */
  static async start(tenants: readonly string[] = ['team-a'], validators: readonly Validator[] = []): Promise<Stage> {
    const server = await ApiServer.start({
      storage: memory(),
      authorization: 'RBAC',
      validators: [...(packages.admission ?? []), ...validators],
    })
    const stage = new Stage(server, mkdtempSync(join(tmpdir(), 'fairlead-packages-test-')))
    await installDefinitions(stage.client, [...packages.crds])
    await stage.grant('packages', packages.rules, account.name)
    for (const name of tenants) await stage.client.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await stage.startCapability()
    return stage
  }

  /**
   * Starts the capability, as after a start of the process; its requests are disturbed as a test says. Git is given up
   * after `gitTimeout` seconds.
   */
  async startCapability(disturbance?: Disturbance, gitTimeout = 60): Promise<void> {
    const settings = new Map([['git-timeout', String(gitTimeout)]])
    const direct = this.server.client({ as: account, manager: 'fairlead-packages' })
    const client =
      disturbance === undefined
        ? direct
        : new Client({ transport: new DisturbedTransport(direct.transport, disturbance), manager: 'fairlead-packages' })
    const manager = await Manager.start({ client })
    this.#manager = manager
    this.#instance = await packages.setup(manager, {
      resolve: new Map(),
      signal: manager.signal,
      settings,
      dataFolder: join(this.folder, 'data'),
    })
    for (const route of this.#instance.routes ?? []) this.server.serve(route)
    for (const storage of this.#instance.storages ?? []) this.#served.push(await this.server.addStorage(storage))
  }

  /** Returns the edges of an object as `type from -> to`, by their names. */
  async relations(object: KubeObject): Promise<readonly string[]> {
    const source = await packages.relations!()
    const edges = await source.relations(
      object,
      new ClientReader(this.client, { signal: new AbortController().signal }),
    )
    return edges.map(({ type, from, to }) => `${type} ${from.name} -> ${to.name}`).sort()
  }

  /** Stops what the capability has set up; the manager runs on. */
  async stopInstance(): Promise<void> {
    for (const served of this.#served.splice(0)) served[Symbol.dispose]()
    await this.#instance?.stop()
    this.#instance = undefined
  }

  /** Stops the capability. */
  async stopCapability(): Promise<void> {
    await this.stopInstance()
    await this.#manager?.stop(2000)
  }

  /** Grants a user rules, in one namespace or in all. */
  async grant(name: string, rules: readonly object[], user: string, namespace?: string): Promise<void> {
    const apiVersion = 'rbac.authorization.k8s.io/v1'
    const kind = namespace === undefined ? 'ClusterRole' : 'Role'
    const metadata = { name, ...(namespace !== undefined && { namespace }) }
    await this.client.create({ apiVersion, kind, metadata, rules } as KubeObject)
    await this.client.create({
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind, name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }],
    } as KubeObject)
  }

  /** Creates an empty bare repository on disk and returns its folder. */
  bareRepository(name: string): string {
    const folder = join(this.folder, `${name}.git`)
    execFileSync('git', ['init', '--bare', '--quiet', '-b', 'main', folder])
    return folder
  }

  /** Registers a repository, managed without `repo`, and waits until it was read, or could not be. */
  async register(
    name: string,
    git: NonNullable<NonNullable<Repository['spec']>['git']> = {},
    more: { readonly namespace?: string; readonly deployment?: boolean } = {},
  ): Promise<Repository> {
    const { namespace = 'team-a', deployment } = more
    await this.client.create<Repository>({
      apiVersion: 'config.porch.kpt.dev/v1alpha1',
      kind: 'Repository',
      metadata: { name, namespace },
      spec: { type: 'git', git, ...(deployment !== undefined && { deployment }) },
    })
    return this.repository(name, (object) => !['Reconciling', undefined].includes(conditionOf(object)?.[1]), namespace)
  }

  /** Returns a Repository as soon as `holds` is true of it. */
  repository(name: string, holds: (object: Repository) => boolean, namespace = 'team-a'): Promise<Repository> {
    return this.client.waitFor(
      RepositoryKind,
      `${namespace}/${name}`,
      (object) => object !== undefined && holds(object),
    ) as Promise<Repository>
  }

  /** Creates a revision; returns it as the server answers. */
  create(
    repository: string,
    packageName: string,
    workspaceName: string,
    task?: Task,
    more: { readonly metadata?: KubeObject['metadata']; readonly client?: Client; readonly namespace?: string } = {},
  ): Promise<PackageRevision> {
    const { client = this.client, namespace = 'team-a', metadata = {} } = more
    return client.create<PackageRevision>({
      apiVersion: 'porch.kpt.dev/v1alpha1',
      kind: 'PackageRevision',
      metadata: { ...metadata, namespace },
      spec: { repository, packageName, workspaceName, ...(task !== undefined && { tasks: [task] }) },
    })
  }

  revision(name: string, namespace = 'team-a'): Promise<PackageRevision> {
    return this.client.get(PackageRevisionKind, { namespace, name })
  }

  resources(name: string, namespace = 'team-a'): Promise<PackageRevisionResources> {
    return this.client.get(PackageRevisionResourcesKind, { namespace, name })
  }

  /** Sets the lifecycle of a revision, through its approval subresource where `approval` is set. */
  async setLifecycle(
    name: string,
    lifecycle: NonNullable<PackageRevision['spec']['lifecycle']>,
    { approval = false, namespace = 'team-a', client = this.client } = {},
  ): Promise<PackageRevision> {
    const object = await this.client.get(PackageRevisionKind, { namespace, name })
    return client.update(
      { ...object, spec: { ...object.spec, lifecycle } },
      approval ? { subresource: 'approval' } : {},
    )
  }

  /** Creates, proposes and approves a revision. */
  async publish(repository: string, packageName: string, workspaceName: string, task?: Task): Promise<PackageRevision> {
    const { metadata } = await this.create(repository, packageName, workspaceName, task)
    await this.setLifecycle(metadata.name!, 'Proposed')
    return this.setLifecycle(metadata.name!, 'Published', { approval: true })
  }

  /** Writes files of a draft. */
  async save(name: string, change: (files: Record<string, string>) => void): Promise<PackageRevisionResources> {
    const object = await this.resources(name)
    const resources = { ...object.spec.resources }
    change(resources)
    return this.client.update({ ...object, spec: { ...object.spec, resources } })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopCapability()
    await this.server[Symbol.asyncDispose]()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Returns status, reason and message of Ready; undefined without it. */
export function conditionOf({ status }: Repository): readonly [string, string, string] | undefined {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready && [ready.status, ready.reason ?? '', ready.message ?? '']
}

/** Runs git in a folder and returns its output. */
export function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-c', 'user.name=Ann', '-c', 'user.email=ann@example.test', ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
  }).toString()
}

/** Returns the refs of a repository on disk. */
export function refsOf(folder: string): readonly string[] {
  return git(folder, 'for-each-ref', '--format=%(refname)')
    .trim()
    .split('\n')
    .filter((line) => line !== '')
}
