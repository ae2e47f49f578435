// The connection of a pod: environment and the files of its service account.
import { readFile } from 'node:fs/promises'
import { ClientError } from '../client-error.ts'
import type { Connection } from './connection.ts'

/** The folder in which the kubelet mounts the files of the service account. */
const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'

/** Reports whether the environment shows that the process runs in a pod with a service account. */
export function isInCluster(env: Readonly<Record<string, string | undefined>> = process.env): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT)
}

/** Returns the connection of a pod. Throws ClientError `InvalidKubeconfig` outside one. */
export async function inClusterConnection(
  env: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = accountFolder,
): Promise<Connection> {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port)
    throw new ClientError(
      'InvalidKubeconfig',
      'Not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set',
    )
  try {
    const [ca, namespace] = await Promise.all([
      readFile(`${folder}/ca.crt`),
      readFile(`${folder}/namespace`, 'utf8').catch(() => 'default'),
    ])
    const name = host.includes(':') ? `[${host}]` : host
    return { server: `https://${name}:${port}`, ca, tokenFile: `${folder}/token`, namespace: namespace.trim() }
  } catch (cause) {
    throw new ClientError(
      'InvalidKubeconfig',
      `The service account files in ${folder} cannot be read: ${(cause as Error).message}`,
      { cause },
    )
  }
}
