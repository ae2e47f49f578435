// The measured cluster: that of packages, and the capability of variants with a count of its reads of files and writes.
import { Client } from '@fairlead/client'
import { Manager, installDefinitions } from '@fairlead/controller'
import type { CapabilityInstance } from '@fairlead/controller'
import { PackageRevisionKind, PackageRevisionResourcesKind } from '@fairlead/packages'
import type { PackageRevision } from '@fairlead/packages'
import { PackageVariantKind, PackageVariantSetKind, variants } from '@fairlead/variants'
import type { PackageVariant, PackageVariantSet } from '@fairlead/variants'
import { CountingTransport } from '../counting-transport.ts'
import type { Requests } from '../counting-transport.ts'
import { PackageCluster } from '../packages/cluster.ts'

const namespace = 'default'
/** Milliseconds between two looks at the set. */
const interval = 100

/** The cluster. */
export class VariantCluster implements AsyncDisposable {
  readonly packages: PackageCluster
  /** Reads of files and writes, since the capability was started. */
  requests: Requests = { reads: 0, writes: 0 }
  #manager: Manager | undefined
  #instance: CapabilityInstance | undefined

  private constructor(packages: PackageCluster) {
    this.packages = packages
  }

  static async start(): Promise<VariantCluster> {
    const packages = await PackageCluster.start()
    const cluster = new VariantCluster(packages)
    await installDefinitions(cluster.client, [...variants.crds])
    await cluster.startVariants()
    return cluster
  }

  get client(): Client {
    return this.packages.client
  }

  /** Starts the capability, as after a start of the process. */
  async startVariants(): Promise<void> {
    this.requests = { reads: 0, writes: 0 }
    const transport = new CountingTransport(this.client.transport, this.requests, ({ method, path }) => {
      if (path.includes('packagerevisionresources') || path.includes('previews')) return 'reads'
      return method === 'GET' || /\/(?:events|subjectaccessreviews)/.test(path) ? undefined : 'writes'
    })
    this.#manager = await Manager.start({ client: new Client({ transport, manager: 'fairlead-variants' }) })
    this.#instance = await variants.setup(this.#manager, { resolve: new Map(), signal: this.#manager.signal })
  }

  /** Stops the capability. */
  async stopVariants(): Promise<void> {
    await this.#instance?.stop()
    await this.#manager?.stop(2000)
  }

  /** Number of reconciles of variants so far. */
  async reconciles(): Promise<number> {
    const metrics = await this.#manager!.metrics.registry.getMetricsAsJSON()
    const total = metrics.find(({ name }) => name === 'controller_runtime_reconcile_total')
    const values = (total?.values ?? []) as readonly { readonly value: number; readonly labels: object }[]
    return values
      .filter(({ labels }) => (labels as { readonly controller?: string }).controller === 'packagevariants')
      .reduce((sum, { value }) => sum + value, 0)
  }

  /** Publishes a revision of `catalog/web` with these files, from another one where there is one. */
  async publish(workspaceName: string, files: Readonly<Record<string, string>>, source?: string): Promise<void> {
    const tasks = source === undefined ? [] : [{ type: 'edit', edit: { sourceRef: { name: source } } }]
    const { metadata } = await this.client.create<PackageRevision>({
      apiVersion: PackageRevisionKind.apiVersion,
      kind: 'PackageRevision',
      metadata: { namespace },
      spec: { repository: 'catalog', packageName: 'web', workspaceName, tasks },
    })
    const key = { namespace, name: metadata.name! }
    const resources = await this.client.get(PackageRevisionResourcesKind, key)
    const spec = { ...resources.spec, resources: { ...resources.spec.resources, ...files } }
    await this.client.update({ ...resources, spec })
    for (const [lifecycle, options] of [
      ['Proposed', {}],
      ['Published', { subresource: 'approval' }],
    ] as const) {
      const revision = await this.client.get(PackageRevisionKind, key)
      await this.client.update({ ...revision, spec: { ...revision.spec, lifecycle } }, options)
    }
  }

  /** Applies a set of one target with these repositories. */
  apply(repositories: readonly object[]): Promise<PackageVariantSet> {
    return this.client.apply({
      apiVersion: PackageVariantSetKind.apiVersion,
      kind: 'PackageVariantSet',
      metadata: { name: 'fleet', namespace },
      spec: { upstream: { repo: 'catalog', package: 'web' }, targets: [{ repositories }] },
    } as unknown as PackageVariantSet)
  }

  /** Resolves when every one of `count` variants is ready with a draft of an upstream revision. */
  async drafted(count: number, upstream: string): Promise<void> {
    for (;;) {
      const { items } = await this.client.list(PackageVariantKind, { namespace })
      if (items.filter((variant) => isDrafted(variant, upstream)).length === count) return
      await new Promise((resolve) => setTimeout(resolve, interval))
    }
  }

  /** Resolves when the controllers have nothing to do for a second. */
  async quiet(): Promise<void> {
    for (let before = -1; ;) {
      const now = (await this.reconciles()) + this.requests.writes
      if (now === before) return
      before = now
      await new Promise((resolve) => setTimeout(resolve, 1000))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopVariants()
    await this.packages[Symbol.asyncDispose]()
  }
}

function isDrafted({ status }: PackageVariant, upstream: string): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  return ready?.status === 'True' && status?.downstreamTargets?.[0]?.upstream === upstream
}
