// A cluster for tests of variants: that of packages, and variants with exactly the rights that they declare.
import { Client } from '@fairlead/client'
import { installDefinitions, Manager } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { PackageRevisionKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { PackageVariantKind, variants } from '@fairlead/variants'
import type { PackageVariant } from '@fairlead/variants'
import { expect } from 'vitest'
import { Stage } from '../../packages/test/stage.ts'
import { DisturbedTransport } from '../../../test/support/disturbed-transport.ts'
import type { Disturbance } from '../../../test/support/disturbed-transport.ts'
import { eventually } from '../../../test/support/until.ts'

const account = {
  name: 'system:serviceaccount:fairlead-system:fairlead-variants',
  groups: ['system:serviceaccounts', 'system:serviceaccounts:fairlead-system'],
}

const namespace = 'team-a'

/** The files of an upstream package. */
export type Files = Readonly<Record<string, string>>

/** The cluster. */
export class VariantStage implements AsyncDisposable {
  readonly packages: Stage
  readonly client: Client
  #manager: Manager | undefined
  #instance: CapabilityInstance | undefined

  private constructor(packages: Stage) {
    this.packages = packages
    this.client = packages.client
  }

  /** Starts the cluster with the managed repositories `catalog` and `edge`. */
  static async start(
    tenants: readonly string[] = [namespace],
    settings: ReadonlyMap<string, string> = new Map(),
  ): Promise<VariantStage> {
    const packages = await Stage.start(tenants, variants.admission ?? [])
    const stage = new VariantStage(packages)
    await installDefinitions(stage.client, [...variants.crds])
    await packages.grant('variants', variants.rules, account.name)
    for (const repository of ['catalog', 'edge']) await packages.register(repository)
    await stage.startVariants(undefined, settings)
    return stage
  }

  /** Starts the capability, as after a start of the process; its requests are disturbed as a test says. */
  async startVariants(disturbance?: Disturbance, settings: ReadonlyMap<string, string> = new Map()): Promise<void> {
    const direct = this.packages.server.client({ as: account, manager: 'fairlead-variants' })
    const client =
      disturbance === undefined
        ? direct
        : new Client({ transport: new DisturbedTransport(direct.transport, disturbance), manager: 'fairlead-variants' })
    const manager = await Manager.start({ client })
    this.#manager = manager
    this.#instance = await variants.setup(manager, { resolve: new Map(), signal: manager.signal, settings })
  }

  /** Resolves when the controllers have made at least this many passes, and have no work left. */
  async passes(count: number): Promise<void> {
    const { registry } = this.#manager!.metrics
    const sum = async (name: string): Promise<number> =>
      (await registry.getSingleMetric(name)!.get()).values.reduce((total, { value }) => total + value, 0)
    await eventually(async () => {
      expect(await sum('controller_runtime_reconcile_total')).toBeGreaterThanOrEqual(count)
      expect(await sum('workqueue_depth')).toBe(0)
      expect(await sum('controller_runtime_active_workers')).toBe(0)
    })
  }

  /** Stops the capability. */
  async stopVariants(): Promise<void> {
    await this.#instance?.stop()
    await this.#manager?.stop(2000)
    this.#instance = undefined
    this.#manager = undefined
  }

  /** Publishes a revision of `catalog/<name>` with these files, from the last one where there is one. */
  async publish(name: string, workspace: string, files: Files, from?: string): Promise<string> {
    const task = from === undefined ? undefined : { type: 'edit', edit: { sourceRef: { name: from } } }
    const { metadata } = await this.packages.create('catalog', name, workspace, task)
    const revision = metadata.name!
    await this.packages.save(revision, (present) => void Object.assign(present, files))
    await this.approve(revision)
    return revision
  }

  /** Proposes and approves a draft. */
  async approve(revision: string): Promise<void> {
    await this.packages.setLifecycle(revision, 'Proposed')
    await this.packages.setLifecycle(revision, 'Published', { approval: true })
  }

  /** Applies a variant of `catalog/web` to `edge/web`, where the spec says no other. */
  apply(name: string, spec: object = {}): Promise<PackageVariant> {
    const { apiVersion, kind } = PackageVariantKind
    return this.client.apply({
      apiVersion,
      kind,
      metadata: { name, namespace },
      spec: { upstream: { repo: 'catalog', package: 'web' }, downstream: { repo: 'edge', package: 'web' }, ...spec },
    } as PackageVariant)
  }

  /** Returns a variant as soon as its status is of its generation and `holds` is true of it. */
  variant(name: string, holds: (variant: PackageVariant) => boolean = () => true): Promise<PackageVariant> {
    return this.client.waitFor(
      PackageVariantKind,
      { namespace, name },
      (variant) => variant.status?.observedGeneration === variant.metadata.generation && holds(variant),
    )
  }

  /** Returns a variant as soon as its Ready has a reason. */
  ready(name: string, reason = 'NoErrors'): Promise<PackageVariant> {
    return this.variant(name, (variant) => conditionOf(variant, 'Ready')?.reason === reason)
  }

  /** Returns the revisions of the downstream package without the content of the branch, by workspace. */
  async downstream(packageName = 'web'): Promise<readonly PackageRevision[]> {
    const { items } = await this.client.list(PackageRevisionKind, { namespace })
    return items
      .filter(({ spec }) => spec.repository === 'edge' && spec.packageName === packageName && spec.revision !== -1)
      .toSorted((a, b) => (a.spec.workspaceName < b.spec.workspaceName ? -1 : 1))
  }

  /** Returns a revision as soon as `holds` is true of it. */
  revision(name: string, holds: (revision: PackageRevision) => boolean = () => true): Promise<PackageRevision> {
    return this.client.waitFor(PackageRevisionKind, { namespace, name }, holds)
  }

  /** Returns the files of a revision. */
  async files(name: string): Promise<Files> {
    return (await this.packages.resources(name)).spec.resources
  }

  /** Applies a ConfigMap. */
  configMap(name: string, data: Readonly<Record<string, string>>): Promise<KubeObject> {
    return this.client.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopVariants()
    await this.packages[Symbol.asyncDispose]()
  }
}

/** Returns a condition. */
export function conditionOf(
  { status }: PackageVariant,
  type: string,
): NonNullable<NonNullable<PackageVariant['status']>['conditions']>[number] | undefined {
  return status?.conditions?.find((condition) => condition.type === type)
}
