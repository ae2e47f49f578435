// Clusters that can have APIServices: our embedded server, and the real one of KUBE_APISERVER and ETCD with an
// aggregation layer.
import { ApiServer } from '@fairlead/apiserver'
import { RealCluster, missingBinaries } from '../../../../test/support/real-cluster.ts'

/** A cluster over HTTPS. */
export interface AggregatingCluster extends AsyncDisposable {
  readonly port: number
  /** PEM of what its certificate is signed by. */
  readonly ca: string
  /** Of an administrator. */
  readonly kubeconfig: string
}

/** A kind of cluster and the function that starts it. */
export interface ClusterChoice {
  readonly name: string
  /** Why it cannot be had. */
  readonly missing?: string
  open(): Promise<AggregatingCluster>
}

export const aggregatingClusters: readonly ClusterChoice[] = [
  { name: 'the embedded server', open: openEmbedded },
  {
    name: 'a real kube-apiserver',
    ...(missingBinaries === undefined ? {} : { missing: missingBinaries }),
    open: () => RealCluster.start(),
  },
]

async function openEmbedded(): Promise<AggregatingCluster> {
  const server = await ApiServer.start({ authorization: 'RBAC' })
  const { port, certificateAuthority, kubeconfig } = await server.listen()
  return {
    port,
    ca: certificateAuthority,
    kubeconfig,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
