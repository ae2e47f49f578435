// An earlier version of this repository, unpacked from its history so that it runs beside this one. Start with
// earlierVersion().
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '../..')

/** The unpacked tree. Disposing it deletes it. */
export interface EarlierVersion extends Disposable {
  readonly commit: string
  /** The launcher of its command. */
  readonly launcher: string
}

/**
 * Unpacks the commit that FAIRLEAD_UPGRADE_FROM names, else the newest tag, else the first commit with a file.
 * Dependencies are those of this tree. Returns the reason when there is none.
 */
export function earlierVersion(since: string): EarlierVersion | string {
  const commit = process.env['FAIRLEAD_UPGRADE_FROM'] ?? newestTag() ?? firstWith(since)
  if (commit === undefined) return 'there is no history to take an earlier version from (FAIRLEAD_UPGRADE_FROM)'
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-earlier-'))
  const archive = spawnSync('git', ['archive', commit], { cwd: root, maxBuffer: 1 << 30 })
  const unpacked = spawnSync('tar', ['-x', '-C', folder], { input: archive.stdout })
  if (archive.status !== 0 || unpacked.status !== 0) {
    rmSync(folder, { recursive: true })
    return `${commit} cannot be unpacked: ${archive.stderr.toString().trim()}`
  }
  linkDependencies(folder)
  return {
    commit: git('rev-parse', '--short', commit)!,
    launcher: join(folder, 'apps/cli/bin/fairlead.js'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  }
}

/** Links the packages of this tree's node_modules, and in place of its workspaces those of the folder. */
function linkDependencies(folder: string): void {
  const [from, to] = [join(root, 'node_modules'), join(folder, 'node_modules')]
  const own = '@fairlead'
  for (const name of readdirSync(from)) {
    if (name === own || name === '.cache') continue
    mkdirSync(to, { recursive: true })
    symlinkSync(join(from, name), join(to, name))
  }
  for (const file of globSync('{foundation,capabilities}/*/package.json', { cwd: folder })) {
    const { name } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as { readonly name: string }
    const link = join(to, name)
    mkdirSync(dirname(link), { recursive: true })
    if (!existsSync(link)) symlinkSync(join(folder, dirname(file)), link)
  }
}

function newestTag(): string | undefined {
  return git('describe', '--tags', '--abbrev=0', 'HEAD^')
}

function firstWith(path: string): string | undefined {
  return git('log', '--diff-filter=A', '--format=%H', '--', path)?.split('\n').at(-1)
}

function git(...args: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' })
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : undefined
}
