// A git repository in a temporary folder that packages are fetched from.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

/** A repository with tagged versions of packages. */
export class UpstreamRepository implements Disposable {
  readonly folder: string = mkdtempSync(join(tmpdir(), 'fairlead-upstream-'))

  constructor() {
    this.#git('init', '--quiet', '--initial-branch=main')
  }

  /** The address of a package on the command line. */
  address(directory: string, ref?: string): string {
    return `file://${this.folder}/.git/${directory}${ref === undefined ? '' : `@${ref}`}`
  }

  /** Replaces the content of a folder and tags the commit. */
  publish(directory: string, tag: string, files: Readonly<Record<string, string>>): void {
    rmSync(join(this.folder, directory), { recursive: true, force: true })
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.folder, directory, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
    }
    this.#git('add', '--all')
    this.#git(
      '-c',
      'user.name=test',
      '-c',
      'user.email=test@example.org',
      'commit',
      '--quiet',
      '--allow-empty',
      '-m',
      tag,
    )
    this.#git('tag', tag)
  }

  #git(...args: readonly string[]): void {
    execFileSync('git', args, { cwd: this.folder, stdio: 'pipe' })
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}
