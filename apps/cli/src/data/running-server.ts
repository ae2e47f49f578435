// The server of a kubeconfig file on this machine, if it runs.
import { existsSync } from 'node:fs'
import { findConnection, HttpsTransport, isClientError } from '@fairlead/client'
import type { AsyncDisposableStack } from '@fairlead/kube'

/** Time limit for a response of a server on this machine. Milliseconds. */
const responseTimeout = 3_000

/** Returns the server of a kubeconfig file, if there is one and it responds; `resources` closes the connection. */
export async function respondingServer(
  kubeconfig: string,
  resources: AsyncDisposableStack,
): Promise<HttpsTransport | undefined> {
  if (!existsSync(kubeconfig)) return undefined
  const server = resources.use(await transportOf(kubeconfig))
  return (await responds(server)) ? server : undefined
}

/** Returns a transport to the server of a kubeconfig; kubectl's when no file is named. */
export async function transportOf(file: string | undefined, context?: string): Promise<HttpsTransport> {
  const connection = await findConnection({ ...(file && { file }), ...(context && { context }) })
  return new HttpsTransport(connection, { timeout: responseTimeout })
}

/** Reports whether the server responds. Another server that listens on the port now has another certificate. */
async function responds(server: HttpsTransport): Promise<boolean> {
  try {
    return (await server.request({ method: 'GET', path: '/version' })).status === 200
  } catch (error) {
    if (isClientError(error)) return false
    throw error
  }
}
