// Where one suite runs: an embedded server over each transport, and the cluster of FAIRLEAD_TEST_KUBECONFIG. Start with
// describeClusters.
import { randomBytes } from 'node:crypto'
import { ApiServer } from '@fairlead/apiserver'
import type { ApiServerOptions } from '@fairlead/apiserver'
import { Namespace, connect, parseKubeconfig } from '@fairlead/client'
import type { Client } from '@fairlead/client'
import { describe } from 'vitest'

/** A cluster of which a test has one namespace for itself. */
export interface Cluster extends AsyncDisposable {
  /** An administrator, over the transport that is tested. */
  readonly client: Client
  /** The same, as someone else with a connection of their own would be. */
  readonly outside: Client
  /** Unique; both clients live in it. Also fit for a label value. */
  readonly namespace: string
}

/** A kind of cluster that tests run against. */
export interface ClusterKind {
  readonly name: string
  /** Why it cannot be had. */
  readonly missing?: string
  /** Other clusters than embedded ones run with the options that they have. */
  open(options?: ApiServerOptions): Promise<Cluster>
}

const realKubeconfig = process.env['FAIRLEAD_TEST_KUBECONFIG']

/** An embedded server over each transport that leads to it. */
export const embeddedClusters: readonly ClusterKind[] = [
  {
    name: 'the embedded server, in process',
    async open(options) {
      const server = await ApiServer.start(options)
      return clusterOf(server.client(), server.client(), () => server[Symbol.asyncDispose]())
    },
  },
  {
    name: 'the embedded server, over HTTPS',
    async open(options) {
      const server = await ApiServer.start(options)
      const { kubeconfig } = await server.listen()
      const client = await connect({ connection: await parseKubeconfig(kubeconfig).connection() })
      return clusterOf(client, server.client(), async () => {
        await client.transport[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      })
    },
  },
]

const clusters: readonly ClusterKind[] = [
  ...embeddedClusters,
  {
    name: 'the cluster of FAIRLEAD_TEST_KUBECONFIG',
    ...(realKubeconfig === undefined && { missing: 'it is not set' }),
    async open() {
      const [client, outside] = await Promise.all([
        connect({ file: realKubeconfig }),
        connect({ file: realKubeconfig }),
      ])
      return clusterOf(client, outside, async (namespace) => {
        // Without a controller manager it is never emptied, so what tests look for by label must not stay.
        await outside.delete(Namespace, namespace)
        await client.transport[Symbol.asyncDispose]()
        await outside.transport[Symbol.asyncDispose]()
      })
    },
  },
]

/** One suite per cluster; those that are not there are skipped and say why. */
export function describeClusters(suite: (kind: ClusterKind) => void): void {
  for (const kind of clusters) {
    const title = kind.missing === undefined ? `on ${kind.name}` : `on ${kind.name} (${kind.missing})`
    describe.skipIf(kind.missing !== undefined)(title, () => suite(kind))
  }
}

async function clusterOf(
  client: Client,
  outside: Client,
  close: (namespace: string) => Promise<unknown>,
): Promise<Cluster> {
  const namespace = `test-${randomBytes(5).toString('hex')}`
  await outside.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  return {
    client: client.with({ namespace }),
    outside: outside.with({ namespace }),
    namespace,
    [Symbol.asyncDispose]: async () => void (await close(namespace)),
  }
}
