// The source of a backup or target of a restore: a running server, else the store in a data folder.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sqlite, StoreError } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'
import { findConnection, HttpsTransport, isClientError } from '@fairlead/client'
import type { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { openDataFolder } from '../up/data-folder.ts'

/** A running server, or a store that no other process has open. */
export type Place = { readonly name: string } & (
  | { readonly server: HttpsTransport; readonly store?: undefined }
  | { readonly store: Store; readonly server?: undefined }
)

/** Time limit for a response of a server on this machine. Milliseconds. */
const responseTimeout = 3_000

/**
 * Opens the place that `--kubeconfig`, `--context` and `--data` name; `resources` closes it. A missing folder is
 * created only when `create` is set. Throws CommandError.
 */
export async function openPlace(
  options: Readonly<Record<string, unknown>>,
  create: boolean,
  resources: AsyncDisposableStack,
): Promise<Place> {
  const { kubeconfig, context } = options as { readonly kubeconfig?: string; readonly context?: string }
  if (kubeconfig !== undefined || context !== undefined) {
    const server = resources.use(await transport(kubeconfig, context))
    return { name: server.address, server }
  }
  const path = String(options['data'])
  if (!create && !existsSync(path)) throw nothingThere(path)
  const data = openDataFolder(path)
  const running = await respondingServer(data.kubeconfig, resources)
  if (running !== undefined) return { name: running.address, server: running }
  if (!create && !existsSync(join(data.store, 'objects.sqlite'))) throw nothingThere(data.path)
  try {
    return { name: data.path, store: resources.use(await sqlite(data.store).open()) }
  } catch (error) {
    if (error instanceof StoreError) throw new CommandError(error.message, undefined, { cause: error })
    throw error
  }
}

/** Returns the server of a kubeconfig file, if there is one and it responds; `resources` closes the connection. */
export async function respondingServer(
  kubeconfig: string,
  resources: AsyncDisposableStack,
): Promise<HttpsTransport | undefined> {
  if (!existsSync(kubeconfig)) return undefined
  const server = resources.use(await transport(kubeconfig))
  return (await responds(server)) ? server : undefined
}

async function transport(file: string | undefined, context?: string): Promise<HttpsTransport> {
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

function nothingThere(path: string): CommandError {
  return new CommandError(
    `there is nothing in ${path}: no server runs there and it holds no data. Name another folder with --data, or a server with --kubeconfig.`,
  )
}
