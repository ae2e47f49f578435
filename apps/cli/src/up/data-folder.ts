// The folder that `fairlead up` keeps everything in: store, certificates, kubeconfig. Ignored by git, readable by its owner only.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CliError } from '../error.ts'

export interface DataFolder {
  readonly path: string
  readonly store: string
  readonly kubeconfig: string
  readonly certificates: string
}

/** Makes the folder when it is missing and names the places in it. */
export function openDataFolder(path: string): DataFolder {
  const folder = resolve(path)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const ignore = join(folder, '.gitignore')
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n')
  } catch (error) {
    throw new CliError(
      `the data folder ${folder} cannot be used: ${(error as Error).message}. Name another one with --data.`,
    )
  }
  return {
    path: folder,
    store: join(folder, 'store'),
    kubeconfig: join(folder, 'kubeconfig'),
    certificates: join(folder, 'certificates'),
  }
}
