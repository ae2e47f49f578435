// `fairlead envtest use`: a folder with the programs that test environments start, as `setup-envtest use` prepares it.
import { accessSync, chmodSync, constants, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { serverVersion } from '@fairlead/apiserver'
import { usageError } from '@fairlead/offline/command-error'
import { packageFolder, version } from '../version.ts'

/** Options of `use`. */
export interface AssetOptions {
  /** The version of Kubernetes that the user named. */
  readonly wanted: string | undefined
  readonly print: string
  /** The folder to write; undefined for one in the cache folder of the user. */
  readonly folder: string | undefined
}

const forms = ['overview', 'path', 'env']
const launchers = join(packageFolder, 'bin')

/** Writes the folder and prints where it is. Throws a usage error. */
export function useAssets({ wanted, print, folder }: AssetOptions): void {
  if (process.platform === 'win32')
    throw usageError('test environments start kube-apiserver.exe, which is not there: use WSL, or `fairlead apiserver`')
  if (!forms.includes(print)) throw usageError(`--print ${print}: write path, env or overview`)
  const served = serverVersion['gitVersion']!.replace(/^v/, '').replace(/\+.*/, '')
  if (wanted !== undefined && !includesVersion(wanted, served))
    throw usageError(`Kubernetes ${wanted} is not there: this server is ${served}; leave the version out`)
  const path = resolve(
    folder ?? join(cacheFolder(), 'envtest', version()),
    `${served}-${process.platform}-${process.arch}`,
  )
  const kubectl = writeAssets(path)
  if (kubectl === undefined)
    process.stderr.write('There is no kubectl on the PATH: the folder has none, which only tests that call it miss.\n')
  process.stdout.write(text(print, path, served))
}

function text(print: string, path: string, served: string): string {
  if (print === 'path') return path
  if (print === 'env') return `export KUBEBUILDER_ASSETS='${path.replaceAll("'", `'"'"'`)}'\n`
  return `Version: ${served}\nOS/Arch: ${process.platform}/${process.arch}\nPath: ${path}\n`
}

/** Returns true when a version, or a selector of setup-envtest (`1.35.x`, `latest`), includes the served one. */
function includesVersion(wanted: string, served: string): boolean {
  const selector = wanted.replace(/^v/, '').replace(/[!~]$/, '')
  if (selector === 'latest' || selector === '') return true
  const numbers = served.split('.')
  return selector.split('.').every((part, index) => ['x', 'X', '*'].includes(part) || part === numbers[index])
}

function cacheFolder(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'fairlead')
}

/**
 * Writes the programs; returns the path of kubectl. Each is a script that names this Node, because tests may run
 * without it on their PATH. It passes the process that starts it: what a suite leaves running ends with it. Files
 * are replaced in one step: others may be starting them.
 */
function writeAssets(folder: string): string | undefined {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  for (const [name, launcher] of [
    ['kube-apiserver', 'fairlead-apiserver.js'],
    ['etcd', 'etcd.js'],
  ] as const) {
    const program = `${quoted(process.execPath)} ${quoted(join(launchers, launcher))}`
    const script = `#!/bin/sh\nexec ${program} --parent-pid="$PPID" "$@"\n`
    const temporary = join(folder, `.${name}.${process.pid}`)
    writeFileSync(temporary, script, { mode: 0o700 })
    chmodSync(temporary, 0o700)
    renameSync(temporary, join(folder, name))
  }
  const kubectl = onPath('kubectl', folder)
  if (kubectl === undefined) return undefined
  const link = join(folder, `.kubectl.${process.pid}`)
  rmSync(link, { force: true })
  symlinkSync(kubectl, link)
  renameSync(link, join(folder, 'kubectl'))
  return kubectl
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", `'"'"'`)}'`
}

/** Returns the path of a program, the folder itself aside. */
function onPath(name: string, folder: string): string | undefined {
  const candidates = (process.env['PATH'] ?? '').split(delimiter).map((part) => join(part, name))
  return candidates.find((candidate) => {
    if (candidate === join(folder, name)) return false
    try {
      accessSync(candidate, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
