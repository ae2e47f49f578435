// What is backed up, or restored into: a server that answers, else the store in a data folder.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sqlite, StoreError } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'
import { findConnection, HttpsTransport, isClientError } from '@fairlead/client'
import { CommandError } from '@fairlead/offline/command-error'
import { openDataFolder } from '../up/data-folder.ts'

/** A running server, or a store that nobody else holds. */
export type Place = { readonly name: string } & (
  | { readonly server: HttpsTransport; readonly store?: undefined }
  | { readonly store: Store; readonly server?: undefined }
)

/** A server beside us answers faster than this. Milliseconds. */
const answerTime = 3_000

/**
 * Finds the place that the flags `--kubeconfig`, `--context` and `--data` name; it is closed with `resources`. A folder
 * without data is only made when `create` is set. Throws CommandError.
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
  const running = existsSync(data.kubeconfig) ? resources.use(await transport(data.kubeconfig)) : undefined
  if (running !== undefined && (await answers(running))) return { name: running.address, server: running }
  if (!create && !existsSync(join(data.store, 'objects.sqlite'))) throw nothingThere(data.path)
  try {
    return { name: data.path, store: resources.use(await sqlite(data.store).open()) }
  } catch (error) {
    if (error instanceof StoreError) throw new CommandError(error.message, undefined, { cause: error })
    throw error
  }
}

async function transport(file: string | undefined, context?: string): Promise<HttpsTransport> {
  const connection = await findConnection({ ...(file && { file }), ...(context && { context }) })
  return new HttpsTransport(connection, { timeout: answerTime })
}

/** Another server that has taken the port since shows another certificate, and does not count. */
async function answers(server: HttpsTransport): Promise<boolean> {
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
