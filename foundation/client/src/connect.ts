// Creates a client from configuration, as kubectl finds its cluster.
import { Client } from './client.ts'
import type { ClientOptions } from './client.ts'
import type { Connection } from './config/connection.ts'
import { inClusterConnection, isInCluster } from './config/in-cluster.ts'
import { loadKubeconfig } from './config/kubeconfig.ts'
import type { ConnectionChoice, KubeconfigSources } from './config/kubeconfig.ts'
import { proxyFromEnvironment } from './config/proxy.ts'
import { HttpsTransport } from './https/https-transport.ts'

/** The cluster to connect to, and the identity to use. */
export interface ConnectOptions
  extends KubeconfigSources, ConnectionChoice, Omit<ClientOptions, 'transport' | 'namespace'> {
  /** Use this connection; no configuration is read. */
  readonly connection?: Connection
}

/**
 * A client for the cluster that kubeconfig names, or the one that this process runs in when there is no kubeconfig.
 * Nothing is sent yet. Throws ClientError `InvalidKubeconfig` or `UnsupportedCredentials`.
 */
export async function connect(options: ConnectOptions = {}): Promise<Client> {
  const connection = options.connection ?? (await findConnection(options))
  const transport = new HttpsTransport(connection, { clock: options.clock })
  return new Client({ ...options, transport, namespace: options.namespace ?? connection.namespace })
}

/**
 * The connection that {@link connect} would use; through the proxy that the environment names, where the configuration
 * names none.
 */
export async function findConnection(options: KubeconfigSources & ConnectionChoice = {}): Promise<Connection> {
  const connection = await configuredConnection(options)
  const proxyUrl = connection.proxyUrl ?? proxyFromEnvironment(connection.server, options.env ?? process.env)
  return proxyUrl === undefined ? connection : { ...connection, proxyUrl }
}

async function configuredConnection(options: KubeconfigSources & ConnectionChoice): Promise<Connection> {
  const kubeconfig = await loadKubeconfig(options)
  if (kubeconfig.isEmpty && options.file === undefined && isInCluster(options.env)) {
    const connection = await inClusterConnection(options.env)
    return options.namespace === undefined ? connection : { ...connection, namespace: options.namespace }
  }
  return kubeconfig.connection(options)
}
