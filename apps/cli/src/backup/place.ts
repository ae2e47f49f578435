// The source of a backup or target of a restore: a running server, else the store in a data folder.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { sqlite, StoreError } from '@fairlead/apiserver'
import type { Store } from '@fairlead/apiserver'
import { loadKubeconfig } from '@fairlead/client'
import type { HttpsTransport } from '@fairlead/client'
import type { AsyncDisposableStack } from '@fairlead/kube'
import { CommandError } from '@fairlead/offline/command-error'
import { openDataFolder } from '../data/data-folder.ts'
import { respondingServer, transportOf } from '../data/running-server.ts'

/** A running server, or a store that no other process has open. */
export type Place = { readonly name: string } & (
  | { readonly server: HttpsTransport; readonly store?: undefined }
  | { readonly store: Store; readonly server?: undefined }
)

/** The folder of `fairlead up` when nothing is named. */
const defaultFolder = '.fairlead'

/**
 * Opens the place that `--kubeconfig`, `--context` and `--data` name, `$KUBECONFIG` where none of them is given, else
 * the folder of `fairlead up`; `resources` closes it. A missing folder is
 * created only when `create` is set. Throws CommandError.
 */
export async function openPlace(
  options: Readonly<Record<string, unknown>>,
  create: boolean,
  resources: AsyncDisposableStack,
): Promise<Place> {
  const { kubeconfig, context } = options as { readonly kubeconfig?: string; readonly context?: string }
  if (kubeconfig !== undefined || context !== undefined) {
    const server = resources.use(await transportOf(kubeconfig, context))
    return { name: server.address, server }
  }
  if (options['data'] === undefined && (process.env['KUBECONFIG'] ?? '') !== '' && !(await loadKubeconfig()).isEmpty) {
    const server = resources.use(await transportOf(undefined, undefined))
    return { name: server.address, server }
  }
  const path = String(options['data'] ?? defaultFolder)
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

function nothingThere(path: string): CommandError {
  return new CommandError(
    `there is nothing in ${path}: no server runs there and it holds no data. Name another folder with --data, or a server with --kubeconfig.`,
  )
}
