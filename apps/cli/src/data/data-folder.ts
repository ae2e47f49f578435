// The data folder of `fairlead up`: store and kubeconfig. Ignored by git, readable by its owner only.
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { CommandError } from '@fairlead/offline/command-error'
import { withNamespacesOf } from './kubeconfig.ts'
import { isAlive } from './process-file.ts'

/** An open folder. Disposing a temporary one deletes it. */
export interface DataFolder extends Disposable {
  readonly path: string
  readonly store: string
  readonly kubeconfig: string
}

/**
 * Opens the data folder; creates it when it is missing, and a temporary one when none is named. Throws CommandError.
 */
export function openDataFolder(path: string | undefined): DataFolder {
  const folder = path === undefined ? temporaryFolder() : namedFolder(resolve(path))
  return {
    path: folder,
    store: join(folder, 'store'),
    kubeconfig: join(folder, 'kubeconfig'),
    [Symbol.dispose]() {
      if (path === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}

/**
 * Refuses a data folder that is in use. An in-memory server takes no lock, but must not overwrite the kubeconfig of a
 * running one. Throws CommandError that names the process.
 */
export function refuseFolderInUse({ path, store }: DataFolder): void {
  const owner = ownerOf(join(store, 'owner.json'))
  if (owner === undefined || !isAlive(owner.pid)) return
  throw new CommandError(
    `the data folder ${path} is in use by process ${owner.pid}, started ${owner.startedAt}. Stop it, or name another folder with --data.`,
  )
}

/** Reads the process of a running server from its store. */
function ownerOf(file: string): { readonly pid: number; readonly startedAt: string } | undefined {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as { pid: number; startedAt: string }
  } catch {
    return undefined
  }
}

/** Writes the kubeconfig, readable by its owner only. Throws CommandError. */
export async function writeKubeconfig({ kubeconfig }: DataFolder, text: string): Promise<void> {
  try {
    const temporary = `${kubeconfig}.new`
    await rm(temporary, { force: true })
    // A link in its place is replaced, not followed.
    await writeFile(temporary, withNamespacesOf(kubeconfig, text), { mode: 0o600, flag: 'wx' })
    await rename(temporary, kubeconfig)
  } catch (error) {
    throw new CommandError(
      `the kubeconfig ${kubeconfig} cannot be written: ${(error as Error).message}. Free disk space, or name another folder with --data.`,
    )
  }
}

function namedFolder(folder: string): string {
  try {
    makeFolder(folder)
    refuseForeignFiles(folder)
    const ignore = join(folder, '.gitignore')
    if (!existsSync(ignore)) writeFileSync(ignore, '*\n', { mode: 0o600 })
    return folder
  } catch (error) {
    if (error instanceof CommandError) throw error
    throw new CommandError(
      `the data folder ${folder} cannot be used: ${(error as Error).message}. Name another one with --data.`,
    )
  }
}

/**
 * Creates a folder and those above it. Not by `recursive`: Node then reports a missing folder where the disk is
 * read-only, and does not return for a path below /proc.
 */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return
  makeFolder(dirname(folder))
  mkdirSync(folder, { mode: 0o700 })
}

/** The bits of a mode that let others write. */
const othersWrite = 0o022

/**
 * Refuses a folder with files that others have put there or may change: a user who knows its keys is the administrator
 * of the server. Removes the rights of others from a folder of ours. Throws CommandError.
 */
function refuseForeignFiles(folder: string): void {
  const own = process.getuid?.()
  // Windows has no modes.
  if (own === undefined) return
  const isTrusted = (uid: number): boolean => uid === own || uid === 0
  const { uid, mode } = statSync(folder)
  const refuse = (path: string, why: string): never => {
    throw new CommandError(
      `the data folder ${folder} is not safe to use: ${path} ${why}, and could hold keys that others know. Name another folder with --data, or make this one yours: chown -R ${own} and chmod -R go-w.`,
    )
  }
  if (!isTrusted(uid)) refuse('it', `belongs to user ${uid}`)
  if (uid === own && (mode & 0o077) !== 0) chmodSync(folder, 0o700)
  const store = join(folder, 'store')
  const inStore = existsSync(store) ? readdirSync(store).map((name) => join(store, name)) : []
  for (const path of [...readdirSync(folder).map((name) => join(folder, name)), ...inStore]) {
    const file = lstatSync(path)
    if (!isTrusted(file.uid)) refuse(path, `belongs to user ${file.uid}`)
    // The keys are in the store; nothing else in the folder is believed.
    if (path.startsWith(store) && (file.mode & othersWrite) !== 0) refuse(path, 'can be written by others')
  }
}

function temporaryFolder(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'fairlead-'))
  } catch (error) {
    throw new CommandError(
      `no temporary folder for the kubeconfig: ${(error as Error).message}. Set TMPDIR to a folder that you can write.`,
    )
  }
}
