// An installation of `fairlead run` on a real cluster: what `fairlead install` prints, with processes of this machine
// in place of pods. Start with Installation.start.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, parseKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { installDefinitions } from '@fairlead/controller'
import type { Capability } from '@fairlead/controller'
import type { KubeObject } from '@fairlead/kube'
import { manifests } from '../../../apps/cli/src/install/manifests.ts'
import { ownAddress } from '../../support/own-address.ts'
import { RealCluster, missingBinaries } from '../../support/real-cluster.ts'
import { runAccount } from '../../support/run-account.ts'
import { RunProcess } from '../../support/run-process.ts'

const namespace = 'fairlead-system'
const name = 'fairlead'

/** Kinds that processes of this machine do not replace. */
const applied = new Set(['Service', 'APIService', 'ValidatingWebhookConfiguration'])

/** A cluster with the rights of an installation. */
export class Installation implements AsyncDisposable {
  readonly cluster: RealCluster
  readonly admin: Client
  readonly #capabilities: readonly Capability[]
  readonly #folder = mkdtempSync(join(tmpdir(), 'fairlead-installation-'))

  private constructor(cluster: RealCluster, admin: Client, capabilities: readonly Capability[]) {
    this.cluster = cluster
    this.admin = admin
    this.#capabilities = capabilities
  }

  /** Starts a cluster with the definitions of capabilities; undefined, with a line, when there are no binaries. */
  static async start(capabilities: readonly Capability[]): Promise<Installation | undefined> {
    if (missingBinaries !== undefined || ownAddress === undefined) {
      console.log(`Skipped: ${missingBinaries ?? 'this machine has no address but loopback'}`)
      return undefined
    }
    const cluster = await RealCluster.start({ controllers: true, endpointRouting: true })
    const connection = await parseKubeconfig(cluster.kubeconfig).connection()
    const admin = await connect({ connection, manager: 'kubectl' })
    await installDefinitions(
      admin,
      capabilities.flatMap(({ crds }) => crds),
    )
    return new Installation(cluster, admin, capabilities)
  }

  /** Starts a process as a service account of its own, with exactly the rights of the installation. */
  async run(
    account: string,
    args: readonly string[],
    options: Parameters<typeof RunProcess.start>[1] = {},
  ): Promise<RunProcess> {
    const { url, ca } = this.cluster
    const { kubeconfig } = await runAccount(this.admin, { url, ca }, this.#capabilities, account)
    const file = join(this.#folder, account)
    writeFileSync(file, kubeconfig)
    const only = this.#capabilities.map((capability) => capability.name).join(',')
    return RunProcess.start(['--kubeconfig', file, '--only', only, ...args], options)
  }

  /** Applies the Service, the APIServices and the webhooks, which lead to a process. */
  async leadTo(process: RunProcess, apiPort: number): Promise<void> {
    const { admin } = this
    const options = { name, namespace, capabilities: this.#capabilities, version: '0', image: 'fairlead:0' }
    const switches = { webhooks: true, networkPolicy: false, serviceMonitor: false, defaults: true }
    const objects = manifests({ ...options, ...switches, replicas: 1, settings: [] })
    for (const object of objects)
      if (applied.has(object.kind))
        await admin.apply(object.kind === 'Service' ? withoutSelector(object) : object, { force: true })
    await admin.apply({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [ownAddress!], conditions: { ready: true } }],
      ports: [
        { name: 'https', port: process.port, protocol: 'TCP' },
        { name: 'api', port: apiPort, protocol: 'TCP' },
      ],
    } as KubeObject)
    await admin.apply({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name, namespace },
      subsets: [
        {
          addresses: [{ ip: ownAddress! }],
          ports: [
            { name: 'https', port: process.port, protocol: 'TCP' },
            { name: 'api', port: apiPort, protocol: 'TCP' },
          ],
        },
      ],
    } as KubeObject)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.admin.transport[Symbol.asyncDispose]()
    await this.cluster[Symbol.asyncDispose]()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function withoutSelector(service: KubeObject): KubeObject {
  const { selector: _selector, ...spec } = service['spec'] as Record<string, unknown>
  return { ...service, spec } as KubeObject
}
